//! A load for the services of all PEs, which checks every answer.
//!
//! Each PE runs some clients. A client sends requests to random PEs, one after the other, over
//! connections that it keeps. All clients share the counters and one value; some values are a
//! client's own, so that it knows what a `GET` must return.

use std::{
    error::Error,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use futures::TryStreamExt;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, StatusCode, body::Bytes, client::conn::http1, client::conn::http1::SendRequest,
};
use hyper_util::rt::TokioIo;
use oxshmem::{
    collections::{Array, Channel, Serde},
    prelude::*,
};
use tokio::{net::TcpStream, sync::watch, task::JoinSet};

use crate::{picture::svg, store::LONGEST};

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Clients of each PE.
const CLIENTS: u64 = 4;
/// Words of room for what a PE sends to PE 0 at a time.
const ROOM: usize = 1024;
/// Counters that all clients increment.
const COUNTERS: u64 = 16;
/// Values that each client has for itself.
const OWN_VALUES: usize = 4;
/// A value that all clients write. A client writes one letter many times.
const SHARED_VALUE: &str = "/values/shared";

/// When a client has done enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    Requests(u64),
    Elapsed(Duration),
}

/// Runs the clients of this PE and, on PE 0, prints how they all fared. Ends early when `stopped`
/// becomes true. PE 0 writes the latencies to the file `picture`. Collective. An error if any
/// answer was wrong or any increment was lost.
pub(crate) async fn run(
    world: &World,
    services: &[SocketAddr],
    until: Until,
    stopped: &watch::Receiver<bool>,
    picture: Option<&Path>,
) -> Result<(), Failure> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let acknowledged = Array::new(world, 1).await?;
    world.barrier_all().await?;
    let begin = Instant::now();

    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let until = match until {
            Until::Requests(all) => Until::Requests(all * (number + 1) / CLIENTS - all * number / CLIENTS),
            elapsed => elapsed,
        };
        let client = Client::new(services, me as u64 * CLIENTS + number)?;
        clients.spawn(client.run(until, stopped.clone()));
    }
    let mut latencies = histogram()?;
    while let Some(client) = clients.join_next().await {
        let client = client??;
        acknowledged.add(0, client.increments).await?;
        latencies.add(client.latencies)?;
    }
    acknowledged.sync().await?;
    let elapsed = begin.elapsed();

    // The latencies of the other PEs, for PE 0, as values with their counts.
    let (sender, receiver) = Channel::with_codec::<_, Serde<Vec<(u64, u64)>>>(world, 0, ROOM).await?;
    if me != 0 {
        let recorded = latencies.iter_recorded().map(|it| (it.value_iterated_to(), it.count_at_value()));
        sender.send(recorded.collect()).await?;
    }
    drop(sender);
    if let Some(mut receiver) = receiver {
        let mut all = latencies;
        while let Some(recorded) = receiver.try_next().await? {
            for (value, count) in recorded {
                all.record_n(value, count)?;
            }
        }
        let micros = |quantile: f64| all.value_at_quantile(quantile) as f64 / 1e3;
        println!(
            "{} requests by {} clients on {n} PEs in {:.2} s: {:.0} requests/s, p50 {:.0} µs, p99 {:.0} µs",
            all.len(),
            CLIENTS * n as u64,
            elapsed.as_secs_f64(),
            all.len() as f64 / elapsed.as_secs_f64(),
            micros(0.5),
            micros(0.99)
        );
        if let Some(file) = picture {
            let title = format!("{} requests by {} clients on {n} PEs", all.len(), CLIENTS * n as u64);
            std::fs::write(file, svg(&all, &title))?;
            println!("the latencies are drawn in {}", file.display());
        }
        check_metrics(services[0], all.len() / n as u64).await?;
        let (increments, mut client, mut sum) = (acknowledged.get(0).await?, Client::new(services, 0)?, 0);
        for counter in 0..COUNTERS {
            let (status, body) =
                client.send(counter as usize % n, Method::GET, &counter_path(counter), "").await?;
            match status {
                StatusCode::OK => sum += std::str::from_utf8(&body)?.parse::<u64>()?,
                // No client happened to increment it.
                StatusCode::NOT_FOUND => {}
                status => return Err(format!("a counter answered {status}").into()),
            }
        }
        println!("{increments} increments acknowledged, the counters have {sum}");
        if sum != increments {
            return Err("increments were lost".into());
        }
    }
    Ok(())
}

/// Whether the service of PE 0 says that it has done something for the requests that clients sent,
/// about `requests` to each PE.
async fn check_metrics(service: SocketAddr, requests: u64) -> Result<(), Failure> {
    let mut client = Client::new(&[service], 0)?;
    let (status, body) = client.send(0, Method::GET, "/metrics", "").await?;
    expect(status, StatusCode::OK, "/metrics")?;
    let text = std::str::from_utf8(&body)?;
    let sum = |name: &str| {
        let lines = text.lines().filter(|line| line.starts_with(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
    };
    let (answered, operations) = (sum("service_requests_total{"), sum("oxshmem_operations_total{"));
    println!("PE 0 counts {answered} requests and {operations} operations");
    // Each request takes some operations, and clients choose PEs by chance.
    if requests >= 100 && (answered < requests as f64 / 2.0 || operations < answered) {
        return Err(format!("/metrics says less than was done:\n{text}").into());
    }
    Ok(())
}

/// A client, with what it expects.
struct Client {
    services: Vec<(SocketAddr, Option<SendRequest<Full<Bytes>>>)>,
    id: u64,
    random: u64,
    values: [Option<String>; OWN_VALUES],
    increments: u64,
    latencies: Histogram<u64>,
}

impl Client {
    fn new(services: &[SocketAddr], id: u64) -> Result<Self, Failure> {
        Ok(Self {
            services: services.iter().map(|&service| (service, None)).collect(),
            id,
            random: id,
            values: Default::default(),
            increments: 0,
            latencies: histogram()?,
        })
    }

    /// Sends requests until it has done enough, and then looks at all of its values on all PEs.
    async fn run(mut self, until: Until, stopped: watch::Receiver<bool>) -> Result<Self, Failure> {
        let (begin, mut requests) = (Instant::now(), 0);
        let enough = |requests| match until {
            Until::Requests(all) => requests >= all,
            Until::Elapsed(time) => begin.elapsed() >= time,
        };
        while !enough(requests) && !*stopped.borrow() {
            requests += 1;
            let begin = Instant::now();
            self.request().await?;
            self.latencies.saturating_record(begin.elapsed().as_nanos() as u64);
        }
        for pe in 0..self.services.len() {
            for which in 0..OWN_VALUES {
                self.check_own(pe, which).await?;
            }
        }
        Ok(self)
    }

    /// One random request.
    async fn request(&mut self) -> Result<(), Failure> {
        let pe = self.below(self.services.len() as u64) as usize;
        let which = self.below(OWN_VALUES as u64) as usize;
        match self.below(8) {
            0..4 => {
                let path = counter_path(self.below(COUNTERS));
                expect(self.send(pe, Method::POST, &path, "").await?.0, StatusCode::OK, &path)?;
                self.increments += 1;
            }
            4 => {
                let letter = char::from(b'a' + self.below(26) as u8);
                let value = letter.to_string().repeat(1 + self.below(LONGEST as u64) as usize);
                let (status, _) = self.send(pe, Method::PUT, SHARED_VALUE, &value).await?;
                expect(status, StatusCode::NO_CONTENT, SHARED_VALUE)?;
            }
            5 => {
                let (status, body) = self.send(pe, Method::GET, SHARED_VALUE, "").await?;
                let whole = body.iter().all(|&byte| byte == body[0]) && !body.is_empty();
                if status != StatusCode::NOT_FOUND && !(status == StatusCode::OK && whole) {
                    return Err(
                        format!("{SHARED_VALUE} answered {status} with a torn value: {body:?}").into()
                    );
                }
            }
            6 => {
                let value = format!("{:x}", self.random).repeat(1 + self.below(LONGEST as u64 / 16) as usize);
                let path = self.own_path(which);
                let (status, _) = self.send(pe, Method::PUT, &path, &value).await?;
                expect(status, StatusCode::NO_CONTENT, &path)?;
                self.values[which] = Some(value);
            }
            _ => self.check_own(pe, which).await?,
        }
        Ok(())
    }

    /// Whether one of this client's own values is what it was set to.
    async fn check_own(&mut self, pe: usize, which: usize) -> Result<(), Failure> {
        let path = self.own_path(which);
        let (status, body) = self.send(pe, Method::GET, &path, "").await?;
        match &self.values[which] {
            None => expect(status, StatusCode::NOT_FOUND, &path),
            Some(value) if status == StatusCode::OK && *value == body => Ok(()),
            Some(value) => Err(format!("{path} answered {status} {body:?} instead of {value:?}").into()),
        }
    }

    /// Sends a request to `pe` over the connection there is, or a new one.
    async fn send(
        &mut self,
        pe: usize,
        method: Method,
        path: &str,
        body: &str,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let (address, connection) = &mut self.services[pe];
        let sender = match connection {
            Some(sender) => sender,
            None => {
                let stream = TcpStream::connect(*address).await?;
                stream.set_nodelay(true)?;
                let (sender, background) = http1::handshake(TokioIo::new(stream)).await?;
                // The sender gets what goes wrong with the connection.
                tokio::spawn(background);
                connection.insert(sender)
            }
        };
        sender.ready().await?;
        let request = Request::builder().method(method).uri(path).header("host", address.to_string());
        let response = sender.send_request(request.body(Full::from(body.to_owned()))?).await?;
        Ok((response.status(), response.into_body().collect().await?.to_bytes()))
    }

    fn own_path(&self, which: usize) -> String {
        format!("/values/client-{}-{which}", self.id)
    }

    /// A random number below `end` (SplitMix64).
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % end
    }
}

fn counter_path(counter: u64) -> String {
    format!("/counters/{counter}")
}

fn expect(status: StatusCode, expected: StatusCode, path: &str) -> Result<(), Failure> {
    if status == expected { Ok(()) } else { Err(format!("{path} answered {status}, not {expected}").into()) }
}

/// Nanoseconds, up to a minute.
fn histogram() -> Result<Histogram<u64>, Failure> {
    Ok(Histogram::new_with_bounds(1, 60_000_000_000, 3)?)
}
