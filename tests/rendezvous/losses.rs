//! Jobs without a launcher that go on when a PE is lost: PE 0 decides which one is.

use std::time::{Duration, Instant};

use oxshmem::{Error, InitOptions, Result, prelude::*, settings::Settings};
use rustix::process::{Pid, Signal as Sent, getpid, kill_process};

use crate::{
    Apart,
    common::{Ended, Running, test_name, time_limit},
    ends,
};

/// The PE that is lost.
const LOST: usize = 2;

/// All PEs of a job, which run `body`.
fn start<F: Future<Output = Result<()>>>(apart: &Apart, hosts: &str, body: fn(World) -> F) -> Vec<Running> {
    let job = |pe| {
        let job = apart.job(pe).env("SHMEM_ON_LOSS=continue").env("SHMEM_RENDEZVOUS_LEASE=2");
        job.env(&format!("SHMEM_FAKE_HOSTS={hosts}")).start(|| main_of(body))
    };
    (0..apart.n).map(job).collect()
}

pub(crate) fn main_of<F: Future<Output = Result<()>>>(body: fn(World) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
    let outcome = runtime.block_on(async {
        let world = oxshmem::init_with(InitOptions::from(Settings::from_env()?).survive_loss()).await?;
        let ended = tokio::time::timeout(Duration::from_secs(40), body(world.clone())).await;
        if ended.expect("in time").is_ok() {
            return world.finalize().await;
        }
        // It drops its world, and stays.
        drop(world);
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    if let Err(error) = outcome {
        eprintln!("a PE says: {error}");
        std::process::exit(1);
    }
}

/// The one that was lost was killed, and all others have ended well.
#[track_caller]
fn assert_three_went_on(all: Vec<Running>, how: &str) {
    for (pe, Ended { status, stdout, stderr, .. }) in ends(all).iter().enumerate() {
        assert_eq!(*status, if pe == LOST { 137 } else { 0 }, "PE {pe}: {stdout}\n{stderr}");
        let line = stderr.lines().find(|line| line.starts_with(&format!("oxshmem: PE {LOST} is lost: ")));
        let is_right = |line: &str| line.contains(how) && line.ends_with("; the job goes on (view 1)");
        assert_eq!(line.is_some_and(is_right), pe == 0, "PE {pe}: {stderr}");
    }
}

fn is_lost<T: std::fmt::Debug>(outcome: Result<T>) {
    assert!(matches!(outcome, Err(Error::PeLost { pe: LOST, view: 1, .. })), "{outcome:?}");
}

/// What those that are left do.
async fn goes_on_as_three(world: &World) -> Result<()> {
    let ctx = world.context();
    is_lost(world.barrier_all().await);
    assert_eq!(world.losses().next().await.pe, LOST);
    let _ = ctx.quiet().await;
    let survivors = world.survivors().await?;
    let (team, me) = (survivors.team, world.my_pe());
    assert_eq!(team.n_pes(), 3);
    let word = world.alloc_zeroed::<u64>(2).await?;
    for round in 0..100 {
        word.at(0).store(me as u64 + round);
        team.sum_reduce(word.slice(1..), word.slice(..1)).await?;
        assert_eq!(word.at(1).load(), 4 + 3 * round);
    }
    let words = world.alloc_zeroed::<u64>(1).await?;
    Lock::new(ctx, words.at(0))?.lock().await?.unlock().await?;
    team.sync().await
}

async fn one_is_killed(world: World) -> Result<()> {
    // It may end well on the one that is killed then, and fail on others.
    let met = world.barrier_all().await;
    if world.my_pe() == LOST {
        met?;
        kill_process(getpid(), Sent::KILL).expect("it is this process");
    }
    goes_on_as_three(&world).await
}

#[test]
fn three_of_four_go_on_without_a_launcher() {
    let _limit = time_limit(120);
    for hosts in ["1", "2", "4"] {
        let apart = Apart::new(test_name!(), 4);
        assert_three_went_on(start(&apart, hosts, one_is_killed), "ended without finalize");
    }
}

async fn one_drops_its_world(world: World) -> Result<()> {
    let met = world.barrier_all().await;
    if world.my_pe() == LOST {
        met?;
        return Err(Error::Finalized { call: "it is to be lost" });
    }
    goes_on_as_three(&world).await
}

#[test]
fn a_pe_that_drops_its_world_and_stays_is_killed_before_the_others_know() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 4);
    assert_three_went_on(start(&apart, "2", one_drops_its_world), "ended without finalize");
}

/// One is stopped, in the middle of writes to the others, and goes on later.
async fn one_is_stopped(world: World) -> Result<()> {
    let (me, ctx) = (world.my_pe(), world.context());
    let words = world.alloc_zeroed::<u64>(1).await?;
    let pids = world.alloc_zeroed::<u64>(1).await?;
    pids.at(0).store(std::process::id().into());
    world.barrier_all().await?;
    let pid = i32::try_from(ctx.g(pids.at(0), LOST).await?).expect("a number");
    let pid = Pid::from_raw(pid).expect("its process");
    world.barrier_all().await?;
    if me == LOST {
        let mut count = 0;
        loop {
            count += 1;
            for pe in (0..4).filter(|&pe| pe != me) {
                ctx.put(words.at(0), count, pe).await?;
            }
        }
    }
    words.at(0).wait_until(Cmp::Gt, 100).await?;
    let begin = Instant::now();
    if me == 0 {
        kill_process(pid, Sent::STOP).expect("it is ours");
    }
    assert_eq!(world.losses().next().await.pe, LOST);
    let last = words.at(0).load();
    // Its lease is over, and the kernel has ended it.
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
    let _ = kill_process(pid, Sent::CONT);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(words.at(0).load(), last);
    goes_on_as_three(&world).await
}

#[test]
fn a_process_that_is_stopped_for_a_lease_is_killed_and_writes_nothing() {
    let _limit = time_limit(120);
    for hosts in ["1", "2"] {
        let apart = Apart::new(test_name!(), 4);
        assert_three_went_on(start(&apart, hosts, one_is_stopped), "");
    }
}

async fn pe_0_is_killed(world: World) -> Result<()> {
    world.barrier_all().await?;
    if world.my_pe() == 0 {
        kill_process(getpid(), Sent::KILL).expect("it is this process");
    }
    let outcome = world.barrier_all().await;
    assert!(matches!(outcome, Err(Error::PeLost { pe: 0, .. })), "{outcome:?}");
    std::process::exit(7);
}

#[test]
fn the_job_ends_with_pe_0() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 3);
    let ended: Vec<i32> =
        ends(start(&apart, "2", pe_0_is_killed)).into_iter().map(|ended| ended.status).collect();
    assert_eq!(ended, [137, 7, 7]);
}
