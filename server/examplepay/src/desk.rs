//! The desk behind every door: who asks, what the script wants, the key, the execution, the log.

mod keys;
mod log;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use axum::{body::Bytes, http::HeaderMap, response::Response};
use sha2::{Digest, Sha256};

use self::keys::{Done, Job};
pub use self::{
    keys::{Keep, Outcome},
    log::Entry,
};
use crate::{
    Provider,
    answer::{self, Stamp},
    api,
    faults::{About, Execute, Later, Mode, Reply, Step},
    ledger::{self, Asked, Back, Made, NewPayment},
    paypal, stripe, tokens, webhooks,
    wire::{Refusal, Wire, kept_headers},
};

/// What the handlers of one door share: the provider, and the keys that are being executed.
#[derive(Clone)]
pub struct Desk {
    /// The provider.
    pub provider: Arc<Provider>,
    /// What is spoken at this door.
    pub wire: Wire,
    running: Arc<Mutex<HashSet<String>>>,
}

/// What is to be executed; its parameters were checked before any key is touched.
#[derive(Clone)]
pub enum Act {
    /// A payment.
    Create(NewPayment),
    /// Cancel the payment with this id.
    Cancel(String),
    /// A refund.
    Refund {
        /// Of which payment.
        of: String,
        /// The merchant's reference.
        reference: String,
        /// How much.
        amount_minor: i64,
        /// Of what.
        currency: String,
    },
    /// Whatever Stripe's wire can ask for.
    Stripe(stripe::act::Act),
    /// Whatever PayPal's wire can ask for.
    PayPal(paypal::act::Act),
}

/// One mutating request, read and not yet judged.
pub struct Request {
    /// The operation that scripts name.
    pub operation: &'static str,
    /// The path.
    pub path: String,
    /// The merchant's reference.
    pub reference: Option<String>,
    /// The payment token, for scripts.
    pub token: Option<String>,
    /// The token whose own fault this request meets.
    pub faulty: Option<String>,
    /// The body.
    pub body: Bytes,
    /// The body in the one form that equal requests share; `None` is the body itself.
    pub content: Option<String>,
    /// What is asked for, or what is wrong with it.
    pub act: Result<Act, Made>,
}

/// What a question is about.
pub struct Question<'a> {
    /// The operation that scripts name.
    pub operation: &'static str,
    /// The path.
    pub path: String,
    /// What is searched for.
    pub query: Option<String>,
    /// The merchant's reference.
    pub reference: Option<String>,
    /// What it was sent with.
    pub headers: &'a HeaderMap,
}

/// How a question was sent.
pub struct Sent<'a> {
    /// The method.
    pub method: &'static str,
    /// The body.
    pub body: Option<&'a Bytes>,
    /// Whether it needs no authorisation.
    pub open: bool,
}

impl Desk {
    /// The desk of one door.
    pub fn new(provider: Arc<Provider>, wire: Wire) -> Self {
        Self { provider, wire, running: Arc::default() }
    }

    /// The reference of a payment or refund, for scripts.
    pub async fn reference_of(&self, id: &str) -> Option<String> {
        sqlx::query_scalar(
            "select reference from payments where id = ?1 or charge = ?1
             union all select reference from refunds where id = ?1",
        )
        .bind(id)
        .fetch_optional(&self.provider.db)
        .await
        .ok()
        .flatten()
    }

    /// The key under which what bears this reference was asked for, done or not.
    async fn origin(&self, reference: Option<&str>) -> Option<String> {
        if !self.provider.faults.ask_for_origin() {
            return None;
        }
        let find = "select key from requests where reference = ? and door = ? and key is not null
             order by seq limit 1";
        let found = sqlx::query_scalar(find).bind(reference?).bind(self.wire.name());
        found.fetch_optional(&self.provider.db).await.ok().flatten()
    }

    fn authorized(&self, headers: &HeaderMap) -> bool {
        let given = headers.get("authorization").map_or(&[][..], |it| it.as_bytes());
        let same =
            |wanted: &str| bool::from(subtle::ConstantTimeEq::ct_eq(given, wanted.as_bytes()));
        match self.wire {
            Wire::ExamplePay => same(&format!("Bearer {}", self.provider.settings.api_key)),
            Wire::Stripe => stripe::authorized(&self.provider.settings.stripe_api_key, headers),
            Wire::PayPal => self.provider.paypal_tokens.authorized(headers),
        }
    }

    /// Something broke on our side; the reason is for our log only.
    pub fn broken(&self, reason: &dyn std::fmt::Display) -> Made {
        tracing::warn!(%reason, "the provider did not do what was asked");
        self.wire.refusal(Refusal::Broken)
    }

    /// A read: never executed under a key, and truthful unless a script says otherwise.
    pub async fn ask(
        &self,
        question: Question<'_>,
        read: impl AsyncFnOnce(&Provider) -> sqlx::Result<Option<Made>>,
    ) -> Response {
        self.ask_with(question, Sent { method: "GET", body: None, open: false }, read).await
    }

    /// A question that may also come as a POST, or from somebody who is not known yet.
    pub async fn ask_with(
        &self,
        question: Question<'_>,
        sent: Sent<'_>,
        read: impl AsyncFnOnce(&Provider) -> sqlx::Result<Option<Made>>,
    ) -> Response {
        let stamp = Stamp::new(self.wire, question.headers);
        let entry = Entry {
            method: sent.method,
            body: sent.body,
            path: &question.path,
            query: question.query.as_deref(),
            reference: question.reference.as_deref(),
            headers: question.headers,
            ..Entry::new(question.headers, &stamp.request_id)
        };
        let seq = self.log(&entry).await;
        if !sent.open && !self.authorized(question.headers) {
            self.answered(seq, false, "401").await;
            return answer::plain(&self.wire.refusal(Refusal::Unauthorized), &stamp, false);
        }
        let reference = question.reference.as_deref();
        let door = self.wire.name();
        let origin = self.origin(reference).await;
        let of_key = origin.as_deref();
        let operation = question.operation;
        let about = About { operation, reference, door, of_key, ..About::default() };
        let step = self.provider.faults.next(&about).unwrap_or_default();
        let lookup = self.provider.faults.lookup_status(reference).filter(|_| sent.method == "GET");
        let searched = operation.starts_with("find") || operation == "search_payment";
        let made = match lookup {
            Some(404) if searched => self.wire.nothing_found(&question.path),
            Some(404) => self.wire.refusal(Refusal::NotFound),
            Some(status) => self.wire.refusal(Refusal::Unavailable(status)),
            None => match read(&self.provider).await {
                Ok(Some(made)) => made,
                Ok(None) => self.wire.refusal(Refusal::NotFound),
                Err(reason) => self.broken(&reason),
            },
        };
        let made = answer::replacement(&step.answer).unwrap_or(made);
        self.answered(seq, false, &answer::name(&step, &made)).await;
        if step.webhook.mode.is_some()
            && let Some(reference) = reference
            && let Err(reason) = webhooks::newest_again(&self.provider, self.wire, reference).await
        {
            tracing::warn!(%reason, "an event was not told beside an answer");
        }
        answer::deliver(&step, &made, &stamp, false).await
    }

    /// A mutating request: authorised, well formed, limited; then the key; then execution.
    ///
    /// A client that hangs up meanwhile stops nothing: what was begun is finished and logged.
    pub async fn mutate(&self, headers: &HeaderMap, request: Request) -> Response {
        let (desk, authorized) = (self.clone(), self.authorized(headers));
        let stamp = Stamp::new(self.wire, headers);
        let (id, headers) = (stamp.request_id.clone(), headers.clone());
        let judged =
            tokio::spawn(async move { desk.judge(request, &headers, authorized, &id).await }).await;
        match judged {
            Ok((step, done)) => answer::deliver(&step, &done.made, &stamp, done.replayed).await,
            Err(reason) => answer::plain(&self.broken(&reason), &stamp, false),
        }
    }

    async fn judge(
        &self,
        request: Request,
        headers: &HeaderMap,
        authorized: bool,
        request_id: &str,
    ) -> (Step, Done) {
        let key = headers.get(self.wire.key_header()).and_then(|it| it.to_str().ok());
        let entry = Entry {
            path: &request.path,
            key,
            reference: request.reference.as_deref(),
            body: Some(&request.body),
            ..Entry::new(headers, request_id)
        };
        let seq = self.log(&entry).await;
        if !authorized {
            self.answered(seq, false, "401").await;
            return (Step::default(), Done::nothing(self.wire.refusal(Refusal::Unauthorized)));
        }
        let step = self.step_for(&request, key, seq).await;
        let checked = match &request.act {
            _ if key.is_some_and(|it| it.is_empty() || it.len() > self.wire.key_length_max()) => {
                Err(self.wire.refusal(Refusal::BadKey))
            }
            _ if key.is_none() && self.wire == Wire::ExamplePay => Err(api::keyless()),
            Err(made) => Err(made.clone()),
            Ok(act) => Ok(Job {
                act: act.clone(),
                key: key.map(str::to_owned),
                window: self.window(&request.path),
                fingerprint: fingerprint(&request),
                reference: request.reference.clone(),
                step: step.clone(),
                request_id: request_id.to_owned(),
                seq,
            }),
        };
        let mut done = match (checked, step.execution()) {
            (Err(made), _) => Done::nothing(made),
            (Ok(_), Execute::Now(false)) => Done::nothing(self.wire.refusal(Refusal::NotDone)),
            (Ok(job), Execute::Later(Later::Later)) => self.execute_later(job),
            (Ok(job), Execute::Now(true)) => self.execute(&job).await,
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
    async fn step_for(&self, request: &Request, key: Option<&str>, seq: i64) -> Step {
        let about = About {
            operation: request.operation,
            door: self.wire.name(),
            key,
            of_key: None,
            reference: request.reference.as_deref(),
            token: request.token.as_deref(),
        };
        if let Some(step) = self.provider.faults.next(&about) {
            return step;
        }
        let Some(step) = request.faulty.as_deref().and_then(tokens::first_step) else {
            return Step::default();
        };
        let earlier: Result<i64, _> = sqlx::query_scalar(
            "select count(*) from requests where key = ? and seq < ? and door = ? and answered not in ('400', '401')",
        )
        .bind(key)
        .bind(seq)
        .bind(self.wire.name())
        .fetch_one(&self.provider.db)
        .await;
        if earlier.is_ok_and(|count| count == 0) { self.worded(step) } else { Step::default() }
    }

    /// A test token's step, with its errors in the words of this wire.
    fn worded(&self, mut step: Step) -> Step {
        if let Reply::Status { status, body, .. } = &mut step.answer
            && self.wire != Wire::ExamplePay
        {
            match *status {
                429 => *body = self.wire.refusal(Refusal::RateLimited).body,
                500 => *body = self.wire.refusal(Refusal::Broken).body,
                _ => {}
            }
        }
        step
    }

    /// How long a key is remembered at this address.
    fn window(&self, path: &str) -> std::time::Duration {
        let settings = &self.provider.settings;
        match self.wire {
            Wire::ExamplePay | Wire::Stripe => settings.key_window,
            Wire::PayPal if path.starts_with("/v2/checkout/") => settings.paypal_order_window,
            Wire::PayPal => settings.paypal_payment_window,
        }
    }

    /// Does what was asked, within the transaction that also keeps the answer.
    async fn perform(
        &self,
        db: &mut sqlx::SqliteConnection,
        act: &Act,
        asked: &Asked<'_>,
    ) -> sqlx::Result<Outcome> {
        let provider = &self.provider;
        let made = match act {
            Act::Create(new) => ledger::create(provider, db, new, asked).await?,
            Act::Cancel(id) => ledger::cancel(provider, db, id, asked).await?,
            Act::Refund { of, reference, amount_minor, currency } => {
                let back = Back {
                    reference,
                    amount_minor: Some(*amount_minor),
                    currency: Some(currency),
                    extra: &serde_json::json!({}),
                };
                api::refund(provider, db, of, &back, asked).await?
            }
            Act::Stripe(act) => stripe::act::perform(provider, db, act, asked).await?,
            Act::PayPal(act) => return paypal::act::perform(provider, db, act, asked).await,
        };
        Ok(Outcome::answered(made))
    }
}

fn fingerprint(request: &Request) -> String {
    let mut hash = Sha256::new();
    hash.update(&request.path);
    hash.update([0]);
    match &request.content {
        Some(content) => hash.update(content),
        None => hash.update(&request.body),
    }
    hex::encode(hash.finalize())
}
