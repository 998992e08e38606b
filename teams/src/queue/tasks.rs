//! Collectives that are polled with the queue unlocked: those between hosts and on devices, calls
//! that are refused, and what programs run on a team. They may call the very team, or drop its last
//! handle.

use std::{
    cell::RefCell,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::{Context as TaskContext, Poll, Wake, Waker},
};

use oxshmem_base::{
    Error, Result,
    local::thread_local,
    sync::{MutexGuard, lock},
    turns::{Turns, in_turn},
    wakes::Hold,
};
use oxshmem_progress::{activity::Activity, flight::Flight};
use tracing::Instrument;

use super::{Collective, Core, Outcome, Shown, future::Landing, running::Running, state::Queue};
use crate::{algorithm::direct::Task, group::Group, hosts, signature::Signature};

thread_local! {
    /// The teams whose tasks this thread is polling, each inside of the one before.
    static POLLED: RefCell<Vec<*const Core>> = const { RefCell::new(Vec::new()) };
}

/// A task of a team is being polled by this thread.
struct Polled(());

impl Polled {
    fn begin(core: &Core) -> Self {
        let _ = POLLED.try_with(|all| all.borrow_mut().push(core));
        Self(())
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        let _ = POLLED.try_with(|all| all.borrow_mut().pop());
    }
}

impl Core {
    /// Any other collective. It owns what it works on.
    pub(crate) fn task(
        &self,
        shown: Shown,
        signature: Signature,
        task: impl Future<Output = Result<()>> + Send + 'static,
    ) -> Collective<'_> {
        if self.group.wide().is_none() {
            return self.push_task(shown, signature, Box::pin(task));
        }
        // In memory of its own at once, as moving it takes longer than that.
        let (group, task) = (Arc::clone(&self.group), Box::pin(task));
        let task = async move { hosts::guarded(&group, signature, task).await };
        self.push_task(shown, signature, Box::pin(task))
    }

    /// Leaves something to a task, when its turn comes, that concerns no other PE. Returns its
    /// ticket.
    pub(crate) fn local(
        &self,
        activity: Activity,
        signature: Signature,
        task: impl Future<Output = Result<()>> + Send + 'static,
    ) -> u64 {
        self.enqueue(Shown::As(activity), signature, Box::pin(task)).1
    }

    pub(super) fn push_task(&self, shown: Shown, signature: Signature, task: Task) -> Collective<'_> {
        // What is not shown the program has not called.
        let called = if matches!(shown, Shown::Nothing) { None } else { self.called() };
        let (number, ticket) = self.enqueue(shown, signature, task);
        match shown {
            Shown::As(activity) => self.record(called, number, ticket, || activity),
            Shown::Signed if !signature.is_refused() => {
                self.record(called, number, ticket, || signature.activity());
            }
            Shown::Signed | Shown::Nothing => {}
        }
        Collective::new(self, ticket)
    }

    /// Appends a task and returns its number and its ticket. The same code for all of them: with
    /// the queue's, which is part of it, each would be a hundred kilobytes in a debug build.
    #[inline(never)]
    pub(super) fn enqueue(&self, shown: Shown, signature: Signature, task: Task) -> (u64, u64) {
        self.with_queue(|queue| {
            self.retire(queue);
            let number = queue.next();
            (number, self.push(queue, Running::Task(Some(task), shown, signature)))
        })
    }

    /// Any other collective with a result, which traces name `call`.
    pub(crate) fn run<T, F>(
        &self,
        call: &'static str,
        activity: Activity,
        collective: impl FnOnce(Arc<Group>) -> F + Send + 'static,
    ) -> Outcome<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        if let Err(error) = self.check_turn(call) {
            return self.failed_run(error);
        }
        let flight = Arc::new(Flight::default());
        let landing = Landing::new(&flight, &self.group, call);
        let (group, signature) = (Arc::clone(&self.group), Signature::named(call));
        let task = async move {
            let whole = async {
                group.pe().check(call)?;
                group.check()?;
                if group.wide().is_none() {
                    return collective(Arc::clone(&group)).await;
                }
                let own = Arc::clone(&group);
                let begun = async move {
                    own.check()?;
                    collective(own).await
                };
                hosts::guarded(&group, signature, Box::pin(begun)).await
            };
            let mut whole = pin!(whole);
            let outcome = poll_fn(|cx| {
                let polled = catch_unwind(AssertUnwindSafe(|| whole.as_mut().poll(cx)));
                polled.unwrap_or(Poll::Ready(Err(Error::Panicked { call })))
            });
            landing.land(outcome.await);
            Ok(())
        };
        // One span from its turn to its end; nothing while no subscriber listens at TRACE.
        let task = task.instrument(tracing::trace_span!(target: "oxshmem", "collective", call));
        let called = self.called();
        let (number, _) = self.enqueue(Shown::As(activity), signature, Box::pin(task));
        if let Some(end) = called.and_then(|called| self.record_until(called, number, activity)) {
            flight.record(end);
        }
        Outcome { flight, core: self.this.clone() }
    }

    /// One that has failed before its turn came.
    pub(crate) fn failed_run<T>(&self, error: Error) -> Outcome<T> {
        let flight = Flight::default();
        flight.land(Err(error));
        Outcome { flight: Arc::new(flight), core: self.this.clone() }
    }

    /// Polls the task at the front, with the queue unlocked meanwhile: what a task does, and what
    /// is dropped with it, may be another call on this team. What wakes it while a thread is at
    /// it leaves it to them to poll it again.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_task<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        let waker = self.this.upgrade().map_or_else(|| Waker::noop().clone(), Waker::from);
        while queue.due {
            let Some(Running::Task(place, ..)) = &mut queue.front else {
                queue.due = false;
                break;
            };
            // A thread is at it.
            let Some(mut task) = place.take() else { break };
            queue.due = false;
            let number = queue.ended;
            drop(queue);

            let hold = Hold::begin();
            let this_one = Polled::begin(self);
            // One of a team that was revoked goes on no more.
            let ends = || self.group.revoked().map(|_| Poll::Ready(self.group.check()));
            let mut poll =
                || ends().unwrap_or_else(|| task.as_mut().poll(&mut TaskContext::from_waker(&waker)));
            let polled = catch_unwind(AssertUnwindSafe(&mut poll));
            let polled =
                polled.map(|polled| if polled.is_pending() { ends().unwrap_or(polled) } else { polled });
            let (outcome, task) = match polled {
                Ok(Poll::Pending) => (Poll::Pending, Some(task)),
                over => {
                    // It may drop the last handle of a team.
                    let dropped = catch_unwind(AssertUnwindSafe(|| drop(task)));
                    let ended = over.ok().filter(|_| dropped.is_ok());
                    // A task that waits for it learns of a panic by its end.
                    (ended.unwrap_or(Poll::Ready(Err(Error::Panicked { call: "a collective" }))), None)
                }
            };
            drop(this_one);

            queue = lock(&self.queue);
            drop(hold);
            debug_assert_eq!(queue.ended, number, "it is at the front until it ends");
            match outcome {
                Poll::Pending => {
                    if let Some(Running::Task(place, ..)) = &mut queue.front {
                        *place = task;
                    }
                    // Unless it is to be polled again at once.
                    if !queue.due && self.note(&mut queue) {
                        queue.due = true;
                    }
                }
                Poll::Ready(outcome) => {
                    queue.due = false;
                    queue.end(&self.group, outcome);
                    self.advance(&mut queue);
                }
            }
        }
        queue
    }

    /// An error if this thread is polling a task of this team, so that a wait in there for a later
    /// collective of it would never end.
    #[cold]
    pub(crate) fn check_awaited(&self, call: &'static str) -> Result<()> {
        // There are none any more for what runs when the thread ends.
        let is_inside = POLLED.try_with(|all| all.borrow().iter().any(|&core| std::ptr::eq(core, self)));
        if !is_inside.unwrap_or(false) {
            return Ok(());
        }
        Err(Error::Unsupported {
            what: format!(
                "{call} is awaited by what runs on the same team, whose turn has to end before: await it outside, or run it on another team"
            ),
        })
    }

    /// Runs the queue, unless a thread is at it, perhaps this very thread, which then does so
    /// again.
    #[cold]
    pub(super) fn drive(&self) {
        self.wakes.request(
            || self.queue.try_lock(),
            |mut queue| {
                self.look_again(&mut queue);
                self.unlock(queue);
            },
        );
    }
}

/// Woken by the executor when a word that the front of the queue waits for has changed.
impl Wake for Core {
    fn wake(self: Arc<Self>) {
        if !self.in_process {
            self.with_queue(|queue| self.look_again(queue));
            return;
        }
        // A step of one PE wakes the next PE within this very call.
        thread_local! {
            static WOKEN: Turns<Arc<Core>> = const { RefCell::new(None) };
        }
        in_turn(&WOKEN, self, |core| core.drive());
    }
}
