//! The frame around every page: head, header, footer.

use domain::{catalogue::CURRENCIES, id::CustomerId, money::Currency};
use leptos::{nonce::use_nonce, prelude::*};
use leptos_meta::HashedStylesheet;

use crate::text::{self, Lang, say};

/// Who looks at a page.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Whose session it is, if there is one.
    pub customer: Option<CustomerId>,
    /// The language the visitor chose, or whose browser asks for.
    pub lang: Lang,
    /// The price list the visitor chose.
    pub currency: Currency,
    /// How many things are in the cart.
    pub cart_count: u32,
    /// Where the visitor is, for forms that lead back.
    pub path: String,
}

/// What a page tells its frame.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The page's title.
    pub title: String,
    /// While something is open, a browser whose scripts are off or were lost loads the page again.
    pub refresh: bool,
    /// Search engines may list it.
    pub public: bool,
    /// Hosts that a provider's own form on this page talks to.
    pub hosts: Vec<&'static str>,
    /// The page is as wide as the shop; the others are as wide as a text.
    pub wide: bool,
    /// There are islands on it: only then is wasm loaded.
    pub islands: bool,
    /// The shop has a fault lab.
    pub lab: bool,
    /// Payments are made with real money.
    pub real_money: bool,
}

/// Loads the page again if the scripts that would keep it live did not arrive, as soon as the shop
/// answers; until then what is shown stays.
const RELOAD: &str = include_str!("shell/reload.js");

/// Counts the cart again when the page comes back from the browser's memory, and says times locally.
const PAGE: &str = include_str!("shell/page.js");

/// A whole document around a page's content.
#[component]
pub fn Shell(
    /// Where the assets are.
    options: LeptosOptions,
    /// What the page tells its frame.
    frame: Frame,
    /// Who looks at it.
    visitor: Visitor,
    /// The page.
    children: Children,
) -> impl IntoView {
    let lang = visitor.lang;
    let (lab, real_money) = (frame.lab, frame.real_money);
    // Not as a child: the markers that a view may leave between texts are text in a title.
    let title = escape(&format!("{} · {}", frame.title, say!(lang, frame.brand)));
    view! {
        <!DOCTYPE html>
        <html lang=text::code(lang)>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <meta name="description" content=say!(lang, frame.description) />
                {(!frame.public).then(|| view! { <meta name="robots" content="noindex" /> })}
                <title inner_html=title></title>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                <HashedStylesheet options=options.clone() id="payonce" />
                {frame
                    .islands
                    .then(|| view! { <HydrationScripts options=options islands=true /> })}
                <script nonce=use_nonce() inner_html=PAGE></script>
                {frame
                    .refresh
                    .then(|| {
                        view! {
                            <noscript>
                                <meta http-equiv="refresh" content="5" />
                            </noscript>
                            <script nonce=use_nonce() inner_html=RELOAD></script>
                        }
                    })}
            </head>
            <body>
                <a class="skip-link" href="#content">
                    {say!(lang, frame.skip)}
                </a>
                <Header visitor=visitor />
                <main id="content" class:wide=frame.wide tabindex="-1">
                    {children()}
                </main>
                <Footer lab=lab real_money=real_money />
            </body>
        </html>
    }
}

/// Text as HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[component]
fn Header(visitor: Visitor) -> impl IntoView {
    let lang = visitor.lang;
    let here = visitor.path.clone();
    let current = move |path: &str| (here == path).then_some("page");
    let (shop, orders, cart) = (current("/"), current("/orders"), current("/cart"));
    view! {
        <header class="site-header">
            <a class="brand" href="/">
                <span class="brand-mark" aria-hidden="true" inner_html=text::art::MARK></span>
                <span>{say!(lang, frame.brand)}</span>
            </a>
            <nav aria-label=say!(lang, frame.nav)>
                <a href="/" aria-current=shop>
                    {say!(lang, frame.shop)}
                </a>
                <a href="/orders" aria-current=orders>
                    {say!(lang, frame.orders)}
                </a>
                <a href="/cart" aria-current=cart>
                    {say!(lang, frame.cart)}
                    <span class="cart-count" data-cart-count=visitor.cart_count>
                        {visitor.cart_count}
                    </span>
                    <span class="visually-hidden">{say!(lang, frame.in_cart)}</span>
                </a>
            </nav>
            <form
                class="choice"
                method="post"
                action="/language"
                aria-label=say!(lang, frame.language)
            >
                <input type="hidden" name="back" value=visitor.path.clone() />
                {text::LANGS
                    .map(|(other, name)| {
                        let code = text::code(other);
                        view! {
                            <button
                                name="language"
                                value=code
                                lang=code
                                aria-pressed=if other == lang { "true" } else { "false" }
                            >
                                {code.to_uppercase()}
                                <span class="visually-hidden">", " {name}</span>
                            </button>
                        }
                    })
                    .collect_view()}
            </form>
            <form
                class="choice"
                method="post"
                action="/currency"
                aria-label=say!(lang, frame.currency)
            >
                <input type="hidden" name="back" value=visitor.path />
                {CURRENCIES
                    .map(|currency| {
                        let chosen = currency == visitor.currency;
                        view! {
                            <button
                                name="currency"
                                value=currency.code()
                                aria-pressed=if chosen { "true" } else { "false" }
                            >
                                {currency.code()}
                                <span class="visually-hidden">
                                    ", "
                                    {text::currency_name(lang, currency)}
                                </span>
                            </button>
                        }
                    })
                    .collect_view()}
            </form>
        </header>
    }
    .into_any()
}

#[component]
fn Footer(lab: bool, real_money: bool) -> impl IntoView {
    let lang = text::lang();
    view! {
        <footer class="site-footer">
            <div>
                <h2>{say!(lang, frame.promise)}</h2>
                <p>{say!(lang, frame.promise_text)}</p>
            </div>
            <div>
                <h2>{say!(lang, frame.contact)}</h2>
                <p>
                    {say!(lang, frame.mail_hint)} " "
                    <a href=format!("mailto:{}", text::MAIL)>{text::MAIL}</a>
                </p>
                <p>{say!(lang, frame.address)}</p>
            </div>
            {(!real_money)
                .then(|| {
                    view! {
                        <p class="demo-note">
                            {say!(lang, frame.demo_note)}
                            {lab.then(|| view! { " " <a href="/lab">{text::lab::title(lang)}</a> })}
                        </p>
                    }
                })}
        </footer>
    }
    .into_any()
}
