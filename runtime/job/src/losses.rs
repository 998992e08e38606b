//! The PEs that a job has lost, in which the others go on.
//!
//! The launcher numbers losses: each number is a *view* of the job. All PEs learn of them in that
//! order.

use std::{
    collections::HashMap,
    sync::Arc,
    task::{Context, Poll},
};

use oxshmem_base::{
    sync::{AtomicU64, Mutex, Ordering, lock},
    wakes::StoredWaker,
};

/// A PE that its job has lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Which.
    pub pe: usize,
    /// How many the job had lost by then, this one included.
    pub view: u64,
    /// How it ended.
    pub how: Arc<str>,
}

impl Loss {
    /// The loss of PE `pe`, by which the job had lost `view`.
    pub fn new(pe: usize, view: u64, how: &str) -> Self {
        Self { pe, view, how: how.into() }
    }
}

/// A replacement of a PE that was lost.
#[derive(Clone, Debug)]
pub struct Rejoined {
    /// Which.
    pub pe: usize,
    /// What it gave in each of the exchanges by which it has joined; nothing if this PE has joined
    /// after it.
    pub given: Arc<[Vec<u8>]>,
}

/// All of them that this PE knows of.
#[derive(Default)]
pub struct Losses {
    /// How many there were.
    view: AtomicU64,
    /// How many PEs are lost and have no replacement that this PE has let in.
    missing: AtomicU64,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    losses: Vec<Loss>,
    /// Which PEs have had replacements, one after the other, and the last of each.
    rejoined: Vec<usize>,
    replacements: HashMap<usize, Rejoined>,
    missing: HashMap<usize, Loss>,
    waiting: Vec<StoredWaker>,
    calls: Vec<Call>,
}

/// What is done about each loss.
type Call = Arc<dyn Fn(&Loss) + Send + Sync>;

impl Losses {
    /// How many PEs the job has lost.
    #[inline]
    pub fn view(&self) -> u64 {
        // Acquire: a thread that sees a loss sees what was done about it.
        self.view.load(Ordering::Acquire)
    }

    /// The loss of a PE, if it is lost.
    #[inline]
    pub fn of(&self, pe: usize) -> Option<Loss> {
        // Acquire: as above.
        if self.missing.load(Ordering::Acquire) == 0 {
            return None;
        }
        lock(&self.known).missing.get(&pe).cloned()
    }

    /// Whether no PE is lost.
    pub fn is_whole(&self) -> bool {
        self.missing.load(Ordering::Acquire) == 0
    }

    /// The losses behind that view.
    pub fn since(&self, view: u64) -> Vec<Loss> {
        lock(&self.known).losses.get(view as usize..).unwrap_or_default().to_vec()
    }

    /// The first loss behind that view, which it waits for.
    pub fn poll_next(&self, view: u64, cx: &Context<'_>) -> Poll<Loss> {
        self.poll(cx, |known| {
            known.losses.get(view as usize).filter(|loss| loss.view <= self.view()).cloned()
        })
    }

    /// The replacement that is the next behind this many, which it waits for.
    pub fn poll_rejoined(&self, count: usize, cx: &Context<'_>) -> Poll<usize> {
        self.poll(cx, |known| known.rejoined.get(count).copied())
    }

    /// What `find` finds, which it waits for.
    fn poll<T>(&self, cx: &Context<'_>, find: impl Fn(&Known) -> Option<T>) -> Poll<T> {
        let waker = StoredWaker::of(cx.waker());
        let mut known = lock(&self.known);
        if let Some(found) = find(&known) {
            return Poll::Ready(found);
        }
        if !known.waiting.iter().any(|other| other.will_wake(cx.waker())) {
            known.waiting.push(waker);
        }
        Poll::Pending
    }

    /// Has `call` run for each loss, on the thread that learns of it: for those that are known
    /// already now.
    pub fn when_lost(&self, call: impl Fn(&Loss) + Send + Sync + 'static) {
        let known = {
            let mut known = lock(&self.known);
            known.calls.push(Arc::new(call));
            (known.losses.clone(), known.calls.last().cloned())
        };
        if let (losses, Some(call)) = known {
            losses.iter().for_each(|loss| call(loss));
        }
    }

    /// A PE is lost. The launcher's number is that of the next loss, or of one that is known.
    pub fn add(&self, loss: Loss) {
        let calls = {
            let mut known = lock(&self.known);
            if loss.view != known.losses.len() as u64 + 1 {
                return;
            }
            known.losses.push(loss.clone());
            known.missing.insert(loss.pe, loss.clone());
            self.missing.store(known.missing.len() as u64, Ordering::Release);
            known.calls.clone()
        };
        // Before it is announced: what it does ends what a thread would begin in vain.
        calls.iter().for_each(|call| call(&loss));
        let waiting = {
            let mut known = lock(&self.known);
            self.view.store(loss.view, Ordering::Release);
            std::mem::take(&mut known.waiting)
        };
        waiting.into_iter().for_each(StoredWaker::wake);
    }

    /// A PE has a replacement.
    pub fn add_rejoined(&self, rejoined: Rejoined) {
        let waiting = {
            let mut known = lock(&self.known);
            known.rejoined.push(rejoined.pe);
            known.replacements.insert(rejoined.pe, rejoined);
            std::mem::take(&mut known.waiting)
        };
        waiting.into_iter().for_each(StoredWaker::wake);
    }

    /// The replacements of PEs that are lost, the last of each.
    pub fn replacements(&self) -> Vec<Rejoined> {
        let known = lock(&self.known);
        known.missing.keys().filter_map(|pe| known.replacements.get(pe).cloned()).collect()
    }

    /// The replacement of PE `pe`, which was lost up to that view, takes part from now on.
    pub fn let_in(&self, pe: usize, view: u64) {
        let mut known = lock(&self.known);
        if known.missing.get(&pe).is_some_and(|loss| loss.view <= view) {
            known.missing.remove(&pe);
        }
        self.missing.store(known.missing.len() as u64, Ordering::Release);
    }
}

impl std::fmt::Debug for Losses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} losses", self.view())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn losses_are_known_once_and_in_their_order() {
        let losses = Losses::default();
        let seen = Arc::new(AtomicUsize::new(0));
        losses.add(Loss::new(3, 1, "killed"));
        let count = Arc::clone(&seen);
        losses.when_lost(move |_| _ = count.fetch_add(1, Ordering::Relaxed));
        losses.add(Loss::new(3, 1, "killed"));
        losses.add(Loss::new(5, 3, "too early"));
        losses.add(Loss::new(0, 2, "stopped"));
        assert_eq!((losses.view(), seen.load(Ordering::Relaxed)), (2, 2));
        assert_eq!(losses.of(0).map(|loss| loss.view), Some(2));
        assert_eq!((losses.of(5), losses.since(1).len()), (None, 1));
    }
}
