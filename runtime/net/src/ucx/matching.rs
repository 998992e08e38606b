//! Messages are matched by their sender, its tag, and their order.

use std::{collections::HashMap, hash::BuildHasherDefault};

use oxshmem_base::{Error, Result};
use oxshmem_memory::copy;
use oxshmem_progress::completion::Completion;
use smallvec::SmallVec;

use super::{
    NumberHasher,
    offers::{Bytes, Offer},
};

/// The sender, and the tag.
pub(super) type Key = (usize, u64);
/// In their order. Seldom is there more than one with a key, and never more than a few.
pub(super) type By<T> = HashMap<Key, SmallVec<[T; 1]>, BuildHasherDefault<NumberHasher>>;

/// A message that is to be received.
pub(super) struct AwaitedMessage {
    pub(super) to: Bytes,
    pub(super) done: Completion<usize>,
}

/// A message that has come before it is received.
pub(super) enum Came {
    Whole(Vec<u8>),
    Offered(Offer),
    /// Not all of it, by its number.
    InPieces(u64),
    /// Nothing of it, of that number and this many bytes.
    Promised(u64, usize),
}

/// Takes the first of those with that key.
pub(super) fn take<T>(all: &mut By<T>, key: Key) -> Option<T> {
    let queue = all.get_mut(&key)?;
    if queue.len() > 1 {
        return Some(queue.remove(0));
    }
    // Tags seldom come again.
    all.remove(&key)?.pop()
}

/// Copies what has come to where it is received, if there is room.
pub(super) fn take_whole(pe: usize, bytes: &[u8], to: Bytes) -> Result<usize> {
    if bytes.len() > to.len {
        return Err(too_long(pe, bytes.len(), to.len));
    }
    // SAFETY: the receiver keeps `to`, which has room for them, until it is done.
    unsafe { copy::copy(to.at, bytes.as_ptr(), bytes.len()) };
    Ok(bytes.len())
}

#[cold]
pub(super) fn too_long(pe: usize, came: usize, room: usize) -> Error {
    Error::bootstrap("net", format!("PE {pe} has sent {came} bytes where {room} were expected"))
}
