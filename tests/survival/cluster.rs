//! A cluster in one process goes on as a job of processes does.

use std::time::Duration;

use futures::FutureExt;
use oxshmem::{ClusterOptions, Distribution, Error, Link, Result, prelude::*};

use super::{collectives_until_two_are_left, replacing::last_barrier, three_go_on};
use crate::common::time_limit;

const MICRO: Duration = Duration::from_micros(1);

/// PEs that go on, on several hosts and over several kinds of links.
fn clusters() -> impl Iterator<Item = ClusterOptions> {
    let late = Link { latency: 20 * MICRO, jitter: 100 * MICRO, ..Link::default() };
    let simulated = Link { virtual_time: true, overhead: MICRO, receipt: MICRO, ..late };
    let placements = ["1", "2", "4", "2:cyclic"].map(|text| text.parse::<Distribution>().unwrap());
    placements.into_iter().flat_map(move |placement| {
        [Link::default(), late, simulated].map(|link| {
            let placement = placement.clone();
            ClusterOptions { placement, link, ..ClusterOptions::default() }.survive_loss()
        })
    })
}

/// Runs `body` as each PE. What those that are left return, and how many they are.
fn go_on<F>(n: usize, options: ClusterOptions, body: fn(World) -> F) -> usize
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let ends = LocalCluster::run_each(n, options, |world| async move {
        body(world.clone()).await?;
        world.finalize().await
    });
    let ends = ends.unwrap().into_iter().enumerate();
    let left = ends.filter(|(me, end)| match end {
        Ok(()) => true,
        Err(Error::PeLost { pe, how, .. }) if pe == me && how.contains("was killed by signal 9") => false,
        Err(error) => panic!("PE {me} ends with: {error}"),
    });
    left.count()
}

#[test]
fn three_of_four_go_on() {
    let _limit = time_limit(60);
    for options in clusters() {
        assert_eq!(go_on(4, options, three_go_on), 3);
    }
}

#[test]
fn collectives_go_on_whichever_pes_are_lost_and_whenever() {
    let _limit = time_limit(180);
    for options in clusters() {
        let left = go_on(8, options, collectives_until_two_are_left);
        assert!((1..=2).contains(&left), "{left} are left");
    }
}

/// PE 1 is lost with a lock. Whether what gets it then says so: `set` has no guard that could.
async fn set_a_lock_that_was_abandoned(world: World) -> Result<()> {
    let words = world.alloc_zeroed::<u64>(2).await?;
    let lock = Lock::new(world.context(), words.at(0))?;
    last_barrier(&world).await?;
    if world.my_pe() == 1 {
        lock.set().await?;
        for pe in [0, 2, 3] {
            world.context().p(words.at(1), 1, pe).await?;
        }
        world.context().quiet().await?;
        return LocalCluster::lose(&world, "was killed by signal 9");
    }
    words.at(1).wait_until(Cmp::Eq, 1).await?;
    world.losses().next().await;
    let team = world.team().survivors().await?.team;
    if world.my_pe() == 0 {
        lock.set().await?;
        lock.clear().await?;
        while !lock.test().await? {}
        lock.clear().await?;
    }
    team.sync().await?;
    if world.my_pe() == 2 {
        let first = lock.lock().await?;
        assert!(first.was_abandoned(), "no guard has said so");
        first.unlock().await?;
        assert!(!lock.lock().await?.was_abandoned());
    }
    team.sync().await
}

#[test]
fn a_lock_that_was_abandoned_is_known_to_the_next_guard_and_not_to_set() {
    let _limit = time_limit(60);
    for options in clusters() {
        assert_eq!(go_on(4, options, set_a_lock_that_was_abandoned), 3);
    }
}

/// PEs are lost, one after the other and two at once, and replaced.
async fn all_are_replaced(mut world: World) -> Result<()> {
    const LOST: [&[usize]; 3] = [&[2], &[0, 3], &[2]];
    let me = world.my_pe();
    let (mut rejoined, mut losses) = (world.rejoined(), world.losses());
    let mut memory = None;
    let mut round = 0;
    if !world.is_replacement() {
        let words = world.alloc_zeroed::<u64>(100).await?;
        words.slice(..).fill(me as u64 + 1);
        memory = Some((words, world.alloc_zeroed::<u64>(1).await?));
        last_barrier(&world).await?;
    }
    loop {
        let is_new = memory.is_none();
        if !is_new {
            if round == LOST.len() {
                return Ok(());
            }
            if LOST[round].contains(&me) {
                return LocalCluster::lose(&world, "was killed by signal 9");
            }
            losses.next().await;
        }
        world = loop {
            match world.rebuilt().await {
                Ok(world) => break world,
                Err(Error::PeLost { .. }) if is_new => {}
                Err(Error::PeLost { .. }) => _ = rejoined.next().await,
                Err(error) => return Err(error),
            }
        };
        while losses.next().now_or_never().is_some() {}
        if is_new {
            let mut unclaimed = world.unclaimed();
            assert_eq!(unclaimed.len(), 2);
            let locks = unclaimed.pop().expect("there are two").claim::<u64>();
            let words = unclaimed.pop().expect("there are two").claim::<u64>();
            assert!(words.slice(..).to_vec().iter().all(|&word| word == 0), "it is zeroed");
            memory = Some((words, locks));
        }
        let (words, locks) = memory.as_ref().expect("all have it");
        assert!(is_new || words.at(99).load() == me as u64 + 1, "what others have stays");
        assert!((0..4).all(|pe| !world.is_lost(pe)));
        let number = world.team().broadcast_bytes((me == 1).then(|| vec![round as u8]), 1).await?;
        round = usize::from(number[0]) + 1;
        // Each writes to the next, when all have looked.
        world.barrier_all().await?;
        let next = (me + 1) % 4;
        world.context().put(words.slice(..), vec![next as u64 + 1; 100], next).await?;
        world.context().quiet().await?;
        world.barrier_all().await?;
        assert!(words.slice(..).to_vec().iter().all(|&word| word == me as u64 + 1));
        let sums = world.alloc_zeroed::<u64>(2).await?;
        sums.at(0).store(me as u64);
        world.team().sum_reduce(sums.slice(1..), sums.slice(..1)).await?;
        assert_eq!(sums.at(1).load(), 6);
        world.team_shared().sync().await?;
        let lock = Lock::new(world.context(), locks.at(0))?;
        let guard = lock.lock().await?;
        guard.unlock().await?;
        world.free(sums).await.map_err(|rejected| rejected.error)?;
        last_barrier(&world).await?;
    }
}

#[test]
fn a_replacement_takes_the_place_of_a_pe_that_is_lost() {
    let _limit = time_limit(180);
    for options in clusters() {
        assert_eq!(go_on(4, options.respawn(4), all_are_replaced), 4);
    }
}
