//! Panics of code that is not ours, and of one step among several: neither may leave the rest
//! undone.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

/// Panics that wait until the rest is done.
#[derive(Default)]
pub struct Panics(Vec<Box<dyn Any + Send>>);

impl Panics {
    /// Does `step`. If that panics, [`resume`](Self::resume) does so later.
    pub fn run(&mut self, step: impl FnOnce()) {
        // Unwind safe, as the panic does go on, and before that only other steps see what
        // this one has left.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(step)) {
            self.0.push(panic);
        }
    }

    /// Nothing else is to be done: goes on with the first panic, if there was one.
    pub fn resume(self) {
        if let Some(first) = self.0.into_iter().next() {
            resume_unwind(first);
        }
    }
}

/// Does `step`, and ends a panic of it here. The program's panic hook has reported it by then,
/// which by default prints it.
///
/// It is for code of the program, a waker or a buffer's destructor, that the library runs on behalf
/// of one task: other tasks depend on what this thread does next.
pub fn survive(step: impl FnOnce()) {
    // Unwind safe, as `step` owns what it works on.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(step))
        // What a program panics with may panic when it is dropped.
        && let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        mem::forget(another);
    }
}
