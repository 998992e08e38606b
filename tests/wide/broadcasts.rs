//! Broadcasts between hosts, of which a leader may end many before it knows what the others were
//! called for.

use crate::common::{Random, settings, soon, time_limit};
use crate::hosts::{self, jittered, placed};
use oxshmem::{Error, Result, prelude::*};

/// The longest broadcast, in words: more than a chunk.
const LONGEST: usize = 20_000;

/// Two hosts, of which either may be the root's, and more.
const PLACEMENTS: [&str; 6] = ["1+1", "2+2", "1+3", "1+1+1", "3+1+2", "2+2+2:cyclic"];

/// Many in a row, from one root or from changing ones, then something else, and what all have after
/// each.
async fn in_a_row(world: World, seed: u64) -> Result<()> {
    let (n, me) = (world.n_pes(), world.my_pe());
    let words = world.alloc_zeroed::<u64>(2 * LONGEST).await?;
    let (to, from) = (words.slice(..LONGEST), words.slice(LONGEST..));
    // Alike on all PEs.
    let mut random = Random::new(seed);
    for round in 0..30 {
        let team = world.team().split_strided(0, 1, n).await?.expect("all are in it");
        let (first, many) = (random.below(n as u64) as usize, random.below(50));
        for i in 0..many {
            let root = if random.below(4) == 0 { random.below(n as u64) as usize } else { first };
            let len = if random.below(10) == 0 { LONGEST } else { [1, 300, 2500][random.below(3) as usize] };
            let value = round * 1000 + i + 1;
            if me == root {
                from.slice(..len).fill(value);
            }
            soon("a broadcast", team.broadcast(to.slice(..len), from.slice(..len), root)).await?;
            let came = to.slice(..len).to_vec();
            assert!(
                came.iter().all(|&word| word == value),
                "{len} words of PE {root} on PE {me} in round {round}"
            );
        }
        match random.below(4) {
            0 => soon("a sync", team.sync()).await?,
            1 => {
                from.at(0).store(1);
                soon("a sum", team.sum_reduce(to.slice(..1), from.slice(..1))).await?;
                assert_eq!(to.at(0).load(), n as u64);
            }
            2 => soon("a collective of the world", world.barrier_all()).await?,
            _ => {}
        }
        // The next team may have its place.
        soon("its end", team.destroy()).await?;
    }
    Ok(())
}

#[test]
fn many_in_a_row_bring_everybody_what_their_roots_have() {
    let _limit = time_limit(120);
    for (seed, placement) in PLACEMENTS.into_iter().enumerate() {
        let done = placed(placement, settings(), |world| in_a_row(world, seed as u64));
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
        let done = jittered(placement, settings(), |world| in_a_row(world, 100 + seed as u64));
        done.unwrap_or_else(|e| panic!("{placement}, with jitter: {e}"));
    }
}

/// One PE takes another one for the root, or leaves a broadcast out, after many; then all do
/// something else.
async fn differs(world: World, before: u64, leaves_out: bool, odd: usize) -> Result<()> {
    let (n, me) = (world.n_pes(), world.my_pe());
    let team = world.team().split_strided(0, 1, n).await?.expect("all are in it");
    let words = world.alloc_zeroed::<u64>(2).await?;
    let (to, from) = (words.slice(..1), words.slice(1..));
    let calls = async {
        for _ in 0..before {
            soon("a broadcast before", team.broadcast(to, from, 0)).await?;
        }
        match me == odd {
            true if leaves_out => {}
            true => soon("a broadcast of the odd one", team.broadcast(to, from, n - 1)).await?,
            false => soon("a broadcast", team.broadcast(to, from, 0)).await?,
        }
        // A PE that had not to wait gets the error here.
        soon("a sum", team.sum_reduce(to, from)).await
    };
    match calls.await {
        Err(Error::CollectiveMismatch { .. }) => world.barrier_all().await,
        other => panic!("PE {me}: {other:?}"),
    }
}

#[test]
fn a_pe_that_differs_in_one_of_many_is_found_by_all() {
    let _limit = time_limit(120);
    for placement in ["1+1", "1+1+1", "1+1+1+1"] {
        let n = hosts::placement(placement).0;
        for before in [0, 1, 7, 8, 15, 16, 17, 40] {
            for (leaves_out, odd) in [(true, 0), (true, n - 1), (false, 0), (false, n - 1)] {
                let done = placed(placement, settings(), |world| differs(world, before, leaves_out, odd));
                done.unwrap_or_else(|e| panic!("{placement}, PE {odd} after {before}: {e}"));
            }
        }
    }
}
