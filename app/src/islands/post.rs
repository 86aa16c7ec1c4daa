//! Posts a payment form once, and finds out what became of it when the answer is lost.
//!
//! A browser without an answer is where the shop is towards its provider: it does not know. It says
//! so, asks for the status of the same checkout, and sends the same checkout and attempt again only
//! if the shop has never heard of it.

use std::{cell::Cell, rc::Rc, time::Duration};

use wasm_bindgen::JsCast;
use web_sys::{Element, FormData, HtmlFormElement, UrlSearchParams};

use super::browser::{self, Answer};

/// How long to wait for the network to come back before asking anyway.
const OFFLINE_SECONDS: u32 = 30;

/// Takes over the payment forms below an element.
#[derive(Clone)]
pub struct Poster {
    root: Element,
    /// The checkout's page.
    page: String,
    busy: Rc<Cell<bool>>,
}

impl Poster {
    /// For the forms below this element, which pay under this page.
    pub fn new(root: &Element, page: String) -> Self {
        Self { root: root.clone(), page, busy: Rc::default() }
    }

    /// Sends a form when it is submitted; a double click or a held key ends here.
    pub fn take_over(&self) {
        let poster = self.clone();
        browser::listen(&self.root, "submit", move |event| {
            let form = event.target().and_then(|it| it.dyn_into::<HtmlFormElement>().ok());
            let Some(form) = form.filter(|form| form.has_attribute("data-pay-form")) else {
                return;
            };
            event.prevent_default();
            if !poster.busy.replace(true) {
                let poster = poster.clone();
                leptos::task::spawn_local(async move { poster.send(&form).await });
            }
        });
    }

    /// Posts once; what is not an answer is not an answer.
    async fn send(&self, form: &HtmlFormElement) {
        let Some(body) = body(form) else {
            let _native = form.submit();
            return;
        };
        if let Some(button) = browser::find(form, "[data-pay-control]") {
            let _refused = button.set_attribute("aria-disabled", "true");
            button.set_text_content(button.get_attribute("data-busy").as_deref());
        }
        if !self.settle(form, self.post(&body).await, true) {
            self.find_out(form, &body).await;
        }
    }

    async fn post(&self, body: &str) -> Option<Answer> {
        browser::ask(&format!("{}/pay", self.page), Some(body)).await
    }

    /// Whether the answer to a post ends the matter.
    fn settle(&self, form: &HtmlFormElement, answer: Option<Answer>, first: bool) -> bool {
        let Some(answer) = answer else { return false };
        match answer.status {
            202 => {
                let place = answer.json.as_ref().and_then(|json| browser::text(json, "location"));
                self.leave_for(form, &place.unwrap_or_else(|| self.page.clone()));
                true
            }
            // Too many questions of our own: that is no answer to the post.
            429 if !first => false,
            400..500 => {
                // The shop explains it on a page of its own; a repeat of this post is harmless.
                let _native = form.submit();
                true
            }
            _ => false,
        }
    }

    /// Goes where the answer leads, unless the page shows it already.
    fn leave_for(&self, form: &HtmlFormElement, place: &str) {
        if form.is_connected() || place != self.page {
            browser::go(place);
        } else {
            self.rest();
        }
    }

    /// Asks until the shop tells; sends the same form again only where it has never arrived.
    async fn find_out(&self, form: &HtmlFormElement, body: &str) {
        let focused = browser::has_focus(form);
        if let Some(button) = browser::find(form, "[data-pay-control]") {
            button.remove();
        }
        form.set_hidden(true);
        browser::show(&self.root, "[data-pay-unknown]", true);
        // The focus goes on to what stands in the form's place.
        if focused && let Some(told) = browser::find(&self.root, "[data-pay-unknown] [tabindex]") {
            let _refused = told.focus();
        }
        let offered = form.get_attribute("data-pay-attempt").unwrap_or_default();
        let offered = format!("data-pay-attempt=\"{offered}\"");
        let mut wait = Duration::from_millis(500);
        // A form that is gone was replaced by the state that the shop has stored.
        while form.is_connected() {
            self.wait_for_network().await;
            let answer = browser::ask(&format!("{}/status", self.page), None).await;
            let arrived = answer.and_then(|answer| match answer.status {
                // The page may be an older one, which still offers the very same attempt.
                200 => {
                    let html = answer.json.as_ref().and_then(|json| browser::text(json, "html"));
                    html.map(|html| !html.contains(&offered))
                }
                404 => Some(false),
                _ => None,
            });
            match arrived {
                Some(true) => return self.leave_for(form, &self.page),
                Some(false) if self.settle(form, self.post(body).await, false) => return,
                Some(false) | None => {}
            }
            browser::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(10));
        }
        self.rest();
    }

    /// Says that the browser is offline, and gives it time to come back.
    async fn wait_for_network(&self) {
        for _ in 0..OFFLINE_SECONDS {
            let online = browser::is_online();
            browser::show(&self.root, "[data-pay-offline]", !online);
            if online {
                return;
            }
            browser::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Nothing is on its way any more.
    pub fn rest(&self) {
        let told = browser::find(&self.root, "[data-pay-unknown]");
        let focused = told.is_some_and(|told| browser::has_focus(&told));
        browser::show(&self.root, "[data-pay-unknown]", false);
        if focused && let Some(heading) = browser::on_page("#status-heading") {
            let _refused = heading.focus();
        }
        self.busy.set(false);
    }

    /// The page came back from the browser's memory: the shop knows whether it was paid.
    pub async fn come_back(&self) {
        let answer = browser::ask(&format!("{}/status", self.page), None).await;
        match answer.map(|answer| answer.status) {
            Some(200) => browser::go(&self.page),
            // The cart may have changed in the meantime; the form shows what it was.
            Some(404) => {
                if let Some(window) = browser::window() {
                    let _refused = window.location().reload();
                }
            }
            Some(_) | None => {}
        }
    }
}

/// What the form says, as the browser itself would send it.
fn body(form: &HtmlFormElement) -> Option<String> {
    let data = FormData::new_with_form(form).ok()?;
    let params = UrlSearchParams::new().ok()?;
    for pair in js_sys::try_iter(&data).ok()?? {
        let pair: js_sys::Array = pair.ok()?.dyn_into().ok()?;
        params.append(&pair.get(0).as_string()?, &pair.get(1).as_string()?);
    }
    Some(String::from(params.to_string()))
}
