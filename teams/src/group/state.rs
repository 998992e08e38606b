//! What the collectives of a team remember from one call to the next, on one PE: a state for each
//! algorithm.
//!
//! Collectives run one at a time, under the lock of their team's queue, so that these are read and
//! written without read-modify-write instructions.

use oxshmem_base::sync::{AtomicU64, AtomicUsize, Ordering};

use crate::memory::scratch;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// One more than before.
    #[inline(always)]
    pub(crate) fn next(&self) -> u64 {
        self.add(1)
    }

    /// `more` than before.
    #[inline(always)]
    pub(crate) fn add(&self, more: u64) -> u64 {
        let number = self.get() + more;
        self.set(number);
        number
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        // Relaxed, as all here: the lock of the queue orders what the collectives of this PE do.
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }
}

/// The messages of broadcasts through slots.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// How many there were, and how many since every PE was known to have taken all.
    sent: Counter,
    unsynced: Counter,
}

impl Slots {
    /// The number of the next message, if there is room for its `bytes`. Otherwise PEs must sync
    /// first.
    #[inline(always)]
    pub(crate) fn next(&self, bytes: usize) -> Option<u64> {
        if self.unsynced.get() >= scratch::broadcast_room(bytes) as u64 {
            return None;
        }
        self.unsynced.next();
        Some(self.sent.next())
    }
}

/// Broadcasts whose copies are shared out.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// How many there were.
    pub(crate) begun: Counter,
    /// What broadcasts of this PE have waited for in all, and what it has waited for in those of
    /// others.
    pub(crate) taken: Counter,
    pub(crate) given: Counter,
}

/// Broadcasts of bytes, in chunks.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    pub(crate) sent: Counter,
    last_root: AtomicUsize,
}

impl Chunks {
    /// Whether the root of the last one was this one; from now on it is.
    pub(crate) fn leads_again(&self, root: usize) -> bool {
        let last = self.last_root.load(Ordering::Relaxed);
        self.last_root.store(root, Ordering::Relaxed);
        last == root
    }
}

/// The states of all algorithms.
#[derive(Debug, Default)]
pub(crate) struct State {
    syncs: Counter,
    exchanges: Counter,
    pub(crate) slots: Slots,
    pub(crate) shares: Shares,
    pub(crate) chunks: Chunks,
    pub(crate) agreements: Counter,
    /// Messages that this PE has sent.
    pub(super) messages: Counter,
}

impl State {
    /// The number of the sync that begins now.
    #[inline(always)]
    pub(crate) fn next_sync(&self) -> u64 {
        self.all_come();
        self.syncs.next()
    }

    /// The number of the exchange that begins now.
    #[inline(always)]
    pub(crate) fn next_exchange(&self) -> u64 {
        self.all_come();
        self.exchanges.next()
    }

    /// A collective that runs now ends on no PE before all have begun it, and so ended all before.
    #[inline(always)]
    fn all_come(&self) {
        self.slots.unsynced.set(0);
    }
}
