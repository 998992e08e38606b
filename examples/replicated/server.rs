//! The store as an HTTP service.
//!
//! | request | answer |
//! |---|---|
//! | `GET /KEY` | the value |
//! | `PUT /KEY` with a number as body | 204, or 503 if a PE was lost and the value may be set |

use std::{convert::Infallible, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, Response, StatusCode, body::Bytes, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::store::{Store, Written};

/// Bytes of a body at most.
const LONGEST: usize = 32;

/// Serves without end.
pub(crate) async fn serve(listener: TcpListener, store: Arc<Store>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely there are too many connections: some may have ended in a moment.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Answers are small, and clients wait for each. Without this they only come later.
        let _ = stream.set_nodelay(true);
        let store = store.clone();
        let service = service_fn(move |request| respond(store.clone(), request));
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A connection fails when its client is lost.
        tokio::spawn(connection);
    }
}

async fn respond(store: Arc<Store>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // When a client goes away its request is dropped. A task of its own goes on, so that what it
    // does to the store is done to the end.
    let (status, body) = match tokio::spawn(answer(store, request)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        Err(panic) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{panic}\n")),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    Ok(response)
}

async fn answer(store: Arc<Store>, request: Request<Incoming>) -> oxshmem::Result<(StatusCode, String)> {
    let (head, body) = request.into_parts();
    let key = head.uri.path()[1..].parse().ok().filter(|&key: &usize| key < store.keys());
    let Some(key) = key else { return Ok((StatusCode::NOT_FOUND, "no such key\n".to_owned())) };
    Ok(match head.method {
        Method::GET => (StatusCode::OK, store.read(key).await?.to_string()),
        Method::PUT => {
            let body = Limited::new(body, LONGEST).collect().await.map(|body| body.to_bytes());
            let number = body.ok().and_then(|body| std::str::from_utf8(&body).ok()?.parse().ok());
            let Some(value) = number else {
                return Ok((StatusCode::BAD_REQUEST, "the value is a number\n".to_owned()));
            };
            match store.write(key, value).await? {
                Written::Acknowledged => (StatusCode::NO_CONTENT, String::new()),
                Written::Unknown => {
                    (StatusCode::SERVICE_UNAVAILABLE, "a PE was lost: the value may be set\n".to_owned())
                }
            }
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, "keys take GET and PUT\n".to_owned()),
    })
}
