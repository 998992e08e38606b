//! Panics that wait: where a thread does something for one after the other, who panics must not leave the rest undone.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

/// Those that wait for the rest.
#[derive(Default)]
pub(crate) struct Panics(Vec<Box<dyn Any + Send>>);

impl Panics {
    /// Does `step`. If that panics, [`resume`](Self::resume) does so later.
    pub(crate) fn run(&mut self, step: impl FnOnce()) {
        // Unwind safe, as the panic does go on, and before that nobody but other steps sees what this one has left.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(step)) {
            self.0.push(panic);
        }
    }

    /// Nothing else is to be done: goes on with the first panic, if there was one.
    pub(crate) fn resume(self) {
        if let Some(first) = self.0.into_iter().next() {
            resume_unwind(first);
        }
    }
}
