//! A worker on a real database, with a real adapter whose provider takes connections and says
//! nothing.

use domain::{
    evidence::Act,
    id::{CheckoutId, CustomerId},
    money::Currency,
    operation::ReviewReason,
    schedule::Timing,
};
use tokio::{net::TcpListener, sync::mpsc};

use super::*;
use crate::{
    PayOutcome, PayRequest,
    hub::Hub,
    provider::{
        Provider,
        examplepay::{ExamplePay, ExamplePaySettings},
    },
    shop,
    store::{Operation, sqlite::SqliteStore},
};

/// How long any condition is waited for.
const BOUND: Duration = Duration::from_secs(20);

/// An engine with one payment that was not sent yet.
struct Shop {
    _folder: tempfile::TempDir,
    engine: Arc<Engine>,
    payment: OperationId,
}

/// A provider that takes every connection and never answers; tells of each.
async fn silent_provider() -> (String, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, connected) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            held.push(connection);
            let _gone = sender.send(());
        }
    });
    (format!("http://{address}"), connected)
}

/// That shop, and who tells when its provider was called.
async fn shop_with_a_payment() -> (Shop, mpsc::UnboundedReceiver<()>) {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let (base_url, connected) = silent_provider().await;
    let provider = ExamplePay::new(ExamplePaySettings {
        base_url,
        api_key: "sk_test".into(),
        webhook_secrets: Vec::new(),
        account: "acct_test".to_owned(),
        connect_timeout: Duration::from_secs(2),
        response_timeout: Duration::from_secs(10),
        key_window: Duration::from_secs(24 * 3600),
        payment_deadline: Duration::from_secs(1800),
        refund_deadline: Duration::from_secs(1800),
    });
    let provider: Arc<dyn Provider> = Arc::new(provider.unwrap());
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("shop.db")).await.unwrap();
    let engine = Arc::new(Engine {
        store: Arc::new(store),
        providers: vec![provider],
        timing: Timing { lease: Duration::from_secs(1), ..Timing::default().scaled(20) },
        hub: Hub::default(),
        wake: tokio::sync::Notify::new(),
        owner: "this process".to_owned(),
        public_url: "http://127.0.0.1".to_owned(),
    });
    let payment = buy(&engine).await;
    (Shop { _folder: folder, engine, payment }, connected)
}

async fn buy(engine: &Engine) -> OperationId {
    let customer = CustomerId(clock::fresh_id());
    let cart = shop::set_line(engine, customer, "cups", 1, Currency::EUR, true).await.unwrap();
    let checkout_id = CheckoutId(clock::fresh_id());
    let pressed = PayRequest {
        checkout_id,
        customer,
        cart_id: cart.id,
        cart_version: cart.version,
        amount_minor: cart.total.minor,
        currency: cart.total.currency,
        attempt: 1,
        payment_token: "tok_visa".to_owned(),
        mail_to: None,
        language: "en".to_owned(),
    };
    assert_eq!(shop::pay(engine, &pressed).await.unwrap(), PayOutcome::Accepted);
    let mut work = engine.store.read().await.unwrap();
    let order = work.order_of_checkout(checkout_id).await.unwrap().unwrap();
    work.operations_of(order.id).await.unwrap()[0].id
}

impl Shop {
    async fn operation(&self) -> Operation {
        let mut work = self.engine.store.read().await.unwrap();
        work.operation(self.payment).await.unwrap().unwrap()
    }

    /// The steps of the payment's requests, oldest first; a question has none.
    async fn requests(&self) -> Vec<Option<String>> {
        let mut work = self.engine.store.read().await.unwrap();
        let attempts = work.attempts(self.payment).await.unwrap();
        attempts.into_iter().map(|attempt| attempt.step).collect()
    }
}

#[tokio::test]
async fn an_operation_whose_task_dies_is_free_at_once_and_taken_again_after_its_lease() {
    let (shop, mut connected) = shop_with_a_payment().await;
    let stop = CancellationToken::new();
    let worker = Worker::new(Arc::clone(&shop.engine), stop.clone());
    worker.busy.lock().unwrap().insert(shop.payment);
    let work = Arc::clone(&worker).work_on(shop.payment);
    // The task unwinds while its request is on the wire.
    let dying = tokio::spawn(async move {
        tokio::select! {
            () = work => {}
            _ = connected.recv() => panic!("a defect of a task"),
        }
    });
    let reason = dying.await.unwrap_err();
    assert!(reason.is_panic(), "it died with its request on the wire");
    assert!(worker.busy.lock().unwrap().is_empty(), "nobody works on it");
    assert_eq!(shop.operation().await.state, State::Requested);
    assert_eq!(shop.requests().await.len(), 1);

    let running = tokio::spawn(worker.run());
    let end = Instant::now() + BOUND;
    while shop.requests().await.len() < 2 {
        assert!(Instant::now() < end, "nobody took it again: {:?}", shop.operation().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let [sent, asked] = &shop.requests().await[..2] else { unreachable!("there are two") };
    assert!(sent.is_some() && asked.is_none(), "it is asked about before anything is sent again");
    assert_eq!(shop.operation().await.state, State::PendingConfirmation);
    stop.cancel();
    shop.engine.wake.notify_one();
    running.await.unwrap();
}

#[tokio::test]
async fn a_person_who_decides_on_old_news_has_the_provider_asked_at_once() {
    let (shop, _connected) = shop_with_a_payment().await;
    let now = clock::now();
    let mut work = shop.engine.store.write().await.unwrap();
    let mut operation = work.operation(shop.payment).await.unwrap().unwrap();
    let version = operation.version;
    operation.version += 1;
    operation.state = State::RequiresReview;
    operation.review_reason = Some(ReviewReason::Deadline);
    operation.acknowledged = true;
    operation.entered_at = now;
    operation.next_action_at = Some(now.after(Duration::from_secs(60)));
    assert_eq!(work.update_operation(&operation, version).await.unwrap(), Stored::Done);
    let loaded = shop.engine.load(work.as_mut(), shop.payment).await.unwrap();
    let evidence = Evidence::Operator(Act::Cancel);
    shop.engine.apply(work.as_mut(), loaded, &evidence, Lease::Keep, now).await.unwrap();
    work.commit().await.unwrap();
    let operation = shop.operation().await;
    assert_eq!(operation.state, State::RequiresReview, "nothing is decided on old news");
    assert_eq!(operation.next_action_at, Some(now), "the lookup is due");
}
