//! What each algorithm between hosts takes beside the next simpler one, simulated.

use oxshmem::{
    Result,
    settings::{AlltoallAlgorithm, BroadcastAlgorithm, ReduceAlgorithm, Settings},
};
use serde_json::{Value, json};

use crate::{
    formula::{Call, MIB, Network, Shape},
    job, line,
};

/// Asks for one algorithm.
type Ask = fn(&mut Settings);

/// One algorithm beside the next simpler one.
struct Variant {
    call: &'static str,
    name: &'static str,
    than: &'static str,
    ask: [Ask; 2],
}

const BINOMIAL: Ask = |settings| settings.broadcast_algorithm = BroadcastAlgorithm::Binomial;
const SCATTER: Ask = |settings| settings.broadcast_algorithm = BroadcastAlgorithm::Scatter;
const CHAIN: Ask = |settings| settings.broadcast_algorithm = BroadcastAlgorithm::Chain;
const DOUBLING: Ask = |settings| settings.reduce_algorithm = ReduceAlgorithm::Doubling;
const HALVING: Ask = |settings| settings.reduce_algorithm = ReduceAlgorithm::Halving;
const RING: Ask = |settings| settings.reduce_algorithm = ReduceAlgorithm::Ring;
const LEADERS: Ask = |settings| settings.alltoall_algorithm = AlltoallAlgorithm::Leaders;
const PAIRWISE: Ask = |settings| settings.alltoall_algorithm = AlltoallAlgorithm::Pairwise;

/// Of long vectors.
const LONG: [Variant; 4] = [
    Variant { call: "broadcast", name: "scatter", than: "binomial", ask: [SCATTER, BINOMIAL] },
    Variant { call: "broadcast", name: "chain", than: "scatter", ask: [CHAIN, SCATTER] },
    Variant { call: "sum", name: "halving", than: "doubling", ask: [HALVING, DOUBLING] },
    // With one host less, as halving is for powers of two.
    Variant { call: "sum, a host less", name: "ring", than: "halving", ask: [RING, HALVING] },
];

/// Of short blocks.
const SHORT: Variant =
    Variant { call: "alltoall", name: "leaders", than: "pairwise", ask: [LEADERS, PAIRWISE] };

impl Variant {
    fn simulate(&self, network: Network, shape: Shape, bytes: usize) -> Result<Value> {
        let call = match self.call {
            "broadcast" => Call::Broadcast(bytes),
            "alltoall" => Call::Alltoall(bytes),
            _ => Call::Sum(bytes),
        };
        let hosts = if self.call.ends_with("less") { shape.pes - 1 } else { shape.pes };
        let took = |ask: Ask| -> Result<f64> {
            let measured = job::measure(network, Shape { pes: hosts, ..shape }, &[call], |settings| {
                ask(settings);
                settings.symmetric_size = settings.symmetric_size.max(2 * bytes + MIB);
            })?;
            Ok(measured[0].time.as_nanos() as f64)
        };
        let [ours, simpler] = self.ask;
        let what = json!({ "call": self.call, "variant": self.name, "than": self.than, "bytes": bytes,
            "time": took(ours)?, "simpler": took(simpler)? });
        Ok(line(network, shape, what))
    }
}

/// All of them, as lines of JSON.
pub(crate) fn variants(network: Network) -> Result<Vec<Value>> {
    let mut lines = Vec::new();
    for hosts in [8, 64] {
        for bytes in [64 << 10, 128 << 10, MIB, 16 * MIB] {
            for variant in &LONG {
                lines.push(variant.simulate(network, Shape { pes: hosts, per_host: 1 }, bytes)?);
            }
        }
        for bytes in [8, 64] {
            lines.push(SHORT.simulate(network, Shape { pes: 8 * hosts, per_host: 8 }, bytes)?);
        }
    }
    Ok(lines)
}
