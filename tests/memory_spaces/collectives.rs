//! Collectives on device memory do what they do on host memory, and leave the rest of their
//! destinations alone.

use std::time::Duration;

use crate::common::{self, cluster, on_pes, refused, time_limit, with_device};
use oxshmem::{
    Arithmetic, Bitwise, Collective, Complex, Element, Error, LongDouble, Ordered, Result, SymSlice, SymView,
    prelude::*,
};

/// Host memory and device memory in which the same is done: destinations in the first half, and
/// sources in the second.
struct Pair<'a, T: Element> {
    world: &'a World,
    memory: [SymSlice<T>; 2],
    /// The first elements of both.
    starts: [usize; 2],
}

impl<'a, T: Element + PartialEq + std::fmt::Debug> Pair<'a, T> {
    async fn new(world: &'a World, room: usize) -> Result<Self> {
        let gpu = world.space(SpaceKind::Gpu)?;
        let memory = [world.alloc_zeroed(2 * room).await?, gpu.alloc_zeroed(2 * room).await?];
        Ok(Self { world, memory, starts: [0, room] })
    }

    /// Destinations and sources that begin this many elements later.
    fn shifted(&self, by: [usize; 2]) -> Self {
        let starts = [0, 1].map(|i| self.starts[i] + by[i]);
        Self { world: self.world, memory: self.memory.clone(), starts }
    }

    /// With the destination as the source.
    fn in_place(&self) -> Self {
        Self { world: self.world, memory: self.memory.clone(), starts: [self.starts[0]; 2] }
    }

    /// Runs a collective on both, with the same values everywhere before. Both must be the same
    /// everywhere afterwards.
    async fn check(
        &self,
        team: &Team,
        what: &str,
        [dest, len]: [usize; 2],
        value: impl Fn(usize) -> T,
        collective: impl for<'b> Fn(&'b Team, SymView<'b, T>, SymView<'b, T>) -> Collective<'b>,
    ) -> Result<()> {
        let me = self.world.my_pe();
        let values: Vec<T> = (0..self.memory[0].len()).map(|i| value(i + 17 * me)).collect();
        self.memory.iter().for_each(|memory| memory.view().write(&values));
        // The destinations are ready before any PE calls.
        team.sync().await?;
        for memory in &self.memory {
            let [to, from] = [(0, dest), (1, len)].map(|(i, len)| self.starts[i]..self.starts[i] + len);
            collective(team, memory.slice(to), memory.slice(from)).await?;
        }
        let [host, there] = [0, 1].map(|i| self.memory[i].view().to_vec());
        let ty = std::any::type_name::<T>();
        let starts = self.starts;
        if let Some(at) = (0..host.len()).find(|&at| host[at] != there[at]) {
            let (got, expected) = (there[at], host[at]);
            panic!("{what} of {len} {ty} from {starts:?} on PE {me}: {got:?} at {at}, not {expected:?}");
        }
        team.sync().await
    }

    /// Everything that only moves elements.
    async fn check_moves(&self, team: &Team, len: usize, value: impl Fn(usize) -> T) -> Result<()> {
        let (n, me) = (team.n_pes(), team.my_pe());
        let root = n - 1;
        self.check(team, "broadcast", [len; 2], &value, |team, dest, source| {
            team.broadcast(dest, source, root)
        })
        .await?;
        self.in_place()
            .check(team, "broadcast in place", [len; 2], &value, |team, dest, source| {
                team.broadcast(dest, source, 0)
            })
            .await?;
        self.check(team, "broadcast_to_others", [len; 2], &value, |team, dest, source| {
            team.broadcast_to_others(dest, source, 0)
        })
        .await?;
        self.check(team, "fcollect", [n * len, len], &value, |team, dest, source| {
            team.fcollect(dest, source)
        })
        .await?;
        let own = Self { starts: [self.starts[0], self.starts[0] + me * len], ..self.in_place() };
        own.check(team, "fcollect in place", [n * len, len], &value, |team, dest, source| {
            team.fcollect(dest, source)
        })
        .await?;
        // Nothing from the first PE and every third one after it, twice as much from others.
        let (mine, all) = (me % 3 * len, (0..n).map(|pe| pe % 3 * len).sum::<usize>());
        self.check(team, "collect", [all + 3, mine], &value, |team, dest, source| team.collect(dest, source))
            .await?;
        self.check(team, "alltoall", [n * len; 2], &value, |team, dest, source| team.alltoall(dest, source))
            .await?;
        let count = n * len.min(20);
        for (dst, sst) in [(1, 1), (3, 2)] {
            self.check(team, "alltoalls", [dst * count, sst * count], &value, |team, dest, source| {
                team.alltoalls(dest, source, dst, sst, count / n)
            })
            .await?;
        }
        Ok(())
    }
}

fn every_collective_on_device_memory_agrees_with_the_one_on_host_memory() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        let n = world.n_pes();
        let team = world.team();
        let value = |i: usize| i as i64 * 1_000_003 % 613 - 200;
        let pair = Pair::<i64>::new(&world, 5000 * n + 16).await?;
        for len in [1, 3, 100, 5000] {
            pair.check_moves(team, len, value).await?;
            for pair in [pair.shifted([0; 2]), pair.in_place()] {
                pair.check(team, "sum", [len; 2], value, |team, dest, source| team.sum_reduce(dest, source))
                    .await?;
                pair.check(team, "inscan", [len; 2], value, |team, dest, source| {
                    team.sum_inscan(dest, source)
                })
                .await?;
                pair.check(team, "exscan", [len; 2], value, |team, dest, source| {
                    team.sum_exscan(dest, source)
                })
                .await?;
            }
        }
        Ok(())
    });
}

fn elements_of_every_size_are_moved_from_and_to_any_address() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        moves::<u8>(&world, |i| i as u8).await?;
        moves::<u16>(&world, |i| i as u16).await?;
        moves::<u32>(&world, |i| i as u32).await?;
        moves::<[u8; 3]>(&world, |i| [i as u8, (i >> 8) as u8, 7]).await?;
        moves::<Complex<f64>>(&world, |i| Complex::new(i as f64, -1.0)).await?;
        moves::<LongDouble>(&world, |i| LongDouble::from(i as f64)).await
    });
}

async fn moves<T: Element + PartialEq + std::fmt::Debug>(
    world: &World,
    value: impl Fn(usize) -> T,
) -> Result<()> {
    let pair = Pair::<T>::new(world, 500 * world.n_pes() + 16).await?;
    for (len, shift) in [(0, [0; 2]), (1, [0, 1]), (17, [1, 1]), (64, [0; 2]), (129, [3, 2])] {
        pair.shifted(shift).check_moves(world.team(), len, &value).await?;
    }
    Ok(())
}

fn teams_of_a_part_of_the_pes_keep_to_their_device_memory() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        let odd = world.n_pes() / 2;
        let pair = Pair::<u32>::new(&world, 500 * world.n_pes() + 16).await?;
        if odd == 0 {
            return Ok(());
        }
        if let Some(team) = world.team().split_strided(1, 2, odd).await? {
            let value = |i: usize| i as u32;
            pair.check_moves(&team, 65, value).await?;
            pair.check(&team, "max", [65; 2], value, |team, dest, source| team.max_reduce(dest, source))
                .await?;
            pair.in_place()
                .check(&team, "exscan", [65; 2], value, |team, dest, source| team.sum_exscan(dest, source))
                .await?;
        }
        // The others' memory is as it was.
        world.barrier_all().await?;
        if world.my_pe().is_multiple_of(2) {
            assert!(pair.memory[1].view().to_vec().iter().all(|&word| word == 0));
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

/// Reductions and scans that any numbers have.
async fn check_numbers<T: Arithmetic + PartialEq + std::fmt::Debug>(
    world: &World,
    value: impl Fn(usize) -> T,
) -> Result<()> {
    let pair = Pair::<T>::new(world, 3100).await?;
    let team = world.team();
    for (len, shift) in [(0, [0; 2]), (1, [0, 0]), (65, [1, 1]), (65, [0, 1]), (3001, [0, 0])] {
        let pair = pair.shifted(shift);
        for pair in [pair.in_place(), pair] {
            pair.check(team, "sum", [len; 2], &value, |team, dest, source| team.sum_reduce(dest, source))
                .await?;
            pair.check(team, "prod", [len; 2], &value, |team, dest, source| team.prod_reduce(dest, source))
                .await?;
            pair.check(team, "inscan", [len; 2], &value, |team, dest, source| team.sum_inscan(dest, source))
                .await?;
            pair.check(team, "exscan", [len; 2], &value, |team, dest, source| team.sum_exscan(dest, source))
                .await?;
        }
    }
    Ok(())
}

/// Those that real numbers have too.
async fn check_reals<T: Arithmetic + Ordered + PartialEq + std::fmt::Debug>(
    world: &World,
    value: impl Fn(usize) -> T,
) -> Result<()> {
    check_numbers(world, &value).await?;
    let pair = Pair::<T>::new(world, 3100).await?;
    for (len, shift) in [(65, [1, 1]), (1001, [0, 0])] {
        let (pair, team) = (pair.shifted(shift), world.team());
        pair.check(team, "min", [len; 2], &value, |team, dest, source| team.min_reduce(dest, source)).await?;
        pair.in_place()
            .check(team, "max", [len; 2], &value, |team, dest, source| team.max_reduce(dest, source))
            .await?;
    }
    Ok(())
}

/// Those that integers have too.
async fn check_integers<T: Arithmetic + Ordered + Bitwise + PartialEq + std::fmt::Debug>(
    world: &World,
    value: impl Fn(usize) -> T,
) -> Result<()> {
    check_reals(world, &value).await?;
    let pair = Pair::<T>::new(world, 3100).await?;
    for (len, shift) in [(65, [1, 1]), (3, [1, 0]), (1001, [0, 0])] {
        let (pair, team) = (pair.shifted(shift), world.team());
        pair.check(team, "and", [len; 2], &value, |team, dest, source| team.and_reduce(dest, source)).await?;
        pair.check(team, "or", [len; 2], &value, |team, dest, source| team.or_reduce(dest, source)).await?;
        pair.in_place()
            .check(team, "xor", [len; 2], &value, |team, dest, source| team.xor_reduce(dest, source))
            .await?;
    }
    Ok(())
}

fn numbers_of_every_type_are_reduced_on_devices_as_on_the_host() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        // Integers wrap.
        check_integers(&world, |i| (i as i8).wrapping_mul(77)).await?;
        check_integers(&world, |i| (i as i16).wrapping_mul(7777)).await?;
        check_integers(&world, |i| (i as i32).wrapping_mul(0x1000_0001)).await?;
        check_integers(&world, |i| (i as i64).wrapping_mul(-0x1000_0000_0000_0001)).await?;
        check_integers(&world, |i| (i as u8).wrapping_mul(77)).await?;
        check_integers(&world, |i| (i as u16).wrapping_mul(7777)).await?;
        check_integers(&world, |i| (i as u32).wrapping_mul(0x1000_0001)).await?;
        check_integers(&world, |i| (i as u64).wrapping_mul(0x1000_0000_0000_0001)).await
    });
}

fn real_and_complex_numbers_are_reduced_on_devices_as_on_the_host() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        // Sums and products of these are exact, in whichever order.
        check_reals(&world, |i| [0.5f32, -2.0, 1.0][i % 3]).await?;
        check_reals(&world, |i| [0.5f64, -2.0, 1.0][i % 3]).await?;
        check_numbers(&world, |i| Complex::new([0.5f32, -2.0, 1.0][i % 3], (i % 2) as f32)).await?;
        check_numbers(&world, |i| Complex::new([0.5f64, -2.0, 1.0][i % 3], (i % 2) as f64)).await?;
        // By way of the host.
        check_reals(&world, |i| LongDouble::from((i % 3) as f64)).await
    });
}

fn long_vectors_are_reduced_and_broadcast_in_device_memory() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        // More than goes between hosts at a time.
        let vector = gpu.alloc_zeroed::<u32>(1_400_001).await?;
        let value = |pe: usize, i: usize| (i as u32).wrapping_mul(0x0100_0193) ^ pe as u32;
        let values: Vec<u32> = (0..vector.len()).map(|i| value(world.my_pe(), i)).collect();
        vector.view().write(&values);
        world.barrier_all().await?;
        world.team().sum_reduce(&vector, &vector).await?;
        let sum = |i: usize| (0..world.n_pes()).fold(0, |sum: u32, pe| sum.wrapping_add(value(pe, i)));
        let wrong =
            vector.view().to_vec().iter().enumerate().find(|&(i, &got)| got != sum(i)).map(|(i, _)| i);
        assert_eq!(wrong, None, "the first element that is wrong on PE {}", world.my_pe());
        world.barrier_all().await?;
        vector.view().write(&values);
        world.barrier_all().await?;
        let root = world.n_pes() - 1;
        world.team().broadcast(&vector, &vector, root).await?;
        let got = vector.view().to_vec();
        let wrong = (0..got.len()).find(|&i| got[i] != value(root, i));
        assert_eq!(wrong, None, "the first element that is not the root's on PE {}", world.my_pe());
        world.barrier_all().await
    });
}

fn calls_that_differ_on_device_memory_are_a_mismatch_where_pes_wait_for_each_other() {
    let _limit = time_limit(60);
    type Call = for<'a> fn(&'a Team, SymView<'a, u64>, SymView<'a, u64>) -> Collective<'a>;
    // Not broadcasts: by way of the host their root may go on before the others have come.
    let calls: [(&str, Call, [[usize; 2]; 2]); 5] = [
        ("fcollect", |team, dest, source| team.fcollect(dest, source), [[10, 5], [8, 4]]),
        ("alltoall", |team, dest, source| team.alltoall(dest, source), [[10, 10], [8, 8]]),
        (
            "alltoalls",
            |team, dest, source| team.alltoalls(dest, source, 2, 1, dest.len() / 4),
            [[16, 8], [8, 4]],
        ),
        ("sum_inscan", |team, dest, source| team.sum_inscan(dest, source), [[9, 9], [8, 8]]),
        ("sum_exscan", |team, dest, source| team.sum_exscan(dest, source), [[9, 9], [8, 8]]),
    ];
    for (what, call, lens) in calls {
        let done = cluster(2, with_device(), move |world| async move {
            let gpu = world.space(SpaceKind::Gpu)?;
            let (dest, source) = (gpu.alloc_zeroed::<u64>(16).await?, gpu.alloc_zeroed::<u64>(16).await?);
            let [to, from] = lens[world.my_pe()];
            let called = call(world.team(), dest.slice(..to), source.slice(..from));
            let error = refused(common::soon(what, called).await);
            assert!(matches!(error, Error::CollectiveMismatch { .. }), "{what}: {error}");
            assert_eq!(dest.view().to_vec(), [0; 16], "{what} has written nothing");
            Err::<(), _>(error)
        });
        assert!(matches!(done.unwrap_err(), Error::CollectiveMismatch { .. }), "{what}");
    }
}

fn operands_that_do_not_fit_on_device_memory_are_refused_as_on_host_memory() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let (team, n) = (world.team(), world.n_pes());
        let there = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(8 * n + 8).await?;
        let here = world.alloc_zeroed::<u64>(8 * n + 8).await?;
        for memory in [&there, &here] {
            let part = |from: usize, len: usize| memory.slice(from..from + len);
            let error = refused(team.sum_reduce(part(0, 4), part(4, 3)).await);
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
            let error = refused(team.fcollect(part(0, 4 * n + 1), part(4 * n + 1, 4)).await);
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
            let error = refused(team.broadcast(part(0, 4), part(4, 4), n).await);
            assert!(matches!(error, Error::PeOutOfRange { .. }), "{error}");
            let error = refused(team.alltoalls(part(0, 4 * n), part(4 * n, 4 * n), 0, 1, 1).await);
            assert!(matches!(error, Error::InvalidStride { .. }), "{error}");
            if n > 1 {
                let error = refused(team.sum_inscan(part(0, 4), part(2, 4)).await);
                assert!(matches!(error, Error::Overlap { .. }), "{error}");
            }
        }
        let error = refused(team.fcollect(there.slice(..4 * n), here.slice(..4)).await);
        assert!(matches!(error, Error::SpaceMismatch { .. }), "{error}");
        // The team is as good as before.
        there.view().fill(1);
        team.sum_reduce(there.slice(..4), there.slice(..4)).await?;
        assert_eq!(there.slice(..5).to_vec(), [n as u64, n as u64, n as u64, n as u64, 1]);
        world.barrier_all().await
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
        elements_of_every_size_are_moved_from_and_to_any_address
        teams_of_a_part_of_the_pes_keep_to_their_device_memory
        numbers_of_every_type_are_reduced_on_devices_as_on_the_host
        real_and_complex_numbers_are_reduced_on_devices_as_on_the_host
        long_vectors_are_reduced_and_broadcast_in_device_memory
        operands_that_do_not_fit_on_device_memory_are_refused_as_on_host_memory;
    Cluster: a_collective_on_host_memory_here_and_device_memory_there_is_a_mismatch
        a_collect_that_does_not_fit_fails_and_copies_nothing_past_its_destination
        reductions_that_differ_on_device_memory_are_a_mismatch
        calls_that_differ_on_device_memory_are_a_mismatch_where_pes_wait_for_each_other;
}
