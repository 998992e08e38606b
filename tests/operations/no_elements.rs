//! Arrays without elements, and arrays of elements without bytes: legal wherever others are, in
//! every space.

use std::ptr::null_mut;

use crate::common::{cluster, on_pes, soon, time_limit, with_device};
use oxshmem::{Result, Signal, WaitSet as _, World, prelude::*};

const SPACES: [SpaceKind; 2] = [SpaceKind::Cpu, SpaceKind::Gpu];

#[test]
fn an_array_without_elements_is_in_its_space_and_stays_there() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        for kind in SPACES {
            let space = world.space(kind)?;
            let number = space.alloc::<u64>(1).await?.partition();
            let mut empty = space.alloc::<u64>(0).await?;
            for _ in 0..2 {
                assert!(empty.is_empty() && empty.view().is_empty());
                assert_eq!((empty.space(), empty.view().space(), empty.partition()), (kind, kind, number));
                // It was nothing, and becomes something and nothing again.
                let some = world.realloc(empty, 4).await?;
                assert_eq!((some.space(), some.partition(), some.len()), (kind, number, 4));
                some.view().write(&[1, 2, 3, 4]);
                empty = world.realloc(some, 0).await?;
            }
            space.free(empty).await?;
            for empty in [space.alloc_zeroed::<u64>(0).await?, space.alloc_aligned::<u64>(0, 4096).await?] {
                assert_eq!(empty.space(), kind);
                world.free(empty).await?;
            }
        }
        Ok(())
    });
}

#[test]
fn what_a_pe_does_by_itself_can_be_done_with_no_elements() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        for kind in SPACES {
            let space = world.space(kind)?;
            let (empty, some) = (space.alloc::<u64>(0).await?, space.alloc_zeroed::<u64>(3).await?);
            for view in [empty.view(), some.slice(0..0), some.slice(3..)] {
                view.fill(1);
                view.write(&[]);
                view.read(&mut []);
                assert!(view.to_vec().is_empty());
                assert_eq!(view.cast::<u8>()?.len(), 0);
                assert!(view.slice(..).to_owned().is_empty());
                if kind == SpaceKind::Gpu {
                    assert_eq!(view.ptr(world.my_pe()).unwrap_or(null_mut()), null_mut());
                }
                // There is nothing to wait for.
                soon("all of none", view.wait_until_all(Cmp::Eq, 1)).await?;
                assert_eq!(soon("any of none", view.wait_until_any(Cmp::Eq, 1)).await?, None);
                assert!(soon("some of none", view.wait_until_some(Cmp::Eq, 1)).await?.is_empty());
                soon("all of none", view.wait_until_all_vector(Cmp::Eq, &[])).await?;
                assert_eq!(soon("any of none", view.wait_until_any_vector(Cmp::Eq, &[])).await?, None);
                assert!(soon("some of none", view.wait_until_some_vector(Cmp::Eq, &[])).await?.is_empty());
                soon("all that are left", view.excluding(&[]).wait_until_all(Cmp::Eq, 1)).await?;
                assert!(view.test_all(Cmp::Eq, 1) && view.test_all_vector(Cmp::Eq, &[]));
                assert_eq!((view.test_any(Cmp::Eq, 1), view.test_any_vector(Cmp::Eq, &[])), (None, None));
                assert!(view.test_some(Cmp::Eq, 1).is_empty());
                assert!(view.test_some_vector(Cmp::Eq, &[]).is_empty());
            }
            assert_eq!(some.view().to_vec(), [0; 3]);
        }
        Ok(())
    });
}

#[test]
fn a_pe_may_add_no_elements_of_any_space_to_what_all_collect() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        for kind in SPACES {
            for other in SPACES {
                let dest = world.space(kind)?.alloc_zeroed::<u64>(2 * n).await?;
                let mine = world.space(kind)?.alloc::<u64>(2).await?;
                let empty = world.space(other)?.alloc::<u64>(0).await?;
                mine.view().fill(me as u64 + 1);
                world.barrier_all().await?;
                let source = if me == 0 { empty.view() } else { mine.view() };
                let outcome = soon("collect", world.team().collect(&dest, source)).await;
                outcome?;
                let expected: Vec<_> = (1..n as u64).flat_map(|pe| [pe + 1; 2]).chain([0, 0]).collect();
                assert_eq!(dest.view().to_vec(), expected, "{other} to {kind}");
            }
        }
        Ok(())
    });
}

/// Everything that takes elements of any type, of no bytes.
async fn no_bytes(world: &World, kind: SpaceKind) -> Result<()> {
    type Nothing = [u64; 0];
    let space = world.space(kind)?;
    let all = space.alloc::<Nothing>(4 * world.n_pes()).await?;
    let (some, others) = (space.alloc::<Nothing>(4).await?, space.alloc_zeroed::<Nothing>(4).await?);
    let word = world.alloc_zeroed::<u64>(1).await?;
    assert_eq!((some.len(), some.space()), (4, kind));
    some.view().fill([]);
    some.at(3).store([]);
    assert_eq!((some.at(2).load(), some.view().to_vec().len()), ([], 4));
    let ctx = world.context();
    for pe in 0..world.n_pes() {
        ctx.p(some.at(3), [], pe).await?;
        assert_eq!(ctx.g(some.at(3), pe).await?, []);
        ctx.put(&some, vec![[]; 4], pe).await?;
        ctx.put_nbi(&some, others.clone(), pe).await?;
        assert_eq!(ctx.get(&some, pe).await?.len(), 4);
        ctx.get_into(others.view(), &some, pe).await?;
        ctx.iput(&some, others.view(), 1, 3, 2, pe).await?;
        ctx.iget(others.view(), &some, 1, 3, 2, pe).await?;
        ctx.put_signal(&some, others.view(), word.at(0), Signal::Add(1), pe).await?;
        ctx.quiet().await?;
    }
    soon("all signals", word.at(0).wait_until(Cmp::Eq, world.n_pes() as u64)).await?;
    let team = world.team();
    soon("broadcast", team.broadcast(&some, &others, 0)).await?;
    soon("fcollect", team.fcollect(&all, &some)).await?;
    soon("collect", team.collect(&all, &some)).await?;
    soon("alltoall", team.alltoall(&all, &all)).await?;
    world.free(some).await?;
    let more = world.realloc(others, 7).await?;
    assert_eq!((more.len(), more.space()), (7, kind));
    Ok(())
}

#[test]
fn elements_without_bytes_are_moved_like_others() {
    let _limit = time_limit(60);
    let host = |world: World| async move { no_bytes(&world, SpaceKind::Cpu).await };
    let device = |world: World| async move { no_bytes(&world, SpaceKind::Gpu).await };
    for hosts in ["1", "2"] {
        let mut settings = with_device();
        settings.fake_hosts = hosts.parse().unwrap();
        cluster(2, settings.clone(), host).unwrap();
        cluster(2, settings, device).unwrap();
    }
}
