//! The last wait of a collective: its future looks at what it waits for without the queue.

use oxshmem_base::sync::{AtomicU64, AtomicUsize, Ordering};

use super::{Core, running::Then};
use crate::group::Awaited;

/// Where in the place of a [`LastWait`] it says what is left to do then.
const THEN: usize = 1;
const _: () = assert!(THEN < align_of::<u64>() && Then::Take as usize == THEN && Then::Over as usize == 0);

/// What the youngest collective waits for, if that is the last thing it does: its future looks at
/// it without the queue.
///
/// A thread that reads while another thread begins the next one may see parts of that one's, and
/// with them look at any words of the scratch memory. This one has ended then, so that whatever it
/// finds there is right, or is found out in the queue.
#[derive(Debug, Default)]
pub(super) struct LastWait {
    ticket: AtomicU64,
    place: AtomicUsize,
    row: AtomicUsize,
    number: AtomicU64,
}

impl LastWait {
    #[inline(always)]
    pub(super) fn set(&self, ticket: u64, awaited: Awaited, then: Then) {
        self.place.store(awaited.place | then as usize, Ordering::Relaxed);
        self.row.store(awaited.row, Ordering::Relaxed);
        self.number.store(awaited.number, Ordering::Relaxed);
        // Release: with the ticket comes what it waits for, or what later ones do.
        self.ticket.store(ticket, Ordering::Release);
    }

    /// What the collective with that ticket waits for.
    #[inline(always)]
    pub(super) fn get(&self, ticket: u64) -> Option<(Awaited, Then)> {
        if self.ticket.load(Ordering::Acquire) != ticket {
            return None;
        }
        let (place, row) = (self.place.load(Ordering::Relaxed), self.row.load(Ordering::Relaxed));
        let awaited = Awaited { place: place & !THEN, number: self.number.load(Ordering::Relaxed), row };
        let then = if place & THEN == 0 { Then::Over } else { Then::Take };
        Some((awaited, then))
    }
}

impl Core {
    /// Looks for what is awaited for as long as a wait may spin; whether it has come.
    #[inline(always)]
    pub(super) fn look_for(&self, awaited: Awaited) -> bool {
        let has_come = || self.group.have_come(awaited);
        has_come() || self.group.pe().engine().spin_until(has_come)
    }
}
