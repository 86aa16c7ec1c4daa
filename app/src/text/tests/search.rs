//! Every state on every surface, in every language, searched for words that say more than is known.
//!
//! Some words nobody reads. Others say no, and stand only where the operation they are about has
//! its no on record.

use std::collections::HashSet;

use domain::{
    id::CheckoutId,
    mail::{Fact, Recipient},
    money::{Currency, Money},
    operation::{CanceledWhy, ReviewReason, State},
    order::OrderState,
    refund_request::RequestState,
    schedule::Timestamp,
    view::{CartView, CheckoutView, Face, OrderSummary, RefundRequestView, RefundView},
};
use leptos::prelude::*;
use payments::Letter;

use crate::{
    components::pay_form::MailField,
    pages::{checkout::CheckoutPage, orders::OrdersPage, status::StatusPage},
    panel::{self, samples, tests::NEVER},
    text::{self, LANGS, Lang, code, lab, mail::mail, status::Note},
};

/// An operation of an order, by what a person takes it for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Payment,
    Refund,
    /// Money that the bank or the provider takes back without us.
    External,
    Shipment,
    Invoice,
}

const WHAT: [What; 5] =
    [What::Payment, What::Refund, What::External, What::Shipment, What::Invoice];

/// Words that say that an operation came to nothing, or that it may be done anew.
fn no(what: What) -> &'static [&'static str] {
    match what {
        What::Payment => &[
            "declined",
            "not completed",
            "no money was taken",
            "could not reach",
            "mistake",
            "you may pay",
            "you may still pay",
            "отклон",
            "платёж не завершён",
            "деньги не списаны",
            "не смогли связаться",
            "ошибк",
            "можно заплатить",
            "можно оплатить",
        ],
        What::Refund => &[
            "refused",
            "could not be sent back",
            "not sent yet",
            "refund was not sent",
            "still with us",
            "came back to us",
            "отказал",
            "вернуть нельзя",
            "не отправлено",
            "возврат не отправлен",
            "пока у нас",
            "вернулось к нам",
        ],
        What::External => &[
            "did not give",
            "did not go back",
            "came back to us",
            "не вернул эту",
            "не вернулось",
            "пришло обратно",
        ],
        What::Shipment => &[
            "not ordered",
            "not taken on",
            "not sent",
            "stays here",
            "came back to us",
            "не заказана",
            "не принята",
            "не отправлена",
            "остаётся у нас",
            "вернулась к нам",
        ],
        What::Invoice => &["not written", "withdrawn", "не выписан", "отозван"],
    }
}

/// An order with one operation in the middle of attention.
struct Case {
    name: String,
    what: What,
    state: State,
    view: CheckoutView,
}

impl Case {
    /// Whether the no of such an operation is on record.
    fn is_no(&self, what: What) -> bool {
        let payment = self.view.payment.state;
        match what {
            What::Payment => matches!(payment, State::Rejected | State::Canceled),
            What::Refund | What::External | What::Shipment | What::Invoice => {
                let ends =
                    matches!(self.state, State::Rejected | State::Canceled | State::Reversed);
                self.what == what && ends
            }
        }
    }

    /// The words of a text that say more than this order's record.
    fn too_much(&self, text: &str) -> Vec<&'static str> {
        let other = Some(self.what).filter(|what| *what != What::Payment);
        let unsaid = [Some(What::Payment), other].into_iter().flatten();
        let unsaid = unsaid.filter(|what| !self.is_no(*what));
        NEVER
            .into_iter()
            .chain(unsaid.flat_map(no).copied())
            .filter(|word| text.contains(word))
            .collect()
    }
}

/// The faces that a payment in this state may have.
fn faces(state: State) -> &'static [Face] {
    match state {
        State::Created => &[Face::Sending],
        State::Requested | State::RetryScheduled => &[Face::Sending, Face::Checking],
        State::RequiresAction => &[Face::ConfirmAtBank, Face::Checking],
        State::PendingConfirmation => &[Face::Checking],
        State::RequiresReview => &[Face::InReview],
        State::Succeeded => &[Face::Paid],
        State::Rejected => &[Face::Declined],
        State::Canceled => &[Face::NotCompleted],
        State::Reversed => &[Face::Reversed],
    }
}

/// A payment in this state in all the ways in which a page tells it.
fn payments(state: State) -> Vec<CheckoutView> {
    let mut views: Vec<CheckoutView> = Vec::new();
    let mut with = |change: &dyn Fn(&mut CheckoutView)| {
        let mut view = samples::checkout(state);
        change(&mut view);
        views.push(view);
    };
    for face in faces(state) {
        with(&|view| view.payment.face = *face);
        with(&|view| (view.payment.face, view.payment.unknown_long) = (*face, true));
        with(&|view| {
            view.payment.face = *face;
            "paypal".clone_into(&mut view.payment.provider);
        });
    }
    match state {
        State::Canceled => CanceledWhy::ALL
            .iter()
            .for_each(|why| with(&|view| view.payment.canceled_why = Some(*why))),
        State::RequiresReview => ReviewReason::ALL
            .iter()
            .for_each(|why| with(&|view| view.payment.review_reason = Some(*why))),
        State::Rejected => {
            with(&|view| view.payment.no_money_taken = false);
            for code in [None, Some("expired_card".to_owned()), Some("do_not_honor".to_owned())] {
                with(&|view| view.payment.decline_code.clone_from(&code));
            }
        }
        State::Succeeded => {
            with(&|view| view.payment.effect = Some(Money::new(9301, Currency::EUR)));
            for request in RequestState::ALL {
                with(&|view| {
                    let asked_at = Timestamp(samples::NOW);
                    let (state, declined_why) = (*request, None);
                    if let Some(owner) = &mut view.owner {
                        let request = RefundRequestView { state, asked_at, declined_why };
                        owner.refund_request = Some(request);
                    }
                });
            }
            with(&|view| {
                if let Some(owner) = &mut view.owner {
                    owner.ask_refund = Some(1);
                }
            });
        }
        State::Created
        | State::Requested
        | State::RequiresAction
        | State::RetryScheduled
        | State::PendingConfirmation
        | State::Reversed => {}
    }
    views
}

/// The order with such an operation beside its payment.
fn beside(what: What, state: State, payment: State) -> CheckoutView {
    let mut view = samples::checkout(payment);
    if let Some(owner) = &mut view.owner {
        match what {
            What::Payment => {}
            What::Refund | What::External => {
                let outside = what == What::External;
                let (amount, since) = (owner.total, owner.created_at);
                owner.refunds = vec![RefundView { state, amount, outside, since }];
            }
            What::Shipment => owner.parcel = Some(state),
            What::Invoice => owner.invoice = Some((state, "INV-P-7K3M-2QXA".to_owned())),
        }
    }
    view
}

/// Every operation in every state, within an order in every state.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for state in State::ALL {
        for what in WHAT {
            let views = match what {
                What::Payment => payments(*state),
                What::Refund | What::External | What::Shipment | What::Invoice => {
                    // The payment too may be anything but a no, which has nothing beside it.
                    [State::Succeeded, State::PendingConfirmation, State::RequiresReview]
                        .map(|payment| beside(what, *state, payment))
                        .into()
                }
            };
            for order in OrderState::ALL {
                for view in &views {
                    let mut view = view.clone();
                    view.order_state = *order;
                    if let Some(owner) = &mut view.owner {
                        owner.mail_to = Some("a…@example.org".to_owned());
                        owner.mail_promised =
                            matches!(view.payment.face, Face::Checking | Face::InReview);
                        // Nothing is paid for an order that waits for no payment.
                        let open = *order == OrderState::AwaitingPayment;
                        owner.pay_attempt = owner.pay_attempt.filter(|_| open);
                    }
                    let payment = view.payment.state;
                    let name = format!("{what:?} {state}, payment {payment}, order {order}");
                    cases.push(Case { name, what, state: *state, view });
                }
            }
        }
    }
    cases
}

/// Draws in a language.
pub(super) fn drawn<V: IntoView>(lang: Lang, view: impl FnOnce() -> V) -> String {
    let owner = Owner::new();
    let html = owner.with(|| {
        text::speak(lang);
        view().to_html()
    });
    owner.cleanup();
    html
}

/// What is meant for programs and styles alone.
const UNREAD: [&str; 15] = [
    "class",
    "id",
    "for",
    "name",
    "value",
    "href",
    "action",
    "aria-labelledby",
    "aria-describedby",
    "data-state",
    "data-face",
    "data-order-state",
    "data-card",
    "data-refund-request",
    "data-return-url",
];

/// What a person reads, hears or will be told by a script of a page, in small letters.
pub(super) fn read(html: &str) -> String {
    let mut told = String::new();
    let mut rest = html;
    while let Some((text, tag)) = rest.split_once('<') {
        told.push_str(text);
        rest = tag;
        while let Some(place) = rest.find(['"', '>']) {
            let (before, after) = rest.split_at(place);
            if let Some(text) = after.strip_prefix('>') {
                rest = text;
                break;
            }
            let name = before.trim_end_matches('=').rsplit([' ', '\n']).next().unwrap_or_default();
            let after = after.get(1..).unwrap_or_default();
            let (value, left) = after.split_once('"').unwrap_or((after, ""));
            if !UNREAD.contains(&name) {
                told.push('\n');
                told.push_str(value);
                told.push('\n');
            }
            rest = left;
        }
    }
    told.push_str(rest);
    told.to_lowercase()
}

fn status_page(lang: Lang, view: &CheckoutView, notice: Option<Note>) -> String {
    let panel = panel::render(lang, view, &samples::TOKENS.map(str::to_owned));
    let (id, settled) = (view.checkout_id, view.settled);
    let notice = notice.map(|it| it.words(lang));
    let title = panel.heading.clone();
    let page = move || view! { <StatusPage checkout_id=id sequence=4 settled=settled panel=panel notice=notice /> };
    format!("{title}\n{}", drawn(lang, page))
}

fn orders_page(lang: Lang, view: &CheckoutView) -> String {
    let order = OrderSummary {
        checkout_id: view.checkout_id,
        reference: view.reference.clone(),
        order_state: view.order_state,
        face: view.payment.face,
        provider: view.payment.provider.clone(),
        total: Money::new(9300, Currency::EUR),
        count: 3,
        created_at: Timestamp(samples::NOW),
    };
    drawn(lang, move || view! { <OrdersPage orders=vec![order] /> })
}

fn letter(lang: Lang, fact: Fact, view: &CheckoutView) -> Letter {
    Letter {
        id: uuid::Uuid::from_u128(9),
        fact,
        since: Timestamp(samples::NOW),
        to: Recipient::new("anna@example.org".to_owned()),
        language: code(lang).to_owned(),
        link: "https://shop.test/checkout/6f9619ff-8b86-4011-b42d-00cf4fc964ff".to_owned(),
        refund: view.owner.as_ref().and_then(|owner| owner.refunds.first().cloned()),
        view: view.clone(),
    }
}

/// The mails that may tell of such an operation, whatever became of it since.
fn facts(what: What) -> &'static [Fact] {
    match what {
        What::Payment => &[
            Fact::Paid,
            Fact::PaymentUnwanted,
            Fact::Declined,
            Fact::NotCompleted,
            Fact::StillUnknown,
            Fact::WithAPerson,
            Fact::PaymentReversed,
        ],
        What::Refund | What::External => {
            &[Fact::PaymentUnwanted, Fact::RefundSent, Fact::RefundRefused, Fact::RefundUndone]
        }
        What::Shipment | What::Invoice => &[Fact::Paid],
    }
}

/// Everything that people read about an order, each with the name of its surface.
fn surfaces(lang: Lang, case: &Case) -> Vec<(String, String)> {
    let mut all = vec![("status page".to_owned(), read(&status_page(lang, &case.view, None)))];
    // Neither of these tells of anything but the payment and the order.
    if case.what == What::Payment {
        let stranger = CheckoutView { owner: None, ..case.view.clone() };
        let page = read(&status_page(lang, &stranger, None));
        all.push(("stranger's status page".to_owned(), page));
        all.push(("list of orders".to_owned(), read(&orders_page(lang, &case.view))));
    }
    for fact in facts(case.what) {
        let mail = mail(&letter(lang, *fact, &case.view));
        let parts = format!("{}\n{}\n{}", mail.subject, mail.text, mail.html);
        all.push((format!("mail that tells {fact}"), read(&parts)));
    }
    all
}

#[test]
fn nobody_reads_of_a_failure_on_any_surface_unless_a_definitive_verdict_is_stored() {
    let mut seen = HashSet::new();
    let cases = cases();
    for what in WHAT {
        for (order, state) in
            OrderState::ALL.iter().flat_map(|it| State::ALL.iter().map(move |state| (it, state)))
        {
            let named =
                |it: &&Case| (it.what, &it.state, &it.view.order_state) == (what, state, order);
            assert!(
                cases.iter().any(|it| named(&it)),
                "{what:?} {state} of {order} is not searched"
            );
        }
    }
    for case in &cases {
        for (lang, _) in LANGS {
            for (surface, text) in surfaces(lang, case) {
                let found = case.too_much(&text);
                let name = &case.name;
                assert!(found.is_empty(), "{name}: the {surface} says {found:?}: {text}");
                for what in WHAT.into_iter().filter(|what| case.is_no(*what)) {
                    let said = no(what).iter().filter(|word| text.contains(**word));
                    seen.extend(said.map(|word| (what, *word)));
                }
            }
        }
    }
    // A word that stands nowhere guards nothing.
    for what in WHAT {
        for word in no(what) {
            assert!(seen.contains(&(what, *word)), "no {what:?} is ever said to be {word:?}");
        }
    }
}

#[test]
fn the_search_finds_a_forbidden_word_wherever_a_page_may_hide_it() {
    let open = |what, state| Case {
        name: String::new(),
        what,
        state,
        view: samples::checkout(State::PendingConfirmation),
    };
    let checking = open(What::Payment, State::PendingConfirmation);
    let rows = [
        (&checking, "<p>Payment failed.</p>", "fail"),
        (&checking, "<p>Please <b>Try again</b></p>", "try again"),
        (&checking, "<button data-busy=\"An error\">Pay</button>", "error"),
        (&checking, "<div data-heading=\"Declined.\" class=\"a\"></div>", "declined"),
        (&checking, "<h1>No money was taken.</h1>", "no money was taken"),
        (&checking, "<p>Попробуйте ещё раз</p>", "попробуйте"),
        (&checking, "<p>Не удалось оплатить</p>", "не удал"),
        (&checking, "<p>Произошла ошибка</p>", "ошибк"),
        (&checking, "<p>Платёж отклонён</p>", "отклон"),
        (
            &open(What::Refund, State::RequiresReview),
            "<li>could not be sent back</li>",
            "could not be sent back",
        ),
        (&open(What::Shipment, State::Requested), "<dd>не отправлена</dd>", "не отправлена"),
        (&open(What::Invoice, State::PendingConfirmation), "<dd>not written</dd>", "not written"),
        (
            &open(What::External, State::PendingConfirmation),
            "<li>did not go back</li>",
            "did not go back",
        ),
    ];
    for (case, html, word) in rows {
        assert_eq!(case.too_much(&read(html)), [word], "{html}");
    }
    // What only programs and styles read is no word.
    let unread = "<p class=\"error-summary\" data-state=\"retry_scheduled\" id=\"fail\">Ok</p>";
    assert!(checking.too_much(&read(unread)).is_empty());
    // With the no on record it may be said; and some words not even then.
    let mut declined = open(What::Payment, State::Rejected);
    declined.view = samples::checkout(State::Rejected);
    assert!(declined.too_much(&read("<h1>Declined. No money was taken.</h1>")).is_empty());
    assert_eq!(declined.too_much(&read("<h1>Payment failed</h1>")), ["fail"]);
}

#[test]
fn a_page_of_an_open_payment_says_so_in_every_state_of_its_order() {
    // The same the other way round: what is not settled is told as that, wherever it is shown.
    let told = [
        (Lang::en, ["sending", "checking", "confirm"]),
        (Lang::ru, ["отправляем", "проверя", "подтвер"]),
    ];
    let open = |case: &&Case| {
        let state = case.view.payment.state;
        case.what == What::Payment
            && !state.is_void()
            && !matches!(state, State::Succeeded | State::Reversed)
    };
    for case in cases().iter().filter(open) {
        for (lang, words) in told {
            let page = read(&status_page(lang, &case.view, None));
            assert!(words.iter().any(|word| page.contains(word)), "{}: {page}", case.name);
        }
    }
}

#[test]
fn what_a_post_has_to_say_on_a_page_is_no_failure_either() {
    let unknown = samples::checkout(State::PendingConfirmation);
    let case = Case {
        name: String::new(),
        what: What::Payment,
        state: State::PendingConfirmation,
        view: unknown,
    };
    let mut next = Some(Note::OtherCard);
    while let Some(note) = next {
        // A new one has to find its place here.
        next = match note {
            Note::OtherCard => Some(Note::NoPayment),
            Note::NoPayment => Some(Note::AlreadyPaying),
            Note::AlreadyPaying => Some(Note::NoRefund),
            Note::NoRefund => None,
        };
        for (lang, _) in LANGS {
            let page = read(&status_page(lang, &case.view, Some(note)));
            assert!(page.contains(&note.words(lang).to_lowercase()), "{note:?}: {page}");
            assert!(case.too_much(&page).is_empty(), "{note:?}: {page}");
        }
    }
}

#[test]
fn the_browser_itself_never_speaks_of_a_failure_and_never_asks_for_a_second_payment() {
    for (lang, asks_for_none) in [(Lang::en, "do not pay again"), (Lang::ru, "не платите снова")]
    {
        let owner = samples::checkout(State::Rejected).owner.unwrap();
        let cart = CartView {
            id: owner.cart_id,
            version: 3,
            count: 3,
            total: owner.total,
            lines: owner.lines,
        };
        for typed in [None, Some("anna@example".to_owned())] {
            let (cart, tokens) = (cart.clone(), samples::TOKENS.map(str::to_owned).to_vec());
            let page = drawn(lang, move || {
                let mail = MailField { unusable: typed };
                let id = CheckoutId(uuid::Uuid::from_u128(5));
                view! { <CheckoutPage cart=cart checkout_id=id tokens=tokens element=None mail=mail chosen=None /> }
            });
            let page = read(&page);
            for word in NEVER {
                assert!(!page.contains(word), "{word:?} in {page}");
            }
        }
        let words = text::unknown_words(lang);
        let told = [&words.title, &words.text, &words.same, &words.offline];
        let told = told.map(|it| it.to_lowercase()).join("\n");
        assert!(told.contains(asks_for_none), "{told}");
        for word in NEVER.into_iter().chain(no(What::Payment).iter().copied()) {
            assert!(!told.contains(word), "{word:?} in {told}");
        }
    }
}

#[test]
fn nobody_behind_the_curtain_reads_of_a_failure_either() {
    let unsettled = ["accepted", "not_sent", "retry_later", "indeterminate", "absent", "no_news"];
    for (lang, _) in LANGS {
        let mut told = Vec::new();
        for state in State::ALL {
            let words = lab::state(lang, *state).to_lowercase();
            for word in ["declined", "отклон"] {
                assert!(*state == State::Rejected || !words.contains(word), "{state}: {words}");
            }
            told.push(words);
        }
        told.extend(ReviewReason::ALL.iter().map(|why| lab::reason(lang, *why).to_lowercase()));
        for verdict in unsettled {
            for source in ["response", "late_response", "lookup", "webhook", "lease_end", "clock"] {
                told.push(lab::cause(lang, "payment", source, verdict).to_lowercase());
            }
            for kind in ["payment", "refund", "invoice"] {
                let words = lab::verdict_of(lang, kind, verdict).to_lowercase();
                for word in ["declined", "отклон"] {
                    assert!(!words.contains(word), "{verdict}: {words}");
                }
                told.push(words);
            }
        }
        for transport in ["not_sent", "timed_out", "connection_lost", "in_flight", "answered"] {
            told.push(lab::transport(lang, transport).to_lowercase());
        }
        for words in told {
            for word in NEVER {
                assert!(!words.contains(word), "{word:?} in {words}");
            }
        }
    }
}

#[test]
fn no_name_that_programs_read_calls_a_state_a_failure() {
    let states = State::ALL.iter().map(|it| it.as_str());
    let orders = OrderState::ALL.iter().map(|it| it.as_str());
    let facts = Fact::ALL.iter().map(|it| it.as_str());
    let reasons = ReviewReason::ALL.iter().map(|it| it.as_str());
    for name in states.chain(orders).chain(facts).chain(reasons) {
        assert!(!name.contains("fail") && !name.contains("error"), "{name}");
    }
}
