use domain::{
    evidence::{Found, Outcome},
    money::{Currency, Money},
    operation::ReviewReason,
};

use super::{
    super::{Listed, ListedKind, Parent, wire::reply},
    judge::{decode, decode_lookup, page, parse_event},
    units::{from_stripe, to_stripe},
    *,
};

fn stripe(key: &str) -> Stripe {
    let second = Duration::from_secs(1);
    // The client needs a TLS provider, as the program installs one.
    let _already = rustls::crypto::ring::default_provider().install_default();
    Stripe::new(StripeSettings {
        base_url: "http://127.0.0.1:1".to_owned(),
        api_key: SecretString::from(key.to_owned()),
        webhook_secrets: vec![SecretString::from("whsec_1".to_owned())],
        publishable_key: Some("pk_test_1".to_owned()),
        connect_timeout: second,
        response_timeout: second,
        payment_deadline: second,
        refund_deadline: second,
    })
    .unwrap()
}

fn money(minor: i64, code: &str) -> Money {
    Money::new(minor, Currency::from_code(code).unwrap())
}

fn intent<'a>(amount: Money) -> Intent<'a> {
    Intent {
        kind: &Kind::PAYMENT,
        amount,
        reference: "P-1-1",
        instrument: Some("pm_card_visa"),
        return_url: "https://shop.test/checkout/c/return",
        provider_id: Some("pi_1"),
        parent: Some(Parent { provider_id: "pi_1", effect_id: None }),
        checkout: "c",
        order: "P-1",
        lines: &[],
    }
}

type Fields = &'static [(&'static str, &'static str)];

/// The fields of a form body, as the other side reads them.
fn fields(body: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

#[test]
fn every_request_has_the_fields_of_the_documentation_and_no_other() {
    let eur = money(2990, "EUR");
    let rows: [(&str, &str, Fields); 4] = [
        (
            "create",
            "/v1/payment_intents",
            &[
                ("amount", "2990"),
                ("currency", "eur"),
                ("capture_method", "automatic"),
                ("payment_method_types[0]", "card"),
                ("description", "Order P-1"),
                ("metadata[reference]", "P-1-1"),
                ("metadata[checkout_id]", "c"),
                ("metadata[order]", "P-1"),
            ],
        ),
        (
            "confirm",
            "/v1/payment_intents/pi_1/confirm",
            &[
                ("payment_method", "pm_card_visa"),
                ("return_url", "https://shop.test/checkout/c/return"),
            ],
        ),
        ("cancel", "/v1/payment_intents/pi_1/cancel", &[("cancellation_reason", "abandoned")]),
        (
            "refund",
            "/v1/refunds",
            &[
                ("payment_intent", "pi_1"),
                ("amount", "2990"),
                ("metadata[reference]", "P-1-1"),
                ("metadata[order]", "P-1"),
            ],
        ),
    ];
    for (step, path, wanted) in rows {
        let encoded = stripe("sk_test_1").encode(step, &intent(eur)).unwrap();
        assert_eq!(encoded.path, path);
        let wanted: Vec<(String, String)> =
            wanted.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(fields(&encoded.body), wanted, "{step}");
        assert_eq!(encoded, stripe("sk_test_1").encode(step, &intent(eur)).unwrap(), "equal bytes");
    }
    let token = Intent { instrument: Some("ctoken_1"), ..intent(eur) };
    let confirm = stripe("sk_test_1").encode("confirm", &token).unwrap();
    assert_eq!(
        fields(&confirm.body)[0],
        ("confirmation_token".to_owned(), "ctoken_1".to_owned()),
        "what the Payment Element yields"
    );
    let odd = Intent { provider_id: Some("pi_1/../../refunds"), ..intent(eur) };
    assert!(stripe("sk_test_1").encode("confirm", &odd).is_err(), "an id is no path");
}

#[test]
fn amounts_are_exact_or_refused_in_every_currency() {
    // Independently of the code: what the wire carries for so many of our minor units.
    let rows = [
        ("EUR", 1999, Some(1999)),
        ("USD", 1, Some(1)),
        ("JPY", 500, Some(500)),
        ("KRW", 1000, Some(1000)),
        ("KWD", 1230, Some(1230)),
        ("KWD", 1234, None),
        ("UGX", 500, Some(50_000)),
        ("ISK", 500, Some(50_000)),
        ("HUF", 50_000, Some(50_000)),
        ("HUF", 50_050, None),
        ("TWD", 10_000, Some(10_000)),
        ("TWD", 10_001, None),
        ("MGA", 500, Some(5)),
        ("MGA", 550, None),
        ("EUR", 0, None),
        ("UGX", i64::MAX, None),
    ];
    for (code, minor, wire) in rows {
        assert_eq!(to_stripe(money(minor, code)).ok(), wire, "{minor} {code}");
        if let Some(wire) = wire {
            assert_eq!(from_stripe(wire, &code.to_lowercase()), Some(money(minor, code)), "{code}");
        }
    }
    assert_eq!(from_stripe(1, "ugx"), None, "a hundredth of a shilling");
    assert_eq!(from_stripe(1, "euros"), None);
}

fn object(status: &str, more: &str) -> String {
    format!(
        r#"{{"id":"pi_1","object":"payment_intent","status":"{status}","amount":2990,"amount_received":2990,
            "currency":"eur","livemode":false,"metadata":{{"reference":"P-1-1"}},"latest_charge":"ch_1"{more}}}"#
    )
}

fn in_error(kind: &str, code: &str) -> String {
    format!(
        r#"{{"error":{{"type":"{kind}","code":"{code}","decline_code":"insufficient_funds","message":"m",
            "payment_intent":{}}}}}"#,
        object("requires_payment_method", "")
    )
}

fn refund(status: &str) -> String {
    format!(
        r#"{{"id":"re_1","object":"refund","status":"{status}","amount":2990,"currency":"eur",
            "payment_intent":"pi_1","metadata":{{"reference":"P-1-C1"}}}}"#
    )
}

#[test]
fn every_answer_to_a_send_has_exactly_one_verdict() {
    let failed = r#","last_payment_error":{"type":"card_error","code":"card_declined"}"#;
    let redirect = r#","next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"https://bank.test/"}}"#;
    let bare =
        |kind: &str, code: &str| format!(r#"{{"error":{{"type":"{kind}","code":"{code}"}}}}"#);
    let rows = [
        (200, object("succeeded", ""), "definitive_succeeded", false),
        (200, object("processing", ""), "definitive_processing", false),
        (200, object("canceled", ""), "definitive_canceled", false),
        (200, object("requires_payment_method", ""), "accepted", false),
        (200, object("requires_confirmation", ""), "accepted", false),
        (200, object("requires_payment_method", failed), "definitive_rejected", false),
        (200, object("requires_action", redirect), "definitive_action_required", false),
        (200, object("requires_action", ""), "indeterminate", true),
        (200, object("requires_capture", ""), "indeterminate", true),
        (200, object("thinking", ""), "indeterminate", true),
        (200, object("succeeded", "").replace("eur", "euros"), "contradicts", false),
        (200, object("succeeded", "").replace("false", "true"), "contradicts", false),
        (200, object("succeeded", "")[..60].to_owned(), "indeterminate", true),
        (200, "<html>".to_owned(), "indeterminate", true),
        (200, refund("succeeded"), "definitive_succeeded", false),
        (200, refund("pending"), "definitive_processing", false),
        (200, refund("requires_action"), "definitive_processing", false),
        (200, refund("failed"), "definitive_rejected", false),
        (200, refund("canceled"), "definitive_canceled", false),
        (402, in_error("card_error", "card_declined"), "definitive_rejected", false),
        (402, bare("card_error", "card_declined"), "indeterminate", true),
        (400, bare("invalid_request_error", "parameter_missing"), "not_executed_our_fault", false),
        (400, bare("idempotency_error", ""), "indeterminate", true),
        (
            400,
            in_error("invalid_request_error", "payment_intent_unexpected_state"),
            "indeterminate",
            false,
        ),
        (
            400,
            bare("invalid_request_error", "charge_already_refunded"),
            "definitive_rejected",
            false,
        ),
        (400, "{}".to_owned(), "indeterminate", true),
        (404, bare("invalid_request_error", "resource_missing"), "not_executed_our_fault", false),
        (401, bare("invalid_request_error", ""), "not_executed_configuration", false),
        (403, bare("permission_error", ""), "not_executed_configuration", false),
        (409, bare("invalid_request_error", "idempotency_key_in_use"), "indeterminate", false),
        (429, bare("invalid_request_error", "rate_limit"), "retry_later", false),
        (424, bare("api_error", ""), "indeterminate", false),
        (500, bare("api_error", ""), "indeterminate", false),
        (503, "<html>".to_owned(), "indeterminate", false),
        (418, "{}".to_owned(), "indeterminate", true),
    ];
    for (status, body, wanted, tells) in rows {
        let (verdict, unlisted) = decode(&reply(status, &[], &body), false);
        assert_eq!(verdict.name(), wanted, "{status} {body}");
        assert_eq!(unlisted.is_some(), tells, "{status} {body}: {unlisted:?}");
    }
    let (verdict, _) = decode(&reply(402, &[], &in_error("card_error", "card_declined")), false);
    let Verdict::Definitive(Outcome::Rejected { code }, found) = verdict else { panic!() };
    assert_eq!(code, "insufficient_funds");
    assert_eq!(found.provider_id.as_deref(), Some("pi_1"));
    assert_eq!(found.reference.as_deref(), Some("P-1-1"));
}

#[test]
fn a_lookup_says_what_the_object_says_and_otherwise_nothing() {
    let list = |rows: &str, more: bool| {
        format!(r#"{{"object":"list","data":[{rows}],"has_more":{more}}}"#)
    };
    let other = refund("succeeded").replace("P-1-C1", "P-9-C1");
    let twice = format!("{},{}", refund("succeeded"), refund("succeeded").replace("re_1", "re_2"));
    let rows = [
        (200, object("succeeded", ""), "definitive_succeeded"),
        (200, object("thinking", ""), "no_news"),
        (404, "{}".to_owned(), "absent"),
        (403, "{}".to_owned(), "no_news"),
        (500, "{}".to_owned(), "no_news"),
        (200, "<html>".to_owned(), "no_news"),
        (200, list("", false), "absent"),
        (200, list("", true), "no_news"),
        (200, list(&other, false), "absent"),
        (200, list(&format!("{other},{}", refund("succeeded")), false), "definitive_succeeded"),
        (200, list(&twice, false), "contradicts"),
    ];
    for (status, body, wanted) in rows {
        let (verdict, _) = decode_lookup(&reply(status, &[], &body), "P-1-C1", false);
        assert_eq!(verdict.name(), wanted, "{status} {body}");
    }
}

#[test]
fn headers_of_an_answer_are_kept_for_support() {
    let headers = [
        ("idempotent-replayed", "true"),
        ("request-id", "req_9"),
        ("stripe-should-retry", "false"),
    ];
    let reply = reply(402, &headers, &in_error("card_error", "card_declined"));
    let answer = judge::answered(&reply, decode(&reply, false));
    assert!(answer.cached);
    assert_eq!(answer.request_id.as_deref(), Some("req_9"));
    let noted = answer.provider_error.unwrap();
    assert_eq!(noted, "card_error/card_declined/insufficient_funds (should-retry: false)");
}

#[test]
fn stripes_advice_is_kept_whatever_the_body_is() {
    let advice = [("stripe-should-retry", "true")];
    for (status, body) in [(503, "<html>busy</html>"), (200, "{}"), (500, "")] {
        let reply = reply(status, &advice, body);
        let answer = judge::answered(&reply, decode(&reply, false));
        assert_eq!(answer.provider_error.as_deref(), Some("(should-retry: true)"), "{status}");
    }
}

#[test]
fn an_intent_whose_last_trouble_was_with_a_key_was_not_declined() {
    let trouble = r#","last_payment_error":{"type":"idempotency_error","code":null}"#;
    let body = object("requires_payment_method", trouble);
    let (verdict, word) = decode_lookup(&reply(200, &[], &body), "P-1-1", false);
    assert_eq!(verdict, Verdict::NoNews);
    assert!(word.is_some(), "a person is told");
}

fn event(kind: &str, object: &str) -> String {
    format!(
        r#"{{"id":"evt_1","object":"event","type":"{kind}","created":1700000000,"livemode":false,
            "request":{{"id":"req_1","idempotency_key":"pay:c:v1:confirm"}},"data":{{"object":{object}}}}}"#
    )
}

#[test]
fn an_event_is_judged_by_its_object_and_only_if_its_type_agrees() {
    let failed = r#","last_payment_error":{"type":"card_error","code":"card_declined"}"#;
    let dispute = r#"{"id":"dp_1","object":"dispute","status":"lost","amount":2990,"currency":"eur","charge":"ch_1","payment_intent":"pi_1"}"#;
    let charge = r#"{"id":"ch_1","object":"charge","status":"succeeded","payment_intent":"pi_1","metadata":{}}"#;
    let rows = [
        ("payment_intent.succeeded", object("succeeded", ""), "definitive_succeeded", Some("pi_1")),
        ("payment_intent.succeeded", object("processing", ""), "indeterminate", Some("pi_1")),
        (
            "payment_intent.payment_failed",
            object("requires_payment_method", failed),
            "definitive_rejected",
            Some("pi_1"),
        ),
        (
            "payment_intent.processing",
            object("processing", ""),
            "definitive_processing",
            Some("pi_1"),
        ),
        ("payment_intent.created", object("requires_payment_method", ""), "accepted", Some("pi_1")),
        ("payment_intent.canceled", object("canceled", ""), "definitive_canceled", Some("pi_1")),
        (
            "payment_intent.amount_capturable_updated",
            object("requires_capture", ""),
            "indeterminate",
            Some("pi_1"),
        ),
        ("refund.failed", refund("failed"), "definitive_rejected", Some("re_1")),
        ("refund.updated", refund("succeeded"), "definitive_succeeded", Some("re_1")),
        ("charge.refunded", charge.to_owned(), "indeterminate", Some("pi_1")),
        ("charge.dispute.closed", dispute.to_owned(), "indeterminate", Some("pi_1")),
    ];
    for (kind, object, wanted, id) in rows {
        let event = parse_event(event(kind, &object).as_bytes()).unwrap();
        assert_eq!(event.verdict.name(), wanted, "{kind}");
        assert_eq!(event.provider_id.as_deref(), id, "{kind}");
        assert_eq!(event.key.as_deref(), Some("pay:c:v1:confirm"));
        assert_eq!(event.occurred_at, Some(Timestamp(1_700_000_000_000)));
    }
    let lost = parse_event(event("charge.dispute.closed", dispute).as_bytes()).unwrap();
    let elsewhere = lost.made_elsewhere.unwrap();
    assert_eq!(elsewhere.parent.as_deref(), Some("pi_1"));
    assert_eq!((elsewhere.outcome, elsewhere.amount), (Outcome::Succeeded, money(2990, "EUR")));
    for broken in ["{}", "[]", "", r#"{"id":"","type":"x"}"#] {
        assert!(parse_event(broken.as_bytes()).is_err(), "{broken}");
    }
    // Of a refund that cannot be read it is known all the same that it is not the payment's news.
    let unreadable = refund("succeeded").replace("eur", "euros");
    let told = parse_event(event("refund.updated", &unreadable).as_bytes()).unwrap();
    assert!(told.gives_back && told.made_elsewhere.is_none());
}

#[test]
fn an_event_of_a_connected_account_says_nothing_of_ours() {
    let theirs = |kind: &str, object: &str| {
        let told = event(kind, object).replace(r#""request":"#, r#""account":"acct_2","request":"#);
        parse_event(told.as_bytes()).unwrap()
    };
    let wanted =
        Verdict::Contradicts(ReviewReason::AccountMismatch, domain::evidence::Found::default());
    for (kind, object) in [
        ("payment_intent.succeeded", object("succeeded", "")),
        ("payment_intent.canceled", object("canceled", "")),
        ("refund.updated", refund("succeeded")),
    ] {
        let told = theirs(kind, &object);
        assert_eq!(told.verdict, wanted, "{kind}");
        assert!(told.made_elsewhere.is_none(), "{kind}");
    }
    let nobodys = event("payment_intent.succeeded", &object("succeeded", ""));
    let nobodys = nobodys.replace(r#""request":"#, r#""account":null,"request":"#);
    assert_ne!(parse_event(nobodys.as_bytes()).unwrap().verdict, wanted);
}

#[test]
fn a_page_of_a_list_gives_what_was_taken_and_where_to_go_on() {
    let rows = format!(
        "{},{},{}",
        object("succeeded", ""),
        object("requires_payment_method", ""),
        refund("pending")
    );
    let body = format!(r#"{{"object":"list","data":[{rows}],"has_more":true}}"#);
    let (listed, after) = page(&reply(200, &[], &body)).unwrap();
    let ids: Vec<&str> = listed.iter().map(|row| row.provider_id.as_str()).collect();
    assert_eq!(ids, ["pi_1", "re_1"], "what is only created is not listed");
    assert_eq!(after.as_deref(), Some("re_1"));
    assert!(page(&reply(500, &[], &body)).is_none());
}

#[test]
fn a_dispute_takes_the_money_until_it_is_won_and_an_inquiry_takes_nothing() {
    let rows = [
        ("needs_response", Some(Outcome::Processing)),
        ("under_review", Some(Outcome::Processing)),
        ("a_new_word", Some(Outcome::Processing)),
        ("lost", Some(Outcome::Succeeded)),
        ("won", Some(Outcome::Canceled)),
        ("warning_closed", Some(Outcome::Canceled)),
        ("charge_refunded", Some(Outcome::Canceled)),
        ("warning_needs_response", None),
        ("warning_under_review", None),
    ];
    for (status, wanted) in rows {
        let dispute = format!(
            r#"{{"id":"dp_1","object":"dispute","status":"{status}","amount":2990,"currency":"eur","metadata":{{}},
                "charge":"ch_1","payment_intent":"pi_1","created":1700000000,"livemode":false}}"#
        );
        let told = parse_event(event("charge.dispute.updated", &dispute).as_bytes()).unwrap();
        let body = format!(r#"{{"object":"list","data":[{dispute}],"has_more":false}}"#);
        let (rows, _) = page(&reply(200, &[], &body)).unwrap();
        assert_eq!(
            rows.first(),
            told.made_elsewhere.as_ref(),
            "{status}: a list and an event agree"
        );
        let given = rows.first().map(|row| row.outcome.clone());
        assert_eq!(given, wanted, "{status}");
        if let Some(row) = rows.first() {
            assert_eq!((row.provider_id.as_str(), row.parent.as_deref()), ("dp_1", Some("pi_1")));
            assert_eq!((row.kind, row.amount), (ListedKind::GivenBack, money(2990, "EUR")));
        }
    }
}

#[test]
fn a_live_key_is_known_by_its_name_and_shows_no_test_cards() {
    for (key, live) in [("sk_test_1", false), ("sk_live_1", true), ("rk_live_1", true)] {
        assert_eq!(stripe(key).live(), live, "{key}");
        assert_eq!(stripe(key).test_tokens().is_empty(), live, "{key}");
    }
}

/// A whole body of the published shape; where they come from is told beside them.
fn example(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/provider/stripe/examples");
    std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap()
}

/// What the examples name: an object, its charge, our reference, and how much of it in euro cents.
fn named(id: &str, charge: Option<&str>, reference: &str, minor: i64) -> Found {
    Found {
        provider_id: Some(id.to_owned()),
        effect_id: charge.map(str::to_owned),
        reference: Some(reference.to_owned()),
        account: None,
        amount: Some(money(minor, "EUR")),
    }
}

const EXAMPLE_INTENT: &str = "pi_3Pay0nceExample000000001";
const EXAMPLE_CHARGE: &str = "ch_3Pay0nceExample000000001";
const EXAMPLE_REFUND: &str = "re_3Pay0nceExample000000001";

fn example_intent(outcome: Outcome, charged: bool) -> Verdict {
    let charge = charged.then_some(EXAMPLE_CHARGE);
    Verdict::Definitive(outcome, named(EXAMPLE_INTENT, charge, "P-7K2M-4QXD-1", 2990))
}

fn example_refund(outcome: Outcome) -> Verdict {
    Verdict::Definitive(outcome, named(EXAMPLE_REFUND, None, "P-7K2M-4QXD-1-R1", 1000))
}

fn rejected(code: &str) -> Outcome {
    Outcome::Rejected { code: code.to_owned() }
}

#[test]
fn whole_answers_of_the_published_shape_have_the_verdict_that_the_documentation_gives_them() {
    let open = || Verdict::Accepted(named(EXAMPLE_INTENT, None, "P-7K2M-4QXD-1", 2990));
    let asked = || Outcome::ActionRequired {
        url: "https://hooks.stripe.com/3d_secure_2/hosted?example=1".to_owned(),
        expires_at: None,
    };
    let broke = || rejected("insufficient_funds");
    let rows = [
        ("payment_intent_created", 200, open(), false),
        ("payment_intent_requires_confirmation", 200, open(), false),
        ("payment_intent_requires_action", 200, example_intent(asked(), false), false),
        ("payment_intent_processing", 200, example_intent(Outcome::Processing, true), false),
        ("payment_intent_succeeded", 200, example_intent(Outcome::Succeeded, true), false),
        ("payment_intent_declined", 200, example_intent(broke(), true), false),
        ("payment_intent_canceled", 200, example_intent(Outcome::Canceled, false), false),
        ("error_card_declined", 402, example_intent(broke(), false), false),
        ("error_idempotency", 400, Verdict::Indeterminate, true),
        ("error_unexpected_state", 400, Verdict::Indeterminate, false),
        ("refund_succeeded", 200, example_refund(Outcome::Succeeded), false),
        ("refund_pending", 200, example_refund(Outcome::Processing), false),
        ("refund_failed", 200, example_refund(rejected("lost_or_stolen_card")), false),
        // What is neither a payment nor a refund is nothing we asked for.
        ("charge", 200, Verdict::Indeterminate, true),
        ("dispute_needs_response", 200, Verdict::Indeterminate, true),
        ("refund_list", 200, Verdict::Indeterminate, true),
    ];
    for (name, status, wanted, tells) in rows {
        let answer = reply(status, &[], &example(name));
        let (verdict, unlisted) = decode(&answer, false);
        assert_eq!(verdict, wanted, "{name}");
        assert_eq!(unlisted.is_some(), tells, "{name}: {unlisted:?}");
        if status != 200 {
            continue;
        }
        // A question finds the same; the list is searched for our own refund.
        let reference = "P-7K2M-4QXD-1-R1";
        let wanted = match (name, wanted) {
            ("refund_list", _) => example_refund(Outcome::Succeeded),
            (_, Verdict::Indeterminate) => Verdict::NoNews,
            (_, other) => other,
        };
        assert_eq!(decode_lookup(&answer, reference, false).0, wanted, "{name}");
        // With a live key a payment of the test mode is not the one that was asked about.
        if name.starts_with("payment_intent") {
            let (verdict, _) = decode(&answer, true);
            let other = matches!(&verdict, Verdict::Contradicts(ReviewReason::AccountMismatch, _));
            assert!(other, "{name}: {verdict:?}");
        }
    }
    let none = decode_lookup(&reply(200, &[], &example("refund_list")), "P-7K2M-4QXD-1-R3", false);
    assert_eq!(none.0, Verdict::Absent);
}

#[test]
fn whole_events_of_the_published_shape_say_what_the_documentation_says_of_them() {
    let (intent, dispute) = (Some(EXAMPLE_INTENT), "dp_1Pay0nceExample000000001");
    let key = Some("pay:0b0c6a52-6f6f-4a52-9c60-3d9a5d0a1f11:v1:confirm");
    let back = |id: &str, outcome, reference: Option<&str>, minor| Listed {
        kind: ListedKind::GivenBack,
        provider_id: id.to_owned(),
        is_effect: false,
        reference: reference.map(str::to_owned),
        parent: Some(EXAMPLE_INTENT.to_owned()),
        outcome,
        amount: money(minor, "EUR"),
    };
    let failed = Some("P-7K2M-4QXD-1-R1");
    let nothing = || Verdict::Indeterminate;
    let rows = [
        ("payment_intent_succeeded", (intent, key, example_intent(Outcome::Succeeded, true), None)),
        (
            "payment_intent_payment_failed",
            (intent, key, example_intent(rejected("insufficient_funds"), true), None),
        ),
        ("charge_refunded", (intent, None, nothing(), None)),
        (
            "refund_failed",
            (
                Some(EXAMPLE_REFUND),
                None,
                example_refund(rejected("lost_or_stolen_card")),
                Some(back(EXAMPLE_REFUND, rejected("failed"), failed, 1000)),
            ),
        ),
        (
            "charge_dispute_created",
            (intent, None, nothing(), Some(back(dispute, Outcome::Processing, None, 2990))),
        ),
        // An inquiry takes nothing yet.
        ("charge_dispute_inquiry", (intent, None, nothing(), None)),
        ("plan_created", (None, None, nothing(), None)),
    ];
    for (name, (id, key, verdict, elsewhere)) in rows {
        let event = parse_event(example(&format!("event_{name}")).as_bytes()).unwrap();
        assert_eq!(event.kind.replace('.', "_"), kind_of(name), "{name}");
        assert_eq!(event.provider_id.as_deref(), id, "{name}");
        assert_eq!(event.key.as_deref(), key, "{name}");
        assert_eq!(event.verdict, verdict, "{name}");
        assert_eq!(event.made_elsewhere, elsewhere, "{name}");
        assert_eq!(event.occurred_at, Some(Timestamp(1_764_583_261_000)), "{name}");
        assert!(!event.live, "{name}");
    }
}

/// The type of an example event by its name.
fn kind_of(name: &str) -> &str {
    if name == "charge_dispute_inquiry" { "charge_dispute_created" } else { name }
}
