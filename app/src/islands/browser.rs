//! What the islands ask of the browser, in few words. A refusal of the browser is `None`.

use std::time::Duration;

use js_sys::{JSON, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortSignal, Document, Element, EventTarget, Headers, HtmlElement, PageTransitionEvent,
    RequestCache, RequestInit, RequestRedirect, Response, Window,
};

/// How long an answer may take before it counts as lost.
const ANSWER_MS: u32 = 20_000;

/// The window.
pub fn window() -> Option<Window> {
    web_sys::window()
}

/// The document.
pub fn document() -> Option<Document> {
    window()?.document()
}

/// Listens for as long as the page lives; the islands never go away before it.
pub fn listen(target: &EventTarget, event: &str, heard: impl FnMut(web_sys::Event) + 'static) {
    let heard = Closure::<dyn FnMut(web_sys::Event)>::new(heard);
    let _refused = target.add_event_listener_with_callback(event, heard.as_ref().unchecked_ref());
    heard.forget();
}

/// Calls when the page comes back from the browser's memory, where nothing on it is fresh.
pub fn on_return(mut back: impl FnMut() + 'static) {
    if let Some(window) = window() {
        listen(&window, "pageshow", move |event| {
            if event.dyn_ref::<PageTransitionEvent>().is_some_and(PageTransitionEvent::persisted) {
                back();
            }
        });
    }
}

/// The first part of a page that a selector names.
pub fn find(root: &Element, what: &str) -> Option<HtmlElement> {
    root.query_selector(what).ok()??.dyn_into().ok()
}

/// The first part of the whole page that a selector names.
pub fn on_page(what: &str) -> Option<HtmlElement> {
    document()?.query_selector(what).ok()??.dyn_into().ok()
}

/// Shows a part of a page, or hides it.
pub fn show(root: &Element, what: &str, shown: bool) {
    if let Some(element) = find(root, what) {
        element.set_hidden(!shown);
    }
}

/// Whether the focus is on an element or below it.
pub fn has_focus(element: &Element) -> bool {
    let active = document().and_then(|it| it.active_element());
    active.is_some_and(|it| element.contains(Some(&it)))
}

/// Waits.
pub async fn sleep(time: Duration) {
    let ms = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    let promise = Promise::new(&mut |done, _| {
        if let Some(window) = window() {
            let _refused = window.set_timeout_with_callback_and_timeout_and_arguments_0(&done, ms);
        }
    });
    let _done = JsFuture::from(promise).await;
}

/// An answer: its status, and its JSON if it is some.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The JSON.
    pub json: Option<JsValue>,
}

/// Asks the shop; `None` if no whole answer came in time.
pub async fn ask(url: &str, form: Option<&str>) -> Option<Answer> {
    let headers = Headers::new().ok()?;
    headers.set("Accept", "application/json").ok()?;
    let init = RequestInit::new();
    init.set_cache(RequestCache::NoStore);
    init.set_redirect(RequestRedirect::Manual);
    init.set_signal(Some(&AbortSignal::timeout_with_u32(ANSWER_MS)));
    if let Some(form) = form {
        headers.set("Content-Type", "application/x-www-form-urlencoded").ok()?;
        init.set_method("POST");
        init.set_body(&JsValue::from_str(form));
    }
    init.set_headers(&headers);
    let answer = JsFuture::from(window()?.fetch_with_str_and_init(url, &init)).await.ok()?;
    let answer: Response = answer.dyn_into().ok()?;
    let text = JsFuture::from(answer.text().ok()?).await.ok()?;
    Some(Answer { status: answer.status(), json: text.as_string().and_then(|it| parse(&it)) })
}

/// Parses JSON.
pub fn parse(text: &str) -> Option<JsValue> {
    JSON::parse(text).ok()
}

/// A text in some JSON.
pub fn text(json: &JsValue, name: &str) -> Option<String> {
    Reflect::get(json, &JsValue::from_str(name)).ok()?.as_string()
}

/// A number in some JSON.
pub fn number(json: &JsValue, name: &str) -> Option<f64> {
    Reflect::get(json, &JsValue::from_str(name)).ok()?.as_f64()
}

/// A yes in some JSON.
pub fn is_true(json: &JsValue, name: &str) -> bool {
    Reflect::get(json, &JsValue::from_str(name)).is_ok_and(|it| it.is_truthy())
}

/// Whether the browser believes that it has a network.
pub fn is_online() -> bool {
    window().is_none_or(|window| window.navigator().on_line())
}

/// Goes to another page of the shop.
pub fn go(path: &str) {
    if let Some(window) = window() {
        let _refused = window.location().assign(path);
    }
}
