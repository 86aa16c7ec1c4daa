//! The documented examples, run as they stand against a provider of their own.

use serde_json::json;

use crate::harness::World;

/// The shell lines of the page, but for the partners', which are run with their own tests.
fn examples() -> String {
    let page = include_str!("../../../../docs/examplepay.md");
    let (page, _) = page.split_once("\n## Partners\n").unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|it| it.split("```").next().unwrap());
    blocks.collect()
}

#[tokio::test]
async fn the_documented_examples_run_as_they_stand() {
    let world = World::start().await;
    let running = world.running.as_ref().unwrap();
    let waiting = world.pay("waiting", "tok_3ds").await.unwrap().json();
    let script = examples()
        .replace("127.0.0.1:4010", &running.addr.to_string())
        .replace("127.0.0.1:4011", &running.control_addr.unwrap().to_string())
        .replace("127.0.0.1:4012", &running.stripe_addr.to_string())
        .replace("127.0.0.1:4013", &running.paypal_addr.to_string());
    // The last line forgets everything; what the others did is looked at before that.
    let (script, reset) = script.trim().rsplit_once('\n').unwrap();
    assert!(reset.ends_with("/control/reset"), "{reset}");
    let script = script.replace("curl -s", "echo; curl -sS --fail-with-body --noproxy '*'");
    // In a substitution only the answer counts.
    let script = script.replace("$(echo; ", "$(");
    let shell = tokio::process::Command::new("sh")
        .args(["-eu", "-c", &script])
        .env("ID", waiting["id"].as_str().unwrap())
        .output();
    let ended = shell.await.unwrap();
    let told = String::from_utf8_lossy(&ended.stdout);
    let trouble = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && trouble.is_empty(), "{told}\n{trouble}");
    let ledger = world.ask("/control/ledger").await;
    let effects: Vec<_> = ledger["effects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["reference"].as_str().unwrap(), it["amount_minor"].as_i64().unwrap()))
        .collect();
    let wanted = [
        ("R-1", 1999),
        ("S-1", 1999),
        ("S-2", 1999),
        ("S-2-refund", -500),
        ("P-1", 1999),
        ("P-1-refund", -500),
        ("waiting", 1999),
        ("dashboard", -500),
    ];
    assert_eq!(effects, wanted, "{told}");
    world.control("/control/reset", &json!({})).await;
}
