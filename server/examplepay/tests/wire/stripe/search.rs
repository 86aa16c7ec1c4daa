//! Search: behind what happened, by a query, a page at a time.

use super::*;

const PATH: &str = "/v1/payment_intents/search";

async fn search_with(world: &World, params: &[(&str, &str)]) -> Told {
    let request = world.client.get(url(world, PATH)).bearer_auth(KEY).query(params);
    told(request.send().await.unwrap()).await.unwrap()
}

async fn search(world: &World, query: &str) -> Told {
    search_with(world, &[("query", query)]).await
}

/// The references of what was found.
fn references(page: &Value) -> Vec<String> {
    let data = page["data"].as_array().unwrap();
    data.iter().map(|it| it["metadata"]["reference"].as_str().unwrap().to_owned()).collect()
}

async fn found(world: &World, query: &str) -> Vec<String> {
    let told = search(world, query).await;
    assert_eq!(told.status, 200, "{query}: {}", told.body);
    references(&told.json())
}

/// A provider whose search is behind nothing.
async fn prompt() -> World {
    World::with(|it| it.stripe_search_lag = Duration::ZERO).await
}

#[tokio::test]
async fn what_was_just_made_or_changed_is_found_only_later() {
    let world = World::with(|it| it.stripe_search_lag = Duration::from_secs(2)).await;
    let query = "metadata['reference']:'k1'";
    let held = post(&world, "/v1/payment_intents", "k1", &unconfirmed("k1")).await.unwrap().json();
    let nothing = search(&world, query).await;
    let empty = json!({"object": "search_result", "url": PATH, "has_more": false, "data": [],
        "next_page": null});
    assert_eq!((nothing.status, nothing.json()), (200, empty));
    let list = get(&world, "/v1/payment_intents").await.json();
    assert_eq!(references(&list), ["k1"], "a list is never behind");
    until("the index", async || found(&world, query).await == ["k1"]).await;
    assert_eq!(search(&world, query).await.json()["data"], json!([held]));

    let path = format!("/v1/payment_intents/{}/confirm", held["id"].as_str().unwrap());
    post(&world, &path, "c1", &[("payment_method", "pm_card_visa")]).await.unwrap();
    assert_eq!(found(&world, query).await.len(), 0, "the change is not there yet");
    until("the change", async || found(&world, query).await == ["k1"]).await;
    assert_eq!(search(&world, query).await.json()["data"][0]["status"], "succeeded");
}

#[tokio::test]
async fn unless_told_otherwise_search_is_a_minute_behind() {
    let world = World::start().await;
    assert_eq!(world.settings.stripe_search_lag, Duration::from_secs(60));
    paid(&world, "k1", "pm_card_visa").await;
    assert_eq!(found(&world, "status:'succeeded'").await.len(), 0);
}

#[tokio::test]
async fn a_query_finds_what_fits_it_newest_first() {
    let world = prompt().await;
    for (reference, amount, currency, method, cart) in [
        ("a", "500", "eur", "pm_card_visa", "it's 1"),
        ("b", "1000", "usd", "pm_card_visa", "2"),
        ("c", "1500", "eur", "pm_card_chargeDeclined", "say \"3\""),
    ] {
        let mut fields = confirmed(reference, method);
        (fields[0].1, fields[1].1) = (amount, currency);
        fields.push(("metadata[cart id]", cart));
        post(&world, "/v1/payment_intents", reference, &fields).await.unwrap();
    }
    world.paid("own", "tok_visa").await;
    let rows: [(&str, &[&str]); 22] = [
        ("metadata['reference']:'a'", &["a"]),
        (r#"metadata["reference"]:"a""#, &["a"]),
        ("metadata['reference']:'own'", &[]),
        ("metadata['reference']:'A'", &[]),
        ("metadata['cart id']:'2'", &["b"]),
        ("metadata['nothing']:'2'", &[]),
        (r#"metadata['cart id']:"it's 1""#, &["a"]),
        (r"metadata['cart id']:'it\'s 1'", &["a"]),
        (r#"metadata['cart id']:"say \"3\"""#, &["c"]),
        ("status:'succeeded'", &["b", "a"]),
        ("status:'requires_payment_method'", &["c"]),
        ("-status:'succeeded'", &["c"]),
        ("currency:'eur'", &["c", "a"]),
        ("-currency:\"eur\"", &["b"]),
        ("amount:1000", &["b"]),
        ("amount:'1000'", &["b"]),
        ("amount>1000", &["c"]),
        ("amount>=1000 AND amount<1500", &["b"]),
        ("amount<=1000 and -amount<1000", &["b"]),
        ("metadata['reference']:'a' OR metadata['reference']:'c'", &["c", "a"]),
        ("-metadata['reference']:'a' AND currency:'eur' AND status:'succeeded'", &[]),
        ("  -metadata['reference']:'a'  AND  currency:'eur' ", &["c"]),
    ];
    for (query, wanted) in rows {
        assert_eq!(found(&world, query).await, wanted, "{query}");
    }
}

#[tokio::test]
async fn a_query_that_cannot_be_read_is_refused_and_says_why() {
    let world = prompt().await;
    let rows = [
        ("colour:'red'", "no field colour"),
        ("reference:'a'", "no field reference"),
        ("metadata:'a'", "written with a name"),
        ("metadata[reference]:'a'", "in quotes"),
        ("metadata['reference':'a'", "written with a name"),
        ("metadata['reference']>'a'", "a colon"),
        ("metadata['reference']:null", "in quotes"),
        ("metadata['reference']:a", "in quotes"),
        ("metadata['reference']~'a'", "a colon"),
        ("status:succeeded", "in quotes"),
        ("status:'succeeded", "never closed"),
        ("status>'succeeded'", "a colon"),
        ("status", "a colon"),
        ("amount", "one of"),
        ("amount=5", "no field amount=5"),
        ("amount:", "whole number"),
        ("amount>ten", "whole number"),
        ("amount:19.99", "whole number"),
        ("amount:5 AND", "clause is missing"),
        ("AND amount:5", "no field AND"),
        ("amount:5 currency:'eur'", "joined by AND or OR"),
        ("currency:'eur'AND amount:5", "joined by AND or OR"),
        ("amount:5 NOT amount:6", "joined by AND or OR"),
        ("amount:5 AND amount:6 OR amount:7", "never in the same query"),
        ("(amount:5)", "no field (amount"),
        ("- amount:5", "clause is missing"),
        ("   ", "clause is missing"),
    ];
    for (query, why) in rows {
        let told = search(&world, query).await;
        let error = told.json()["error"].clone();
        assert_eq!(told.status, 400, "{query}: {}", told.body);
        assert_eq!(
            (&error["type"], &error["param"]),
            (&json!("invalid_request_error"), &json!("query"))
        );
        assert!(error["message"].as_str().unwrap().contains(why), "{query}: {error}");
    }
    let fine = ("query", "amount:5");
    for (params, param, code) in [
        (vec![], "query", "parameter_missing"),
        (vec![fine, ("limit", "0")], "limit", "parameter_invalid_integer"),
        (vec![fine, ("limit", "101")], "limit", "parameter_invalid_integer"),
        (vec![fine, ("limit", "ten")], "limit", "parameter_invalid_integer"),
        (vec![fine, ("page", "2")], "page", "parameter_invalid_string"),
        (vec![fine, ("page", "cGlfbm9uZQ")], "page", "parameter_invalid_string"),
        (vec![fine, ("starting_after", "pi_1")], "starting_after", "parameter_unknown"),
        (vec![fine, ("expand[]", "total_count")], "expand", "parameter_unknown"),
    ] {
        let told = search_with(&world, &params).await;
        let error = told.json()["error"].clone();
        assert_eq!((told.status, &error["type"]), (400, &json!("invalid_request_error")));
        assert_eq!((&error["param"], &error["code"]), (&json!(param), &json!(code)), "{params:?}");
    }
    let stranger = world.client.get(url(&world, PATH)).query(&[fine]).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
}

#[tokio::test]
async fn what_is_found_comes_in_pages() {
    let world = prompt().await;
    for number in 0..5 {
        let method = if number == 1 { "pm_card_mastercard" } else { "pm_card_visa" };
        paid(&world, &format!("k{number}"), method).await;
    }
    let mut params = vec![("query", "-metadata['reference']:'k1'"), ("limit", "2")];
    let first = search_with(&world, &params).await.json();
    assert_eq!(
        (references(&first), &first["has_more"]),
        (vec!["k4".into(), "k3".into()], &json!(true))
    );
    params.push(("page", first["next_page"].as_str().unwrap()));
    let second = search_with(&world, &params).await.json();
    assert_eq!(references(&second), ["k2", "k0"]);
    assert_eq!((&second["has_more"], &second["next_page"]), (&json!(false), &json!(null)));
}

#[tokio::test]
async fn search_misses_what_lookups_are_to_miss_and_follows_scripts() {
    let world = prompt().await;
    for reference in ["k1", "k2"] {
        paid(&world, reference, "pm_card_visa").await;
    }
    let (all, one) = ("status:'succeeded'", "metadata['reference']:'k1'");
    let hide = json!({"not_found_for_ms": 60_000, "reference": "k1"});
    world.control("/control/lookups", &hide).await;
    assert_eq!((found(&world, all).await, found(&world, one).await.len()), (vec!["k2".into()], 0));
    world.control("/control/lookups", &json!({"not_found_for_ms": 60_000})).await;
    let nothing = search(&world, all).await.json();
    assert_eq!((&nothing["object"], &nothing["data"]), (&json!("search_result"), &json!([])));
    world.control("/control/lookups", &json!({})).await;
    let step = json!({"answer": {"kind": "status", "status": 503, "body": "{}"}});
    let script = json!({"match": {"door": "stripe", "reference": "k1"}, "steps": [step]});
    world.control("/control/faults", &script).await;
    assert_eq!(found(&world, "metadata['reference']:'k2'").await, ["k2"]);
    assert_eq!(search(&world, one).await.status, 503);
    assert_eq!(found(&world, one).await, ["k1"]);
}
