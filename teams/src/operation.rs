//! What the PEs of a team do together on symmetric memory: the one description of a collective.
//!
//! Its [signature](crate::signature) is made of it, and each way asks it what to do: `device`,
//! `hosts`, and among the PEs of a host [`exchange`](crate::algorithm::exchange) through slots,
//! [`tree_broadcast`](crate::algorithm::tree_broadcast) and [`direct`](crate::algorithm::direct).

use crate::reduction::Kernel;

/// A collective, the same on all PEs of the team.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Nothing is moved: PEs only wait for each other.
    Meet,
    /// Each gets what `root` has, and that PE too if `to_root`.
    Broadcast { root: usize, to_root: bool },
    /// Each gets the combination of all.
    Reduce(&'static Kernel),
    /// Each gets the combination of those up to it, or before it.
    Scan { kernel: &'static Kernel, inclusive: bool },
    /// Each gets all, one behind the other.
    Fcollect,
    /// Each gets all, which may differ in length.
    Collect,
    /// Each gets its block of all PEs', one behind the other.
    Alltoall,
    /// Each gets its block, of `nelems` elements, of all PEs'. They lie `dst` and `sst` elements
    /// apart in the destination and in the source.
    Alltoalls { dst: usize, sst: usize, nelems: usize },
}
