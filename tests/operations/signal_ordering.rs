//! Signals and ordering: what a PE that sees one store may conclude about others. Litmus tests in
//! many rounds.

use crate::common::{
    Job, PeRuntime, Random, cluster, offloading, on_pes, pe_counts, settings, test_name, time_limit,
};
use oxshmem::{Result, prelude::*, settings::Settings};

/// Every PE sends blocks to its right neighbour, which sees the block when it sees the signal.
async fn put_signals(world: World) -> Result<()> {
    const LEN: usize = 300;
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);
    let data = world.alloc_zeroed::<u64>(LEN).await?;
    let signals = world.alloc_zeroed::<u64>(2).await?;
    let (arrived, taken) = (signals.at(0), signals.at(1));
    for round in 1..=400u64 {
        let block = vec![round * 1000 + me as u64; LEN];
        match round % 4 {
            0 => drop(ctx.put_signal(&data, block, arrived, Signal::Add(1), right).await?),
            1 => {
                ctx.put_signal(&data, &block[..], arrived, Signal::Set(round), right).await?;
            }
            2 => drop(ctx.put_signal_nbi(&data, block, arrived, Signal::Add(1), right)),
            _ => assert_eq!(
                ctx.put_signal_nbi(&data, block.clone(), arrived, Signal::Set(round), right).await?,
                block
            ),
        }
        assert_eq!(arrived.wait_until(Cmp::Ge, round).await?, round);
        let seen = data.view().to_vec();
        assert_eq!(seen, vec![round * 1000 + left as u64; LEN]);
        ctx.signal_add(taken, 1, left).await?;
        taken.wait_until(Cmp::Ge, round).await?;
    }
    ctx.signal_set(arrived, 7, right).await?;
    ctx.quiet().await?;
    world.barrier_all().await?;
    assert_eq!(ctx.signal_fetch(arrived), 7);
    Ok(())
}

/// A store, a fence and a flag: a PE that sees the flag sees the store.
async fn message_passing(world: World) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let words = world.alloc_zeroed::<u64>(64).await?;
    // Apart, so that a cache line does not carry both.
    let (data, flag, back) = (words.at(0), words.at(24), words.at(48));
    let mut random = Random::new(me as u64 + 5);
    let right = (me + 1) % n;
    for round in 1..=2000u64 {
        random.spin(300);
        ctx.p(data, round, right).await?;
        ctx.fence().await?;
        ctx.p(flag, round, right).await?;
        let seen = flag.wait_until(Cmp::Ge, round).await?;
        let value = data.load();
        assert!(value >= seen, "flag {seen} came before data {value}");
        ctx.set(back, round, (me + n - 1) % n).await?;
        back.wait_until(Cmp::Ge, round).await?;
    }
    world.barrier_all().await
}

/// Both store, complete, then look at the other's: they cannot both have looked before the other's
/// store.
async fn store_buffering(world: World) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    if n < 2 {
        return Ok(());
    }
    const ROUNDS: usize = 1500;
    let stored = world.alloc_zeroed::<u64>(16 * ROUNDS).await?;
    let seen = world.alloc_zeroed::<u64>(2 * ROUNDS).await?;
    let mut random = Random::new(me as u64 + 9);
    if me < 2 {
        for round in 0..ROUNDS {
            if round % 50 == 0 {
                // In step, or there is nothing to see.
                ctx.set(seen.at(0), round as u64 + 1, 1 - me).await?;
                seen.at(0).wait_until(Cmp::Ge, round as u64 + 1).await?;
            }
            random.spin(200);
            let mine = stored.at(16 * round + 8 * me);
            // On PE 0 or 1, wherever the reader will look.
            ctx.p(mine, 1, round % 2).await?;
            if round % 3 == 0 {
                ctx.pe_quiet(&[round % 2]).await?
            } else {
                ctx.quiet().await?
            }
            let other = ctx.g(stored.at(16 * round + 8 * (1 - me)), round % 2).await?;
            ctx.p(seen.at(2 * round + 1), other + 1, me).await?;
        }
    }
    world.barrier_all().await?;
    if me == 0 {
        let (mine, theirs) = (ctx.get(&seen, 0).await?, ctx.get(&seen, 1).await?);
        for round in 0..ROUNDS {
            let looks = (mine[2 * round + 1], theirs[2 * round + 1]);
            assert_ne!(looks, (1, 1), "round {round}: both looked before the other's store");
        }
    }
    world.barrier_all().await
}

async fn all(world: World) -> Result<()> {
    put_signals(world.clone()).await?;
    message_passing(world.clone()).await?;
    store_buffering(world).await
}

#[test]
fn stores_and_signals_are_seen_in_the_order_that_was_asked_for() {
    let _limit = time_limit(90);
    on_pes(settings(), all);
}

#[test]
fn stores_and_signals_of_a_helper_thread_are_seen_in_order() {
    let _limit = time_limit(90);
    for n in [1, 3] {
        cluster(n, offloading(), put_signals).unwrap();
    }
}

#[test]
fn processes_see_stores_and_signals_in_order() {
    let _limit = time_limit(120);
    for fence in ["writer", "membarrier"] {
        for (n, runtime) in [(2, PeRuntime::CurrentThread), (2, PeRuntime::BlockOn)] {
            Job::new(test_name!(), n).runtime(runtime).env(&format!("SHMEM_FENCE={fence}")).run(all);
        }
    }
}

#[test]
fn quiet_completes_what_a_helper_thread_performs() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = cluster(n, offloading(), move |world| async move {
            let (me, ctx) = (world.my_pe(), world.context());
            let data = world.alloc_zeroed::<u64>(20_000).await?;
            for round in 1..30u64 {
                let right = (me + 1) % n;
                drop(ctx.put_nbi(&data, vec![round; 20_000], right));
                match round % 3 {
                    0 => ctx.quiet().await?,
                    1 => ctx.pe_quiet(&[right]).await?,
                    _ => ctx.fence().await?,
                }
                // Complete, hence seen by a get, by whatever way.
                assert_eq!(ctx.get(&data, right).await?, vec![round; 20_000]);
                world.barrier_all().await?;
                assert_eq!(data.view().to_vec(), vec![round; 20_000]);
                world.sync_all().await?;
            }
            // The quiet of one context says nothing of another's, and pe_quiet nothing of another
            // PE's.
            let other = world.create_context(ContextOptions::new())?;
            let quiet = other.quiet();
            drop(ctx.put_nbi(&data, vec![7; 20_000], me));
            quiet.await?;
            drop(ctx.put_nbi(&data, vec![8; 20_000], me));
            if n > 1 {
                ctx.pe_quiet(&[(me + 1) % n]).await?;
            }
            ctx.pe_quiet(&[]).await?;
            // A barrier completes what is under way, on the default context.
            world.barrier_all().await?;
            assert_eq!(data.view().to_vec(), vec![8; 20_000]);
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn a_barrier_makes_own_stores_visible_to_all() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let data = world.alloc_zeroed::<u32>(1000).await?;
        for round in 0..50 {
            data.view().fill(round * 100 + me as u32);
            world.barrier_all().await?;
            for pe in 0..n {
                let seen = world.context().get(&data, pe).await?;
                assert!(seen.iter().all(|&word| word == round * 100 + pe as u32));
            }
            world.sync_all().await?;
        }
        Ok(())
    });
}

#[test]
fn finalize_completes_operations_of_every_context() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let slices = cluster(n, offloading(), move |world| async move {
            let data = world.alloc_zeroed::<u64>(50_000).await?;
            let ctx = world.create_context(ContextOptions::new().serialized())?;
            drop(ctx.put_nbi(&data, vec![5; 50_000], (world.my_pe() + 1) % n));
            drop(ctx);
            Ok(data)
        });
        // The handles outlive the job, and so does this process's view of the memory.
        for slice in slices.unwrap() {
            assert_eq!(slice.view().to_vec(), vec![5; 50_000]);
        }
    }
}

#[test]
fn contexts_of_all_kinds_do_the_same() {
    let _limit = time_limit(60);
    on_pes(Settings::default(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let word = world.alloc_zeroed::<u64>(4).await?;
        let right = (me + 1) % n;
        world.create_context(ContextOptions::new().nostore())?.inc(word.at(0), right).await?;
        world.create_context(ContextOptions::new().serialized())?.inc(word.at(1), right).await?;
        let clone = world.clone();
        let handle = word.clone();
        std::thread::spawn(move || {
            let private = clone.create_context(ContextOptions::new().nostore().private()).unwrap();
            clone.block_on(private.inc(handle.at(2), right)).unwrap();
            clone.block_on(private.destroy()).unwrap();
        })
        .join()
        .unwrap();
        world.barrier_all().await?;
        assert_eq!(word.view().to_vec(), [1, 1, 1, 0]);
        Ok(())
    });
}
