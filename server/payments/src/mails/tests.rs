//! Mails on a real database, with an engine that sends nothing: states are set by hand.

use std::sync::Arc;

use domain::{
    evidence::{Evidence, Found, Outcome as Told, Verdict},
    id::{CheckoutId, CustomerId, OperationId},
    money::Currency,
    schedule::Timing,
};

use super::*;
use crate::{
    PayOutcome, PayRequest,
    engine::Lease,
    hub::Hub,
    provider::{
        Provider,
        examplepay::{ExamplePay, ExamplePaySettings},
    },
    shop,
    store::{Stored, sqlite::SqliteStore},
};

/// An engine with one order whose shopper wants to be written to.
struct Shop {
    folder: tempfile::TempDir,
    engine: Engine,
    payment: OperationId,
}

async fn shop_with(timing: Timing) -> Shop {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let provider = ExamplePay::new(ExamplePaySettings {
        base_url: "http://127.0.0.1:9".to_owned(),
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
    let engine = Engine {
        store: Arc::new(store),
        providers: vec![provider],
        timing,
        hub: Hub::default(),
        wake: tokio::sync::Notify::new(),
        owner: "this process".to_owned(),
        public_url: "http://127.0.0.1".to_owned(),
    };
    let customer = CustomerId(clock::fresh_id());
    let cart = shop::set_line(&engine, customer, "cups", 1, Currency::EUR, true).await.unwrap();
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
        mail_to: Some(Recipient::new("anna@example.org".to_owned())),
        language: "en".to_owned(),
    };
    assert_eq!(shop::pay(&engine, &pressed).await.unwrap(), PayOutcome::Accepted);
    let mut work = engine.store.read().await.unwrap();
    let order = work.order_of_checkout(checkout_id).await.unwrap().unwrap();
    let payment = work.operations_of(order.id).await.unwrap()[0].id;
    drop(work);
    Shop { folder, engine, payment }
}

async fn shop() -> Shop {
    shop_with(Timing::default()).await
}

impl Shop {
    async fn payment(&self) -> Operation {
        let mut work = self.engine.store.read().await.unwrap();
        work.operation(self.payment).await.unwrap().unwrap()
    }

    /// The payment is in this state now; no mail is kept for that.
    async fn is(&self, state: State) {
        let operation = self.payment().await;
        let now = clock::now();
        let unknown = state == State::PendingConfirmation;
        let moved = Operation {
            version: operation.version + 1,
            state,
            entered_at: now,
            unknown_since: unknown.then_some(operation.created_at),
            effect: (state == State::Succeeded).then_some(operation.amount),
            ..operation
        };
        let mut work = self.engine.store.write().await.unwrap();
        let stored = work.update_operation(&moved, operation.version).await.unwrap();
        assert_eq!(stored, Stored::Done);
        work.commit().await.unwrap();
    }

    /// Keeps a mail; false if there is one.
    async fn keeps(&self, fact: Fact) -> bool {
        let mail = fresh(&self.payment().await, fact, clock::now());
        let mut work = self.engine.store.write().await.unwrap();
        let kept = work.insert_mail(&mail).await.unwrap();
        work.commit().await.unwrap();
        kept
    }

    /// The one mail that is due, if one is.
    async fn due(&self) -> Option<Uuid> {
        let due = due(&self.engine).await.unwrap();
        assert!(due.len() < 2, "one mail of an order at a time: {due:?}");
        due.first().copied()
    }

    /// Takes the mail that is due; what it tells, unless it was overtaken.
    async fn takes(&self) -> Option<(Uuid, Fact)> {
        let id = self.due().await.expect("a mail is due");
        let letter = take(&self.engine, id).await.unwrap();
        letter.map(|letter| (letter.id, letter.fact))
    }

    async fn tells_unknown(&self) {
        tell_unknown(&self.engine).await.unwrap();
    }

    async fn database(&self) -> sqlx::SqlitePool {
        let options =
            sqlx::sqlite::SqliteConnectOptions::new().filename(self.folder.path().join("shop.db"));
        sqlx::SqlitePool::connect_with(options).await.unwrap()
    }

    /// The mails that are kept, oldest fact first.
    async fn mails(&self) -> Vec<(String, String, i64)> {
        let pool = self.database().await;
        sqlx::query_as("select fact, state, tries from mails order by created_at, rowid")
            .fetch_all(&pool)
            .await
            .unwrap()
    }

    #[track_caller]
    fn are(mails: Vec<(String, String, i64)>, wanted: &[(&str, &str, i64)]) {
        let mails: Vec<_> = mails.iter().map(|it| (it.0.as_str(), it.1.as_str(), it.2)).collect();
        assert_eq!(mails, wanted);
    }
}

#[tokio::test]
async fn a_mail_does_not_wait_for_hours_behind_one_that_it_overtakes() {
    let shop = shop().await;
    shop.is(State::PendingConfirmation).await;
    assert!(shop.keeps(Fact::StillUnknown).await);
    let (id, _) = shop.takes().await.expect("it is so");
    // Nobody took it, and it is looked at again in half a minute at the earliest.
    ended(&shop.engine, id, MailEnd::Again).await.unwrap();
    assert_eq!(shop.due().await, None);
    shop.is(State::Succeeded).await;
    assert!(shop.keeps(Fact::Paid).await);
    assert_eq!(shop.due().await, Some(id), "the earlier one first, at once");
    assert_eq!(shop.takes().await, None, "it is not so any more");
    let (_, fact) = shop.takes().await.expect("the outcome is told at once");
    assert_eq!(fact, Fact::Paid);
    Shop::are(shop.mails().await, &[("still_unknown", "overtaken", 1), ("paid", "waiting", 1)]);
}

#[tokio::test]
async fn a_mail_that_somebody_has_in_hand_is_not_hurried() {
    let shop = shop().await;
    shop.is(State::PendingConfirmation).await;
    assert!(shop.keeps(Fact::StillUnknown).await);
    let (id, _) = shop.takes().await.expect("it is so");
    shop.is(State::Succeeded).await;
    assert!(shop.keeps(Fact::Paid).await);
    assert_eq!(shop.due().await, None, "one try at a time");
    ended(&shop.engine, id, MailEnd::Taken).await.unwrap();
    assert_eq!(shop.takes().await.map(|(_, fact)| fact), Some(Fact::Paid));
}

#[tokio::test]
async fn what_was_overtaken_is_told_when_it_is_so_once_more_and_what_was_sent_is_not() {
    let shop = shop().await;
    shop.is(State::Rejected).await;
    assert!(shop.keeps(Fact::Declined).await);
    let first = shop.due().await;
    // Late news open it again before the mail has left.
    shop.is(State::PendingConfirmation).await;
    assert_eq!(shop.takes().await, None);
    Shop::are(shop.mails().await, &[("declined", "overtaken", 0)]);
    shop.is(State::Rejected).await;
    assert!(shop.keeps(Fact::Declined).await);
    let (id, fact) = shop.takes().await.expect("it is so once more");
    assert_eq!((Some(id) == first, fact), (false, Fact::Declined), "another mail");
    ended(&shop.engine, id, MailEnd::Taken).await.unwrap();
    Shop::are(shop.mails().await, &[("declined", "sent", 1)]);
    // Once more: it was told.
    shop.is(State::PendingConfirmation).await;
    shop.is(State::Rejected).await;
    assert!(!shop.keeps(Fact::Declined).await);
    assert_eq!(shop.due().await, None);
}

#[tokio::test]
async fn a_row_that_is_told_once_more_takes_its_place_behind_what_came_between() {
    let shop = shop().await;
    shop.is(State::Rejected).await;
    assert!(shop.keeps(Fact::Declined).await);
    shop.is(State::RequiresReview).await;
    assert_eq!(shop.takes().await, None);
    assert!(shop.keeps(Fact::WithAPerson).await);
    let (review, _) = shop.takes().await.expect("it is so");
    shop.is(State::Rejected).await;
    assert!(shop.keeps(Fact::Declined).await);
    assert_eq!(shop.due().await, None, "the one in hand goes first");
    ended(&shop.engine, review, MailEnd::Taken).await.unwrap();
    assert_eq!(shop.takes().await.map(|(_, fact)| fact), Some(Fact::Declined));
}

#[tokio::test]
async fn an_outcome_that_is_unknown_once_more_is_told_once_more_if_nobody_was_told() {
    let shop = shop_with(Timing { patience: Duration::ZERO, ..Timing::default() }).await;
    shop.is(State::PendingConfirmation).await;
    shop.tells_unknown().await;
    shop.is(State::Succeeded).await;
    assert_eq!(shop.takes().await, None);
    shop.is(State::PendingConfirmation).await;
    shop.tells_unknown().await;
    let (id, fact) = shop.takes().await.expect("it is so once more");
    assert_eq!(fact, Fact::StillUnknown);
    ended(&shop.engine, id, MailEnd::Taken).await.unwrap();
    shop.tells_unknown().await;
    Shop::are(shop.mails().await, &[("still_unknown", "sent", 1)]);
}

#[tokio::test]
async fn an_unknown_outcome_that_another_payment_passed_by_is_kept_for_nobody() {
    let shop = shop_with(Timing { patience: Duration::ZERO, ..Timing::default() }).await;
    shop.is(State::Rejected).await;
    let first = shop.payment().await;
    let second = Operation {
        id: OperationId(clock::fresh_id()),
        attempt: 2,
        reference: format!("{}x", first.reference),
        ..first
    };
    let mut work = shop.engine.store.write().await.unwrap();
    work.insert_operation(&second, &[]).await.unwrap();
    work.commit().await.unwrap();
    shop.is(State::PendingConfirmation).await;
    shop.tells_unknown().await;
    Shop::are(shop.mails().await, &[]);
}

#[tokio::test]
async fn a_mail_whose_address_was_erased_is_closed_and_holds_up_nothing() {
    let shop = shop().await;
    shop.is(State::Succeeded).await;
    assert!(shop.keeps(Fact::Paid).await);
    let pool = shop.database().await;
    sqlx::query("update orders set mail_to = null").execute(&pool).await.unwrap();
    assert_eq!(shop.takes().await, None);
    assert_eq!(shop.due().await, None);
    Shop::are(shop.mails().await, &[("paid", "overtaken", 0)]);
}

#[tokio::test]
async fn a_refund_that_another_one_stands_in_for_is_not_called_money_that_is_with_us() {
    let shop = shop().await;
    shop.is(State::Succeeded).await;
    let payment = shop.payment().await;
    let refund = |state: State, opened: i64, ended: i64| Operation {
        id: OperationId(clock::fresh_id()),
        kind: Kind::REFUND,
        refunds: Some(payment.id),
        state,
        created_at: Timestamp(opened),
        entered_at: Timestamp(ended),
        ..payment.clone()
    };
    for (fact, state) in
        [(Fact::RefundRefused, State::Rejected), (Fact::RefundUndone, State::Reversed)]
    {
        let about = refund(state, 10, 20);
        let elsewhere = Some(OperationId(clock::fresh_id()));
        let of_another = Operation { refunds: elsewhere, ..refund(State::Succeeded, 30, 40) };
        let outside = Operation { kind: Kind::EXTERNAL, ..refund(State::Succeeded, 30, 40) };
        let rows = [
            ("alone", None, true),
            ("beside another one", Some(refund(State::Succeeded, 15, 40)), true),
            (
                "before one that is not known",
                Some(refund(State::PendingConfirmation, 30, 40)),
                true,
            ),
            ("before one of another payment", Some(of_another), true),
            ("before one that went", Some(refund(State::Succeeded, 30, 40)), false),
            ("before one without us", Some(outside), false),
        ];
        for (how, other, so) in rows {
            let all: Vec<Operation> =
                [payment.clone(), about.clone()].into_iter().chain(other).collect();
            assert_eq!(is_still_so(fact, standing(&about, &all)), so, "{fact} {how}");
        }
    }
}

#[tokio::test]
async fn a_no_is_written_to_whoever_may_have_left_the_page() {
    let hour = Duration::from_secs(3600);
    let rows = [
        // At once: it is on the page.
        (State::RetryScheduled, hour, &[][..]),
        // The shopper was at the bank's page.
        (State::RequiresAction, hour, &["declined"][..]),
        // It took longer than somebody waits at a page.
        (State::RetryScheduled, Duration::ZERO, &["declined"][..]),
        (State::PendingConfirmation, hour, &["declined"][..]),
    ];
    for (before, patience, wanted) in rows {
        let shop = shop_with(Timing { patience, ..Timing::default() }).await;
        shop.is(before).await;
        let now = clock::now();
        let told = Told::Rejected { code: "card_declined".to_owned() };
        let verdict = Verdict::Definitive(told, Found::default());
        let evidence = Evidence::Lookup { sent_at: now, own_lease: true, verdict };
        let mut work = shop.engine.store.write().await.unwrap();
        let loaded = shop.engine.load(work.as_mut(), shop.payment).await.unwrap();
        shop.engine.apply(work.as_mut(), loaded, &evidence, Lease::Keep, now).await.unwrap();
        work.commit().await.unwrap();
        assert_eq!(shop.payment().await.state, State::Rejected, "{before}");
        let facts: Vec<_> = shop.mails().await.into_iter().map(|(fact, ..)| fact).collect();
        assert_eq!(facts, wanted, "{before} {patience:?}");
    }
}
