//! Taking turns instead of nesting: what a wake-up sets off may wake the next one within the same
//! call.
//!
//! In one process a PE's step wakes another PE on the same thread, and that one's step the next.
//! Nested, a chain of thousands of PEs would need as much stack; in turns it needs none.

use std::{
    cell::RefCell,
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering},
};

#[cfg(oxshmem_loom)]
use crate::local::RefCellKey;
use crate::{local::LocalKey, panics::Panics};

/// What a thread was asked to do while it did the like; none while it does nothing of the kind.
pub type Turns<T> = RefCell<Option<VecDeque<T>>>;

/// Does `step` on `item` now, or, inside of another such call on this thread, when that has done
/// its own.
///
/// A step that panics does so out of the outermost call, when that has done all others.
///
/// ```
/// use std::cell::RefCell;
/// use oxshmem_base::turns::{Turns, in_turn};
///
/// thread_local!(static TURNS: Turns<u32> = const { RefCell::new(None) });
/// let done = RefCell::new(Vec::new());
/// fn countdown(n: u32, done: &RefCell<Vec<u32>>) {
///     in_turn(&TURNS, n, |n| {
///         if n > 0 {
///             countdown(n - 1, done); // comes back at once, and is done afterwards
///         }
///         done.borrow_mut().push(n);
///     });
/// }
/// countdown(3, &done);
/// assert_eq!(done.into_inner(), [3, 2, 1, 0]);
/// ```
pub fn in_turn<T: 'static>(turns: &'static LocalKey<Turns<T>>, item: T, step: impl Fn(T)) {
    let mut next = turns.with_borrow_mut(|turns| match turns {
        Some(turns) => {
            turns.push_back(item);
            None
        }
        None => {
            *turns = Some(VecDeque::new());
            Some(item)
        }
    });
    let mut panics = Panics::default();
    while let Some(item) = next {
        panics.run(|| step(item));
        next = turns.with_borrow_mut(|turns| {
            let next = turns.as_mut().and_then(VecDeque::pop_front);
            if next.is_none() {
                *turns = None;
            }
            next
        });
    }
    panics.resume();
}

/// How often something was to be driven since a thread began to.
#[derive(Debug, Default)]
pub struct Drives(AtomicUsize);

impl Drives {
    /// Does `step` on this thread until no thread has called this since the last one began. If
    /// another thread is doing that, it does one more, and this one returns at once.
    pub fn drive(&self, mut step: impl FnMut()) {
        // AcqRel: the thread that does the step sees what was there before the call.
        if self.0.fetch_add(1, Ordering::AcqRel) != 0 {
            return;
        }
        let mut seen = 1;
        loop {
            step();
            match self.0.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(more) => seen = more,
            }
        }
    }
}

#[cfg(all(test, not(oxshmem_loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_step_that_panics_leaves_the_others_their_turns_and_the_thread_usable() {
        thread_local!(static TURNS: Turns<u32> = const { RefCell::new(None) });
        let done = RefCell::new(Vec::new());
        let start = |first| {
            fn step(n: u32, done: &RefCell<Vec<u32>>) {
                in_turn(&TURNS, n, |n| {
                    done.borrow_mut().push(n);
                    if n >= 10 {
                        (1..4).for_each(|more| step(n / 10 + more, done));
                        panic!("step {n}");
                    }
                });
            }
            let panicked = catch_unwind(AssertUnwindSafe(|| step(first, &done)));
            let why = panicked.err().map(|why| *why.downcast::<String>().unwrap());
            (done.take(), why)
        };
        // Of two panics the first goes on.
        assert_eq!(start(80), (vec![80, 9, 10, 11, 2, 3, 4, 2, 3, 4], Some("step 80".to_owned())));
        assert_eq!(start(7), (vec![7], None));
    }
}
