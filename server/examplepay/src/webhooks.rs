//! Events: signed, delivered by a durable queue, sent again until somebody answers 2xx.

use std::{sync::Arc, time::Duration};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use sqlx::{Row, SqliteConnection};
use tokio_util::sync::CancellationToken;

use crate::{
    Provider,
    faults::{Hook, Mode, Wrong},
    fresh,
    ledger::Asked,
    millis, now_ms, paypal,
    wire::Wire,
};

/// How long an event is delivered before it is given up.
const GIVE_UP: Duration = Duration::from_secs(3 * 24 * 3600);

/// The signature header of a body: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`.
pub fn sign(secret: &str, time: i64, body: &str) -> String {
    format!("t={time},v1={}", digest(secret, time, body))
}

fn digest(secret: &str, time: i64, body: &str) -> String {
    match Hmac::<Sha256>::new_from_slice(secret.as_bytes()) {
        Ok(mut mac) => {
            mac.update(format!("{time}.{body}").as_bytes());
            hex::encode(mac.finalize().into_bytes())
        }
        Err(_) => String::new(),
    }
}

/// What an event is sent with: as this kind of signature would have it.
pub fn headers(
    provider: &Provider,
    wire: Wire,
    kind: &str,
    time: i64,
    body: &str,
) -> Vec<(&'static str, String)> {
    let (name, secret) = match wire {
        Wire::ExamplePay => ("ExamplePay-Signature", &provider.settings.webhook_secret),
        Wire::Stripe => ("Stripe-Signature", &provider.settings.stripe_webhook_secret),
        Wire::PayPal => return paypal::sign::headers(provider, kind, time, body),
    };
    header(kind, secret, time, body).map(|it| (name, it)).into_iter().collect()
}

/// The header that a signature of this kind gives: a genuine one, or one of several wrong ones.
fn header(kind: &str, secret: &str, time: i64, body: &str) -> Option<String> {
    match kind {
        "none" => None,
        "bad" => Some(sign("whsec_somebody_else", time, body)),
        "old" => Some(sign(secret, time - 3600, body)),
        "v0_only" => Some(format!("t={time},v0={}", digest(secret, time, body))),
        "empty_v1" => Some(format!("t={time},v1=")),
        _ => Some(sign(secret, time, body)),
    }
}

/// An event about an object of the own wire, in the transaction that made it true.
pub async fn emit(
    provider: &Provider,
    db: &mut SqliteConnection,
    object: &Value,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    let kind = format!("{}.{}", word(object, "object"), word(object, "status"));
    let mut shown = object.clone();
    distort(&mut shown, asked.hook.wrong);
    let body = event(&fresh("evt"), &kind, &provider.settings.account, &shown, asked);
    let (id, of) = (word(&body, "id"), word(object, "id"));
    let news = News { wire: Wire::ExamplePay, id, of, kind: &kind, body: &body, key: asked.key };
    queue(provider, db, &news, asked.hook).await
}

/// An event that is ready to be sent.
pub struct News<'a> {
    /// The wire it is told over.
    pub wire: Wire,
    /// Its id.
    pub id: &'a str,
    /// The object it is about.
    pub of: &'a str,
    /// Its type.
    pub kind: &'a str,
    /// The whole of it.
    pub body: &'a Value,
    /// The key of the request that it came of.
    pub key: &'a str,
}

/// Keeps an event, and makes the deliveries that a script leaves it.
pub async fn queue(
    provider: &Provider,
    db: &mut SqliteConnection,
    news: &News<'_>,
    hook: &Hook,
) -> sqlx::Result<()> {
    let mode = hook.mode.unwrap_or_default();
    let text = news.body.to_string();
    let now = now_ms();
    sqlx::query(
        "insert into events (id, object, type, body, at, wire, idempotency_key) values (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(news.id)
    .bind(news.of)
    .bind(news.kind)
    .bind(&text)
    .bind(now)
    .bind(news.wire.name())
    .bind(news.key)
    .execute(&mut *db)
    .await?;
    let dropped = mode == Mode::Never || provider.event_switch.dropped();
    if dropped || provider.webhook_url(news.wire).is_none() {
        return Ok(());
    }
    let wait = match mode {
        Mode::BeforeResponse => 0,
        Mode::Delayed => i64::try_from(hook.delay_ms.unwrap_or(0)).unwrap_or(i64::MAX),
        Mode::Normal | Mode::Never | Mode::Copies => {
            hook.delay_ms.map_or(millis(provider.settings.webhook_delay), |ms| {
                i64::try_from(ms).unwrap_or(i64::MAX)
            })
        }
    };
    // Events that were told to come after the next one come after this one.
    sqlx::query(
        "update deliveries set due_at = ? where object = ? and due_at is null and done_at is null",
    )
    .bind(now.saturating_add(wait).saturating_add(300))
    .bind(news.of)
    .execute(&mut *db)
    .await?;
    let due = (!hook.reverse).then(|| now.saturating_add(wait));
    let signature = if hook.wrong == Some(Wrong::Signature) { "bad" } else { "good" };
    let copies = if mode == Mode::Copies { hook.copies.unwrap_or(2) } else { 1 };
    for _ in 0..copies {
        sqlx::query("insert into deliveries (event, object, body, signature, due_at) values (?, ?, ?, ?, ?)")
            .bind(news.id)
            .bind(news.of)
            .bind(&text)
            .bind(signature)
            .bind(due)
            .execute(&mut *db)
            .await?;
    }
    provider.wake.notify_one();
    Ok(())
}

/// Makes one more delivery of an event as it was told, rightly signed; its body, if there is such
/// an event.
pub async fn again(
    provider: &Provider,
    db: &mut SqliteConnection,
    wire: Wire,
    id: &str,
) -> sqlx::Result<Option<String>> {
    let row = sqlx::query("select object, body from events where id = ? and wire = ?")
        .bind(id)
        .bind(wire.name())
        .fetch_optional(&mut *db)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let (object, body): (String, String) = (row.try_get("object")?, row.try_get("body")?);
    if provider.event_switch.dropped() || provider.webhook_url(wire).is_none() {
        return Ok(Some(body));
    }
    sqlx::query("insert into deliveries (event, object, body, signature, due_at) values (?, ?, ?, 'good', ?)")
        .bind(id)
        .bind(object)
        .bind(&body)
        .bind(now_ms())
        .execute(&mut *db)
        .await?;
    provider.wake.notify_one();
    Ok(Some(body))
}

/// Tells the newest event about a payment with this reference once more, at once.
pub async fn newest_again(provider: &Provider, wire: Wire, reference: &str) -> sqlx::Result<()> {
    let find = "select id from events where wire = ?
         and object in (select id from payments where reference = ?) order by at desc, rowid desc limit 1";
    let mut tx = provider.db.begin().await?;
    let newest: Option<String> =
        sqlx::query_scalar(find).bind(wire.name()).bind(reference).fetch_optional(&mut *tx).await?;
    if let Some(id) = newest {
        again(provider, &mut tx, wire, &id).await?;
    }
    tx.commit().await
}

/// The body of an event.
pub fn event(id: &str, kind: &str, account: &str, object: &Value, asked: &Asked<'_>) -> Value {
    json!({
        "id": id, "type": kind, "created_at": now_ms(), "livemode": false, "account": account,
        "request": {"id": asked.request_id, "idempotency_key": asked.key},
        "data": {"object": object},
    })
}

fn distort(object: &mut Value, wrong: Option<Wrong>) {
    match wrong {
        Some(Wrong::Amount) => {
            object["amount_minor"] = json!(object["amount_minor"].as_i64().unwrap_or(0) + 1)
        }
        Some(Wrong::Currency) => object["currency"] = json!("XTS"),
        Some(Wrong::Reference) => object["reference"] = json!("somebody-elses"),
        Some(Wrong::Account) => object["account"] = json!("acct_somebody_else"),
        Some(Wrong::Livemode) => object["livemode"] = json!(true),
        Some(Wrong::Signature) | None => {}
    }
}

fn word<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// Posts one body; the status, or `None` where no answer came.
pub async fn post(
    provider: &Provider,
    wire: Wire,
    body: &str,
    headers: Vec<(&'static str, String)>,
) -> Option<u16> {
    let url = provider.webhook_url(wire)?;
    let mut request =
        provider.client.post(url).header("Content-Type", "application/json").body(body.to_owned());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.send().await.ok().map(|answer| answer.status().as_u16())
}

/// Delivers what is due, several at a time, until told to stop.
pub async fn deliver(provider: Arc<Provider>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let due = if provider.event_switch.flow() {
            due(&provider).await.unwrap_or_default()
        } else {
            Vec::new()
        };
        let attempts = futures::future::join_all(due.into_iter().map(|it| attempt(&provider, it)));
        // A receiver that never answers does not keep the provider from stopping.
        tokio::select! {
            () = stop.cancelled() => break,
            _made = attempts => {}
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = provider.wake.notified() => {}
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
}

struct Delivery {
    id: i64,
    body: String,
    signature: String,
    tries: i64,
    first_due: i64,
    wire: Wire,
}

async fn due(provider: &Provider) -> sqlx::Result<Vec<Delivery>> {
    let rows = sqlx::query(
        "select deliveries.*, events.at, events.wire from deliveries join events on events.id = event
         where done_at is null and due_at <= ? order by due_at limit 8",
    )
    .bind(now_ms())
    .fetch_all(&provider.db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Delivery {
                id: row.try_get("id")?,
                body: row.try_get("body")?,
                signature: row.try_get("signature")?,
                tries: row.try_get("tries")?,
                first_due: row.try_get("at")?,
                wire: Wire::named(row.try_get("wire")?).unwrap_or(Wire::ExamplePay),
            })
        })
        .collect()
}

async fn attempt(provider: &Provider, delivery: Delivery) {
    let (wire, time) = (delivery.wire, now_ms() / 1000);
    let headers = headers(provider, wire, &delivery.signature, time, &delivery.body);
    let status = post(provider, wire, &delivery.body, headers).await;
    let taken = status.is_some_and(|status| (200..300).contains(&status));
    let wait = (500_i64 << delivery.tries.min(7)).min(60_000);
    let over = now_ms() - delivery.first_due > millis(GIVE_UP);
    let kept = sqlx::query("update deliveries set tries = tries + 1, last_status = ?, done_at = ?, due_at = ? where id = ?")
        .bind(status.map(i64::from))
        .bind((taken || over).then(now_ms))
        .bind(now_ms() + wait)
        .bind(delivery.id)
        .execute(&provider.db)
        .await;
    if let Err(reason) = kept {
        tracing::warn!(%reason, "a delivery was not noted; it is made again");
    }
}
