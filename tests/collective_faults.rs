//! PEs that go away in the middle of collectives: the job, or what the others wait for, ends with who was lost and how.

mod common;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use common::{Job, cluster, kill, settings, test_name, time_limit};
use oxshmem::{Error, LocalCluster, Result, prelude::*};

const KINDS: [&str; 15] = [
    "sync",
    "barrier",
    "broadcast",
    "large broadcast",
    "collect",
    "large collect",
    "fcollect",
    "alltoall",
    "alltoalls",
    "reduce",
    "large reduce",
    "inscan",
    "large exscan",
    "split",
    "destroy",
];
const LARGE: usize = 5000;

async fn perform(world: &World, kind: &str, to: SymView<'_, u64>, from: SymView<'_, u64>) -> Result<()> {
    let (team, n) = (world.team(), world.n_pes());
    let part = |len: usize| (to.slice(..len), from.slice(..len));
    let ((one_to, one), (large_to, large)) = (part(1), part(LARGE));
    match kind {
        "sync" => team.sync().await,
        "barrier" => world.barrier_all().await,
        "broadcast" => team.broadcast(one_to, one, 1).await,
        "large broadcast" => team.broadcast(large_to, large, 1).await,
        "collect" => team.collect(to, one).await,
        "large collect" => team.collect(to, large).await,
        "fcollect" => team.fcollect(to.slice(..n), one).await,
        "alltoall" => team.alltoall(to.slice(..n), from.slice(..n)).await,
        "alltoalls" => team.alltoalls(to, from, 2, 3, 2).await,
        "reduce" => team.sum_reduce(one_to, one).await,
        "large reduce" => team.sum_reduce(large_to, large).await,
        "inscan" => team.sum_inscan(one_to, one).await,
        "large exscan" => team.sum_exscan(large_to, large).await,
        "split" => team.split_strided(0, 1, n).await.map(drop),
        _ => {
            let team = team.split_strided(0, 1, n).await?;
            team.expect("all are in it").destroy().await
        }
    }
}

async fn memory(world: &World) -> Result<[SymSlice<u64>; 2]> {
    let room = LARGE * world.n_pes();
    Ok([world.alloc(room).await?, world.alloc_zeroed(room).await?])
}

#[test]
fn a_pe_that_is_killed_in_any_collective_ends_the_job_with_its_number_and_signal() {
    let _limit = time_limit(120);
    for kind in KINDS {
        // It either calls one after the other like the rest, or never comes.
        for absent in [false, true] {
            let job = Job::new(test_name!(), 3).env(&format!("KIND={kind}")).env(&format!("ABSENT={absent}"));
            let running = job.start(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let end: Result<()> = runtime.block_on(async {
                    let world = oxshmem::init().await?;
                    let (kind, absent) = (std::env::var("KIND").unwrap(), std::env::var("ABSENT").unwrap());
                    let [to, from] = memory(&world).await?;
                    world.barrier_all().await?;
                    if absent == "true" && world.my_pe() == 1 {
                        std::thread::sleep(Duration::from_secs(100));
                    }
                    loop {
                        perform(&world, &kind, to.view(), from.view()).await?;
                    }
                });
                end.expect("it never ends well");
            });
            running.pes(3);
            std::thread::sleep(Duration::from_millis(60));
            let is_victim = |pid: &u32| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                String::from_utf8_lossy(&environment).contains("pe=1,")
            };
            let victim = running.pes(3).into_iter().find(is_victim).expect("PE 1");
            let started = Instant::now();
            kill(victim, libc::SIGKILL);
            let ended = running.end();
            assert!(started.elapsed() < Duration::from_millis(2500), "{kind}: {:?}", started.elapsed());
            assert_eq!(ended.status, 137, "{kind}: {ended:?}");
            for part in [&*format!("oshrun: PE 1 (pid {victim}, host "), "was killed by signal 9 (SIGKILL)"] {
                assert!(ended.stderr.contains(part), "{kind}: {part:?} is not in {}", ended.stderr);
            }
            assert_eq!(ended.stderr.matches("oshrun: ").count(), 1, "{kind}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_pe_of_this_process_that_panics_or_drops_its_world_ends_the_collectives_of_others() {
    let _limit = time_limit(60);
    for n in [2, 5] {
        for kind in KINDS {
            for panics in [true, false] {
                let seen = Arc::new(Mutex::new(Vec::new()));
                let job = LocalCluster::run(n, |world| {
                    let seen = Arc::clone(&seen);
                    async move {
                        let [to, from] = memory(&world).await?;
                        for _ in 0..3 {
                            perform(&world, kind, to.view(), from.view()).await?;
                        }
                        if world.my_pe() == 1 {
                            assert!(!panics, "the disk is full");
                            return Ok(());
                        }
                        // The first one may be over, where it waits for nobody.
                        let error = loop {
                            if let Err(error) = perform(&world, kind, to.view(), from.view()).await {
                                break error;
                            }
                            tokio::task::yield_now().await;
                        };
                        seen.lock().unwrap().push(error);
                        world.barrier_all().await
                    }
                });
                let text = if panics { "the disk is full" } else { "without finalize" };
                let error = job.expect_err("the job failed");
                assert!(error.to_string().contains(text), "{kind}: {error}");
                for seen in &*seen.lock().unwrap() {
                    let is_lost = matches!(seen, Error::PeLost { pe: 1, how } if how.contains(text));
                    assert!(is_lost, "{n} PEs in {kind}: {seen}");
                }
            }
        }
    }
}

#[test]
fn collectives_with_memory_of_another_job_or_of_wrong_length_are_refused_before_anybody_waits() {
    let _limit = time_limit(60);
    let done = cluster(3, settings(), |world| async move {
        let n = world.n_pes();
        let [to, from] = memory(&world).await?;
        let team = world.team();
        let too_short = [
            team.sum_reduce(to.slice(..3), from.slice(..4)).await,
            team.sum_inscan(to.slice(..5), from.slice(..4)).await,
            team.broadcast(to.slice(..3), from.slice(..4), 0).await,
            team.fcollect(to.slice(..n), from.slice(..2)).await,
            team.alltoall(to.slice(..4), from.slice(..4)).await,
        ];
        for outcome in too_short {
            let error = outcome.expect_err("it does not fit");
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        }
        let error = team.broadcast(&to, &from, n).await.expect_err("no such PE");
        assert!(matches!(error, Error::PeOutOfRange { pe: 3, n_pes: 3, .. }), "{error}");
        for (dst, sst) in [(0, 1), (1, 0)] {
            let error = team.alltoalls(&to, &from, dst, sst, 1).await.expect_err("a stride of 0");
            assert!(matches!(error, Error::InvalidStride { .. }), "{error}");
        }
        for nelems in [LARGE + 1, usize::MAX, usize::MAX / 2 + 1, usize::MAX / 3 + 1] {
            let error = team.alltoalls(&to, &from, 1, 1, nelems).await.expect_err("too many");
            assert!(matches!(error, Error::StrideOutOfRange { .. }), "{nelems}: {error}");
        }
        // Only all PEs together know this one; it is the same for all.
        for len in [1, 100, LARGE] {
            let error =
                team.collect(to.slice(..3 * len - 1), from.slice(..len)).await.expect_err("too short");
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        }
        team.sync().await
    });
    done.unwrap();
    // As many that lengths travel otherwise.
    let done = cluster(70, settings(), |world| async move {
        let (to, from) = (world.alloc::<u64>(700).await?, world.alloc::<u64>(10).await?);
        let error = world.team().collect(to.slice(..699), &from).await.expect_err("too short");
        assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        world.team().collect(&to, &from).await
    });
    done.unwrap();
}
