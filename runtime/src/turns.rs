//! Taking turns instead of nesting: what a wake-up sets off may wake the next one within the same call.
//!
//! In one process a PE's step wakes another PE on the same thread, and that one's step the next. Nested, a chain of
//! thousands of PEs would need as much stack; in turns it needs none.

use std::{cell::RefCell, collections::VecDeque, thread::LocalKey};

/// What a thread was asked to do while it did the like; none while it does nothing of the kind.
pub type Turns<T> = RefCell<Option<VecDeque<T>>>;

/// Does `step` on `item` now, or, inside of another such call on this thread, when that has done its own.
///
/// ```
/// use std::cell::RefCell;
/// use oxshmem_runtime::turns::{Turns, in_turn};
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
    while let Some(item) = next {
        step(item);
        next = turns.with_borrow_mut(|turns| {
            let next = turns.as_mut().and_then(VecDeque::pop_front);
            if next.is_none() {
                *turns = None;
            }
            next
        });
    }
}
