//! Futures that are dropped, forgotten, or polled once and then dropped while their operation is
//! under way: what was asked for still happens, no buffer is touched after it was freed, and
//! nothing leaks.
//!
//! The allocator of this program overwrites whatever is freed, so that an operation which still
//! reads a freed source would carry the pattern to its target, and counts what is live.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicIsize, Ordering::Relaxed},
    },
    time::Duration,
};

use common::{cluster, is_pending, offloading, pe_counts, poll_once, settings, soon, time_limit};
use oxshmem::{Result, prelude::*, settings::Settings};

struct Poison;

static LIVE: AtomicIsize = AtomicIsize::new(0);
const FREED: u8 = 0xdd;

// SAFETY: all memory is the system allocator's; overwriting it is allowed until it is given back.
unsafe impl GlobalAlloc for Poison {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(1, Relaxed);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(1, Relaxed);
        // SAFETY: the block is the caller's until it is given back here.
        unsafe {
            memory.write_bytes(FREED, layout.size());
            System.dealloc(memory, layout);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Poison = Poison;

/// One test at a time, as they count what all of them allocate.
static ALONE: Mutex<()> = Mutex::new(());

/// What becomes of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LetGo {
    Drop,
    Forget,
    PollOnceAndDrop,
    PollOnceAndForget,
    /// Polled with the waker of a task, and dropped with the task.
    Abort,
    Await,
}

const WAYS: [LetGo; 6] = [
    LetGo::Drop,
    LetGo::Forget,
    LetGo::PollOnceAndDrop,
    LetGo::PollOnceAndForget,
    LetGo::Abort,
    LetGo::Await,
];

impl LetGo {
    async fn of<F: Future + Unpin + Send>(self, mut future: F) {
        match self {
            Self::Drop => {}
            Self::Forget => std::mem::forget(future),
            Self::PollOnceAndDrop => drop(poll_once(&mut future)),
            Self::PollOnceAndForget => {
                drop(poll_once(&mut future));
                std::mem::forget(future);
            }
            Self::Abort => {
                let _ = is_pending(&mut future).await;
            }
            Self::Await => drop(future.await),
        }
    }
}

fn pattern(seed: u64, len: usize) -> Vec<u64> {
    (0..len as u64).map(|i| seed << 32 | i).collect()
}

/// Operations of every kind, let go of in one way; then what they did is checked on their targets.
async fn operations(world: World, way: LetGo) -> Result<()> {
    const LEN: usize = 5000;
    let (me, n) = (world.my_pe(), world.n_pes());
    let ctx = world.create_context(ContextOptions::new())?;
    let right = (me + 1) % n;
    let left = (me + n - 1) % n;
    let rows = world.alloc_zeroed::<u64>(8 * LEN).await?;
    let own = world.alloc_zeroed::<u64>(LEN).await?;
    let words = world.alloc_zeroed::<u64>(4).await?;
    let row = |i: usize| rows.slice(i * LEN..(i + 1) * LEN);
    for round in 1..=4u64 {
        let sent = |i: u64| pattern(round << 8 | i << 4 | me as u64, LEN);
        own.view().write(&sent(4));
        way.of(ctx.put(row(0), sent(0), right)).await;
        way.of(ctx.put_nbi(row(1), sent(1), right)).await;
        way.of(ctx.put_nbi(row(2), sent(2).into_boxed_slice(), right)).await;
        way.of(ctx.put_nbi(row(3), Arc::<[u64]>::from(sent(3)), right)).await;
        way.of(ctx.put_nbi(row(4), own.clone(), right)).await;
        way.of(ctx.put_signal(row(5), sent(5), words.at(0), Signal::Add(1), right)).await;
        way.of(ctx.put_signal_nbi(row(6), sent(6), words.at(0), Signal::Add(1), right)).await;
        way.of(ctx.p(words.at(1), round, right)).await;
        way.of(ctx.fetch_inc(words.at(2), right)).await;
        way.of(ctx.add(words.at(3), 2, right)).await;
        // Gets into buffers that go away with their futures.
        way.of(ctx.get(row(7), right)).await;
        way.of(ctx.get_nbi(vec![0; LEN], row(7), right)).await;
        way.of(ctx.get_nbi(vec![0u64; LEN].into_boxed_slice(), row(7), right)).await;
        way.of(ctx.g(words.at(3), right)).await;
        way.of(ctx.quiet()).await;
        way.of(ctx.fence()).await;
        // New memory where what was freed might have been.
        let churn: Vec<Vec<u64>> = (0..8).map(|_| vec![u64::MAX; LEN]).collect();
        soon("quiet", ctx.quiet()).await?;
        drop(churn);
        world.barrier_all().await?;
        for i in 0..7u64 {
            let expected = pattern(round << 8 | i << 4 | left as u64, LEN);
            assert!(row(i as usize).to_vec() == expected, "round {round}: row {i} is not what was put");
        }
        assert_eq!(words.view().to_vec(), [2 * round, round, round, 2 * round]);
        world.barrier_all().await?;
    }
    Ok(())
}

/// Waits and collectives of every kind, likewise.
async fn waits(world: World, way: LetGo) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let right = (me + 1) % n;
    let words = world.alloc_zeroed::<u64>(4).await?;
    let mask = [0, 1, 0, 0];
    let values = [1, 2, 3, 4];
    // What nobody ever satisfies can only be awaited if it is not.
    let never = if way == LetGo::Await { LetGo::Abort } else { way };
    for round in 1..=3 {
        never.of(words.at(0).wait_until(Cmp::Gt, round)).await;
        never.of(Box::pin(words.wait_until_all(Cmp::Gt, round))).await;
        never.of(Box::pin(words.wait_until_any(Cmp::Gt, round))).await;
        never.of(Box::pin(words.excluding(&mask).wait_until_some(Cmp::Gt, round))).await;
        never.of(Box::pin(words.slice(1..).wait_until_all_vector(Cmp::Gt, &values[1..]))).await;
        way.of(world.barrier_all()).await;
        way.of(world.sync_all()).await;
        let given = (me == 0).then(|| vec![round as u8; 20_000]);
        way.of(world.broadcast_bytes(given, 0)).await;
        soon("a barrier", world.barrier_all()).await?;
        world.context().p(words.at(0), round, right).await?;
        assert_eq!(soon("a wait", words.at(0).wait_until(Cmp::Ge, round)).await?, round);
        world.sync_all().await?;
    }
    Ok(())
}

fn each(settings: Settings, body: impl Fn(World, LetGo) -> futures::future::BoxFuture<'static, Result<()>>) {
    for n in pe_counts() {
        for way in WAYS {
            cluster(n, settings.clone(), |world| body(world, way))
                .unwrap_or_else(|e| panic!("{n} PEs, {way:?}: {e}"));
        }
    }
}

#[test]
fn operations_that_nobody_awaits_happen_with_the_buffers_they_were_given() {
    let _limit = time_limit(90);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    each(offloading(), |world, way| Box::pin(operations(world, way)));
    each(settings(), |world, way| Box::pin(operations(world, way)));
}

#[test]
fn waits_and_collectives_that_nobody_awaits_leave_the_others_as_they_were() {
    let _limit = time_limit(90);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    each(settings(), |world, way| Box::pin(waits(world, way)));
}

#[test]
fn what_is_dropped_is_freed_when_the_job_is_over() {
    let _limit = time_limit(90);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |way| {
        cluster(3, offloading(), |world| operations(world, way)).unwrap();
        cluster(3, settings(), |world| waits(world, way)).unwrap();
    };
    for way in [LetGo::Drop, LetGo::PollOnceAndDrop, LetGo::Abort, LetGo::Await] {
        // Once before, for what is made once in a process.
        run(way);
        let before = settled();
        for _ in 0..5 {
            run(way);
        }
        let left = settled() - before;
        assert!(left < 5, "{way:?}: {left} allocations are left of 5 jobs");
    }
}

#[test]
fn what_is_forgotten_keeps_no_more_than_itself() {
    let _limit = time_limit(90);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Mappings of heaps and control blocks, which are gone with the last handle to their job.
    let mappings =
        || std::fs::read_to_string("/proc/self/maps").expect("procfs").matches("memfd:oxshmem").count();
    let before = mappings();
    for way in [LetGo::Forget, LetGo::PollOnceAndForget, LetGo::Drop, LetGo::Abort, LetGo::Await] {
        for _ in 0..3 {
            cluster(3, settings(), |world| waits(world, way)).unwrap();
        }
    }
    settled();
    assert_eq!(mappings(), before, "mappings are left of jobs that forgot waits");
    for way in [LetGo::Drop, LetGo::PollOnceAndDrop, LetGo::Abort, LetGo::Await] {
        cluster(3, offloading(), |world| operations(world, way)).unwrap();
    }
    settled();
    assert_eq!(mappings(), before, "mappings are left of jobs that forgot nothing");
    // A handle to symmetric memory that is forgotten keeps that memory, but no more of it than its
    // own job's.
    for way in [LetGo::Forget, LetGo::PollOnceAndForget] {
        cluster(3, offloading(), |world| operations(world, way)).unwrap();
    }
    settled();
    let hosts =
        Settings::fake_hosts_for(3, |name| std::env::var_os(name)).and_then(|placement| placement.hosts(3));
    let most = 2 * 2 * hosts.expect("a placement").n_hosts();
    assert!(mappings() - before <= most, "{} mappings are left of 2 jobs", mappings() - before);
}

/// The number of live allocations, once threads that are ending have ended.
fn settled() -> isize {
    let mut last = LIVE.load(Relaxed);
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(20));
        let now = LIVE.load(Relaxed);
        if now == last {
            break;
        }
        last = now;
    }
    last
}

#[test]
fn slices_dropped_while_operations_use_them_stay_until_those_are_complete() {
    let _limit = time_limit(60);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for n in pe_counts() {
        let done = cluster(n, offloading(), move |world| async move {
            let (me, ctx) = (world.my_pe(), world.context());
            let result = world.alloc_zeroed::<u64>(200_000).await?;
            for round in 1..10 {
                let source = world.alloc::<u64>(200_000).await?;
                source.view().fill(round);
                let dest = result.clone();
                drop(ctx.put_nbi(&dest, source, (me + 1) % n));
                drop(dest);
                // Would be given the source's memory, were it free.
                let other = world.alloc::<u64>(200_000).await?;
                other.view().fill(u64::MAX);
                ctx.quiet().await?;
                world.barrier_all().await?;
                assert!(result.view().to_vec().iter().all(|&word| word == round));
                world.barrier_all().await?;
            }
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn a_process_is_a_pe_again_right_after_operations_of_a_helper_thread() {
    let _limit = time_limit(90);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ended = common::Job::new(common::test_name!(), 2).env("SHMEM_OFFLOAD_THRESHOLD=1").end(|| {
        futures::executor::block_on(async {
            for _ in 0..60 {
                let world = oxshmem::init().await.expect("init after finalize");
                let slice = world.alloc::<u64>(1000).await.unwrap();
                drop(world.context().put_nbi(&slice, vec![1; 1000], 1 - world.my_pe()));
                drop(slice);
                world.finalize().await.unwrap();
            }
        });
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}
