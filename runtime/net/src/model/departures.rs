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
    /// Which replacement it has let in, and the loss before that.
    pub(super) let_in: BTreeMap<usize, (u64, (u64, Arc<str>))>,
    /// What waits for the loss of a PE to be known, which gives no answer any more.
    pub(super) waiting: Vec<(usize, Unanswered)>,
}

/// Gets the error.
pub(super) type Unanswered = Box<dyn FnOnce(Error) + Send>;

impl Known {
    pub(super) fn error(&self, pe: usize) -> Option<Error> {
        self.lost.get(&pe).map(|(view, how)| Error::PeLost { pe, view: *view, how: how.to_string() })
    }

    /// What it gets with that one of the PE and its replacements.
    pub(super) fn error_of(&self, pe: usize, coming: u64) -> Option<Error> {
        let before = self.let_in.get(&pe).filter(|(let_in, _)| coming < *let_in);
        let before = before.map(|(_, (view, how))| Error::PeLost { pe, view: *view, how: how.to_string() });
        before.or_else(|| self.error(pe))
    }
}
