//! What the [proof](crate::proof) of a PE of a rendezvous says: which PE it is to be.

use crate::proof::{self, ACCEPT, BEGIN};
pub(super) use crate::proof::{LONGEST, SecretKey};

/// What a connection of this form begins with.
pub(super) const MAGIC: [u8; 8] = *b"oxshmemr";
/// Bytes of each of the three messages.
pub(super) const LENGTHS: [usize; 3] = [BEGIN, ACCEPT, proof::words(2)];

/// Which PE a process is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pe: u64,
    pub(super) n_pes: u64,
}
