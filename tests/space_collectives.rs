//! Collectives on device memory do what they do on host memory, and leave the rest of their
//! destinations alone.

mod common;

use std::time::Duration;

use common::{cluster, on_pes, refused, time_limit, with_device};
use oxshmem::{Arithmetic, Collective, Error, Ordered, Result, SymView, prelude::*};

/// Runs a collective on host memory and on device memory with the same values; `len` elements of
/// source, `dest` of destination. Both destinations begin and must end alike.
async fn both(
    world: &World,
    what: &str,
    [dest, len]: [usize; 2],
    collective: impl for<'a> Fn(&'a Team, SymView<'a, i64>, SymView<'a, i64>) -> Collective<'a>,
) -> Result<()> {
    const AROUND: usize = 5;
    let gpu = world.space(SpaceKind::Gpu)?;
    let sources = (world.alloc_zeroed::<i64>(len).await?, gpu.alloc_zeroed::<i64>(len).await?);
    let dests = (
        world.alloc_zeroed::<i64>(dest + 2 * AROUND).await?,
        gpu.alloc_zeroed::<i64>(dest + 2 * AROUND).await?,
    );
    let values: Vec<i64> = (0..len).map(|i| (world.my_pe() * 1000 + i) as i64 % 613 - 200).collect();
    let before: Vec<i64> = (0..dest + 2 * AROUND).map(|i| -(i as i64)).collect();
    for (source, dest_memory) in [(&sources.0, &dests.0), (&sources.1, &dests.1)] {
        source.view().write(&values);
        dest_memory.view().write(&before);
    }
    world.barrier_all().await?;
    let inner = AROUND..AROUND + dest;
    collective(world.team(), dests.0.slice(inner.clone()), sources.0.view()).await?;
    collective(world.team(), dests.1.slice(inner), sources.1.view()).await?;
    assert_eq!(
        dests.1.view().to_vec(),
        dests.0.view().to_vec(),
        "{what} of {len} elements on PE {}",
        world.my_pe()
    );
    assert_eq!(sources.1.view().to_vec(), values, "{what} leaves its source alone");
    world.barrier_all().await
}

fn every_collective_on_device_memory_agrees_with_the_one_on_host_memory() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        let n = world.n_pes();
        for len in [1, 3, 100, 5000] {
            both(&world, "broadcast", [len, len], |team, dest, source| team.broadcast(dest, source, n - 1))
                .await?;
            both(&world, "broadcast_to_others", [len, len], |team, dest, source| {
                team.broadcast_to_others(dest, source, 0)
            })
            .await?;
            both(&world, "fcollect", [n * len, len], |team, dest, source| team.fcollect(dest, source))
                .await?;
            both(&world, "alltoall", [n * len, n * len], |team, dest, source| team.alltoall(dest, source))
                .await?;
            let (dst, sst) = (3, 2);
            let count = n * len.min(50);
            both(&world, "alltoalls", [3 * count, 2 * count], |team, dest, source| {
                team.alltoalls(dest, source, dst, sst, count / n)
            })
            .await?;
            both(&world, "sum_reduce", [len, len], |team, dest, source| team.sum_reduce(dest, source))
                .await?;
            both(&world, "max_reduce", [len, len], |team, dest, source| team.max_reduce(dest, source))
                .await?;
            both(&world, "prod_reduce", [len, len], |team, dest, source| team.prod_reduce(dest, source))
                .await?;
            both(&world, "sum_inscan", [len, len], |team, dest, source| team.sum_inscan(dest, source))
                .await?;
            both(&world, "sum_exscan", [len, len], |team, dest, source| team.sum_exscan(dest, source))
                .await?;
            // As many from each PE as its number says.
            let mine = world.my_pe() + len;
            let all = (0..n).map(|pe| pe + len).sum::<usize>();
            both(&world, "collect", [all + 7, n + len], |team, dest, source| {
                team.collect(dest, source.slice(..mine))
            })
            .await?;
        }
        Ok(())
    });
}

fn reductions_in_place_and_bits_on_device_memory() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let gpu = world.space(SpaceKind::Gpu)?;
        let bits = gpu.alloc::<u32>(70).await?;
        bits.view().fill(1 << me);
        world.team().or_reduce(&bits, &bits).await?;
        assert_eq!(bits.view().to_vec(), [(1 << n) - 1; 70]);
        world.barrier_all().await?;
        bits.view().fill(7);
        world.team().and_reduce(&bits, &bits).await?;
        world.team().xor_reduce(&bits, &bits).await?;
        assert_eq!(bits.at(69).load(), if n % 2 == 0 { 0 } else { 7 });
        let floats = gpu.alloc::<f64>(9).await?;
        floats.view().fill(me as f64 + 0.5);
        world.team().min_reduce(&floats, &floats).await?;
        assert_eq!(floats.view().to_vec(), [0.5; 9]);
        world.barrier_all().await
    });
}

fn broadcasts_in_place_come_to_who_is_late() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let gpu = world.space(SpaceKind::Gpu)?;
        // Pushed, and shared out.
        for len in [100, 30_000] {
            let values = gpu.alloc::<u64>(len).await?;
            for root in 0..n {
                values.view().fill(me as u64 + 10);
                world.barrier_all().await?;
                if me != root {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                world.team().broadcast(&values, &values, root).await?;
                assert_eq!(values.view().to_vec(), vec![root as u64 + 10; len], "PE {me} from {root}");
                world.barrier_all().await?;
            }
        }
        Ok(())
    });
}

fn collectives_run_in_the_order_of_their_calls_whether_or_not_they_are_awaited() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let n = world.n_pes() as u64;
        let there = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(8).await?;
        let here = world.alloc_zeroed::<u64>(8).await?;
        there.view().fill(1);
        here.view().fill(1);
        world.barrier_all().await?;
        for _ in 0..3 {
            // Nobody awaits these; the next ones of the team wait for them.
            drop(world.team().sum_reduce(&there, &there));
            drop(world.team().sum_reduce(&here, &here));
        }
        world.team().sync().await?;
        assert_eq!((there.view().to_vec(), here.view().to_vec()), (vec![n.pow(3); 8], vec![n.pow(3); 8]));
        world.barrier_all().await
    });
}

fn teams_work_on_device_memory_at_the_same_time() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let gpu = world.space(SpaceKind::Gpu)?;
        let (row, column) = world.team().split_2d(2).await?;
        let (a, b) = (gpu.alloc::<u64>(100).await?, gpu.alloc::<u64>(100).await?);
        let lists = gpu.alloc_zeroed::<u64>(n * 10).await?;
        a.view().fill(me as u64);
        b.view().fill(me as u64);
        world.barrier_all().await?;
        let collect = async {
            // Lengths that differ go through what each team has of its own.
            let mine = 1 + me % 3;
            column.collect(&lists, b.slice(..mine)).await
        };
        tokio::try_join!(row.sum_reduce(&a, &a), collect)?;
        let in_row = (0..n).filter(|pe| pe / 2 == me / 2).sum::<usize>() as u64;
        assert_eq!(a.view().to_vec(), [in_row; 100]);
        let expected: Vec<u64> =
            (0..n).filter(|pe| pe % 2 == me % 2).flat_map(|pe| vec![pe as u64; 1 + pe % 3]).collect();
        assert_eq!(lists.slice(..expected.len()).to_vec(), expected);
        assert!(lists.slice(expected.len()..).to_vec().iter().all(|&word| word == 0));
        world.barrier_all().await
    });
}

fn a_collective_on_host_memory_here_and_device_memory_there_is_a_mismatch() {
    let _limit = time_limit(60);
    for len in [1, 1000] {
        let done = cluster(2, with_device(), move |world| async move {
            let gpu = world.space(SpaceKind::Gpu)?;
            let (there, here) = (gpu.alloc_zeroed::<u64>(len).await?, world.alloc_zeroed::<u64>(len).await?);
            let memory = if world.my_pe() == 0 { &there } else { &here };
            let error = refused(common::soon("the mismatch", world.team().sum_reduce(memory, memory)).await);
            assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
            assert!(error.to_string().contains("device memory"), "{error}");
            Err::<(), _>(error)
        });
        assert!(done.unwrap_err().to_string().contains("device memory"));
    }
}

fn a_collect_that_does_not_fit_fails_and_copies_nothing_past_its_destination() {
    let _limit = time_limit(60);
    let done = cluster(2, with_device(), |world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let (dest, source) = (gpu.alloc_zeroed::<u64>(10).await?, gpu.alloc_zeroed::<u64>(4).await?);
        source.view().fill(3);
        let error = refused(world.team().collect(dest.slice(..7), &source).await);
        assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        assert_eq!(dest.slice(7..).to_vec(), [0; 3]);
        Ok(())
    });
    done.unwrap();
}

/// Reduces numbers of a type on host memory and on device memory.
async fn reduce_both<T: Arithmetic + Ordered + PartialEq + std::fmt::Debug>(
    world: &World,
    len: usize,
    value: impl Fn(usize) -> T,
) -> Result<()> {
    let gpu = world.space(SpaceKind::Gpu)?;
    let (host, there) = (world.alloc_zeroed::<T>(2 * len).await?, gpu.alloc_zeroed::<T>(2 * len).await?);
    let values: Vec<T> = (0..len).map(|i| value(i + 17 * world.my_pe())).collect();
    for round in 0..4 {
        for memory in [&host, &there] {
            memory.slice(..len).write(&values);
            world.barrier_all().await?;
            let (source, dest) = (memory.slice(..len), memory.slice(len..));
            match round {
                0 => world.team().sum_reduce(dest, source).await?,
                1 => world.team().prod_reduce(dest, source).await?,
                2 => world.team().min_reduce(dest, source).await?,
                // In place.
                _ => world.team().max_reduce(source, source).await?,
            }
            world.barrier_all().await?;
        }
        let (on_host, on_device) = (host.view().to_vec(), there.view().to_vec());
        assert_eq!(on_device, on_host, "round {round} with {}", std::any::type_name::<T>());
    }
    world.barrier_all().await
}

fn numbers_of_every_type_are_reduced_on_devices_as_on_the_host() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        for len in [1, 65, 3000] {
            // Integers wrap; sums and products of these real numbers are exact.
            reduce_both(&world, len, |i| (i as i32).wrapping_mul(0x1000_0001)).await?;
            reduce_both(&world, len, |i| (i as u32).wrapping_mul(0x1000_0001)).await?;
            reduce_both(&world, len, |i| (i as i64).wrapping_mul(-0x1000_0000_0000_0001)).await?;
            reduce_both(&world, len, |i| (i as u64).wrapping_mul(0x1000_0000_0000_0001)).await?;
            reduce_both(&world, len, |i| [0.5f32, -2.0, 1.0][i % 3]).await?;
            reduce_both(&world, len, |i| [0.5f64, -2.0, 1.0][i % 3]).await?;
            // By way of the host.
            reduce_both(&world, len, |i| i as u8).await?;
            reduce_both(&world, len, |i| (i as i16).wrapping_mul(77)).await?;
        }
        Ok(())
    });
}

fn reductions_that_differ_on_device_memory_are_a_mismatch() {
    let _limit = time_limit(60);
    for other in [true, false] {
        let done = cluster(2, with_device(), move |world| async move {
            let there = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(100).await?;
            let team = world.team();
            let reduced = match (world.my_pe(), other) {
                (0, _) => team.sum_reduce(&there, &there),
                (_, true) => team.max_reduce(&there, &there),
                (_, false) => team.sum_reduce(there.slice(..99), there.slice(..99)),
            };
            let error = refused(common::soon("the mismatch", reduced).await);
            assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
            Err::<(), _>(error)
        });
        assert!(matches!(done.unwrap_err(), Error::CollectiveMismatch { .. }));
    }
}

common::cases! {
    Processes: every_collective_on_device_memory_agrees_with_the_one_on_host_memory
        reductions_in_place_and_bits_on_device_memory
        broadcasts_in_place_come_to_who_is_late
        collectives_run_in_the_order_of_their_calls_whether_or_not_they_are_awaited
        teams_work_on_device_memory_at_the_same_time
        numbers_of_every_type_are_reduced_on_devices_as_on_the_host;
    Cluster: a_collective_on_host_memory_here_and_device_memory_there_is_a_mismatch
        a_collect_that_does_not_fit_fails_and_copies_nothing_past_its_destination
        reductions_that_differ_on_device_memory_are_a_mismatch;
}
