//! The store as an HTTP service.
//!
//! | request | answer |
//! |---|---|
//! | `GET /values/KEY` | the value, or 404 |
//! | `PUT /values/KEY` with the value as body | 204 |
//! | `GET /counters/KEY` | the counter, or 404 |
//! | `POST /counters/KEY` | the counter after an increment |
//! | `GET /metrics` | what the PE and the service have done, as Prometheus reads it |
//!
//! A key is the rest of the path as it stands.

use std::{
    convert::Infallible,
    future::Future,
    time::{Duration, Instant},
};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, Response, StatusCode, body::Bytes, body::Incoming, service::service_fn};
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown};
use tokio::net::TcpListener;

use crate::{
    monitor::Monitor,
    store::{LONGEST, Refusal, Store},
};

/// How long requests under way may take once the service is to end.
const GRACE: Duration = Duration::from_secs(2);

/// Serves until `stop` is ready, and then until requests under way have been answered.
pub(crate) async fn serve(
    listener: TcpListener,
    store: Store,
    monitor: Monitor,
    stop: impl Future<Output = ()>,
) {
    let upkeep = tokio::spawn(monitor.clone().upkeep());
    let connections = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Most likely there are too many connections: some may have ended in a moment.
                    eprintln!("service: accept: {error}");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        // Answers are small, and clients wait for each. Without this they only come later.
        let _ = stream.set_nodelay(true);
        let (store, monitor) = (store.clone(), monitor.clone());
        let service = service_fn(move |request| respond(store.clone(), monitor.clone(), request));
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("service: {error}");
            }
        });
    }
    upkeep.abort();
    // No client gets in any more.
    drop(listener);
    if tokio::time::timeout(GRACE, connections.shutdown()).await.is_err() {
        eprintln!("service: a request took too long, and was not waited for");
    }
}

async fn respond(
    store: Store,
    monitor: Monitor,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() == Method::GET && request.uri().path() == "/metrics" {
        return Ok(Response::new(Full::from(monitor.render())));
    }
    let begin = Instant::now();
    let (status, body) = answer(store, request).await.unwrap_or_else(|refusal| {
        let status = match refusal {
            Refusal::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Failed(oxshmem::Error::CollectionFull { .. }) => StatusCode::INSUFFICIENT_STORAGE,
            Refusal::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Bytes::from(format!("{refusal}\n")))
    });
    monitor.answered(status, begin);
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    Ok(response)
}

async fn answer(store: Store, request: Request<Incoming>) -> Result<(StatusCode, Bytes), Refusal> {
    let (head, body) = request.into_parts();
    let found = |body: Option<Vec<u8>>| match body {
        Some(body) => (StatusCode::OK, Bytes::from(body)),
        None => (StatusCode::NOT_FOUND, Bytes::from_static(b"no such key\n")),
    };
    let number = |number: u64| number.to_string().into_bytes();
    let path = head.uri.path();
    if let Some(key) = path.strip_prefix("/values/").map(str::as_bytes) {
        match head.method {
            Method::GET => return Ok(found(store.get(key).await?)),
            Method::PUT => {
                // What cannot be read to its end is too long, or its client has gone and gets no
                // answer anyway.
                let body = Limited::new(body, LONGEST).collect().await.map_err(|_| Refusal::TooLong)?;
                store.put(key, &body.to_bytes()).await?;
                return Ok((StatusCode::NO_CONTENT, Bytes::new()));
            }
            _ => {}
        }
    } else if let Some(key) = path.strip_prefix("/counters/").map(str::as_bytes) {
        match head.method {
            Method::GET => return Ok(found(store.counter(key).await?.map(number))),
            Method::POST => return Ok(found(Some(number(store.increment(key).await?)))),
            _ => {}
        }
    } else {
        return Ok((StatusCode::NOT_FOUND, Bytes::from_static(b"try /values/KEY or /counters/KEY\n")));
    }
    Ok((
        StatusCode::METHOD_NOT_ALLOWED,
        Bytes::from_static(b"values take GET and PUT, counters GET and POST\n"),
    ))
}
