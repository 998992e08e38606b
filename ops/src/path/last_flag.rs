//! A guess which flag a PE stores next: the one that it stored last.
//!
//! A PE that has seen what it waited for often answers in the flag in which it answered before. The
//! other PE has read that flag since, so its cache line must be fetched again. The end of a wait
//! asks for the line, while the caller is still about to answer. A wrong guess costs time and
//! changes nothing else.

use std::{
    ptr,
    sync::atomic::{AtomicPtr, AtomicU8, Ordering::Relaxed},
};

use oxshmem_memory::copy::prefetch_write;

/// How many words a PE stores one by one, the last of which is a flag, before it waits again.
const ANSWER: u8 = 4;

/// Where a flag was stored last. In a cache line of its own, as it is written where others are only
/// read. All accesses are relaxed: it is no more than a hint.
#[repr(align(64))]
pub(crate) struct LastFlag {
    address: AtomicPtr<u8>,
    /// How many more words that are stored may be flags. A few after each wait, so that threads
    /// that store at once do not all write this line all the time.
    wanted: AtomicU8,
}

impl LastFlag {
    pub(crate) const fn new() -> Self {
        Self { address: AtomicPtr::new(ptr::null_mut()), wanted: AtomicU8::new(0) }
    }

    /// A wait has ended: fetches the line of the last flag. The next few words are taken for the
    /// answer.
    #[inline(always)]
    pub(crate) fn expect(&self) {
        prefetch_write(self.address.load(Relaxed));
        self.wanted.store(ANSWER, Relaxed);
    }

    /// Whether a word that is stored now may be a flag.
    #[inline(always)]
    pub(crate) fn is_expected(&self) -> bool {
        self.wanted.load(Relaxed) > 0
    }

    /// A word is stored at `address`.
    #[inline(always)]
    pub(crate) fn stored(&self, address: *mut u8) {
        let wanted = self.wanted.load(Relaxed);
        if wanted > 0 {
            self.wanted.store(wanted - 1, Relaxed);
            self.address.store(address, Relaxed);
        }
    }

    #[cfg(test)]
    pub(crate) fn address(&self) -> *mut u8 {
        self.address.load(Relaxed)
    }
}
