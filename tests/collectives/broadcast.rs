//! Broadcasts: bytes of any number, from any PE, in any order, whichever PE is late.

use std::time::Duration;

use crate::common::{
    Job, Random, cluster, on_one_host, on_pes, pe_counts, settings, soon, test_name, time_limit,
};
use oxshmem::{Error, Result, prelude::*};

/// Lengths around the chunks that broadcasts travel in.
const LENGTHS: [usize; 10] =
    [0, 1, 7, (12 << 10) - 9, (12 << 10) - 8, (12 << 10) - 7, 12 << 10, (24 << 10) - 8, 100_001, 1 << 20];

fn bytes(root: usize, round: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + root * 7 + round * 13 + (i >> 8)) as u8).collect()
}

async fn every_length_and_root(world: World) -> Result<()> {
    let me = world.my_pe();
    for len in LENGTHS {
        for root in 0..world.n_pes() {
            let given = (me == root).then(|| bytes(root, len, len));
            let got = soon("a broadcast", world.broadcast_bytes(given, root)).await?;
            assert!(got == bytes(root, len, len), "{len} bytes of PE {root} came wrong");
        }
    }
    Ok(())
}

#[test]
fn all_bytes_of_every_root_come_to_every_pe() {
    let _limit = time_limit(90);
    on_pes(settings(), every_length_and_root);
}

#[test]
fn processes_get_all_bytes_of_every_root() {
    let _limit = time_limit(60);
    Job::new(test_name!(), 3).run(every_length_and_root);
}

/// Broadcasts by turns, without anything in between that keeps PEs in step, and PEs that are late
/// at random.
async fn alternate(world: World, seed: u64, lengths: &'static [usize]) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    // One is alike on all PEs, which must agree on root and length; the other is for delays.
    let (mut common, mut own) = (Random::new(seed), Random::new(seed + 100 + me as u64));
    for round in 0..60 {
        let root = common.below(n as u64) as usize;
        let len = lengths[common.below(lengths.len() as u64) as usize];
        match own.below(6) {
            0 => tokio::time::sleep(Duration::from_micros(own.below(2000))).await,
            1 => tokio::task::yield_now().await,
            2 => own.spin(20_000),
            _ => {}
        }
        let given = (me == root).then(|| bytes(root, round, len));
        let got = soon(&format!("broadcast {round} from {root}"), world.broadcast_bytes(given, root)).await?;
        assert!(got == bytes(root, round, len), "round {round}: {len} bytes of PE {root} came wrong");
    }
    Ok(())
}

#[test]
fn broadcasts_of_alternating_roots_do_not_disturb_each_other() {
    let _limit = time_limit(90);
    for n in pe_counts().into_iter().chain([6, 17]) {
        for (seed, lengths) in [(1, &[10, 100][..]), (2, &[60_000, 5]), (3, &[0, 13_000, 40_000])] {
            let done = cluster(n, settings(), move |world| alternate(world, seed, lengths));
            done.unwrap_or_else(|e| panic!("with {n} PEs: {e}"));
        }
    }
}

#[test]
fn a_pe_that_is_late_for_one_broadcast_does_not_disturb_the_next() {
    let _limit = time_limit(60);
    for n in [6, 7, 8, 21] {
        for late in 0..n {
            let done = cluster(n, settings(), move |world| async move {
                let me = world.my_pe();
                if me == late {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                for (round, root) in [0, 1, 0, 2, 1].into_iter().enumerate() {
                    let given = (me == root).then(|| bytes(root, round, 50_000));
                    let got = soon("a broadcast", world.broadcast_bytes(given, root)).await?;
                    assert!(got == bytes(root, round, 50_000), "round {round} from PE {root}");
                }
                Ok(())
            });
            done.unwrap_or_else(|e| panic!("{n} PEs, PE {late} late: {e}"));
        }
    }
}

#[test]
fn broadcasts_go_with_allocations_and_barriers_in_between() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        for round in 0..20 {
            let root = round % n;
            let (got, slice, barrier) = tokio::join!(
                world.broadcast_bytes((me == root).then(|| bytes(root, round, 30_000)), root),
                world.alloc_zeroed::<u64>(1 + round),
                world.barrier_all(),
            );
            barrier?;
            assert!(got? == bytes(root, round, 30_000));
            let slice = slice?;
            world.context().put(slice.at(round), 5u64, (me + 1) % n).await?;
            world.barrier_all().await?;
            assert_eq!(slice.at(round).load(), 5);
        }
        Ok(())
    });
}

/// Broadcasts into symmetric memory, each to a place of its own, of roots by turns and PEs that are
/// late at random, and of lengths on all sides of what the algorithms divide.
async fn turns(world: World) -> Result<()> {
    const LENGTHS: [usize; 9] = [1, 13, 14, 600, 2048, 2049, 8192, 40_000, 150_001];
    let (me, n) = (world.my_pe(), world.n_pes());
    let most = LENGTHS.into_iter().max().unwrap_or(0);
    let source = world.alloc::<u64>(most).await?;
    let mut places = Vec::new();
    for _ in 0..6 {
        places.push(world.alloc_zeroed::<u64>(most).await?);
    }
    let value = |round: usize, root: usize, i: usize| (round * 1000 + root * 100_000 + i) as u64;
    let mut own = Random::new(7 + me as u64);
    for round in 0..36 {
        let (root, len) = (round / 2 % n, LENGTHS[round % LENGTHS.len()]);
        if round % places.len() == 0 {
            // All places are read, and may be written again.
            world.sync_all().await?;
        }
        if me == root {
            source.slice(..len).write(&(0..len).map(|i| value(round, root, i)).collect::<Vec<_>>());
        }
        match own.below(4) {
            0 => tokio::time::sleep(Duration::from_micros(own.below(3000))).await,
            1 => own.spin(20_000),
            _ => {}
        }
        let dest = places[round % places.len()].slice(..len);
        soon(&format!("broadcast {round}"), world.team().broadcast(dest, source.slice(..len), root)).await?;
        let got = dest.to_vec();
        let wrong = (0..len).find(|&i| got[i] != value(round, root, i));
        assert!(wrong.is_none(), "round {round}, {len} elements of PE {root} on PE {me}: {wrong:?}");
    }
    world.sync_all().await
}

#[test]
fn broadcasts_to_symmetric_memory_arrive_whole_whichever_pe_is_late() {
    let _limit = time_limit(120);
    for tuning in ["", "pushed=100000000", "pushed=0"] {
        for n in [2, 3, 5] {
            let mut settings = settings();
            settings.tuning = tuning.to_owned();
            cluster(n, settings, turns).unwrap_or_else(|e| panic!("{tuning} with {n} PEs: {e}"));
        }
    }
}

#[test]
fn broadcasts_between_processes_arrive_whole_whichever_pe_is_late() {
    let _limit = time_limit(120);
    for n in [2, 4, 7] {
        Job::new(test_name!(), n).run(turns);
    }
}

#[test]
fn a_root_does_not_wait_for_a_pe_that_has_taken_nothing() {
    if !on_one_host("a message of this length waits for the leader of the other host") {
        return;
    }
    let _limit = time_limit(60);
    Job::new(test_name!(), 2).run(|world| async move {
        // Too long to be pushed, and short enough for the root to help also where PEs share
        // processors.
        const LEN: usize = 12 << 10;
        let (data, went_on) = (world.alloc::<u64>(LEN).await?, world.alloc_zeroed::<u64>(1).await?);
        if world.my_pe() == 0 {
            data.view().fill(42);
            world.team().broadcast(&data, &data, 0).await?;
            world.context().p(went_on.at(0), 1, 1).await?;
        } else {
            // It comes only after the root has gone on.
            soon("the root", went_on.at(0).wait_until(Cmp::Eq, 1)).await?;
            world.team().broadcast(&data, &data, 0).await?;
            assert!(data.view().to_vec().into_iter().all(|word| word == 42));
        }
        world.barrier_all().await
    });
}

/// Several others come late, some of them to the processor of the root.
#[test]
fn a_root_does_not_wait_where_pes_share_processors() {
    if !on_one_host("a message of this length waits for the leader of the other host") {
        return;
    }
    let _limit = time_limit(60);
    Job::new(test_name!(), 5).run(|world| async move {
        // Too long to be pushed, and short enough for the root to do it all, however blocks are
        // best copied.
        const LEN: usize = 12 << 10;
        let (me, n) = (world.my_pe(), world.n_pes());
        let (source, went_on) = (world.alloc::<u64>(LEN).await?, world.alloc_zeroed::<u64>(1).await?);
        for round in 0..20_usize {
            let (root, dest) = (round % n, world.alloc_zeroed::<u64>(LEN).await?);
            if me == root {
                source.view().fill(round as u64);
                world.team().broadcast(&dest, &source, root).await?;
                for pe in 0..n {
                    world.context().p(went_on.at(0), round as u64 + 1, pe).await?;
                }
            } else {
                soon("the root", went_on.at(0).wait_until(Cmp::Gt, round as u64)).await?;
                world.team().broadcast(&dest, &source, root).await?;
            }
            assert!(dest.view().to_vec().into_iter().all(|word| word == round as u64), "round {round}");
        }
        world.barrier_all().await
    });
}

#[test]
fn a_root_out_of_range_or_without_bytes_is_an_error() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let error = world.broadcast_bytes(Some(vec![1]), n).await.unwrap_err();
        assert!(matches!(error, Error::PeOutOfRange { pe, n_pes, .. } if pe == n && n_pes == n), "{error}");
        let end = world.broadcast_bytes(None, 0).await;
        if me == 0 {
            assert!(matches!(end, Err(Error::LengthMismatch { .. })), "{end:?}");
        } else {
            assert_eq!(end?, Vec::<u8>::new());
        }
        // What others pass is ignored.
        assert_eq!(world.broadcast_bytes(Some(vec![me as u8]), n - 1).await?, [n as u8 - 1]);
        Ok(())
    });
}
