//! The engine behind one struct: orders, operations, evidence, reconciliation.
//!
//! [`Payments`] is all that others see. Behind it: `shop` takes the shopper's forms, `worker`
//! talks to providers, `inbox` takes their news, `engine` stores what `domain` decides, `store`
//! holds the SQL. Nothing here knows HTTP routes or pages.

mod asks;
mod clock;
mod crash;
mod decisions;
mod engine;
mod gate;
mod hub;
mod inbox;
mod mails;
mod opening;
mod partners;
pub mod provider;
mod read;
mod refunds;
mod shop;
pub mod store;
mod sweep;
mod worker;

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use domain::{
    catalogue::{Shortage, Sku},
    id::{CheckoutId, CustomerId, OperationId},
    mail::Recipient,
    money::{Currency, Money},
    operation::{Kind, ReviewReason, State},
    order::OrderState,
    refund_request::{AskedWhy, DeclinedWhy, RequestState},
    schedule::{Timestamp, Timing},
    view::{CartView, CheckoutView, OrderSummary},
};
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

pub use crate::{
    asks::AskOutcome,
    decisions::{ReviewDecision, ReviewOutcome},
    gate::SPACING as REQUEST_SPACING,
    inbox::Ingested,
    mails::{Letter, MailEnd},
    partners::invoice_number,
    refunds::{RefundOutcome, RefundRequest},
};
use crate::{
    engine::Engine,
    provider::{Access, EncodeError, InBrowser, Provider, WebhookError},
    store::{
        Store, StoreError,
        sqlite::{OpenError, SqliteStore},
    },
    worker::Worker,
};

/// The name of a place where a test may kill the shop.
#[doc(hidden)]
pub use crate::crash::point as crash_point;

/// What the engine needs to start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The SQLite file.
    pub database: PathBuf,
    /// The shop's address as browsers see it, without a slash at the end.
    pub public_url: String,
    /// Multiplies every wait: 0.05 is twenty times faster. For tests and demos.
    pub time_scale: f64,
    /// How often each provider's list is compared with ours.
    pub sweep_every: std::time::Duration,
    /// Everyone who can be asked for something; the first one is the usual way to pay.
    pub providers: Vec<Access>,
}

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another process has it.
    #[error(
        "another Payonce uses the database {0}: stop it, or set PAYONCE_DATABASE to another file"
    )]
    InUse(String),
    /// The HTTP client.
    #[error(transparent)]
    Client(#[from] provider::ClientError),
    /// Nobody to pay.
    #[error("no payment provider is configured")]
    NoProvider,
    /// The windows do not fit each other.
    #[error("{0}")]
    Unsafe(String),
    /// Reading or writing it.
    #[error("the database did not do what was asked")]
    Store(#[from] StoreError),
}

/// What can be wrong with a request, or inside.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The same checkout id with other content.
    #[error("this checkout id was used for another order")]
    Conflict,
    /// The cart is not what the form showed.
    #[error("the cart was changed after this form was shown")]
    CartChanged,
    /// There is nothing to order.
    #[error("the cart is empty")]
    EmptyCart,
    /// Somebody else took the last ones.
    #[error("not enough in stock")]
    OutOfStock(Vec<Shortage>),
    /// The same, for an order that exists: there is no cart to change.
    #[error("not enough in stock for the next attempt")]
    OutOfStockForOrder(Vec<Shortage>),
    /// More of one product than fit into a cart.
    #[error("at most {} of one product fit into a cart", domain::catalogue::QUANTITY_MAX)]
    TooManyOfOne,
    /// A value that cannot be.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing.
    #[error("not found")]
    NotFound,
    /// Somebody else was faster, again and again.
    #[error("the record changed meanwhile")]
    Stale,
    /// A sum is too large.
    #[error("an amount is too large")]
    Overflow,
    /// The signature does not fit.
    #[error("the signature is not valid")]
    Signature,
    /// No provider of this name.
    #[error("no such provider")]
    UnknownProvider,
    /// No webhook secret is configured.
    #[error("webhooks of this provider are off")]
    WebhooksOff,
    /// Signed, but no event.
    #[error("the body is not an event")]
    MalformedEvent,
    /// An intent has no bytes.
    #[error("the request to the provider could not be written")]
    Encode(#[source] EncodeError),
    /// The engine stops.
    #[error("the shop is stopping")]
    Busy,
    /// What cannot be.
    #[error("{0}")]
    Internal(&'static str),
    /// The database.
    #[error("the database did not do what was asked")]
    Store(#[from] StoreError),
}

impl From<EncodeError> for Error {
    fn from(reason: EncodeError) -> Self {
        match reason {
            EncodeError::Amount(why) => Self::Invalid(why),
            EncodeError::UnknownStep(_) | EncodeError::Missing(_) => Self::Encode(reason),
        }
    }
}

impl From<WebhookError> for Error {
    fn from(reason: WebhookError) -> Self {
        match reason {
            WebhookError::Off => Self::WebhooksOff,
            WebhookError::Signature => Self::Signature,
            WebhookError::Malformed => Self::MalformedEvent,
        }
    }
}

/// What a payment form says.
#[derive(Clone, Debug)]
pub struct PayRequest {
    /// The shopper's intent.
    pub checkout_id: CheckoutId,
    /// Whose session posted it.
    pub customer: CustomerId,
    /// The cart it showed.
    pub cart_id: domain::id::CartId,
    /// That cart's version.
    pub cart_version: i64,
    /// The amount it showed.
    pub amount_minor: i64,
    /// That amount's currency.
    pub currency: Currency,
    /// Which payment of the order this is.
    pub attempt: u32,
    /// The chosen card, as the provider's token.
    pub payment_token: String,
    /// Where the shopper wants to be written to. Only the post that makes the order is asked.
    pub mail_to: Option<Recipient>,
    /// In which language.
    pub language: String,
}

/// What pressing Pay came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayOutcome {
    /// Committed now.
    Accepted,
    /// It was there already.
    Stored,
    /// It was there already, and the card in this post was not used.
    OtherCardIgnored,
    /// The order takes no payment any more, and none was begun.
    NoMorePayments,
    /// The cart is being paid under this id.
    AlreadyPaying(CheckoutId),
    /// It belongs to another customer; nothing was written or compared.
    NotYours,
}

/// One request on the wire, as the shop has it on record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestView {
    /// What it was for.
    pub kind: String,
    /// The operation's number among its kind.
    pub operation_attempt: u32,
    /// The step that was sent; `None` for a question.
    pub step: Option<String>,
    /// It was sent before, with the same key and bytes.
    pub replay: bool,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// When its end was recorded, if it was.
    pub ended_at: Option<Timestamp>,
    /// How it ended on the wire.
    pub transport: String,
    /// With which status, where there was an answer.
    pub http_status: Option<i64>,
    /// What was made of it.
    pub verdict: Option<String>,
}

/// A committed change of an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionView {
    /// Its place in the order's history.
    pub sequence: i64,
    /// What the operation is for.
    pub kind: String,
    /// The operation's number among its kind.
    pub operation_attempt: u32,
    /// From where; `None` at the beginning.
    pub from: Option<State>,
    /// To where.
    pub to: State,
    /// Which channel told.
    pub source: String,
    /// What it told.
    pub evidence: String,
    /// When.
    pub at: Timestamp,
}

/// An order and its operations, for the shop's own people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderRecord {
    /// Where the order stands.
    pub state: OrderState,
    /// What it costs.
    pub amount: Money,
    /// What may still be given back.
    pub refundable: Money,
    /// The newest request for a refund that its shopper made.
    pub refund_request: Option<RefundRequestRecord>,
    /// Its operations, oldest first.
    pub operations: Vec<OperationRecord>,
}

/// A shopper's request for a refund, for whoever answers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefundRequestRecord {
    /// Its number among the order's requests.
    pub number: u32,
    /// Where it stands.
    pub state: RequestState,
    /// When it was made.
    pub asked_at: Timestamp,
    /// Why, if the shopper said so.
    pub asked_why: Option<AskedWhy>,
    /// Why a person said no.
    pub declined_why: Option<DeclinedWhy>,
}

/// One operation of an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationRecord {
    /// Our id.
    pub id: OperationId,
    /// What it is for.
    pub kind: String,
    /// Its number among its kind.
    pub attempt: u32,
    /// With whom.
    pub provider: String,
    /// The provider's id.
    pub provider_id: Option<String>,
    /// Where it stands.
    pub state: State,
    /// Since when.
    pub since: Timestamp,
    /// How much.
    pub amount: Money,
    /// Why a person looks at it.
    pub review_reason: Option<ReviewReason>,
    /// The effect found at the provider.
    pub effect: Option<Money>,
    /// When the newest lookup that told something was sent.
    pub looked_up_at: Option<Timestamp>,
}

/// A way to pay that a shop offers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WayToPay {
    /// With whom.
    pub provider: String,
    /// With what: one of the provider's test tokens, or its own page.
    pub tokens: Vec<String>,
    /// Its own form in the browser, for the amount that was asked about.
    pub in_browser: Option<InBrowser>,
}

/// The engine. Cheap to clone.
#[derive(Clone)]
pub struct Payments {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Arc<Engine>,
    worker: Arc<Worker>,
    stop: CancellationToken,
    tasks: TaskTracker,
    _lock: Option<std::fs::File>,
}

impl Payments {
    /// Opens the database, ends what a killed process left behind, and starts the worker.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let lock = lock(&settings.database)?;
        let timing = Timing::default().scaled(permille(settings.time_scale));
        let timing = Timing { sweep: settings.sweep_every, ..timing };
        let store = SqliteStore::open(&settings.database).await?;
        let providers = settings.providers.into_iter().map(provider::make);
        let providers: Vec<Arc<dyn Provider>> = providers.collect::<Result<_, _>>()?;
        check_windows(&providers, &timing)?;
        // This process is the only one on this file, so whoever held a lease is gone.
        let mut work = store.write().await?;
        let now = clock::not_before(work.newest_time().await?);
        let ended = work.end_leases(now).await?;
        work.end_mail_tries(now).await?;
        work.commit().await?;
        if ended > 0 {
            tracing::info!(ended, "took over {ended} operations of a process that is gone");
        }
        let engine = Arc::new(Engine {
            store: Arc::new(store),
            providers,
            timing,
            hub: hub::Hub::default(),
            wake: tokio::sync::Notify::new(),
            owner: clock::fresh_id().to_string(),
            public_url: settings.public_url,
        });
        engine.tell_absent(now).await?;
        let stop = CancellationToken::new();
        let worker = Worker::new(Arc::clone(&engine), stop.clone());
        let tasks = TaskTracker::new();
        tasks.spawn(Arc::clone(&worker).run());
        Ok(Self { inner: Arc::new(Inner { engine, worker, stop, tasks, _lock: lock }) })
    }

    fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// What may still be sold.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn stock(&self) -> Result<HashMap<Sku, u32>, Error> {
        Ok(shop::stock(self.engine()).await?.into_iter().collect())
    }

    /// The customer behind a session token.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn customer_of(&self, token: &str) -> Result<Option<CustomerId>, Error> {
        let mut work = self.engine().store.read().await?;
        Ok(work.customer_of(&token_hash(token)).await?)
    }

    /// A new session: its token, of which only the hash is kept, and its customer.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn open_session(&self) -> Result<(String, CustomerId), Error> {
        let token = hex::encode(rand::random::<[u8; 32]>());
        let customer = CustomerId(clock::fresh_id());
        let mut work = self.engine().store.write().await?;
        work.insert_session(&token_hash(&token), customer, clock::now()).await?;
        work.commit().await?;
        Ok((token, customer))
    }

    /// A customer's open cart.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn cart(&self, customer: CustomerId) -> Result<Option<CartView>, Error> {
        let mut work = self.engine().store.read().await?;
        work.open_cart(customer).await?.as_ref().map(read::cart_view).transpose()
    }

    /// Changes one line of a customer's cart: sets its quantity, or adds to it; 0 removes it.
    ///
    /// # Errors
    /// No such product or price list, or too many.
    pub async fn set_line(
        &self,
        customer: CustomerId,
        sku: &str,
        quantity: u32,
        currency: Currency,
        add: bool,
    ) -> Result<CartView, Error> {
        shop::set_line(self.engine(), customer, sku, quantity, currency, add).await
    }

    /// The shopper pressed Pay. Returns once it is committed, never after the provider.
    ///
    /// Commit and wake-up run in a task of their own, so that a browser that goes away cannot
    /// come between them.
    ///
    /// # Errors
    /// See [`Error`]; nothing is written then.
    pub async fn pay(&self, request: PayRequest) -> Result<PayOutcome, Error> {
        let engine = Arc::clone(&self.inner.engine);
        let task = self.inner.tasks.spawn(async move { shop::pay(&engine, &request).await });
        task.await.unwrap_or(Err(Error::Busy))
    }

    /// A checkout as its status page shows it to this viewer.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn checkout(
        &self,
        id: CheckoutId,
        viewer: Option<CustomerId>,
    ) -> Result<Option<CheckoutView>, Error> {
        read::checkout(self.engine(), id, viewer).await
    }

    /// A customer's orders, newest first.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn orders(&self, customer: CustomerId) -> Result<Vec<OrderSummary>, Error> {
        read::orders(self.engine(), customer).await
    }

    /// The owner gives an order up. What cannot be settled at once is settled by the provider's word.
    ///
    /// # Errors
    /// No such order of this customer.
    pub async fn cancel_order(&self, id: CheckoutId, customer: CustomerId) -> Result<(), Error> {
        let engine = Arc::clone(&self.inner.engine);
        let task = self.inner.tasks.spawn(async move { shop::cancel(&engine, id, customer).await });
        task.await.unwrap_or(Err(Error::Busy))
    }

    /// Gives money back: an operation of its own, or the one this wish opened before.
    ///
    /// # Errors
    /// No such order, more than is left, or the same id with other content.
    pub async fn refund(&self, wish: RefundRequest) -> Result<RefundOutcome, Error> {
        let engine = Arc::clone(&self.inner.engine);
        let task = self.inner.tasks.spawn(async move { refunds::request(&engine, &wish).await });
        task.await.unwrap_or(Err(Error::Busy))
    }

    /// The owner asks for a refund; nothing moves, a person is told. `number` is the one that the
    /// form carried.
    ///
    /// # Errors
    /// No such order of this customer.
    pub async fn ask_refund(
        &self,
        id: CheckoutId,
        customer: CustomerId,
        number: u32,
        why: Option<AskedWhy>,
    ) -> Result<AskOutcome, Error> {
        let engine = Arc::clone(&self.inner.engine);
        let asked = async move { asks::ask(&engine, id, customer, number, why).await };
        self.inner.tasks.spawn(asked).await.unwrap_or(Err(Error::Busy))
    }

    /// A person says no to a shopper's request. True if the same was said before.
    ///
    /// # Errors
    /// No such order, or no open request.
    pub async fn decline_refund(
        &self,
        reference: &str,
        why: DeclinedWhy,
        who: &str,
    ) -> Result<bool, Error> {
        asks::decline(self.engine(), reference, why, who).await
    }

    /// A person decides about an operation in review.
    ///
    /// # Errors
    /// No such order or operation, or its provider is not set up any more.
    pub async fn decide(&self, wish: &ReviewDecision) -> Result<ReviewOutcome, Error> {
        let done = decisions::decide(self.engine(), wish).await;
        self.engine().wake.notify_one();
        done
    }

    /// Mails whose time has come. Whoever carries them takes each, and tells how that ended.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn due_mails(&self) -> Result<Vec<Uuid>, Error> {
        mails::due(self.engine()).await
    }

    /// Commits a try to hand a mail over; `None` if it is not to be handed over any more.
    ///
    /// # Errors
    /// The database did not take it; nothing may be handed over then.
    pub async fn take_mail(&self, id: Uuid) -> Result<Option<Letter>, Error> {
        mails::take(self.engine(), id).await
    }

    /// Records how a try ended. If the database does not take it, the try counts as one whose end
    /// nobody knows.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn mail_ended(&self, id: Uuid, end: MailEnd) -> Result<(), Error> {
        mails::ended(self.engine(), id, end).await
    }

    /// What is on record about an order, for the shop's own people.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn record(&self, reference: &str) -> Result<Option<OrderRecord>, Error> {
        read::record(self.engine(), reference).await
    }

    /// Somebody opened the status page or came back from the provider: a hint, it decides nothing.
    pub fn wake(&self, id: CheckoutId) {
        let engine = Arc::clone(&self.inner.engine);
        self.inner.tasks.spawn(async move {
            if let Err(reason) = shop::hint(&engine, id).await {
                tracing::debug!(
                    reason = &reason as &dyn std::error::Error,
                    "a hint was lost; lookups go on"
                );
            }
        });
    }

    /// Changes whenever something about this checkout may have. Then read it again.
    pub fn subscribe(&self, id: CheckoutId) -> watch::Receiver<u64> {
        self.engine().hub.subscribe(id)
    }

    /// The committed changes of an order after a sequence number.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn history(
        &self,
        id: CheckoutId,
        after_sequence: i64,
    ) -> Result<Vec<TransitionView>, Error> {
        read::history(self.engine(), id, after_sequence).await
    }

    /// Every request on the wire for a checkout, oldest first.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn requests(&self, id: CheckoutId) -> Result<Vec<RequestView>, Error> {
        read::requests(self.engine(), id).await
    }

    /// Takes a provider's event. After `Ok` it is stored for good.
    ///
    /// # Errors
    /// Not verified, or the database did not take it.
    pub async fn ingest(
        &self,
        provider: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Ingested, Error> {
        inbox::ingest(self.engine(), provider, headers, body).await
    }

    /// Whether the database answers and its tables are up to date.
    ///
    /// # Errors
    /// It does not.
    pub async fn ready(&self) -> Result<(), Error> {
        let mut work = self.engine().store.read().await?;
        work.stock().await?;
        Ok(())
    }

    /// The ways to pay, in the order they are shown; the first one's tokens need no prefix.
    pub fn ways_to_pay(&self, amount: Money) -> Vec<WayToPay> {
        let takes = |it: &&Arc<dyn Provider>| it.capability(&Kind::PAYMENT).is_some();
        let providers = self.engine().providers.iter().filter(takes);
        providers
            .map(|provider| WayToPay {
                provider: provider.name().to_owned(),
                tokens: provider.test_tokens().iter().map(|it| (*it).to_owned()).collect(),
                in_browser: provider.in_browser(amount),
            })
            .collect()
    }

    /// Providers that tell news which nothing is set to verify: their endpoints are off.
    pub fn deaf_providers(&self) -> Vec<&'static str> {
        let providers = self.engine().providers.iter();
        providers.filter(|it| it.is_deaf()).map(|it| it.name()).collect()
    }

    /// Numbers for the metrics page: operations by kind and state, open alerts.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn counters(&self) -> Result<Vec<(String, i64)>, Error> {
        let mut work = self.engine().store.read().await?;
        let states = work.count_states().await?;
        let mut rows: Vec<(String, i64)> = states
            .into_iter()
            .map(|(kind, state, n)| {
                (format!("payonce_operations{{kind=\"{kind}\",state=\"{state}\"}}"), n)
            })
            .collect();
        rows.push(("payonce_alerts_open".into(), work.open_alerts().await?));
        Ok(rows)
    }

    /// Stops or allows sends to one provider; lookups go on. False if there is no such provider.
    pub fn switch_sends(&self, provider: &str, on: bool) -> bool {
        self.inner.worker.switch_sends(provider, on)
    }

    /// Stops the worker, waits for requests on the wire, and closes the database.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.engine.wake.notify_one();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.engine.store.close().await;
    }
}

/// Only the hash of a token is stored: a copy of the table opens nobody's session.
fn token_hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

/// A factor as whole thousandths, so that durations stay integers; never zero.
#[expect(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a setting is turned into an integer once; no money is near"
)]
fn permille(scale: f64) -> u32 {
    ((scale * 1000.0).round() as u32).max(1)
}

/// Takes the file beside the database, so that no second process works on it.
fn lock(database: &std::path::Path) -> Result<Option<std::fs::File>, StartError> {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    let unwritable = |source: std::io::Error| OpenError::Unwritable {
        path: database.display().to_string(),
        source: sqlx::Error::Io(source),
    };
    if let Some(folder) = database.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let file = std::fs::File::create(&name).map_err(unwritable)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(StartError::InUse(database.display().to_string()))
        }
        Err(std::fs::TryLockError::Error(reason)) => Err(unwritable(reason).into()),
    }
}

/// A lease covers a whole call, and what a replay window leaves covers a lease and a slow call.
fn check_windows(providers: &[Arc<dyn Provider>], timing: &Timing) -> Result<(), StartError> {
    if !providers.iter().any(|it| it.capability(&Kind::PAYMENT).is_some()) {
        return Err(StartError::NoProvider);
    }
    let kinds = [Kind::PAYMENT, Kind::REFUND, Kind::INVOICE, Kind::SHIPMENT];
    for provider in providers {
        for capability in kinds.iter().filter_map(|kind| provider.capability(kind)) {
            let call = capability.connect_timeout + capability.response_timeout;
            let name = capability.provider;
            if timing.lease / 2 <= call {
                return Err(StartError::Unsafe(format!(
                    "the timeouts of {name} ({call:?} together) must be shorter than half a lease ({:?})",
                    timing.lease / 2
                )));
            }
            let windows = capability.steps.iter().filter_map(|step| step.idempotency);
            for key in windows {
                if key.window / 4 <= call + timing.lease {
                    return Err(StartError::Unsafe(format!(
                        "a quarter of {name}'s key window ({:?}) must be longer than a call and a lease",
                        key.window / 4
                    )));
                }
            }
        }
    }
    Ok(())
}
