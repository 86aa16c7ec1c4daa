//! The live stream of one checkout: a snapshot first, then every committed change, then the end.

use std::{
    convert::Infallible,
    pin::Pin,
    time::{Duration, Instant},
};

use app::{Visitor, text::Lang};
use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use domain::id::{CheckoutId, CustomerId};
use futures::{Stream, stream};
use tokio::sync::watch;

use super::{
    Shop,
    checkout::{parse_id, told},
    limits,
};

/// How long a stream lives before the browser opens the next one.
const LIFE: Duration = Duration::from_secs(15 * 60);
/// How often the store is read without a hint.
const POLL: Duration = Duration::from_secs(2);
/// How often a silent stream shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// `GET /checkout/{id}/events`.
pub async fn stream(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(checkout_id) = parse_id(&id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let hints = shop.payments.subscribe(checkout_id);
    let view = match shop.payments.checkout(checkout_id, visitor.customer).await {
        Ok(Some(view)) => view,
        Ok(None) => return StatusCode::NOT_FOUND.into_response(),
        Err(_) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
    };
    let seen = headers
        .get("last-event-id")
        .and_then(|it| it.to_str().ok())
        .and_then(|it| it.parse::<i64>().ok());
    if view.settled && seen.is_some_and(|seen| seen >= view.sequence) {
        // Everything was told: the browser stops asking.
        return StatusCode::NO_CONTENT.into_response();
    }
    if !view.settled {
        shop.payments.wake(checkout_id);
    }
    let viewer = visitor.customer.map_or_else(|| id.clone(), |customer| customer.to_string());
    let place = match shop.streams.take(&viewer) {
        Ok(place) => place,
        Err(status) => return status.into_response(),
    };
    let follower = Follower {
        shop,
        id: checkout_id,
        customer: visitor.customer,
        lang: visitor.lang,
        hints,
        last: None,
        over: false,
        until: Instant::now() + LIFE,
        _place: place,
    };
    let events = Sse::new(follower.events()).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    // A proxy that collects before it passes on would hold news back.
    ([("x-accel-buffering", "no")], events).into_response()
}

struct Follower {
    shop: Shop,
    id: CheckoutId,
    customer: Option<CustomerId>,
    lang: Lang,
    hints: watch::Receiver<u64>,
    /// The sequence and the panel that were told last.
    last: Option<(i64, String)>,
    over: bool,
    until: Instant,
    _place: limits::Stream,
}

impl Follower {
    fn events(self) -> Pin<Box<dyn Stream<Item = Result<Event, Infallible>> + Send>> {
        Box::pin(stream::unfold(self, |mut follower| async move {
            let event = follower.next().await?;
            Some((Ok(event), follower))
        }))
    }

    /// The next thing to tell; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        if self.over {
            return None;
        }
        loop {
            if self.last.is_some() && !self.wait().await {
                return None;
            }
            // A read that does not succeed is not news; the next one may.
            let Ok(Some(view)) = self.shop.payments.checkout(self.id, self.customer).await else {
                self.last.as_ref()?;
                continue;
            };
            let data = told(&self.shop, self.lang, &view);
            let html = data["html"].as_str().unwrap_or_default().to_owned();
            let older = self.last.as_ref().is_some_and(|(sequence, _)| *sequence > view.sequence);
            let same = self
                .last
                .as_ref()
                .is_some_and(|(sequence, shown)| *sequence == view.sequence && *shown == html);
            self.over = view.settled;
            if older || (same && !self.over) {
                continue;
            }
            let moved = self.last.as_ref().is_none_or(|(sequence, _)| *sequence != view.sequence);
            self.last = Some((view.sequence, html));
            let event = Event::default().data(data.to_string());
            return Some(match (self.over, moved) {
                (true, _) => event.event("end").id(view.sequence.to_string()),
                (false, true) => event.event("state").id(view.sequence.to_string()),
                (false, false) => event.event("check"),
            });
        }
    }

    /// Waits for a hint, or a while; false once the stream has to end.
    async fn wait(&mut self) -> bool {
        let ends = self.shop.stop.clone();
        tokio::select! {
            () = ends.cancelled() => false,
            () = tokio::time::sleep_until(self.until.into()) => false,
            changed = self.hints.changed() => {
                if changed.is_err() {
                    tokio::time::sleep(POLL).await;
                }
                true
            }
            () = tokio::time::sleep(POLL) => true,
        }
    }
}
