//! Pages that only show: catalogue, product, cart, checkout form, orders.

use app::{
    Frame, Visitor,
    components::pay_form::MailField,
    pages::{
        cart::CartPage, catalogue::Catalogue, checkout::CheckoutPage, orders::OrdersPage,
        product::ProductPage,
    },
    text::{problem::Problem, products, titles},
};
use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use domain::{catalogue::Product, id::CheckoutId, view::CartView};
use leptos::prelude::*;

use super::{Shop, answer, own_form};

fn frame(title: &str, public: bool) -> Frame {
    Frame { title: title.to_owned(), public, ..Frame::default() }
}

/// Everything on sale.
pub async fn catalogue(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    let stock = match shop.payments.stock().await {
        Ok(stock) => stock,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    let currency = visitor.currency;
    let frame = Frame { wide: true, ..frame(titles::shop(visitor.lang), true) };
    answer::page(
        &shop,
        visitor,
        StatusCode::OK,
        frame,
        move || view! { <Catalogue currency=currency stock=stock.clone() /> },
    )
    .await
}

/// One product.
pub async fn product(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(sku): Path<String>,
) -> Response {
    let Some(item) = Product::find(&sku) else {
        return answer::problem(&shop, visitor, StatusCode::NOT_FOUND, Problem::NotFound, None)
            .await;
    };
    let stock = match shop.payments.stock().await {
        Ok(stock) => stock,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    let left = stock.get(&item.sku()).copied().unwrap_or(0);
    let currency = visitor.currency;
    let frame = Frame { wide: true, ..frame(products::name(visitor.lang, item.sku), true) };
    answer::page(
        &shop,
        visitor,
        StatusCode::OK,
        frame,
        move || view! { <ProductPage item=item currency=currency left=left /> },
    )
    .await
}

/// The visitor's cart.
pub async fn cart(State(shop): State<Shop>, Extension(visitor): Extension<Visitor>) -> Response {
    let lang = visitor.lang;
    let cart = match visitor.customer {
        Some(customer) => shop.payments.cart(customer).await,
        None => Ok(None),
    };
    match cart {
        Ok(cart) => {
            answer::page(
                &shop,
                visitor,
                StatusCode::OK,
                frame(titles::cart(lang), false),
                move || view! { <CartPage cart=cart.clone() /> },
            )
            .await
        }
        Err(reason) => answer::error(&shop, visitor, false, &reason, None).await,
    }
}

/// The payment form of the visitor's cart.
pub async fn checkout(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    let lang = visitor.lang;
    let cart = match visitor.customer {
        Some(customer) => shop.payments.cart(customer).await,
        None => Ok(None),
    };
    match cart {
        Ok(Some(cart)) if !cart.lines.is_empty() => pay_form(&shop, visitor, cart, None).await,
        Ok(_) => {
            answer::page(
                &shop,
                visitor,
                StatusCode::OK,
                frame(titles::checkout(lang), false),
                || view! { <CartPage cart=None /> },
            )
            .await
        }
        Err(reason) => answer::error(&shop, visitor, false, &reason, None).await,
    }
}

/// A payment form that comes back because nobody can be written to at its address.
pub struct Again {
    /// The id it carried; it goes on to be this checkout's.
    pub checkout_id: CheckoutId,
    /// What was chosen.
    pub chosen: String,
    /// What was typed as an address.
    pub typed: String,
}

/// The payment form of a cart: a new one, or one that comes back with all that was in it.
pub async fn pay_form(
    shop: &Shop,
    visitor: Visitor,
    cart: CartView,
    again: Option<Again>,
) -> Response {
    let status = if again.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let (checkout_id, chosen, typed) = match again {
        Some(it) => (it.checkout_id, Some(it.chosen), Some(it.typed)),
        None => (CheckoutId(uuid::Uuid::new_v4()), None, None),
    };
    let tokens = shop.tokens.to_vec();
    let (element, hosts) = own_form(shop, cart.total).unzip();
    let hosts = hosts.unwrap_or_default();
    let mut frame =
        Frame { wide: true, islands: true, hosts, ..frame(titles::checkout(visitor.lang), false) };
    if typed.is_some() {
        frame.title = titles::checkout_again(visitor.lang);
    }
    // Forms of the page's frame lead back to the checkout, not to where its form was posted.
    let visitor = Visitor { path: "/checkout".to_owned(), ..visitor };
    answer::page(shop, visitor, status, frame, move || {
        let mail = MailField { unusable: typed.clone() };
        view! {
            <CheckoutPage
                cart=cart.clone()
                checkout_id=checkout_id
                tokens=tokens.clone()
                element=element.clone()
                mail=mail
                chosen=chosen.clone()
            />
        }
    })
    .await
}

/// The visitor's orders.
pub async fn orders(State(shop): State<Shop>, Extension(visitor): Extension<Visitor>) -> Response {
    let lang = visitor.lang;
    let orders = match visitor.customer {
        Some(customer) => shop.payments.orders(customer).await,
        None => Ok(Vec::new()),
    };
    match orders {
        Ok(orders) => {
            answer::page(
                &shop,
                visitor,
                StatusCode::OK,
                frame(titles::orders(lang), false),
                move || view! { <OrdersPage orders=orders.clone() /> },
            )
            .await
        }
        Err(reason) => answer::error(&shop, visitor, false, &reason, None).await,
    }
}
