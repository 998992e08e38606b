//! Turns at a PE's processor: of the tasks that have all they need, the most urgent computes next.

use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// Hands out one turn at a time.
#[derive(Default)]
pub(crate) struct Turns(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    is_taken: bool,
    waiting: BinaryHeap<Waiting>,
}

struct Waiting {
    rank: (usize, usize),
    granted: oneshot::Sender<()>,
}

/// Ends when it is dropped.
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for a turn. Those of lower rank come first. To be awaited to its end.
    pub(crate) async fn take(&self, rank: (usize, usize)) -> Turn<'_> {
        let granted = {
            let mut queue = self.queue();
            let (granted, wait) = oneshot::channel();
            if queue.is_taken {
                queue.waiting.push(Waiting { rank, granted });
                Some(wait)
            } else {
                queue.is_taken = true;
                None
            }
        };
        if let Some(granted) = granted {
            // The sender is in the queue until it is used.
            granted.await.expect("every turn that is asked for comes");
        }
        Turn(self)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        // One that waits no longer is passed over.
        queue.is_taken = std::iter::from_fn(|| queue.waiting.pop()).any(|next| next.granted.send(()).is_ok());
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        other.rank.cmp(&self.rank)
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Waiting {}
