//! Wakers that do what programs may: panic, own other tasks, and run their task at once, in the
//! middle of whatever the library does. None of them ends a thread of the library or finds one of
//! its locks held.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    task::{Context as TaskContext, Poll, RawWaker, RawWakerVTable, Wake, Waker},
    time::Duration,
};

use crate::common::{poll_once, settings, soon, time_limit};
use oxshmem::{ClusterOptions, Link, Result, prelude::*, settings::SyncAlgorithm};

/// Panics when it is woken, and says that it was.
struct Panics(AtomicU64);

impl Panics {
    fn new() -> (Arc<Self>, Waker) {
        let panics = Arc::new(Self(AtomicU64::new(0)));
        (Arc::clone(&panics), Waker::from(panics))
    }
}

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
        panic!("as this waker is to");
    }
}

fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut TaskContext::from_waker(waker))
}

/// Runs `body` with the worlds of two PEs, and finalizes them.
fn two_pes<F, R>(options: ClusterOptions, body: impl FnOnce(Vec<World>) -> F) -> R
where
    F: Future<Output = Result<R>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let worlds = LocalCluster::start_with(2, options).await?;
        let outcome = body(worlds.clone()).await?;
        soon("the end", futures::future::try_join_all(worlds.iter().map(World::finalize))).await?;
        Ok::<_, oxshmem::Error>(outcome)
    });
    outcome.unwrap()
}

async fn alloc(worlds: &[World], len: usize) -> Result<Vec<SymSlice<u64>>> {
    futures::future::try_join_all(worlds.iter().map(|world| world.alloc_zeroed::<u64>(len))).await
}

fn options() -> ClusterOptions {
    ClusterOptions { settings: settings(), ..ClusterOptions::default() }
}

/// Over a network that takes a moment.
fn far() -> ClusterOptions {
    let link = Link { latency: Duration::from_millis(5), ..Link::default() };
    ClusterOptions { link, ..options() }.hosts(2)
}

#[test]
fn a_waker_that_panics_does_not_end_the_thread_of_the_network() {
    let _limit = time_limit(60);
    two_pes(far(), |worlds| async move {
        let (ctx, slices) = (worlds[0].context(), alloc(&worlds, 8).await?);
        let (panics, waker) = Panics::new();
        let mut get = ctx.get(&slices[0], 1);
        assert!(poll_with(&mut get, &waker).is_pending());
        // Its own completion first, then that of a quiet.
        let mut quiet = ctx.quiet();
        assert!(poll_with(&mut quiet, &waker).is_pending());
        soon("a later get", ctx.get(&slices[0], 1)).await?;
        soon("a quiet", ctx.quiet()).await?;
        assert_eq!(panics.0.load(SeqCst), 2);
        assert!(poll_once(&mut get).is_ready() && poll_once(&mut quiet).is_ready());
        Ok(())
    });
}

#[test]
fn a_waker_that_panics_does_not_end_the_thread_of_the_device() {
    let _limit = time_limit(60);
    let mut options = options();
    options.settings.enable_cpu_space = Some("1".into());
    options.settings.enable_gpu_space = Some("1".into());
    options.settings.gpu_emulate = true;
    options.settings.gpu_emulate_latency = Duration::from_millis(5);
    two_pes(options, |worlds| async move {
        let ctx = worlds[0].context();
        let spaces: Vec<_> = worlds.iter().map(|world| world.space(SpaceKind::Gpu)).collect::<Result<_>>()?;
        let slices =
            futures::future::try_join_all(spaces.iter().map(|space| space.alloc_zeroed::<u64>(64))).await?;
        let (panics, waker) = Panics::new();
        let mut put = ctx.put_nbi(&slices[0], vec![1; 64], 0);
        assert!(poll_with(&mut put, &waker).is_pending());
        // A wait for a word of the device, for which its thread looks.
        let mut wait = Box::pin(slices[0].at(0).wait_until(Cmp::Eq, 7));
        assert!(poll_with(&mut wait, &waker).is_pending());
        soon("a later put", ctx.put_nbi(&slices[0], vec![7; 64], 0)).await?;
        soon("a quiet", ctx.quiet()).await?;
        soon("another wait", slices[0].at(1).wait_until(Cmp::Eq, 7)).await?;
        soon("the wait", async {
            while panics.0.load(SeqCst) < 2 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        drop(wait);
        Ok(())
    });
}

#[test]
fn a_waker_that_panics_does_not_end_the_copy_engine() {
    let _limit = time_limit(60);
    let mut options = options();
    options.settings.offload_threshold = Some(1);
    two_pes(options, |worlds| async move {
        let (ctx, slices) = (worlds[0].context(), alloc(&worlds, 1 << 20).await?);
        let (panics, waker) = Panics::new();
        let block: Arc<[u64]> = vec![1; 1 << 20].into();
        // Whether it is under way when it is polled is a matter of luck, but not of twenty.
        for _ in 0..20 {
            let before: Vec<_> = (0..8).map(|_| ctx.put_nbi(&slices[0], Arc::clone(&block), 1)).collect();
            let mut put = ctx.put_nbi(&slices[0], Arc::clone(&block), 1);
            let behind = ctx.put_nbi(&slices[0], Arc::clone(&block), 1);
            let waits = poll_with(&mut put, &waker).is_pending();
            soon("what was behind it", behind).await?;
            soon("a quiet", ctx.quiet()).await?;
            drop(before);
            if waits {
                assert!(panics.0.load(SeqCst) > 0);
                return Ok(());
            }
        }
        panic!("the copy engine was never late");
    });
}

#[test]
fn a_waker_that_panics_disturbs_neither_the_pe_that_stores_nor_other_waits() {
    let _limit = time_limit(60);
    two_pes(options(), |worlds| async move {
        let slices = alloc(&worlds, 2).await?;
        let words = &slices[0];
        let (panics, waker) = Panics::new();
        let mut bad = Box::pin(words.at(0).wait_until(Cmp::Eq, 1));
        assert!(poll_with(&mut bad, &waker).is_pending());
        let good = tokio::spawn({
            let words = words.clone();
            async move { words.at(0).wait_until(Cmp::Eq, 1).await.map(drop) }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        words.at(0).store(1);
        assert_eq!(panics.0.load(SeqCst), 1);
        soon("the other wait", good).await.unwrap()?;
        assert!(poll_once(&mut bad).is_ready());
        Ok(())
    });
}

#[test]
fn a_waker_that_panics_leaves_the_lock_to_others() {
    let _limit = time_limit(60);
    two_pes(options(), |worlds| async move {
        let slices = alloc(&worlds, 1).await?;
        let locks: Vec<_> = worlds
            .iter()
            .zip(&slices)
            .map(|(world, slice)| Lock::new(world.context(), slice.at(0)))
            .collect::<Result<_>>()?;
        let guard = locks[0].lock().await?;
        let (panics, waker) = Panics::new();
        let mut want = locks[1].lock();
        assert!(poll_with(&mut want, &waker).is_pending());
        drop(guard);
        assert_eq!(panics.0.load(SeqCst), 1);
        drop(want);
        for lock in locks.iter().chain(&locks) {
            soon("the lock", lock.lock()).await?.unlock().await?;
        }
        Ok(())
    });
}

#[test]
fn a_waker_that_panics_ends_no_collective() {
    let _limit = time_limit(60);
    two_pes(options(), |worlds| async move {
        let (panics, waker) = Panics::new();
        let mut first = worlds[0].sync_all();
        assert!(poll_with(&mut first, &waker).is_pending());
        soon("the other's sync", worlds[1].sync_all()).await?;
        assert_eq!(panics.0.load(SeqCst), 1);
        assert!(matches!(poll_once(&mut first), Poll::Ready(Ok(()))));
        Ok(())
    });
}

/// A task that nobody runs, and that owns something.
struct Owns<T>(Mutex<T>);

impl<T: Send> Wake for Owns<T> {
    fn wake(self: Arc<Self>) {}
}

/// Polls `future` with a waker that has the last reference to a task which owns `inner`, and then
/// with another: the library drops the first.
fn replaces(mut future: Pin<&mut (impl Future + ?Sized)>, inner: impl Send + 'static) {
    let first = Waker::from(Arc::new(Owns(Mutex::new(inner))));
    assert!(future.as_mut().poll(&mut TaskContext::from_waker(&first)).is_pending());
    drop(first);
    assert!(future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
}

/// A future that was polled.
fn begun<F: Future + Unpin>(mut future: F) -> F {
    assert!(poll_once(&mut future).is_pending());
    future
}

#[test]
fn the_last_reference_to_a_task_may_go_with_a_waker_that_is_replaced() {
    let _limit = time_limit(60);
    two_pes(far(), |worlds| async move {
        // What a task owns outlives this function.
        let slices: &'static [SymSlice<u64>] = Vec::leak(alloc(&worlds, 4).await?);
        let worlds: &'static [World] = Vec::leak(worlds);
        let (world, words, ctx) = (&worlds[0], &slices[0], worlds[0].context());

        let wait = |i, value| Box::pin(words.at(i).wait_until(Cmp::Eq, value));
        replaces(wait(0, 1).as_mut(), begun(wait(1, 9)));
        let set = |value| Box::pin(words.slice(..2).wait_until_all(Cmp::Eq, value));
        replaces(set(3).as_mut(), begun(set(4)));

        let lock = Lock::new(ctx, words.at(2))?;
        let guard = lock.lock().await?;
        replaces(pin!(lock.lock()), begun(lock.lock()));
        let mut unlock = Box::pin(guard.unlock());
        if poll_once(&mut unlock).is_pending() {
            unlock.await?;
        }

        replaces(pin!(ctx.get(words, 1)), begun(ctx.get(words, 1)));
        let get = ctx.get(words, 1);
        replaces(pin!(ctx.quiet()), begun(ctx.quiet()));
        replaces(pin!(ctx.pe_quiet(&[1])), begun(ctx.pe_quiet(&[1])));
        soon("the get", get).await?;

        let (first, second) = (world.sync_all(), world.sync_all());
        replaces(pin!(first), begun(second));
        soon("the other PE's", async {
            worlds[1].sync_all().await?;
            worlds[1].sync_all().await
        })
        .await?;
        let (run, others) = (world.broadcast_bytes(None, 1), worlds[1].broadcast_bytes(Some(vec![1]), 1));
        replaces(pin!(run), begun(worlds[1].sync_all()));
        soon("the root's", others).await?;
        soon("a sync", world.sync_all()).await
    });
}

/// Runs its task at once: `step`.
struct Inline<F>(F, AtomicU64);

impl<F: Fn() + Send + Sync + 'static> Wake for Inline<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
        self.1.fetch_add(1, SeqCst);
    }
}

fn inline<F: Fn() + Send + Sync + 'static>(step: F) -> (Arc<Inline<F>>, Waker) {
    let inline = Arc::new(Inline(step, AtomicU64::new(0)));
    (Arc::clone(&inline), Waker::from(inline))
}

#[test]
fn a_task_that_runs_at_once_may_call_the_team_that_has_woken_it() {
    let _limit = time_limit(60);
    // Each PE notifies the other one.
    let mut options = options();
    options.settings.sync_algorithm = SyncAlgorithm::Dissemination;
    two_pes(options, |worlds| async move {
        let slices = alloc(&worlds, 1).await?;
        for round in 1..=20 {
            let team = worlds[0].team().clone();
            let (ran, waker) = inline(move || drop(team.sync()));
            let words = slices[1].clone();
            let mut wait = Box::pin(words.at(0).wait_until(Cmp::Eq, round));
            assert!(poll_with(&mut wait, &waker).is_pending());
            // SAFETY: nobody else touches the word meanwhile. No bell rings for this.
            unsafe { slices[1].view().as_mut_slice()[0] = round };
            // PE 0 notifies PE 1 that it has come, and looks at what PE 1 waits for, with its queue
            // locked.
            let sync = worlds[0].sync_all();
            soon("PE 1's sync", worlds[1].sync_all()).await?;
            soon("PE 0's sync", sync).await?;
            for _ in 0..ran.1.load(SeqCst) {
                soon("the sync that the task has called", worlds[1].sync_all()).await?;
            }
            assert!(ran.1.load(SeqCst) > 0 && poll_once(&mut wait).is_ready());
        }
        Ok(())
    });
}

#[test]
fn a_task_that_runs_at_once_finds_its_operation_complete() {
    let _limit = time_limit(60);
    two_pes(far(), |worlds| async move {
        let slices = alloc(&worlds, 1 << 12).await?;
        let world = worlds[0].clone();
        let complete = Arc::new(Mutex::new(Vec::new()));
        let (ran, waker) = inline({
            let complete = Arc::clone(&complete);
            move || complete.lock().unwrap().push(poll_once(&mut world.context().quiet()).is_ready())
        });
        let mut get = worlds[0].context().get(&slices[0], 1);
        assert!(poll_with(&mut get, &waker).is_pending());
        soon("the get", async {
            while ran.1.load(SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(*complete.lock().unwrap(), [true]);
        assert!(poll_once(&mut get).is_ready());
        Ok(())
    });
}

/// A waker that calls the library when it is cloned.
fn calls_when_cloned(call: &'static (dyn Fn() + Sync)) -> Waker {
    type Call = &'static (dyn Fn() + Sync);
    fn raw(call: *const ()) -> RawWaker {
        RawWaker::new(call, &RawWakerVTable::new(clone, drop, drop, drop))
    }
    fn clone(call: *const ()) -> RawWaker {
        // SAFETY: `raw` was given the address of a call that is never freed.
        unsafe { (*call.cast::<Call>())() };
        raw(call)
    }
    let call: &'static Call = Box::leak(Box::new(call));
    // SAFETY: what is cloned can be shared and is never freed, and the rest does nothing.
    unsafe { Waker::from_raw(raw(std::ptr::from_ref(call).cast())) }
}

#[test]
fn a_waker_may_call_the_library_when_it_is_cloned() {
    let _limit = time_limit(60);
    two_pes(far(), |worlds| async move {
        let worlds: &'static [World] = Vec::leak(worlds);
        let slices: &'static [SymSlice<u64>] = Vec::leak(alloc(worlds, 2).await?);
        let (world, words) = (&worlds[0], &slices[0]);
        let lock: &'static Lock = Box::leak(Box::new(Lock::new(world.context(), words.at(1))?));
        let guard = lock.lock().await?;
        let get: &'static Mutex<_> = Box::leak(Box::new(Mutex::new(world.context().get(words, 1))));
        let sync: &'static Mutex<_> = Box::leak(Box::new(Mutex::new(world.sync_all())));
        let waker = calls_when_cloned(Box::leak(Box::new(|| {
            let _ = poll_once(&mut Box::pin(words.at(0).wait_until(Cmp::Eq, 9)));
            let _ = poll_once(&mut lock.lock());
            let _ = poll_once(&mut world.context().quiet());
            if let (Ok(mut get), Ok(mut sync)) = (get.try_lock(), sync.try_lock()) {
                let _ = (poll_once(&mut *get), poll_once(&mut *sync));
            }
        })));
        let mut cx = TaskContext::from_waker(&waker);
        for _ in 0..2 {
            assert!(pin!(words.at(0).wait_until(Cmp::Eq, 9)).poll(&mut cx).is_pending());
            assert!(pin!(lock.lock()).poll(&mut cx).is_pending());
            assert!(pin!(world.context().quiet()).poll(&mut cx).is_pending());
            assert!(pin!(world.sync_all()).poll(&mut cx).is_pending());
        }
        drop(guard);
        for _ in 0..3 {
            soon("the other PE", worlds[1].sync_all()).await?;
        }
        soon("a quiet", world.context().quiet()).await
    });
}
