//! The accept loop: own timers and limits, since a slow or silent client must not hold a place.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::patience::Patience;

/// Connections at the same time.
const CONNECTIONS_MAX: usize = 2000;
/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a client may take nothing of its answer.
const READ_TIME: Duration = Duration::from_secs(30);
/// How long open requests may take once the shop stops.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// Listens, or says what to do about the setting of this name.
pub async fn listen(name: &str, addr: SocketAddr) -> Result<TcpListener, std::io::Error> {
    TcpListener::bind(addr).await.map_err(|reason| {
        let line = if reason.kind() == std::io::ErrorKind::AddrInUse {
            let port = addr.port();
            format!(
                "port {port} is in use: stop the other program, or set {name} to another address"
            )
        } else {
            format!("{addr} cannot be listened on ({reason}): set {name} to another address")
        };
        std::io::Error::new(reason.kind(), line)
    })
}

/// Serves until told to stop, then drains within a bound.
pub async fn run(listener: TcpListener, router: Router, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = stop.cancelled() => break,
            next = next => next,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Small answers and events leave at once.
                let _slower = stream.set_nodelay(true);
                let served = graceful.watch(connection(stream, peer, router.clone()));
                tokio::spawn(async move {
                    let _ended = served.await;
                    drop(place);
                });
            }
            Err(reason) => {
                tracing::warn!(%reason, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIME, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end within {} s", DRAIN_TIME.as_secs());
    }
}

fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
) -> hyper::server::conn::http1::Connection<
    TokioIo<Patience<TcpStream>>,
    TowerToHyperService<
        impl tower::Service<
            hyper::Request<hyper::body::Incoming>,
            Response = axum::response::Response,
            Error = std::convert::Infallible,
            Future: Send,
        > + Clone,
    >,
> {
    let service = router.map_request(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(64)
        .serve_connection(
            TokioIo::new(Patience::new(stream, READ_TIME)),
            TowerToHyperService::new(service),
        )
}
