//! Every collective against the sequential model: types, lengths, roots, teams and algorithms.

use std::{sync::LazyLock, time::Duration};

use oxshmem::{Result, prelude::*, settings::Settings};

use crate::common::{self, Job, cluster, settings, soon, test_name, time_limit};
use crate::model::{Arena, Call, FORCED, Kind, Made, Ty, Way, forced, forced_variables, teams};

/// Numbers of PEs on both sides of powers of two and of the tree's radix; fewer where an algorithm
/// is forced.
fn pes(name: &str) -> &'static [usize] {
    match name {
        "auto" => &[1, 2, 3, 5, 8, 17],
        "ring" | "halving" => &[2, 5],
        _ => &[2, 3, 8],
    }
}

fn roomy() -> Settings {
    let mut settings = settings();
    settings.symmetric_size = 64 << 20;
    settings
}

fn awaited(team: usize, call: Call) -> Made {
    Made { team, call, way: Way::Await }
}

/// Lengths in words around what fits into slots, payloads and chunks.
fn words(n: usize) -> Vec<usize> {
    let capacity = |slots: usize| (16384 / slots / 128 * 128).min(4096) / 8;
    let mut words = vec![0, 1, 12, 13, 14, 16, 17, 32, 33, 64, 511, 512, 513, 1000];
    for slots in [n, 5] {
        words.extend([capacity(slots), capacity(slots) + 1]);
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// Every collective on `u64` with lengths around every limit, on all PEs.
async fn lengths(world: World) -> Result<()> {
    let (n, all) = (world.n_pes(), [Some(world.team().clone())]);
    let arena = Arena::new(&world, 8 << 20).await?;
    for kind in [
        Kind::Broadcast,
        Kind::Collect,
        Kind::Fcollect,
        Kind::Alltoall,
        Kind::Sum,
        Kind::Inscan,
        Kind::Exscan,
    ] {
        let calls = words(n).into_iter().flat_map(|len| {
            let call = Call { root: len, ..Call::new(kind, Ty::U64, len) };
            [awaited(0, call), awaited(0, call.in_place())]
        });
        arena.round(&world, &all, &calls.collect::<Vec<_>>()).await?;
    }
    let strided = [0, 1, 3, 13, 14, 60].into_iter().flat_map(|len| {
        let call = Call::new(Kind::Alltoalls, Ty::U64, len);
        [[1, 1], [2, 3], [3, 1]].map(|strides| awaited(0, Call { strides, ..call }))
    });
    arena.round(&world, &all, &strided.collect::<Vec<_>>()).await
}

#[test]
fn lengths_around_every_limit_come_to_what_the_model_says_with_each_algorithm() {
    let _limit = time_limit(120);
    for name in FORCED {
        for &n in pes(name) {
            cluster(n, forced(name, roomy()), lengths).unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}"));
        }
    }
}

/// Numbers of PEs of the long calls: with each processors are shared in another way, and the last
/// has no team of equal rows.
const LONG_PES: [usize; 4] = [2, 3, 8, 17];
/// The most bytes of a long call's source or destination.
const MOST: usize = 9 << 20;
const STRIDES: [[usize; 2]; 4] = [[2, 1], [1, 3], [1, 1], [2, 3]];

/// The [`teams`] that have a shape of their own in a world of `n`, with their sizes: all PEs, every
/// other one, all reversed, a row, a column.
fn shapes(n: usize) -> Vec<(usize, usize)> {
    let row = n.isqrt().max(1);
    let shapes = [(0, n), (1, n.div_ceil(2)), (2, n), (3, row), (4, n.div_ceil(row))];
    shapes.into_iter().filter(|&(_, size)| size > 1).collect()
}

/// All types, those of the largest elements first, as these do not fit everywhere.
fn by_size() -> Vec<Ty> {
    let mut types = Ty::ALL.to_vec();
    types.sort_by_key(|ty| std::cmp::Reverse(ty.size()));
    types
}

/// The kinds that have elements.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|&kind| kind != Kind::Sync)
}

/// A call of `n` elements, if it takes them and fits into the memory: from one root after the
/// other, with one stride after the other, in place or not.
fn long(kind: Kind, ty: Ty, n: usize, turn: usize, len: usize) -> Option<Call> {
    let call = Call { root: turn / 3, strides: STRIDES[turn / 2 % 4], ..Call::new(kind, ty, len) };
    let call = if (turn / 3).is_multiple_of(2) { call.in_place() } else { call };
    (ty.takes(kind) && call.room(n) <= MOST).then_some(call)
}

/// 70,000 elements of every kind on teams of every shape with all numbers of PEs, and a selection
/// of types: of its kind, team and number of PEs each call's type has met as few as possible
/// before, and it is the largest such. So every two of the four meet.
fn longest() -> Vec<(usize, Made)> {
    let mut all: Vec<(usize, Made)> = Vec::new();
    for n in LONG_PES {
        for (team, _) in shapes(n) {
            for kind in kinds() {
                let calls = by_size().into_iter().filter_map(|ty| long(kind, ty, n, all.len(), 70_000));
                let met = |call: &Call| {
                    let with = |was: &dyn Fn(&(usize, Made)) -> bool| {
                        usize::from(all.iter().any(|made| made.1.call.ty == call.ty && was(made)))
                    };
                    with(&|(_, made)| made.call.kind == kind)
                        + with(&|(_, made)| made.team == team)
                        + with(&|&(m, _)| m == n)
                };
                let call = calls.min_by_key(met).expect("bytes fit");
                all.push((n, awaited(team, call)));
            }
        }
    }
    all
}

fn longest_of(n: usize) -> Vec<Made> {
    // Once for all PEs.
    static ALL: LazyLock<Vec<(usize, Made)>> = LazyLock::new(longest);
    ALL.iter().filter(|&&(m, _)| m == n).map(|&(_, made)| made).collect()
}

/// Bytes up to which something is done in one way, or in one piece, in a team of `n`.
fn switches(n: usize) -> [usize; 12] {
    let slots = |slots: usize| (16384 / slots / 128 * 128).min(4096);
    let children = n.saturating_sub(1).clamp(1, 4);
    [
        8,
        104,
        128,
        256,
        slots(n),
        slots(5),
        8 << 10,
        (16 << 10) / children,
        16 << 10,
        32 << 10,
        64 << 10,
        256 << 10,
    ]
}

/// For every kind and each of [`switches`] a call that reaches it and one that exceeds it, on all
/// PEs and on a team of another shape. The types, and the other shapes, come in turn.
fn around_switches(n: usize) -> Vec<Made> {
    let (shapes, types, mut calls) = (shapes(n), by_size(), Vec::new());
    for (turn, kind) in kinds().enumerate() {
        for i in 0..switches(n).len() {
            for (team, size) in [shapes[0], shapes[1 + (turn + i + n) % (shapes.len() - 1)]] {
                for more in [0, 1] {
                    let first = (turn + i + n + team) % types.len();
                    let mut types = types.iter().cycle().skip(first).take(types.len());
                    let len = |ty: Ty| (switches(size)[i] / ty.size() + more).min(70_000);
                    let call = types.find_map(|&ty| long(kind, ty, n, calls.len(), len(ty)));
                    calls.extend(call.map(|call| awaited(team, call)));
                }
            }
        }
    }
    calls
}

async fn at_length(world: World, calls: fn(usize) -> Vec<Made>) -> Result<()> {
    let teams = teams(&world).await?;
    let arena = Arena::new(&world, MOST).await?;
    arena.rounds(&world, &teams, &calls(world.n_pes())).await
}

#[test]
fn every_two_of_kinds_types_teams_and_numbers_of_pes_occur_together_in_calls_of_70_000() {
    let all = longest();
    let has = |what: &dyn Fn(usize, usize, &Call) -> bool| {
        all.iter().any(|(n, made)| what(*n, made.team, &made.call))
    };
    for ty in by_size() {
        for of in kinds().filter(|&of| ty.takes(of)) {
            assert!(has(&|_, _, call| call.ty == ty && call.kind == of), "{of:?} of {ty:?}");
        }
        for on in 0..5 {
            assert!(has(&|_, team, call| call.ty == ty && team == on), "team {on} with {ty:?}");
        }
        for pes in LONG_PES {
            assert!(has(&|n, _, call| call.ty == ty && n == pes), "{pes} PEs with {ty:?}");
        }
    }
    for (pes, of) in LONG_PES.into_iter().flat_map(|n| kinds().map(move |of| (n, of))) {
        for (on, _) in shapes(pes) {
            assert!(
                has(&|n, team, call| (n, team, call.kind) == (pes, on, of)),
                "{of:?} on team {on} of {pes}"
            );
        }
    }
}

fn spacious() -> Settings {
    let mut settings = settings();
    settings.symmetric_size = 64 << 20;
    settings
}

#[test]
fn lengths_of_70_000_come_to_what_the_model_says_on_teams_of_every_shape() {
    let _limit = time_limit(120);
    for name in FORCED {
        for &n in if name == "auto" { &LONG_PES[..] } else { &[3, 8] } {
            cluster(n, forced(name, spacious()), |world| at_length(world, longest_of))
                .unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}"));
        }
    }
}

#[test]
fn lengths_around_every_switch_come_to_what_the_model_says_on_teams_of_every_shape() {
    let _limit = time_limit(120);
    for name in FORCED {
        for &n in if name == "auto" { &LONG_PES[..] } else { &[3] } {
            cluster(n, forced(name, spacious()), |world| at_length(world, around_switches))
                .unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}"));
        }
    }
}

#[test]
fn processes_come_to_what_the_model_says_at_great_lengths_and_around_switches() {
    let _limit = time_limit(120);
    for n in LONG_PES {
        Job::new(test_name!(), n).env("SHMEM_SYMMETRIC_SIZE=64M").run(|world| async move {
            at_length(world.clone(), longest_of).await?;
            at_length(world, around_switches).await
        });
    }
}

/// Every type with every collective that takes it.
async fn types(world: World) -> Result<()> {
    let all = [Some(world.team().clone())];
    let arena = Arena::new(&world, 8 << 20).await?;
    for &ty in Ty::ALL {
        let kinds = Kind::ALL.into_iter().filter(|&kind| ty.takes(kind));
        let calls = kinds.flat_map(|kind| [3, 100, 600].map(|len| awaited(0, Call::new(kind, ty, len))));
        arena.round(&world, &all, &calls.collect::<Vec<_>>()).await?;
    }
    Ok(())
}

#[test]
fn every_type_comes_to_what_the_model_says_with_each_algorithm() {
    let _limit = time_limit(120);
    for name in FORCED {
        for n in if name == "auto" { vec![2, 5] } else { vec![3] } {
            cluster(n, forced(name, roomy()), types).unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}"));
        }
    }
}

/// Every root, on teams of every shape.
async fn roots_and_teams(world: World) -> Result<()> {
    let teams = teams(&world).await?;
    let arena = Arena::new(&world, 2 << 20).await?;
    for root in 0..world.n_pes() {
        let calls = [1, 400, 1500].into_iter().flat_map(|len| {
            let call = Call { root, seed: root as u64, ..Call::new(Kind::Broadcast, Ty::I32, len) };
            (0..teams.len()).map(move |team| awaited(team, call))
        });
        arena.round(&world, &teams, &calls.collect::<Vec<_>>()).await?;
    }
    for kind in Kind::ALL {
        let calls = [2, 40, 700]
            .into_iter()
            .flat_map(|len| (0..teams.len()).map(move |team| awaited(team, Call::new(kind, Ty::U16, len))));
        arena.round(&world, &teams, &calls.collect::<Vec<_>>()).await?;
    }
    Ok(())
}

#[test]
fn every_root_and_shape_of_team_comes_to_what_the_model_says() {
    let _limit = time_limit(120);
    for name in FORCED {
        for n in if name == "auto" { vec![1, 2, 6, 9] } else { vec![6] } {
            cluster(n, forced(name, roomy()), roots_and_teams)
                .unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}"));
        }
    }
}

#[test]
fn teams_of_more_than_64_pes_come_to_what_the_model_says() {
    let _limit = time_limit(120);
    for name in ["auto", "tree", "direct"] {
        for n in [65, 130] {
            let done = cluster(n, forced(name, settings()), move |world| async move {
                let all = [Some(world.team().clone())];
                let arena = Arena::new(&world, 1 << 20).await?;
                for kind in Kind::ALL {
                    for len in [1, 20] {
                        arena.round(&world, &all, &[awaited(0, Call::new(kind, Ty::I64, len))]).await?;
                    }
                }
                arena.round(&world, &all, &[awaited(0, Call::new(Kind::Sum, Ty::I64, 1000))]).await
            });
            done.unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}"));
        }
    }
}

#[test]
fn processes_come_to_what_the_model_says() {
    let _limit = time_limit(120);
    for n in [2, 3, 4, 8] {
        Job::new(test_name!(), n).env("SHMEM_SYMMETRIC_SIZE=64M").run(|world| async move {
            if world.n_pes() < 8 {
                lengths(world.clone()).await?;
                types(world.clone()).await?;
            }
            roots_and_teams(world).await
        });
    }
}

#[test]
fn processes_that_spin_come_to_what_the_model_says_with_each_algorithm() {
    let _limit = time_limit(120);
    for name in FORCED {
        for n in [2, 4] {
            let mut job = Job::new(test_name!(), n).env("SHMEM_SYMMETRIC_SIZE=64M").env("SHMEM_SPIN_NS=2000");
            for variable in forced_variables(name) {
                job = job.env(&variable);
            }
            job.run(roots_and_teams);
        }
    }
}

#[test]
fn sums_of_any_floats_are_the_same_bits_on_all_pes() {
    let _limit = time_limit(60);
    for name in FORCED {
        for n in [2, 3, 5, 8, 13] {
            let bits = cluster(n, forced(name, roomy()), move |world| async move {
                let mut all = Vec::new();
                for len in [1, 13, 60, 700, 5000] {
                    let (to, from) = (world.alloc::<f64>(len).await?, world.alloc::<f64>(len).await?);
                    let mut random = common::Random::new(world.my_pe() as u64 + 99);
                    let values: Vec<f64> = (0..len)
                        .map(|_| (random.next() as f64).sqrt() * 1e-3_f64.powi(random.below(9) as i32))
                        .collect();
                    from.view().write(&values);
                    world.team().sum_reduce(&to, &from).await?;
                    all.extend(to.view().to_vec().into_iter().map(f64::to_bits));
                    // A PE that has not read its result may get the next one already.
                    world.barrier_all().await?;
                    world.team().prod_reduce(&to, &from).await?;
                    all.extend(to.view().to_vec().into_iter().map(f64::to_bits));
                }
                Ok(all)
            });
            let bits = bits.unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}"));
            assert!(bits.iter().all(|pe| *pe == bits[0]), "{n} PEs, {name}");
        }
    }
}

/// Sums and scans in place, without anything in between that keeps PEs in step, and PEs that are
/// late at random: a chunk that nobody has done, or two have, is a wrong sum.
async fn sums_of_who_is_late(world: World) -> Result<()> {
    const LENGTHS: [usize; 6] = [1, 64, 65, 700, 5000, 9001];
    let (me, n) = (world.my_pe() as u64, world.n_pes() as u64);
    let words = world.alloc::<u64>(LENGTHS[LENGTHS.len() - 1]).await?;
    let mut own = common::Random::new(me + 31);
    for round in 0..120u64 {
        let len = LENGTHS[round as usize % LENGTHS.len()];
        let place = words.slice(..len);
        place.write(&(0..len as u64).map(|i| (round + i) * (me + 1)).collect::<Vec<_>>());
        match own.below(6) {
            0 => tokio::time::sleep(Duration::from_micros(own.below(1500))).await,
            1 => own.spin(20_000),
            2 => std::thread::yield_now(),
            _ => {}
        }
        let (sum, of) = match round % 3 {
            0 => (world.team().sum_inscan(place, place), me + 1),
            _ => (world.team().sum_reduce(place, place), n),
        };
        soon(&format!("sum {round} of {len}"), sum).await?;
        let got = place.to_vec();
        let wrong = (0..len).find(|&i| got[i] != (round + i as u64) * of * (of + 1) / 2);
        assert!(wrong.is_none(), "round {round}, element {wrong:?} of {len} on PE {me}");
    }
    world.sync_all().await
}

#[test]
fn each_element_is_added_once_whichever_pe_is_late() {
    let _limit = time_limit(60);
    for n in [2, 5] {
        cluster(n, settings(), sums_of_who_is_late).unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
    for n in [2, 3, 5, 8] {
        Job::new(test_name!(), n).run(sums_of_who_is_late);
    }
}
