//! Guards the first payment form of a cart: one checkout id, one post however often it is pressed.
//!
//! The form inside is a plain one and works before this arrives. What happens to a post whose
//! answer is lost stands in `post`.

use leptos::prelude::*;

/// What is said while the browser does not know whether its post arrived.
#[derive(Clone)]
pub struct UnknownWords {
    /// What is known, in one line.
    pub title: String,
    /// What happens now, and what not to do.
    pub text: String,
    /// Why a repeat is harmless.
    pub same: String,
    /// What it means that the browser has no network.
    pub offline: String,
}

/// Shown in place of a form whose post was not answered. It is there from the start and hidden, so
/// that a screen reader notices when it speaks.
#[component]
pub fn PayUnknown(
    /// Its words.
    words: UnknownWords,
    /// It stands in place of the order's panel, whose heading is the page's.
    #[prop(optional)]
    alone: bool,
) -> impl IntoView {
    let title = view! {
        <span class="status-mark" aria-hidden="true"></span>
        {words.title}
    };
    let heading = if alone {
        view! { <h1 tabindex="-1">{title}</h1> }.into_any()
    } else {
        view! { <h3 tabindex="-1">{title}</h3> }.into_any()
    };
    view! {
        <div class="pay-unknown-slot" role="status" aria-live="polite" aria-atomic="true">
            <div class="pay-unknown" data-pay-unknown hidden>
                {heading}
                <p>{words.text}</p>
                <p>{words.same}</p>
                <p data-pay-offline hidden>
                    {words.offline}
                </p>
            </div>
        </div>
    }
    .into_any()
}

/// The form inside works without this; with it, repeats end here.
#[component]
pub fn PayGuard(
    /// The cart that the form pays; the checkout id is kept under it.
    cart_id: String,
    /// What is said while nothing is known.
    words: UnknownWords,
    /// The form.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="pay-guard" data-cart=cart_id>
            {children()}
            <PayUnknown words=words />
        </div>
        <Guard />
    }
    .into_any()
}

/// Brings it to life. What it needs to know stands in the page, so that it brings nothing along.
#[island]
fn Guard() -> impl IntoView {
    #[cfg(feature = "hydrate")]
    guard::start();
}

#[cfg(feature = "hydrate")]
mod guard {
    use wasm_bindgen::JsCast;
    use web_sys::HtmlFormElement;

    use super::super::{browser, post::Poster};

    /// Takes the form over.
    pub fn start() {
        let Some(root) = browser::on_page(".pay-guard") else { return };
        let Some(cart_id) = root.get_attribute("data-cart") else { return };
        let Some(form) = browser::find(&root, "form[data-pay-form]") else { return };
        let Ok(form) = form.dyn_into::<HtmlFormElement>() else { return };
        let Some(checkout) = kept_id(&cart_id).or_else(|| id_in(&form.action())) else { return };
        let page = format!("/checkout/{checkout}");
        form.set_action(&format!("{page}/pay"));
        let poster = Poster::new(&root, page);
        poster.take_over();
        browser::on_return(move || {
            let poster = poster.clone();
            leptos::task::spawn_local(async move { poster.come_back().await });
        });
    }

    /// The id of this cart's checkout: made once, kept over reloads, tabs and lost answers.
    fn kept_id(cart_id: &str) -> Option<String> {
        let window = browser::window()?;
        let storage = window.local_storage().ok()??;
        let name = format!("payonce.checkout.{cart_id}");
        if let Ok(Some(id)) = storage.get_item(&name)
            && id.len() == 36
        {
            return Some(id);
        }
        let id = window.crypto().ok()?.random_uuid();
        storage.set_item(&name, &id).ok()?;
        // What is kept is what counts: another tab may have been faster.
        storage.get_item(&name).ok()?
    }

    fn id_in(action: &str) -> Option<String> {
        action.split("/checkout/").nth(1)?.split('/').next().map(str::to_owned)
    }
}
