//! Memory kinds: which memory the partitions of the symmetric heap are in (memory kinds 0.7).
//!
//! A partition is a range of the one heap that every PE has. Partitions differ in the memory behind
//! their addresses. Only this folder and the allocator know of them.
//!
//! | module | question |
//! |---|---|
//! | [`layout`] | where in a PE's heap does each partition lie? |
//! | [`topology`] | which NUMA nodes does this host have, and which of them are fast? |
//! | [`pages`] | which sizes of huge pages are there, and how many? |
//! | [`plan`](mod@plan) | what is a partition to be mapped to on such a host? |
//! | `map` | how is that done? |
//! | [`mapping`] | what was it mapped to? All PEs of the host get this |
//! | [`report`] | how is all of that written for people? |

pub mod layout;
mod map;
pub mod mapping;
pub mod pages;
pub mod partitions;
pub mod plan;
pub mod report;
pub mod topology;

pub use layout::{PartitionLayout, Place};
pub use map::map;
pub use mapping::Mapping;
pub use pages::HugePages;
pub use plan::{Plan, plan};
pub use report::{forecast, host_memory};
pub use topology::{Node, Topology};

pub use oxshmem_memory::Spread;

/// `bytes` in the largest unit that shows it without a fraction: `2M`.
///
/// ```
/// # use oxshmem_spaces::kinds::show_bytes;
/// assert_eq!([4096, 3 << 20, 5].map(show_bytes), ["4K", "3M", "5"]);
/// ```
pub fn show_bytes(bytes: usize) -> String {
    oxshmem_base::settings::show_size(bytes)
}

/// Numbers of NUMA nodes as text: `node 0`, `nodes 0, 2`.
pub(crate) fn show_nodes(nodes: &[usize]) -> String {
    let all: Vec<_> = nodes.iter().map(ToString::to_string).collect();
    format!("{} {}", if nodes.len() == 1 { "node" } else { "nodes" }, all.join(", "))
}
