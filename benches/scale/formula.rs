//! Closed formulas of the collectives between hosts.
//!
//! A message of b bytes takes its sender's processor for o, then its wire for b/B; it arrives after
//! L, and takes its receiver's processor for r. Every leader sends the next one what it was called
//! for, in 24 bytes: with the first short message to that one, if it has any before it waits, and
//! otherwise by a message that may be in the way of others.

use std::{fmt, str::FromStr, time::Duration};

use oxshmem::Link;
use oxshmem_teams::tuning::{CHUNK, CHUNKS_IN_RING, Fold, Pairs, Spread, Tuning};
use serde_json::{Value, json};

use crate::line;

/// The parameters of a network, in ns and bytes a ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Network {
    name: &'static str,
    latency: u64,
    overhead: u64,
    receipt: u64,
    /// Bytes a second.
    bandwidth: u64,
}

/// What a cluster with a current interconnect may have.
const RDMA: Network =
    Network { name: "rdma", latency: 1_000, overhead: 200, receipt: 200, bandwidth: 25_000_000_000 };
/// What one with ten-gigabit Ethernet may have.
const TCP: Network =
    Network { name: "tcp", latency: 15_000, overhead: 2_000, receipt: 2_000, bandwidth: 1_250_000_000 };

/// How many PEs, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) pes: usize,
    pub(crate) per_host: usize,
}

/// A collective, with the bytes of one PE's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Sync,
    Broadcast(usize),
    Sum(usize),
    Alltoall(usize),
}

pub(crate) const MIB: usize = 1 << 20;
/// Bytes of a call check between leaders.
const CHECK: usize = 32;
const CARGO: usize = 16 << 10;
impl Network {
    /// The link of a simulation.
    pub(crate) fn link(self) -> Link {
        Link {
            latency: Duration::from_nanos(self.latency),
            overhead: Duration::from_nanos(self.overhead),
            receipt: Duration::from_nanos(self.receipt),
            bandwidth: self.bandwidth,
            virtual_time: true,
            ..Link::default()
        }
    }

    /// The time of some bytes on a wire, in whole ns as the simulator has it.
    fn wire(self, bytes: usize) -> f64 {
        (bytes as u128 * 1_000_000_000 / u128::from(self.bandwidth)) as f64
    }

    /// o + L + r: one message, without its bytes.
    fn step(self) -> f64 {
        (self.overhead + self.latency + self.receipt) as f64
    }

    /// What a call check takes on the wire that goes with this many bytes.
    fn check_with(self, bytes: usize) -> f64 {
        self.wire(CHECK + bytes) - self.wire(bytes)
    }

    /// What call checks add to a broadcast whose first message has this many bytes.
    fn check_of_broadcast(self, hosts: usize, bytes: usize) -> f64 {
        let (r, check, wire) = (self.receipt as f64, self.wire(CHECK), self.wire(bytes));
        match hosts {
            2 if bytes <= CARGO => self.check_with(bytes),
            2 => r.max(check),
            // That of the leader before comes by itself: after the data, before which there is
            // something to be passed on, or before them.
            _ if wire <= check => r,
            _ => (check + r - wire).max(0.0),
        }
    }

    /// What they add to a reduction by doubling.
    fn check_of_doubling(self, hosts: usize, bytes: usize) -> f64 {
        let (o, r) = (self.overhead as f64, self.receipt as f64);
        let (check, wire) = (self.wire(CHECK), self.wire(bytes));
        // Every other leader gets one by itself. Where that comes while the first data are taken
        // in, it is next.
        let comes = (2.0 * o).max(o + wire) + check;
        match bytes <= CARGO && (hosts == 2 || comes > o + wire + r) {
            true => self.check_with(bytes),
            false => r.max(check),
        }
    }

    /// As many messages from and to each: all that they take of the processors, or of the wires, or
    /// of the processor for sending and then the way of the last one.
    fn all_to_all(self, messages: f64, bytes: usize) -> f64 {
        let (o, r, wire, l) =
            (self.overhead as f64, self.receipt as f64, self.wire(bytes), self.latency as f64);
        // The call check of a host that sends more is the last message.
        let (all, first, last) = match bytes <= CARGO {
            true => (messages, wire + self.check_with(bytes), self.check_with(bytes)),
            false => (messages + 1.0, 0.0, r),
        };
        let taken_in = (all * o).max(o + first + l) + all * r;
        taken_in.max(messages * o + wire + l + r).max(o + messages * wire + last + l + r)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "rdma" => return Ok(RDMA),
            "tcp" => return Ok(TCP),
            _ => {}
        }
        let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[latency, overhead, receipt, bandwidth]) => {
                Ok(Self { name: "", latency, overhead, receipt, bandwidth })
            }
            _ => {
                Err("rdma, tcp, or four numbers: latency, overhead and receipt in ns, bytes a second".into())
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            "" => write!(f, "{},{},{},{}", self.latency, self.overhead, self.receipt, self.bandwidth),
            name => f.write_str(name),
        }
    }
}

impl Shape {
    pub(crate) fn hosts(self) -> usize {
        self.pes.div_ceil(self.per_host)
    }
}

/// Rounds after which something from each of k hosts has come to all.
fn rounds(hosts: usize) -> f64 {
    f64::from(hosts.next_power_of_two().trailing_zeros())
}

impl Call {
    /// Short ones first.
    pub(crate) const ALL: [Self; 7] = [
        Self::Sync,
        Self::Broadcast(8),
        Self::SHORT,
        Self::Alltoall(8),
        Self::Alltoall(64),
        Self::Broadcast(MIB),
        Self::Sum(MIB),
    ];
    /// The last of those that touch no more than a page of the heap.
    pub(crate) const SHORT: Self = Self::Sum(8);

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Broadcast(_) => "broadcast",
            Self::Sum(_) => "sum",
            Self::Alltoall(_) => "alltoall",
        }
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Sync => 0,
            Self::Broadcast(bytes) | Self::Sum(bytes) | Self::Alltoall(bytes) => bytes,
        }
    }

    /// The line of JSON that the formulas alone give.
    pub(crate) fn line(self, network: Network, shape: Shape) -> Value {
        let formula = self.nanos(network, shape) / 1e3;
        line(network, shape, json!({ "call": self.name(), "bytes": self.bytes(), "formula": formula }))
    }

    /// How long it takes between hosts, in ns.
    pub(crate) fn nanos(self, network: Network, Shape { pes, per_host }: Shape) -> f64 {
        let (hosts, tuning) = (Shape { pes, per_host }.hosts(), Tuning::default());
        if hosts < 2 {
            return 0.0;
        }
        match self {
            Self::Sync => rounds(hosts) * network.step() + network.check_with(0),
            Self::Broadcast(bytes) => network.broadcast(hosts, bytes, tuning.broadcast_between(hosts, bytes)),
            Self::Sum(bytes) => network.reduce(hosts, bytes, tuning.reduce_between(hosts, bytes)),
            Self::Alltoall(bytes) => {
                network.alltoall([pes, per_host], bytes, tuning.alltoall_between(per_host, bytes))
            }
        }
    }
}

impl Network {
    /// Everything, but what a host has already, in rounds with ever smaller parts and in as many
    /// with larger ones.
    fn twice(self, hosts: usize, rounds: f64, bytes: usize) -> f64 {
        2.0 * (rounds * self.step() + (1.0 - 1.0 / hosts as f64) * self.wire(bytes))
    }

    /// A broadcast between hosts, in ns.
    pub(crate) fn broadcast(self, hosts: usize, bytes: usize, spread: Spread) -> f64 {
        let (log, step, chunk) = (rounds(hosts), self.step(), self.wire(CHUNK));
        let time = match spread {
            Spread::Scatter => self.twice(hosts, log, bytes),
            Spread::Binomial if bytes <= CHUNK => log * (step + self.wire(bytes)),
            // The root's wire has all chunks for all its children; the last one has log k hosts
            // before it.
            Spread::Binomial => log * (self.wire(bytes) - chunk) + log * (step + chunk),
            Spread::Chain => self.wire(bytes) - chunk + (hosts as f64 - 1.0) * (step + chunk),
        };
        time + self.check_of_broadcast(hosts, bytes.min(CHUNK))
    }

    /// A reduction between hosts, in ns.
    pub(crate) fn reduce(self, hosts: usize, bytes: usize, fold: Fold) -> f64 {
        let (k, log, step) = (hosts as f64, f64::from(hosts.ilog2()), self.step());
        // The hosts beyond a power of two give theirs away and get the result.
        let beyond = if hosts.is_power_of_two() { 0.0 } else { 2.0 * (step + self.wire(bytes)) };
        let time = match fold {
            Fold::Doubling => log * (step + self.wire(bytes)) + beyond,
            Fold::Halving => self.twice(hosts, log, bytes) + beyond,
            Fold::Ring => {
                // Parts of up to some chunks for each host, which follow each other around: either
                // wires are always busy, or the first chunk meets none on its way.
                let whole = bytes.min(CHUNKS_IN_RING * CHUNK * hosts);
                let (part, rounds) = (whole / hosts, 2.0 * (k - 1.0));
                let chunk = part.min(CHUNK);
                let busy = rounds * self.wire(part) + step;
                let first = rounds * (step + self.wire(chunk)) + self.wire(part - chunk);
                (bytes as f64 / whole as f64) * busy.max(first)
            }
        };
        time + self.check_of_doubling(hosts, bytes)
    }

    /// An all-to-all between hosts with as many PEs in all and on each, in ns.
    pub(crate) fn alltoall(self, [pes, per_host]: [usize; 2], bytes: usize, pairs: Pairs) -> f64 {
        match pairs {
            Pairs::Leaders => {
                self.all_to_all((pes.div_ceil(per_host) - 1) as f64, bytes * per_host * per_host)
            }
            Pairs::All => self.all_to_all((pes - per_host) as f64, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job;

    /// What was simulated, in ns.
    fn simulated(call: Call, network: Network, pes: usize, per_host: usize) -> f64 {
        let measured = job::measure(network, Shape { pes, per_host }, &[call], |_| ()).unwrap();
        measured[0].time.as_nanos() as f64
    }

    fn agree(call: Call, per_host: usize, hosts: &[usize], tolerance: f64) {
        // In the third network a message keeps the receiver longer than the sender, in the fourth
        // it is the other way round.
        let others =
            ["1000,100,300,25000000000", "1000,300,100,25000000000"].map(|text| text.parse().unwrap());
        for network in [RDMA, TCP].into_iter().chain(others) {
            for &k in hosts {
                let (pes, shape) = (k * per_host, Shape { pes: k * per_host, per_host });
                let (simulated, formula) =
                    (simulated(call, network, pes, per_host), call.nanos(network, shape));
                assert!(
                    (simulated - formula).abs() <= tolerance * formula,
                    "{call:?} on {k} hosts with {per_host} PEs, {network}: {simulated} ns, by formula {formula}"
                );
            }
        }
    }

    #[test]
    fn a_sync_takes_log_k_steps_exactly() {
        agree(Call::Sync, 1, &[2, 3, 4, 7, 8, 13, 32], 0.0);
        agree(Call::Sync, 3, &[2, 5, 8], 0.0);
    }

    #[test]
    fn a_short_reduction_takes_log_k_steps_exactly() {
        agree(Call::Sum(8), 1, &[2, 4, 8, 32], 0.0);
        agree(Call::Sum(8), 3, &[2, 8], 0.0);
    }

    #[test]
    fn a_short_broadcast_takes_log_k_steps_exactly() {
        agree(Call::Broadcast(8), 1, &[2, 4, 8, 32], 0.0);
        agree(Call::Broadcast(8), 3, &[2, 8], 0.0);
    }

    #[test]
    fn long_vectors_take_what_the_formulas_say_within_a_tenth() {
        agree(Call::Broadcast(MIB), 1, &[2, 4, 8, 16, 32, 100], 0.1);
        agree(Call::Broadcast(128 << 10), 1, &[8, 64], 0.1);
        agree(Call::Sum(MIB), 1, &[2, 4, 8, 16, 32, 64, 100, 128], 0.1);
        agree(Call::Sum(64 << 10), 1, &[8, 64], 0.1);
    }

    #[test]
    fn an_alltoall_takes_a_message_a_host_or_a_pe_within_a_tenth() {
        agree(Call::Alltoall(8), 1, &[2, 4, 8, 32, 100], 0.1);
        agree(Call::Alltoall(8), 3, &[2, 8], 0.1);
        agree(Call::Alltoall(800), 9, &[2, 4, 8], 0.001);
        agree(Call::Alltoall(32 << 10), 3, &[8, 20], 0.1);
        agree(Call::Alltoall(8 << 10), 3, &[8, 20], 0.12);
    }

    #[test]
    fn networks_are_read_as_they_are_written() {
        for text in ["rdma", "tcp", "1,2,3,4"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        assert!("wifi".parse::<Network>().is_err() && "1,2".parse::<Network>().is_err());
    }
}
