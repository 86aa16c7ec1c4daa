use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{
    super::{
        Parent,
        wire::{reply, signed},
    },
    *,
};

const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn object(status: &str) -> String {
    format!(
        r#"{{"id":"pay_1","object":"payment","account":"acct_1","livemode":false,"reference":"P-1-1",
            "amount_minor":2990,"currency":"EUR","status":"{status}","decline_code":null,
            "action_url":"https://bank.test/confirm","action_expires_at":5}}"#
    )
}

fn in_error(kind: &str, status: &str) -> String {
    format!(
        r#"{{"error":{{"type":"{kind}","code":"x","message":"m","payment":{}}}}}"#,
        object(status)
    )
}

#[test]
fn every_answer_to_a_send_has_exactly_one_verdict() {
    let rows = [
        (201, object("succeeded"), "definitive_succeeded", false),
        (200, object("canceled"), "definitive_canceled", false),
        (201, object("processing"), "definitive_processing", false),
        (201, object("requires_action"), "definitive_action_required", false),
        (201, object("under_review"), "indeterminate", true),
        (201, "<html>".to_owned(), "indeterminate", true),
        (201, object("succeeded")[..40].to_owned(), "indeterminate", true),
        (201, object("succeeded").replace("EUR", "euros"), "contradicts", false),
        (
            201,
            object("succeeded").replace(r#""livemode":false"#, r#""livemode":true"#),
            "contradicts",
            false,
        ),
        (402, in_error("card_declined", "declined"), "definitive_rejected", false),
        (402, r#"{"error":{"type":"card_declined"}}"#.to_owned(), "indeterminate", true),
        (402, "{}".to_owned(), "indeterminate", true),
        (409, in_error("not_cancelable", "succeeded"), "definitive_succeeded", false),
        (409, r#"{"error":{"type":"idempotency_key_in_use"}}"#.to_owned(), "indeterminate", false),
        (422, r#"{"error":{"type":"idempotency_mismatch"}}"#.to_owned(), "indeterminate", true),
        (
            422,
            r#"{"error":{"type":"refund_exceeds_payment"}}"#.to_owned(),
            "definitive_rejected",
            false,
        ),
        (422, r#"{"error":{"type":"something_new"}}"#.to_owned(), "indeterminate", true),
        (
            400,
            r#"{"error":{"type":"invalid_request"}}"#.to_owned(),
            "not_executed_our_fault",
            false,
        ),
        (400, "<h1>Bad Request</h1>".to_owned(), "indeterminate", true),
        (404, r#"{"error":{"type":"not_found"}}"#.to_owned(), "not_executed_our_fault", false),
        (404, "<h1>proxy</h1>".to_owned(), "indeterminate", true),
        (
            401,
            r#"{"error":{"type":"unauthorized"}}"#.to_owned(),
            "not_executed_configuration",
            false,
        ),
        (403, "<h1>firewall</h1>".to_owned(), "indeterminate", true),
        (429, String::new(), "retry_later", false),
        (424, String::new(), "indeterminate", false),
        (500, String::new(), "indeterminate", false),
        (503, "<html>".to_owned(), "indeterminate", false),
        (302, String::new(), "indeterminate", true),
    ];
    for (status, body, verdict, unlisted) in rows {
        let (judged, word) = decode(&reply(status, &[], &body));
        assert_eq!((judged.name(), word.is_some()), (verdict, unlisted), "{status} {body}");
    }
}

#[test]
fn a_lookup_that_says_nothing_is_no_news_and_not_found_is_only_absent() {
    let list = |objects: &[String]| format!(r#"{{"data":[{}]}}"#, objects.join(","));
    let rows = [
        (200, object("succeeded"), "definitive_succeeded"),
        (200, object("declined"), "definitive_rejected"),
        (200, object("under_review"), "no_news"),
        (200, list(&[]), "absent"),
        (200, list(&[object("processing")]), "definitive_processing"),
        (200, list(&[object("declined"), object("succeeded")]), "definitive_succeeded"),
        (
            200,
            list(&[object("succeeded"), object("succeeded").replace("pay_1", "pay_2")]),
            "contradicts",
        ),
        (200, "<html>".to_owned(), "no_news"),
        (404, String::new(), "absent"),
        (401, String::new(), "no_news"),
        (403, String::new(), "no_news"),
        (429, String::new(), "no_news"),
        (500, String::new(), "no_news"),
    ];
    for (status, body, verdict) in rows {
        assert_eq!(decode_lookup(&reply(status, &[], &body)).0.name(), verdict, "{status} {body}");
    }
}

#[test]
fn headers_of_an_answer_are_kept() {
    let headers =
        [("idempotent-replayed", "true"), ("request-id", "req_7"), ("retry-after", "120")];
    let reply = reply(429, &headers, r#"{"error":{"type":"rate_limited","code":"slow"}}"#);
    let answer = answered(&reply, decode(&reply));
    assert!(answer.cached);
    assert_eq!(answer.request_id.as_deref(), Some("req_7"));
    assert_eq!(answer.provider_error.as_deref(), Some("rate_limited/slow"));
    assert_eq!(answer.verdict, Verdict::RetryLater { after: Some(Duration::from_secs(120)) });
}

fn sign(secret: &str, time: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{time}.{body}").as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

#[test]
fn a_signature_is_valid_only_for_these_bytes_near_this_time_under_some_secret() {
    let secrets: Vec<SecretString> = vec!["old".into(), "new".into()];
    let now = NOW.0 / 1000;
    let body = r#"{"id":"evt_1"}"#;
    let good = |secret: &str, time: i64| format!("t={time},v1={}", sign(secret, time, body));
    let rows = [
        (good("old", now), true),
        (good("new", now), true),
        (format!("t={now},v1=00,v1={}", sign("new", now, body)), true),
        (good("new", now - 300), true),
        (good("new", now + 300), true),
        (good("new", now - 301), false),
        (good("new", now + 301), false),
        (good("stranger", now), false),
        (good("new", now).replace("v1=", "v0="), false),
        (format!("t={now},v1="), false),
        (format!("t={now}"), false),
        (format!("v1={}", sign("new", now, body)), false),
        (format!("t={},v1={}", i64::MIN, sign("new", now, body)), false),
        (String::new(), false),
        ("t=,v1=,".to_owned(), false),
    ];
    for (header, valid) in rows {
        assert_eq!(signed(&header, &secrets, body.as_bytes(), NOW), valid, "{header}");
    }
    let other = body.replace('1', "2");
    assert!(!signed(&good("new", now), &secrets, other.as_bytes(), NOW), "other bytes");
}

#[test]
fn every_amount_is_sent_in_the_smallest_unit_of_its_currency() {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let second = Duration::from_secs(1);
    let provider = ExamplePay::new(ExamplePaySettings {
        base_url: "http://127.0.0.1:1".to_owned(),
        api_key: "sk_test_1".into(),
        webhook_secrets: Vec::new(),
        account: "acct_1".to_owned(),
        connect_timeout: second,
        response_timeout: second,
        key_window: second,
        payment_deadline: second,
        refund_deadline: second,
    });
    let provider = provider.unwrap();
    for (minor, code) in [
        (1999, "EUR"),
        (500, "JPY"),
        (1234, "KWD"),
        (500, "UGX"),
        (50_050, "HUF"),
        (500, "ISK"),
        (10_001, "TWD"),
    ] {
        let intent = Intent {
            kind: &Kind::PAYMENT,
            amount: Money::new(minor, Currency::from_code(code).unwrap()),
            reference: "P-1-1",
            instrument: Some("tok_visa"),
            return_url: "https://shop.test/",
            provider_id: None,
            parent: Some(Parent { provider_id: "pay_1", effect_id: None }),
            checkout: "c",
            order: "P-1",
            lines: &[],
        };
        for step in ["create", "refund"] {
            let body = provider.encode(step, &intent).unwrap().body;
            let sent: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!((&sent["amount_minor"], &sent["currency"]), (&minor.into(), &code.into()));
        }
    }
}

#[test]
fn an_event_that_contradicts_itself_is_news_nobody_can_read() {
    let event = |kind: &str| {
        format!(
            r#"{{"id":"evt_1","type":"{kind}","created_at":7,"livemode":false,"account":"acct_1",
                "request":{{"id":"req_1","idempotency_key":"pay:1"}},"data":{{"object":{}}}}}"#,
            object("succeeded")
        )
    };
    let read = |text: &str| parse_event(text.as_bytes());
    assert_eq!(read(&event("payment.succeeded")).unwrap().verdict.name(), "definitive_succeeded");
    assert_eq!(read(&event("payment.declined")).unwrap().verdict, Verdict::Indeterminate);
    assert_eq!(read(&event("payment.renamed")).unwrap().verdict, Verdict::Indeterminate);
    let doubled = event("payment.succeeded")
        .replace(r#""status":"succeeded""#, r#""status":"processing","status":"succeeded""#);
    assert_eq!(read(&doubled).unwrap().verdict, Verdict::Indeterminate, "which one counts?");
    let unknown = r#"{"id":"evt_2","type":"payout.created","livemode":false,"data":{"object":{"id":"po_1","reference":"P-1-1"}}}"#;
    let unknown = read(unknown).unwrap();
    assert_eq!(unknown.verdict, Verdict::Indeterminate);
    assert_eq!(unknown.provider_id.as_deref(), Some("po_1"));
    assert_eq!(unknown.reference.as_deref(), Some("P-1-1"));
    assert_eq!(read("{}"), Err(WebhookError::Malformed));
    assert_eq!(read("[]"), Err(WebhookError::Malformed));
    assert_eq!(
        read(&event("payment.succeeded").replace("evt_1", "")),
        Err(WebhookError::Malformed)
    );
}
