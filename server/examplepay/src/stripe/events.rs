//! Events of this wire.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::show;
use crate::{
    Provider,
    faults::{Hook, Mode, Wrong},
    fresh,
    ledger::{
        Asked,
        record::{self, Payment},
    },
    now_ms,
    webhooks::{self, News},
    wire::Wire,
};

/// The body of an event.
pub fn event(kind: &str, object: &Value, asked: &Asked<'_>) -> Value {
    let direct = |text: &str| (!asked.later && !text.is_empty()).then(|| text.to_owned());
    json!({
        "id": fresh("evt"), "object": "event", "api_version": show::API_VERSION,
        "created": now_ms() / 1000, "data": {"object": object}, "livemode": false,
        "pending_webhooks": 1, "type": kind,
        "request": {"id": direct(asked.request_id), "idempotency_key": direct(asked.key)},
    })
}

/// Tells where an intent stands now.
pub async fn intent(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    let it = record::payment(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let kind = match it.status.as_str() {
        "created" => {
            // What is scripted is meant for the outcome, where it is not about all there is.
            let hook = beside(asked.hook);
            let asked = Asked { hook: &hook, ..asked.clone() };
            let object = show::intent(provider, &it);
            return emit(provider, db, "payment_intent.created", id, object, &asked).await;
        }
        "reversed" => {
            let object = show::dispute(&it);
            return emit(provider, db, "charge.dispute.created", id, object, asked).await;
        }
        "declined" => "payment_intent.payment_failed",
        "requires_action" => "payment_intent.requires_action",
        "processing" => "payment_intent.processing",
        "authorized" => "payment_intent.amount_capturable_updated",
        "succeeded" => "payment_intent.succeeded",
        "canceled" => "payment_intent.canceled",
        _ => return Ok(()),
    };
    emit(provider, db, kind, id, show::intent(provider, &it), asked).await?;
    let Some(kind) = of_charge(&it) else { return Ok(()) };
    let hook = beside(asked.hook);
    let asked = Asked { hook: &hook, ..asked.clone() };
    emit(provider, db, kind, id, show::charge(&it), &asked).await
}

/// What is told of the charge beside its intent.
fn of_charge(it: &Payment) -> Option<&'static str> {
    it.charge.as_ref()?;
    match it.status.as_str() {
        "succeeded" if it.extra["capture_method"] == "manual" => Some("charge.captured"),
        "succeeded" | "authorized" => Some("charge.succeeded"),
        "processing" => Some("charge.pending"),
        "declined" => Some("charge.failed"),
        _ => None,
    }
}

/// Whether the merchant's endpoint is told of events of a type.
fn is_wanted(provider: &Provider, kind: &str) -> bool {
    let wanted = &provider.settings.stripe_events;
    wanted.iter().any(|it| match it.trim().strip_suffix('*') {
        Some(begin) => kind.starts_with(begin),
        None => kind == it.trim(),
    })
}

/// Tells where a refund stands now.
pub async fn refund(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    let it = record::refund(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let paid = record::payment(db, &it.payment).await?.ok_or(sqlx::Error::RowNotFound)?;
    let told: i64 = sqlx::query_scalar("select count(*) from events where object = ?")
        .bind(id)
        .fetch_one(&mut *db)
        .await?;
    let object = show::refund(&it, paid.charge.as_deref());
    let first = match (told, it.status.as_str()) {
        (0, _) => "refund.created",
        (_, "failed") => "refund.failed",
        _ => "refund.updated",
    };
    emit(provider, db, first, id, object.clone(), asked).await?;
    let hook = beside(asked.hook);
    let asked = Asked { hook: &hook, ..asked.clone() };
    match it.status.as_str() {
        "succeeded" => {
            emit(provider, db, "charge.refunded", &paid.id, show::charge(&paid), &asked).await
        }
        "failed" => emit(provider, db, "refund.updated", id, object, &asked).await,
        _ => Ok(()),
    }
}

/// What happens to the events beside the one that a script is about.
fn beside(hook: &Hook) -> Hook {
    let mode = hook.mode.filter(|it| matches!(it, Mode::Never | Mode::BeforeResponse));
    Hook { mode, ..Hook::default() }
}

async fn emit(
    provider: &Provider,
    db: &mut SqliteConnection,
    kind: &str,
    of: &str,
    object: Value,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    let mut body = event(kind, &object, asked);
    distort(&mut body, asked.hook.wrong);
    let id = body["id"].as_str().unwrap_or_default().to_owned();
    let unheard = Hook { mode: Some(Mode::Never), ..Hook::default() };
    let wanted = is_wanted(provider, kind);
    body["pending_webhooks"] = json!(i32::from(wanted));
    let hook = if wanted { asked.hook } else { &unheard };
    let news = News { wire: Wire::Stripe, id: &id, of, kind, body: &body, key: asked.key };
    webhooks::queue(provider, db, &news, hook).await
}

fn distort(event: &mut Value, wrong: Option<Wrong>) {
    match wrong {
        Some(Wrong::Amount) => {
            for name in ["amount", "amount_received"] {
                let object = &mut event["data"]["object"];
                if let Some(amount) = object[name].as_i64() {
                    object[name] = json!(amount + 1);
                }
            }
        }
        Some(Wrong::Currency) => event["data"]["object"]["currency"] = json!("xts"),
        Some(Wrong::Reference) => {
            event["data"]["object"]["metadata"]["reference"] = json!("somebody-elses");
        }
        Some(Wrong::Account) => event["account"] = json!("acct_somebody_else"),
        Some(Wrong::Livemode) => {
            event["livemode"] = json!(true);
            event["data"]["object"]["livemode"] = json!(true);
        }
        Some(Wrong::Signature) | None => {}
    }
}

/// An event by hand, about an intent or refund as it is now.
pub async fn by_hand(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    kind: Option<&str>,
) -> sqlx::Result<Option<Value>> {
    let hook = Hook::default();
    let asked = Asked { key: "", request_id: "", hook: &hook, later: true };
    if let Some(it) = record::refund(db, id).await? {
        let paid = record::payment(db, &it.payment).await?;
        let charge = paid.as_ref().and_then(|it| it.charge.as_deref());
        let kind = kind.unwrap_or("refund.updated");
        return Ok(Some(event(kind, &show::refund(&it, charge), &asked)));
    }
    let kind = kind.unwrap_or("payment_intent.succeeded");
    let object = |it: &Payment| match kind {
        _ if kind.starts_with("charge.dispute") => show::dispute(it),
        _ if kind.starts_with("charge.") => show::charge(it),
        _ => show::intent(provider, it),
    };
    Ok(record::payment(db, id).await?.map(|it| event(kind, &object(&it), &asked)))
}
