//! What a PE knows of those that the job has lost.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

use oxshmem_base::{Error, sync::Mutex};

/// What a PE knows of losses.
#[derive(Default)]
pub(super) struct Departures {
    /// The PE itself is lost.
    pub(super) dead: AtomicBool,
    /// Whether it knows of any.
    pub(super) any: AtomicBool,
    pub(super) known: Mutex<Known>,
}

#[derive(Default)]
pub(super) struct Known {
    /// View and cause, by PE.
    pub(super) lost: BTreeMap<usize, (u64, Arc<str>)>,
    /// What waits for the loss of a PE to be known, which gives no answer any more.
    pub(super) waiting: Vec<(usize, Unanswered)>,
}

/// Gets the error.
pub(super) type Unanswered = Box<dyn FnOnce(Error) + Send>;

impl Known {
    pub(super) fn error(&self, pe: usize) -> Option<Error> {
        self.lost.get(&pe).map(|(view, how)| Error::PeLost { pe, view: *view, how: how.to_string() })
    }
}
