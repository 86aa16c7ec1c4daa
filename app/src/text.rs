//! Every word a person reads, in every language of the shop.
//!
//! The words stand in `app/locales/`, one table per part of the shop and language; the build checks
//! that no language lacks a key. Here is what chooses between them: a state, a card, an amount.
//! No page, component or island has words of its own.

pub mod art;
pub mod cards;
pub mod lab;
pub mod mail;
pub mod money;
pub mod problem;
pub mod products;
pub mod status;
pub mod time;
pub mod titles;

use domain::money::Currency;
use leptos::prelude::{provide_context, use_context};
pub(crate) use leptos_i18n::td_string as say;

use crate::islands::pay_guard::UnknownWords;

/// What the build made of `app/locales/`.
#[allow(warnings, clippy::all, clippy::pedantic, clippy::restriction, reason = "generated code")]
mod tables {
    include!(concat!(env!("OUT_DIR"), "/i18n.rs"));
}

/// A language of the shop.
pub use tables::i18n::Locale as Lang;

/// The languages, each with its own name for itself.
pub const LANGS: [(Lang, &str); 2] = [(Lang::en, "English"), (Lang::ru, "Русский")];

/// A language as `lang` attributes, cookies and orders write it.
pub fn code(lang: Lang) -> &'static str {
    match lang {
        Lang::en => "en",
        Lang::ru => "ru",
    }
}

/// The language of a code.
pub fn from_code(text: &str) -> Option<Lang> {
    LANGS.into_iter().map(|(lang, _)| lang).find(|lang| code(*lang) == text)
}

/// Says which language everything below is drawn in.
pub fn speak(lang: Lang) {
    provide_context(lang);
}

/// The language that is drawn in; English where nobody said.
pub fn lang() -> Lang {
    use_context::<Lang>().unwrap_or(Lang::en)
}

/// Where questions go.
pub const MAIL: &str = "hello@yuge.example";

/// A currency's name.
pub fn currency_name(lang: Lang, currency: Currency) -> &'static str {
    match currency {
        Currency::EUR => say!(lang, frame.euros),
        Currency::JPY => say!(lang, frame.yen),
        _ => say!(lang, frame.other_currency),
    }
}

/// A provider by the name that people know.
pub fn provider(name: &str) -> String {
    match name {
        "examplepay" => "ExamplePay".to_owned(),
        "stripe" => "Stripe".to_owned(),
        "paypal" => "PayPal".to_owned(),
        other => other.to_owned(),
    }
}

/// What an island says while it does not know whether its post arrived; it brings no words itself.
pub fn unknown_words(lang: Lang) -> UnknownWords {
    UnknownWords {
        title: say!(lang, checkout.unknown.title).to_owned(),
        text: say!(lang, checkout.unknown.text).to_owned(),
        same: say!(lang, checkout.unknown.same).to_owned(),
        offline: say!(lang, checkout.unknown.offline).to_owned(),
    }
}

#[cfg(test)]
mod tests;
