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

use crate::{Provider, StartError};

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

/// The API's door, and the switch for events.
pub struct Door {
    mode: Mutex<(Mode, Option<Instant>)>,
    changed: tokio::sync::Notify,
    webhooks_paused: AtomicBool,
    webhooks_off: AtomicBool,
}

impl Default for Door {
    fn default() -> Self {
        Self {
            mode: Mutex::new((Mode::Open, None)),
            changed: tokio::sync::Notify::new(),
            webhooks_paused: AtomicBool::new(false),
            webhooks_off: AtomicBool::new(false),
        }
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

    /// Lets events flow, keeps them back, or drops them.
    pub fn set_webhooks(&self, paused: bool, off: bool) {
        self.webhooks_paused.store(paused, Ordering::Relaxed);
        self.webhooks_off.store(off, Ordering::Relaxed);
    }

    /// Whether events are dropped.
    pub fn webhooks_dropped(&self) -> bool {
        self.webhooks_off.load(Ordering::Relaxed)
    }

    /// Whether events are delivered.
    pub fn webhooks_flow(&self) -> bool {
        !self.webhooks_paused.load(Ordering::Relaxed) && !self.webhooks_off.load(Ordering::Relaxed)
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
                    tasks.spawn(connection(stream, router.clone(), None, stop.clone()));
                }
            }
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// The API's door.
pub async fn api(
    first: TcpListener,
    addr: SocketAddr,
    router: Router,
    provider: Arc<Provider>,
    stop: CancellationToken,
) {
    let tasks = TaskTracker::new();
    let mut listener = Some(first);
    while !stop.is_cancelled() {
        let (mode, left) = provider.door.now();
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
            () = provider.door.changed.notified() => {}
            () = tokio::time::sleep(pause) => {}
            accepted = accepted => match accepted {
                Some((stream, _)) if mode == Mode::Hang => {
                    tasks.spawn(hang(stream, Arc::clone(&provider), stop.clone()));
                }
                Some((stream, _)) => {
                    let door = Some(Arc::clone(&provider));
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
async fn hang(stream: TcpStream, provider: Arc<Provider>, stop: CancellationToken) {
    while provider.door.now().0 == Mode::Hang && !stop.is_cancelled() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(stream);
}

/// Serves one connection. An outage begins for kept-alive connections too.
async fn connection(
    stream: TcpStream,
    router: Router,
    door: Option<Arc<Provider>>,
    stop: CancellationToken,
) {
    let service =
        hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let (router, door) = (router.clone(), door.clone());
            async move {
                if let Some(provider) = door {
                    let met = provider.door.now().0;
                    while provider.door.now().0 == Mode::Hang {
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
