//! How long a message takes from one PE to another, and how many bytes a second go that way.
//!
//! PE 0 puts a block of bytes to PE 1 with a signal, PE 1 waits for the signal and puts a block
//! back. Half of a round trip is the latency of one message. Further PEs sleep in the barrier
//! meanwhile; a single PE sends to itself. Before a size is measured, one block goes to PE 1, from
//! there back, and must return unchanged.
//!
//! ```text
//! oshrun -np 2 target/release/examples/ping_pong [--max 1048576] [--rounds 500]
//! ```

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, value_parser};
use oxshmem::prelude::*;

/// Bytes that the rounds of one size move in one direction at most, so that large blocks take no
/// longer than small.
const BYTES_PER_SIZE: usize = 64 << 20;

#[derive(Parser)]
#[command(about = "Latency and bandwidth of put-with-signal between two PEs")]
struct Options {
    /// Bytes of the largest message
    #[arg(long, default_value_t = 1 << 20, value_parser = value_parser!(u64).range(8..=1 << 40))]
    max: u64,

    /// Round trips for each size; fewer for large ones
    #[arg(long, default_value_t = 500, value_parser = value_parser!(u64).range(1..))]
    rounds: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| run(world, options).await).await
}

async fn run(world: &World, options: Options) -> Result<(), Box<dyn Error>> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let max = options.max as usize;
    let inbox = world.alloc_zeroed::<u8>(max).await?;
    let signal = world.alloc_zeroed::<u64>(1).await?;
    if me == 0 {
        match n {
            1 => println!("there is one PE, which sends to itself; use oshrun -np 2 for a real ping-pong"),
            _ => println!("PE 0 and PE 1 of {n}"),
        }
        println!("{:>10} {:>8} {:>12} {:>12}", "bytes", "rounds", "half trip µs", "MB/s");
    }
    if me < 2 {
        let peer = if n == 1 { 0 } else { 1 - me };
        let mut channel = Channel { world, inbox: &inbox, signal: &signal, peer, received: 0 };
        for size in std::iter::successors(Some(8), |size| Some(size * 2)).take_while(|&size| size <= max) {
            channel.echo(size).await?;
            let rounds = (options.rounds as usize).min(BYTES_PER_SIZE / size).max(10);
            let half = channel.measure(size, rounds).await?;
            if me == 0 {
                let rate = size as f64 / half.as_secs_f64().max(1e-9) / 1e6;
                println!("{size:>10} {rounds:>8} {:>12.3} {rate:>12.1}", half.as_secs_f64() * 1e6);
            }
        }
    }
    world.barrier_all().await?;
    Ok(())
}

/// One of the two ends.
struct Channel<'a> {
    world: &'a World,
    inbox: &'a SymSlice<u8>,
    signal: &'a SymSlice<u64>,
    peer: usize,
    /// Messages so far, to know which is the next.
    received: u64,
}

impl Channel<'_> {
    /// Sends `block`, and returns it when it may be used again.
    async fn send(&self, block: Vec<u8>) -> oxshmem::Result<Vec<u8>> {
        let (inbox, signal) = (self.inbox.slice(..block.len()), self.signal.at(0));
        Ok(self.world.context().put_signal(inbox, block, signal, Signal::Add(1), self.peer).await?)
    }

    /// Waits until one more message is in the inbox.
    async fn receive(&mut self) -> oxshmem::Result<()> {
        self.received += 1;
        self.signal.at(0).wait_until(Cmp::Ge, self.received).await?;
        Ok(())
    }

    /// Sends a block there and back. An error if it has changed.
    async fn echo(&mut self, size: usize) -> Result<(), Box<dyn Error>> {
        if self.world.my_pe() == 1 {
            self.receive().await?;
            self.send(self.inbox.slice(..size).to_vec()).await?;
            return Ok(());
        }
        let pattern = (0..size).map(|i| (i * 31 + size / 8) as u8).collect();
        let block = self.send(pattern).await?;
        self.receive().await?;
        if self.inbox.slice(..size).to_vec() == block {
            Ok(())
        } else {
            Err(format!("a message of {size} bytes came back changed").into())
        }
    }

    /// The median of half of a round trip.
    async fn measure(&mut self, size: usize, rounds: usize) -> oxshmem::Result<Duration> {
        let warm_up = rounds / 10 + 1;
        let mut times = Vec::with_capacity(rounds);
        let mut block = vec![0; size];
        for round in 0..warm_up + rounds {
            let begin = Instant::now();
            if self.world.my_pe() == 0 {
                block = self.send(block).await?;
                self.receive().await?;
            } else {
                self.receive().await?;
                block = self.send(block).await?;
            }
            if round >= warm_up {
                times.push(begin.elapsed());
            }
        }
        times.sort();
        // What a PE sends to itself goes one way only.
        let trips = if self.peer == self.world.my_pe() { 1 } else { 2 };
        Ok(times[rounds / 2] / trips)
    }
}
