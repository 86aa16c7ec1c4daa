//! The cart's forms, and the price list.

use app::{
    Visitor,
    text::{self, problem::Problem},
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use domain::{
    catalogue::{CURRENCIES, Product, QUANTITY_MAX},
    money::Currency,
};
use serde_json::json;

use super::{
    Shop, answer,
    form::{Form, Refusal, invalid},
    session,
};

/// Sets or adds to a line of the cart; back to the cart.
pub async fn set_line(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let read = || -> Result<(String, u32, bool), Refusal> {
        let form = Form::read(&headers, &body, &["sku", "quantity", "add"])?;
        let sku = form.value::<String>("sku", "a product")?;
        let quantity = form.value::<u32>("quantity", "a whole number from 0 to 20")?;
        let add = match form.text("add") {
            Some("1") => true,
            None => false,
            Some(_) => return Err(invalid("add must be 1, or not be there")),
        };
        // Whoever names nothing on sale gets no session for it.
        if Product::find(&sku).is_none() {
            return Err(invalid("there is no such product"));
        }
        if quantity > QUANTITY_MAX {
            return Err((StatusCode::UNPROCESSABLE_ENTITY, Problem::TooManyOfOne));
        }
        Ok((sku, quantity, add))
    };
    let (sku, quantity, add) = match read() {
        Ok(fields) => fields,
        Err((status, problem)) => {
            return answer::problem(&shop, visitor, status, problem, None).await;
        }
    };
    let opened = session::customer(&shop, &visitor).await;
    let (customer, cookie) = match opened {
        Ok(opened) => opened,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    match shop.payments.set_line(customer, &sku, quantity, visitor.currency, add).await {
        Ok(_) => session::with_cookie(answer::see_other("/cart"), cookie),
        Err(reason) => answer::error(&shop, visitor, false, &reason, None).await,
    }
}

/// The address of a form is no page: the cart is.
pub async fn page_instead() -> Response {
    answer::see_other("/cart")
}

/// How many things are in the cart.
pub async fn count(Extension(visitor): Extension<Visitor>) -> Response {
    Json(json!({"count": visitor.cart_count})).into_response()
}

/// Chooses a price list; the open cart is counted in it from now on.
pub async fn set_currency(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let read = || -> Result<(Currency, String), Refusal> {
        let form = Form::read(&headers, &body, &["currency", "back"])?;
        let code = form.value::<String>("currency", "a currency")?;
        let currency = Currency::from_code(&code).ok().filter(|it| CURRENCIES.contains(it));
        let currency =
            currency.ok_or_else(|| invalid("there is no price list in that currency"))?;
        Ok((currency, form.text("back").unwrap_or("/").to_owned()))
    };
    let (currency, back) = match read() {
        Ok(fields) => fields,
        Err((status, problem)) => {
            return answer::problem(&shop, visitor, status, problem, None).await;
        }
    };
    if let Some(customer) = visitor.customer
        && let Ok(Some(cart)) = shop.payments.cart(customer).await
        && let Some(line) = cart.lines.first()
        && cart.total.currency != currency
    {
        let repriced = shop
            .payments
            .set_line(customer, line.sku.as_str(), line.quantity, currency, false)
            .await;
        if let Err(reason) = repriced {
            return answer::error(&shop, visitor, false, &reason, None).await;
        }
    }
    let back = if is_inside(&back) { back.as_str() } else { "/" };
    session::with_cookie(answer::see_other(back), session::currency_cookie(&shop, currency))
}

/// Chooses a language.
pub async fn set_language(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let read = || -> Result<(text::Lang, String), Refusal> {
        let form = Form::read(&headers, &body, &["language", "back"])?;
        let code = form.value::<String>("language", "a language")?;
        let lang = text::from_code(&code);
        let lang = lang.ok_or_else(|| invalid("the shop does not speak that language"))?;
        Ok((lang, form.text("back").unwrap_or("/").to_owned()))
    };
    match read() {
        Ok((lang, back)) => {
            let back = if is_inside(&back) { back.as_str() } else { "/" };
            session::with_cookie(answer::see_other(back), session::language_cookie(&shop, lang))
        }
        Err((status, problem)) => answer::problem(&shop, visitor, status, problem, None).await,
    }
}

/// Whether a way back leads to a page of this shop. Browsers read `\` as `/` and skip over tabs.
fn is_inside(back: &str) -> bool {
    back.starts_with('/')
        && !back.starts_with("//")
        && back.bytes().all(|it| it.is_ascii_graphic() && it != b'\\')
}

#[cfg(test)]
mod tests;
