//! Collectives whose source and destination lie between each other: they overlap where their
//! elements do, and not where they only begin and end on both sides of each other (`OpenSHMEM 1.6
//! §4.2`).

use crate::common::{cluster, on_pes, refused, settings, time_limit, with_device};
use crate::hosts::{PLACEMENTS, placed};
use oxshmem::{Element, Error, Result, prelude::*};

/// Where the elements of an all-to-all lie, in elements: starts and strides of the destination and
/// of the source.
const LAYOUTS: [[usize; 4]; 5] = [[1, 2, 0, 2], [0, 2, 1, 2], [2, 5, 0, 5], [0, 3, 1, 3], [1, 4, 0, 2]];

/// All-to-alls of elements that lie between each other, in memory for this many elements a PE.
async fn exchange<T: Element + PartialEq + std::fmt::Debug>(
    team: &Team,
    memory: &SymSlice<T>,
    value: impl Fn(usize) -> T,
) -> Result<()> {
    let (me, n) = (team.my_pe(), team.n_pes());
    for nelems in [1, 3, 70] {
        for [to, dst, from, sst] in LAYOUTS {
            let count = n * nelems;
            let len = |stride: usize| (count - 1) * stride + 1;
            // What PE `pe` has for PE `to` as its element `i`, and what lies between.
            let sent = |pe: usize, to: usize, i: usize| value(1 + (pe * n + to) * nelems + i);
            let mut before = vec![value(0); memory.len()];
            for i in 0..count {
                before[from + i * sst] = sent(me, i / nelems, i % nelems);
            }
            memory.slice(..).write(&before);
            team.sync().await?;
            team.alltoalls(
                memory.slice(to..to + len(dst)),
                memory.slice(from..from + len(sst)),
                dst,
                sst,
                nelems,
            )
            .await?;
            let mut after = before;
            for i in 0..count {
                after[to + i * dst] = sent(i / nelems, me, i % nelems);
            }
            assert_eq!(
                memory.slice(..).to_vec(),
                after,
                "{nelems} elements at {to}, {dst} from {from}, {sst}"
            );
            team.sync().await?;
        }
    }
    Ok(())
}

async fn of_every_size(world: World) -> Result<()> {
    let room = 70 * 5 * world.n_pes() + 8;
    let team = world.team();
    exchange(team, &world.alloc::<u8>(room).await?, |i| i as u8).await?;
    exchange(team, &world.alloc::<u16>(room).await?, |i| i as u16).await?;
    exchange(team, &world.alloc::<u32>(room).await?, |i| i as u32).await?;
    exchange(team, &world.alloc::<u64>(room).await?, |i| i as u64).await?;
    exchange(team, &world.alloc::<[u64; 2]>(room).await?, |i| [i as u64, !i as u64]).await
}

#[test]
fn elements_of_an_alltoalls_may_lie_between_each_other() {
    let _limit = time_limit(120);
    on_pes(settings(), of_every_size);
}

#[test]
fn elements_of_pes_on_several_hosts_may_lie_between_each_other() {
    let _limit = time_limit(240);
    for placement in PLACEMENTS {
        placed(placement, settings(), of_every_size).unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}

#[test]
fn elements_in_device_memory_may_lie_between_each_other() {
    let _limit = time_limit(240);
    on_pes(with_device(), |world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let memory = gpu.alloc::<u32>(70 * 5 * world.n_pes() + 8).await?;
        exchange(gpu.team(), &memory, |i| i as u32).await
    });
}

/// Elements that share a byte are refused, also where just the last ones do, and those that touch
/// are not.
#[test]
fn elements_that_share_memory_are_refused() {
    let _limit = time_limit(60);
    let done = cluster(2, settings(), |world| async move {
        let words = world.alloc_zeroed::<u64>(100).await?;
        let team = world.team();
        // 8 elements: at 0, 3, … 21 and at 21, 23, … 35, which share the last of the first.
        let error = refused(team.alltoalls(words.slice(..22), words.slice(21..36), 3, 2, 4).await);
        assert!(matches!(error, Error::Overlap { .. }), "{error}");
        team.alltoalls(words.slice(..22), words.slice(22..37), 3, 2, 4).await?;
        team.sync().await?;
        // At 0, 2, … 14 and at 1, 4, … 22: 4, 10 are both's.
        let error = refused(team.alltoalls(words.slice(..15), words.slice(1..23), 2, 3, 4).await);
        assert!(matches!(error, Error::Overlap { .. }), "{error}");
        let error = refused(team.alltoalls(words.slice(1..23), words.slice(..15), 3, 2, 4).await);
        assert!(matches!(error, Error::Overlap { .. }), "{error}");
        Ok(())
    });
    done.unwrap();
}
