//! The blocks of symmetric memory that the program has.

use std::{
    collections::BTreeMap,
    sync::{Mutex, atomic::AtomicBool},
};

use oxshmem::SymSlice;

/// The blocks that the program has, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) owned: Mutex<BTreeMap<usize, OwnedBlock>>,
    /// Whether it has been reported that there is no such partition.
    pub(crate) no_partition: AtomicBool,
    /// Whether it has been reported that there is no room.
    pub(crate) no_room: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct OwnedBlock {
    pub(crate) block: SymSlice<u8>,
    pub(crate) from: Origin,
    /// Which it is of those that this PE has not allocated, but the one that it replaces.
    pub(crate) unclaimed: Option<usize>,
}

/// Which routines have allocated a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The routines of a space, or of the default space.
    Space,
    /// The routines of a partition. The block is given back to the routines that name no space,
    /// whichever the default one is.
    Partition,
}
