use std::{fmt::Write, time::Duration};

use domain::capability::{Capability, strategy};
use secrecy::SecretString;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Everyone, with the usual settings.
fn everyone() -> Vec<Arc<dyn Provider>> {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let secret = || SecretString::from("sk_test_1".to_owned());
    let url = || "http://127.0.0.1:1".to_owned();
    let (connect_timeout, refund_deadline) = (2 * SECOND, 24 * 3600 * SECOND);
    let all = [
        Access::ExamplePay(examplepay::ExamplePaySettings {
            base_url: url(),
            api_key: secret(),
            webhook_secrets: Vec::new(),
            account: "acct".to_owned(),
            connect_timeout,
            response_timeout: 6 * SECOND,
            key_window: 24 * 3600 * SECOND,
            payment_deadline: 1800 * SECOND,
            refund_deadline,
        }),
        Access::Stripe(stripe::StripeSettings {
            base_url: url(),
            api_key: secret(),
            webhook_secrets: Vec::new(),
            publishable_key: None,
            connect_timeout,
            response_timeout: 10 * SECOND,
            payment_deadline: 1800 * SECOND,
            refund_deadline,
        }),
        Access::PayPal(paypal::PayPalSettings {
            base_url: url(),
            client_id: "id".to_owned(),
            client_secret: secret(),
            webhook_id: None,
            trust: paypal::Trust::Call,
            connect_timeout,
            response_timeout: 10 * SECOND,
            payment_deadline: 3600 * SECOND,
            refund_deadline,
        }),
        Access::Invoicing(invoicing::InvoicingSettings {
            base_url: url(),
            api_key: secret(),
            connect_timeout,
            response_timeout: 6 * SECOND,
            deadline: 6 * 3600 * SECOND,
            consistency_bound: 600 * SECOND,
        }),
        Access::Shipping(shipping::ShippingSettings {
            base_url: url(),
            api_key: secret(),
            connect_timeout,
            response_timeout: 6 * SECOND,
            deadline: 6 * 3600 * SECOND,
        }),
    ];
    all.into_iter().map(|access| make(access).unwrap()).collect()
}

fn time(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds % 86_400 == 0 => format!("{} d", seconds / 86_400),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

fn yes(it: bool) -> &'static str {
    if it { "yes" } else { "no" }
}

fn row(kind: &Kind, it: &Capability) -> String {
    let plan = strategy(it);
    let step = |step: &domain::capability::StepSpec| match step.idempotency {
        Some(key) => format!("`{}` {}", step.name, time(key.window)),
        None => format!("`{}` no key", step.name),
    };
    let steps: Vec<String> = it.steps.iter().map(step).collect();
    let cancel = match (&it.cancel, it.needs_our_last_step) {
        (Some(cancel), _) => step(cancel),
        (None, true) => "not needed: harmless without our last step".to_owned(),
        (None, false) => "no".to_owned(),
    };
    let lookup = match it.lookup {
        Some(lookup) if lookup.by_reference => "by id and by reference",
        Some(_) => "by id",
        None => "no",
    };
    let bound = it.lookup.and_then(|it| it.consistency_bound);
    let then: Vec<&str> = [
        (plan.look_up, "ask"),
        (plan.replay, "replay"),
        (plan.cancel_unknown, "cancel"),
        (plan.review_at_once, "a person at once"),
    ]
    .into_iter()
    .filter_map(|(does, word)| does.then_some(word))
    .collect();
    format!(
        "| {} | {} | {:?} | {} | {} | {} | {} | {} | {} | {} | {} | {} / {} | {} | {} |",
        it.provider,
        kind.as_str(),
        plan.class,
        steps.join(", "),
        yes(it.steps.iter().any(|it| it.idempotency.is_some_and(|key| key.declines_stored))),
        yes(it.unique_reference),
        lookup,
        bound.map_or("never".to_owned(), |it| format!("after {}", time(it))),
        yes(it.webhooks),
        cancel,
        yes(it.cancel_by_key),
        time(it.connect_timeout),
        time(it.response_timeout),
        time(it.deadline),
        then.join(", "),
    )
}

fn units(of: &Capability) -> String {
    let it = of.minor_units;
    let list = |codes: &[&str]| if codes.is_empty() { "·".to_owned() } else { codes.join(" ") };
    format!(
        "| {} | {} | {} | {} | {} | {} |",
        of.provider,
        it.currencies.map_or("all".to_owned(), list),
        it.usual.map_or("ISO 4217".to_owned(), |it| it.to_string()),
        list(it.no_decimals),
        list(it.three_decimals),
        list(it.whole_only),
    )
}

#[test]
fn the_table_of_promises_is_the_one_in_the_documentation() {
    let mut table = String::from(
        "| provider | kind | class | steps and how long their keys are remembered | declines stored | unique reference | lookup | \"not found\" proves | events | cancel | cancel by key | connect / response | deadline | after an unknown result |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for provider in everyone() {
        for kind in [Kind::PAYMENT, Kind::REFUND, Kind::INVOICE, Kind::SHIPMENT] {
            if let Some(capability) = provider.capability(&kind) {
                let _written = writeln!(table, "{}", row(&kind, &capability));
            }
        }
    }
    table.push_str("\n| provider | currencies | decimals | none | three, the last 0 | only zeros |\n|---|---|---|---|---|---|\n");
    for provider in everyone() {
        let kinds = [Kind::PAYMENT, Kind::REFUND, Kind::INVOICE, Kind::SHIPMENT];
        let declared: Vec<_> = kinds.iter().filter_map(|it| provider.capability(it)).collect();
        assert!(declared.iter().all(|it| it.minor_units == declared[0].minor_units));
        if declared[0].names_amount {
            let _written = writeln!(table, "{}", units(&declared[0]));
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- table -->\n").unwrap();
    let (stored, after) = rest.split_once("<!-- /table -->").unwrap();
    if std::env::var_os("UPDATE_TABLE").is_some() {
        let page = format!("{before}<!-- table -->\n{table}<!-- /table -->{after}");
        std::fs::write(path, page).unwrap();
        return;
    }
    assert_eq!(stored, table, "UPDATE_TABLE=1 writes it");
}

#[test]
fn only_the_kinds_a_provider_declares_are_done_by_it_and_each_first_step_has_bytes() {
    let money = Money::new(2990, domain::money::Currency::EUR);
    for provider in everyone() {
        for kind in [Kind::PAYMENT, Kind::REFUND, Kind::INVOICE, Kind::SHIPMENT] {
            let Some(capability) = provider.capability(&kind) else { continue };
            let intent = Intent {
                kind: &kind,
                amount: money,
                reference: "P-1-1",
                instrument: Some("token"),
                return_url: "http://127.0.0.1/back",
                provider_id: None,
                parent: Some(Parent { provider_id: "x1", effect_id: Some("y1") }),
                checkout: "c",
                order: "P-1",
                lines: &[],
            };
            let first = capability.steps.first().unwrap().name;
            let encoded = provider.encode(first, &intent);
            assert!(encoded.is_ok(), "{} {kind:?}: {encoded:?}", provider.name());
            assert!(provider.encode("no-such-step", &intent).is_err(), "{}", provider.name());
        }
    }
}
