//! The fault lab: starts a scenario for one payment of one visitor, and shows both sides of it.
//!
//! It is there only where `PAYONCE_LAB_CONTROL_URL` is set. It speaks with ExamplePay's control API
//! and reads the shop's records; the shop's own routes and engine know nothing of it.

mod compare;
mod control;
mod door;
mod gives_back;
mod invoices;
mod naive;
mod numbers;
mod observe;
mod passes;
mod runs;
mod scripts;
mod source;
mod storm;

use std::{sync::Arc, time::Duration};

use app::{
    Frame, Visitor,
    components::pay_form::Paying,
    pages::lab::{
        FIELDS, LabPage, RunPage, Shown,
        scenario::{Scenario, Second},
        watch,
    },
    text::{lab as words, problem::Problem},
};
use axum::{
    Extension, Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::{
    catalogue::Product,
    id::{CheckoutId, CustomerId},
    money::Money,
    view::CheckoutView,
};
use leptos::prelude::*;
use payments::Error;

use self::{
    control::Control,
    runs::{NaiveRun, Run, Runs},
    scripts::{Chosen, Fault},
};
use super::{
    Shop, answer,
    checkout::parse_id,
    form::{Form, Refusal, invalid},
    session,
};
use crate::config::LabSettings;

/// So long somebody who started a scenario is waited for.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// What the lab needs and remembers.
pub struct Lab {
    control: Control,
    api: naive::Access,
    invoicing: Option<naive::Access>,
    runs: Runs,
    door: door::Holders,
    time_scale: f64,
}

impl Lab {
    /// A lab for this simulator.
    pub fn new(settings: LabSettings) -> Result<Arc<Self>, reqwest::Error> {
        let api = naive::Access { url: settings.api_url, api_key: settings.api_key };
        let invoicing = settings.invoicing.map(|(url, api_key)| naive::Access { url, api_key });
        let control = Control::new(settings.control_url)?;
        let (runs, door) = (Runs::default(), door::Holders::default());
        Ok(Arc::new(Self { control, api, invoicing, runs, door, time_scale: settings.time_scale }))
    }

    /// Ends the fault of a checkout.
    async fn calm(&self, checkout: CheckoutId) {
        self.control.forget(&self.runs.take_scripts(checkout)).await;
        self.open_door(checkout.0).await;
    }

    /// Whether the fault of a run is still there.
    fn is_faulty(&self, run: &Run) -> bool {
        !run.scripts.is_empty() || self.door.has(run.checkout.0)
    }
}

/// A client that repeats nothing and keeps no connection that may have been cut.
fn client(patience: Duration) -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .no_proxy()
        .timeout(patience)
        .build()
}

/// The pages.
pub fn views() -> Router<Shop> {
    Router::new()
        .route("/lab", get(index))
        .route("/lab/source/{*path}", get(source::file))
        .route("/lab/storm", get(storm::page))
        .route("/lab/numbers", get(numbers::page))
        .route("/lab/{id}", get(page))
        .route("/lab/{id}/watch", get(watched))
}

/// The forms.
pub fn forms() -> Router<Shop> {
    Router::new()
        .route("/lab/start", post(start).get(index_instead))
        .route("/lab/{id}/naive", post(compare::let_naive_try).get(page_instead))
        .route("/lab/{id}/calm", post(calm).get(page_instead))
        .route("/lab/{id}/refund/{number}", post(gives_back::refund).get(gives_back::page_instead))
}

async fn nothing_here(shop: &Shop, visitor: Visitor) -> Response {
    answer::problem(shop, visitor, StatusCode::NOT_FOUND, Problem::NotFound, None).await
}

fn frame(title: &str) -> Frame {
    Frame { title: title.to_owned(), wide: true, ..Frame::default() }
}

/// Every scenario.
async fn index(State(shop): State<Shop>, Extension(visitor): Extension<Visitor>) -> Response {
    list(&shop, visitor, StatusCode::OK).await
}

async fn list(shop: &Shop, visitor: Visitor, status: StatusCode) -> Response {
    let Some(lab) = &shop.lab else { return nothing_here(shop, visitor).await };
    let latest = visitor.customer.and_then(|customer| lab.runs.latest(customer));
    let running = latest.map(|it| (it.checkout, it.scenario));
    let refused = status != StatusCode::OK;
    let frame = frame(words::title(visitor.lang));
    answer::page(
        shop,
        visitor,
        status,
        frame,
        move || view! { <LabPage running=running refused=refused /> },
    )
    .await
}

/// The address of a form is no page.
async fn index_instead() -> Response {
    answer::see_other("/lab")
}

/// The address of a form is no page; the scenario is.
async fn page_instead(Path(id): Path<String>) -> Response {
    answer::see_other(&parse_id(&id).map_or("/lab".to_owned(), |id| format!("/lab/{id}")))
}

/// What a form starts.
fn read(headers: &HeaderMap, body: &Bytes, scale: f64) -> Result<(Scenario, Fault), Refusal> {
    let mut known = vec!["scenario"];
    known.extend(FIELDS);
    let form = Form::read(headers, body, &known)?;
    let scenario: Scenario = form.value("scenario", "one of the listed scenarios")?;
    if let Some(fault) = Fault::of(scenario, scale) {
        return Ok((scenario, fault));
    }
    let mut chosen = Chosen::default();
    for (field, word) in FIELDS.iter().zip(&mut chosen) {
        *word = form.value(field, "one of the listed choices")?;
        if !scripts::is_offered(field, word) {
            return Err(invalid(format!("{field} must be one of the listed choices")));
        }
    }
    Ok((scenario, Fault::chosen(&chosen)))
}

/// Starts a scenario: a cart, a fault for its payment alone, and the page to pay it on.
async fn start(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(lab) = shop.lab.clone() else { return nothing_here(&shop, visitor).await };
    let read = read(&headers, &body, lab.time_scale).and_then(|(scenario, fault)| {
        if fault.is_about_invoice() && lab.invoicing.is_none() {
            let what = "this scenario needs an invoicing partner: set PAYONCE_INVOICING_URL";
            return Err(invalid(what.to_owned()));
        }
        Ok((scenario, fault))
    });
    let (scenario, fault) = match read {
        Ok(read) => read,
        Err((status, problem)) => {
            return answer::problem(&shop, visitor, status, problem, None).await;
        }
    };
    let (customer, cookie) = match session::customer(&shop, &visitor).await {
        Ok(opened) => opened,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    if let Err(reason) = fill(&shop, customer, &visitor).await {
        return answer::error(&shop, visitor, false, &reason, None).await;
    }
    let checkout = CheckoutId(uuid::Uuid::new_v4());
    // The first payment of this checkout meets it; another attempt after a no is an ordinary one.
    let scripts = fault.scripts(&format!("pay:{checkout}:v1:"));
    let Some(scripts) = lab.control.install(&scripts).await else {
        let page = list(&shop, visitor, StatusCode::BAD_GATEWAY).await;
        return session::with_cookie(page, cookie);
    };
    let wishes = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
    let (door, passes) = (fault.door, fault.passes);
    let invoice = Some(fault.clone()).filter(Fault::is_about_invoice);
    let naive = NaiveRun::NotRun;
    let run = Run { checkout, customer, scenario, fault, scripts, wishes, naive };
    for over in lab.runs.begin(run) {
        lab.control.forget(&over.scripts).await;
        lab.open_door(over.checkout.0).await;
    }
    if door && !lab.shut_door(checkout.0).await {
        let page = list(&shop, visitor, StatusCode::BAD_GATEWAY).await;
        return session::with_cookie(page, cookie);
    }
    let payments = shop.payments.clone();
    if door {
        tokio::spawn(door::open_once_met(lab, payments, checkout));
    } else if !passes.is_zero() {
        tokio::spawn(passes::end_after(lab, payments, checkout, passes));
    } else if let Some(fault) = invoice {
        tokio::spawn(invoices::lay(lab, payments, checkout, fault));
    }
    session::with_cookie(answer::see_other(&format!("/lab/{checkout}")), cookie)
}

/// No order of the lab is below this, so that ten and five of it can go back.
const PRICE_MIN_MINOR: i64 = 1500;

fn is_dear_enough(sku: &str, visitor: &Visitor) -> bool {
    let price = Product::find(sku).and_then(|it| it.price(visitor.currency));
    price.is_some_and(|it| it.minor >= PRICE_MIN_MINOR)
}

/// Puts one thing into the visitor's cart, of which most are left, and nothing else.
async fn fill(shop: &Shop, customer: CustomerId, visitor: &Visitor) -> Result<(), Error> {
    let stock = shop.payments.stock().await?;
    let most = stock.into_iter().filter(|(_, left)| *left > 0);
    let most = most.filter(|(sku, _)| is_dear_enough(sku.as_str(), visitor));
    let most = most.max_by_key(|(sku, left)| (*left, sku.clone()));
    let Some((sku, _)) = most else { return Err(Error::OutOfStock(Vec::new())) };
    let cart = shop.payments.cart(customer).await?;
    for line in cart.map(|cart| cart.lines).unwrap_or_default() {
        if line.sku != sku {
            let (other, currency) = (line.sku.as_str(), visitor.currency);
            shop.payments.set_line(customer, other, 0, currency, false).await?;
        }
    }
    shop.payments.set_line(customer, sku.as_str(), 1, visitor.currency, false).await?;
    Ok(())
}

/// A visitor's own checkout: as it was started, and as the shop has it.
async fn own(
    shop: &Shop,
    lab: &Lab,
    visitor: &Visitor,
    id: &str,
) -> Result<Option<(CheckoutId, Option<Run>, Option<CheckoutView>)>, Error> {
    let (Some(checkout), Some(customer)) = (parse_id(id), visitor.customer) else {
        return Ok(None);
    };
    let run = lab.runs.find(checkout, customer);
    let view = shop.payments.checkout(checkout, Some(customer)).await?;
    let view = view.filter(|it| it.owner.is_some());
    Ok((run.is_some() || view.is_some()).then_some((checkout, run, view)))
}

/// Both sides now; a fault that has nothing left to meet is taken away.
async fn look(
    shop: &Shop,
    lab: &Arc<Lab>,
    run: Option<&Run>,
    view: CheckoutView,
) -> Result<watch::Watched, Error> {
    let checkout = view.checkout_id;
    let over = watch::is_over(&view) && !run.is_some_and(|run| run.awaits_invoice(&view));
    let watched = observe::both(lab, &shop.payments, run, view).await?;
    if over && run.is_some_and(|run| lab.is_faulty(run)) {
        let lab = Arc::clone(lab);
        tokio::spawn(async move { lab.calm(checkout).await });
    }
    Ok(watched)
}

/// One scenario: the form to pay with, or both sides of what came of it.
async fn page(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Response {
    let Some(lab) = shop.lab.clone() else { return nothing_here(&shop, visitor).await };
    let (checkout, run, view) = match own(&shop, &lab, &visitor, &id).await {
        Ok(Some(own)) => own,
        Ok(None) => return nothing_here(&shop, visitor).await,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    let scenario = run.as_ref().map(|it| it.scenario);
    let shown = match view {
        Some(view) => {
            let second = run.as_ref().and_then(|run| second_post(run, &view));
            let second = second.map(|(what, paying)| (what, Box::new(paying)));
            let watched = look(&shop, &lab, run.as_ref(), view).await;
            watched.map(|it| Shown::Watched(Box::new(it), second))
        }
        None => to_pay(&shop, run.as_ref()).await,
    };
    let shown = match shown {
        Ok(shown) => shown,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    let title =
        scenario.map_or(words::title(visitor.lang), |it| words::story(visitor.lang, it).title);
    let frame = Frame {
        islands: matches!(shown, Shown::ToPay(_)),
        refresh: matches!(&shown, Shown::Watched(it, _) if it.again_ms.is_some()),
        ..frame(title)
    };
    answer::page(&shop, visitor, StatusCode::OK, frame, move || {
        view! { <RunPage checkout_id=checkout scenario=scenario shown=shown.clone() /> }
    })
    .await
}

/// The shop's own payment form, with the one card that belongs to the fault.
async fn to_pay(shop: &Shop, run: Option<&Run>) -> Result<Shown, Error> {
    let Some(run) = run else { return Ok(Shown::Gone) };
    let cart = shop.payments.cart(run.customer).await?;
    let Some(cart) = cart.filter(|it| !it.lines.is_empty()) else { return Ok(Shown::Gone) };
    Ok(Shown::ToPay(Box::new(Paying {
        checkout_id: run.checkout,
        cart_id: cart.id,
        cart_version: cart.version,
        total: cart.total,
        attempt: 1,
        tokens: vec![run.fault.token.to_owned()],
        element: None,
    })))
}

/// The same checkout with one more of the smallest unit, or the same cart under another id, where
/// the scenario is about that.
fn second_post(run: &Run, view: &CheckoutView) -> Option<(Second, Paying)> {
    let owner = view.owner.as_ref()?;
    let what = run.scenario.second()?;
    let (checkout_id, total) = match what {
        Second::OtherAmount => (run.checkout, more(owner.total)),
        Second::OtherId => (CheckoutId(uuid::Uuid::new_v4()), owner.total),
    };
    let paying = Paying {
        checkout_id,
        cart_id: owner.cart_id,
        cart_version: owner.cart_version,
        total,
        attempt: 1,
        tokens: vec![run.fault.token.to_owned()],
        element: None,
    };
    Some((what, paying))
}

fn more(amount: Money) -> Money {
    Money::new(amount.minor.saturating_add(1), amount.currency)
}

/// What is watched, for the page's script.
async fn watched(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Response {
    let Some(lab) = shop.lab.clone() else { return StatusCode::NOT_FOUND.into_response() };
    let own = own(&shop, &lab, &visitor, &id).await;
    let (checkout, run, view) = match own {
        Ok(Some((checkout, run, Some(view)))) => (checkout, run, view),
        Ok(_) => return StatusCode::NOT_FOUND.into_response(),
        Err(reason) => return answer::of_error(&reason).0.into_response(),
    };
    match look(&shop, &lab, run.as_ref(), view).await {
        Ok(watched) => {
            axum::response::Html(watch::render(visitor.lang, checkout, &watched)).into_response()
        }
        Err(reason) => answer::of_error(&reason).0.into_response(),
    }
}

/// The provider answers normally again; the shop hears of it as from a shopper who looks again.
async fn calm(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(lab) = shop.lab.clone() else { return nothing_here(&shop, visitor).await };
    if let Err((status, problem)) = Form::read(&headers, &body, &[]) {
        return answer::problem(&shop, visitor, status, problem, None).await;
    }
    match own(&shop, &lab, &visitor, &id).await {
        Ok(Some((checkout, ..))) => {
            lab.calm(checkout).await;
            shop.payments.wake(checkout);
            answer::see_other(&format!("/lab/{checkout}"))
        }
        Ok(None) => nothing_here(&shop, visitor).await,
        Err(reason) => answer::error(&shop, visitor, false, &reason, None).await,
    }
}
