//! Locks in jobs that go on: a lost PE keeps none, and keeps no PE waiting.

use std::time::Duration;

use oxshmem::{Error, Result, prelude::*};
use rustix::process::{Pid, Signal as Sent, kill_process};

use crate::{
    common::{Job, Random, test_name, time_limit},
    go_on, is_lost, kill_this,
};

/// How many locks there are, which have homes on all PEs.
const LOCKS: usize = 16;

/// Whether that lock's home is PE `lost`, by what came of a call; any other error is a failure.
fn lost_with<T>(outcome: Result<T>, lost: usize) -> Option<T> {
    match outcome {
        Ok(came) => Some(came),
        Err(Error::PeLost { pe, .. }) if pe == lost => None,
        Err(error) => panic!("PE {lost} is lost, and here is {error}"),
    }
}

/// PE 2 has all locks, and is lost while the others wait.
async fn a_holder_dies(world: World) -> Result<()> {
    const LOST: usize = 2;
    let (me, ctx) = (world.my_pe(), world.context());
    let words = world.alloc_zeroed::<u64>(LOCKS).await?;
    let flags = world.alloc_zeroed::<u64>(2 + 3 * LOCKS).await?;
    let locks: Vec<_> = (0..LOCKS).map(|i| Lock::new(ctx, words.at(i))).collect::<Result<_>>()?;
    world.barrier_all().await?;
    if me == LOST {
        for (i, lock) in locks.iter().enumerate() {
            match i % 2 {
                0 => std::mem::forget(lock.lock().await?),
                _ => lock.set().await?,
            }
        }
        for pe in [0, 1, 3] {
            ctx.inc(flags.at(0), pe).await?;
        }
        // They wait.
        flags.at(1).wait_until(Cmp::Eq, 3).await?;
        kill_this();
    }
    flags.at(0).wait_until(Cmp::Eq, 1).await?;
    let waiting: Vec<_> = locks.iter().map(Lock::lock).collect();
    assert!(locks[0].try_lock().await?.is_none());
    // It may be lost before it has answered.
    let _ = ctx.inc(flags.at(1), LOST).await;
    let _ = ctx.quiet().await;
    let (mut abandoned, mut gone) = (0, 0);
    for (i, locking) in waiting.into_iter().enumerate() {
        match lost_with(locking.await, LOST) {
            Some(guard) => {
                ctx.add(flags.at(2 + i), guard.was_abandoned().into(), 0).await?;
                ctx.inc(flags.at(2 + LOCKS + i), 0).await?;
                guard.unlock().await?;
            }
            None => {
                // Whatever is called, and with whichever handle.
                let again = Lock::new(ctx, words.at(i))?;
                is_lost(again.lock().await, LOST, 1..=1);
                is_lost(again.try_lock().await, LOST, 1..=1);
                is_lost(locks[i].set().await, LOST, 1..=1);
                is_lost(locks[i].test().await, LOST, 1..=1);
                ctx.inc(flags.at(2 + 2 * LOCKS + i), 0).await?;
            }
        }
    }
    let team = world.team().survivors().await?.team;
    if me == 0 {
        for i in 0..LOCKS {
            let load = |part: usize| flags.at(2 + part * LOCKS + i).load();
            match (load(0), load(1), load(2)) {
                (1, 3, 0) => abandoned += 1,
                (0, 0, 3) => gone += 1,
                other => panic!("lock {i}: {other:?}"),
            }
        }
        assert!(abandoned >= LOCKS / 2 && gone > 0, "{abandoned} abandoned, {gone} gone");
    }
    // They are as any lock is, with handles that come and go, too.
    for i in 0..LOCKS {
        let handle = || Lock::new(ctx, words.at(i));
        for _ in 0..20 {
            if lost_with(handle()?.set().await, LOST).is_some() {
                let held = handle()?.try_lock().await?;
                assert!(held.is_none(), "this PE has it");
                handle()?.clear().await?;
            }
        }
        assert!(handle()?.clear().await.is_err());
    }
    team.sync().await
}

#[test]
fn a_lock_of_a_lost_pe_goes_to_another_which_knows() {
    let _limit = time_limit(60);
    for hosts in ["1", "2", "4"] {
        let ended = go_on(Job::new(test_name!(), 4).hosts(hosts), a_holder_dies);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
    }
}

/// PE 1 has all locks, and PE 2, which waits, is lost before PE 3.
async fn a_waiter_dies(world: World) -> Result<()> {
    const LOST: usize = 2;
    let (me, ctx) = (world.my_pe(), world.context());
    let words = world.alloc_zeroed::<u64>(LOCKS).await?;
    let flag = world.alloc_zeroed::<u64>(1).await?;
    let locks: Vec<_> = (0..LOCKS).map(|i| Lock::new(ctx, words.at(i))).collect::<Result<_>>()?;
    world.barrier_all().await?;
    let mut guards = Vec::new();
    if me == 1 {
        for lock in &locks {
            guards.push(lock.lock().await?);
        }
    }
    world.barrier_all().await?;
    if me == LOST {
        let _waiting: Vec<_> = locks.iter().map(Lock::lock).collect();
        ctx.inc(flag.at(0), 3).await?;
        flag.at(0).wait_until(Cmp::Eq, 1).await?;
        kill_this();
    }
    if me == 3 {
        flag.at(0).wait_until(Cmp::Eq, 1).await?;
        let waiting: Vec<_> = locks.iter().map(Lock::lock).collect();
        // It may be lost before it has answered.
        let _ = ctx.inc(flag.at(0), LOST).await;
        let _ = ctx.quiet().await;
        let mut got = 0;
        for locking in waiting {
            if let Some(guard) = lost_with(locking.await, LOST) {
                assert!(!guard.was_abandoned(), "no holder was lost");
                got += 1;
            }
        }
        assert!(got >= LOCKS / 2, "{got}");
    } else if me == 1 {
        let loss = world.losses().next().await;
        assert_eq!(loss.pe, LOST);
        for guard in guards {
            lost_with(guard.unlock().await, LOST);
        }
    }
    world.team().survivors().await?.team.sync().await
}

#[test]
fn a_lost_pe_that_waits_keeps_none_waiting() {
    let _limit = time_limit(60);
    for hosts in ["1", "2", "4"] {
        let ended = go_on(Job::new(test_name!(), 4).hosts(hosts), a_waiter_dies);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
    }
}

/// PEs that are not killed keep what the locks protect.
const KEEPERS: [usize; 2] = [0, 7];
/// How many of the others are.
const KILLED: u64 = 5;
/// Rounds with locks after that.
const AFTER: usize = 60;

/// What a lock protects: which task has it, a count, and a copy of that.
struct Protected<'a> {
    holder: SymRef<'a, u64>,
    count: SymRef<'a, u64>,
    copy: SymRef<'a, u64>,
    keeper: usize,
}

/// Takes locks at random, in all ways, until as many PEs are lost as are to be.
async fn take_locks(
    world: &World,
    (words, data): (&SymSlice<u64>, &SymSlice<u64>),
    task: u64,
) -> Result<(usize, usize)> {
    let (me, n, ctx) = (world.my_pe() as u64, world.n_pes() as u64, world.context());
    let mut random = Random::new(u64::from(std::process::id()) + task);
    let (mut after, mut taken, mut abandoned) = (0, 0, 0);
    while after < AFTER {
        after += usize::from((0..n as usize).filter(|&pe| world.is_lost(pe)).count() as u64 == KILLED);
        let i = random.below(LOCKS as u64) as usize;
        let lock = Lock::new(ctx, words.at(i))?;
        let protected = Protected {
            holder: data.at(i),
            count: data.at(LOCKS + i),
            copy: data.at(2 * LOCKS + i),
            keeper: KEEPERS[i % 2],
        };
        let name = task * n + me + 1;
        let way = random.below(5);
        let outcome = match way {
            0 => lock.set().await.map(|()| None),
            1 => match lock.try_lock().await {
                Ok(None) => continue,
                other => other,
            },
            2 => match tokio::time::timeout(Duration::from_micros(random.below(300)), lock.lock()).await {
                Ok(outcome) => outcome.map(Some),
                Err(_) => continue,
            },
            _ => lock.lock().await.map(Some),
        };
        let guard = match outcome {
            Ok(guard) => guard,
            // The lock's home is.
            Err(Error::PeLost { pe, .. }) if world.is_lost(pe) => continue,
            Err(error) => return Err(error),
        };
        let was_abandoned = guard.as_ref().map(LockGuard::was_abandoned);
        taken += 1;
        abandoned += usize::from(was_abandoned == Some(true));
        change(world, &protected, name, was_abandoned).await?;
        let left = match guard {
            None => lock.clear().await,
            Some(guard) if way == 3 => {
                drop(guard);
                Ok(())
            }
            Some(guard) => guard.unlock().await,
        };
        match left {
            Err(Error::PeLost { pe, .. }) if world.is_lost(pe) => {}
            other => other?,
        }
    }
    Ok((taken, abandoned))
}

/// What a task does that has a lock: another finds all of it, or knows that it was lost meanwhile.
async fn change(
    world: &World,
    Protected { holder, count, copy, keeper }: &Protected<'_>,
    name: u64,
    was_abandoned: Option<bool>,
) -> Result<()> {
    let (ctx, keeper) = (world.context(), *keeper);
    let before = ctx.swap(*holder, name, keeper).await?;
    if before != 0 {
        let pe = (before - 1) as usize % world.n_pes();
        assert!(world.is_lost(pe), "PE {pe} has the lock too");
        assert_ne!(was_abandoned, Some(false), "PE {pe} was lost with the lock, which none knows");
    }
    let (counted, copied) = (ctx.g(*count, keeper).await?, ctx.g(*copy, keeper).await?);
    if before == 0 {
        assert_eq!(counted, copied, "something came after the lock was left");
    } else if counted != copied {
        assert_eq!(counted, copied + 1, "one task leaves its work half done");
        // As this task may be lost too, it ends that work before its own.
        ctx.p(*copy, counted, keeper).await?;
        ctx.quiet().await?;
    }
    ctx.p(*count, counted + 1, keeper).await?;
    ctx.quiet().await?;
    // Long enough to be killed in.
    tokio::time::sleep(Duration::from_micros(name * 97 % 400)).await;
    ctx.p(*copy, counted + 1, keeper).await?;
    ctx.quiet().await?;
    assert_eq!(ctx.swap(*holder, 0, keeper).await?, name, "another has the lock too");
    Ok(())
}

/// Two tasks of each PE take locks, and PE 0 kills others at random times.
async fn locks_while_pes_are_killed(world: World) -> Result<()> {
    let me = world.my_pe();
    let words = world.alloc_zeroed::<u64>(LOCKS).await?;
    let data = world.alloc_zeroed::<u64>(3 * LOCKS).await?;
    let pids = world.alloc_zeroed::<u64>(8).await?;
    for pe in 0..8 {
        world.context().p(pids.at(me), std::process::id().into(), pe).await?;
    }
    world.barrier_all().await?;
    let killer = (me == 0).then(|| {
        let pids = pids.view().to_vec();
        std::thread::spawn(move || {
            let mut random = Random::new(std::process::id().into());
            let mut left: Vec<_> = (1..7).collect();
            for _ in 0..KILLED {
                std::thread::sleep(Duration::from_micros(random.below(40_000)));
                let pe: usize = left.swap_remove(random.below(left.len() as u64) as usize);
                let pid = Pid::from_raw(i32::try_from(pids[pe]).unwrap()).expect("a process");
                kill_process(pid, Sent::KILL).expect("it is ours");
            }
        })
    });
    let tasks = [0, 1].map(|task| take_locks(&world, (&words, &data), task));
    let [one, other] = tasks;
    let ((taken, abandoned), (more, further)) = tokio::try_join!(one, other)?;
    if let Some(killer) = killer {
        killer.join().expect("it kills");
    }
    println!("PE {me} took {} locks, {} of them abandoned", taken + more, abandoned + further);
    world.team().survivors().await?.team.sync().await
}

#[test]
fn locks_have_one_holder_at_a_time_whichever_pes_are_killed_and_whenever() {
    let _limit = time_limit(240);
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    for hosts in ["1", "2", "4:cyclic"] {
        for _ in 0..rounds {
            let ended = go_on(Job::new(test_name!(), 8).hosts(hosts), locks_while_pes_are_killed);
            assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
            assert_eq!(ended.stdout.matches(" locks, ").count(), 3, "{}", ended.stdout);
        }
    }
}
