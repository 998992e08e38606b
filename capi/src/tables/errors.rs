//! The errors that contexts have in jobs that go on when a PE is lost.

use std::{
    collections::BTreeMap,
    ffi::c_int,
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use oxshmem::{Context, Error, World};

/// `SHMEMX_PE_LOST`.
pub(crate) const PE_LOST: c_int = 1;

/// The first error of each context that had one, by its address.
#[derive(Debug, Default)]
pub(crate) struct Errors(Mutex<BTreeMap<usize, c_int>>);

impl Errors {
    fn errors(&self) -> MutexGuard<'_, BTreeMap<usize, c_int>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation of a context was one with a lost PE.
    pub(crate) fn leave(&self, context: &Context) {
        self.errors().entry(ptr::from_ref(context).addr()).or_insert(PE_LOST);
    }

    /// Another context takes the place of one.
    pub(crate) fn pass_on(&self, from: &Context, to: &Context) {
        if self.take(from) != 0 {
            self.leave(to);
        }
    }

    /// That of a context, which has none any more.
    pub(crate) fn take(&self, context: &Context) -> c_int {
        self.errors().remove(&ptr::from_ref(context).addr()).unwrap_or(0)
    }
}

/// Whether an error is that of a lost PE, in a job that goes on.
pub(crate) fn is_survived(world: &World, error: &Error) -> bool {
    matches!(error, Error::PeLost { view: 1.., .. }) && world.pe().losses().is_some()
}

/// Whether a PE is lost, in such a job.
pub(crate) fn is_any_lost(world: &World) -> bool {
    world.pe().losses().is_some_and(|losses| !losses.since(0).is_empty())
}
