//! Collectives that the devices do by themselves do not come to the host's image of device memory.

use crate::common::{Job, cluster, on_one_host, test_name, time_limit, with_device};
use crate::log::Log;
use oxshmem::{LongDouble, prelude::*};

#[test]
fn only_what_devices_cannot_do_comes_to_the_host() {
    let _limit = time_limit(60);
    // In a process that may have a subscriber, and in which no other test is.
    let ended = Job::alone(test_name!()).end(no_more_in_the_log);
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
}

fn no_more_in_the_log() {
    let log = Log::begin();
    for n in [1, 2, 3] {
        cluster(n, with_device(), |world| async move {
            let (gpu, team, n) = (world.space(SpaceKind::Gpu)?, world.team(), world.n_pes());
            let source = gpu.alloc_zeroed::<u16>(100 * n).await?;
            let dest = gpu.alloc_zeroed::<u16>(100 * n).await?;
            team.broadcast(&dest, &source, 0).await?;
            team.fcollect(&dest, source.slice(..100)).await?;
            team.collect(&dest, source.slice(..world.my_pe())).await?;
            team.alltoall(&dest, &source).await?;
            team.alltoalls(&dest, &source, 2, 3, 10).await?;
            team.sum_inscan(&dest, &source).await?;
            team.sum_exscan(&dest, &source).await?;
            team.max_reduce(&dest, &source).await?;
            let long = gpu.alloc_zeroed::<LongDouble>(5).await?;
            team.prod_reduce(&long, &long).await?;
            world.barrier_all().await
        })
        .unwrap();
    }
    let log = log.text();
    let in_image = |line: &&str| line.contains("in the host's staging memory");
    let lines: Vec<&str> = log.lines().filter(in_image).collect();
    // Also between hosts.
    for call in ["max_reduce", "broadcast"] {
        assert!(lines.iter().all(|line| !line.contains(call)), "{lines:?}");
    }
    assert_eq!(lines.iter().filter(|line| line.contains("prod_reduce")).count(), 1 + 2 + 3, "{lines:?}");
    if on_one_host("there all but reductions and broadcasts come to the host") {
        assert_eq!(lines.len(), 1 + 2 + 3, "{lines:?}");
    }
}
