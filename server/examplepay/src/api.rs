//! The merchant's API: keys first, then execution, then the answer a script wants.

mod keys;
mod read;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
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

use self::{
    keys::{Done, Job},
    read::{Act, invalid, read_create, read_refund},
};
use crate::{
    Provider, answer,
    faults::{About, Execute, Later, Mode, Step},
    fresh,
    ledger::{self, Asked, Made},
    now_ms, page, tokens, webhooks,
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
        .fallback(async || answer::plain(&nothing_here(), &fresh("req"), false))
        .layer(DefaultBodyLimit::max(64 * 1024))
        .layer(axum::middleware::map_response(answer::with_request_id))
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
        reference: api.reference_of(&id).await,
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
        sqlx::query_scalar("select reference from payments where id = ?1 union all select reference from refunds where id = ?1")
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
    ///
    /// A client that hangs up meanwhile stops nothing: what was begun is finished and logged.
    async fn mutate(&self, headers: &HeaderMap, mut request: Request) -> Response {
        request.key =
            headers.get("idempotency-key").and_then(|it| it.to_str().ok()).map(str::to_owned);
        let (api, authorized) = (self.clone(), self.authorized(headers));
        let request_id = fresh("req");
        let id = request_id.clone();
        let judged = tokio::spawn(async move { api.judge(request, authorized, &id).await }).await;
        match judged {
            Ok((step, done)) => {
                answer::deliver(&step, &done.made, &request_id, done.replayed).await
            }
            Err(reason) => answer::plain(&broken(&reason), &request_id, false),
        }
    }

    async fn judge(&self, request: Request, authorized: bool, request_id: &str) -> (Step, Done) {
        let hash = hex::encode(Sha256::digest(&request.body));
        let key = request.key.as_deref();
        let reference = request.reference.as_deref();
        let seq =
            self.log("POST", &request.path, None, key, reference, Some(&hash), request_id).await;
        if !authorized {
            self.answered(seq, false, "401").await;
            return (Step::default(), Done::nothing(unauthorized()));
        }
        let step = self.step_for(&request, seq).await;
        let checked = match (&request.act, key) {
            (_, None) => Err(invalid("Idempotency-Key", "Every POST needs a key.")),
            (_, Some(key)) if key.is_empty() || key.len() > 255 => {
                Err(invalid("Idempotency-Key", "A key has 1 to 255 characters."))
            }
            (Err(made), _) => Err(made.clone()),
            (Ok(act), Some(key)) => Ok(Job {
                act: act.clone(),
                key: key.to_owned(),
                fingerprint: fingerprint(&request),
                reference: request.reference.clone(),
                step: step.clone(),
                request_id: request_id.to_owned(),
                seq,
            }),
        };
        let mut done = match (checked, step.execute) {
            (Err(made), _) => Done::nothing(made),
            (Ok(_), Some(Execute::Now(false))) => {
                Done::nothing(Made::error(503, "unavailable", "Nothing was done."))
            }
            (Ok(job), Some(Execute::Later(Later::Later))) => self.execute_later(job),
            (Ok(job), Some(Execute::Now(true)) | None) => self.execute(&job).await,
        };
        if let Some(made) = answer::replacement(&step.answer) {
            (done.made, done.replayed) = (made, false);
        }
        self.answered(seq, done.executed, &answer::name(&step, &done.made)).await;
        if done.executed && step.webhook.mode == Some(Mode::BeforeResponse) {
            self.wait_for_delivery(key).await;
        }
        (step, done)
    }

    /// The script's step; where there is none, what the test token brings with its first request.
    async fn step_for(&self, request: &Request, seq: i64) -> Step {
        let key = request.key.as_deref();
        let about = About {
            operation: request.operation,
            key,
            reference: request.reference.as_deref(),
            token: request.token.as_deref(),
        };
        if let Some(step) = self.provider.faults.next(&about) {
            return step;
        }
        let Some(step) = request.token.as_deref().and_then(tokens::first_step) else {
            return Step::default();
        };
        let earlier: Result<i64, _> = sqlx::query_scalar(
            "select count(*) from requests where key = ? and seq < ? and answered not in ('400', '401')",
        )
        .bind(key)
        .bind(seq)
        .fetch_one(&self.provider.db)
        .await;
        if earlier.is_ok_and(|count| count == 0) { step } else { Step::default() }
    }

    /// Waits until the event of this request was answered, within a bound.
    async fn wait_for_delivery(&self, key: Option<&str>) {
        self.provider.wake.notify_one();
        for _ in 0..200 {
            let open: Result<i64, _> = sqlx::query_scalar(
                "select count(*) from deliveries join events on events.id = event
                 where json_extract(events.body, '$.request.idempotency_key') = ?
                 and done_at is null and due_at is not null and tries = 0",
            )
            .bind(key)
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
        answer::plain(&unauthorized(), request_id, false)
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

    /// Notes that a request was executed after it had been answered.
    async fn executed(&self, seq: i64, executed: bool) {
        let kept = sqlx::query("update requests set executed = ? where seq = ?")
            .bind(executed)
            .bind(seq)
            .execute(&self.provider.db)
            .await;
        if let Err(reason) = kept {
            tracing::warn!(%reason, "the request log missed an execution");
        }
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

fn nothing_here() -> Made {
    Made::error(404, "not_found", "There is nothing under this address.")
}

fn unauthorized() -> Made {
    Made::error(401, "unauthorized", "The API key is not valid.")
}

fn broken(reason: &dyn std::fmt::Display) -> Made {
    tracing::warn!(%reason, "the provider did not do what was asked");
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
