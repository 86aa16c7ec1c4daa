//! Anonymous sessions: an opaque cookie, and what it tells about the visitor.

use app::{
    Visitor,
    text::{self, Lang, problem::Problem},
};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};
use domain::{catalogue::CURRENCIES, id::CustomerId, money::Currency};
use payments::Error;

use super::{Shop, answer};

const CURRENCY_COOKIE: &str = "currency";
const LANGUAGE_COOKIE: &str = "language";

/// The cookie's name: bound to this host and to https where there is https.
fn cookie_name(https: bool) -> &'static str {
    if https { "__Host-payonce_session" } else { "payonce_session" }
}

/// Puts the visitor into the request. A cookie that names nobody is a visitor without a session.
pub async fn resolve(State(shop): State<Shop>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str()).to_owned();
    match visitor(&shop, request.headers(), path).await {
        Ok(visitor) => {
            request.extensions_mut().insert(visitor);
            next.run(request).await
        }
        // Not a stranger: somebody whom the shop cannot look up at this moment.
        Err(reason) => {
            tracing::error!(reason = &reason as &dyn std::error::Error, "a session was not read");
            let json = answer::wants_json(request.headers());
            let refusal = (StatusCode::SERVICE_UNAVAILABLE, Problem::Internal);
            answer::refuse(&shop, answer::stranger(language(request.headers()), "/"), json, refusal)
                .await
        }
    }
}

async fn visitor(shop: &Shop, headers: &HeaderMap, path: String) -> Result<Visitor, Error> {
    let token = cookie(headers, cookie_name(shop.https))
        .filter(|token| token.len() == 64 && token.bytes().all(|it| it.is_ascii_hexdigit()));
    let customer = match token {
        Some(token) => shop.payments.customer_of(token).await?,
        None => None,
    };
    let chosen = cookie(headers, CURRENCY_COOKIE).and_then(|it| Currency::from_code(it).ok());
    let mut currency = chosen.filter(|it| CURRENCIES.contains(it)).unwrap_or(CURRENCIES[0]);
    let cart = match customer {
        Some(customer) => shop.payments.cart(customer).await?,
        None => None,
    };
    if chosen.is_none()
        && let Some(cart) = cart.as_ref().filter(|cart| cart.count > 0)
    {
        currency = cart.total.currency;
    }
    let cart_count = cart.map_or(0, |cart| cart.count);
    Ok(Visitor { customer, lang: language(headers), currency, cart_count, path })
}

/// The language that was chosen, else the first of those that the browser asks for.
pub fn language(headers: &HeaderMap) -> Lang {
    if let Some(chosen) = cookie(headers, LANGUAGE_COOKIE).and_then(text::from_code) {
        return chosen;
    }
    let asked = headers.get(header::ACCEPT_LANGUAGE).and_then(|it| it.to_str().ok());
    let asked = accept_language::parse(asked.unwrap_or_default());
    let primary = |tag: &String| tag.split('-').next().and_then(text::from_code);
    asked.iter().find_map(primary).unwrap_or(Lang::en)
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}

/// The visitor's customer; opens a session where there is none, and gives its cookie.
pub async fn customer(
    shop: &Shop,
    visitor: &Visitor,
) -> Result<(CustomerId, Option<HeaderValue>), Error> {
    if let Some(customer) = visitor.customer {
        return Ok((customer, None));
    }
    let (token, customer) = shop.payments.open_session().await?;
    let secure = if shop.https { "; Secure" } else { "" };
    let name = cookie_name(shop.https);
    let value = format!("{name}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=34560000{secure}");
    Ok((customer, HeaderValue::from_str(&value).ok()))
}

/// Remembers a price list.
pub fn currency_cookie(shop: &Shop, currency: Currency) -> Option<HeaderValue> {
    preference(shop, CURRENCY_COOKIE, currency.code())
}

/// Remembers a language.
pub fn language_cookie(shop: &Shop, lang: Lang) -> Option<HeaderValue> {
    preference(shop, LANGUAGE_COOKIE, text::code(lang))
}

fn preference(shop: &Shop, name: &str, value: &str) -> Option<HeaderValue> {
    let secure = if shop.https { "; Secure" } else { "" };
    let value = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=34560000{secure}");
    HeaderValue::from_str(&value).ok()
}

/// Puts a cookie into an answer.
pub fn with_cookie(mut answer: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    answer
}
