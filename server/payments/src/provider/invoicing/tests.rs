use super::{super::Line, wire::reply, *};
use domain::capability::{Class, Strategy, strategy};

fn adapter() -> Invoicing {
    let _already = rustls::crypto::ring::default_provider().install_default();
    Invoicing::new(InvoicingSettings {
        base_url: "http://127.0.0.1:9".to_owned(),
        api_key: "key".into(),
        connect_timeout: Duration::from_secs(2),
        response_timeout: Duration::from_secs(10),
        deadline: Duration::from_secs(3600),
        consistency_bound: Duration::from_secs(30),
    })
    .unwrap()
}

fn intent<'a>(lines: &'a [Line<'a>]) -> Intent<'a> {
    Intent {
        kind: &Kind::INVOICE,
        amount: Money::new(2990, Currency::EUR),
        reference: "P-7-INV",
        instrument: None,
        return_url: "http://shop.test/return",
        provider_id: None,
        parent: None,
        checkout: "checkout",
        order: "P-7",
        lines,
    }
}

fn invoice(status: &str) -> String {
    format!(
        r#"{{"id":"inv_1","invoiceNumber":"P-7-INV","status":"{status}","amountMinor":2990,
            "currency":"EUR","issuedAt":5}}"#
    )
}

fn no(word: &str) -> String {
    format!(r#"{{"error":"{word}","message":"m","invoiceNumber":"P-7-INV"}}"#)
}

fn ours() -> Found {
    Found {
        provider_id: Some("inv_1".to_owned()),
        reference: Some("P-7-INV".to_owned()),
        amount: Some(Money::new(2990, Currency::EUR)),
        ..Found::default()
    }
}

#[test]
fn an_unknown_invoice_is_asked_for_by_its_number_and_may_be_written_again() {
    let capability = adapter().capability(&Kind::INVOICE).unwrap();
    let expected = Strategy {
        class: Class::B,
        look_up: true,
        replay: true,
        cancel_unknown: false,
        review_at_once: false,
    };
    assert_eq!(strategy(&capability), expected);
    assert!(capability.names_amount);
    for kind in [Kind::PAYMENT, Kind::REFUND, Kind::SHIPMENT] {
        assert_eq!(adapter().capability(&kind), None, "{}", kind.as_str());
    }
}

#[test]
fn an_invoice_is_made_of_the_orders_lines_if_they_add_up_to_its_amount() {
    let line = |sku, quantity, unit_minor| Line { sku, quantity, unit_minor };
    let whole = r#"[{"amountMinor":2990,"description":"Order P-7","quantity":1}]"#;
    let rows = [
        (
            vec![line("mug", 2, 1000), line("pen", 1, 990)],
            r#"[{"amountMinor":2000,"description":"mug","quantity":2},{"amountMinor":990,"description":"pen","quantity":1}]"#,
        ),
        (vec![], whole),
        (vec![line("mug", 1, 1000)], whole),
        (vec![line("mug", 2, i64::MAX)], whole),
        (vec![line("mug", 1, i64::MAX), line("pen", 1, i64::MAX)], whole),
    ];
    for (lines, expected) in rows {
        let encoded = adapter().encode("create", &intent(&lines)).unwrap();
        let body: serde_json::Value = serde_json::from_str(&encoded.body).unwrap();
        assert_eq!(encoded.path, "/invoicing/invoices");
        assert_eq!(body["invoiceNumber"], "P-7-INV");
        assert_eq!((&body["amountMinor"], &body["currency"]), (&2990.into(), &"EUR".into()));
        assert_eq!(body["buyerReference"], "P-7");
        assert_eq!(body["lines"].to_string(), expected, "{lines:?}");
    }
    for step in ["cancel", "refund", ""] {
        let refused = adapter().encode(step, &intent(&[]));
        assert_eq!(refused, Err(EncodeError::UnknownStep(step.to_owned())));
    }
}

#[test]
fn every_answer_to_a_create_has_exactly_one_verdict() {
    let rows = [
        (201, invoice("issued"), "definitive_succeeded", false),
        (200, invoice("issued"), "definitive_succeeded", false),
        (201, invoice("draft"), "indeterminate", true),
        (201, invoice("issued").replace("EUR", "euros"), "contradicts", false),
        (201, invoice("issued")[..40].to_owned(), "indeterminate", true),
        (201, "<html>".to_owned(), "indeterminate", true),
        (202, String::new(), "indeterminate", true),
        // It exists; what it says is for the lookup to tell.
        (409, no("duplicate_invoice_number"), "accepted", false),
        (409, no("locked"), "indeterminate", true),
        (409, String::new(), "indeterminate", true),
        (400, no("invalid_request"), "not_executed_our_fault", false),
        (400, no("duplicate_invoice_number"), "indeterminate", true),
        (400, "<h1>Bad Request</h1>".to_owned(), "indeterminate", true),
        (404, no("not_found"), "not_executed_our_fault", false),
        (404, no("invoice_not_found"), "indeterminate", true),
        (404, "<h1>proxy</h1>".to_owned(), "indeterminate", true),
        (401, no("unauthorized"), "not_executed_configuration", false),
        (403, no("forbidden"), "not_executed_configuration", false),
        (403, "<h1>firewall</h1>".to_owned(), "indeterminate", true),
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
fn an_invoice_names_its_number_and_its_amount_to_be_compared_with_ours() {
    let succeeded = |found| Verdict::Definitive(Outcome::Succeeded, found);
    let told = reply(201, &[], &invoice("issued"));
    assert_eq!(decode(&told).0, succeeded(ours()));
    assert_eq!(decode_lookup(&told, "P-7-INV").0, succeeded(ours()));
    let other = invoice("issued").replace("2990", "2991").replace("P-7-INV", "P-8-INV");
    let theirs = Found {
        reference: Some("P-8-INV".to_owned()),
        amount: Some(Money::new(2991, Currency::EUR)),
        ..ours()
    };
    assert_eq!(decode(&reply(201, &[], &other)).0, succeeded(theirs.clone()));
    assert_eq!(decode_lookup(&reply(200, &[], &other), "P-7-INV").0, succeeded(theirs));
}

#[test]
fn only_the_partners_own_word_about_this_number_is_an_absence() {
    let rows = [
        (200, invoice("issued"), "definitive_succeeded", false),
        (200, invoice("issued").replace("EUR", "euros"), "contradicts", false),
        (200, invoice("draft"), "no_news", true),
        (200, invoice("issued")[..40].to_owned(), "no_news", true),
        (200, "<html>".to_owned(), "no_news", true),
        (200, "[]".to_owned(), "no_news", true),
        (404, no("invoice_not_found"), "absent", false),
        (404, no("invoice_not_found").replace("P-7", "P-8"), "no_news", true),
        (404, r#"{"error":"invoice_not_found"}"#.to_owned(), "no_news", true),
        (404, no("not_found"), "no_news", true),
        (404, "<h1>proxy</h1>".to_owned(), "no_news", true),
        (404, String::new(), "no_news", true),
        (401, no("unauthorized"), "no_news", true),
        (403, String::new(), "no_news", true),
        (409, no("duplicate_invoice_number"), "no_news", false),
        (429, String::new(), "no_news", false),
        (500, no("api_error"), "no_news", false),
        (503, no("invoice_not_found"), "no_news", false),
    ];
    for (status, body, verdict, unlisted) in rows {
        let (judged, word) = decode_lookup(&reply(status, &[], &body), "P-7-INV");
        assert_eq!((judged.name(), word.is_some()), (verdict, unlisted), "{status} {body}");
    }
}

#[test]
fn a_number_is_one_part_of_the_address_whatever_is_in_it() {
    let rows = [
        ("P-7-INV", "http://h/invoicing/invoices/P-7-INV"),
        ("a/b", "http://h/invoicing/invoices/a%2Fb"),
        ("a?b#c", "http://h/invoicing/invoices/a%3Fb%23c"),
        ("a b", "http://h/invoicing/invoices/a%20b"),
    ];
    for (number, expected) in rows {
        assert_eq!(address("http://h", number), expected);
    }
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
async fn there_are_no_events_and_nobody_is_asked_before_a_byte_leaves() {
    let adapter = adapter();
    let told = adapter.verify_webhook(&[], b"{}", Timestamp(0)).await;
    assert_eq!(told, Err(WebhookError::Off));
    assert_eq!(adapter.read_event("{}"), Err(WebhookError::Off));
    let call = Call {
        path: INVOICES.to_owned(),
        key: "invoice:1:create".to_owned(),
        body: "{}".to_owned(),
        kind: Kind::INVOICE,
        time_left: Duration::from_secs(5),
    };
    let answer = adapter.send(&call).await;
    assert_eq!((answer.verdict, answer.transport), (Verdict::NotSent, Transport::NotSent));
}
