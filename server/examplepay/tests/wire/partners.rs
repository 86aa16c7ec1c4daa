//! The two partners: what they promise, what they do not, and what the ledger says happened.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{World, until};

const INVOICES: &str = "/invoicing/invoices";
const SHIPMENTS: &str = "/shipping/shipments";

/// A provider with partners, whose invoices are found at once.
async fn world() -> World {
    lagging(Duration::ZERO).await
}

async fn lagging(lag: Duration) -> World {
    World::with(|settings| {
        settings.partners_addr = Some("127.0.0.1:0".parse().unwrap());
        settings.invoice_lag = lag;
    })
    .await
}

fn url(world: &World, path: &str) -> String {
    format!("http://{}{path}", world.running.as_ref().unwrap().partners_addr.unwrap())
}

async fn told(request: reqwest::RequestBuilder) -> reqwest::Result<(u16, Value)> {
    let answer = request.send().await?;
    assert!(answer.headers()["request-id"].to_str().unwrap().starts_with("req_"));
    let status = answer.status().as_u16();
    let body = answer.text().await?;
    Ok((status, serde_json::from_str(&body).unwrap_or(Value::String(body))))
}

async fn post(world: &World, path: &str, body: &Value) -> reqwest::Result<(u16, Value)> {
    told(world.client.post(url(world, path)).bearer_auth("key_partners").body(body.to_string()))
        .await
}

async fn get(world: &World, path: &str) -> (u16, Value) {
    told(world.client.get(url(world, path)).bearer_auth("key_partners")).await.unwrap()
}

async fn write(world: &World, number: &str) -> reqwest::Result<(u16, Value)> {
    post(world, INVOICES, &invoice(number)).await
}

async fn find(world: &World, number: &str) -> (u16, Value) {
    get(world, &format!("{INVOICES}/{number}")).await
}

async fn ship(world: &World, reference: &str) -> reqwest::Result<(u16, Value)> {
    post(world, SHIPMENTS, &shipment(reference)).await
}

fn invoice(number: &str) -> Value {
    json!({
        "invoiceNumber": number, "amountMinor": 1999, "currency": "EUR", "buyerReference": "B",
        "lines": [{"description": "Mug", "quantity": 1, "amountMinor": 1999}],
    })
}

fn shipment(reference: &str) -> Value {
    json!({
        "reference": reference, "recipientReference": "C",
        "items": [{"sku": "mug", "quantity": 2}],
    })
}

/// What the partners did for references that begin so: kind, reference and amount.
async fn effects(world: &World, prefix: &str) -> Vec<(String, String, Option<i64>)> {
    let told = world.ask(&format!("/control/partners/ledger?reference_prefix={prefix}")).await;
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let effects = told["effects"].as_array().unwrap().iter();
    effects
        .map(|it| (text(&it["kind"]), text(&it["reference"]), it["amount_minor"].as_i64()))
        .collect()
}

/// How the requests to a path were answered, and whether they were executed.
async fn answers(world: &World, path: &str) -> Vec<(String, bool)> {
    let told = world.ask(&format!("/control/requests?path={path}")).await;
    let requests = told["requests"].as_array().unwrap().iter();
    requests
        .map(|it| {
            assert_eq!(it["door"], "partners");
            (it["answered"].as_str().unwrap().to_owned(), it["executed"].as_bool().unwrap())
        })
        .collect()
}

async fn script(world: &World, operation: &str, steps: Value) {
    let script = json!({"match": {"door": "partners", "operation": operation}, "steps": steps});
    world.control("/control/faults", &script).await;
}

#[tokio::test]
async fn a_number_is_written_once_whatever_the_rest_says() {
    let world = world().await;
    let (status, written) = write(&world, "I-1").await.unwrap();
    assert_eq!(status, 201);
    assert!(written["id"].as_str().unwrap().starts_with("inv_"));
    assert_eq!(written["invoiceNumber"], "I-1");
    assert_eq!((&written["status"], &written["currency"]), (&json!("issued"), &json!("EUR")));
    assert_eq!(written["amountMinor"], 1999);
    assert!(written["issuedAt"].as_i64().unwrap() > 0);
    let mut other = invoice("I-1");
    other["amountMinor"] = json!(5);
    for again in [invoice("I-1"), other] {
        let refused = json!({"error": "duplicate_invoice_number", "invoiceNumber": "I-1"});
        assert_eq!(post(&world, INVOICES, &again).await.unwrap(), (409, refused));
    }
    assert_eq!(find(&world, "I-1").await, (200, written.clone()));
    assert_eq!(effects(&world, "I-").await, [("invoice".into(), "I-1".into(), Some(1999))]);
    let row = &world.ask("/control/partners/ledger?reference=I-1").await["effects"][0];
    assert_eq!((&row["id"], &row["number"]), (&written["id"], &json!("I-1")));
    assert_eq!(row["currency"], "EUR");
    let log = [("201", true), ("409", false), ("409", false)];
    assert_eq!(answers(&world, INVOICES).await, log.map(|(it, made)| (it.to_owned(), made)));
}

#[tokio::test]
async fn twenty_at_once_write_one_invoice() {
    let world = world().await;
    let all = futures::future::join_all((0..20).map(|_| write(&world, "I-1"))).await;
    let statuses: Vec<u16> = all.into_iter().map(|it| it.unwrap().0).collect();
    assert_eq!(statuses.iter().filter(|it| **it == 201).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|it| **it == 409).count(), 19, "{statuses:?}");
    assert_eq!(effects(&world, "I-1").await.len(), 1);
}

#[tokio::test]
async fn an_invoice_is_refused_at_once_and_found_only_after_a_while() {
    let world = lagging(Duration::from_millis(600)).await;
    let absent = (404, json!({"error": "invoice_not_found", "invoiceNumber": "I-1"}));
    assert_eq!(find(&world, "I-1").await, absent);
    assert_eq!(write(&world, "I-1").await.unwrap().0, 201);
    assert_eq!(find(&world, "I-1").await, absent);
    assert_eq!(write(&world, "I-1").await.unwrap().0, 409);
    until("the invoice", async || find(&world, "I-1").await.0 == 200).await;
}

#[tokio::test]
async fn each_shipment_is_another_parcel_and_nobody_can_ask_for_it() {
    let world = world().await;
    let (status, first) = ship(&world, "S-1").await.unwrap();
    assert_eq!((status, &first["status"]), (201, &json!("accepted")));
    let (_, second) = ship(&world, "S-1").await.unwrap();
    assert_ne!(first["shipmentId"], second["shipmentId"]);
    let parcel = ("shipment".to_owned(), "S-1".to_owned(), None);
    assert_eq!(effects(&world, "S-").await, [parcel.clone(), parcel]);
    let id = first["shipmentId"].as_str().unwrap();
    for path in [format!("{SHIPMENTS}/{id}"), "/shipping/shipment".to_owned()] {
        let (status, told) = get(&world, &path).await;
        assert_eq!((status, &told["error"]), (404, &json!("not_found")), "{path}");
    }
}

#[tokio::test]
async fn strangers_and_bad_requests_are_refused_before_anything_is_done() {
    let world = world().await;
    for (path, body) in [(INVOICES, invoice("I-1")), (SHIPMENTS, shipment("S-1"))] {
        for key in ["", "sk_test_payonce", "key_partner"] {
            let request = world.client.post(url(&world, path)).bearer_auth(key);
            let (status, told) = told(request.body(body.to_string())).await.unwrap();
            assert_eq!((status, &told["error"]), (401, &json!("unauthorized")), "{path} {key:?}");
        }
    }
    let request = world.client.get(url(&world, "/invoicing/invoices/I-1"));
    assert_eq!(told(request).await.unwrap().0, 401);
    let rows = [
        (INVOICES, "invoiceNumber", json!("")),
        (INVOICES, "invoiceNumber", json!(7)),
        (INVOICES, "invoiceNumber", json!("x".repeat(121))),
        (INVOICES, "amountMinor", json!(0)),
        (INVOICES, "amountMinor", json!(1.5)),
        (INVOICES, "amountMinor", json!("1999")),
        (INVOICES, "currency", json!("eur")),
        (INVOICES, "buyerReference", json!(null)),
        (INVOICES, "lines", json!([])),
        (INVOICES, "lines", json!("mug")),
        (INVOICES, "lines", json!([{"description": "Mug", "quantity": 0, "amountMinor": 1}])),
        (SHIPMENTS, "reference", json!(null)),
        (SHIPMENTS, "recipientReference", json!("")),
        (SHIPMENTS, "items", json!({})),
        (SHIPMENTS, "items", json!([{"sku": "mug", "quantity": -1}])),
    ];
    for (path, name, value) in rows {
        let mut body = if path == INVOICES { invoice("I-1") } else { shipment("S-1") };
        body[name] = value;
        let (status, told) = post(&world, path, &body).await.unwrap();
        assert_eq!((status, &told["error"]), (400, &json!("invalid_request")), "{path} {body}");
    }
    for body in [json!([]), json!("x"), json!(null)] {
        assert_eq!(post(&world, INVOICES, &body).await.unwrap().0, 400, "{body}");
    }
    assert_eq!(effects(&world, "").await, []);
    assert_eq!(write(&world, "I-1").await.unwrap().0, 201, "the number is still free");
}

#[tokio::test]
async fn each_fault_does_what_it_says_and_the_ledger_tells_what_really_happened() {
    let status = |status: u16| json!({"kind": "status", "status": status, "body": "oops"});
    let rows = [
        (json!({"answer": {"kind": "drop_before_headers"}}), "lost", "dropped", 1),
        (
            json!({"execute": false, "answer": {"kind": "drop_before_headers"}}),
            "lost",
            "dropped",
            0,
        ),
        (json!({"answer": {"kind": "cut_mid_body"}}), "lost", "cut", 1),
        (json!({"answer": status(500)}), "500", "500", 1),
        (json!({"execute": false, "answer": status(429)}), "429", "429", 0),
        (json!({"execute": false}), "503", "503", 0),
        (json!({"delay_ms": 50}), "201", "201", 1),
        (json!({}), "201", "201", 1),
    ];
    for (step, seen, logged, made) in rows {
        for (path, operation) in [(INVOICES, "create_invoice"), (SHIPMENTS, "create_shipment")] {
            let world = world().await;
            script(&world, operation, json!([step])).await;
            let body = if path == INVOICES { invoice("R-1") } else { shipment("R-1") };
            let told = post(&world, path, &body).await;
            let told = told.map_or("lost".to_owned(), |(status, _)| status.to_string());
            assert_eq!(told, seen, "{path} {step}");
            assert_eq!(effects(&world, "R-1").await.len(), made, "{path} {step}");
            assert_eq!(answers(&world, path).await, [(logged.to_owned(), made == 1)], "{step}");
            // An invoice shows what happened when it is sent again; a parcel is sent twice.
            let again = post(&world, path, &body).await.unwrap().0;
            let taken = path == INVOICES && made == 1;
            assert_eq!(again, if taken { 409 } else { 201 }, "{path} {step}");
            let sum = if path == INVOICES { 1 } else { made + 1 };
            assert_eq!(effects(&world, "R-1").await.len(), sum, "{path} {step}");
        }
    }
}

#[tokio::test]
async fn what_is_executed_later_happens_though_nobody_was_told() {
    let world = world().await;
    let later = json!({"execute": "later", "execute_after_ms": 300, "answer": {"kind": "drop_before_headers"}});
    script(&world, "create_invoice", json!([later])).await;
    script(&world, "create_shipment", json!([later])).await;
    assert!(write(&world, "R-1").await.is_err());
    assert!(ship(&world, "R-1").await.is_err());
    assert_eq!(effects(&world, "R-1").await, []);
    assert_eq!(find(&world, "R-1").await.0, 404);
    until("both", async || effects(&world, "R-1").await.len() == 2).await;
    assert_eq!(find(&world, "R-1").await.0, 200);
    until("the log", async || answers(&world, SHIPMENTS).await[0].1).await;
    assert_eq!(answers(&world, SHIPMENTS).await, [("dropped".to_owned(), true)]);
}

#[tokio::test]
async fn a_saved_answer_is_what_the_number_gives_from_then_on() {
    let world = world().await;
    let saved = json!({"save": true, "answer": {"kind": "status", "status": 500, "body": "{}"}});
    script(&world, "create_invoice", json!([saved])).await;
    for _ in 0..3 {
        assert_eq!(write(&world, "R-1").await.unwrap(), (500, json!({})));
    }
    assert_eq!(find(&world, "R-1").await.0, 200);
    assert_eq!(effects(&world, "R-1").await.len(), 1);
}

#[tokio::test]
async fn lookups_can_lag_and_fail_for_a_while() {
    let world = world().await;
    script(&world, "create_invoice", json!([{"lookup": {"not_found_for_ms": 60_000}}])).await;
    script(&world, "get_invoice", json!([{"answer": {"kind": "drop_before_headers"}}])).await;
    assert_eq!(write(&world, "I-1").await.unwrap().0, 201);
    assert_eq!(write(&world, "I-2").await.unwrap().0, 201);
    let dropped = world.client.get(url(&world, "/invoicing/invoices/I-2"));
    assert!(dropped.bearer_auth("key_partners").send().await.is_err());
    assert_eq!((find(&world, "I-1").await.0, find(&world, "I-2").await.0), (404, 200));
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 60_000})).await;
    assert_eq!(find(&world, "I-2").await.0, 503);
    world.control("/control/lookups", &json!({"not_found_for_ms": 60_000})).await;
    assert_eq!(find(&world, "I-2").await.1["error"], "invoice_not_found");
    world.control("/control/lookups", &json!({})).await;
    assert_eq!(find(&world, "I-2").await.0, 200);
}

#[tokio::test]
async fn an_outage_may_be_the_partners_alone_or_everybodys() {
    let world = world().await;
    let outage = async |body: Value| world.control("/control/outage", &body).await;
    outage(json!({"mode": "refuse", "door": "partners"})).await;
    assert!(ship(&world, "S-1").await.unwrap_err().is_connect());
    assert_eq!(world.pay("k1", "tok_visa").await.unwrap().status, 201);
    outage(json!({"mode": "off", "door": "partners"})).await;
    until("the end", async || ship(&world, "S-1").await.is_ok()).await;
    outage(json!({"mode": "refuse", "door": "examplepay"})).await;
    assert!(world.pay("k2", "tok_visa").await.unwrap_err().is_connect());
    assert_eq!(ship(&world, "S-2").await.unwrap().0, 201);
    outage(json!({"mode": "refuse"})).await;
    assert!(ship(&world, "S-3").await.unwrap_err().is_connect());
    outage(json!({"mode": "hang"})).await;
    until("the door", async || {
        tokio::time::timeout(Duration::from_millis(300), ship(&world, "S-3")).await.is_err()
    })
    .await;
    world.control("/control/reset", &json!({})).await;
    until("the end", async || world.client.get(url(&world, "/")).send().await.is_ok()).await;
    assert_eq!(effects(&world, "").await, [], "a reset forgets the parcels too");
    assert_eq!(
        world.try_control("/control/outage", &json!({"mode": "off", "door": "x"})).await.status,
        400
    );
}

#[tokio::test]
async fn what_the_partners_did_survives_a_restart() {
    let mut world = world().await;
    assert_eq!(write(&world, "I-1").await.unwrap().0, 201);
    world.restart().await;
    assert_eq!(write(&world, "I-1").await.unwrap().0, 409);
    assert_eq!(effects(&world, "I-1").await.len(), 1);
}

#[tokio::test]
async fn the_documented_examples_run_as_they_stand() {
    let world = world().await;
    let running = world.running.as_ref().unwrap();
    let (partners, control) = (running.partners_addr.unwrap(), running.control_addr.unwrap());
    let page = include_str!("../../../../docs/examplepay.md");
    let (_, section) = page.split_once("\n## Partners\n").unwrap();
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let examples: Vec<&str> = section.lines().filter(|line| line.starts_with("curl ")).collect();
    assert!(examples.len() >= 8, "{examples:?}");
    for example in examples {
        let command = example
            .replace("127.0.0.1:4014", &partners.to_string())
            .replace("127.0.0.1:4011", &control.to_string())
            .replace("curl -s", "curl -sS --fail --noproxy '*'");
        let shell = tokio::process::Command::new("sh").arg("-c").arg(command).output();
        let ended = shell.await.unwrap();
        let told = String::from_utf8_lossy(&ended.stdout);
        let trouble = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && told.starts_with('{'), "{example}: {told} {trouble}");
    }
    let done: Vec<String> = effects(&world, "").await.into_iter().map(|it| it.1).collect();
    assert_eq!(done, ["INV-1", "R-1"]);
}
