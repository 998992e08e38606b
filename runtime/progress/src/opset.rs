//! The op set of a context: which of its operations are still under way, so that `quiet` can await
//! them, and which have failed without the program's knowledge, so that `quiet` can report them.
//!
//! Operations that finish at once never touch it, so the usual `quiet` is one load. The others
//! enter with [`OpSet::begin`] and leave with [`OpSet::complete`] whether or not anybody still
//! holds their future. The error of one that fails enters with [`OpSet::fail`], and stays until the
//! operation's future has [returned](OpSet::seen) it, or the next `quiet` has. What has left this
//! PE for another host, and is there once a flush says so, is [noted](OpSet::note) by its target
//! only.
//!
//! Operations are numbered in the order of their beginning, and kept by their numbers for all PEs
//! together and for each PE. So whether those before a `quiet` are over is seen by looking at the
//! first, and an operation that ends costs the same however many others are under way.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    task::{Context, Poll},
};

use oxshmem_base::{
    Error, Result,
    sync::{AtomicUsize, Mutex, Ordering, lock},
    wakes::StoredWaker,
};

/// Operations under way, in the order of their beginning, and errors that the program has not seen.
///
/// ```
/// use std::task::{Context, Poll, Waker};
/// use oxshmem_progress::opset::OpSet;
///
/// let (set, mut cx) = (OpSet::default(), Context::from_waker(Waker::noop()));
/// let put = set.begin(1); // an operation on PE 1
/// let mark = set.mark();
/// assert!(set.poll_quiet(&mark, None, &mut cx).is_pending());
/// assert!(set.poll_quiet(&mark, Some(&[0]), &mut cx).is_ready()); // nothing on PE 0
/// set.complete(put);
/// assert!(matches!(set.poll_quiet(&mark, None, &mut cx), Poll::Ready(Ok(()))));
/// ```
#[derive(Debug, Default)]
pub struct OpSet {
    /// Operations under way, errors not seen yet and targets not flushed yet, counted together: 0
    /// means that `quiet` has nothing to do.
    attention: AtomicUsize,
    inner: Mutex<Inner>,
    tally: Option<Arc<Tally>>,
}

/// How many operations have entered any op set of a PE, left it, and failed. Those that finish at
/// once are not in it.
#[derive(Debug, Default)]
pub struct Tally {
    begun: AtomicUsize,
    over: AtomicUsize,
    failed: AtomicUsize,
}

impl Tally {
    /// How many are under way.
    pub fn under_way(&self) -> usize {
        // Relaxed: numbers for people. What is over is looked at first, and has begun.
        let over = self.over.load(Ordering::Relaxed);
        self.begun.load(Ordering::Relaxed).saturating_sub(over)
    }

    /// How many have failed, those among them that were refused before they began.
    pub fn failed(&self) -> usize {
        self.failed.load(Ordering::Relaxed)
    }
}

/// Operations on a PE, or on all.
type Scope = Option<usize>;

#[derive(Debug, Default)]
struct Inner {
    /// The number that the next operation, failure or mark gets.
    next: u64,
    /// How many operations are under way.
    count: usize,
    /// Their numbers, each in both scopes that it is in.
    live: BTreeSet<(Scope, u64)>,
    /// Tasks that wait until those in a scope that began before a mark are over, by the number of
    /// the mark.
    waiting: BTreeMap<(Scope, u64), StoredWaker>,
    /// Errors that the program has not seen, with the PE that the operation was on, if that is
    /// known.
    failed: BTreeMap<u64, (Scope, Error)>,
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

/// An operation's place in its op set.
#[derive(Debug)]
#[must_use = "an operation that is never completed keeps `quiet` waiting forever"]
pub struct Ticket {
    number: u64,
    pe: usize,
}

/// A failed operation's place in its op set.
#[derive(Debug)]
#[must_use = "the error is reported by `quiet` unless it is marked as seen"]
pub struct FailedOp(u64);

/// A point in the order of operations: all that began before it. It is for one `quiet`, which waits
/// for no other set of PEs by it.
#[derive(Debug)]
pub struct Mark(u64);

impl Inner {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn begin(&mut self, pe: usize) -> Ticket {
        let number = self.number();
        self.live.extend([(None, number), (Some(pe), number)]);
        self.count += 1;
        Ticket { number, pe }
    }

    /// An operation is over. Returns those whose wait is.
    fn end(&mut self, Ticket { number, pe }: Ticket) -> Vec<StoredWaker> {
        self.count -= 1;
        let mut woken = Vec::new();
        for scope in [None, Some(pe)] {
            self.live.remove(&(scope, number));
            let first = self.first(scope);
            // Unless one that is older is under way, as a task may wait for this one alone.
            while let Some((&key, _)) = self.waiting.range((scope, 0)..(scope, first)).next() {
                woken.extend(self.waiting.remove(&key));
            }
        }
        woken
    }

    /// The number of the oldest operation that is under way; greater than all numbers if there is
    /// none.
    fn first(&self, scope: Scope) -> u64 {
        let next = self.live.range((scope, 0)..).next();
        next.filter(|(found, _)| *found == scope).map_or(u64::MAX, |&(_, number)| number)
    }

    /// A scope with an operation that `quiet` has to wait for.
    fn obstacle(&self, mark: &Mark, pes: Option<&[usize]>) -> Option<Scope> {
        let is_obstacle = |scope: &Scope| self.first(*scope) < mark.0;
        match pes {
            None => Some(None).filter(is_obstacle),
            Some(pes) => pes.iter().copied().map(Some).find(is_obstacle),
        }
    }

    fn take_failed(&mut self, pes: Option<&[usize]>) -> Option<Error> {
        let concerns = |scope: Scope| match (pes, scope) {
            (Some(pes), Some(pe)) => pes.contains(&pe),
            (None, _) | (_, None) => true,
        };
        let (&number, _) = self.failed.iter().find(|(_, (scope, _))| concerns(*scope))?;
        self.failed.remove(&number).map(|(_, error)| error)
    }
}

impl OpSet {
    /// One whose operations are counted in `tally` too.
    pub fn counted(tally: &Arc<Tally>) -> Self {
        Self { tally: Some(Arc::clone(tally)), ..Self::default() }
    }

    fn count(&self, of: impl FnOnce(&Tally) -> &AtomicUsize, by: usize) {
        if let Some(tally) = &self.tally {
            // Relaxed: numbers for people.
            of(tally).fetch_add(by, Ordering::Relaxed);
        }
    }

    /// Whether no operation is under way and no error waits to be seen.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        // Acquire: what completed operations wrote is visible to a thread that finds the set idle.
        self.attention.load(Ordering::Acquire) == 0
    }

    /// Enters an operation on `pe`.
    pub fn begin(&self, pe: usize) -> Ticket {
        let mut inner = lock(&self.inner);
        self.attention.fetch_add(1, Ordering::Relaxed);
        self.count(|tally| &tally.begun, 1);
        inner.begin(pe)
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

    /// Whom a flush is owed, those in `pes` if given. Each enters the set as an operation that is
    /// to be [completed](Self::complete) when the flush is over.
    pub fn take_unflushed(&self, pes: Option<&[usize]>) -> Vec<(Target, Ticket)> {
        let mut inner = lock(&self.inner);
        let wanted = |target: &mut Target| pes.is_none_or(|pes| pes.contains(&target.pe));
        let targets: Vec<Target> = inner.unflushed.extract_if(.., wanted).collect();
        self.count(|tally| &tally.begun, targets.len());
        targets.into_iter().map(|target| (target, inner.begin(target.pe))).collect()
    }

    /// The operation has completed remotely, or failed.
    pub fn complete(&self, ticket: Ticket) {
        let woken = {
            let mut inner = lock(&self.inner);
            let woken = inner.end(ticket);
            // Release: pairs with the load in `is_idle`.
            self.attention.fetch_sub(1, Ordering::Release);
            self.count(|tally| &tally.over, 1);
            woken
        };
        woken.into_iter().for_each(StoredWaker::wake);
    }

    /// An operation on `pe`, if that is known, has failed. The next `quiet` that concerns it
    /// reports the error, unless it is [seen](Self::seen) before. To be called before the operation
    /// is [completed](Self::complete).
    pub fn fail(&self, pe: Option<usize>, error: Error) -> FailedOp {
        let mut inner = lock(&self.inner);
        let number = inner.number();
        inner.failed.insert(number, (pe, error));
        self.count(|tally| &tally.failed, 1);
        self.attention.fetch_add(1, Ordering::Release);
        FailedOp(number)
    }

    /// The program has got the error from the operation's future. `quiet` may have reported it
    /// before, but does so no more.
    pub fn seen(&self, failure: FailedOp) {
        let mut inner = lock(&self.inner);
        if inner.failed.remove(&failure.0).is_some() {
            self.attention.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// [`fail`](Self::fail), where no future will return the error.
    pub fn report_later(&self, pe: Option<usize>, error: Error) {
        let FailedOp(_) = self.fail(pe, error);
    }

    /// Now.
    pub fn mark(&self) -> Mark {
        Mark(lock(&self.inner).number())
    }

    /// How many operations that began before `mark`, on one of `pes` if given, are under way.
    pub fn under_way(&self, mark: &Mark, pes: Option<&[usize]>) -> usize {
        let inner = lock(&self.inner);
        match pes {
            // Mostly none has begun since.
            None => inner.count - inner.live.range((None, mark.0)..=(None, u64::MAX)).count(),
            Some(pes) => {
                let on = |pe: &usize| inner.live.range((Some(*pe), 0)..(Some(*pe), mark.0)).count();
                pes.iter().collect::<BTreeSet<_>>().into_iter().map(on).sum()
            }
        }
    }

    /// [`poll_complete`](Self::poll_complete), and then the error that
    /// [`take_failed`](Self::take_failed) finds.
    pub fn poll_quiet(&self, mark: &Mark, pes: Option<&[usize]>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.poll_complete(mark, pes, cx).map(|()| self.take_failed(pes))
    }

    /// Ready when every operation that began before `mark`, on one of `pes` if given, has
    /// completed, well or not.
    pub fn poll_complete(&self, mark: &Mark, pes: Option<&[usize]>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_idle() {
            return Poll::Ready(());
        }
        // Made, and what it replaces dropped, without the lock.
        let mut waker = StoredWaker::of(cx.waker());
        let mut inner = lock(&self.inner);
        if let Some(scope) = inner.obstacle(mark, pes) {
            std::mem::swap(inner.waiting.entry((scope, mark.0)).or_default(), &mut waker);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// The oldest error that the program has not seen, of an operation on one of `pes` if given, or
    /// on nobody knows which PE. The caller gives it to the program.
    pub fn take_failed(&self, pes: Option<&[usize]>) -> Result<()> {
        if self.is_idle() {
            return Ok(());
        }
        match lock(&self.inner).take_failed(pes) {
            None => Ok(()),
            Some(error) => {
                self.attention.fetch_sub(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Nobody waits for `mark` any more.
    pub fn forget(&self, mark: &Mark, pes: Option<&[usize]>) {
        let _wakers: Vec<_> = {
            let waiting = &mut lock(&self.inner).waiting;
            match pes {
                None => waiting.remove(&(None, mark.0)).into_iter().collect(),
                Some(pes) => pes.iter().filter_map(|&pe| waiting.remove(&(Some(pe), mark.0))).collect(),
            }
        };
    }
}

#[cfg(all(test, not(oxshmem_loom)))]
mod tests {
    use std::{
        sync::atomic::AtomicU32,
        task::{Wake, Waker},
    };

    use super::*;

    /// Counts how often it is woken.
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(set: &OpSet, mark: &Mark, pes: Option<&[usize]>) -> Poll<Result<()>> {
        set.poll_quiet(mark, pes, &mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn quiet_waits_for_what_began_before_it_and_for_nothing_else() {
        let set = OpSet::default();
        let a = set.begin(1);
        let mark = set.mark();
        let b = set.begin(1);
        assert!(poll(&set, &mark, None).is_pending());
        assert_eq!((set.under_way(&mark, None), set.under_way(&mark, Some(&[0]))), (1, 0));
        set.complete(a);
        assert!(matches!(poll(&set, &mark, None), Poll::Ready(Ok(()))));
        assert!(poll(&set, &set.mark(), None).is_pending());
        set.complete(b);
        assert!(set.is_idle());
    }

    #[test]
    fn a_tally_knows_what_is_under_way_and_what_has_failed_in_all_sets_of_a_pe() {
        let tally = Arc::default();
        let (one, other) = (OpSet::counted(&tally), OpSet::counted(&tally));
        let (a, b) = (one.begin(1), other.begin(1));
        assert_eq!((tally.under_way(), tally.failed()), (2, 0));
        one.report_later(Some(1), Error::Finalized { call: "put" });
        one.complete(a);
        assert_eq!((tally.under_way(), tally.failed()), (1, 1));
        other.complete(b);
        assert_eq!(tally.under_way(), 0);
    }

    #[test]
    fn pe_quiet_waits_for_the_operations_on_its_pes_only() {
        let set = OpSet::default();
        let a = set.begin(3);
        assert!(matches!(poll(&set, &set.mark(), Some(&[0, 2])), Poll::Ready(Ok(()))));
        assert!(matches!(poll(&set, &set.mark(), Some(&[])), Poll::Ready(Ok(()))));
        assert!(poll(&set, &set.mark(), Some(&[1, 3])).is_pending());
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
            assert!(poll(&set, &set.mark(), None).is_pending());
            set.complete(ticket);
        }
        assert!(set.is_idle());
    }

    #[test]
    fn an_error_that_nobody_saw_is_reported_by_one_quiet() {
        let set = OpSet::default();
        set.report_later(Some(1), Error::Finalized { call: "put" });
        let seen = set.fail(None, Error::Finalized { call: "get" });
        let unseen = set.fail(Some(0), Error::Finalized { call: "fetch" });
        set.seen(seen);
        let reported = |pes: Option<&[usize]>| match poll(&set, &set.mark(), pes) {
            Poll::Ready(Ok(())) => None,
            Poll::Ready(Err(Error::Finalized { call })) => Some(call),
            other => panic!("{other:?}"),
        };
        assert_eq!(reported(Some(&[2])), None, "the operations were on other PEs");
        assert_eq!(reported(Some(&[0, 2])), Some("fetch"));
        assert_eq!(reported(None), Some("put"));
        assert_eq!(reported(None), None);
        set.seen(unseen); // its future returns it nevertheless
        assert!(set.is_idle());
        set.report_later(None, Error::Finalized { call: "a call on any PE" });
        assert!(reported(Some(&[2])).is_some() && set.is_idle());
    }

    #[test]
    fn a_hundred_thousand_operations_under_way_cost_a_hundred_times_a_thousand_and_wake_quiet_once() {
        let set = OpSet::default();
        let count = Arc::new(Count(AtomicU32::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let start = std::time::Instant::now();
        let mut tickets: Vec<_> = (0..100_000).map(|i| set.begin(i % 7)).collect();
        let marks: Vec<_> = (0..1000).map(|_| set.mark()).collect();
        for mark in &marks {
            assert!(set.poll_quiet(mark, None, &mut cx).is_pending());
        }
        assert!(set.poll_quiet(&marks[0], Some(&[3, 4]), &mut cx).is_pending());
        let last = tickets.remove(0);
        // The youngest first, then the oldest: neither may cost a look at all others.
        tickets.split_off(50_000).into_iter().rev().for_each(|ticket| set.complete(ticket));
        tickets.into_iter().for_each(|ticket| set.complete(ticket));
        assert_eq!(count.0.load(Ordering::Relaxed), 1, "those on PE 3 are over");
        assert!(set.poll_quiet(&marks[0], Some(&[3, 4]), &mut cx).is_ready());
        set.complete(last);
        assert_eq!(count.0.load(Ordering::Relaxed), 1001);
        assert!(set.is_idle());
        // It takes a tenth of a second, and took minutes with a look at all for each.
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
    }

    #[test]
    fn a_quiet_that_is_forgotten_leaves_no_waker() {
        let set = OpSet::default();
        let operation = set.begin(2);
        let count = Arc::new(Count(AtomicU32::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        for pes in [None, Some(&[1, 2][..])] {
            let mark = set.mark();
            assert!(set.poll_quiet(&mark, pes, &mut Context::from_waker(&waker)).is_pending());
            assert_eq!(Arc::strong_count(&count), 3);
            set.forget(&mark, pes);
            assert_eq!(Arc::strong_count(&count), 2);
        }
        set.complete(operation);
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
    }
}

#[cfg(all(test, oxshmem_loom))]
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
            loom::future::block_on(poll_fn(|cx| set.poll_quiet(&mark, None, cx))).unwrap();
            assert_eq!(data.load(Ordering::Relaxed), 2);
            engine.join().unwrap();
        });
    }
}
