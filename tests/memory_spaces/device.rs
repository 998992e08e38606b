//! Operations on device memory: between all kinds of memory and PEs, ordered and completed like
//! others.

use std::time::{Duration, Instant};

use oxshmem::{Error, Result, Signal, prelude::*, settings::Settings};

use crate::common::{
    self, cluster, is_pending, offloading, on_pes, poll_once, soon, time_limit, with_device,
};

/// Operations take so long that none is over when its call returns.
fn slow(latency: Duration) -> Settings {
    let mut settings = with_device();
    settings.gpu_emulate_latency = latency;
    settings
}

/// The GPU space's memory, zeroed.
async fn device<T: Element>(world: &World, len: usize) -> Result<SymSlice<T>> {
    world.space(SpaceKind::Gpu)?.alloc_zeroed(len).await
}

fn numbers(seed: usize, len: usize) -> Vec<u64> {
    (0..len).map(|i| (seed * 1_000_003 + i) as u64).collect()
}

fn a_put_and_a_get_move_data_between_memory_of_any_kind_on_any_pe() {
    let _limit = time_limit(120);
    on_pes(with_device(), |world| async move {
        const LEN: usize = 3000;
        let (me, n) = (world.my_pe(), world.n_pes());
        let ctx = world.context();
        let (host, there) =
            (world.alloc_zeroed::<u64>(2 * LEN).await?, device::<u64>(&world, 2 * LEN).await?);
        // The first half is a PE's own, the second is written by the others.
        for pe in 0..n {
            let seed = 10 * me + pe;
            for from in [&host, &there] {
                for to in [&host, &there] {
                    let (from, to) = (from.slice(..LEN), to.slice(LEN..));
                    from.write(&numbers(seed, LEN));
                    world.barrier_all().await?;
                    // PE `me` writes to PE `me + pe`, so that each is written by one.
                    let target = (me + pe) % n;
                    ctx.put(to, from, target).await?;
                    world.barrier_all().await?;
                    let writer = (me + n - pe) % n;
                    assert_eq!(to.to_vec(), numbers(10 * writer + pe, LEN));
                    // And back, into the place it came from.
                    from.fill(0);
                    ctx.get_into(from, to, target).await?;
                    assert_eq!(from.to_vec(), numbers(seed, LEN));
                    assert_eq!(ctx.get(to, target).await?, numbers(seed, LEN));
                    world.barrier_all().await?;
                }
            }
        }
        Ok(())
    });
}

fn sources_of_every_kind_reach_device_memory() {
    let _limit = time_limit(120);
    for settings in [with_device(), offload_with_device()] {
        on_pes(settings, |world| async move {
            let there = device::<u64>(&world, 64).await?;
            let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
            let mut seed = 1;
            let mut expect = async |there: &SymSlice<u64>| {
                ctx.quiet().await?;
                assert_eq!(ctx.get(there.slice(..4), next).await?, numbers(seed, 4), "source {seed}");
                seed += 1;
                world.barrier_all().await
            };
            let to = || there.slice(..4);
            let own = |seed| -> [u64; 4] { numbers(seed, 4).try_into().unwrap() };
            ctx.put(to(), own(1), next).await?;
            expect(&there).await?;
            ctx.put(to(), &numbers(2, 4)[..], next).await?;
            expect(&there).await?;
            assert_eq!(ctx.put(to(), numbers(3, 4), next).await?, numbers(3, 4));
            expect(&there).await?;
            assert_eq!(ctx.put_nbi(to(), numbers(4, 4).into_boxed_slice(), next).await?[..], numbers(4, 4));
            expect(&there).await?;
            // Nobody awaits it.
            drop(ctx.put_nbi(to(), numbers(5, 4), next));
            expect(&there).await?;
            ctx.put_nbi(to(), own(6), next).await?;
            // Not even `quiet` is needed when a nonblocking put is ready.
            assert_eq!(ctx.get(to(), next).await?, numbers(6, 4));
            expect(&there).await?;
            for i in 0..4 {
                ctx.p(there.at(i), numbers(7, 4)[i], next).await?;
            }
            expect(&there).await?;
            assert_eq!(ctx.g(there.at(2), next).await?, numbers(7, 4)[2]);
            let mine = device::<u64>(&world, 4).await?;
            mine.view().write(&numbers(8, 4));
            ctx.put_nbi(to(), mine.clone(), next).await?;
            expect(&there).await?;
            let back = ctx.get_nbi(mine.clone(), to(), next).await?;
            assert_eq!(back.view().to_vec(), numbers(8, 4));
            assert_eq!(ctx.get_into([0; 4], to(), next).await?[..], numbers(8, 4));
            assert_eq!(ctx.get_nbi(vec![0; 4], to(), next).await?, numbers(8, 4));
            Ok(())
        });
    }
}

fn offload_with_device() -> Settings {
    let mut settings = with_device();
    settings.offload_threshold = offloading().offload_threshold;
    settings
}

fn strided_blocks_leave_what_is_between_them_alone() {
    let _limit = time_limit(120);
    on_pes(with_device(), |world| async move {
        let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
        let (host, there) = (world.alloc_zeroed::<u32>(64).await?, device::<u32>(&world, 64).await?);
        host.view().write(&(100..164).collect::<Vec<_>>());
        for source in [None, Some(&host), Some(&there)] {
            world.barrier_all().await?;
            there.view().fill(7);
            world.barrier_all().await?;
            // Blocks of 2 elements, 5 apart there and 3 apart here.
            match source {
                None => ctx
                    .ibput(there.slice(32..), (100..108).collect::<Vec<u32>>(), 5, 3, 2, 3, next)
                    .await
                    .map(drop)?,
                Some(memory) => {
                    if memory.space() == SpaceKind::Gpu {
                        memory.slice(..8).write(&(100..108).collect::<Vec<_>>());
                    }
                    ctx.ibput(there.slice(32..), memory.slice(..8), 5, 3, 2, 3, next).await?;
                }
            }
            ctx.quiet().await?;
            world.barrier_all().await?;
            let got = there.slice(32..).to_vec();
            for (i, &value) in got.iter().enumerate() {
                let expected = [(0, 100), (1, 101), (5, 103), (6, 104), (10, 106), (11, 107)];
                let expected = expected.into_iter().find(|&(at, _)| at == i).map_or(7, |(_, value)| value);
                assert_eq!(value, expected, "element {i}");
            }
            let back = ctx.ibget(vec![0; 6], there.slice(32..), 2, 5, 2, 3, next).await?;
            assert_eq!(back, [100, 101, 103, 104, 106, 107]);
            assert_eq!(ctx.iget([0; 3], there.slice(32..), 1, 5, 3, next).await?, [100, 103, 106]);
            host.slice(8..).fill(0);
            ctx.ibget(host.slice(8..16), there.slice(32..), 3, 5, 2, 2, next).await?;
            assert_eq!(host.slice(8..16).to_vec(), [100, 101, 0, 103, 104, 0, 0, 0]);
            host.view().write(&(100..164).collect::<Vec<_>>());
        }
        world.barrier_all().await
    });
}

fn atomics_of_all_pes_on_one_word_of_a_device_are_not_lost() {
    let _limit = time_limit(120);
    on_pes(with_device(), |world| async move {
        let (words, narrow) = (device::<u64>(&world, 4).await?, device::<i32>(&world, 2).await?);
        let floats = device::<f64>(&world, 1).await?;
        let (ctx, n) = (world.context(), world.n_pes() as u64);
        let mut tickets = Vec::new();
        for _ in 0..20 {
            tickets.push(ctx.fetch_inc(words.at(0), 0).await?);
            ctx.add(words.at(1), 2, 0).await?;
            drop(ctx.fetch_add_nbi(narrow.at(1), -1, 0));
        }
        assert!(tickets.is_sorted());
        ctx.or(words.at(2), 1 << world.my_pe(), 0).await?;
        world.barrier_all().await?;
        assert_eq!(ctx.get(words.slice(..3), 0).await?, [20 * n, 40 * n, (1 << n) - 1]);
        assert_eq!(ctx.g(narrow.at(1), 0).await?, -20 * n as i32);
        assert_eq!(ctx.g(narrow.at(0), 0).await?, 0, "the neighbour is left alone");
        let (me, own) = (world.my_pe(), words.at(3));
        ctx.set(own, 6, me).await?;
        ctx.quiet().await?;
        assert_eq!(ctx.swap(own, 5, me).await?, 6);
        assert_eq!(ctx.compare_swap(own, 1, 9, me).await?, 5);
        assert_eq!(ctx.compare_swap(own, 5, 0b1100, me).await?, 5);
        assert_eq!(ctx.fetch_and(own, 0b0110, me).await?, 0b1100);
        assert_eq!(ctx.fetch_xor(own, 0b1111, me).await?, 0b0100);
        assert_eq!(ctx.fetch_or(own, 1 << 40, me).await?, 0b1011);
        assert_eq!(ctx.fetch(own, me).await?, 1 << 40 | 0b1011);
        assert_eq!(ctx.swap(floats.at(0), 1.5, me).await?, 0.0);
        assert_eq!(ctx.fetch(floats.at(0), me).await?, 1.5);
        Ok(())
    });
}

fn a_signal_follows_its_data_whichever_of_them_is_in_device_memory() {
    let _limit = time_limit(120);
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let (ctx, next) = (world.context(), (me + 1) % n);
        let hosts = (world.alloc_zeroed::<u64>(16).await?, world.alloc_zeroed::<u64>(2).await?);
        let devices = (device::<u64>(&world, 16).await?, device::<u64>(&world, 2).await?);
        let source = device::<u64>(&world, 16).await?;
        let mut round = 0;
        for data in [&hosts.0, &devices.0] {
            for signal in [&hosts.1, &devices.1] {
                for kind in 0..3 {
                    round += 1;
                    let sent = numbers(round * 100 + me, 16);
                    let update = if kind == 0 { Signal::Set(1000 * round as u64) } else { Signal::Add(1) };
                    let word = signal.at(usize::from(kind > 0));
                    let expected = if kind == 0 { 1000 * round as u64 } else { word.load() + 1 };
                    world.barrier_all().await?;
                    match kind {
                        0 => drop(ctx.put_signal(data, sent, word, update, next).await?),
                        1 => drop(ctx.put_signal_nbi(data, sent, word, update, next)),
                        _ => {
                            source.view().write(&sent);
                            ctx.put_signal(data, source.view(), word, update, next).await?;
                        }
                    }
                    assert!(word.wait_until(Cmp::Ge, expected).await? >= expected);
                    assert_eq!(data.view().to_vec(), numbers(round * 100 + (me + n - 1) % n, 16));
                    world.barrier_all().await?;
                }
                ctx.signal_set(signal.at(0), 77, next).await?;
                ctx.quiet().await?;
                ctx.signal_add(signal.at(0), 1, next).await?;
                world.barrier_all().await?;
                assert_eq!(ctx.signal_fetch(signal.at(0)), 78);
            }
        }
        Ok(())
    });
}

fn an_operation_is_under_way_until_the_device_has_done_it_and_quiet_waits() {
    let _limit = time_limit(60);
    const LATENCY: Duration = Duration::from_millis(30);
    let done = cluster(2, slow(LATENCY), |world| async move {
        let there = device::<u64>(&world, 8).await?;
        let (ctx, next) = (world.context(), 1 - world.my_pe());
        let other = world.create_context(ContextOptions::new())?;
        world.barrier_all().await?;

        let start = Instant::now();
        let mut put = ctx.put_nbi(there.slice(..2), vec![1, 2], next);
        assert!(is_pending(&mut put).await, "it takes its time");
        // What has been copied is free at once.
        ctx.put(there.slice(2..4), [3, 4], next).await?;
        ctx.p(there.at(4), 5, next).await?;
        ctx.add(there.at(5), 6, next).await?;
        assert!(start.elapsed() < LATENCY, "these were ready at once");
        assert_ne!(there.slice(..6).to_vec(), [1, 2, 3, 4, 5, 6], "nothing is there yet");
        let mut own = ctx.pe_quiet(&[world.my_pe()]);
        assert!(poll_once(&mut own).is_ready(), "on this PE nothing was begun");
        other.quiet().await?;
        assert!(start.elapsed() < LATENCY, "another context waits for nothing of this one");
        ctx.fence().await?;
        assert!(start.elapsed() >= LATENCY);
        assert_eq!(ctx.get(there.slice(..6), next).await?, [1, 2, 3, 4, 5, 6]);
        put.await?;
        world.barrier_all().await?;

        // Futures that are forgotten or dropped change nothing.
        std::mem::forget(ctx.put_nbi(there.slice(..2), vec![11, 12], next));
        drop(ctx.put_nbi(there.slice(2..4), there.slice(6..).to_owned(), next));
        drop(ctx.get_into(vec![0; 2], there.slice(..2), next));
        ctx.quiet().await?;
        assert_eq!(ctx.get(there.slice(..4), next).await?, [11, 12, 0, 0]);
        world.barrier_all().await
    });
    done.unwrap();
}

fn what_nobody_completed_is_there_after_finalize() {
    let _limit = time_limit(60);
    let settings = slow(Duration::from_millis(20));
    let seen = oxshmem::LocalCluster::run_with(
        2,
        oxshmem::ClusterOptions { settings, ..Default::default() },
        |world| async move {
            let (there, source) = (device::<u64>(&world, 2).await?, device::<u64>(&world, 1).await?);
            source.at(0).store(7);
            let ctx = world.create_context(ContextOptions::new())?;
            ctx.p(there.at(0), 5 + world.my_pe() as u64, 1 - world.my_pe()).await?;
            // From the device, on to wherever the other PE is.
            drop(ctx.put_nbi(there.slice(1..), source, 1 - world.my_pe()));
            world.finalize().await?;
            Ok(there.view().to_vec())
        },
    );
    assert_eq!(seen.unwrap(), [[6, 7], [5, 7]]);
}

fn memory_is_kept_for_operations_under_way() {
    let _limit = time_limit(60);
    let done = cluster(2, slow(Duration::from_millis(20)), |world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let (source, host) = (gpu.alloc::<u64>(1000).await?, world.alloc_zeroed::<u64>(1000).await?);
        source.view().fill(3);
        let next = 1 - world.my_pe();
        drop(world.context().put_nbi(&host, source, next));
        // Its handle is gone, but the put has the memory: it is not given to others.
        let others = gpu.alloc::<u64>(1000).await?;
        others.view().fill(4);
        world.barrier_all().await?;
        assert_eq!(host.view().to_vec(), [3; 1000]);

        // So has a signal, also one that follows in memory of the other kind.
        for signals in [world.alloc_zeroed::<u64>(1).await?, device(&world, 1).await?] {
            let is_device = signals.space() == SpaceKind::Gpu;
            let source = device::<u64>(&world, 1000).await?;
            drop(world.context().put_signal_nbi(&host, source, signals.at(0), Signal::Add(1), next));
            drop(signals);
            let others: SymSlice<u64> =
                if is_device { device(&world, 1).await? } else { world.alloc_zeroed(1).await? };
            world.barrier_all().await?;
            assert_eq!(others.view().to_vec(), [0], "of a device: {is_device}");
        }
        Ok(())
    });
    done.unwrap();
}

fn waits_and_tests_look_at_device_memory() {
    let _limit = time_limit(120);
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let flags = device::<i32>(&world, n.max(2)).await?;
        let short = device::<i16>(&world, 1).await?;
        let ctx = world.context();
        assert!(flags.slice(..n).test_all(Cmp::Eq, 0) && !flags.at(0).test(Cmp::Gt, 0));
        assert_eq!(flags.slice(..0).wait_until_any(Cmp::Eq, 1).await?, None);
        world.barrier_all().await?;
        for pe in 0..n {
            ctx.p(flags.at(me), -1 - me as i32, pe).await?;
        }
        assert_eq!(soon("a flag", flags.at(n - 1).wait_until(Cmp::Lt, 0)).await?, -(n as i32));
        let first = soon("some flag", flags.slice(..n).wait_until_some(Cmp::Ne, 0)).await?;
        assert!(!first.is_empty());
        soon("all flags", flags.slice(..n).wait_until_all(Cmp::Lt, 0)).await?;
        let mut status = vec![0; n];
        for _ in 0..n {
            let seen = soon("a flag", flags.slice(..n).excluding(&status).wait_until_any(Cmp::Ne, 0)).await?;
            let seen = seen.expect("not all are excluded");
            assert_eq!(std::mem::replace(&mut status[seen], 1), 0);
        }
        let values: Vec<i32> = (0..n as i32).map(|pe| -1 - pe).collect();
        soon("their values", flags.slice(..n).wait_until_all_vector(Cmp::Eq, &values)).await?;
        assert_eq!(flags.slice(..n).test_some(Cmp::Eq, -1), [0]);
        assert_eq!(flags.slice(..n).test_any(Cmp::Eq, 5), None);
        ctx.put(short.at(0), -3i16, (me + 1) % n).await?;
        assert_eq!(soon("a short", short.at(0).wait_until(Cmp::Le, -3)).await?, -3);
        world.barrier_all().await
    });
}

fn a_wait_for_a_device_fails_when_its_writer_is_lost() {
    let _limit = time_limit(60);
    let done = cluster(2, with_device(), |world| async move {
        let flag = device::<u64>(&world, 1).await?;
        if world.my_pe() == 1 {
            return Err(Error::Unsupported { what: "this PE gives up".to_owned() });
        }
        let outcome = soon("the failure", flag.at(0).wait_until(Cmp::Eq, 1)).await;
        assert!(matches!(outcome, Err(Error::PeLost { pe: 1, .. })), "{outcome:?}");
        outcome.map(drop)
    });
    assert!(done.unwrap_err().to_string().contains("gives up"));
}

/// More than may be under way to a PE of another host at a time, by far, and not in whole parts.
fn vectors_of_some_megabytes_go_to_device_memory_and_come_back() {
    let _limit = time_limit(120);
    const LEN: usize = (5 << 20) + 100;
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let (ctx, next, before) = (world.context(), (me + 1) % n, (me + n - 1) % n);
        let there = device::<u8>(&world, LEN).await?;
        let bytes = |pe: usize| (0..LEN).map(|i| (i / 7 + 31 * pe) as u8).collect::<Vec<_>>();
        world.barrier_all().await?;
        // To that memory again, from memory that a vector has had before.
        let back = ctx.put_nbi(&there, bytes(me + 9), next).await?;
        let back = ctx.put_nbi(&there, back, next).await?;
        drop(back);
        ctx.put_nbi(&there, bytes(me), next).await?;
        world.barrier_all().await?;
        let both = (vec![0; LEN], vec![1; LEN]);
        let got = (ctx.get_nbi(both.0, &there, me), ctx.get_nbi(both.1, &there, next));
        assert!(got.0.await? == bytes(before), "what the PE before has put");
        assert!(got.1.await? == bytes(me), "what this PE has put");
        world.barrier_all().await
    });
}

fn long_transfers_cross_each_other_and_many_short_ones_are_all_there() {
    let _limit = time_limit(120);
    const LEN: usize = 300_001;
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let (ctx, next, before) = (world.context(), (me + 1) % n, (me + n - 1) % n);
        let (mine, there) = (device::<u64>(&world, LEN).await?, device::<u64>(&world, LEN).await?);
        let (flag, counts) = (device::<u64>(&world, 1).await?, device::<u64>(&world, 1000).await?);
        let host = world.alloc_zeroed::<u64>(LEN).await?;
        mine.view().write(&numbers(me, LEN));
        host.view().write(&numbers(me + 50, LEN));
        world.barrier_all().await?;

        // All PEs put and get at once, of every kind of memory.
        let put = ctx.put_nbi(&there, mine.view(), next);
        let got = ctx.get_nbi(vec![0; LEN], &mine, next);
        put.await?;
        assert!(got.await? == numbers(next, LEN));
        world.barrier_all().await?;
        assert!(there.view().to_vec() == numbers(before, LEN));
        world.barrier_all().await?;
        ctx.put_signal(&there, &numbers(me + 100, LEN)[..], flag.at(0), Signal::Set(1), next).await?;
        flag.at(0).wait_until(Cmp::Eq, 1).await?;
        assert!(there.view().to_vec() == numbers(before + 100, LEN), "a signal behind what was borrowed");
        world.barrier_all().await?;
        ctx.put_signal(&there, host.view(), flag.at(0), Signal::Add(1), next).await?;
        flag.at(0).wait_until(Cmp::Eq, 2).await?;
        assert!(there.view().to_vec() == numbers(before + 50, LEN), "a signal behind symmetric memory");
        world.barrier_all().await?;
        ctx.put_nbi(&there, numbers(me + 150, LEN), next).await?;
        world.barrier_all().await?;
        assert!(there.view().to_vec() == numbers(before + 150, LEN), "what comes from a vector");
        world.barrier_all().await?;
        ctx.get_into(host.view(), &mine, next).await?;
        assert!(host.view().to_vec() == numbers(next, LEN));

        // A fence keeps what comes later behind, and nothing is lost of what nobody waits for.
        for round in 0..5 {
            for i in 0..1000 {
                ctx.p(counts.at(i), round * 1000 + i as u64, next).await?;
            }
            ctx.fence().await?;
        }
        (0..1000).for_each(|i| drop(ctx.add(counts.at(i), 7, next)));
        ctx.quiet().await?;
        world.barrier_all().await?;
        assert!(counts.view().to_vec().into_iter().eq((0..1000).map(|i| 4_000 + i + 7)));
        world.barrier_all().await
    });
}

fn contexts_of_teams_number_their_pes_on_devices_too() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let there = device::<u64>(&world, 1).await?;
        let n = world.n_pes();
        let reversed = world.team().split_strided(n - 1, -1, n).await?.expect("all PEs are in it");
        let ctx = reversed.create_context(ContextOptions::new())?;
        ctx.put(&there, [world.my_pe() as u64], reversed.my_pe()).await?;
        ctx.quiet().await?;
        assert_eq!(there.at(0).load(), world.my_pe() as u64);
        world.barrier_all().await?;
        assert_eq!(ctx.g(there.at(0), 0).await?, n as u64 - 1);
        world.barrier_all().await
    });
}

fn accessors_copy_and_pointers_to_device_memory_there_are_none() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let there = device::<u16>(&world, 100).await?;
        assert_eq!((there.space(), there.slice(3..).space()), (SpaceKind::Gpu, SpaceKind::Gpu));
        assert_eq!(there.view().to_vec(), [0; 100]);
        there.slice(1..3).write(&[5, 6]);
        there.at(3).store(7);
        there.slice(97..).fill(8);
        assert_eq!((there.at(2).load(), there.slice(..4).to_vec()), (6, vec![0, 5, 6, 7]));
        let mut three = [0; 3];
        there.slice(97..).read(&mut three);
        assert_eq!(three, [8; 3]);
        for pe in 0..world.n_pes() {
            assert_eq!(there.view().ptr(pe), None);
        }
        let borrowed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // SAFETY: it is refused.
            unsafe { there.view().as_slice() }.len()
        }));
        assert!(borrowed.is_err());
        Ok(())
    });
}

common::cases! {
    Processes: a_put_and_a_get_move_data_between_memory_of_any_kind_on_any_pe
        sources_of_every_kind_reach_device_memory
        strided_blocks_leave_what_is_between_them_alone
        atomics_of_all_pes_on_one_word_of_a_device_are_not_lost
        a_signal_follows_its_data_whichever_of_them_is_in_device_memory
        waits_and_tests_look_at_device_memory
        vectors_of_some_megabytes_go_to_device_memory_and_come_back
        long_transfers_cross_each_other_and_many_short_ones_are_all_there
        contexts_of_teams_number_their_pes_on_devices_too
        accessors_copy_and_pointers_to_device_memory_there_are_none;
    Cluster: what_nobody_completed_is_there_after_finalize
        memory_is_kept_for_operations_under_way
        a_wait_for_a_device_fails_when_its_writer_is_lost;
    Emulated: an_operation_is_under_way_until_the_device_has_done_it_and_quiet_waits;
}
