//! Which PEs a context reaches, and which of them without a further look.

use std::{
    any::Any,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use oxshmem_base::sync::{Mutex, lock};
use oxshmem_spaces::Losses;

use crate::members::Members;

/// Which PEs a context reaches.
pub(super) struct Reach {
    /// Of the numbers that operations take, how many in a row from `near_from` on are on this host.
    /// 0 once the team is destroyed. All PEs where there is but one host; none where those of this
    /// host do not follow each other in the team, so that each is looked up.
    pub(super) near: AtomicUsize,
    pub(super) near_from: usize,
    /// Their numbers among those of this host.
    pub(super) local_pes: Members,
    /// Operations take PE numbers below this: the team's size, and 0 once the team is destroyed.
    pub(super) n: AtomicUsize,
    pub(super) members: Members,
    /// This PE's number among them.
    pub(super) me: usize,
    /// The team that the context was made from.
    pub(super) team: Arc<dyn Any + Send + Sync>,
}

/// What the contexts of a PE reach, in a job that goes on without PEs that it has lost.
#[derive(Default)]
pub(super) struct Reaches {
    all: Mutex<Vec<Weak<Reach>>>,
    informed: OnceLock<()>,
}

impl Reaches {
    /// Once a PE is lost, each operation looks whether its target is.
    pub(super) fn add(self: &Arc<Self>, reach: &Arc<Reach>, losses: &Losses) {
        {
            let mut all = lock(&self.all);
            if all.len() == all.capacity() {
                all.retain(|reach| reach.strong_count() > 0);
            }
            all.push(Arc::downgrade(reach));
        }
        self.informed.get_or_init(|| {
            let take_care = |this: &Weak<Self>| {
                let Some(this) = this.upgrade() else { return };
                lock(&this.all).iter().filter_map(Weak::upgrade).for_each(|reach| reach.take_care());
            };
            let [first, then] = [self, self].map(Arc::downgrade);
            losses.before_lost(move || take_care(&first));
            // And those that were made meanwhile.
            losses.when_lost(move |_| take_care(&then));
        });
        if !losses.since(0).is_empty() {
            reach.take_care();
        }
    }
}

impl Reach {
    /// None is near for sure from now on.
    fn take_care(&self) {
        // Relaxed: an operation that does not see it writes to memory that stays mapped.
        self.near.store(0, Ordering::Relaxed);
    }
}
