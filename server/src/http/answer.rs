//! From a page and its frame to a response, and from an error to a page that explains it.

use std::convert::Infallible;

use app::{
    Frame, Visitor,
    pages::problem::ProblemPage,
    shell::Shell,
    text::{
        self, Lang,
        problem::{Problem, words},
    },
};
use axum::{
    Json,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use leptos::{nonce::use_nonce, prelude::*};
use leptos_axum::ResponseOptions;
use payments::Error;
use serde_json::json;
use tower_http::csrf::ProtectionError;

use super::{Shop, session};

/// Renders a whole page.
pub async fn page<F, V>(
    shop: &Shop,
    visitor: Visitor,
    status: StatusCode,
    frame: Frame,
    content: F,
) -> Response
where
    F: Fn() -> V + Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let options = shop.options.clone();
    let frame = Frame { lab: shop.lab.is_some(), real_money: shop.real_money, ..frame };
    let document = move || {
        text::speak(visitor.lang);
        forbid_other_scripts(&frame.hosts);
        let (options, frame, visitor, content) =
            (options.clone(), frame.clone(), visitor.clone(), content.clone());
        view! {
            <Shell options=options frame=frame visitor=visitor>
                {content()}
            </Shell>
        }
    };
    let render = leptos_axum::render_app_async_with_context(|| {}, document);
    let mut answer = render(Request::new(Body::empty())).await;
    *answer.status_mut() = status;
    answer
}

/// Only scripts that carry this very response's nonce run.
fn forbid_other_scripts(hosts: &[&'static str]) {
    let (Some(nonce), Some(response)) = (use_nonce(), use_context::<ResponseOptions>()) else {
        return;
    };
    // A provider's own form lives in frames of its own, on the pages that have one.
    let others: String = hosts.iter().map(|host| format!(" {host}")).collect();
    let frames = if hosts.is_empty() { String::new() } else { format!(" frame-src{others};") };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'{others};{frames} form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
    );
    if let Ok(value) = HeaderValue::from_str(&policy) {
        response.insert_header(header::CONTENT_SECURITY_POLICY, value);
    }
}

/// A page that explains why a post was not taken.
pub async fn problem(
    shop: &Shop,
    visitor: Visitor,
    status: StatusCode,
    problem: Problem,
    order: Option<String>,
) -> Response {
    let frame =
        Frame { title: words(visitor.lang, &problem).heading.to_owned(), ..Frame::default() };
    page(
        shop,
        visitor,
        status,
        frame,
        move || view! { <ProblemPage problem=problem.clone() order=order.clone() /> },
    )
    .await
}

/// What an error is to whoever asked: a status and its words.
pub fn of_error(error: &Error) -> (StatusCode, Problem) {
    match error {
        Error::Conflict => (StatusCode::UNPROCESSABLE_ENTITY, Problem::Conflict),
        Error::CartChanged => (StatusCode::UNPROCESSABLE_ENTITY, Problem::CartChanged),
        Error::EmptyCart => (StatusCode::UNPROCESSABLE_ENTITY, Problem::EmptyCart),
        Error::OutOfStock(short) => (StatusCode::CONFLICT, Problem::OutOfStock(short.clone())),
        Error::OutOfStockForOrder(short) => {
            (StatusCode::CONFLICT, Problem::OutOfStockForOrder(short.clone()))
        }
        Error::TooManyOfOne => (StatusCode::UNPROCESSABLE_ENTITY, Problem::TooManyOfOne),
        Error::Invalid(what) => (StatusCode::BAD_REQUEST, Problem::Invalid(what.clone())),
        Error::NotFound => (StatusCode::NOT_FOUND, Problem::NotFound),
        Error::Busy => (StatusCode::SERVICE_UNAVAILABLE, Problem::Busy),
        Error::Stale
        | Error::Overflow
        | Error::Signature
        | Error::UnknownProvider
        | Error::WebhooksOff
        | Error::MalformedEvent
        | Error::Encode(_)
        | Error::Internal(_)
        | Error::Store(_) => {
            tracing::error!(
                reason = error as &dyn std::error::Error,
                "a request could not be served"
            );
            (StatusCode::INTERNAL_SERVER_ERROR, Problem::Internal)
        }
    }
}

/// Whether it is a program that asks.
pub fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accept.is_some_and(|accept| accept.contains("application/json"))
}

/// A request that was not taken, explained to whoever sent it.
pub async fn refuse(
    shop: &Shop,
    visitor: Visitor,
    json: bool,
    (status, what): (StatusCode, Problem),
) -> Response {
    if json {
        problem_json(status, code(&what), &what)
    } else {
        problem(shop, visitor, status, what, None).await
    }
}

/// The word a program knows a problem by.
fn code(problem: &Problem) -> &'static str {
    match problem {
        Problem::Conflict => "IDEMPOTENCY_CONFLICT",
        Problem::CartChanged => "CART_CHANGED",
        Problem::EmptyCart => "EMPTY_CART",
        Problem::OutOfStock(_) | Problem::OutOfStockForOrder(_) => "OUT_OF_STOCK",
        Problem::TooManyOfOne => "TOO_MANY_OF_ONE",
        Problem::Invalid(_) => "INVALID",
        Problem::Mail => "MAIL_ADDRESS",
        Problem::NotYours => "NOT_YOURS",
        Problem::CrossSite => "CROSS_SITE",
        Problem::TooManyRequests => "TOO_MANY_REQUESTS",
        Problem::BodyTooLarge => "BODY_TOO_LARGE",
        Problem::NotAForm => "NOT_A_FORM",
        Problem::NotFound | Problem::NoSuchOrder => "NOT_FOUND",
        Problem::Busy => "BUSY",
        Problem::Internal => "INTERNAL",
    }
}

/// A problem for a program (RFC 9457).
pub fn problem_json(status: StatusCode, code: &str, problem: &Problem) -> Response {
    let words = words(Lang::en, problem);
    let (title, detail) = (words.heading, words.detail.unwrap_or(words.text));
    let body = json!({"type": "about:blank", "status": status.as_u16(), "code": code, "title": title, "detail": detail});
    let mut answer = (status, Json(body)).into_response();
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    answer
}

/// An error, explained to whoever asked.
pub async fn error(
    shop: &Shop,
    visitor: Visitor,
    json: bool,
    reason: &Error,
    order: Option<String>,
) -> Response {
    let (status, what) = of_error(reason);
    if json {
        problem_json(status, code(&what), &what)
    } else {
        problem(shop, visitor, status, what, order).await
    }
}

/// Nobody in particular, for pages that are drawn before a session is known.
pub fn stranger(lang: Lang, path: &str) -> Visitor {
    Visitor {
        customer: None,
        lang,
        currency: domain::catalogue::CURRENCIES[0],
        cart_count: 0,
        path: path.to_owned(),
    }
}

/// A refusal of the cross-site guard becomes a page that explains it.
pub async fn explain_cross_site(
    State(shop): State<Shop>,
    request: Request,
    next: Next,
) -> Result<Response, Infallible> {
    let json = wants_json(request.headers());
    let lang = session::language(request.headers());
    let answer = next.run(request).await;
    if answer.extensions().get::<ProtectionError>().is_none() {
        return Ok(answer);
    }
    tracing::info!("a post from another site was refused");
    let refusal = (StatusCode::FORBIDDEN, Problem::CrossSite);
    Ok(refuse(&shop, stranger(lang, "/"), json, refusal).await)
}

/// An address that is no text names nothing.
pub async fn explain_address(State(shop): State<Shop>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if percent_encoding::percent_decode_str(path).decode_utf8().is_ok() {
        return next.run(request).await;
    }
    let json = wants_json(request.headers());
    let visitor = stranger(session::language(request.headers()), "/");
    refuse(&shop, visitor, json, (StatusCode::NOT_FOUND, Problem::NotFound)).await
}

/// A redirect after a post.
pub fn see_other(path: &str) -> Response {
    axum::response::Redirect::to(path).into_response()
}
