//! Loom runs the queue of a team: its collectives end once, in their order, and whatever waits for
//! one of them is woken, whichever thread ends it.
//!
//! Loom sees the locks and the atomics of this process. It knows nothing of the words of the
//! scratch memory: threads take turns at the locks and atomics around an access to them, and all
//! accesses are in one order.

use std::{
    future::{self, poll_fn},
    marker,
    pin::pin,
    task::Wake,
};

use loom::thread as model;
use oxshmem_base::{
    settings::Settings,
    sync::{AtomicU64, thread},
};
use oxshmem_job::Local;
use oxshmem_ops::Members;
use oxshmem_progress::flight::Flight;
use oxshmem_spaces::{Domain, Pe};

use super::*;
use crate::{memory::span::Span, operation::Operation, signature::Moved};

/// The waker of a thread that polls, as a task's thread does.
struct Parked {
    woken: AtomicBool,
    thread: thread::Thread,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        // An exchange: loom takes a store for one that may come before an earlier exchange.
        self.woken.swap(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Parked {
    fn new() -> Arc<Self> {
        Arc::new(Self { woken: AtomicBool::new(false), thread: thread::current() })
    }

    /// Sleeps until this is woken, or was.
    fn sleep(&self) {
        while !self.woken.swap(false, Ordering::SeqCst) {
            thread::park();
        }
    }
}

/// Polls, and sleeps in between, until it is ready.
fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let parked = Parked::new();
    let waker = Waker::from(Arc::clone(&parked));
    loop {
        match future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => parked.sleep(),
        }
    }
}

/// The team of all of `n` PEs in this process, on each of them.
fn teams(n: usize) -> Vec<Arc<Core>> {
    let mut settings = Settings::default();
    settings.hang_timeout = None;
    let mut joins: Vec<_> = Local::cluster(n)
        .into_iter()
        .map(|local| (Box::pin(Pe::join(Arc::new(local), settings.clone())), None))
        .collect();
    while joins.iter().any(|(_, pe)| pe.is_none()) {
        for (join, pe) in joins.iter_mut().filter(|(_, pe)| pe.is_none()) {
            if let Poll::Ready(joined) = join.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) {
                *pe = Some(joined.unwrap());
            }
        }
    }
    let pes: Vec<_> = joins.into_iter().filter_map(|(_, pe)| pe).collect();
    let team = |pe: &Arc<Pe>| {
        let group = Group::new(pe, Members::world(n), pe.me(), 0, 0);
        Core::new(group, 0, Some("world"), TeamConfig::default(), &Arc::default())
    };
    pes.iter().map(team).collect()
}

/// How the team is woken.
#[derive(Clone, Copy, Debug)]
enum Wakes {
    /// By a writer that may have another team's queue, or this one, under way.
    InProcess,
    /// By the driver of a process of its own.
    ByDriver,
}

/// What the collectives of [`One`] wait for.
#[derive(Default)]
struct Words {
    come: [Flight<()>; 2],
    /// One of them is under way.
    runs: AtomicBool,
}

/// The team of one PE.
struct One {
    team: Arc<Core>,
    words: Arc<Words>,
}

impl One {
    fn new(wakes: Wakes) -> Arc<Self> {
        let team = teams(1).remove(0);
        if matches!(wakes, Wakes::ByDriver) {
            // SAFETY: no thread has the team but this one, which has no reference into it.
            unsafe { (*Arc::as_ptr(&team).cast_mut()).in_process = false };
        }
        Arc::new(Self { team, words: Arc::default() })
    }

    /// What a collective does that ends when `word` has come.
    fn task(&self, word: usize) -> impl Future<Output = Result<()>> + Send + 'static {
        let words = Arc::clone(&self.words);
        async move {
            assert!(!words.runs.swap(true, Ordering::SeqCst), "two collectives of a team at a time");
            poll_fn(|cx| words.come[word].poll(cx)).await;
            words.runs.swap(false, Ordering::SeqCst);
            Ok(())
        }
    }

    fn call(&self, word: usize) -> Collective<'_> {
        self.team.task(Shown::Signed, Signature::named("sync"), self.task(word))
    }

    fn come(&self, word: usize) {
        self.words.come[word].land(());
    }
}

fn check(preemptions: usize, run: impl Fn() + marker::Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    // A PE has many atomics, all of which are made here.
    model.max_branches = 10_000;
    model.check(run);
}

/// `this` beside `other`, each in a thread of its own, on the team of one PE.
fn beside(
    wakes: Wakes,
    this: impl Fn(&Arc<One>) + marker::Sync + Send + 'static,
    other: impl Fn(&Arc<One>) + Copy + Send + marker::Sync + 'static,
) {
    check(3, move || {
        let one = One::new(wakes);
        let beside = {
            let one = Arc::clone(&one);
            model::spawn(move || other(&one))
        };
        this(&one);
        beside.join().unwrap();
    });
}

#[test]
fn loom_a_task_is_woken_by_the_thread_that_ends_its_collective() {
    beside(Wakes::InProcess, |one| wait(one.call(0)).unwrap(), |one| one.come(0));
}

#[test]
fn loom_a_task_is_woken_where_a_driver_runs_the_queue() {
    beside(Wakes::ByDriver, |one| wait(one.call(0)).unwrap(), |one| one.come(0));
}

/// Each of two threads waits for a collective that the other one lets end.
fn two_wait(wakes: Wakes) {
    fn one_of_two(one: &One, [mine, theirs]: [usize; 2]) {
        let called = one.call(mine);
        one.come(theirs);
        wait(called).unwrap();
    }
    beside(wakes, |one| one_of_two(one, [0, 1]), |one| one_of_two(one, [1, 0]));
}

#[test]
fn loom_two_threads_call_and_poll_in_one_process() {
    two_wait(Wakes::InProcess);
}

#[test]
fn loom_two_threads_call_and_poll_beside_a_driver() {
    two_wait(Wakes::ByDriver);
}

#[test]
fn loom_the_last_waker_that_polled_is_woken() {
    let polled_elsewhere = |one: &Arc<One>| {
        let mut called = pin!(one.call(0));
        let mut cx = TaskContext::from_waker(Waker::noop());
        if called.as_mut().poll(&mut cx).is_pending() {
            wait(called).unwrap();
        }
    };
    beside(Wakes::InProcess, polled_elsewhere, |one| one.come(0));
}

#[test]
fn loom_a_team_is_idle_when_what_was_dropped_has_ended() {
    let idle = |one: &Arc<One>| {
        drop(one.call(0));
        wait(one.team.idle());
        assert!(!one.words.runs.load(Ordering::SeqCst) && one.team.with_queue(|queue| queue.ended) == 1);
    };
    beside(Wakes::InProcess, idle, |one| one.come(0));
}

#[test]
fn loom_a_collective_that_is_polled_by_another_call_goes_on() {
    // The other thread takes the task from the front when it has it polled.
    let calls = |one: &Arc<One>| {
        one.come(0);
        wait(one.team.idle());
    };
    beside(Wakes::InProcess, |one| wait(one.call(0)).unwrap(), calls);
}

#[test]
fn loom_an_outcome_lands_beside_the_end_of_its_collective() {
    let outcome = |one: &Arc<One>| {
        let task = one.task(0);
        let run = one.team.run("run", Activity::new(Call::Sync), |_| async move { task.await.map(|()| 7) });
        assert_eq!(wait(run).unwrap(), 7);
    };
    beside(Wakes::InProcess, outcome, |one| one.come(0));
}

#[test]
fn loom_an_outcome_lands_when_the_team_is_no_more() {
    check(3, || {
        let team = teams(1).remove(0);
        let run = team.run("run", Activity::new(Call::Sync), |_| future::pending::<Result<()>>());
        let other = model::spawn(move || drop(team));
        assert!(matches!(wait(run), Err(Error::Finalized { .. })));
        other.join().unwrap();
    });
}

/// One of two PEs.
struct Side {
    team: Arc<Core>,
    scratch: Arc<Allocation>,
}

impl Side {
    fn both() -> [Self; 2] {
        let side = |team: Arc<Core>| {
            let pe = Arc::clone(team.group.pe());
            let segment = pe.scratch();
            // SAFETY: nothing is done through it; the queue asks for its block alone.
            let scratch = unsafe { Allocation::unowned(pe, Domain::Host, segment, 0, 8) };
            Self { team, scratch }
        };
        <[_; 2]>::try_from(teams(2)).unwrap().map(side)
    }

    /// What this PE gives, and where it gets what both give.
    fn spans(&self) -> [Span; 2] {
        [self.team.group.general(0, 8), self.team.group.general(8, 16)]
    }

    /// This PE gives `number` to both.
    fn exchange(&self, number: u64) -> Collective<'_> {
        let [source, dest] = self.spans();
        self.team.group.memory.write(source, &number.to_ne_bytes());
        let signature = Signature::of(Operation::Fcollect, Moved::of::<u64>(), 1, 2);
        let call = Called { operation: Operation::Fcollect, signature, size: 8, source, dest };
        self.team.exchange(call, [&self.scratch; 2])
    }

    /// What the other one has given last.
    fn came(&self, from: usize) -> u64 {
        let mut came = [0; 16];
        self.team.group.memory.read(self.spans()[1], &mut came);
        bytemuck::cast::<_, [u64; 2]>(came)[from]
    }
}

/// Calls a collective to which the PE gives a number.
type Calls = for<'a> fn(&'a Side, u64) -> Collective<'a>;

/// Each of two threads calls a collective on one PE; the second one also calls those of the other
/// PE, one of them before its own if `late`. None ends before the other PE has come to it.
fn two_threads_beside_another_pe(
    call: Calls,
    late: bool,
    has_come: impl Fn(&Side, u64) + marker::Sync + Send + Copy + 'static,
) {
    check(2, move || {
        let [here, there] = Side::both().map(Arc::new);
        let come = Arc::new(AtomicU64::new(0));
        let end = move |called: Collective<'_>, side: &Side, come: &AtomicU64| {
            let ticket = format!("{called:?}").chars().find_map(|digit| digit.to_digit(10));
            wait(called).unwrap();
            let ticket = ticket.map_or(1, u64::from);
            assert!(come.load(Ordering::SeqCst) >= ticket, "it ends too early");
            has_come(side, ticket);
        };
        let other = {
            let (here, come) = (Arc::clone(&here), Arc::clone(&come));
            model::spawn(move || {
                let of_other = |number| {
                    come.fetch_add(1, Ordering::SeqCst);
                    call(&there, number)
                };
                let first = late.then(|| of_other(1));
                let called = call(&here, 0);
                let others = [first.unwrap_or_else(|| of_other(1)), of_other(2)];
                end(called, &here, &come);
                for called in others {
                    wait(called).unwrap();
                }
            })
        };
        end(call(&here, 0), &here, &come);
        other.join().unwrap();
    });
}

#[test]
fn loom_two_threads_sync_beside_another_pe() {
    for late in [false, true] {
        two_threads_beside_another_pe(|side, _| side.team.sync(), late, |_, _| ());
    }
}

#[test]
fn loom_two_threads_exchange_beside_another_pe() {
    let has_come =
        |side: &Side, ticket| assert!(side.came(1) >= ticket, "it ends before it has taken what came");
    for late in [false, true] {
        two_threads_beside_another_pe(Side::exchange, late, has_come);
    }
}

/// A thread that waits for the second of two collectives of its PE does not take the end of the
/// first one for it.
#[test]
fn loom_the_second_collective_ends_after_the_first() {
    let calls: [Calls; 2] = [|side, _| side.team.sync(), Side::exchange];
    for call in calls {
        check(1, move || {
            let [here, there] = Side::both();
            let come = Arc::new(AtomicU64::new(0));
            let other = {
                let come = Arc::clone(&come);
                model::spawn(move || {
                    for number in [1, 2] {
                        come.fetch_add(1, Ordering::SeqCst);
                        drop(call(&there, number));
                    }
                })
            };
            drop(call(&here, 0));
            wait(call(&here, 0)).unwrap();
            assert_eq!(come.load(Ordering::SeqCst), 2, "it ends too early");
            other.join().unwrap();
        });
    }
}
