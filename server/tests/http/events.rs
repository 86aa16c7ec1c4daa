//! The live stream: a snapshot first, bounded in number, ended when the shop stops.

use reqwest::{Method, Response};
use serde_json::Value;

use crate::shop::{BOUND, TestShop};

/// The next event of a stream: its lines by name.
async fn next(stream: &mut Response, rest: &mut String) -> Option<Vec<(String, String)>> {
    loop {
        if let Some(end) = rest.find("\n\n") {
            let text: String = rest.drain(..end + 2).collect();
            let lines = text.lines().filter_map(|it| it.split_once(": "));
            let event: Vec<_> = lines.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            if event.iter().any(|(name, _)| name == "data") {
                return Some(event);
            }
            continue;
        }
        let piece = tokio::time::timeout(BOUND, stream.chunk()).await.expect("news or an end");
        rest.push_str(std::str::from_utf8(&piece.ok()??).unwrap());
    }
}

fn field<'a>(event: &'a [(String, String)], name: &str) -> &'a str {
    event.iter().find(|it| it.0 == name).map_or("", |it| it.1.as_str())
}

async fn paid(shop: &TestShop) -> (String, String) {
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    (session, action.trim_end_matches("/pay").to_owned())
}

#[tokio::test]
async fn a_stream_begins_with_the_stored_state_and_ends_with_the_shop() {
    let shop = TestShop::start().await;
    let (session, page) = paid(&shop).await;
    let open = || shop.request(Method::GET, &format!("{page}/events"), Some(&session));
    let mut stream = open().send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let header = |name: &str| stream.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(
        (header("content-type"), header("cache-control")),
        ("text/event-stream".into(), "no-cache".into())
    );
    let mut rest = String::new();
    let first = next(&mut stream, &mut rest).await.unwrap();
    assert_eq!(field(&first, "event"), "state");
    let told: Value = serde_json::from_str(field(&first, "data")).unwrap();
    assert_eq!(field(&first, "id"), told["sequence"].to_string());
    assert!(told["html"].as_str().unwrap().contains("data-panel"), "{told}");
    let mut sequence = told["sequence"].as_i64().unwrap();
    // With an old id or one that is none, the current state comes first, never an older one.
    for last in ["0", "-5", "soon", &sequence.to_string()] {
        let mut again = open().header("last-event-id", last).send().await.unwrap();
        let event = next(&mut again, &mut String::new()).await.unwrap();
        let told: Value = serde_json::from_str(field(&event, "data")).unwrap();
        let newer = told["sequence"].as_i64().unwrap();
        assert!(newer >= sequence, "{newer} after {sequence}");
        sequence = newer;
    }
    let stop = shop.running.stop();
    let end = async {
        let mut last = i64::MIN;
        while let Some(event) = next(&mut stream, &mut rest).await {
            let told: Value = serde_json::from_str(field(&event, "data")).unwrap();
            let sequence = told["sequence"].as_i64().unwrap();
            assert!(sequence >= last, "{sequence} after {last}");
            last = sequence;
        }
        // Its end is sent, not cut off when the time for stopping is over.
        stream.chunk().await
    };
    let ((), end) = tokio::join!(stop, end);
    assert!(matches!(end, Ok(None)), "an open stream does not hold the shop up: {end:?}");
}

#[tokio::test]
async fn a_viewer_has_so_many_streams_and_room_comes_back() {
    let shop = TestShop::start().await;
    let (session, page) = paid(&shop).await;
    let open = || shop.request(Method::GET, &format!("{page}/events"), Some(&session)).send();
    let mut streams = Vec::new();
    for _ in 0..8 {
        let stream = open().await.unwrap();
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    assert_eq!(open().await.unwrap().status(), 429);
    let stranger = shop.request(Method::GET, &format!("{page}/events"), None).send().await.unwrap();
    assert_eq!(stranger.status(), 200, "others have places of their own");
    streams.pop();
    crate::shop::until("a place is free again", async || {
        open().await.ok().filter(|it| it.status() == 200)
    })
    .await;
    drop(stranger);
    drop(streams);
    shop.running.stop().await;
}

#[tokio::test]
async fn after_the_end_a_browser_is_told_to_stop_asking() {
    let shop = TestShop::with(&["--time-scale", "0.01"]).await;
    let (session, page) = paid(&shop).await;
    // Nothing was ever sent, so giving up settles it at once.
    let answer = shop.post(&format!("{page}/cancel"), Some(&session), &[]).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    let open = || shop.request(Method::GET, &format!("{page}/events"), Some(&session));
    let mut stream = open().send().await.unwrap();
    let mut rest = String::new();
    let mut last = Vec::new();
    while let Some(event) = next(&mut stream, &mut rest).await {
        last = event;
    }
    assert_eq!(field(&last, "event"), "end", "{last:?}");
    let told: Value = serde_json::from_str(field(&last, "data")).unwrap();
    assert_eq!((told["state"].as_str(), told["end"].as_bool()), (Some("canceled"), Some(true)));
    let again = open().header("last-event-id", field(&last, "id")).send().await.unwrap();
    assert_eq!(again.status(), 204);
    let older = open().header("last-event-id", "0").send().await.unwrap();
    assert_eq!(older.status(), 200, "who has not seen the end is told it");
    shop.running.stop().await;
}
