//! Guards the payment form: one checkout id for one cart, one post however often it is pressed.
//!
//! If the browser loses the answer to its post, it is where the shop is towards the provider: it
//! does not know. It says so, asks for the status of the same checkout, and sends the same form
//! again only if the shop has never heard of it.

use leptos::{html, prelude::*};

/// The form inside works without this; with it, repeats end here.
#[island]
pub fn PayGuard(
    /// The cart that the form pays; the checkout id is kept under it.
    cart_id: String,
    /// The form.
    children: Children,
) -> impl IntoView {
    let root = NodeRef::<html::Div>::new();
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| {
        if let Some(root) = root.get() {
            guard::start(&root, &cart_id);
        }
    });
    #[cfg(not(feature = "hydrate"))]
    let _only_in_the_browser = &cart_id;
    view! {
        <div class="pay-guard" node_ref=root>
            {children()}
            <div class="pay-unknown" role="status" aria-live="polite" data-pay-unknown hidden>
                <h3>"Checking payment status"</h3>
                <p data-pay-unknown-text>
                    "The shop's answer did not reach this browser. Do not pay again: we ask by ourselves whether your order arrived."
                </p>
                <p data-pay-offline hidden>
                    "You are offline. Your order is not lost: as soon as you are back, the same request is asked about, never a second payment."
                </p>
            </div>
        </div>
    }
}

#[cfg(feature = "hydrate")]
mod guard {
    use std::{cell::Cell, rc::Rc, time::Duration};

    use wasm_bindgen::JsCast;
    use web_sys::{Element, FormData, HtmlElement, HtmlFormElement, UrlSearchParams};

    use super::super::browser;

    /// The form and what is known about its post.
    #[derive(Clone)]
    struct Guard {
        root: Element,
        form: HtmlFormElement,
        checkout: String,
        busy: Rc<Cell<bool>>,
    }

    /// Takes the form over.
    pub fn start(root: &HtmlElement, cart_id: &str) {
        let root: Element = root.clone().into();
        let Ok(Some(form)) = root.query_selector("form[data-pay-form]") else { return };
        let Ok(form) = form.dyn_into::<HtmlFormElement>() else { return };
        let checkout = kept_id(cart_id).or_else(|| id_in(&form.action())).unwrap_or_default();
        form.set_action(&format!("/checkout/{checkout}/pay"));
        let guard = Guard { root, form, checkout, busy: Rc::default() };
        let pressed = guard.clone();
        browser::listen(&guard.form, "submit", move |event| {
            event.prevent_default();
            if !pressed.busy.replace(true) {
                let guard = pressed.clone();
                leptos::task::spawn_local(async move { guard.send().await });
            }
        });
        if let Some(window) = browser::window() {
            browser::listen(&window, "pageshow", move |event| {
                let back = event
                    .dyn_ref::<web_sys::PageTransitionEvent>()
                    .is_some_and(|it| it.persisted());
                if back {
                    let guard = guard.clone();
                    leptos::task::spawn_local(async move { guard.come_back().await });
                }
            });
        }
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

    impl Guard {
        fn page(&self) -> String {
            format!("/checkout/{}", self.checkout)
        }

        fn body(&self) -> Option<String> {
            let data = FormData::new_with_form(&self.form).ok()?;
            let params = UrlSearchParams::new().ok()?;
            for pair in js_sys::try_iter(&data).ok()?? {
                let pair: js_sys::Array = pair.ok()?.dyn_into().ok()?;
                params.append(&pair.get(0).as_string()?, &pair.get(1).as_string()?);
            }
            Some(String::from(params.to_string()))
        }

        fn button(&self) -> Option<HtmlElement> {
            self.form.query_selector("[data-pay-control]").ok()??.dyn_into().ok()
        }

        fn show(&self, what: &str, shown: bool) {
            if let Ok(Some(element)) = self.root.query_selector(what) {
                let _refused = if shown {
                    element.remove_attribute("hidden")
                } else {
                    element.set_attribute("hidden", "")
                };
            }
        }

        /// Posts once; what is not an answer is not an answer.
        async fn send(&self) {
            let Some(body) = self.body() else {
                let _native = self.form.submit();
                return;
            };
            if let Some(button) = self.button() {
                let _refused = button.set_attribute("aria-disabled", "true");
                button.set_inner_text("Sending your payment…");
            }
            match browser::ask(&format!("{}/pay", self.page()), Some(&body)).await {
                Some(answer) if answer.status == 202 => self.follow(&answer),
                Some(answer) if (400..500).contains(&answer.status) => {
                    // The shop explains it on a page of its own; a repeat of this post is harmless.
                    let _native = self.form.submit();
                }
                Some(_) | None => self.find_out(&body).await,
            }
        }

        fn follow(&self, answer: &browser::Answer) {
            let location = answer.json.as_ref().and_then(|json| browser::text(json, "location"));
            browser::go(&location.unwrap_or_else(|| self.page()));
        }

        /// Asks until the shop tells; sends the same form again only where it has never arrived.
        async fn find_out(&self, body: &str) {
            if let Some(button) = self.button() {
                button.remove();
            }
            self.show("fieldset", false);
            self.show("[data-pay-unknown]", true);
            let mut wait = Duration::from_millis(500);
            loop {
                self.show("[data-pay-offline]", !browser::is_online());
                let answer = browser::ask(&format!("{}/status", self.page()), None).await;
                match answer.map(|answer| answer.status) {
                    Some(200) => return browser::go(&self.page()),
                    Some(404) => {
                        match browser::ask(&format!("{}/pay", self.page()), Some(body)).await {
                            Some(answer) if answer.status == 202 => return self.follow(&answer),
                            Some(answer)
                                if (400..500).contains(&answer.status) && answer.status != 429 =>
                            {
                                let _native = self.form.submit();
                                return;
                            }
                            Some(_) | None => {}
                        }
                    }
                    Some(_) | None => {}
                }
                browser::sleep(wait).await;
                wait = (wait * 2).min(Duration::from_secs(10));
            }
        }

        /// The page came back from the browser's memory: the shop knows whether it was paid.
        async fn come_back(&self) {
            let answer = browser::ask(&format!("{}/status", self.page()), None).await;
            match answer.map(|answer| answer.status) {
                Some(200) => browser::go(&self.page()),
                Some(404) => {
                    // The cart may have changed in the meantime; the form shows what it was.
                    if let Some(window) = browser::window() {
                        let _refused = window.location().reload();
                    }
                }
                Some(_) | None => {}
            }
        }
    }
}
