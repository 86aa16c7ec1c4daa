//! Both sides of one payment, side by side: what really happened, and what the shop knows.
//!
//! Drawn to a string, so that the page and what its script asks for are the very same. Its parts are
//! replaced one by one; the two summaries alone are read out.

use domain::{
    id::CheckoutId,
    money::Money,
    operation::{ReviewReason, State},
    schedule::Timestamp,
    view::{CheckoutView, Face},
};
use leptos::prelude::*;

use super::{
    naive::{Manner, Naive, comparison, lead},
    timeline::{Line, timeline},
};
use crate::text::{
    self, Lang, lab,
    money::money,
    say,
    status::{face_word, invoice as words_of_invoice, refund, words},
    time::{iso, near},
};

/// Something in the provider's ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// The ledger's word for it.
    pub kind: String,
    /// How much.
    pub amount: Money,
}

/// What the provider has on record about a reference.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// Money that moved, in order.
    pub effects: Vec<Effect>,
    /// Where its object stands, if there is one.
    pub status: Option<String>,
    /// How many invoices the partner has written, where a scenario is about that.
    pub invoices: Option<usize>,
}

impl Ledger {
    /// The charges in it.
    pub fn charges(&self) -> impl Iterator<Item = Money> {
        self.effects.iter().filter(|it| it.kind == "charge").map(|it| it.amount)
    }

    /// What all charges come to; `None` where there are none.
    pub fn taken(&self) -> Option<Money> {
        self.charges().reduce(|sum, next| sum.plus(next).unwrap_or(sum))
    }

    /// How often money was given back.
    pub fn refunds(&self) -> usize {
        self.effects.iter().filter(|it| it.kind == "refund").count()
    }

    /// What is given back for good, above zero; `None` where nothing is.
    pub fn given_back(&self) -> Option<Money> {
        let back = self.effects.iter().filter(|it| it.kind.starts_with("refund"));
        let sum = back.map(|it| it.amount).reduce(|sum, next| sum.plus(next).unwrap_or(sum))?;
        Some(Money::new(sum.minor.saturating_abs(), sum.currency)).filter(|it| it.minor != 0)
    }

    /// What is left of it all; `None` where nothing moved.
    fn balance(&self) -> Option<Money> {
        let amounts = self.effects.iter().map(|it| it.amount);
        amounts.reduce(|sum, next| sum.plus(next).unwrap_or(sum))
    }
}

/// What both sides know at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watched {
    /// The provider's side; `None` if it could not be asked.
    pub provider: Option<Ledger>,
    /// The shop's side; `None` until there is an order.
    pub shop: Option<CheckoutView>,
    /// What happened on both.
    pub lines: Vec<Line>,
    /// When Pay was pressed.
    pub began: Timestamp,
    /// It is about the invoice as well.
    pub about_invoice: bool,
    /// The fault of this payment is still there.
    pub faulty: bool,
    /// What may be given back now, and whether something was before.
    pub wish: Option<Wish>,
    /// What the naive shop came to.
    pub naive: Naive,
    /// How it goes about it.
    pub manner: Manner,
    /// After how long to look again; `None` once nothing moves by itself.
    pub again_ms: Option<u32>,
}

/// Money that a visitor may give back next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wish {
    /// Its number, from 1.
    pub number: usize,
    /// How much.
    pub amount: Money,
}

/// How the two sides stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agreement {
    Agree,
    Wait,
    Review,
}

impl Agreement {
    const fn word(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Wait => "wait",
            Self::Review => "review",
        }
    }
}

impl Watched {
    fn awaits_invoice(&self) -> bool {
        self.about_invoice && self.shop.as_ref().is_some_and(invoice_is_open)
    }

    fn agreement(&self) -> Option<Agreement> {
        let (ledger, shop) = (self.provider.as_ref()?, self.shop.as_ref()?);
        let nothing = ledger.balance().is_none_or(|it| it.minor == 0);
        let refunds = shop.owner.iter().flat_map(|owner| &owner.refunds);
        let (mut back, mut settled) = (0_i64, true);
        for refund in refunds.filter(|it| !it.outside) {
            settled &= !refund.state.is_open() && refund.state != State::RequiresReview;
            if refund.state == State::Succeeded {
                back = back.saturating_add(refund.amount.minor);
            }
        }
        let same_back = settled && ledger.given_back().map_or(0, |it| it.minor) == back;
        let (agree, else_) = match shop.payment.face {
            Face::Paid => {
                let wanted = shop.payment.effect.or(shop.owner.as_ref().map(|it| it.total));
                let written = ledger.invoices.is_none_or(|it| it == 1) && !self.awaits_invoice();
                (ledger.taken() == wanted && same_back && written, Agreement::Wait)
            }
            Face::Declined | Face::NotCompleted | Face::Reversed | Face::ConfirmAtBank => {
                (nothing, Agreement::Wait)
            }
            Face::Sending | Face::Checking => (false, Agreement::Wait),
            Face::InReview => (false, Agreement::Review),
        };
        Some(if agree { Agreement::Agree } else { else_ })
    }
}

/// Draws what is watched, for the page and for its script.
pub fn render(lang: Lang, id: CheckoutId, watched: &Watched) -> String {
    let owner = Owner::new();
    let drawn = owner.with(|| {
        text::speak(lang);
        parts(lang, id, watched).to_html()
    });
    owner.cleanup();
    drawn
}

/// What is watched, on its page.
#[component]
pub fn Watching(checkout_id: CheckoutId, watched: Watched) -> impl IntoView {
    let lang = text::lang();
    let html = parts(lang, checkout_id, &watched).to_html();
    view! { <div class="lab-slot" data-lab-watch inner_html=html></div> }.into_any()
}

fn parts(lang: Lang, id: CheckoutId, watched: &Watched) -> impl IntoView + use<> {
    let agreement = watched.agreement();
    let said = agreement.map(|it| match it {
        Agreement::Agree => say!(lang, lab.agree),
        Agreement::Wait => say!(lang, lab.wait),
        Agreement::Review => say!(lang, lab.review),
    });
    let open = watched.again_ms.is_some();
    view! {
        <div class="lab-parts" data-again=watched.again_ms data-agreement=agreement.map(Agreement::word)>
            <div class="lab-sides">
                {provider_side(lang, watched)} {shop_side(lang, id, watched)}
            </div>
            <div class="lab-agreement" data-lab-part="agreement">
                {said.map(|text| view! { <p class="tag">{text}</p> })}
                {watched.faulty.then(|| calm(lang, id))}
                {open
                    .then(|| {
                        view! {
                            <p>
                                <a href=format!("/lab/{id}")>{say!(lang, lab.look_again)}</a>
                            </p>
                        }
                    })}
            </div>
            <div class="lab-back" data-lab-part="back">
                {watched.wish.map(|wish| giving_back(lang, id, wish))}
            </div>
            <section class="lab-timeline" aria-labelledby="lab-timeline">
                <h2 id="lab-timeline">{say!(lang, lab.timeline)}</h2>
                <p class="hint">{say!(lang, lab.timeline_hint)}</p>
                <div data-lab-part="timeline">{timeline(lang, &watched.lines, watched.began)}</div>
            </section>
            <section class="lab-naive" aria-labelledby="lab-naive">
                <h2 id="lab-naive">{say!(lang, lab.naive.title)}</h2>
                <p>{lead(lang, watched.manner)}</p>
                <div data-lab-part="naive">{comparison(lang, id, watched)}</div>
            </section>
        </div>
    }
}

/// The button that ends the fault.
fn calm(lang: Lang, id: CheckoutId) -> impl IntoView + use<> {
    view! {
        <form method="post" action=format!("/lab/{id}/calm") data-lab-calm>
            <p class="hint">{say!(lang, lab.faulty)} " " {say!(lang, lab.calm_hint)}</p>
            <button class="button quiet" type="submit">
                {say!(lang, lab.calm)}
            </button>
        </form>
    }
}

/// What the ledger says of charges, in one line.
pub fn charges(lang: Lang, ledger: &Ledger) -> String {
    let count = u32::try_from(ledger.charges().count()).unwrap_or(u32::MAX);
    match ledger.taken() {
        Some(taken) => {
            let amount = money(lang, taken);
            say!(lang, lab.charges, count = count, amount = amount)
        }
        None => say!(lang, lab.no_charge).to_owned(),
    }
}

fn provider_side(lang: Lang, watched: &Watched) -> impl IntoView + use<> {
    let summary = match &watched.provider {
        Some(ledger) => charges(lang, ledger),
        None => say!(lang, lab.unreachable).to_owned(),
    };
    let ledger = watched.provider.clone().unwrap_or_default();
    let (count, sum) = (ledger.charges().count(), ledger.taken().map_or(0, |it| it.minor));
    let effects = ledger.effects.iter().map(|it| {
        // The ledger counts what went back below zero.
        let amount = money(lang, Money::new(it.amount.minor.saturating_abs(), it.amount.currency));
        let words = match it.kind.as_str() {
            "charge" => say!(lang, lab.charged, amount = amount),
            "refund_reversal" => say!(lang, lab.came_back, amount = amount),
            "refund" => say!(lang, lab.given_back, amount = amount),
            _ => say!(lang, lab.undone, amount = amount),
        };
        view! { <li data-effect=it.kind.clone()>{words}</li> }
    });
    let effects = effects.collect_view();
    let status = match &ledger.status {
        Some(word) => lab::status(lang, word),
        None => say!(lang, lab.no_object).to_owned(),
    };
    view! {
        <section class="lab-side" data-side="provider" aria-labelledby="lab-provider">
            <h2 id="lab-provider">{say!(lang, lab.provider)}</h2>
            <p class="lab-summary" role="status" aria-live="polite" data-lab-part="provider-summary">
                {summary}
            </p>
            <div data-lab-part="provider">
                <dl class="facts" data-charges=count data-sum=sum data-status=ledger.status.clone()>
                    <div>
                        <dt>{say!(lang, lab.effects)}</dt>
                        <dd>
                            {if ledger.effects.is_empty() {
                                say!(lang, lab.no_effects).into_any()
                            } else {
                                view! { <ul>{effects}</ul> }.into_any()
                            }}
                        </dd>
                    </div>
                    <div>
                        <dt>{say!(lang, lab.object)}</dt>
                        <dd>{status}</dd>
                    </div>
                    {ledger
                        .invoices
                        .map(|written| {
                            view! {
                                <div data-invoices=written>
                                    <dt>{say!(lang, lab.invoices)}</dt>
                                    <dd>{lab::number(lang, written)}</dd>
                                </div>
                            }
                        })}
                </dl>
            </div>
        </section>
    }
}

fn shop_side(lang: Lang, id: CheckoutId, watched: &Watched) -> impl IntoView + use<> {
    let Some(view) = &watched.shop else {
        return view! {
            <section class="lab-side" data-side="shop" aria-labelledby="lab-shop">
                <h2 id="lab-shop">{say!(lang, lab.shop)}</h2>
                <p>{say!(lang, lab.state.unrecorded)}</p>
            </section>
        }
        .into_any();
    };
    let (payment, now) = (&view.payment, view.now);
    let words = words(lang, view);
    let moment = |at: Timestamp| {
        let (text, _) = near(lang, at, now);
        view! { <time datetime=iso(at)>{text}</time> }.into_any()
    };
    let fact = |name: &'static str, value: AnyView| {
        view! {
            <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
            </div>
        }
    };
    let open = payment.state.is_open() || payment.face == Face::InReview;
    let next = match payment.next_check_at {
        Some(at) => moment(at.max(now)),
        None => say!(lang, lab.none).into_any(),
    };
    let number = view.reference.clone().into_any();
    let total = view.owner.as_ref().map(|owner| owner.total);
    let invoice = view.owner.as_ref().and_then(|owner| owner.invoice.as_ref());
    let invoice = invoice.filter(|_| watched.about_invoice).map(|(state, number)| {
        let heading = words_of_invoice(lang, *state, number).heading;
        view! { <span data-invoice=state.as_str()>{heading}</span> }.into_any()
    });
    view! {
        <section class="lab-side" data-side="shop" data-face=face_word(payment.face) aria-labelledby="lab-shop">
            <h2 id="lab-shop">{say!(lang, lab.shop)}</h2>
            <p class="lab-summary" role="status" aria-live="polite" data-lab-part="shop-summary">
                {words.heading}
            </p>
            <div data-lab-part="shop">
                <p class="lab-words">{words.sentence} " " {words.next}</p>
                <dl
                    class="facts"
                    data-state=payment.state.as_str()
                    data-order-state=view.order_state.as_str()
                    data-face=face_word(payment.face)
                >
                    {fact(
                        say!(lang, lab.state_label),
                        lab::state(lang, payment.state).into_any(),
                    )} {fact(say!(lang, lab.since), moment(payment.since))}
                    {payment
                        .review_reason
                        .filter(|_| payment.face == Face::InReview)
                        .map(|why| {
                            fact(say!(lang, lab.reason.label), lab::reason(lang, why).into_any())
                        })}
                    {payment.last_check_at.map(|at| fact(say!(lang, lab.last_check), moment(at)))}
                    {open.then(|| fact(say!(lang, lab.next_check), next))}
                    {fact(say!(lang, lab.reference), number)}
                    {total.map(|total| fact(say!(lang, lab.amount), money(lang, total).into_any()))}
                    {refunds(lang, view).map(|list| fact(say!(lang, lab.refunds), list))}
                    {invoice.map(|it| fact(say!(lang, lab.act.invoice), it))}
                </dl>
                <p>
                    <a href=format!("/checkout/{id}")>{say!(lang, lab.own_page)}</a>
                </p>
            </div>
        </section>
    }
    .into_any()
}

/// What went back, or is to, as the shop has it.
fn refunds(lang: Lang, view: &CheckoutView) -> Option<AnyView> {
    let refunds = view.owner.as_ref().map(|owner| &owner.refunds).filter(|it| !it.is_empty())?;
    let lines = refunds.iter().map(|it| {
        let (amount, state) = (money(lang, it.amount), refund(lang, it).heading);
        let line = say!(lang, lab.refund_line, amount = amount, state = state);
        view! { <li data-refund=it.state.as_str()>{line}</li> }
    });
    Some(view! { <ul>{lines.collect_view()}</ul> }.into_any())
}

/// The button that gives money back, where the scenario has one.
fn giving_back(lang: Lang, id: CheckoutId, wish: Wish) -> impl IntoView + use<> {
    let amount = money(lang, wish.amount);
    let words = match wish.number {
        1 => say!(lang, lab.back_first, amount = amount),
        _ => say!(lang, lab.back_next, amount = amount),
    };
    view! {
        <h2>{say!(lang, lab.back_title)}</h2>
        <p class="hint">{say!(lang, lab.back_hint)}</p>
        <form method="post" action=format!("/lab/{id}/refund/{}", wish.number) data-lab-refund=wish.number>
            <button class="button quiet" type="submit">
                {words}
            </button>
        </form>
    }
}

/// Whether the invoice of a paid order is still to be written, or not known to be.
pub fn invoice_is_open(view: &CheckoutView) -> bool {
    let invoice = view.owner.as_ref().and_then(|owner| owner.invoice.as_ref());
    view.payment.face == Face::Paid && invoice.is_none_or(|(state, _)| state.is_open())
}

/// Whether a payment's own story is over: nothing about its money moves by itself any more.
pub fn is_over(view: &CheckoutView) -> bool {
    use domain::order::OrderState;
    let waiting = matches!(view.order_state, OrderState::RefundDue | OrderState::CancelRequested);
    let mut refunds = view.owner.iter().flat_map(|owner| &owner.refunds);
    let waiting = waiting || refunds.any(|it| it.state.is_open());
    let by_person = view.payment.face == Face::InReview
        && !view.payment.review_reason.is_some_and(ReviewReason::by_deadline);
    !waiting
        && (by_person || !(view.payment.state.is_open() || view.payment.face == Face::InReview))
}
