//! A client, which sends requests to random PEs one after the other, and records them.

use std::{sync::Arc, sync::Mutex, time::Duration};

use http_body_util::{BodyExt, Full};
use hyper::{Method, StatusCode, body::Bytes, client::conn::http1, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, sync::watch};

use crate::history::{Failure, Outcome, Recorder, Request};

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a client waits after a failure.
const PAUSE: Duration = Duration::from_millis(10);

/// The ports of the PEs, of which those that are lost have none.
pub(crate) type Ports = Arc<Mutex<Vec<Option<u16>>>>;

pub(crate) struct Client {
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) ports: Ports,
    pub(crate) keys: usize,
    /// Its number, of how many there are on this PE.
    pub(crate) number: (usize, usize),
    /// Becomes true in the end.
    pub(crate) stopped: watch::Receiver<bool>,
}

/// A connection, and the port that it goes to.
type Connection = (u16, SendRequest<Full<Bytes>>);

impl Client {
    /// Sends requests until it is stopped, and then reads its share of the keys.
    pub(crate) async fn run(self, seed: u64) -> Result<(), Failure> {
        let mut random = seed;
        let mut connections: Vec<Option<Connection>> = Vec::new();
        while !*self.stopped.borrow() {
            let (key, writes) = (below(&mut random, self.keys as u64) as usize, below(&mut random, 2) == 0);
            self.request(&mut connections, key, writes, &mut random).await?;
        }
        let (number, clients) = self.number;
        for key in (number..self.keys).step_by(clients) {
            while !self.request(&mut connections, key, false, &mut random).await? {}
        }
        Ok(())
    }

    /// One request. Whether it was answered.
    async fn request(
        &self,
        connections: &mut Vec<Option<Connection>>,
        key: usize,
        writes: bool,
        random: &mut u64,
    ) -> Result<bool, Failure> {
        let ports: Vec<(usize, u16)> = {
            let ports = self.ports.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            ports.iter().enumerate().filter_map(|(pe, port)| Some((pe, (*port)?))).collect()
        };
        let (pe, port) = ports[below(random, ports.len() as u64) as usize];
        connections.resize_with(connections.len().max(pe + 1), || None);
        let connection = &mut connections[pe];
        let (number, request) = self.recorder.begin(key, writes, pe)?;
        let answer = tokio::time::timeout(PATIENCE, send(connection, port, key, request)).await;
        let outcome = match (answer, request) {
            (Ok(Ok((StatusCode::NO_CONTENT, _))), Request::Write(value)) => Outcome::Done(value),
            (Ok(Ok((StatusCode::OK, body))), Request::Read) => {
                Outcome::Done(std::str::from_utf8(&body)?.parse()?)
            }
            // The service says so, and the connection is well.
            (Ok(Ok((StatusCode::SERVICE_UNAVAILABLE, _))), _) => Outcome::Failed,
            _ => {
                *connection = None;
                Outcome::Failed
            }
        };
        self.recorder.end(number, outcome)?;
        if outcome == Outcome::Failed {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(outcome != Outcome::Failed)
    }
}

/// Sends a request over the connection there is to that port, or a new one.
async fn send(
    connection: &mut Option<Connection>,
    port: u16,
    key: usize,
    request: Request,
) -> Result<(StatusCode, Bytes), Failure> {
    let sender = match connection {
        Some((to, sender)) if *to == port => sender,
        _ => {
            let stream = TcpStream::connect(("127.0.0.1", port)).await?;
            stream.set_nodelay(true)?;
            let (sender, background) = http1::handshake(TokioIo::new(stream)).await?;
            // The sender gets what goes wrong with the connection.
            tokio::spawn(background);
            &mut connection.insert((port, sender)).1
        }
    };
    let (method, body) = match request {
        Request::Read => (Method::GET, String::new()),
        Request::Write(value) => (Method::PUT, value.to_string()),
    };
    sender.ready().await?;
    let request = hyper::Request::builder().method(method).uri(format!("/{key}")).header("host", "localhost");
    let response = sender.send_request(request.body(Full::from(body))?).await?;
    Ok((response.status(), response.into_body().collect().await?.to_bytes()))
}

/// A random number below `end` (SplitMix64).
pub(crate) fn below(random: &mut u64, end: u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*random ^ *random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) % end
}
