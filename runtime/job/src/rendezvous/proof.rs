//! What the [proof](crate::proof) of a PE of a rendezvous says: which PE it is to be. What follows
//! is encrypted, as secrets of the job are among it.

use crate::proof::Handshake;
pub(super) use crate::proof::{LONGEST, SecretKey};

/// One side of the proof: the PE says its number and how many PEs there are, and PE 0 nothing.
pub(super) type Proof = Handshake<2, 0>;

/// The beginning of a connection.
pub(super) fn begin() -> Proof {
    Proof::new(*b"oxshmemr", true)
}

/// Which PE a process is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pe: u64,
    pub(super) n_pes: u64,
}
