use domain::{
    operation::{CanceledWhy, ReviewReason, State},
    order::OrderState,
    refund_request::RequestState,
    view::{CheckoutView, Face, RefundView},
};

use super::{render, samples};
use crate::text::{LANGS, Lang, status::short};

fn html(view: &CheckoutView) -> String {
    html_in(Lang::en, view)
}

fn html_in(lang: Lang, view: &CheckoutView) -> String {
    render(lang, view, &samples::TOKENS.map(str::to_owned)).html
}

/// What a person reads: the panel without its markup.
fn read(view: &CheckoutView) -> String {
    read_in(Lang::en, view)
}

fn read_in(lang: Lang, view: &CheckoutView) -> String {
    let (mut text, mut inside) = (String::new(), false);
    for letter in html_in(lang, view).chars() {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            _ if !inside => text.push(letter),
            _ => {}
        }
    }
    text.to_lowercase()
}

/// Without the form, whose cards say what they will do.
fn read_without_form(lang: Lang, view: &CheckoutView) -> String {
    let mut view = view.clone();
    if let Some(owner) = &mut view.owner {
        owner.pay_attempt = None;
    }
    read_in(lang, &view)
}

/// Words that say that something did not happen.
const NO: [&str; 8] = [
    "declined",
    "not completed",
    "no money was taken",
    "mistake",
    "ошибк",
    "отклон",
    "не завершён",
    "деньги не списаны",
];
/// Words that nobody reads, on a page or in a mail, whatever is stored.
pub const NEVER: [&str; 19] = [
    "fail",
    "error",
    "retry",
    "try again",
    "try once more",
    "unsuccessful",
    "not successful",
    "went wrong",
    "not go through",
    "unable to",
    "не удал",
    "не прошёл",
    "не прошла",
    "попробуйте",
    "попытайтесь",
    "повторите",
    "сбой",
    "неудач",
    "пошло не так",
];

#[test]
fn no_page_speaks_of_failure_while_nothing_definitive_is_stored() {
    for sample in samples::all() {
        let definitive = matches!(sample.view.payment.state, State::Rejected | State::Canceled);
        let no: &[&str] = if definitive { &[] } else { &NO };
        for (lang, _) in LANGS {
            let text = read_without_form(lang, &sample.view);
            for word in NEVER.iter().chain(no) {
                assert!(!text.contains(word), "{}: {word:?} in {text}", sample.name);
            }
        }
    }
}

#[test]
fn no_list_calls_an_unknown_payment_a_failure() {
    let orders = [
        OrderState::AwaitingPayment,
        OrderState::Paid,
        OrderState::CancelRequested,
        OrderState::RefundDue,
        OrderState::Refunded,
        OrderState::PartiallyRefunded,
        OrderState::PaymentReversed,
        OrderState::Canceled,
    ];
    for state in State::ALL {
        let face = samples::face(*state);
        let definitive = matches!(face, Face::Declined | Face::NotCompleted);
        for (order, (lang, _)) in orders.iter().flat_map(|it| LANGS.map(|lang| (*it, lang))) {
            let text = short(lang, order, face, "paypal").to_lowercase();
            assert!(!text.is_empty());
            let no: &[&str] = if definitive { &[] } else { &NO };
            for word in NEVER.iter().chain(no) {
                assert!(!text.contains(word), "{order} {state}: {word:?} in {text}");
            }
        }
    }
}

#[test]
fn no_sentence_of_one_language_stands_on_a_page_of_the_other() {
    // Names, and what a provider or an address is called.
    let names = [
        "inv-p-7k3m-2qxa",
        "p-7k3m-2qxa",
        "examplepay",
        "examplepay",
        "paypal",
        "stripe",
        "visa",
        "utc",
        "3-d secure",
        "hello@yuge.example",
    ];
    for sample in samples::all() {
        let mut russian = read_in(Lang::ru, &sample.view);
        for name in names {
            russian = russian.replace(name, "");
        }
        let latin: String = russian.chars().filter(char::is_ascii_alphabetic).collect();
        assert!(latin.len() < 12, "{}: {latin:?} in {russian}", sample.name);
        let english = read_in(Lang::en, &sample.view);
        let cyrillic = english.chars().any(|it| ('а'..='я').contains(&it));
        assert!(!cyrillic, "{}: {english}", sample.name);
    }
}

#[test]
fn after_a_while_of_not_knowing_the_page_says_so_and_still_asks_for_no_payment() {
    let mut view = samples::checkout(State::PendingConfirmation);
    view.payment.unknown_long = true;
    let text = read(&view);
    assert!(text.contains("order received, payment not confirmed yet"), "{text}");
    assert!(text.contains("do not pay again"), "{text}");
    let review = samples::checkout(State::RequiresReview);
    assert!(read(&review).contains("payment not confirmed yet"), "{}", read(&review));
}

#[test]
fn a_payment_control_stands_exactly_where_another_attempt_may_be_made() {
    for sample in samples::all() {
        let attempt = sample.view.owner.as_ref().and_then(|owner| owner.pay_attempt);
        let html = html(&sample.view);
        assert_eq!(html.contains("data-pay-control"), attempt.is_some(), "{}", sample.name);
        assert_eq!(html.contains("name=\"payment_token\""), attempt.is_some(), "{}", sample.name);
        if let Some(attempt) = attempt {
            let field = format!("name=\"attempt\" value=\"{attempt}\"");
            assert!(html.contains(&field), "{}: {html}", sample.name);
            assert!(html.contains(&format!("data-pay-attempt=\"{attempt}\"")), "{html}");
        }
    }
}

#[test]
fn every_state_has_the_words_that_were_promised() {
    let rows = [
        (State::Created, "sending your payment"),
        (State::Requested, "sending your payment"),
        (State::Requested, "whether money was taken is not known yet"),
        (State::RetryScheduled, "sending your payment"),
        (State::RetryScheduled, "nothing has been charged yet"),
        (State::RequiresAction, "your bank asks you to confirm"),
        (State::PendingConfirmation, "checking payment status"),
        (State::PendingConfirmation, "do not pay again: we check automatically."),
        (State::RequiresReview, "we are still confirming your payment; a person is looking at it."),
        (State::RequiresReview, "you do not need to pay again."),
        (State::Succeeded, "receipt"),
        (State::Rejected, "declined."),
        (State::Rejected, "no money was taken."),
        (State::Canceled, "payment was not completed."),
        (State::Canceled, "we could not reach the provider. no money was taken."),
        (State::Reversed, "your payment was taken back"),
    ];
    for (state, words) in rows {
        let text = read(&samples::checkout(state));
        assert!(text.contains(words), "{state}: {words:?} is not in {text}");
    }
}

#[test]
fn a_decline_promises_no_money_taken_only_where_the_provider_does() {
    let mut view = samples::checkout(State::Rejected);
    assert!(read(&view).contains("no money was taken"));
    view.payment.no_money_taken = false;
    assert!(!read(&view).contains("no money was taken"), "{}", read(&view));
}

#[test]
fn our_own_mistake_is_called_our_mistake() {
    let mut view = samples::checkout(State::Canceled);
    view.payment.canceled_why = Some(CanceledWhy::OurFault);
    let text = read(&view);
    assert!(text.contains("our mistake") && text.contains("no money was taken"), "{text}");
}

#[test]
fn a_stranger_sees_the_state_and_the_reference_and_nothing_else() {
    for state in State::ALL {
        let mut view = samples::checkout(*state);
        view.owner = None;
        let html = html(&view);
        assert!(html.contains(&view.reference), "{state}");
        for secret in ["€", "Pouring kettle", "<form", "payment_token", "data-receipt"] {
            assert!(!html.contains(secret), "{state}: {secret:?} in {html}");
        }
    }
}

#[test]
fn while_it_is_unknown_the_page_says_since_when_and_when_it_looks_again() {
    for state in [State::PendingConfirmation, State::RequiresReview] {
        let html = html(&samples::checkout(state));
        for part in [
            "datetime=\"2026-12-01T14:01:11Z\"",
            "datetime=\"2026-12-01T14:02:03Z\"",
            "datetime=\"2026-12-01T14:02:23Z\"",
            "safe to close this page",
            "data-check",
        ] {
            assert!(html.contains(part), "{state}: {part:?} is not in {html}");
        }
    }
}

#[test]
fn a_check_is_never_promised_for_a_moment_that_has_passed() {
    let mut view = samples::checkout(State::PendingConfirmation);
    view.payment.next_check_at = view.payment.last_check_at;
    view.payment.last_check_at = None;
    assert!(html(&view).contains("datetime=\"2026-12-01T14:02:11Z\""), "{}", html(&view));
    assert!(!html(&view).contains("datetime=\"2026-12-01T14:02:03Z\""), "{}", html(&view));
}

#[test]
fn an_order_can_be_given_up_only_where_nothing_is_unknown() {
    for sample in samples::all() {
        let view = &sample.view;
        let offered = html(view).contains("/cancel\"");
        let known =
            matches!(view.payment.face, Face::ConfirmAtBank | Face::Declined | Face::NotCompleted)
                || (view.payment.face, view.payment.state)
                    == (Face::Sending, State::RetryScheduled);
        let open = view.order_state == OrderState::AwaitingPayment && view.owner.is_some();
        assert_eq!(offered, known && open, "{}", sample.name);
    }
}

#[test]
fn a_receipt_names_what_was_taken_where_a_person_accepted_another_amount() {
    let mut view = samples::checkout(State::Succeeded);
    assert!(!html(&view).contains("Taken"));
    view.payment.effect = Some(domain::money::Money::new(9301, domain::money::Currency::EUR));
    assert!(html(&view).contains("€93.01"), "{}", html(&view));
}

#[test]
fn styles_and_tests_find_the_stored_words_on_the_panel() {
    for state in State::ALL {
        let html = html(&samples::checkout(*state));
        assert!(html.contains(&format!("data-state=\"{state}\"")), "{html}");
        assert!(html.contains("data-sequence=\"4\""), "{html}");
        assert!(html.contains("data-face=\""), "{html}");
    }
}

#[test]
fn parcel_and_invoice_are_told_in_every_state_and_none_is_called_what_it_may_not_be() {
    for state in State::ALL {
        let mut view = samples::checkout(State::Succeeded);
        let owner = view.owner.as_mut().unwrap();
        owner.parcel = Some(*state);
        owner.invoice = Some((*state, "INV-P-7K3M-2QXA".to_owned()));
        let text = read_without_form(Lang::en, &view);
        for word in ["fail", "error", "retry", "try again", "unsuccessful"] {
            assert!(!text.contains(word), "{state}: {word:?} in {text}");
        }
        let known = *state == State::Succeeded;
        assert_eq!(text.contains("accepted by the shipping service"), known);
        assert_eq!(text.contains("inv-p-7k3m-2qxa"), known, "{state}: {text}");
        let unknown = matches!(state, State::PendingConfirmation | State::RequiresReview);
        assert_eq!(text.contains("being confirmed"), unknown, "{state}: {text}");
        // A parcel that is unknown leaves the payment what it is.
        assert!(text.contains("your order is paid"), "{state}: {text}");
    }
}

#[test]
fn what_goes_back_without_us_is_never_said_to_be_sent_by_us() {
    for (lang, _) in LANGS {
        for state in State::ALL {
            let mut view = samples::checkout(State::Succeeded);
            view.owner.as_mut().unwrap().refunds = vec![RefundView {
                state: *state,
                amount: view.owner.as_ref().unwrap().total,
                outside: true,
                since: view.owner.as_ref().unwrap().created_at,
            }];
            let text = read_without_form(lang, &view);
            for word in [
                "we sent",
                "not sent",
                "write to you",
                "on its way",
                "мы отправили",
                "отправлен",
                "напишем",
                "отправляем",
            ] {
                assert!(!text.contains(word), "{state}: {word:?} in {text}");
            }
            let bank = [
                "your bank or the payment service",
                "банк или платёжный сервис",
                "банком или платёжным сервисом",
                "ваш банк",
            ]
            .iter()
            .any(|it| text.contains(it));
            assert!(bank, "{state}: {text}");
            let gone = ["taken back by your bank", "забрано назад банком"];
            let gone = gone.iter().any(|it| text.contains(it));
            assert_eq!(gone, *state == State::Succeeded, "{state}: {text}");
        }
    }
}

#[test]
fn money_is_called_on_its_way_back_only_while_its_refund_may_be() {
    for state in State::ALL {
        let mut view = samples::checkout(State::Succeeded);
        view.order_state = OrderState::RefundDue;
        let owner = view.owner.as_mut().unwrap();
        owner.refunds = vec![RefundView {
            state: *state,
            amount: owner.total,
            outside: false,
            since: owner.created_at,
        }];
        let unsettled = matches!(
            state,
            State::Rejected | State::Reversed | State::Canceled | State::RequiresReview
        );
        let text = read_without_form(Lang::en, &view);
        assert_eq!(text.contains("your money has to go back to you"), unsettled, "{state}: {text}");
        assert_eq!(text.contains("we are sending your money back"), !unsettled, "{state}: {text}");
    }
}

#[test]
fn an_order_that_was_canceled_is_not_called_kept_while_its_payment_is_unknown() {
    for order in [OrderState::CancelRequested, OrderState::Canceled] {
        for state in [State::PendingConfirmation, State::RequiresReview] {
            let mut view = samples::checkout(state);
            view.order_state = order;
            let text = read_without_form(Lang::en, &view);
            assert!(text.contains("this order was canceled"), "{order} {state}: {text}");
            assert!(!text.contains("your order is kept"), "{order} {state}: {text}");
            let listed = short(Lang::en, order, view.payment.face, "examplepay");
            assert_ne!(listed, "Canceled", "{order} {state}: an unknown outcome is not over");
        }
    }
}

#[test]
fn a_mail_is_promised_where_something_is_waited_for_and_somebody_can_be_written_to() {
    for sample in samples::all() {
        let promised = sample.view.owner.as_ref().is_some_and(|owner| owner.mail_promised);
        let html = html(&sample.view);
        assert_eq!(html.contains("data-mail-promise"), promised, "{}", sample.name);
        let words = read(&sample.view).contains("we will write to you as soon as we know.");
        assert_eq!(words, promised, "{}", sample.name);
    }
}

#[test]
fn a_refund_can_be_asked_for_exactly_where_one_may_be() {
    for sample in samples::all() {
        let number = sample.view.owner.as_ref().and_then(|owner| owner.ask_refund);
        let html = html(&sample.view);
        let field = number.map(|number| format!("name=\"number\" value=\"{number}\""));
        assert_eq!(html.contains("data-ask-refund"), number.is_some(), "{}", sample.name);
        assert!(field.is_none_or(|field| html.contains(&field)), "{}: {html}", sample.name);
    }
    // Not of a payment that was undone meanwhile.
    let mut view = samples::checkout(State::Reversed);
    view.owner.as_mut().unwrap().ask_refund = Some(1);
    assert!(!html(&view).contains("data-ask-refund"), "{}", html(&view));
}

#[test]
fn an_asked_refund_is_told_until_money_goes_back() {
    for sample in samples::all() {
        let request = sample.view.owner.as_ref().and_then(|owner| owner.refund_request);
        let open = request.is_some_and(|it| it.state == RequestState::Open);
        let declined = request.is_some_and(|it| it.state == RequestState::Declined);
        let text = read(&sample.view);
        let waits = text.contains("a person answers within two working days.")
            && !text.contains("ask for a refund");
        assert_eq!(waits, open, "{}: {text}", sample.name);
        assert_eq!(text.contains("the answer is no"), declined, "{}: {text}", sample.name);
    }
}

#[test]
fn a_check_is_offered_exactly_where_the_provider_is_asked() {
    let mut asked = 0;
    for sample in samples::all() {
        let payment = &sample.view.payment;
        let beside_a_person =
            payment.face == Face::InReview && payment.review_reason == Some(ReviewReason::Deadline);
        let is_asked = payment.face == Face::Checking || beside_a_person;
        let offered = html(&sample.view).contains("id=\"check-again\"");
        assert_eq!(offered, is_asked, "{}", sample.name);
        asked += usize::from(is_asked);
    }
    assert!(asked > 1);
    let mut view = samples::checkout(State::RequiresReview);
    for (why, offered) in [(ReviewReason::Deadline, true), (ReviewReason::AmountMismatch, false)] {
        view.payment.review_reason = Some(why);
        assert_eq!(html(&view).contains("id=\"check-again\""), offered, "{why:?}");
    }
}

#[test]
fn a_receipt_is_called_one_to_keep_unless_its_money_has_to_go_back() {
    let mut view = samples::checkout(State::Succeeded);
    for (order, kept) in [(OrderState::Paid, true), (OrderState::RefundDue, false)] {
        view.order_state = order;
        assert_eq!(read(&view).contains("this page is your receipt"), kept, "{order:?}");
    }
}

#[test]
fn a_send_that_waits_is_not_called_a_check() {
    let mut view = samples::checkout(State::RetryScheduled);
    view.payment.next_check_at = Some(view.now);
    let text = read(&view);
    assert!(text.contains("we send it again at") && !text.contains("next check"), "{text}");
}
