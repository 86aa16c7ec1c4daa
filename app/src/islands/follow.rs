//! Follows a checkout: a stream first, questions where it is lost, and never an older state.

use std::{cell::RefCell, rc::Rc, time::Duration};

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, EventSource, HtmlElement, HtmlInputElement, MessageEvent};

use super::{browser, post::Poster};

/// How long to wait before a stream that the browser gave up is opened again.
const REOPEN: Duration = Duration::from_secs(3);

struct Inner {
    root: Element,
    slot: HtmlElement,
    path: String,
    sequence: i64,
    settled: bool,
    heading: String,
    /// The panel as it was told; what the browser makes of it may be spelled differently.
    html: Option<String>,
    /// A pointer is down in the panel: what it is on stays until it is up again.
    pressed: bool,
    /// The panel to show then.
    waiting: Option<(String, JsValue)>,
    source: Option<EventSource>,
    /// The page was left, and may come back.
    left: bool,
    /// Whether a loop asks; it goes on while there is no stream, however often that breaks.
    asking: bool,
    /// Whether the stream is open, so that polling is not needed.
    streaming: bool,
}

#[derive(Clone)]
struct Follower {
    inner: Rc<RefCell<Inner>>,
    poster: Poster,
}

/// Follows a checkout for as long as the page lives.
pub fn start() {
    let Some(root) = browser::on_page(".live-status") else { return };
    let told = |name: &str| root.get_attribute(name);
    let (Some(slot), Some(path), Some(heading), Some(sequence)) = (
        browser::find(&root, "[data-panel-slot]"),
        told("data-page"),
        told("data-heading"),
        told("data-sequence").and_then(|it| it.parse::<i64>().ok()),
    ) else {
        return;
    };
    let settled = told("data-settled").is_some();
    local_times(&slot);
    // From here on the page keeps itself true; see `shell/reload.js`.
    let _refused = root.set_attribute("data-live", "");
    let poster = Poster::new(&root, path.clone());
    poster.take_over();
    let inner = Inner {
        root: root.into(),
        slot,
        path,
        sequence,
        settled,
        heading,
        html: None,
        pressed: false,
        waiting: None,
        source: None,
        left: false,
        asking: false,
        streaming: false,
    };
    let follower = Follower { inner: Rc::new(RefCell::new(inner)), poster };
    follower.watch_page();
    follower.watch_pointer();
    follower.open();
}

impl Follower {
    fn is_settled(&self) -> bool {
        self.inner.borrow().settled
    }

    /// Opens the stream; until it is open, and whenever it is lost, asks.
    fn open(&self) {
        self.close();
        self.inner.borrow_mut().left = false;
        if self.is_settled() {
            return;
        }
        self.ask_for_a_while();
        let url = format!("{}/events", self.inner.borrow().path);
        let Ok(source) = EventSource::new(&url) else { return };
        for name in ["state", "check", "end"] {
            let follower = self.clone();
            browser::listen(&source, name, move |event| {
                let data = event.dyn_ref::<MessageEvent>().and_then(|it| it.data().as_string());
                if let Some(json) = data.and_then(|data| browser::parse(&data)) {
                    follower.show(&json);
                }
            });
        }
        let (follower, own) = (self.clone(), source.clone());
        browser::listen(&source, "open", move |_| {
            if follower.is_current(&own) {
                follower.inner.borrow_mut().streaming = true;
            }
        });
        let (follower, own) = (self.clone(), source.clone());
        browser::listen(&source, "error", move |_| follower.lost(&own));
        self.inner.borrow_mut().source = Some(source);
    }

    fn is_current(&self, source: &EventSource) -> bool {
        self.inner.borrow().source.as_ref() == Some(source)
    }

    /// The stream broke. The browser may try by itself; meanwhile, and if it gives up, we ask.
    fn lost(&self, source: &EventSource) {
        if !self.is_current(source) || self.is_settled() {
            return;
        }
        self.inner.borrow_mut().streaming = false;
        self.ask_for_a_while();
        if source.ready_state() == EventSource::CLOSED {
            let (follower, source) = (self.clone(), source.clone());
            leptos::task::spawn_local(async move {
                browser::sleep(REOPEN).await;
                if follower.is_current(&source) {
                    follower.open();
                }
            });
        }
    }

    fn close(&self) {
        let mut inner = self.inner.borrow_mut();
        if let Some(source) = inner.source.take() {
            source.close();
        }
        inner.streaming = false;
    }

    /// Asks every 2 s, after a minute every 10 s, until the stream is open again.
    fn ask_for_a_while(&self) {
        if std::mem::replace(&mut self.inner.borrow_mut().asking, true) {
            return;
        }
        let follower = self.clone();
        leptos::task::spawn_local(async move {
            for round in 0_u32.. {
                browser::sleep(Duration::from_secs(if round < 30 { 2 } else { 10 })).await;
                {
                    let mut inner = follower.inner.borrow_mut();
                    inner.asking = !(inner.left || inner.streaming || inner.settled);
                    if !inner.asking {
                        return;
                    }
                }
                follower.ask().await;
            }
        });
    }

    async fn ask(&self) {
        let url = format!("{}/status", self.inner.borrow().path);
        if let Some(answer) = browser::ask(&url, None).await
            && answer.status == 200
            && let Some(json) = answer.json
        {
            self.show(&json);
        }
    }

    /// Shows a committed state, unless a newer one is shown already.
    fn show(&self, json: &JsValue) {
        let (Some(sequence), Some(html)) =
            (browser::number(json, "sequence"), browser::text(json, "html"))
        else {
            return;
        };
        #[expect(clippy::cast_possible_truncation, reason = "a count of changes, far below 2^53")]
        let sequence = sequence as i64;
        let moved = {
            let mut inner = self.inner.borrow_mut();
            if sequence < inner.sequence {
                return;
            }
            let moved = sequence > inner.sequence;
            inner.sequence = sequence;
            // A provider's own form is not drawn anew under the shopper's hands.
            let typing = browser::find(&inner.slot, "[data-stripe-element]").is_some();
            if moved || !typing {
                inner.present(html, json.clone());
            }
            inner.settled = browser::is_true(json, "end");
            moved
        };
        if moved {
            self.poster.rest();
        }
        if self.is_settled() {
            self.close();
        }
    }

    /// Network, back button, sleeping tabs.
    fn watch_page(&self) {
        let Some(window) = browser::window() else { return };
        let follower = self.clone();
        browser::listen(&window, "offline", move |_| follower.show_offline(true));
        let follower = self.clone();
        browser::listen(&window, "online", move |_| {
            follower.show_offline(false);
            follower.fresh();
        });
        let follower = self.clone();
        // Six connections to one origin: a page that is left gives its own back.
        browser::listen(&window, "pagehide", move |_| {
            follower.close();
            follower.inner.borrow_mut().left = true;
        });
        let follower = self.clone();
        browser::on_return(move || {
            // Whatever was pressed before the page was left is not to be trusted any more.
            follower.inner.borrow_mut().html = None;
            follower.poster.rest();
            follower.fresh();
        });
        self.show_offline(!browser::is_online());
    }

    /// A click is lost if what it began on is gone when it ends.
    fn watch_pointer(&self) {
        let Some(document) = browser::document() else { return };
        let follower = self.clone();
        browser::listen(&self.inner.borrow().slot, "pointerdown", move |_| {
            follower.inner.borrow_mut().pressed = true;
        });
        for end in ["pointerup", "pointercancel"] {
            let follower = self.clone();
            browser::listen(&document, end, move |_| {
                let follower = follower.clone();
                leptos::task::spawn_local(async move {
                    // The click itself comes right after the pointer is up.
                    browser::sleep(Duration::ZERO).await;
                    let mut inner = follower.inner.borrow_mut();
                    inner.pressed = false;
                    if let Some((html, json)) = inner.waiting.take() {
                        inner.present(html, json);
                    }
                });
            });
        }
    }

    fn show_offline(&self, shown: bool) {
        browser::show(&self.inner.borrow().root, "[data-offline]", shown);
    }

    /// Asks where it stands now, and follows again.
    fn fresh(&self) {
        let follower = self.clone();
        leptos::task::spawn_local(async move {
            follower.ask().await;
            follower.open();
        });
    }
}

impl Inner {
    /// Shows a panel and says what is new, unless a pointer is down: then as soon as it is up.
    fn present(&mut self, html: String, json: JsValue) {
        if self.pressed {
            self.waiting = Some((html, json));
            return;
        }
        self.replace(html);
        self.tell(&json);
    }

    /// Puts the panel in place and leaves focus and choice where they were, if that still exists.
    fn replace(&mut self, html: String) {
        if self.html.as_ref() == Some(&html) {
            return;
        }
        let active = browser::document().and_then(|it| it.active_element());
        let focused = active.filter(|it| self.slot.contains(Some(it))).map(|it| it.id());
        let chosen = browser::find(&self.slot, "input:checked").map(|it| it.id());
        self.slot.set_inner_html(&html);
        self.html = Some(html);
        local_times(&self.slot);
        let again = |id: String| {
            let found = browser::document().and_then(|it| it.get_element_by_id(&id));
            found.filter(|it| self.slot.contains(Some(it)))
        };
        if let Some(choice) = chosen.and_then(again)
            && let Ok(choice) = choice.dyn_into::<HtmlInputElement>()
        {
            choice.set_checked(true);
        }
        if let Some(id) = focused {
            let same = again(id).and_then(|it| it.dyn_into::<HtmlElement>().ok());
            if let Some(place) = same.or_else(|| browser::find(&self.slot, "#status-heading")) {
                let _refused = place.focus();
            }
        }
    }

    /// Says a new heading once, where a screen reader hears it, and in the page's title.
    fn tell(&mut self, json: &JsValue) {
        let heading = browser::text(json, "heading").filter(|it| *it != self.heading);
        let Some(heading) = heading else { return };
        let sentence = browser::find(&self.slot, ".sentence").and_then(|it| it.text_content());
        let stop = if heading.ends_with('.') { "" } else { "." };
        let spoken = format!("{heading}{stop} {}", sentence.unwrap_or_default());
        let declined = browser::text(json, "face").is_some_and(|face| face == "declined");
        for (what, speaks) in [("[data-spoken]", !declined), ("[data-alert]", declined)] {
            if let Some(region) = browser::find(&self.root, what) {
                region.set_text_content(speaks.then_some(spoken.as_str()));
            }
        }
        if let Some(document) = browser::document() {
            let brand = document.title().rsplit(" · ").next().unwrap_or_default().to_owned();
            document.set_title(&format!("{heading} · {brand}"));
        }
        self.heading = heading;
    }
}

/// The server tells times in UTC; here the reader's zone is known.
fn local_times(slot: &Element) {
    let Ok(times) = slot.query_selector_all("time[data-local]") else { return };
    // English is written the European way here, as the server writes it.
    let page = browser::document().and_then(|it| it.document_element());
    let tongue = page.and_then(|it| it.get_attribute("lang")).filter(|it| it != "en");
    let tongue = tongue.unwrap_or_else(|| "en-GB".to_owned());
    for place in 0..times.length() {
        let Some(time) = times.get(place).and_then(|it| it.dyn_into::<Element>().ok()) else {
            continue;
        };
        let Some(at) = time.get_attribute("datetime") else { continue };
        let day = time.get_attribute("data-local").is_some_and(|it| it == "day");
        let style = if day {
            r#"{"dateStyle":"long","timeStyle":"short"}"#
        } else {
            r#"{"timeStyle":"medium"}"#
        };
        let Some(style) = browser::parse(style) else { continue };
        let local = js_sys::Date::new(&JsValue::from_str(&at)).to_locale_string(&tongue, &style);
        if let Some(local) = local.as_string() {
            let utc = time.text_content().unwrap_or_default();
            let _refused = time.set_attribute("title", &utc);
            time.set_text_content(Some(&local));
        }
    }
}
