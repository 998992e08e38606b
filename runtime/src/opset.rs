//! The op set of a context: which of its operations are still under way, so that `quiet` can await them.
//!
//! Operations that finish at once never touch it, so the usual `quiet` is one load. The others enter
//! with [`OpSet::begin`], leave with [`OpSet::complete`] whether or not anybody still holds their future,
//! and leave an error behind that nobody has seen, which the next `quiet` reports. What has left this PE for
//! another host, and is there once a flush says so, is [noted](OpSet::note) by its target only.

use std::task::{Context, Poll, Waker};

use crate::{
    Error, Result,
    sync::{AtomicUsize, Mutex, Ordering, lock},
    wakes::wake_all,
};

/// Operations under way, in the order of their beginning.
///
/// ```
/// use std::task::{Context, Poll, Waker};
/// use oxshmem_runtime::opset::OpSet;
///
/// let (set, mut cx) = (OpSet::default(), Context::from_waker(Waker::noop()));
/// let put = set.begin(1); // an operation on PE 1
/// let mark = set.mark();
/// assert!(set.poll_quiet(mark, None, &mut cx).is_pending());
/// assert!(set.poll_quiet(mark, Some(&[0]), &mut cx).is_ready()); // nothing on PE 0
/// set.complete(put);
/// assert!(matches!(set.poll_quiet(mark, None, &mut cx), Poll::Ready(Ok(()))));
/// ```
#[derive(Debug, Default)]
pub struct OpSet {
    /// Operations under way, errors not reported yet and targets not flushed yet, counted together: 0 means that
    /// `quiet` has nothing to do.
    attention: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    live: Vec<Live>,
    waiting: Vec<Waker>,
    failed: Vec<Error>,
    /// Whom operations were started on since the last flush.
    unflushed: Vec<Target>,
}

/// A PE of another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its number in the context's team.
    pub pe: usize,
    /// Its number in the world.
    pub world_pe: usize,
}

#[derive(Debug)]
struct Live {
    number: u64,
    pe: usize,
}

/// An operation's place in its op set.
#[derive(Debug)]
#[must_use = "an operation that is never completed keeps `quiet` waiting forever"]
pub struct Ticket(u64);

/// A point in the order of operations: all that began before it.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

impl OpSet {
    /// Whether no operation is under way and no error waits to be reported.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        // Acquire: what completed operations wrote is visible to who finds the set idle.
        self.attention.load(Ordering::Acquire) == 0
    }

    /// Enters an operation on `pe`.
    pub fn begin(&self, pe: usize) -> Ticket {
        let mut inner = lock(&self.inner);
        let number = inner.next;
        inner.next += 1;
        inner.live.push(Live { number, pe });
        self.attention.fetch_add(1, Ordering::Relaxed);
        Ticket(number)
    }

    /// An operation on `target` was started that a flush completes.
    pub fn note(&self, target: Target) {
        let mut inner = lock(&self.inner);
        // Nearly always it is the one before, and always there are few of them.
        if inner.unflushed.last() != Some(&target) && !inner.unflushed.contains(&target) {
            inner.unflushed.push(target);
            self.attention.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whom a flush is owed, those in `pes` if given. Each enters the set as an operation that is to be
    /// [completed](Self::complete) when the flush is over.
    pub fn take_unflushed(&self, pes: Option<&[usize]>) -> Vec<(Target, Ticket)> {
        let mut inner = lock(&self.inner);
        let Inner { next, live, unflushed, .. } = &mut *inner;
        let mut taken = Vec::new();
        unflushed.retain(|&target| {
            let wanted = pes.is_none_or(|pes| pes.contains(&target.pe));
            if wanted {
                live.push(Live { number: *next, pe: target.pe });
                taken.push((target, Ticket(*next)));
                *next += 1;
            }
            !wanted
        });
        taken
    }

    /// The operation has completed remotely, or failed.
    pub fn complete(&self, ticket: Ticket) {
        let waiting = {
            let mut inner = lock(&self.inner);
            inner.live.retain(|op| op.number != ticket.0);
            // Release: pairs with the load in `is_idle`.
            self.attention.fetch_sub(1, Ordering::Release);
            std::mem::take(&mut inner.waiting)
        };
        wake_all(waiting);
    }

    /// Keeps the error of an operation whose future was dropped before it told anybody.
    pub fn report_later(&self, error: Error) {
        let mut inner = lock(&self.inner);
        inner.failed.push(error);
        self.attention.fetch_add(1, Ordering::Release);
    }

    /// Now.
    pub fn mark(&self) -> Mark {
        Mark(lock(&self.inner).next)
    }

    /// How many operations that began before `mark`, on one of `pes` if given, are under way.
    pub fn under_way(&self, mark: Mark, pes: Option<&[usize]>) -> usize {
        let concerns = |op: &&Live| op.number < mark.0 && pes.is_none_or(|pes| pes.contains(&op.pe));
        lock(&self.inner).live.iter().filter(concerns).count()
    }

    /// Ready when every operation that began before `mark`, on one of `pes` if given, has completed. An
    /// error that waits to be reported is returned instead, the oldest first.
    pub fn poll_quiet(&self, mark: Mark, pes: Option<&[usize]>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.is_idle() {
            return Poll::Ready(Ok(()));
        }
        let mut inner = lock(&self.inner);
        let concerns = |op: &Live| op.number < mark.0 && pes.is_none_or(|pes| pes.contains(&op.pe));
        if inner.live.iter().any(concerns) {
            if !inner.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                inner.waiting.push(cx.waker().clone());
            }
            return Poll::Pending;
        }
        if inner.failed.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.attention.fetch_sub(1, Ordering::Relaxed);
        Poll::Ready(Err(inner.failed.remove(0)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn poll(set: &OpSet, mark: Mark, pes: Option<&[usize]>) -> Poll<Result<()>> {
        set.poll_quiet(mark, pes, &mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn quiet_waits_for_what_began_before_it_and_for_nothing_else() {
        let set = OpSet::default();
        let a = set.begin(1);
        let mark = set.mark();
        let b = set.begin(1);
        assert!(poll(&set, mark, None).is_pending());
        assert_eq!((set.under_way(mark, None), set.under_way(mark, Some(&[0]))), (1, 0));
        set.complete(a);
        assert!(matches!(poll(&set, mark, None), Poll::Ready(Ok(()))));
        assert!(poll(&set, set.mark(), None).is_pending());
        set.complete(b);
        assert!(set.is_idle());
    }

    #[test]
    fn pe_quiet_waits_for_the_operations_on_its_pes_only() {
        let set = OpSet::default();
        let a = set.begin(3);
        assert!(matches!(poll(&set, set.mark(), Some(&[0, 2])), Poll::Ready(Ok(()))));
        assert!(matches!(poll(&set, set.mark(), Some(&[])), Poll::Ready(Ok(()))));
        assert!(poll(&set, set.mark(), Some(&[1, 3])).is_pending());
        set.complete(a);
    }

    #[test]
    fn a_flush_that_is_owed_becomes_an_operation_under_way() {
        let set = OpSet::default();
        let targets = [4, 6].map(|world_pe| Target { pe: world_pe / 2, world_pe });
        targets.into_iter().chain(targets).for_each(|target| set.note(target));
        assert!(!set.is_idle());
        assert!(set.take_unflushed(Some(&[1])).is_empty());
        for (target, pes) in targets.into_iter().zip([Some(&[2, 9][..]), None]) {
            let mut taken = set.take_unflushed(pes);
            let (flushed, ticket) = taken.pop().unwrap();
            assert_eq!((flushed, taken.len()), (target, 0));
            assert!(poll(&set, set.mark(), None).is_pending());
            set.complete(ticket);
        }
        assert!(set.is_idle());
    }

    #[test]
    fn an_error_that_nobody_saw_is_reported_by_one_quiet() {
        let set = OpSet::default();
        set.report_later(Error::Finalized { call: "put" });
        assert!(matches!(poll(&set, set.mark(), None), Poll::Ready(Err(_))));
        assert!(matches!(poll(&set, set.mark(), None), Poll::Ready(Ok(()))));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::{sync::Arc, thread};
    use std::future::poll_fn;

    #[test]
    fn loom_quiet_sees_every_completion_and_what_it_wrote() {
        loom::model(|| {
            let set = Arc::new(OpSet::default());
            let data = Arc::new(AtomicUsize::new(0));
            let tickets = [set.begin(0), set.begin(1)];
            let mark = set.mark();
            let engine = {
                let (set, data) = (set.clone(), data.clone());
                thread::spawn(move || {
                    for ticket in tickets {
                        data.fetch_add(1, Ordering::Relaxed);
                        set.complete(ticket);
                    }
                })
            };
            loom::future::block_on(poll_fn(|cx| set.poll_quiet(mark, None, cx))).unwrap();
            assert_eq!(data.load(Ordering::Relaxed), 2);
            engine.join().unwrap();
        });
    }
}
