//! What a thread is about to do, and what it has done.

use std::cell::Cell;

#[cfg(oxshmem_loom)]
use oxshmem_base::sync::CellKey;
use oxshmem_base::sync::thread_local;

thread_local! {
    /// Whether this thread is in a poll after which it drives by itself, so that what it registers
    /// meanwhile needs no helper.
    static WILL_DRIVE: Cell<bool> = const { Cell::new(false) };
    static WOKEN: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread is about to drive.
pub fn will_drive() -> bool {
    WILL_DRIVE.get()
}

/// Sets whether it is, and returns what was set before.
pub(crate) fn set_will_drive(will: bool) -> bool {
    WILL_DRIVE.replace(will)
}

/// This thread is in no poll after which it drives, whatever it was in.
pub(crate) fn will_not_drive() {
    WILL_DRIVE.set(false);
}

/// How many threads this one has woken in their `block_on`.
pub fn woken() -> u32 {
    WOKEN.get()
}

/// This thread has woken another one.
pub(crate) fn count_woken() {
    WOKEN.set(WOKEN.get().wrapping_add(1));
}
