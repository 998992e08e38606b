//! A queue that is run under a lock: a thread that has changed something, and finds the lock taken,
//! leaves it to the thread that has it to run the queue once more.

use oxshmem_base::sync::{AtomicU32, Ordering, fence};

/// Whether the queue is to be run once more.
#[derive(Debug)]
pub struct RunFlag(AtomicU32);

impl Default for RunFlag {
    fn default() -> Self {
        Self(AtomicU32::new(0))
    }
}

impl RunFlag {
    /// Has the queue run, for what this thread has changed before. If `try_lock` gets the lock,
    /// `run` runs the queue and then unlocks it; otherwise the thread that has it does. Each thread
    /// that unlocks it calls [`is_left`](Self::is_left) afterwards.
    pub fn request<G>(&self, try_lock: impl FnOnce() -> Option<G>, run: impl FnOnce(G)) {
        // An exchange, which acquires and releases: the thread that takes this request, or a later
        // one, back sees what was changed before each of them. A store would hide an earlier one.
        self.0.swap(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) == 0 {
            return;
        }
        if let Some(locked) = try_lock() {
            // AcqRel: what follows is looked at after this, so that a request which this takes back
            // is seen to.
            self.0.swap(0, Ordering::AcqRel);
            run(locked);
        }
    }

    /// Whether a request is left after the queue was unlocked: this thread must request a run in
    /// turn.
    #[inline(always)]
    pub fn is_left(&self) -> bool {
        // With the fence in `request`: either we see the request, or the thread that made it finds
        // the queue unlocked.
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, oxshmem_loom))]
mod loom_tests {
    use loom::{
        sync::{Arc, Mutex, atomic::AtomicUsize},
        thread,
    };

    use super::*;

    /// Work, and how much of it was seen to by a thread that ran the queue.
    struct Queue {
        flag: RunFlag,
        work: AtomicUsize,
        seen: Mutex<usize>,
    }

    impl Queue {
        fn add(&self) {
            self.work.fetch_add(1, Ordering::Relaxed);
            self.run();
        }

        fn run(&self) {
            self.flag.request(
                || self.seen.try_lock().ok(),
                |mut seen| {
                    *seen = self.work.load(Ordering::Relaxed);
                    drop(seen);
                    if self.flag.is_left() {
                        self.run();
                    }
                },
            );
        }
    }

    #[test]
    fn loom_a_queue_is_run_for_each_request() {
        loom::model(|| {
            let queue =
                Arc::new(Queue { flag: RunFlag::default(), work: AtomicUsize::new(0), seen: Mutex::new(0) });
            let other = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || queue.add())
            };
            queue.add();
            other.join().unwrap();
            assert_eq!(*queue.seen.lock().unwrap(), 2);
        });
    }
}
