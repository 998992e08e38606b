//! Why a job took as long as it did.
//!
//! | module | |
//! |---|---|
//! | `graph` | which PE waited for which, and what they did between |
//! | `path` | the critical path |
//! | `states` | waits, by the names that the field has for their reasons |
//! | `what_if` | what the job would take, were a PE as fast as the others |

mod graph;
mod path;
mod states;
#[cfg(test)]
mod tests;
mod what_if;

use serde_json::{Value, json};

use self::graph::Graph;
use crate::trace::model::Trace;

/// What the page shows of it.
pub(super) fn of(trace: &Trace) -> Value {
    let graph = Graph::of(trace);
    let path = path::of(&graph);
    json!({
        "length": path::length(&path),
        "by_pe": path::by_pe(&graph, &path).iter().take(5).collect::<Vec<_>>(),
        "path": path::rows(&graph, &path),
        "parts": path::parts(&graph, &path),
        "states": states::rows(&graph),
        "what_if": what_if::rows(&graph),
    })
}

/// How long the PEs of a job were in each wait state, added up.
pub(super) fn lost(trace: &Trace) -> impl Iterator<Item = (&'static str, u64)> {
    states::lost(&Graph::of(trace))
}
