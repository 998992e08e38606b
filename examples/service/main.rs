//! An HTTP service on every PE, in front of one store of values and counters in the symmetric
//! memory of all.
//!
//! A request may go to any PE. The store is two hash maps over all PEs (`store.rs`), whose calls
//! are awaited between the awaits on sockets; `server.rs` says what can be asked. By default every
//! PE also runs clients, which check every answer; in the end no increment may be lost. Ctrl-c ends
//! the service: requests under way are answered, then the PEs finalize.
//!
//! ```text
//! oshrun -np 4 target/release/examples/service                    # 400 requests a PE, then ends
//! oshrun -np 4 target/release/examples/service --load 10          # for 10 seconds
//! oshrun -np 4 target/release/examples/service --serve            # no clients: serves until ctrl-c
//! oshrun -np 4 target/release/examples/service --load 10 --picture latencies.svg
//! curl -X PUT -d hello http://127.0.0.1:PORT/values/greeting
//! curl http://127.0.0.1:PORT/metrics                            # for Prometheus
//! ```

mod load;
mod monitor;
mod picture;
mod server;
mod store;

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::{Parser, value_parser};
use load::{Failure, Until};
use monitor::Monitor;
use oxshmem::{collections::Array, prelude::*};
use store::Store;
use tokio::{net::TcpListener, sync::watch};

/// Bytes that hold the text of any address.
const ADDRESS: usize = 64;

#[derive(Parser)]
#[command(about = "An HTTP service on every PE, in front of one store of values and counters")]
struct Options {
    /// Address to listen on. The system chooses a port for each PE
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,

    /// Values, and counters, for which there is room on each PE
    #[arg(long, default_value_t = 1024, value_parser = value_parser!(u32).range(1..))]
    slots: u32,

    /// Requests that the clients of each PE send
    #[arg(long, default_value_t = 400)]
    requests: u64,

    /// Seconds for which the clients send requests, however many
    #[arg(long, value_name = "SECONDS", conflicts_with = "requests")]
    load: Option<u64>,

    /// File that PE 0 writes the latencies to that the clients of all PEs saw, as a picture (SVG)
    #[arg(long, value_name = "FILE", conflicts_with = "serve")]
    picture: Option<PathBuf>,

    /// Serves until ctrl-c, without clients
    #[arg(long, conflicts_with_all = ["requests", "load"])]
    serve: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| run(world, options).await).await
}

async fn run(world: &World, options: Options) -> Result<(), Failure> {
    let me = world.my_pe();
    let store = Store::new(world, options.slots as usize * world.n_pes()).await?;
    let listener = TcpListener::bind((options.address, 0)).await?;
    let here = listener.local_addr()?;
    println!("PE {me} serves http://{here}");
    let services = exchange(world, here).await?;

    // Ctrl-c may come to one PE or to all. All PEs learn of it, and come to the end together.
    let interrupts = world.alloc_zeroed::<u64>(1).await?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(watch_interrupts(world.clone(), interrupts, stop));

    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let server =
        tokio::spawn(server::serve(listener, store, Monitor::new(world)?, async { drop(ended.await) }));
    if options.serve {
        // An error would mean that no task watches any more.
        stopped.clone().wait_for(|&stopped| stopped).await?;
    } else {
        let until = options
            .load
            .map_or(Until::Requests(options.requests), |s| Until::Elapsed(Duration::from_secs(s)));
        load::run(world, &services, until, &stopped, options.picture.as_deref()).await?;
    }

    // No service goes while another PE's clients may still need it.
    world.barrier_all().await?;
    drop(end);
    server.await?;
    Ok(())
}

/// The addresses of all PEs, of which this PE's is `here`. Collective.
async fn exchange(world: &World, here: SocketAddr) -> Result<Vec<SocketAddr>, Failure> {
    let addresses = Array::new(world, world.n_pes()).await?;
    let mut text = [0; ADDRESS];
    write!(&mut text[..], "{here}")?;
    addresses.fill_with(|_| text).await?;
    let parse = |text: [u8; ADDRESS]| {
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(ADDRESS);
        Ok(std::str::from_utf8(&text[..end])?.parse()?)
    };
    addresses.to_vec().await?.into_iter().map(parse).collect()
}

/// Tells `stop` when this PE or another is interrupted, and in the first case tells the others.
async fn watch_interrupts(world: World, interrupts: SymSlice<u64>, stop: watch::Sender<bool>) {
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => {
            if interrupted.is_ok() {
                for pe in 0..world.n_pes() {
                    // An error is the end of the job, which `main` learns of too.
                    let _ = world.context().set(interrupts.at(0), 1, pe).await;
                }
            }
        }
        // Ready when there was an interrupt, and with an error when the world ends.
        _ = interrupts.at(0).wait_until(Cmp::Ne, 0) => {}
    }
    stop.send_replace(true);
}
