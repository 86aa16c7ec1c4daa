use super::{super::Line, wire::reply, *};
use domain::{
    capability::{Class, Strategy, strategy},
    money::{Currency, Money},
};

fn adapter() -> Shipping {
    let _already = rustls::crypto::ring::default_provider().install_default();
    Shipping::new(ShippingSettings {
        base_url: "http://127.0.0.1:9".to_owned(),
        api_key: "key".into(),
        connect_timeout: Duration::from_secs(2),
        response_timeout: Duration::from_secs(10),
        deadline: Duration::from_secs(3600),
    })
    .unwrap()
}

fn intent<'a>(lines: &'a [Line<'a>]) -> Intent<'a> {
    Intent {
        kind: &Kind::SHIPMENT,
        amount: Money::new(2990, Currency::EUR),
        reference: "P-7-SHIP",
        instrument: None,
        return_url: "http://shop.test/return",
        provider_id: None,
        parent: None,
        checkout: "checkout",
        order: "P-7",
        lines,
    }
}

fn shipment(status: &str) -> String {
    format!(r#"{{"shipmentId":"shp_1","status":"{status}"}}"#)
}

fn no(word: &str) -> String {
    format!(r#"{{"error":"{word}","message":"m"}}"#)
}

#[test]
fn an_unknown_shipment_is_never_sent_again_and_goes_to_a_person_at_once() {
    let capability = adapter().capability(&Kind::SHIPMENT).unwrap();
    let expected = Strategy {
        class: Class::D,
        look_up: false,
        replay: false,
        cancel_unknown: false,
        review_at_once: true,
    };
    assert_eq!(strategy(&capability), expected);
    assert!(!capability.names_amount, "a parcel has no amount to compare");
    for kind in [Kind::PAYMENT, Kind::REFUND, Kind::INVOICE] {
        assert_eq!(adapter().capability(&kind), None, "{}", kind.as_str());
    }
}

#[test]
fn a_shipment_is_made_of_what_was_ordered() {
    let lines = [
        Line { sku: "mug", quantity: 2, unit_minor: 1000 },
        Line { sku: "pen", quantity: 1, unit_minor: 990 },
    ];
    let rows: [(&[Line<'_>], &str); 2] =
        [(&lines, r#"[{"quantity":2,"sku":"mug"},{"quantity":1,"sku":"pen"}]"#), (&[], "[]")];
    for (lines, items) in rows {
        let encoded = adapter().encode("create", &intent(lines)).unwrap();
        let body: serde_json::Value = serde_json::from_str(&encoded.body).unwrap();
        assert_eq!(encoded.path, "/shipping/shipments");
        assert_eq!(body["reference"], "P-7-SHIP");
        assert_eq!(body["recipientReference"], "P-7");
        assert_eq!(body["items"].to_string(), items);
    }
    for step in ["cancel", "refund", ""] {
        let refused = adapter().encode(step, &intent(&[]));
        assert_eq!(refused, Err(EncodeError::UnknownStep(step.to_owned())));
    }
}

#[test]
fn every_answer_to_a_create_has_exactly_one_verdict() {
    let rows = [
        (201, shipment("accepted"), "definitive_succeeded", false),
        (200, shipment("accepted"), "definitive_succeeded", false),
        (201, shipment("queued"), "indeterminate", true),
        (201, shipment("accepted")[..20].to_owned(), "indeterminate", true),
        (201, "<html>".to_owned(), "indeterminate", true),
        (202, String::new(), "indeterminate", true),
        (400, no("invalid_request"), "not_executed_our_fault", false),
        (400, no("something_new"), "indeterminate", true),
        (400, "<h1>Bad Request</h1>".to_owned(), "indeterminate", true),
        (404, no("not_found"), "not_executed_our_fault", false),
        (404, "<h1>proxy</h1>".to_owned(), "indeterminate", true),
        (401, no("unauthorized"), "not_executed_configuration", false),
        (403, no("forbidden"), "not_executed_configuration", false),
        (403, "<h1>firewall</h1>".to_owned(), "indeterminate", true),
        (409, no("duplicate"), "indeterminate", true),
        (422, no("something_new"), "indeterminate", true),
        (424, String::new(), "indeterminate", false),
        (429, String::new(), "retry_later", false),
        (500, no("api_error"), "indeterminate", false),
        (503, "<html>".to_owned(), "indeterminate", false),
        (504, no("timeout"), "indeterminate", false),
        (302, String::new(), "indeterminate", true),
    ];
    for (status, body, verdict, unlisted) in rows {
        let (judged, word) = decode(&reply(status, &[], &body));
        assert_eq!((judged.name(), word.is_some()), (verdict, unlisted), "{status} {body}");
    }
}

#[test]
fn a_shipment_names_its_id_and_nothing_of_ours() {
    let found = Found { provider_id: Some("shp_1".to_owned()), ..Found::default() };
    let told = reply(201, &[], &shipment("accepted"));
    assert_eq!(decode(&told).0, Verdict::Definitive(Outcome::Succeeded, found));
}

#[test]
fn what_support_needs_of_an_answer_is_kept() {
    let headers = [("request-id", "req_7"), ("retry-after", "120")];
    let told = reply(429, &headers, &no("rate_limited"));
    let answer = answered(&told, decode(&told));
    assert_eq!(answer.verdict, Verdict::RetryLater { after: Some(Duration::from_secs(120)) });
    assert_eq!(answer.request_id.as_deref(), Some("req_7"));
    assert_eq!(answer.provider_error.as_deref(), Some("rate_limited"));
    assert_eq!((answer.http_status, answer.cached), (Some(429), false));
}

#[tokio::test]
async fn there_is_nobody_to_ask_and_no_events() {
    let adapter = adapter();
    let told = adapter.verify_webhook(&[], b"{}", Timestamp(0)).await;
    assert_eq!(told, Err(WebhookError::Off));
    assert_eq!(adapter.read_event("{}"), Err(WebhookError::Off));
    let question = Question {
        kind: Kind::SHIPMENT,
        provider_id: Some("shp_1".to_owned()),
        reference: "P-7-SHIP".to_owned(),
        amount: Money::new(2990, Currency::EUR),
        parent_id: None,
        parent_effect_id: None,
        time_left: Duration::from_secs(5),
    };
    assert_eq!(adapter.look_up(&question).await.verdict, Verdict::NoNews);
    let call = Call {
        path: "/shipping/shipments".to_owned(),
        key: "shipment:1:create".to_owned(),
        body: "{}".to_owned(),
        kind: Kind::SHIPMENT,
        time_left: Duration::from_secs(5),
    };
    let answer = adapter.send(&call).await;
    assert_eq!((answer.verdict, answer.transport), (Verdict::NotSent, Transport::NotSent));
}
