//! Collectives that have failed while a network had memory of theirs.
//!
//! A collective owns the memory it works on. One that is dropped while the network may yet write
//! there, or read, is kept until the messages of its team are over: until those of a revoked team
//! are forgotten.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use oxshmem_base::sync::{Mutex, lock};
use oxshmem_spaces::Pe;

use crate::group::Group;

/// A collective that is kept when this is dropped, if a network has memory of its team's.
pub(super) struct Kept<'a, F: Send + 'static> {
    pub(super) task: Option<Pin<Box<F>>>,
    pub(super) group: &'a Group,
    pub(super) lent: &'a Arc<AtomicUsize>,
}

impl<F: Send + 'static> Drop for Kept<'_, F> {
    fn drop(&mut self) {
        if !is_back(self.lent)
            && let Some(task) = self.task.take()
        {
            let kept = self.group.pe().kept::<AllKept>();
            lock(&kept.0).push((Arc::clone(self.lent), Box::new(task)));
        }
    }
}

/// A task, with the count of what is lent.
type KeptTask = (Arc<AtomicUsize>, Box<dyn Send>);

/// All of a PE.
#[derive(Default)]
struct AllKept(Mutex<Vec<KeptTask>>);

fn is_back(lent: &AtomicUsize) -> bool {
    // Acquire: what has come is there before the memory is another's.
    lent.load(Ordering::Acquire) == 0
}

/// Drops those whose memory the network has given back.
pub(crate) fn give_back(pe: &Pe) {
    let kept = pe.kept::<AllKept>();
    let over: Vec<_> = lock(&kept.0).extract_if(.., |(lent, _)| is_back(lent)).collect();
    // With the lock free: a task may have the last handle of a team.
    drop(over);
}
