//! A cluster in one process goes on as a job of processes does.

use std::time::Duration;

use oxshmem::{ClusterOptions, Distribution, Error, Link, Result, prelude::*};

use super::{collectives_until_two_are_left, three_go_on};
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
