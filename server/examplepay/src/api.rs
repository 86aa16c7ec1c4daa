//! The merchant's API: keys first, then execution, then the answer a script wants.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Query, State},
    http::HeaderMap,
    response::Response,
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::Row;

use crate::{
    Provider, answer,
    faults::{About, Execute, Later, Step},
    fresh,
    ledger::{self, Asked, Made, NewPayment},
    millis, now_ms, page, tokens, webhooks,
};

/// What the handlers share: the provider, and the keys that are being executed.
#[derive(Clone)]
pub struct Api {
    provider: Arc<Provider>,
    running: Arc<Mutex<HashSet<String>>>,
}

/// The routes.
pub fn router(provider: Arc<Provider>) -> Router {
    let api = Api { provider: Arc::clone(&provider), running: Arc::default() };
    Router::new()
        .route("/v1/payments", post(create_payment).get(find_payments))
        .route("/v1/payments/{id}", get(get_payment))
        .route("/v1/payments/{id}/cancel", post(cancel_payment))
        .route("/v1/refunds", post(create_refund).get(find_refunds))
        .route("/v1/refunds/{id}", get(get_refund))
        .with_state(api)
        .merge(page::router(provider))
        .layer(DefaultBodyLimit::max(64 * 1024))
}

/// What is to be executed; its parameters were checked before any key is touched.
#[derive(Clone)]
enum Act {
    Create(NewPayment),
    Cancel(String),
    Refund { of: String, reference: String, amount_minor: i64, currency: String },
}

/// One mutating request, read and not yet judged.
struct Request {
    operation: &'static str,
    path: String,
    key: Option<String>,
    reference: Option<String>,
    token: Option<String>,
    body: Bytes,
    act: Result<Act, Made>,
}

fn invalid(param: &str, message: &str) -> Made {
    Made::json(
        400,
        &json!({"error": {"type": "invalid_request", "param": param, "message": message}}),
    )
}

#[derive(Deserialize)]
struct CreateBody {
    reference: String,
    amount_minor: i64,
    currency: String,
    payment_token: String,
    return_url: String,
}

fn read_create(body: &[u8]) -> Result<NewPayment, Made> {
    let body: CreateBody =
        serde_json::from_slice(body).map_err(|reason| invalid("body", &reason.to_string()))?;
    if tokens::is_card_number(&body.payment_token) {
        return Err(invalid(
            "payment_token",
            "This is a card number. Cards are typed on our own page only.",
        ));
    }
    let card = tokens::card(&body.payment_token)
        .ok_or_else(|| invalid("payment_token", "There is no such token."))?;
    check(&body.reference, body.amount_minor, &body.currency)?;
    Ok(NewPayment {
        reference: body.reference,
        amount_minor: body.amount_minor,
        currency: body.currency,
        token: body.payment_token,
        card,
        return_url: body.return_url,
    })
}

#[derive(Deserialize)]
struct RefundBody {
    payment: String,
    reference: String,
    amount_minor: i64,
    currency: String,
}

fn read_refund(body: &[u8]) -> Result<Act, Made> {
    let body: RefundBody =
        serde_json::from_slice(body).map_err(|reason| invalid("body", &reason.to_string()))?;
    check(&body.reference, body.amount_minor, &body.currency)?;
    let RefundBody { payment, reference, amount_minor, currency } = body;
    Ok(Act::Refund { of: payment, reference, amount_minor, currency })
}

fn check(reference: &str, amount_minor: i64, currency: &str) -> Result<(), Made> {
    if reference.is_empty() || reference.len() > 120 {
        return Err(invalid("reference", "A reference has 1 to 120 characters."));
    }
    if !(1..=99_999_999_999).contains(&amount_minor) {
        return Err(invalid("amount_minor", "An amount is a whole number from 1 to 99999999999."));
    }
    if currency.len() != 3 || !currency.bytes().all(|it| it.is_ascii_uppercase()) {
        return Err(invalid("currency", "A currency is three upper-case letters."));
    }
    Ok(())
}

async fn create_payment(State(api): State<Api>, headers: HeaderMap, body: Bytes) -> Response {
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |name: &str| told[name].as_str().map(str::to_owned);
    // A card number is not kept, not even to look for a script.
    let token = text("payment_token").filter(|token| !tokens::is_card_number(token));
    api.mutate(
        &headers,
        Request {
            operation: "create_payment",
            path: "/v1/payments".to_owned(),
            key: None,
            reference: text("reference"),
            token,
            act: read_create(&body).map(Act::Create),
            body,
        },
    )
    .await
}

async fn cancel_payment(
    State(api): State<Api>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let reference = api.reference_of(&id).await;
    api.mutate(
        &headers,
        Request {
            operation: "cancel_payment",
            path: format!("/v1/payments/{id}/cancel"),
            key: None,
            reference,
            token: None,
            body,
            act: Ok(Act::Cancel(id)),
        },
    )
    .await
}

async fn create_refund(State(api): State<Api>, headers: HeaderMap, body: Bytes) -> Response {
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let reference = told["reference"].as_str().map(str::to_owned);
    let act = read_refund(&body);
    api.mutate(
        &headers,
        Request {
            operation: "create_refund",
            path: "/v1/refunds".to_owned(),
            key: None,
            reference,
            token: None,
            body,
            act,
        },
    )
    .await
}

/// What a question is about.
struct Question<'a> {
    operation: &'static str,
    path: String,
    query: Option<String>,
    reference: Option<String>,
    headers: &'a HeaderMap,
}

async fn get_payment(
    State(api): State<Api>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "get_payment",
        path: format!("/v1/payments/{id}"),
        query: None,
        reference: api.reference_of(&id).await,
        headers: &headers,
    };
    api.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        ledger::payment(provider, &mut db, &id).await
    })
    .await
}

async fn get_refund(
    State(api): State<Api>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "get_refund",
        path: format!("/v1/refunds/{id}"),
        query: None,
        reference: None,
        headers: &headers,
    };
    api.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        ledger::refund(provider, &mut db, &id).await
    })
    .await
}

#[derive(Deserialize)]
struct Find {
    reference: Option<String>,
    #[serde(default)]
    created_after: i64,
}

async fn find_payments(
    State(api): State<Api>,
    Query(find): Query<Find>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "find_payment",
        path: "/v1/payments".to_owned(),
        query: find.reference.clone(),
        reference: find.reference.clone(),
        headers: &headers,
    };
    api.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        let found =
            ledger::payments(provider, &mut db, find.reference.as_deref(), find.created_after)
                .await?;
        Ok(Some(json!({"data": found})))
    })
    .await
}

async fn find_refunds(
    State(api): State<Api>,
    Query(find): Query<Find>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "find_refund",
        path: "/v1/refunds".to_owned(),
        query: find.reference.clone(),
        reference: find.reference.clone(),
        headers: &headers,
    };
    api.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        let found = ledger::refunds(provider, &mut db, find.reference.as_deref()).await?;
        Ok(Some(json!({"data": found})))
    })
    .await
}

impl Api {
    async fn reference_of(&self, id: &str) -> Option<String> {
        sqlx::query_scalar("select reference from payments where id = ?")
            .bind(id)
            .fetch_optional(&self.provider.db)
            .await
            .ok()
            .flatten()
    }

    fn authorized(&self, headers: &HeaderMap) -> bool {
        let wanted = format!("Bearer {}", self.provider.settings.api_key);
        let given = headers.get("authorization").map_or(&[][..], |it| it.as_bytes());
        bool::from(subtle::ConstantTimeEq::ct_eq(given, wanted.as_bytes()))
    }

    /// A read: never executed under a key, and truthful unless a script says otherwise.
    async fn ask(
        &self,
        question: Question<'_>,
        read: impl AsyncFnOnce(&Provider) -> sqlx::Result<Option<Value>>,
    ) -> Response {
        let request_id = fresh("req");
        let seq = self
            .log(
                "GET",
                &question.path,
                question.query.as_deref(),
                None,
                question.reference.as_deref(),
                None,
                &request_id,
            )
            .await;
        if !self.authorized(question.headers) {
            return self.refuse(seq, &request_id).await;
        }
        let reference = question.reference.as_deref();
        let about = About { operation: question.operation, reference, ..About::default() };
        let step = self.provider.faults.next(&about).unwrap_or_default();
        let made = match self.provider.faults.lookup_status(reference) {
            Some(404) if question.operation.starts_with("find") => {
                Made::json(200, &json!({"data": []}))
            }
            Some(404) => Made::error(404, "not_found", "There is no such object."),
            Some(status) => Made::error(status, "unavailable", "Not now."),
            None => match read(&self.provider).await {
                Ok(Some(found)) => Made::json(200, &found),
                Ok(None) => Made::error(404, "not_found", "There is no such object."),
                Err(reason) => broken(&reason),
            },
        };
        let made = answer::replacement(&step.answer).unwrap_or(made);
        self.answered(seq, false, &answer::name(&step, &made)).await;
        answer::deliver(&step, &made, &request_id, false).await
    }

    /// A mutating request: authorised, well formed, limited; then the key; then execution.
    async fn mutate(&self, headers: &HeaderMap, mut request: Request) -> Response {
        let request_id = fresh("req");
        request.key =
            headers.get("idempotency-key").and_then(|it| it.to_str().ok()).map(str::to_owned);
        let hash = hex::encode(Sha256::digest(&request.body));
        let key = request.key.as_deref();
        let seq = self
            .log(
                "POST",
                &request.path,
                None,
                key,
                request.reference.as_deref(),
                Some(&hash),
                &request_id,
            )
            .await;
        if !self.authorized(headers) {
            return self.refuse(seq, &request_id).await;
        }
        let step = self.step_for(&request);
        let checked = match (&request.act, key) {
            (_, None) => Err(invalid("Idempotency-Key", "Every POST needs a key.")),
            (_, Some(key)) if key.is_empty() || key.len() > 255 => {
                Err(invalid("Idempotency-Key", "A key has 1 to 255 characters."))
            }
            (Err(made), _) => Err(made.clone()),
            (Ok(act), Some(key)) => Ok((act.clone(), key.to_owned())),
        };
        let (made, executed, replayed) = match checked {
            Err(made) => (made, false, false),
            Ok((act, key)) => match step.execute {
                Some(Execute::Now(false)) => {
                    (Made::error(503, "unavailable", "Nothing was done."), false, false)
                }
                Some(Execute::Later(Later::Later)) => {
                    self.execute_later(act, key, &request, &step, &request_id);
                    (Made::error(504, "timeout", "It takes longer."), false, false)
                }
                Some(Execute::Now(true)) | None => {
                    self.execute(act, &key, &fingerprint(&request), &step, &request_id).await
                }
            },
        };
        let made = answer::replacement(&step.answer).unwrap_or(made);
        self.answered(seq, executed, &answer::name(&step, &made)).await;
        if executed && let Some(hide) = &step.lookup {
            let time = Duration::from_millis(hide.not_found_for_ms);
            self.provider.faults.hide(request.reference.as_deref().unwrap_or_default(), time);
        }
        if executed && step.webhook.mode.as_deref() == Some("before_response") {
            self.wait_for_delivery(&request).await;
        }
        answer::deliver(&step, &made, &request_id, replayed).await
    }

    /// The script's step; where there is none, what the test token brings with its first request.
    fn step_for(&self, request: &Request) -> Step {
        let key = request.key.as_deref();
        let first = key.is_some_and(|key| self.provider.faults.is_first(key));
        let about = About {
            operation: request.operation,
            key,
            reference: request.reference.as_deref(),
            token: request.token.as_deref(),
        };
        let scripted = self.provider.faults.next(&about);
        let by_token = || request.token.as_deref().filter(|_| first).and_then(tokens::first_step);
        scripted.or_else(by_token).unwrap_or_default()
    }

    /// Executes once per key: the same key gives the stored answer, other content is refused.
    async fn execute(
        &self,
        act: Act,
        key: &str,
        fingerprint: &str,
        step: &Step,
        request_id: &str,
    ) -> (Made, bool, bool) {
        if !self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned()) {
            return (
                Made::error(409, "idempotency_key_in_use", "This key is being executed."),
                false,
                false,
            );
        }
        let done = self.execute_once(act, key, fingerprint, step, request_id).await;
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        done.unwrap_or_else(|reason| (broken(&reason), false, false))
    }

    async fn execute_once(
        &self,
        act: Act,
        key: &str,
        fingerprint: &str,
        step: &Step,
        request_id: &str,
    ) -> sqlx::Result<(Made, bool, bool)> {
        let provider = &self.provider;
        let mut tx = provider.db.begin().await?;
        let oldest = now_ms() - millis(provider.settings.key_window);
        sqlx::query("delete from keys where created_at < ?").bind(oldest).execute(&mut *tx).await?;
        let known = sqlx::query("select * from keys where idempotency_key = ?")
            .bind(key)
            .fetch_optional(&mut *tx)
            .await?;
        if let Some(row) = known {
            if row.try_get::<String, _>("fingerprint")? != fingerprint {
                return Ok((
                    Made::error(
                        422,
                        "idempotency_mismatch",
                        "This key was used for another request.",
                    ),
                    false,
                    false,
                ));
            }
            let status: i64 = row.try_get("status")?;
            let made = Made {
                status: u16::try_from(status).unwrap_or(500),
                body: row.try_get("body")?,
                content_type: row.try_get("content_type")?,
            };
            return Ok((made, false, true));
        }
        let asked = Asked { key, request_id, hook: &step.webhook };
        let made = match act {
            Act::Create(new) => ledger::create(provider, &mut tx, &new, &asked).await?,
            Act::Cancel(id) => ledger::cancel(provider, &mut tx, &id, &asked).await?,
            Act::Refund { of, reference, amount_minor, currency } => {
                ledger::give_back(
                    provider,
                    &mut tx,
                    &of,
                    &reference,
                    (amount_minor, &currency),
                    &asked,
                )
                .await?
            }
        };
        let kept = if step.save { answer::replacement(&step.answer) } else { None };
        let kept = kept.as_ref().unwrap_or(&made);
        sqlx::query("insert into keys (idempotency_key, fingerprint, status, body, content_type, created_at) values (?, ?, ?, ?, ?, ?)")
            .bind(key)
            .bind(fingerprint)
            .bind(i64::from(kept.status))
            .bind(&kept.body)
            .bind(&kept.content_type)
            .bind(now_ms())
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok((made, true, false))
    }

    /// Executes after a while; the key counts as being executed from now on.
    fn execute_later(
        &self,
        act: Act,
        key: String,
        request: &Request,
        step: &Step,
        request_id: &str,
    ) {
        let api = self.clone();
        let (fingerprint, step, request_id) =
            (fingerprint(request), step.clone(), request_id.to_owned());
        if !self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            return;
        }
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(step.execute_after_ms)).await;
            let done = api.execute_once(act, &key, &fingerprint, &step, &request_id).await;
            api.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            if let Err(reason) = done {
                tracing::warn!(%reason, "a late execution did not happen");
            }
        });
    }

    /// Waits until the event of this request was answered, within a bound.
    async fn wait_for_delivery(&self, request: &Request) {
        self.provider.wake.notify_one();
        for _ in 0..200 {
            let open: Result<i64, _> = sqlx::query_scalar(
                "select count(*) from deliveries join payments on payments.id = object
                 where payments.idempotency_key = ? and done_at is null and tries = 0",
            )
            .bind(request.key.as_deref())
            .fetch_one(&self.provider.db)
            .await;
            if open.is_ok_and(|open| open == 0) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn refuse(&self, seq: i64, request_id: &str) -> Response {
        self.answered(seq, false, "401").await;
        answer::plain(
            &Made::error(401, "unauthorized", "The API key is not valid."),
            request_id,
            false,
        )
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of one row")]
    async fn log(
        &self,
        method: &str,
        path: &str,
        query: Option<&str>,
        key: Option<&str>,
        reference: Option<&str>,
        hash: Option<&str>,
        request_id: &str,
    ) -> i64 {
        let seq = sqlx::query_scalar(
            "insert into requests (at_ms, method, path, query, key, reference, body_sha256, request_id)
             values (?, ?, ?, ?, ?, ?, ?, ?) returning seq",
        )
        .bind(now_ms())
        .bind(method)
        .bind(path)
        .bind(query)
        .bind(key)
        .bind(reference)
        .bind(hash)
        .bind(request_id)
        .fetch_one(&self.provider.db)
        .await;
        seq.unwrap_or(0)
    }

    async fn answered(&self, seq: i64, executed: bool, answered: &str) {
        let kept = sqlx::query("update requests set executed = ?, answered = ? where seq = ?")
            .bind(executed)
            .bind(answered)
            .bind(seq)
            .execute(&self.provider.db)
            .await;
        if let Err(reason) = kept {
            tracing::warn!(%reason, "the request log missed an answer");
        }
    }
}

fn fingerprint(request: &Request) -> String {
    let mut hash = Sha256::new();
    hash.update(&request.path);
    hash.update([0]);
    hash.update(&request.body);
    hex::encode(hash.finalize())
}

fn broken(reason: &sqlx::Error) -> Made {
    tracing::warn!(%reason, "the database did not do what was asked");
    Made::error(500, "api_error", "Something broke here.")
}

/// An event about an object as it is now, for the control API.
pub async fn event_of(
    provider: &Provider,
    id: &str,
    kind: &str,
) -> sqlx::Result<Option<(Value, String)>> {
    let mut db = provider.db.acquire().await?;
    let object = match ledger::payment(provider, &mut db, id).await? {
        Some(object) => Some(object),
        None => ledger::refund(provider, &mut db, id).await?,
    };
    let hook = crate::faults::Hook::default();
    let asked = Asked { key: "", request_id: "req_control", hook: &hook };
    Ok(object.map(|object| {
        let event_id = fresh("evt");
        (webhooks::event(&event_id, kind, &provider.settings.account, &object, &asked), event_id)
    }))
}
