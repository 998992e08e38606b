//! Completions, one after the other.
//!
//! A completion may start the next operation, and that may complete at once. Nested, a chain of
//! thousands of operations would need thousands of stack frames. So a thread runs one completion at
//! a time: what completes meanwhile [waits](run) for it to return, and what starts an operation
//! meanwhile makes no progress by itself, since progress runs completions.
//!
//! A thread may block inside of a completion, as where a waker runs its task at once. The
//! completions that it waits for may be those that wait for it, so those run [while it
//! waits](waiting).

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxshmem_base::Error;
use oxshmem_base::Result;
use oxshmem_base::local::thread_local;
#[cfg(oxshmem_loom)]
use oxshmem_base::local::{CellKey, RefCellKey};
use oxshmem_base::panics::Panics;
use oxshmem_base::sync::Mutex;
use oxshmem_base::sync::lock;

use crate::helper_waker::HelperWaker;

/// What runs once when an operation is over: with its outcome, on the thread that made the
/// progress, which holds no lock. That may be before the call returns that started it, so that
/// call's caller may hold no lock that the completion takes. A thread runs one completion at a
/// time: what is started inside of one completes after it has returned.
pub type Completion<T = ()> = Box<dyn FnOnce(Result<T>) + Send>;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    /// Nothing of the kind.
    Idle,
    /// It serves a net, and runs one completion after the other.
    Serving,
    /// It runs one.
    Completing,
}

/// A completion with its outcome.
type Run = Box<dyn FnOnce()>;

thread_local! {
    static STATE: Cell<ThreadState> = const { Cell::new(ThreadState::Idle) };
    // Without a destructor, so that it is there for what still completes when the thread ends: C
    // programs finalize at exit.
    static WAITING: RefCell<ManuallyDrop<VecDeque<Run>>> =
        const { RefCell::new(ManuallyDrop::new(VecDeque::new())) };
}

/// Runs `done` now, or, inside of another completion on this thread, when that has returned. No
/// lock may be held.
pub fn complete<T: 'static>(done: Completion<T>, outcome: Result<T>) {
    run(move || done(outcome));
}

/// Runs a completion that is a closure now, or when the one around it has returned. One that panics
/// does so when those that wait for it have run.
pub fn run(completion: impl FnOnce() + 'static) {
    if STATE.get() == ThreadState::Completing {
        return WAITING.with_borrow_mut(|waiting| waiting.push_back(Box::new(completion)));
    }
    let enter = Enter::the(ThreadState::Completing);
    let mut panics = Panics::default();
    panics.run(completion);
    while let Some(next) = next() {
        panics.run(next);
    }
    drop(enter);
    panics.resume();
}

/// The next that waits.
fn next() -> Option<Run> {
    WAITING.with_borrow_mut(|waiting| {
        let next = waiting.pop_front();
        if next.is_none() {
            // There may have been many, whose room is not freed when the thread ends.
            **waiting = VecDeque::new();
        }
        next
    })
}

/// A completion of an operation whose value does not matter.
pub fn any_value(done: Completion) -> Completion<u64> {
    Box::new(|outcome| done(outcome.map(drop)))
}

/// A completion of what has no value, which is 0 then.
pub fn no_value(done: Completion<u64>) -> Completion {
    Box::new(|outcome| done(outcome.map(|()| 0)))
}

/// Marks this thread as one that serves a net, as long as what is returned exists. None if it does
/// so already, or runs a completion: then it is to start nothing that runs completions.
pub fn serve() -> Option<Enter> {
    (!is_busy()).then(|| Enter::the(ThreadState::Serving))
}

/// Completes what a net has noted and then announced in `has_events`: `complete` takes it, one
/// after the other. Called with no lock held. Inside of a completion it leaves that to the caller
/// of that completion, which goes on when it has returned.
pub fn complete_noted(has_events: &AtomicBool, helper: &HelperWaker, complete: impl Fn(&mut Panics)) {
    // Relaxed: a look before the exchange, which nearly always can be left out.
    if !has_events.load(Ordering::Relaxed) {
        return;
    }
    let Some(serving) = serve() else {
        // Or to the helper thread: that completion may be another net's, or never return.
        return helper.notify();
    };
    // One that panics does so when the others have run.
    let mut panics = Panics::default();
    // AcqRel: this thread sees what was noted before, and others that it has taken it.
    while has_events.load(Ordering::Relaxed) && has_events.swap(false, Ordering::AcqRel) {
        complete(&mut panics);
    }
    drop(serving);
    panics.resume();
}

/// Whether this thread serves a net, or runs a completion.
pub fn is_busy() -> bool {
    STATE.get() != ThreadState::Idle
}

/// Runs `wait`, in which this thread waits for completions. Inside of one it runs those that wait
/// for that first.
pub fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    if !is_busy() {
        return wait();
    }
    let _enter = Enter::the(ThreadState::Idle);
    run(|| ());
    wait()
}

/// A thread's state, until this is dropped.
#[derive(Debug)]
pub struct Enter {
    before: ThreadState,
    /// It is of this thread.
    thread: PhantomData<*const ()>,
}

impl Enter {
    fn the(state: ThreadState) -> Self {
        Self { before: STATE.replace(state), thread: PhantomData }
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        STATE.set(self.before);
    }
}

/// The completion of an operation of several parts. It runs when all of them are over, with an
/// error if one of them had one.
pub struct AllParts {
    done: Mutex<Option<Completion>>,
    failed: Mutex<Option<Error>>,
}

impl AllParts {
    /// Runs `done` when the last reference is dropped.
    pub fn new(done: Completion) -> Arc<Self> {
        Arc::new(Self { done: Mutex::new(Some(done)), failed: Mutex::default() })
    }

    /// The completion of one of them.
    pub fn part<T>(self: &Arc<Self>) -> Completion<T> {
        let all = Arc::clone(self);
        Box::new(move |outcome| all.note(outcome.map(drop)))
    }

    /// Notes the outcome of one of them.
    pub fn note(&self, outcome: Result<()>) {
        if let Err(error) = outcome {
            *lock(&self.failed) = Some(error);
        }
    }
}

impl fmt::Debug for AllParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllParts").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Drop for AllParts {
    fn drop(&mut self) {
        let (done, failed) = (lock(&self.done).take(), lock(&self.failed).take());
        if let Some(done) = done {
            complete(done, failed.map_or(Ok(()), Err));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        rc::Rc,
    };

    use super::*;

    type Log = Rc<RefCell<Vec<u32>>>;

    /// Notes the number, and before it has returned completes the one below.
    fn count_down(n: u32, log: &Log) {
        let log = Rc::clone(log);
        run(move || {
            if n > 0 {
                count_down(n - 1, &log);
            }
            log.borrow_mut().push(n);
        });
    }

    #[test]
    fn a_completion_inside_of_another_waits_for_it() {
        let log = Log::default();
        count_down(3, &log);
        assert_eq!(log.take(), [3, 2, 1, 0]);
        // However many there are.
        count_down(1_000_000, &log);
        assert_eq!(log.take().len(), 1_000_001);
        assert!(!is_busy());
    }

    #[test]
    fn a_thread_that_serves_runs_them_at_once_and_does_not_serve_twice() {
        let log = Log::default();
        let serving = serve();
        assert!(serving.is_some() && serve().is_none() && is_busy());
        count_down(1, &log);
        assert_eq!(log.take(), [1, 0]);
        assert!(is_busy());
        drop(serving);
        assert!(!is_busy());
        run(|| assert!(is_busy() && serve().is_none()));
    }

    #[test]
    fn a_thread_that_waits_inside_of_one_runs_the_others() {
        let log = Log::default();
        let outer = Rc::clone(&log);
        run(move || {
            count_down(0, &outer);
            assert!(outer.borrow().is_empty());
            waiting(|| {
                assert_eq!(*outer.borrow(), [0]);
                count_down(1, &outer);
                assert_eq!(*outer.borrow(), [0, 1, 0]);
            });
            assert!(is_busy());
            count_down(0, &outer);
            assert_eq!(outer.borrow().len(), 3);
        });
        assert_eq!(log.take(), [0, 1, 0, 0]);
    }

    #[test]
    fn one_that_panics_leaves_the_others_their_turns_and_the_thread_usable() {
        let log = Log::default();
        let outer = Rc::clone(&log);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            run(move || {
                count_down(2, &outer);
                panic!("the first");
            });
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"the first"));
        assert_eq!(log.take(), [2, 1, 0]);
        assert!(!is_busy());
    }
}
