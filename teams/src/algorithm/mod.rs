//! The algorithms among the PEs of a host, each in a file.
//!
//! | module | algorithm |
//! |---|---|
//! | [`sync`] | dissemination, and a central counter |
//! | [`exchange`] | all to all through slots, and a tree up and down |
//! | [`tree_broadcast`] | a broadcast down a tree, through slots or destinations |
//! | [`direct`] | everything that is larger, in the memory of all PEs |
//! | [`share`] | a broadcast in which the root copies what late PEs have not taken |
//! | [`chunks`] | a broadcast of bytes down a tree, in chunks |
//! | [`lengths`] | how much each PE gives to a collect |

pub(crate) mod called;
pub(crate) mod chunks;
pub(crate) mod direct;
pub(crate) mod exchange;
pub(crate) mod lengths;
pub(crate) mod share;
pub(crate) mod sync;
pub(crate) mod tree;
pub(crate) mod tree_broadcast;
