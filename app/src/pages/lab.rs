//! The fault lab: a list of things that go wrong, and a page that shows one of them from both sides.
//!
//! For learning and presenting, and only where the shop is set up for it. The payment form here is
//! the shop's own and posts to the shop's own address; nothing in the shop knows that it is watched.

pub mod naive;
pub mod numbers;
pub mod scenario;
pub mod storm;
pub mod timeline;
pub mod watch;

use domain::id::CheckoutId;
use leptos::{nonce::use_nonce, prelude::*};

use self::{
    scenario::{Proof, STORIES, Scenario, Second, TESTS, Told},
    watch::{Watched, Watching},
};
use crate::{
    components::pay_form::{PayForm, Paying},
    islands::pay_guard::PayGuard,
    text::{self, lab, say},
};

/// Keeps what is watched fresh, and the browser on this page when Pay was pressed.
const SCRIPT: &str = include_str!("../shell/lab.js");

/// The fields of a fault that a visitor puts together.
pub const FIELDS: [&str; 7] = ["execute", "answer", "webhook", "lookup", "card", "refund", "times"];

/// Every scenario, each a button.
#[component]
pub fn LabPage(
    /// What this visitor started last.
    running: Option<(CheckoutId, Scenario)>,
    /// A scenario could not be started, since its fault was not taken.
    refused: bool,
) -> impl IntoView {
    let lang = text::lang();
    let list = |scenarios: Vec<Scenario>, start: usize| {
        let rows = scenarios.into_iter().map(|it| view! { <ScenarioRow scenario=it /> });
        view! {
            <ol class="lab-scenarios" start=start>
                {rows.collect_view()}
            </ol>
        }
    };
    let running = running.map(|(id, scenario)| {
        view! {
            <p class="notice" data-lab-running>
                {say!(lang, lab.running)}
                " "
                {lab::story(lang, scenario).title}
                ". "
                <a href=format!("/lab/{id}")>{say!(lang, lab.watch)}</a>
            </p>
        }
    });
    let fields = FIELDS.map(|field| view! { <Choice field=field /> }).collect_view();
    view! {
        <h1>{lab::title(lang)}</h1>
        <p class="lead">{say!(lang, lab.lead)}</p>
        {refused.then(|| view! { <p class="notice" role="alert">{say!(lang, lab.refused)}</p> })}
        {running}
        <p class="hint">{say!(lang, lab.cart_hint)}</p>
        <section class="lab-list" aria-labelledby="lab-article">
            <h2 id="lab-article">{say!(lang, lab.article)}</h2>
            {list(Scenario::listed().take(TESTS).collect(), 1)}
        </section>
        <section class="lab-list" aria-labelledby="lab-stories">
            <h2 id="lab-stories">{say!(lang, lab.stories)}</h2>
            {list(Scenario::listed().skip(TESTS).take(STORIES).collect(), TESTS + 1)}
        </section>
        <Sums />
        <section class="lab-list" aria-labelledby="lab-more">
            <h2 id="lab-more">{say!(lang, lab.more)}</h2>
            {list(Scenario::listed().skip(TESTS + STORIES).collect(), TESTS + STORIES + 1)}
        </section>
        <section class="lab-list" aria-labelledby="lab-own">
            <h2 id="lab-own">{say!(lang, lab.own)}</h2>
            <p>{say!(lang, lab.own_lead)}</p>
            <form class="lab-own" method="post" action="/lab/start" data-lab-own>
                <input type="hidden" name="scenario" value=Scenario::Own.as_str() />
                {fields}
                <button class="button" type="submit">
                    {say!(lang, lab.start)}
                </button>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn ScenarioRow(scenario: Scenario) -> impl IntoView {
    let lang = text::lang();
    let words = lab::story(lang, scenario);
    view! {
        <li data-scenario=scenario.as_str()>
            <h3>{scenario.number()} ". " {words.title}</h3>
            <p>{words.story}</p>
            <Start scenario=scenario />
            {scenario.proof().map(more_about)}
        </li>
    }
    .into_any()
}

/// What is about more than one payment: pages of their own.
#[component]
fn Sums() -> impl IntoView {
    let lang = text::lang();
    let rows = Told::ALL.iter().map(|it| {
        let words = lab::told(lang, *it);
        let verb = match it {
            Told::Numbers => say!(lang, lab.sums.count),
            Told::ManyAtOnce => say!(lang, lab.sums.work_out),
        };
        view! {
            <li data-told=it.as_str()>
                <h3>{words.title}</h3>
                <p>{words.story}</p>
                <a class="button quiet" href=it.page()>
                    {verb}
                    <span class="visually-hidden">
                        {say!(lang, lab.start_of, title = words.title)}
                    </span>
                </a>
                {more_about(it.proof())}
            </li>
        }
    });
    view! {
        <section class="lab-list" aria-labelledby="lab-sums">
            <h2 id="lab-sums">{say!(lang, lab.sums.title)}</h2>
            <p>{say!(lang, lab.sums.lead)}</p>
            <ul class="lab-scenarios">{rows.collect_view()}</ul>
        </section>
    }
    .into_any()
}

/// Where something is proven, folded away.
fn more_about(it: Proof) -> impl IntoView {
    let lang = text::lang();
    view! {
        <details class="lab-more">
            <summary>{say!(lang, lab.test_and_code)}</summary>
            {proof(it)}
        </details>
    }
}

/// The button that starts a scenario: a plain post.
#[component]
fn Start(scenario: Scenario) -> impl IntoView {
    let lang = text::lang();
    let title = lab::story(lang, scenario).title;
    view! {
        <form method="post" action="/lab/start">
            <input type="hidden" name="scenario" value=scenario.as_str() />
            <button class="button quiet" type="submit">
                {say!(lang, lab.start)}
                <span class="visually-hidden">{say!(lang, lab.start_of, title = title)}</span>
            </button>
        </form>
    }
    .into_any()
}

/// Where a scenario is proven, as links to the files.
fn proof(proof: Proof) -> impl IntoView {
    let lang = text::lang();
    // The browser looks for the test within the file.
    let at = format!("/lab/source/{}#:~:text={}", proof.file, proof.test);
    let code = format!("/lab/source/{}", proof.code);
    view! {
        <dl class="lab-proof">
            <div>
                <dt>{say!(lang, lab.proof)}</dt>
                <dd>
                    <code>{proof.test}</code>
                    " "
                    {say!(lang, lab.in_file)}
                    " "
                    <a href=at>
                        <code>{proof.file}</code>
                    </a>
                </dd>
            </div>
            <div>
                <dt>{say!(lang, lab.code)}</dt>
                <dd>
                    <a href=code>
                        <code>{proof.code}</code>
                    </a>
                </dd>
            </div>
        </dl>
    }
}

/// One field of a fault of one's own.
#[component]
fn Choice(field: &'static str) -> impl IntoView {
    let lang = text::lang();
    let name = match field {
        "execute" => say!(lang, lab.form.execute),
        "answer" => say!(lang, lab.form.answer),
        "webhook" => say!(lang, lab.form.webhook),
        "lookup" => say!(lang, lab.form.lookup),
        "card" => say!(lang, lab.form.card),
        "refund" => say!(lang, lab.form.refund),
        _ => say!(lang, lab.form.times),
    };
    let options = lab::choices(lang, field)
        .into_iter()
        .map(|(value, words)| view! { <option value=value>{words}</option> })
        .collect_view();
    let id = format!("lab-{field}");
    view! {
        <label for=id.clone()>{name}</label>
        <select id=id name=field>
            {options}
        </select>
    }
    .into_any()
}

/// What a page about one checkout has to show.
#[derive(Clone, Debug)]
pub enum Shown {
    /// The shop's own payment form.
    ToPay(Box<Paying>),
    /// What became of it; with the form of the second post where the scenario has one.
    Watched(Box<Watched>, Option<(Second, Box<Paying>)>),
    /// Neither an order nor anything to order.
    Gone,
}

/// One scenario: its payment form, and then both sides of what happens.
#[component]
pub fn RunPage(
    /// Which checkout.
    checkout_id: CheckoutId,
    /// What goes wrong; `None` for an order that was not made here.
    scenario: Option<Scenario>,
    /// What there is to show.
    shown: Shown,
) -> impl IntoView {
    let lang = text::lang();
    let count = Scenario::listed().count().to_string();
    let place = match scenario.map(Scenario::number) {
        Some(Some(number)) => say!(lang, lab.number, number = number.to_string(), count = count),
        Some(None) => say!(lang, lab.number_own).to_owned(),
        None => say!(lang, lab.number_none).to_owned(),
    };
    let words = scenario.map(|it| lab::story(lang, it));
    // One button is the main one: Pay, while it is there.
    let paying = matches!(shown, Shown::ToPay(_));
    let content = match shown {
        Shown::ToPay(paying) => view! { <ToPay paying=*paying /> }.into_any(),
        Shown::Watched(watched, second) => view! {
            <Watching checkout_id=checkout_id watched=*watched />
            {second.map(|(what, paying)| view! { <SecondPost what=what paying=*paying /> })}
        }
        .into_any(),
        Shown::Gone => view! { <p class="notice">{say!(lang, lab.gone)}</p> }.into_any(),
    };
    view! {
        <div class="lab-head">
            <p class="hint">{place}</p>
            <h1>{words.map_or(lab::title(lang), |it| it.title)}</h1>
            {words.map(|it| view! { <p class="lead">{it.story}</p> })}
        </div>
        <div class="lab-run" data-lab=checkout_id.to_string()>
            {content}
        </div>
        <nav class="lab-onward" aria-label=lab::title(lang)>
            {scenario
                .and_then(Scenario::next)
                .map(|next| {
                    let title = lab::story(lang, next).title;
                    view! {
                        <form method="post" action="/lab/start" data-lab-next>
                            <input type="hidden" name="scenario" value=next.as_str() />
                            <button class="button" class:quiet=paying type="submit">
                                {say!(lang, lab.next, title = title)}
                            </button>
                        </form>
                    }
                })}
            {scenario
                .filter(|it| *it != Scenario::Own)
                .map(|it| {
                    view! {
                        <form method="post" action="/lab/start">
                            <input type="hidden" name="scenario" value=it.as_str() />
                            <button class="button quiet" type="submit">
                                {say!(lang, lab.again)}
                            </button>
                        </form>
                    }
                })}
            <a href="/lab">{say!(lang, lab.back)}</a>
        </nav>
        {scenario.and_then(Scenario::proof).map(proof)}
        <script nonce=use_nonce() inner_html=SCRIPT></script>
    }
    .into_any()
}

/// The shop's payment form as its checkout page has it.
#[component]
fn ToPay(paying: Paying) -> impl IntoView {
    let (lang, cart) = (text::lang(), paying.cart_id);
    view! {
        <section class="lab-pay" aria-labelledby="lab-pay" data-lab-cart=cart.to_string()>
            <h2 id="lab-pay">{say!(lang, lab.pay_title)}</h2>
            <PayGuard cart_id=cart.to_string() words=text::unknown_words(lang)>
                <PayForm paying=paying />
            </PayGuard>
            <p class="hint">{say!(lang, lab.pay_hint)}</p>
        </section>
    }
    .into_any()
}

/// Once more, and not quite the same: a plain post to the shop's own address.
#[component]
fn SecondPost(what: Second, paying: Paying) -> impl IntoView {
    let lang = text::lang();
    let (title, hint, send) = match what {
        Second::OtherAmount => (
            say!(lang, lab.conflict.title),
            say!(lang, lab.conflict.hint),
            say!(lang, lab.conflict.send),
        ),
        Second::OtherId => {
            (say!(lang, lab.second.title), say!(lang, lab.second.hint), say!(lang, lab.second.send))
        }
    };
    let token = paying.tokens.first().cloned().unwrap_or_default();
    view! {
        <section class="lab-conflict" aria-labelledby="lab-conflict">
            <h2 id="lab-conflict">{title}</h2>
            <p>{hint}</p>
            <form method="post" action=format!("/checkout/{}/pay", paying.checkout_id) data-lab-conflict>
                <input type="hidden" name="cart_id" value=paying.cart_id.to_string() />
                <input type="hidden" name="cart_version" value=paying.cart_version />
                <input type="hidden" name="amount_minor" value=paying.total.minor />
                <input type="hidden" name="currency" value=paying.total.currency.code() />
                <input type="hidden" name="attempt" value=paying.attempt />
                <input type="hidden" name="payment_token" value=token />
                <button class="button quiet" type="submit">
                    {send}
                </button>
            </form>
        </section>
    }
    .into_any()
}
