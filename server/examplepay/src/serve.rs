//! The doors: own accept loops, so that a connection can be cut, kept waiting or refused.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{Router, body::Body, extract::Request, response::Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use crate::{Provider, StartError, wire::Wire};

/// Marks an answer that must never reach the wire: the connection ends instead.
#[derive(Clone, Copy, Debug)]
pub struct Cut;

/// Why a connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("cut on purpose")]
struct CutShort;

/// What the door does to connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Lets them in.
    Open,
    /// Refuses them.
    Refuse,
    /// Lets them in and never answers.
    Hang,
}

/// One door.
pub struct Door {
    mode: Mutex<(Mode, Option<Instant>)>,
    changed: tokio::sync::Notify,
}

impl Default for Door {
    fn default() -> Self {
        Self { mode: Mutex::new((Mode::Open, None)), changed: tokio::sync::Notify::new() }
    }
}

impl Door {
    /// Changes what happens to connections, for a while or until the next change.
    pub fn set(&self, mode: Mode, time: Option<Duration>) {
        let until = time.map(|time| Instant::now() + time);
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = (mode, until);
        self.changed.notify_one();
    }

    /// What happens to connections now, and for how long still.
    pub fn now(&self) -> (Mode, Option<Duration>) {
        let (mode, until) = *self.mode.lock().unwrap_or_else(PoisonError::into_inner);
        match until {
            Some(until) => match until.checked_duration_since(Instant::now()) {
                Some(left) => (mode, Some(left)),
                None => (Mode::Open, None),
            },
            None => (mode, None),
        }
    }
}

/// Whether events leave the house, over whichever wire.
#[derive(Default)]
pub struct EventSwitch {
    paused: AtomicBool,
    off: AtomicBool,
}

impl EventSwitch {
    /// Lets events flow, keeps them back, or drops them.
    pub fn set(&self, paused: bool, off: bool) {
        self.paused.store(paused, Ordering::Relaxed);
        self.off.store(off, Ordering::Relaxed);
    }

    /// Whether events are dropped.
    pub fn dropped(&self) -> bool {
        self.off.load(Ordering::Relaxed)
    }

    /// Whether events are delivered.
    pub fn flow(&self) -> bool {
        !self.paused.load(Ordering::Relaxed) && !self.off.load(Ordering::Relaxed)
    }
}

/// Listens, or says what to do.
pub async fn listen(addr: SocketAddr, setting: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(addr).await.map_err(|reason| StartError::Listen {
        addr,
        reason: reason.to_string(),
        setting,
    })
}

/// The address that is really listened on.
pub fn local(listener: &TcpListener, wanted: SocketAddr) -> SocketAddr {
    listener.local_addr().unwrap_or(wanted)
}

/// The control door: always open.
pub async fn control(listener: TcpListener, router: Router, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    tasks.spawn(connection(stream, router.clone(), None::<Entrance>, stop.clone()));
                }
            }
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// The doors of all wires.
#[derive(Default)]
pub struct Doors {
    /// The partners' door, where no wire of payments is spoken.
    pub partners: Door,
    examplepay: Door,
    stripe: Door,
    paypal: Door,
}

impl Doors {
    /// The door where this wire is spoken.
    pub fn of(&self, wire: Wire) -> &Door {
        match wire {
            Wire::ExamplePay => &self.examplepay,
            Wire::Stripe => &self.stripe,
            Wire::PayPal => &self.paypal,
        }
    }
}

/// What knows its door.
pub trait Guarded: Clone + Send + Sync + 'static {
    /// The door it came in at.
    fn door(&self) -> &Door;

    /// What that door does now.
    fn mode(&self) -> Mode {
        self.door().now().0
    }
}

/// What comes in at one door.
#[derive(Clone)]
pub struct Entrance {
    /// Whose doors.
    pub provider: Arc<Provider>,
    /// Which of them.
    pub wire: Wire,
}

impl Guarded for Entrance {
    fn door(&self) -> &Door {
        self.provider.doors.of(self.wire)
    }
}

/// An API's door.
pub async fn api(
    first: TcpListener,
    addr: SocketAddr,
    router: Router,
    entrance: impl Guarded,
    stop: CancellationToken,
) {
    let tasks = TaskTracker::new();
    let mut listener = Some(first);
    while !stop.is_cancelled() {
        let (mode, left) = entrance.door().now();
        if mode == Mode::Refuse {
            listener = None;
        } else if listener.is_none() {
            listener = TcpListener::bind(addr).await.ok();
        }
        let pause = left.unwrap_or(Duration::from_millis(200)).min(Duration::from_millis(200));
        let accepted = async {
            match &listener {
                Some(listener) => listener.accept().await.ok(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = entrance.door().changed.notified() => {}
            () = tokio::time::sleep(pause) => {}
            accepted = accepted => match accepted {
                Some((stream, _)) if mode == Mode::Hang => {
                    tasks.spawn(hang(stream, entrance.clone(), stop.clone()));
                }
                Some((stream, _)) => {
                    let door = Some(entrance.clone());
                    tasks.spawn(connection(stream, router.clone(), door, stop.clone()));
                }
                None => {}
            },
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// Keeps a connection open and says nothing, until the door changes.
async fn hang(stream: TcpStream, entrance: impl Guarded, stop: CancellationToken) {
    while entrance.mode() == Mode::Hang && !stop.is_cancelled() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(stream);
}

/// Serves one connection. An outage begins for kept-alive connections too.
async fn connection(
    stream: TcpStream,
    router: Router,
    door: Option<impl Guarded>,
    stop: CancellationToken,
) {
    let service =
        hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let (router, door) = (router.clone(), door.clone());
            async move {
                if let Some(entrance) = door {
                    let met = entrance.mode();
                    while entrance.mode() == Mode::Hang {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    if met != Mode::Open {
                        return Err(CutShort);
                    }
                }
                let answer: Result<Response, Infallible> =
                    router.oneshot(Request::map(request, Body::new)).await;
                match answer {
                    Ok(answer) if answer.extensions().get::<Cut>().is_some() => Err(CutShort),
                    Ok(answer) => Ok(answer),
                    Err(never) => match never {},
                }
            }
        });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(10))
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(served);
    tokio::select! {
        _ended = served.as_mut() => {}
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            let _ended = tokio::time::timeout(Duration::from_secs(1), served).await;
        }
    }
}
