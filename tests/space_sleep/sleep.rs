//! A wait for device memory sleeps, as the processor time of the whole process shows.

use std::time::Duration;

use crate::common::{self, cluster, soon, time_limit, with_device};
use oxshmem::prelude::*;

fn a_wait_for_a_device_sleeps_and_ends_when_it_is_dropped() {
    let _limit = time_limit(60);
    let done = cluster(2, with_device(), |world| async move {
        let flag = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(1).await?;
        if world.my_pe() == 0 {
            let wait = tokio::time::timeout(Duration::from_millis(20), flag.at(0).wait_until(Cmp::Eq, 1));
            assert!(wait.await.is_err(), "nobody has set it");
            let before = common::cpu_time();
            world.context().p(flag.at(0), 1, 1).await?;
            assert_eq!(soon("the answer", flag.at(0).wait_until(Cmp::Eq, 1)).await?, 1);
            let busy = common::cpu_time() - before;
            assert!(busy < Duration::from_millis(250), "{busy:?} of 500 ms");
        } else {
            soon("the question", flag.at(0).wait_until(Cmp::Eq, 1)).await?;
            tokio::time::sleep(Duration::from_millis(500)).await;
            world.context().p(flag.at(0), 1, 0).await?;
        }
        world.barrier_all().await
    });
    done.unwrap();
}

common::cases! {
    Cluster: a_wait_for_a_device_sleeps_and_ends_when_it_is_dropped;
}
