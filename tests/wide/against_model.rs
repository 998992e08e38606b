//! Every collective against the sequential model, with PEs on several hosts.

use crate::common::{Random, settings, time_limit};
use crate::hosts::{PLACEMENTS, jittered, placed};
use crate::model::{Arena, Call, Kind, Made, Ty, Way, forced, teams};
use oxshmem::{Result, prelude::*, settings::Settings};

fn roomy() -> Settings {
    let mut settings = settings();
    settings.symmetric_size = 64 << 20;
    settings
}

fn awaited(team: usize, call: Call) -> Made {
    Made { team, call, way: Way::Await }
}

/// The algorithms between hosts, and those within them that they are built on.
const FORCED: [&str; 4] = ["auto", "ring", "tree", "halving"];

/// Every collective on `u64`: lengths around what fits into messages of every kind.
async fn lengths(world: World) -> Result<()> {
    let all = [Some(world.team().clone())];
    let arena = Arena::new(&world, 16 << 20).await?;
    for kind in [
        Kind::Sync,
        Kind::Broadcast,
        Kind::Collect,
        Kind::Fcollect,
        Kind::Alltoall,
        Kind::Sum,
        Kind::Inscan,
        Kind::Exscan,
    ] {
        let calls = [0, 1, 13, 64, 511, 513, 1000, 4095, 4097].into_iter().flat_map(|len| {
            let call = Call { root: len, ..Call::new(kind, Ty::U64, len) };
            [awaited(0, call), awaited(0, call.in_place())]
        });
        arena.round(&world, &all, &calls.collect::<Vec<_>>()).await?;
    }
    let strided = [0, 1, 3, 14, 60, 3000].into_iter().flat_map(|len| {
        let call = Call::new(Kind::Alltoalls, Ty::U64, len);
        [[1, 1], [2, 3], [3, 1]].map(|strides| awaited(0, Call { strides, ..call }))
    });
    arena.round(&world, &all, &strided.collect::<Vec<_>>()).await
}

#[test]
fn lengths_come_to_what_the_model_says_with_each_algorithm() {
    let _limit = time_limit(240);
    for name in FORCED {
        for placement in if name == "auto" { &PLACEMENTS[..] } else { &["1+3", "2+2+2:cyclic"] } {
            let done = placed(placement, forced(name, roomy()), lengths);
            done.unwrap_or_else(|e| panic!("{placement}, {name}: {e}"));
        }
    }
}

#[test]
fn lengths_of_tens_of_thousands_come_to_what_the_model_says() {
    let _limit = time_limit(240);
    for name in FORCED {
        for placement in if name == "auto" { &["1+3", "2+2+2:cyclic", "1+1+1"][..] } else { &["2+1"] } {
            let mut settings = forced(name, settings());
            settings.symmetric_size = 256 << 20;
            let done = placed(placement, settings, |world| async move {
                let all = [Some(world.team().clone())];
                let arena = Arena::new(&world, 40 << 20).await?;
                for len in [16_383, 70_000] {
                    for kind in [Kind::Broadcast, Kind::Sum, Kind::Inscan, Kind::Exscan] {
                        let call = Call { root: 1, ..Call::new(kind, Ty::U64, len) };
                        arena.round(&world, &all, &[awaited(0, call), awaited(0, call.in_place())]).await?;
                    }
                }
                for kind in [Kind::Collect, Kind::Fcollect, Kind::Alltoall] {
                    arena.round(&world, &all, &[awaited(0, Call::new(kind, Ty::U64, 70_000))]).await?;
                }
                Ok(())
            });
            done.unwrap_or_else(|e| panic!("{placement}, {name}: {e}"));
        }
    }
}

/// Where there are enough hosts that longer ones go by halves and in parts, and where they are no
/// power of two.
#[test]
fn broadcasts_sums_and_collects_among_many_hosts_come_to_what_the_model_says_in_halves_and_parts() {
    let _limit = time_limit(240);
    for (hosts, name) in
        [(5, "halving"), (6, "ring"), (8, "auto"), (11, "auto"), (13, "halving"), (16, "ring")]
    {
        let placement = vec!["1"; hosts].join("+");
        let done = placed(&placement, forced(name, roomy()), |world| async move {
            let all = [Some(world.team().clone())];
            let arena = Arena::new(&world, 4 << 20).await?;
            let kinds = [(Kind::Broadcast, 1), (Kind::Broadcast, 3), (Kind::Sum, 0), (Kind::Collect, 0)];
            let calls = kinds.into_iter().flat_map(|(kind, root)| {
                [1, 9, 1000, 20_000].map(|len| Call { root, ..Call::new(kind, Ty::U64, len) })
            });
            let calls: Vec<_> =
                calls.flat_map(|call| [awaited(0, call), awaited(0, call.in_place())]).collect();
            for calls in calls.chunks(8) {
                arena.round(&world, &all, calls).await?;
            }
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{hosts} hosts, {name}: {e}"));
    }
}

/// Where halves and parts are those of a piece of the vector at a time.
#[test]
fn vectors_of_several_pieces_come_to_what_the_model_says() {
    let _limit = time_limit(240);
    let mut roomy = settings();
    roomy.symmetric_size = 256 << 20;
    for (name, kind) in [("halving", Kind::Sum), ("ring", Kind::Broadcast)] {
        let done = placed("1+1+1", forced(name, roomy.clone()), |world| async move {
            let arena = Arena::new(&world, 72 << 20).await?;
            let call = Call { root: 1, ..Call::new(kind, Ty::U64, (33 << 20) / 8 + 5) };
            arena.round(&world, &[Some(world.team().clone())], &[awaited(0, call)]).await
        });
        done.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Every type with every collective that takes it.
async fn types(world: World) -> Result<()> {
    let all = [Some(world.team().clone())];
    let arena = Arena::new(&world, 16 << 20).await?;
    for &ty in Ty::ALL {
        let kinds = Kind::ALL.into_iter().filter(|&kind| ty.takes(kind));
        let calls = kinds.flat_map(|kind| [3, 100, 5000].map(|len| awaited(0, Call::new(kind, ty, len))));
        for calls in calls.collect::<Vec<_>>().chunks(6) {
            arena.round(&world, &all, calls).await?;
        }
    }
    Ok(())
}

#[test]
fn every_type_comes_to_what_the_model_says() {
    let _limit = time_limit(240);
    for (placement, name) in [("3+1+2", "auto"), ("2+2", "ring"), ("3+2:cyclic", "auto"), ("1+1+1", "tree")] {
        placed(placement, forced(name, roomy()), types)
            .unwrap_or_else(|e| panic!("{placement}, {name}: {e}"));
    }
}

/// Every root, and every collective, on teams of every shape: some on some of the hosts, some on
/// one.
async fn roots_and_teams(world: World) -> Result<()> {
    let teams = teams(&world).await?;
    let arena = Arena::new(&world, 4 << 20).await?;
    for root in 0..world.n_pes() {
        let calls = [1, 400, 20_000].into_iter().flat_map(|len| {
            let call = Call { root, seed: root as u64, ..Call::new(Kind::Broadcast, Ty::I32, len) };
            (0..teams.len()).map(move |team| awaited(team, call))
        });
        arena.round(&world, &teams, &calls.collect::<Vec<_>>()).await?;
    }
    for kind in Kind::ALL {
        let calls = [2, 40, 700]
            .into_iter()
            .flat_map(|len| (0..teams.len()).map(move |team| awaited(team, Call::new(kind, Ty::I64, len))));
        let calls: Vec<_> = calls.filter(|made| made.call.ty.takes(kind)).collect();
        arena.round(&world, &teams, &calls).await?;
    }
    Ok(())
}

#[test]
fn every_root_and_team_comes_to_what_the_model_says() {
    let _limit = time_limit(240);
    for name in FORCED {
        for placement in if name == "auto" { &PLACEMENTS[..] } else { &["3+1+2", "2+2+2+1:cyclic"] } {
            let done = placed(placement, forced(name, roomy()), roots_and_teams);
            done.unwrap_or_else(|e| panic!("{placement}, {name}: {e}"));
        }
    }
}

/// Calls at random on teams of every shape, awaited, dropped and forgotten.
async fn random_calls(world: World, seed: u64) -> Result<()> {
    let teams = teams(&world).await?;
    let arena = Arena::new(&world, 8 << 20).await?;
    let mut random = Random::new(seed);
    for _ in 0..12 {
        let mut calls = Vec::new();
        for _ in 0..8 {
            let team = random.below(teams.len() as u64) as usize;
            let call = Call::random(&mut random, 40_000);
            let way = match random.below(6) {
                0 => Way::Await,
                1 => Way::Drop,
                2 => Way::PollAndDrop,
                3 => Way::Forget,
                _ => Way::Later,
            };
            calls.push(Made { team, call, way });
        }
        arena.round(&world, &teams, &calls).await?;
    }
    Ok(())
}

#[test]
fn random_calls_that_are_awaited_dropped_and_forgotten_do_what_the_model_says() {
    let _limit = time_limit(240);
    for seed in 0..4 {
        for placement in PLACEMENTS {
            let done = placed(placement, roomy(), |world| random_calls(world, seed * 77 + 1));
            done.unwrap_or_else(|e| panic!("{placement}, seed {seed}: {e}"));
        }
    }
}

#[test]
fn sums_of_any_floats_are_the_same_bits_on_all_pes() {
    let _limit = time_limit(120);
    for name in FORCED {
        for placement in PLACEMENTS {
            let bits = placed(placement, forced(name, roomy()), |world| async move {
                let mut all = Vec::new();
                for len in [1, 60, 5000, 20_000] {
                    let (to, from) = (world.alloc::<f64>(len).await?, world.alloc::<f64>(len).await?);
                    let mut random = Random::new(world.my_pe() as u64 + 99);
                    let values: Vec<f64> = (0..len)
                        .map(|_| (random.next() as f64).sqrt() * 1e-3_f64.powi(random.below(9) as i32))
                        .collect();
                    from.view().write(&values);
                    world.team().sum_reduce(&to, &from).await?;
                    all.extend(to.view().to_vec().into_iter().map(f64::to_bits));
                    world.barrier_all().await?;
                    world.team().prod_reduce(&to, &from).await?;
                    all.extend(to.view().to_vec().into_iter().map(f64::to_bits));
                }
                Ok(all)
            });
            let bits = bits.unwrap_or_else(|e| panic!("{placement}, {name}: {e}"));
            assert!(bits.iter().all(|pe| *pe == bits[0]), "{placement}, {name}");
        }
    }
}

#[test]
fn calls_over_links_with_jitter_come_to_what_the_model_says() {
    let _limit = time_limit(240);
    for placement in PLACEMENTS {
        let done = jittered(placement, roomy(), |world| async move {
            roots_and_teams(world.clone()).await?;
            random_calls(world, 5).await
        });
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}
