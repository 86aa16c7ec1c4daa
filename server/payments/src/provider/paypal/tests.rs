use domain::{
    evidence::{Evidence, Found, NotExecuted, Outcome},
    money::{Currency, Money},
    operation::{Snapshot, State, Step, decide},
};

use super::{
    super::{ListedKind, Parent, wire::reply},
    issues::{ISSUES, Meaning},
    judge::time,
    money::{from_paypal, to_paypal},
    report::{moment, page},
    *,
};

fn paypal() -> PayPal {
    let second = Duration::from_secs(1);
    let _already = rustls::crypto::ring::default_provider().install_default();
    PayPal::new(PayPalSettings {
        base_url: "http://127.0.0.1:1".to_owned(),
        client_id: "id".to_owned(),
        client_secret: SecretString::from("secret".to_owned()),
        webhook_id: Some("WH-1".to_owned()),
        trust: Trust::Certificate(Roots::default()),
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

fn intent<'a>() -> Intent<'a> {
    Intent {
        kind: &Kind::PAYMENT,
        amount: money(2990, "EUR"),
        reference: "P-1-1",
        instrument: Some("wallet"),
        return_url: "https://shop.test/checkout/c/return",
        provider_id: Some("5O190127TN364715T"),
        parent: Some(Parent { provider_id: "5O190127TN364715T", effect_id: Some("2GG27948") }),
        checkout: "c",
        order: "P-1",
        lines: &[],
    }
}

#[test]
fn every_request_has_the_fields_of_the_documentation_and_no_other() {
    let amount = json!({"currency_code": "EUR", "value": "29.90"});
    let rows = [
        (
            "create",
            "/v2/checkout/orders",
            json!({
                "intent": "CAPTURE",
                "purchase_units": [{
                    "custom_id": "P-1-1", "invoice_id": "P-1-1", "description": "Order P-1",
                    "amount": amount,
                }],
                "payment_source": {"paypal": {"experience_context": {
                    "return_url": "https://shop.test/checkout/c/return",
                    "cancel_url": "https://shop.test/checkout/c/return",
                    "shipping_preference": "NO_SHIPPING",
                    "user_action": "PAY_NOW",
                }}},
            }),
        ),
        ("capture", "/v2/checkout/orders/5O190127TN364715T/capture", json!({})),
        (
            "refund",
            "/v2/payments/captures/2GG27948/refund",
            json!({"amount": amount, "custom_id": "P-1-1", "invoice_id": "P-1-1"}),
        ),
    ];
    for (step, path, wanted) in rows {
        let encoded = paypal().encode(step, &intent()).unwrap();
        assert_eq!(encoded.path, path);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&encoded.body).unwrap(), wanted);
        assert_eq!(encoded, paypal().encode(step, &intent()).unwrap(), "equal bytes");
    }
    let odd = Intent { provider_id: Some("../refunds"), ..intent() };
    assert!(paypal().encode("capture", &odd).is_err(), "an id is no path");
    let unpaid = Intent { parent: None, ..intent() };
    assert!(paypal().encode("refund", &unpaid).is_err(), "nothing was captured");
}

#[test]
fn amounts_are_exact_decimal_strings_or_refused() {
    let rows = [
        ("EUR", 1999, Some("19.99")),
        ("EUR", 5, Some("0.05")),
        ("USD", 100, Some("1.00")),
        ("JPY", 500, Some("500")),
        ("HUF", 50_000, Some("500")),
        ("HUF", 50_050, None),
        ("TWD", 10_000, Some("100")),
        ("TWD", 10_001, None),
        ("KWD", 1230, None),
        ("KRW", 1000, None),
        ("ISK", 500, None),
        ("UGX", 500, None),
        ("EUR", 0, None),
        ("EUR", -5, None),
    ];
    for (code, minor, wire) in rows {
        let written = to_paypal(money(minor, code)).ok();
        assert_eq!(written.as_deref(), wire, "{minor} {code}");
        if let Some(wire) = wire {
            assert_eq!(from_paypal(wire, code), Some(money(minor, code)), "{wire} {code}");
        }
    }
    for (text, code, minor) in [
        ("500.00", "JPY", Some(500)),
        ("500.50", "JPY", None),
        ("19.9", "EUR", Some(1990)),
        ("19.999", "EUR", None),
        ("19.990", "EUR", Some(1999)),
        ("1e3", "EUR", None),
        ("-1.00", "EUR", None),
        (".50", "EUR", None),
        ("", "EUR", None),
        ("1,000.00", "EUR", None),
        ("1.aé", "EUR", None),
        ("99999999999999999999.00", "EUR", None),
        ("1.00", "euro", None),
    ] {
        let read = from_paypal(text, code);
        assert_eq!(read.map(|it| it.minor), minor, "{text} {code}");
    }
}

fn order(status: &str, captures: &str) -> String {
    format!(
        r#"{{"id":"5O1","intent":"CAPTURE","status":"{status}","purchase_units":[{{"custom_id":"P-1-1",
            "amount":{{"currency_code":"EUR","value":"29.90"}},"payments":{{"captures":[{captures}],"refunds":[]}}}}],
            "links":[{{"rel":"self","href":"https://x/"}},{{"rel":"payer-action","href":"https://pay/"}}]}}"#
    )
}

fn capture(status: &str) -> String {
    format!(
        r#"{{"id":"2GG","status":"{status}","custom_id":"P-1-1","amount":{{"currency_code":"EUR","value":"29.90"}},
            "status_details":{{"reason":"PENDING_REVIEW"}},"supplementary_data":{{"related_ids":{{"order_id":"5O1"}}}}}}"#
    )
}

fn refund(status: &str) -> String {
    format!(
        r#"{{"id":"1JU","status":"{status}","custom_id":"P-1-C1","amount":{{"currency_code":"EUR","value":"29.90"}},
            "links":[{{"rel":"up","href":"https://x/v2/payments/captures/2GG"}}]}}"#
    )
}

fn issue(name: &str, issue: &str) -> String {
    format!(
        r#"{{"name":"{name}","debug_id":"d1","message":"m","details":[{{"issue":"{issue}"}}]}}"#
    )
}

#[test]
fn the_capture_decides_and_never_the_order() {
    let two = format!("{},{}", capture("COMPLETED"), capture("COMPLETED").replace("2GG", "3GG"));
    let retried = format!("{},{}", capture("DECLINED"), capture("COMPLETED").replace("2GG", "3GG"));
    let hidden = format!("{},{}", capture("PENDING"), capture("DECLINED").replace("2GG", "3GG"));
    let odd = format!("{},{}", capture("PONDERING"), capture("DECLINED").replace("2GG", "3GG"));
    let unlinked = order("CREATED", "").replace("payer-action", "other");
    let rows = [
        (201, order("COMPLETED", &capture("COMPLETED")), "definitive_succeeded", false),
        (200, order("COMPLETED", &capture("PARTIALLY_REFUNDED")), "definitive_succeeded", false),
        (200, order("COMPLETED", &capture("REFUNDED")), "definitive_succeeded", false),
        (201, order("COMPLETED", &capture("PENDING")), "definitive_processing", false),
        (201, order("COMPLETED", &capture("DECLINED")), "definitive_rejected", false),
        (201, order("COMPLETED", &capture("FAILED")), "definitive_rejected", false),
        (201, order("COMPLETED", &capture("PONDERING")), "indeterminate", true),
        (201, order("COMPLETED", ""), "indeterminate", true),
        (201, order("COMPLETED", &two), "contradicts", false),
        (201, order("COMPLETED", &retried), "definitive_succeeded", false),
        (201, order("COMPLETED", &hidden), "definitive_processing", false),
        (201, order("COMPLETED", &odd), "indeterminate", true),
        (200, order("CREATED", ""), "definitive_action_required", false),
        (200, order("PAYER_ACTION_REQUIRED", ""), "definitive_action_required", false),
        (200, unlinked, "indeterminate", true),
        (200, order("APPROVED", ""), "accepted", false),
        (200, order("VOIDED", ""), "definitive_canceled", false),
        (200, order("PONDERING", ""), "indeterminate", true),
        (
            201,
            order("COMPLETED", &capture("COMPLETED").replace("29.90", "29.999")),
            "contradicts",
            false,
        ),
        (201, order("COMPLETED", &capture("COMPLETED"))[..80].to_owned(), "indeterminate", true),
        (201, "<html>".to_owned(), "indeterminate", true),
        (201, refund("COMPLETED"), "definitive_succeeded", false),
        (201, refund("PENDING"), "definitive_processing", false),
        (201, refund("FAILED"), "definitive_rejected", false),
        (200, refund("CANCELLED"), "definitive_canceled", false),
    ];
    for (status, body, wanted, tells) in rows {
        let (verdict, unlisted) = decode(&reply(status, &[], &body));
        assert_eq!(verdict.name(), wanted, "{status} {body}");
        assert_eq!(unlisted.is_some(), tells, "{status} {body}: {unlisted:?}");
    }
    let (verdict, _) = decode(&reply(201, &[], &order("COMPLETED", &capture("COMPLETED"))));
    let Verdict::Definitive(Outcome::Succeeded, found) = verdict else { panic!() };
    assert_eq!(found.effect_id.as_deref(), Some("2GG"));
    assert_eq!(found.provider_id.as_deref(), Some("5O1"));
    assert_eq!(found.amount, Some(money(2990, "EUR")));
}

#[test]
fn an_error_is_judged_by_its_issue_and_an_unlisted_one_says_nothing() {
    for (code, meaning) in ISSUES {
        let (verdict, unlisted) = decode(&reply(422, &[], &issue("UNPROCESSABLE_ENTITY", code)));
        let (wanted, tells) = match meaning {
            Meaning::No => ("definitive_rejected", false),
            Meaning::Ask | Meaning::Shopper => ("indeterminate", false),
            Meaning::OurFault => ("not_executed_our_fault", false),
            Meaning::Settings => ("not_executed_configuration", false),
            Meaning::Person => ("indeterminate", true),
        };
        assert_eq!((verdict.name(), unlisted.is_some()), (wanted, tells), "{code}");
    }
    let mut codes: Vec<&str> = ISSUES.iter().map(|(code, _)| *code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), ISSUES.len(), "each stands there once");
    let rows = [
        (422, issue("UNPROCESSABLE_ENTITY", "SOMETHING_NEW"), "indeterminate", true),
        (409, issue("RESOURCE_CONFLICT", "PREVIOUS_REQUEST_IN_PROGRESS"), "indeterminate", false),
        (409, "{}".to_owned(), "indeterminate", true),
        (400, r#"{"name":"INVALID_REQUEST"}"#.to_owned(), "not_executed_our_fault", false),
        (400, "{}".to_owned(), "indeterminate", true),
        (401, r#"{"error":"invalid_token"}"#.to_owned(), "not_executed_configuration", false),
        (403, r#"{"name":"NOT_AUTHORIZED"}"#.to_owned(), "not_executed_configuration", false),
        (404, r#"{"name":"RESOURCE_NOT_FOUND"}"#.to_owned(), "not_executed_our_fault", false),
        (429, r#"{"name":"RATE_LIMIT_REACHED"}"#.to_owned(), "retry_later", false),
        (424, "{}".to_owned(), "indeterminate", false),
        (500, r#"{"name":"INTERNAL_SERVER_ERROR"}"#.to_owned(), "indeterminate", false),
        (418, "{}".to_owned(), "indeterminate", true),
    ];
    for (status, body, wanted, tells) in rows {
        let (verdict, unlisted) = decode(&reply(status, &[], &body));
        assert_eq!((verdict.name(), unlisted.is_some()), (wanted, tells), "{status} {body}");
    }
    for (codes, wanted, tells) in [
        (["INSTRUMENT_DECLINED", "INVALID_STRING_LENGTH"], "definitive_rejected", false),
        (["INVALID_STRING_LENGTH", "DECIMAL_PRECISION"], "not_executed_our_fault", false),
        (["INSTRUMENT_DECLINED", "ORDER_COMPLETION_IN_PROGRESS"], "indeterminate", false),
        (["DECIMAL_PRECISION", "DUPLICATE_INVOICE_ID"], "indeterminate", true),
        (["INSTRUMENT_DECLINED", "SOMETHING_NEW"], "indeterminate", true),
    ] {
        let [first, second] = codes.map(|code| format!(r#"{{"issue":"{code}"}}"#));
        let body = format!(r#"{{"name":"UNPROCESSABLE_ENTITY","details":[{first},{second}]}}"#);
        let (verdict, unlisted) = decode(&reply(422, &[], &body));
        assert_eq!((verdict.name(), unlisted.is_some()), (wanted, tells), "{codes:?}");
    }
    let reply = reply(422, &[("paypal-debug-id", "abc")], &issue("U", "INSTRUMENT_DECLINED"));
    let answer = answered(&reply, decode(&reply));
    assert_eq!(answer.request_id.as_deref(), Some("abc"));
    assert_eq!(answer.provider_error.as_deref(), Some("U/INSTRUMENT_DECLINED"));
}

/// An operation that has sent every step before this one, and is sending this one.
fn sending(capability: &Capability, step: usize, repeats: bool) -> Snapshot {
    let at = Timestamp(1_700_000_000_000);
    let steps = capability.steps.iter().enumerate().map(|(place, spec)| Step {
        name: spec.name.to_owned(),
        tainted: repeats && place == step,
        in_flight: place == step,
        accepted: place < step,
        first_sent_at: (place <= step).then_some(at),
        sends: u32::from(place <= step) + u32::from(repeats && place == step),
        window: spec.idempotency.map(|key| key.window),
        ..Step::default()
    });
    Snapshot {
        state: State::Requested,
        entered_at: at,
        amount: Some(money(2990, "EUR")),
        reference: "P-1-1".to_owned(),
        account: None,
        provider_id: (step > 0).then(|| "5O1".to_owned()),
        acknowledged: step > 0,
        unknown_since: repeats.then_some(at),
        deadline_at: at.after(Duration::from_secs(3600)),
        action_expires_at: None,
        review: None,
        effect: None,
        steps: steps.collect(),
        looked_up_at: None,
        all_ended_at: None,
        capability: capability.clone(),
        cancel_grace: Duration::ZERO,
        order: None,
        given_up: false,
        was_shown: false,
        was_declined: false,
    }
}

#[test]
fn only_a_no_to_a_first_send_is_a_no_and_nothing_is_one_on_a_repeat() {
    let paypal = paypal();
    let of = |kind: Kind| paypal.capability(&kind).unwrap();
    let places = [(of(Kind::PAYMENT), 0), (of(Kind::PAYMENT), 1), (of(Kind::REFUND), 0)];
    for (code, meaning) in ISSUES {
        for status in [400, 403, 404, 409, 422] {
            let (verdict, _) = decode(&reply(status, &[], &issue("NAME", code)));
            let definitive = matches!(verdict, Verdict::Definitive(..));
            assert_eq!(definitive, meaning == Meaning::No, "{status} {code}");
            for (capability, step) in &places {
                for repeats in [false, true] {
                    let sending = sending(capability, *step, repeats);
                    let sent_at = sending.entered_at;
                    let evidence = Evidence::Answer {
                        step: *step,
                        sent_at,
                        own_lease: true,
                        cached: false,
                        verdict: verdict.clone(),
                    };
                    let to = decide(&sending, &evidence, sent_at).to;
                    let name = capability.steps.get(*step).map(|spec| spec.name);
                    let about = format!("{status} {code} to {name:?}: {to:?}");
                    let rejected = meaning == Meaning::No && !repeats;
                    assert_eq!(to == Some(State::Rejected), rejected, "{about}");
                    if repeats
                        || matches!(meaning, Meaning::Ask | Meaning::Shopper | Meaning::Person)
                    {
                        let asked = to == Some(State::PendingConfirmation);
                        assert!(asked || rejected, "{about}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_lookup_says_what_the_object_says_and_otherwise_nothing() {
    let with = |refunds: &str| {
        order("COMPLETED", &capture("REFUNDED"))
            .replace(r#""refunds":[]"#, &format!(r#""refunds":[{refunds}]"#))
    };
    let other = refund("COMPLETED").replace("P-1-C1", "P-9-C1");
    let twice = format!("{},{}", refund("COMPLETED"), refund("COMPLETED").replace("1JU", "2JU"));
    let ours = Some("P-1-C1");
    let rows = [
        (200, order("APPROVED", ""), None, "accepted"),
        (200, order("PONDERING", ""), None, "no_news"),
        (404, issue("RESOURCE_NOT_FOUND", "INVALID_RESOURCE_ID"), None, "absent"),
        (401, "{}".to_owned(), None, "no_news"),
        (403, "{}".to_owned(), None, "no_news"),
        (500, "{}".to_owned(), None, "no_news"),
        (200, with(""), ours, "absent"),
        (200, with(&other), ours, "absent"),
        (200, with(&format!("{other},{}", refund("COMPLETED"))), ours, "definitive_succeeded"),
        (200, with(&refund("PENDING")), ours, "definitive_processing"),
        (200, with(&twice), ours, "contradicts"),
    ];
    for (status, body, reference, wanted) in rows {
        let (verdict, _) = decode_lookup(&reply(status, &[], &body), reference);
        assert_eq!(verdict.name(), wanted, "{status} {body}");
    }
}

fn event(kind: &str, resource: &str) -> String {
    format!(
        r#"{{"id":"WH-9","event_type":"{kind}","create_time":"2023-11-14T22:13:20Z","resource":{resource}}}"#
    )
}

#[test]
fn an_event_names_what_it_is_about_and_a_refund_is_not_about_the_payment() {
    let rows = [
        (
            "PAYMENT.CAPTURE.COMPLETED",
            capture("COMPLETED"),
            "definitive_succeeded",
            Some("5O1"),
            Some("2GG"),
        ),
        (
            "PAYMENT.CAPTURE.COMPLETED",
            capture("PENDING"),
            "indeterminate",
            Some("5O1"),
            Some("2GG"),
        ),
        (
            "PAYMENT.CAPTURE.PENDING",
            capture("PENDING"),
            "definitive_processing",
            Some("5O1"),
            Some("2GG"),
        ),
        (
            "PAYMENT.CAPTURE.DENIED",
            capture("DECLINED"),
            "definitive_rejected",
            Some("5O1"),
            Some("2GG"),
        ),
        ("CHECKOUT.ORDER.APPROVED", order("APPROVED", ""), "accepted", Some("5O1"), None),
        (
            "PAYMENT.CAPTURE.REFUNDED",
            refund("COMPLETED"),
            "definitive_succeeded",
            Some("1JU"),
            Some("2GG"),
        ),
        (
            "PAYMENT.CAPTURE.REVERSED",
            refund("COMPLETED"),
            "indeterminate",
            Some("1JU"),
            Some("2GG"),
        ),
        (
            "CHECKOUT.PAYMENT-APPROVAL.REVERSED",
            r#"{"id":"x","order_id":"5O1","purchase_units":[{"custom_id":"P-1-1"}]}"#.to_owned(),
            "indeterminate",
            Some("5O1"),
            None,
        ),
        ("SOMETHING.NEW", r#"{"id":"x"}"#.to_owned(), "indeterminate", Some("x"), None),
    ];
    for (kind, resource, wanted, id, effect) in rows {
        let event = parse_event(event(kind, &resource).as_bytes(), false).unwrap();
        assert_eq!(event.verdict.name(), wanted, "{kind}");
        assert_eq!(event.provider_id.as_deref(), id, "{kind}");
        assert_eq!(event.effect_id.as_deref(), effect, "{kind}");
        assert_eq!(event.occurred_at, Some(Timestamp(1_700_000_000_000)), "{kind}");
        let back = event.made_elsewhere.map(|it| (it.parent, it.outcome));
        let expected = kind
            .ends_with("REFUNDED")
            .then(|| (Some("2GG".to_owned()), Outcome::Succeeded))
            .or((kind == "PAYMENT.CAPTURE.REVERSED")
                .then(|| (Some("2GG".to_owned()), Outcome::Succeeded)));
        assert_eq!(back, expected, "{kind}");
    }
    // Of a refund that cannot be read it is known all the same that it is not the payment's news.
    let unreadable = refund("COMPLETED").replace("29.90", "-29.90");
    let told = parse_event(event("PAYMENT.CAPTURE.REFUNDED", &unreadable).as_bytes(), false);
    let told = told.unwrap();
    assert!(told.gives_back && told.made_elsewhere.is_none());
    for broken in ["{}", "[]", "", r#"{"id":"","event_type":"x"}"#] {
        assert!(parse_event(broken.as_bytes(), false).is_err(), "{broken}");
    }
    assert_eq!(time("2023-11-14T22:13:20.5Z"), Some(Timestamp(1_700_000_000_500)));
    for odd in ["", "yesterday", "2023-13-01T00:00:00Z", "2023-11-14 22:13:20"] {
        assert_eq!(time(odd), None, "{odd}");
    }
}

fn listed(code: &str, value: &str, status: &str, more: &str) -> String {
    format!(
        r#"{{"transaction_info":{{"transaction_id":"2GG","transaction_event_code":"{code}",
            "transaction_amount":{{"currency_code":"EUR","value":"{value}"}},"fee_amount":{{"currency_code":"EUR","value":"-0.99"}},
            "transaction_status":"{status}","invoice_id":"P-1-1","custom_field":"P-1-1"{more}}}}}"#
    )
}

fn report(rows: &str) -> String {
    format!(
        r#"{{"transaction_details":[{rows}],"account_number":"A","total_items":1,"total_pages":3,"page":1,
            "last_refreshed_datetime":"2023-11-14T22:13:20+0000","links":[]}}"#
    )
}

#[test]
fn the_report_gives_what_came_and_what_went_back_and_nothing_else() {
    let of = r#","paypal_reference_id":"9CC","paypal_reference_id_type":"TXN""#;
    let agreement = r#","paypal_reference_id":"B-1","paypal_reference_id_type":"PAP""#;
    let (taken, back) = (ListedKind::Taken, ListedKind::GivenBack);
    let denied = || Outcome::Rejected { code: "denied".to_owned() };
    let rows = [
        ("T0006", "29.90", "S", "", Some((taken, 2990, Outcome::Succeeded, None))),
        ("T0006", "29.90", "V", "", Some((taken, 2990, Outcome::Succeeded, None))),
        ("T0006", "29.90", "P", "", Some((taken, 2990, Outcome::Processing, None))),
        ("T0006", "29.90", "D", "", Some((taken, 2990, denied(), None))),
        ("T0006", "29.90", "?", "", Some((taken, 2990, Outcome::Processing, None))),
        ("T0003", "29.90", "S", agreement, Some((taken, 2990, Outcome::Succeeded, None))),
        ("T1107", "-5.00", "S", of, Some((back, 500, Outcome::Succeeded, Some("9CC")))),
        ("T1107", "-5.00", "P", of, Some((back, 500, Outcome::Processing, Some("9CC")))),
        ("T1107", "-5.00", "D", of, Some((back, 500, denied(), Some("9CC")))),
        ("T1107", "-5.00", "V", of, Some((back, 500, Outcome::Canceled, Some("9CC")))),
        ("T1106", "-5.00", "S", of, Some((back, 500, Outcome::Succeeded, Some("9CC")))),
        ("T1201", "-5.00", "S", of, Some((back, 500, Outcome::Succeeded, Some("9CC")))),
        ("T1201", "-5.00", "S", agreement, Some((back, 500, Outcome::Succeeded, None))),
        // Money that this account paid, and got back.
        ("T0006", "-29.90", "S", "", None),
        ("T1107", "5.00", "S", of, None),
        // A fee, a conversion, a payout, a hold and its end, an adjustment, an authorization.
        ("T0106", "-15.00", "S", of, None),
        ("T0200", "-5.00", "S", of, None),
        ("T0400", "-100.00", "S", "", None),
        ("T1110", "-5.00", "S", of, None),
        ("T1111", "5.00", "S", of, None),
        ("T1200", "5.00", "S", "", None),
        ("T1300", "29.90", "S", "", None),
        ("T9999", "29.90", "S", "", None),
        // No amount of this currency.
        ("T0006", "29.901", "S", "", None),
        ("T0006", "+29.90", "S", "", None),
    ];
    for (code, value, status, more, wanted) in rows {
        let body = report(&listed(code, value, status, more));
        let told = page(&reply(200, &[], &body)).unwrap();
        assert_eq!((told.pages, told.refreshed_at), (3, Timestamp(1_700_000_000_000)));
        let given = told.rows.first().map(|row| {
            assert_eq!(
                (row.provider_id.as_str(), row.reference.as_deref()),
                ("2GG", Some("P-1-1"))
            );
            assert_eq!(
                row.is_effect,
                row.kind == taken,
                "a capture is an effect, a refund an object"
            );
            let amount = row.amount.minor;
            (row.kind, amount, row.outcome.clone(), row.parent.as_deref())
        });
        assert_eq!(given, wanted, "{code} {value} {status}");
    }
    assert_eq!(page(&reply(200, &[], &report(""))).unwrap().rows, []);
    for (status, body) in [(403, report("")), (200, "{}".to_owned()), (200, "[".to_owned())] {
        assert_eq!(page(&reply(status, &[], &body)), None, "{status} {body}");
    }
}

#[test]
fn times_of_the_report_are_read_with_any_offset_and_written_in_utc() {
    let at = Timestamp(1_700_000_000_000);
    for text in [
        "2023-11-14T22:13:20Z",
        "2023-11-14T22:13:20+0000",
        "2023-11-14T22:13:20.000+00:00",
        "2023-11-14T15:13:20-0700",
        "2023-11-15T03:43:20+05:30",
    ] {
        assert_eq!(moment(text), Some(at), "{text}");
    }
    for odd in
        ["", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14T22:13:20+1", "2023-11-14T22:13:20+é0"]
    {
        assert_eq!(moment(odd), None, "{odd}");
    }
    assert_eq!(rfc3339(at.after(Duration::from_millis(999))), "2023-11-14T22:13:20Z");
}

#[tokio::test]
async fn a_certificate_is_fetched_from_paypal_alone() {
    // Every one of these would be an outgoing connection that somebody else chose.
    for address in [
        "http://169.254.169.254/latest",
        "http://api.paypal.com/cert",
        "https://paypal.com.evil.test/cert",
        "https://evilpaypal.com/cert",
        "https://api.paypal.com:8443/cert",
        "https://user@api.paypal.com/cert",
        "https://api.paypal.com/elsewhere",
        "https://api.paypal.com/v1/notifications/certs/CERT-1?n=1",
        "https://api.paypal.com@evil.test/cert",
        "file:///etc/passwd",
        "not an address",
    ] {
        let headers = [
            ("PAYPAL-TRANSMISSION-ID", "id"),
            ("PAYPAL-TRANSMISSION-TIME", "2023-11-14T22:13:20Z"),
            ("PAYPAL-TRANSMISSION-SIG", "c2ln"),
            ("PAYPAL-CERT-URL", address),
            ("PAYPAL-AUTH-ALGO", "SHA256withRSA"),
        ];
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let signed = signature::Signed::read(&headers).unwrap();
        let kept = Certificates::default();
        let chain = kept.get(&paypal().client, &Roots::default(), &signed).await;
        assert!(chain.is_none(), "{address}");
        let refused = paypal().verify_webhook(&headers, b"{}", Timestamp(0)).await;
        assert_eq!(refused.unwrap_err(), WebhookError::Signature, "{address}");
    }
}

/// A whole body of the published shape; where they come from is told beside them.
fn example(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/provider/paypal/examples");
    std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap()
}

const EXAMPLE_ORDER: &str = "8AB00000PAYONCE01";
const EXAMPLE_CAPTURE: &str = "3CD00000PAYONCE01";
const EXAMPLE_REFUND: &str = "9EF00000PAYONCE01";

/// What the examples name of an order of 29.90 EUR, or of a refund of 10.00.
fn named(id: &str, capture: Option<&str>, reference: &str, minor: i64) -> Found {
    Found {
        provider_id: Some(id.to_owned()),
        effect_id: capture.map(str::to_owned),
        reference: Some(reference.to_owned()),
        account: None,
        amount: Some(money(minor, "EUR")),
    }
}

fn example_order(outcome: Outcome, captured: bool) -> Verdict {
    let capture = captured.then_some(EXAMPLE_CAPTURE);
    Verdict::Definitive(outcome, named(EXAMPLE_ORDER, capture, "P-7K2M-4QXD-1", 2990))
}

fn example_refund(outcome: Outcome) -> Verdict {
    Verdict::Definitive(outcome, named(EXAMPLE_REFUND, None, "P-7K2M-4QXD-1-R1", 1000))
}

fn declined(code: &str) -> Outcome {
    Outcome::Rejected { code: code.to_owned() }
}

#[test]
fn whole_answers_of_the_published_shape_have_the_verdict_that_the_documentation_gives_them() {
    let asked = || Outcome::ActionRequired {
        url: format!("https://www.sandbox.paypal.com/checkoutnow?token={EXAMPLE_ORDER}"),
        expires_at: None,
    };
    let approved = named(EXAMPLE_ORDER, None, "P-7K2M-4QXD-1", 2990);
    let refused = Verdict::Definitive(declined("INSTRUMENT_DECLINED"), Found::default());
    let missing = Verdict::NotExecuted(NotExecuted::OurFault);
    let rows = [
        ("order_payer_action_required", 200, example_order(asked(), false), false),
        // The least that a creation may answer is not enough to go on with: it is asked for whole.
        ("order_created_minimal", 200, Verdict::Indeterminate, true),
        ("order_approved", 200, Verdict::Accepted(approved), false),
        ("order_completed", 201, example_order(Outcome::Succeeded, true), false),
        ("order_capture_pending", 201, example_order(Outcome::Processing, true), false),
        ("order_capture_declined", 201, example_order(declined("declined"), true), false),
        ("order_partially_refunded", 200, example_order(Outcome::Succeeded, true), false),
        ("refund_completed", 201, example_refund(Outcome::Succeeded), false),
        ("refund_pending", 201, example_refund(Outcome::Processing), false),
        ("error_instrument_declined", 422, refused, false),
        ("error_internal", 500, Verdict::Indeterminate, false),
        ("error_not_found", 404, missing, false),
    ];
    for (name, status, wanted, tells) in rows {
        let (verdict, unlisted) = decode(&reply(status, &[], &example(name)));
        assert_eq!(verdict, wanted, "{name}");
        assert_eq!(unlisted.is_some(), tells, "{name}: {unlisted:?}");
        // A question finds the same in an object, and in an error nothing or no object.
        let wanted = match (status, wanted) {
            (404, _) => Verdict::Absent,
            (400.., _) | (_, Verdict::Indeterminate) => Verdict::NoNews,
            (_, other) => other,
        };
        let status = if status == 201 { 200 } else { status };
        assert_eq!(decode_lookup(&reply(status, &[], &example(name)), None).0, wanted, "{name}");
    }
    // Our refund is found within its order, and one that was never made is not.
    let order = reply(200, &[], &example("order_partially_refunded"));
    let ours = decode_lookup(&order, Some("P-7K2M-4QXD-1-R1")).0;
    assert_eq!(ours, example_refund(Outcome::Succeeded));
    assert_eq!(decode_lookup(&order, Some("P-7K2M-4QXD-1-R2")).0, Verdict::Absent);
    let answer = reply(422, &[], &example("error_instrument_declined"));
    let answer = answered(&answer, decode(&answer));
    assert_eq!(answer.request_id.as_deref(), Some("f00dcafe0001"), "the debug id is kept");
}

#[test]
fn whole_events_of_the_published_shape_say_what_the_documentation_says_of_them() {
    let (order, capture) = (Some(EXAMPLE_ORDER), Some(EXAMPLE_CAPTURE));
    let back = |id: &str, reference: &str, minor| super::super::Listed {
        kind: ListedKind::GivenBack,
        provider_id: id.to_owned(),
        is_effect: false,
        reference: Some(reference.to_owned()),
        parent: Some(EXAMPLE_CAPTURE.to_owned()),
        outcome: Outcome::Succeeded,
        amount: money(minor, "EUR"),
    };
    let approved = Verdict::Accepted(named(EXAMPLE_ORDER, None, "P-7K2M-4QXD-1", 2990));
    let returned = back(EXAMPLE_REFUND, "P-7K2M-4QXD-1-R1", 1000);
    let reversed = back("9EF00000PAYONCE02", "P-7K2M-4QXD-1", 2990);
    let rows = [
        ("order_approved", (order, None, approved, None)),
        ("capture_completed", (order, capture, example_order(Outcome::Succeeded, true), None)),
        ("capture_pending", (order, capture, example_order(Outcome::Processing, true), None)),
        ("capture_denied", (order, capture, example_order(declined("declined"), true), None)),
        (
            "capture_refunded",
            (Some(EXAMPLE_REFUND), capture, example_refund(Outcome::Succeeded), Some(returned)),
        ),
        (
            "capture_reversed",
            (Some("9EF00000PAYONCE02"), capture, Verdict::Indeterminate, Some(reversed)),
        ),
    ];
    for (name, (id, effect, verdict, elsewhere)) in rows {
        let event = example(&format!("event_{name}"));
        for live in [false, true] {
            // Nothing in an event tells the mode: the endpoint that was told does.
            let event = parse_event(event.as_bytes(), live).unwrap();
            let kind = event.kind.to_lowercase().replace('.', "_");
            assert!(kind.ends_with(name), "{kind}");
            assert_eq!(event.provider_id.as_deref(), id, "{name}");
            assert_eq!(event.effect_id.as_deref(), effect, "{name}");
            assert_eq!(event.verdict, verdict, "{name}");
            assert_eq!(event.made_elsewhere, elsewhere, "{name}");
            assert_eq!(event.occurred_at, Some(Timestamp(1_764_583_325_000)), "{name}");
            assert_eq!((event.live, event.key), (live, None), "{name}");
        }
    }
}
