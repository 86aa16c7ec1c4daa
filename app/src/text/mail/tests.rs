use domain::{
    mail::{Fact, Recipient},
    money::{Currency, Money},
    operation::{CanceledWhy, State},
    order::OrderState,
    schedule::Timestamp,
    view::{CheckoutView, RefundView},
};
use payments::Letter;

use super::{Mail, mail};
use crate::{
    panel::{samples, tests::NEVER},
    text::{LANGS, Lang, code},
};

const LINK: &str = "https://shop.test/checkout/6f9619ff-8b86-4011-b42d-00cf4fc964ff";

/// Words that say that something did not happen, and words that ask for a repeat.
const NO: [&str; 8] = [
    "declined",
    "not completed",
    "no money was taken",
    "may still pay for",
    "отклон",
    "не завершён",
    "деньги не списаны",
    "по-прежнему можно оплатить",
];

/// The state in which an operation is when a fact is told.
fn state(fact: Fact) -> State {
    match fact {
        Fact::Paid | Fact::PaymentUnwanted | Fact::RefundSent => State::Succeeded,
        Fact::Declined | Fact::RefundRefused => State::Rejected,
        Fact::NotCompleted => State::Canceled,
        Fact::StillUnknown => State::PendingConfirmation,
        Fact::WithAPerson => State::RequiresReview,
        Fact::PaymentReversed | Fact::RefundUndone => State::Reversed,
    }
}

fn is_refund(fact: Fact) -> bool {
    matches!(fact, Fact::RefundSent | Fact::RefundRefused | Fact::RefundUndone)
}

fn letter(lang: Lang, fact: Fact, view: CheckoutView) -> Letter {
    let refund = is_refund(fact).then(|| RefundView {
        state: state(fact),
        amount: Money::new(1200, Currency::EUR),
        outside: false,
        since: Timestamp(samples::NOW),
    });
    Letter {
        id: uuid::Uuid::from_u128(9),
        fact,
        since: Timestamp(samples::NOW),
        to: Recipient::new("anna@example.org".to_owned()),
        language: code(lang).to_owned(),
        link: LINK.to_owned(),
        view,
        refund,
    }
}

/// The view that goes with a fact.
fn view(fact: Fact) -> CheckoutView {
    let mut view = samples::checkout(if is_refund(fact) { State::Succeeded } else { state(fact) });
    if fact == Fact::StillUnknown {
        view.payment.unknown_long = true;
    }
    view
}

fn render(lang: Lang, fact: Fact) -> Mail {
    mail(&letter(lang, fact, view(fact)))
}

#[test]
fn no_mail_speaks_of_failure_unless_a_definitive_no_is_stored() {
    for fact in Fact::ALL {
        // A fact may be told while its order has gone on; whatever the order's state is by then.
        for order in OrderState::ALL {
            for (lang, _) in LANGS {
                let mut view = view(*fact);
                view.order_state = *order;
                let Mail { subject, text, html } = mail(&letter(lang, *fact, view));
                let definitive = matches!(fact, Fact::Declined | Fact::NotCompleted);
                for part in [&subject, &text, &html] {
                    let part = part.to_lowercase();
                    for word in NEVER {
                        assert!(!part.contains(word), "{fact} {order}: {word:?} in {part}");
                    }
                    for word in NO.iter().filter(|_| !definitive) {
                        assert!(!part.contains(word), "{fact} {order}: {word:?} in {part}");
                    }
                }
            }
        }
    }
}

#[test]
fn no_state_that_is_open_is_called_a_failure_in_any_mail() {
    // Whatever a mail is about, the payment it shows may be in any state.
    for shown in State::ALL {
        for (lang, _) in LANGS {
            let about = samples::checkout(*shown);
            let text = mail(&letter(lang, Fact::StillUnknown, about)).text.to_lowercase();
            for word in NEVER {
                assert!(!text.contains(word), "{shown}: {word:?} in {text}");
            }
            if !matches!(shown, State::Rejected | State::Canceled) {
                for word in NO {
                    assert!(!text.contains(word), "{shown}: {word:?} in {text}");
                }
            }
        }
    }
}

#[test]
fn every_mail_has_reference_link_amount_and_the_words_of_its_fact() {
    let rows = [
        (Fact::Paid, "Your order is paid", "Заказ оплачен"),
        (Fact::PaymentUnwanted, "We are sending your money back", "Возвращаем вам деньги"),
        (Fact::Declined, "Declined.", "Платёж отклонён."),
        (Fact::NotCompleted, "Payment was not completed.", "Платёж не завершён."),
        (
            Fact::StillUnknown,
            "Order received, payment not confirmed yet",
            "Заказ получен, оплата пока не подтверждена",
        ),
        (Fact::WithAPerson, "a person is looking at it", "его проверяет сотрудник"),
        (Fact::PaymentReversed, "Your payment was taken back", "платёж отозван"),
        (Fact::RefundSent, "€12.00: sent back", "12,00 €: возвращено"),
        (Fact::RefundRefused, "€12.00: could not be sent back this way", "вернуть нельзя"),
        (Fact::RefundUndone, "€12.00: came back to us", "вернулось к нам"),
    ];
    assert_eq!(rows.len(), Fact::ALL.len());
    for (fact, english, russian) in rows {
        for (lang, words, amount) in [(Lang::en, english, "€93.00"), (Lang::ru, russian, "93,00 €")]
        {
            let Mail { subject, text, html } = render(lang, fact);
            assert!(subject.contains("P-7K3M-2QXA"), "{subject}");
            assert!(!subject.contains(['\n', '\r']), "{subject:?}");
            for part in [text, html] {
                let part = part.replace(['\u{a0}', '\u{202f}'], " ");
                for wanted in [words, "P-7K3M-2QXA", LINK, amount] {
                    assert!(part.contains(wanted), "{fact}: {wanted:?} is not in {part}");
                }
                // No page is closed in a mail, and no page changes by itself there.
                for page in ["this page", "страницу можно", "страница обновится"]
                {
                    assert!(!part.to_lowercase().contains(page), "{fact}: {page:?} in {part}");
                }
            }
        }
    }
}

/// A mail about money that went back without us, in this state.
fn outside(lang: Lang, fact: Fact) -> Mail {
    let mut letter = letter(lang, fact, view(fact));
    if let Some(refund) = &mut letter.refund {
        refund.outside = true;
    }
    mail(&letter)
}

#[test]
fn a_receipt_stays_a_receipt_whatever_became_of_its_order() {
    let rows = [
        (
            Lang::en,
            "Thank you. Your order is paid",
            "The payment service confirmed your payment.",
            "We see to the rest",
        ),
        (
            Lang::ru,
            "Спасибо. Заказ оплачен",
            "Платёжный сервис подтвердил платёж.",
            "Остальное сделаем",
        ),
    ];
    for order in OrderState::ALL {
        for (lang, heading, sentence, packs) in rows {
            let mut view = view(Fact::Paid);
            view.order_state = *order;
            let Mail { subject, text, html } = mail(&letter(lang, Fact::Paid, view));
            assert!(subject.contains(heading), "{order}: {subject}");
            for part in [text, html] {
                assert!(part.contains(heading) && part.contains(sentence), "{order}: {part}");
                let packed = *order == OrderState::Paid;
                assert_eq!(part.contains(packs), packed, "{order}: {part}");
            }
        }
    }
}

#[test]
fn what_the_bank_or_the_provider_took_back_is_not_told_as_sent_by_us() {
    let rows = [
        (Lang::en, ["by your bank or the payment service", "came back to us"]),
        (Lang::ru, ["банком или платёжным сервисом", "обратно к нам"]),
    ];
    let ours = [
        "we sent",
        "the payment service confirmed the refund",
        "мы отправили",
        "подтвердил возврат",
    ];
    for (lang, [whose, again]) in rows {
        for (fact, wanted) in [(Fact::RefundSent, whose), (Fact::RefundUndone, again)] {
            let Mail { subject, text, html } = outside(lang, fact);
            assert!(subject.contains(whose), "{fact}: {subject}");
            for part in [subject, text, html] {
                assert!(part.contains(wanted), "{fact}: {wanted:?} is not in {part}");
                for word in ours {
                    assert!(!part.to_lowercase().contains(word), "{fact}: {word:?} in {part}");
                }
                for word in NEVER {
                    assert!(!part.to_lowercase().contains(word), "{fact}: {word:?} in {part}");
                }
            }
        }
    }
}

#[test]
fn a_mail_tells_the_orders_total_as_that() {
    for fact in Fact::ALL.iter().filter(|fact| **fact != Fact::Paid) {
        let rows = [(Lang::en, "Order total: €93.00"), (Lang::ru, "Сумма заказа: 93,00 €")];
        for (lang, wanted) in rows {
            let text = render(lang, *fact).text.replace(['\u{a0}', '\u{202f}'], " ");
            assert!(text.contains(wanted), "{fact}: {wanted:?} is not in {text}");
        }
    }
}

#[test]
fn a_receipt_has_its_lines_and_no_other_mail_has_them() {
    for fact in Fact::ALL {
        for (lang, name) in [(Lang::en, "Pouring kettle"), (Lang::ru, "Чайник")] {
            let Mail { text, html, .. } = render(lang, *fact);
            let receipt = *fact == Fact::Paid;
            assert_eq!(text.contains(name), receipt, "{fact}: {text}");
            assert_eq!(html.contains(name), receipt, "{fact}: {html}");
        }
    }
}

#[test]
fn a_mail_is_in_one_language() {
    for fact in Fact::ALL {
        let english = render(Lang::en, *fact);
        for part in [english.subject, english.text] {
            assert!(!part.chars().any(|it| ('а'..='я').contains(&it)), "{fact}: {part}");
        }
        let mut russian = render(Lang::ru, *fact).text;
        for name in [LINK, "P-7K3M-2QXA", "hello@yuge.example", "Yuge", "ExamplePay", "UTC"] {
            russian = russian.replace(name, "");
        }
        let latin: String = russian.chars().filter(char::is_ascii_alphabetic).collect();
        assert!(latin.is_empty(), "{fact}: {latin:?} in {russian}");
    }
}

#[test]
fn a_mail_never_names_the_address_it_goes_to() {
    for fact in Fact::ALL {
        let Mail { subject, text, html } = render(Lang::en, *fact);
        for part in [subject, text, html] {
            assert!(!part.contains("anna"), "{fact}: {part}");
        }
    }
}

#[test]
fn what_happened_is_told_with_its_reason() {
    let mut view = view(Fact::NotCompleted);
    view.payment.canceled_why = Some(CanceledWhy::Expired);
    let text = mail(&letter(Lang::en, Fact::NotCompleted, view)).text;
    assert!(
        text.contains(
            "It was not confirmed in time, so the payment has ended. No money was taken."
        ),
        "{text}"
    );
    let text = render(Lang::en, Fact::Declined).text;
    assert!(text.contains("not enough money on the card"), "{text}");
}

#[test]
fn a_mail_while_nothing_is_known_asks_for_no_payment() {
    for fact in [Fact::StillUnknown, Fact::WithAPerson] {
        let text = render(Lang::en, fact).text;
        let told = ["Do not pay again", "You do not need to pay again"];
        assert!(told.iter().any(|it| text.contains(it)), "{fact}: {text}");
        assert!(text.contains("We write again as soon as we know."), "{fact}: {text}");
    }
}

#[test]
fn markup_in_a_value_stays_text() {
    let mut view = view(Fact::Paid);
    view.payment.provider = "<b>&\"".to_owned();
    let html = mail(&letter(Lang::en, Fact::Paid, view)).html;
    assert!(html.contains("&lt;b&gt;&amp;&quot;"), "{html}");
    assert!(!html.contains("<b>"), "{html}");
    // The page's address too.
    let mut letter = letter(Lang::en, Fact::Paid, samples::checkout(State::Succeeded));
    letter.link = "https://shop.test/\"><script>&".to_owned();
    let html = mail(&letter).html;
    assert!(html.contains("https://shop.test/&quot;&gt;&lt;script&gt;&amp;"), "{html}");
    assert!(!html.contains("<script>"), "{html}");
}
