//! Locks among PEs: one holder at a time, in the order of coming, which sees what holders before
//! wrote; and waiting that costs nothing.

use std::time::{Duration, Instant};

use crate::common::{
    Job, PeRuntime, Random, cluster, cpu_time, is_pending, offloading, on_one_host, on_pes, pe_counts,
    refused, settings, soon, test_name, time_limit,
};
use oxshmem::{Error, Result, prelude::*};

/// How often each PE gets the lock.
fn rounds() -> u64 {
    std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// Every PE gets the lock this many times. Who has it finds nobody else's mark, and changes a count
/// in two steps. At the end of a turn it may be handed back in any of the ways there are.
async fn take_turns(world: World) -> Result<()> {
    let (me, n, ctx, rounds) = (world.my_pe(), world.n_pes(), world.context(), rounds());
    let word = world.alloc_zeroed::<u64>(1).await?;
    let holder = world.alloc_zeroed::<u64>(1).await?;
    let count = world.alloc_zeroed::<u64>(2).await?;
    let lock = Lock::new(ctx, word.at(0))?;
    // Neither is where the lock's tail is, in general.
    let keeper = n - 1;
    for round in 0..rounds {
        let guard = match round % 4 {
            0 => lock.set().await.map(|()| None)?,
            _ => Some(lock.lock().await?),
        };
        let before = ctx.compare_swap(holder.at(0), 0, me as u64 + 1, keeper).await?;
        assert_eq!(before, 0, "two PEs hold the lock");
        let counted = ctx.g(count.at(0), keeper).await?;
        ctx.p(count.at(0), counted + 1, keeper).await?;
        ctx.set(holder.at(0), 0, keeper).await?;
        match guard {
            None => lock.clear().await?,
            Some(guard) if round % 4 == 1 => guard.unlock().await?,
            Some(guard) => drop(guard),
        }
    }
    // A guard that was dropped may still be on its way out; `unlock` says when that is over.
    lock.lock().await?.unlock().await?;
    world.barrier_all().await?;
    assert_eq!(ctx.g(count.at(0), keeper).await?, rounds * n as u64);
    // A free lock is zero, and could be freed or used by C.
    assert_eq!(word.at(0).load(), 0);
    world.barrier_all().await
}

#[test]
fn eight_pes_of_a_process_never_hold_the_lock_two_at_a_time() {
    let _limit = time_limit(120);
    let mut counts = pe_counts();
    counts.push(8);
    for n in counts {
        cluster(n, settings(), take_turns).unwrap();
    }
}

#[test]
fn eight_processes_never_hold_the_lock_two_at_a_time() {
    let _limit = time_limit(120);
    Job::new(test_name!(), 8).run(take_turns);
}

#[test]
fn processes_take_turns_with_every_driver_and_on_either_side_of_the_fence() {
    let _limit = time_limit(120);
    for fence in ["writer", "membarrier"] {
        for runtime in PeRuntime::ALL {
            let job = Job::new(test_name!(), 3).runtime(runtime);
            job.env(&format!("SHMEM_FENCE={fence}")).env("ROUNDS=200").run(take_turns);
        }
    }
}

#[test]
fn no_wakeup_is_lost_where_nobody_spins_or_yields_before_sleep() {
    let _limit = time_limit(120);
    for runtime in [PeRuntime::CurrentThread, PeRuntime::BlockOn, PeRuntime::Futures] {
        let job = Job::new(test_name!(), 4).runtime(runtime);
        job.env("SHMEM_SPIN_NS=0").env("SHMEM_YIELD_ROUNDS=0").env("ROUNDS=300").run(take_turns);
    }
}

/// PEs come one after the other while PE 0 has the lock, and note when they got it.
async fn come_in_order(world: World) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let word = world.alloc_zeroed::<u64>(1).await?;
    let came = world.alloc_zeroed::<u64>(1).await?;
    let served = world.alloc_zeroed::<u64>(n + 1).await?;
    for round in 0..20u64 {
        // Another order in each round, with PE 0 always the first.
        let position = |pe: usize| if pe == 0 { 0 } else { 1 + (pe + round as usize) % (n - 1).max(1) };
        let lock = Lock::new(ctx, word.at(0))?;
        let first = n as u64 * round;
        came.at(0).wait_until(Cmp::Ge, first + position(me) as u64).await?;
        // The call queues up; nobody has polled it when the next PE is let in.
        let (locking, setting) = match round % 2 {
            0 => (Some(lock.lock()), None),
            _ => (None, Some(lock.set())),
        };
        for pe in 0..n {
            ctx.inc(came.at(0), pe).await?;
        }
        let guard = match (locking, setting) {
            (Some(locking), _) => Some(locking.await?),
            (None, setting) => {
                setting.expect("one of them").await?;
                None
            }
        };
        if me == 0 {
            came.at(0).wait_until(Cmp::Ge, first + n as u64).await?;
        }
        let turn = ctx.g(served.at(n), 0).await?;
        ctx.p(served.at(n), turn + 1, 0).await?;
        ctx.p(served.at(turn as usize % n), me as u64, 0).await?;
        match guard {
            Some(guard) => guard.unlock().await?,
            None => lock.clear().await?,
        }
        world.barrier_all().await?;
        if me == 0 {
            for (turn, pe) in served.view().to_vec().into_iter().take(n).enumerate() {
                assert_eq!(
                    position(pe as usize),
                    turn,
                    "PE {pe} was served as number {turn} in round {round}"
                );
            }
        }
        world.barrier_all().await?;
    }
    Ok(())
}

#[test]
fn pes_get_the_lock_in_the_order_of_their_calls() {
    let _limit = time_limit(60);
    if !on_one_host("a call is in the queue when the lock's host has got it") {
        return;
    }
    on_pes(settings(), come_in_order);
    cluster(16, settings(), come_in_order).unwrap();
}

#[test]
fn processes_get_the_lock_in_the_order_of_their_calls() {
    let _limit = time_limit(60);
    if !on_one_host("a call is in the queue when the lock's host has got it") {
        return;
    }
    for runtime in [PeRuntime::CurrentThread, PeRuntime::BlockOn] {
        Job::new(test_name!(), 5).runtime(runtime).run(come_in_order);
    }
}

/// Which PE comes as which number: every one once a round, in another order in each.
fn arrivals(n: usize, rounds: u64) -> Vec<usize> {
    let order = |round| {
        let (mut random, mut pes) = (Random::new(round + 1), (0..n).collect::<Vec<_>>());
        for i in (1..n).rev() {
            pes.swap(i, random.below(i as u64 + 1) as usize);
        }
        pes
    };
    (0..rounds).flat_map(order).collect()
}

/// PEs come again and again, each when all before it are known to wait, and take a ticket. The
/// holder keeps the lock until some of those that can wait do, or lets it go at once, so that the
/// queue is now long and now empty. The tickets come up in their order.
async fn queue_up(world: World) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let word = world.alloc_zeroed::<u64>(1).await?;
    let came = world.alloc_zeroed::<u64>(1).await?;
    let (tickets, served) = (world.alloc_zeroed::<u64>(1).await?, world.alloc_zeroed::<u64>(1).await?);
    let lock = Lock::new(ctx, word.at(0))?;
    let (all, keeper, mut own) = (arrivals(n, 300), n - 1, Random::new(me as u64 + 5));
    for (number, _) in all.iter().enumerate().filter(|&(_, &pe)| pe == me) {
        came.at(0).wait_until(Cmp::Ge, number as u64).await?;
        let ticket = ctx.fetch_inc(tickets.at(0), keeper).await?;
        assert_eq!(ticket, number as u64, "PE {me} has come too early or too late");
        // The call queues up, before anybody polls it.
        let locking = lock.lock();
        for pe in 0..n {
            ctx.inc(came.at(0), pe).await?;
        }
        let guard = locking.await?;
        let turn = ctx.g(served.at(0), keeper).await?;
        assert_eq!(ticket, turn, "PE {me} of {n} has the lock, but not the ticket whose turn it is");
        // Who is among the next twice comes again only after its first turn.
        let others = all[number + 1..].iter().zip(number + 1..);
        let can_come = others.take_while(|&(pe, end)| !all[number..end].contains(pe)).count() as u64;
        came.at(0).wait_until(Cmp::Ge, ticket + 1 + own.below(can_come + 1)).await?;
        ctx.p(served.at(0), turn + 1, keeper).await?;
        // Not by a drop: the PE's next call would wait for that to be over, and then be behind who
        // comes meanwhile.
        guard.unlock().await?;
    }
    world.barrier_all().await?;
    assert_eq!(ctx.g(served.at(0), keeper).await?, all.len() as u64);
    world.barrier_all().await
}

#[test]
fn tickets_of_hundreds_of_rounds_come_up_in_their_order() {
    let _limit = time_limit(60);
    if !on_one_host("a call is in the queue when the lock's host has got it") {
        return;
    }
    let mut counts = pe_counts();
    counts.push(8);
    for n in counts {
        cluster(n, settings(), queue_up).unwrap();
    }
}

#[test]
fn tickets_of_processes_come_up_in_their_order() {
    let _limit = time_limit(60);
    if !on_one_host("a call is in the queue when the lock's host has got it") {
        return;
    }
    for runtime in PeRuntime::ALL {
        Job::new(test_name!(), 8).runtime(runtime).run(queue_up);
    }
}

#[test]
fn a_try_gets_a_free_lock_and_does_not_wait_for_another() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let words = world.alloc_zeroed::<u64>(n).await?;
        let locks: Vec<_> = (0..n).map(|i| Lock::new(world.context(), words.at(i))).collect::<Result<_>>()?;
        let own = soon("a try", locks[me].try_lock()).await?.expect("nobody else wants it yet");
        assert!(!locks[me].test().await?, "this PE has it already");
        world.barrier_all().await?;
        for lock in &locks {
            assert!(soon("a try", lock.try_lock()).await?.is_none());
        }
        world.barrier_all().await?;
        own.unlock().await?;
        // Every PE tries until it had each.
        for lock in &locks {
            while !lock.test().await? {
                tokio::task::yield_now().await;
            }
            lock.clear().await?;
        }
        world.barrier_all().await?;
        assert_eq!(words.view().to_vec(), vec![0; n]);
        world.barrier_all().await
    });
}

#[test]
fn tries_and_waits_of_all_pes_exclude_each_other() {
    let _limit = time_limit(60);
    cluster(4, settings(), |world| async move {
        let (me, ctx) = (world.my_pe(), world.context());
        let word = world.alloc_zeroed::<u64>(1).await?;
        let holder = world.alloc_zeroed::<u64>(1).await?;
        let lock = Lock::new(ctx, word.at(0))?;
        let mut got = 0;
        for round in 0..400 {
            let guard = if (round + me) % 2 == 0 { lock.try_lock().await? } else { Some(lock.lock().await?) };
            if let Some(_guard) = guard {
                assert_eq!(ctx.swap(holder.at(0), me as u64 + 1, 0).await?, 0);
                tokio::task::yield_now().await;
                assert_eq!(ctx.swap(holder.at(0), 0, 0).await?, me as u64 + 1);
                got += 1;
            }
        }
        assert!(got >= 200);
        Ok(())
    })
    .unwrap();
}

/// The lock comes with what the holder before has put, to whichever PE, by operations that were
/// under way.
#[test]
fn a_holder_sees_what_the_one_before_has_put() {
    let _limit = time_limit(60);
    for by_drop in [true, false] {
        cluster(4, offloading(), move |world| async move {
            let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
            let word = world.alloc_zeroed::<u64>(1).await?;
            let turn = world.alloc_zeroed::<u64>(1).await?;
            let data = world.alloc_zeroed::<u64>(1 << 15).await?;
            let lock = Lock::new(ctx, word.at(0))?;
            for _ in 0..30 {
                let guard = lock.lock().await?;
                let before = ctx.g(turn.at(0), 0).await?;
                let keeper = before as usize % n;
                let seen = ctx.get(&data, keeper).await?;
                // What was written there n turns ago.
                let expected = before.saturating_sub(n as u64 - 1);
                let expected = if before < n as u64 { 0 } else { expected };
                assert!(seen.iter().all(|&word| word == expected), "turn {before} sees {}", seen[0]);
                drop(ctx.put_nbi(&data, vec![before + 1; 1 << 15], keeper));
                drop(ctx.put_nbi(&turn, vec![before + 1], 0));
                if by_drop {
                    drop(guard);
                } else {
                    guard.unlock().await?;
                    assert!(ctx.is_idle(), "PE {me} has left the lock before its puts were there");
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_pe_that_waits_for_a_lock_uses_no_processor() {
    let _limit = time_limit(90);
    for (runtime, n) in [
        (PeRuntime::CurrentThread, 2),
        (PeRuntime::CurrentThread, 4),
        (PeRuntime::MultiThread, 2),
        (PeRuntime::Futures, 2),
        (PeRuntime::BlockOn, 2),
    ] {
        Job::new(test_name!(), n).runtime(runtime).run(|world| async move {
            let ctx = world.context();
            let word = world.alloc_zeroed::<u64>(1).await?;
            let lock = Lock::new(ctx, word.at(0))?;
            // Connections to other hosts are made here: with some versions of UCX each takes
            // milliseconds.
            for pe in 0..world.n_pes() {
                ctx.fetch_add(word.at(0), 0, pe).await?;
            }
            world.barrier_all().await?;
            if world.my_pe() == 0 {
                lock.set().await?;
            }
            world.barrier_all().await?;
            if world.my_pe() == 0 {
                std::thread::sleep(Duration::from_millis(1000));
                return lock.clear().await;
            }
            let (before, started) = (cpu_time(), Instant::now());
            let guard = lock.lock().await?;
            let (used, waited) = (cpu_time() - before, started.elapsed());
            drop(guard);
            assert!(waited > Duration::from_millis(500), "the lock was there after {waited:?}");
            assert!(used < Duration::from_millis(20), "used {used:?} in {waited:?} of waiting");
            Ok(())
        });
    }
}

#[test]
fn each_element_of_an_array_is_a_lock_of_its_own() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let words = world.alloc_zeroed::<u64>(64).await?;
        let counts = world.alloc_zeroed::<u64>(64).await?;
        // Each PE holds all of its own at once.
        let mut guards = Vec::new();
        for i in (me..64).step_by(n) {
            guards.push(soon("a lock that nobody else wants", Lock::new(ctx, words.at(i))?.lock()).await?);
        }
        world.barrier_all().await?;
        drop(guards);
        for i in (0..64).map(|i| (i * 29 + me * 7) % 64) {
            let guard = Lock::new(ctx, words.at(i))?.lock().await?;
            let before = ctx.g(counts.at(i), 0).await?;
            ctx.p(counts.at(i), before + 1, 0).await?;
            guard.unlock().await?;
        }
        world.barrier_all().await?;
        assert_eq!(ctx.get(&counts, 0).await?, vec![n as u64; 64]);
        world.barrier_all().await
    });
}

#[test]
fn clearing_what_this_pe_has_not_set_is_an_error() {
    let _limit = time_limit(60);
    cluster(2, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let lock = Lock::new(world.context(), word.at(0))?;
        if world.my_pe() == 0 {
            lock.set().await?;
        }
        world.barrier_all().await?;
        if world.my_pe() == 1 {
            let error = refused(lock.clear().await);
            assert!(matches!(error, Error::LockNotHeld { pe: 1, .. }), "{error}");
            assert!(lock.try_lock().await?.is_none(), "it is still set");
        }
        world.barrier_all().await?;
        if world.my_pe() == 0 {
            lock.clear().await?;
            assert!(matches!(refused(lock.clear().await), Error::LockNotHeld { pe: 0, .. }));
            let guard = lock.lock().await?;
            let error = refused(lock.clear().await);
            assert!(error.to_string().contains("a guard in this PE does"), "{error}");
            guard.unlock().await?;
        }
        world.barrier_all().await
    })
    .unwrap();
}

#[test]
fn a_set_lock_outlives_its_handles_and_is_cleared_by_another() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let words = world.alloc_zeroed::<u64>(2).await?;
        for _ in 0..100 {
            Lock::new(world.context(), words.at(1))?.set().await?;
            let mut again = Lock::new(world.context(), words.at(1))?.lock();
            assert!(is_pending(&mut again).await, "this PE has it, whichever handle is asked");
            assert!(Lock::new(world.context(), words.at(1))?.try_lock().await?.is_none());
            drop(again);
            Lock::new(world.context(), words.at(1))?.clear().await?;
        }
        world.barrier_all().await
    });
}
