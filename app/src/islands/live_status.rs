//! Keeps the status panel true: follows the stream of committed changes, polls where it is lost.

use leptos::{html, prelude::*};

/// The panel, live. Without wasm it is what the server drew.
#[island]
pub fn LiveStatus(
    /// Which checkout.
    checkout_id: String,
    /// The newest change that is shown.
    sequence: i64,
    /// Nothing can change any more.
    settled: bool,
    /// What is known, in one line.
    heading: String,
    /// The panel.
    children: Children,
) -> impl IntoView {
    let panel = NodeRef::<html::Div>::new();
    let spoken = NodeRef::<html::P>::new();
    let offline = NodeRef::<html::P>::new();
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| {
        if let (Some(panel), Some(spoken), Some(offline)) =
            (panel.get(), spoken.get(), offline.get())
        {
            follow::start(follow::Parts {
                panel: (*panel).clone().into(),
                spoken: (*spoken).clone().into(),
                offline: (*offline).clone().into(),
                path: format!("/checkout/{checkout_id}"),
                sequence,
                settled,
                heading: heading.clone(),
            });
        }
    });
    #[cfg(not(feature = "hydrate"))]
    let _only_in_the_browser = (&checkout_id, sequence, settled, &heading);
    view! {
        <p class="visually-hidden" role="status" aria-live="polite" aria-atomic="true" data-spoken node_ref=spoken></p>
        <p class="notice" data-offline hidden node_ref=offline>
            "You are offline. Your payment is not affected."
        </p>
        <div class="live" data-live node_ref=panel>
            {children()}
        </div>
    }
}

#[cfg(feature = "hydrate")]
mod follow {
    use std::{cell::RefCell, rc::Rc, time::Duration};

    use wasm_bindgen::{JsCast, JsValue};
    use web_sys::{Element, EventSource, HtmlElement, MessageEvent};

    use super::super::browser;

    /// What the island shows and where it asks.
    pub struct Parts {
        pub panel: Element,
        pub spoken: Element,
        pub offline: Element,
        pub path: String,
        pub sequence: i64,
        pub settled: bool,
        pub heading: String,
    }

    struct Inner {
        parts: Parts,
        source: Option<EventSource>,
        /// Counts the polling loops; only the newest goes on.
        poll: u32,
        /// Whether the stream is open, so that polling is not needed.
        streaming: bool,
    }

    #[derive(Clone)]
    struct Follower(Rc<RefCell<Inner>>);

    /// Follows a checkout for as long as the page lives.
    pub fn start(parts: Parts) {
        let inner = Inner { parts, source: None, poll: 0, streaming: false };
        let follower = Follower(Rc::new(RefCell::new(inner)));
        follower.guard_forms();
        follower.watch_page();
        follower.open();
    }

    impl Follower {
        fn is_settled(&self) -> bool {
            self.0.borrow().parts.settled
        }

        /// Opens the stream; until it is open, and whenever it is lost, polls.
        fn open(&self) {
            if self.is_settled() {
                return;
            }
            self.close();
            self.poll_for_a_while();
            let url = format!("{}/events", self.0.borrow().parts.path);
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
            let follower = self.clone();
            browser::listen(&source, "open", move |_| follower.0.borrow_mut().streaming = true);
            let (follower, own) = (self.clone(), source.clone());
            browser::listen(&source, "error", move |_| follower.lost(&own));
            self.0.borrow_mut().source = Some(source);
        }

        /// The stream broke. The browser may try by itself; meanwhile, and if it gives up, we ask.
        fn lost(&self, source: &EventSource) {
            let ours = self.0.borrow().source.as_ref().is_some_and(|it| it == source);
            if !ours || self.is_settled() {
                return;
            }
            self.0.borrow_mut().streaming = false;
            self.poll_for_a_while();
            if source.ready_state() == EventSource::CLOSED {
                let follower = self.clone();
                leptos::task::spawn_local(async move {
                    browser::sleep(Duration::from_secs(3)).await;
                    let dead = follower
                        .0
                        .borrow()
                        .source
                        .as_ref()
                        .is_some_and(|it| it.ready_state() == EventSource::CLOSED);
                    if dead {
                        follower.open();
                    }
                });
            }
        }

        fn close(&self) {
            let source = self.0.borrow_mut().source.take();
            if let Some(source) = source {
                source.close();
            }
            let mut inner = self.0.borrow_mut();
            inner.streaming = false;
            inner.poll = inner.poll.wrapping_add(1);
        }

        /// Asks every 2 s, after a minute every 10 s, until the stream is open again.
        fn poll_for_a_while(&self) {
            let turn = {
                let mut inner = self.0.borrow_mut();
                inner.poll = inner.poll.wrapping_add(1);
                inner.poll
            };
            let follower = self.clone();
            leptos::task::spawn_local(async move {
                for round in 0_u32.. {
                    browser::sleep(Duration::from_secs(if round < 30 { 2 } else { 10 })).await;
                    let over = {
                        let inner = follower.0.borrow();
                        inner.poll != turn || inner.streaming || inner.parts.settled
                    };
                    if over {
                        return;
                    }
                    follower.ask().await;
                }
            });
        }

        async fn ask(&self) {
            let url = format!("{}/status", self.0.borrow().parts.path);
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
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a count of changes, far below 2^53"
            )]
            let sequence = sequence as i64;
            let mut inner = self.0.borrow_mut();
            if sequence < inner.parts.sequence {
                return;
            }
            inner.parts.sequence = sequence;
            let focused = inner.panel_has_focus();
            if inner.parts.panel.inner_html() != html {
                inner.parts.panel.set_inner_html(&html);
            }
            if focused && !inner.panel_has_focus() {
                inner.focus_heading();
            }
            if let Some(heading) =
                browser::text(json, "heading").filter(|it| *it != inner.parts.heading)
            {
                inner.parts.spoken.set_text_content(Some(&heading));
                if let Some(document) = browser::window().and_then(|it| it.document()) {
                    let brand =
                        document.title().rsplit(" · ").next().unwrap_or_default().to_owned();
                    document.set_title(&format!("{heading} · {brand}"));
                }
                inner.parts.heading = heading;
            }
            inner.parts.settled = browser::is_true(json, "end");
            if inner.parts.settled
                && let Some(source) = inner.source.take()
            {
                source.close();
            }
        }

        /// A form in the panel is sent once, however often it is pressed.
        fn guard_forms(&self) {
            let panel = self.0.borrow().parts.panel.clone();
            browser::listen(&panel, "submit", |event| {
                let Some(form) = event.target().and_then(|it| it.dyn_into::<Element>().ok()) else {
                    return;
                };
                if form.has_attribute("data-sent") {
                    event.prevent_default();
                    return;
                }
                let _refused = form.set_attribute("data-sent", "");
                let button = form.query_selector("[data-pay-control]").ok().flatten();
                if let Some(button) = button.and_then(|it| it.dyn_into::<HtmlElement>().ok()) {
                    let _refused = button.set_attribute("aria-disabled", "true");
                    button.set_inner_text("Sending your payment…");
                }
            });
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
            browser::listen(&window, "pagehide", move |_| follower.close());
            let follower = self.clone();
            browser::listen(&window, "pageshow", move |event| {
                if event.dyn_ref::<web_sys::PageTransitionEvent>().is_some_and(|it| it.persisted())
                {
                    follower.fresh();
                }
            });
            self.show_offline(!browser::is_online());
        }

        fn show_offline(&self, shown: bool) {
            let offline = self.0.borrow().parts.offline.clone();
            let _refused = if shown {
                offline.remove_attribute("hidden")
            } else {
                offline.set_attribute("hidden", "")
            };
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
        fn panel_has_focus(&self) -> bool {
            let active =
                browser::window().and_then(|it| it.document()).and_then(|it| it.active_element());
            active.is_some_and(|active| self.parts.panel.contains(Some(&active)))
        }

        fn focus_heading(&self) {
            let heading = self.parts.panel.query_selector("#status-heading").ok().flatten();
            if let Some(heading) = heading.and_then(|it| it.dyn_into::<HtmlElement>().ok()) {
                let _refused = heading.focus();
            }
        }
    }
}
