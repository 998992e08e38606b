//! Jobs that go on when a PE is lost: `oshrun --on-loss=continue`, and programs that ask for it.

mod collections;
#[path = "../common/mod.rs"]
mod common;
mod devices;
mod hosts_cut_off;
mod lasting;
mod locks;
mod memory;
#[path = "../common/namespaces.rs"]
mod namespaces;
mod random;
mod replacing;
mod service;

mod cluster;

use std::time::Duration;

use oxshmem::{Error, InitOptions, Result, prelude::*, settings::Settings};
use rustix::process::{Signal as Sent, getpid, kill_process};

use crate::common::{Ended, Job, Random, kill, stop, stretched, test_name, time_limit};

/// A job that goes on, whose PEs run `body` until it ends or kills them.
fn go_on<F>(job: Job, body: fn(World) -> F) -> Ended
where
    F: Future<Output = Result<()>>,
{
    job.launcher_args(&["--on-loss", "continue"]).end(|| main_of(body))
}

fn main_of<F>(body: fn(World) -> F)
where
    F: Future<Output = Result<()>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let settings = Settings::from_env()?;
        let world = oxshmem::init_with(InitOptions::from(settings).survive_loss()).await?;
        tokio::time::timeout(stretched(50), body(world.clone())).await.expect("in time")?;
        world.finalize().await
    });
    if let Err(error) = outcome {
        eprintln!("a PE says: {error}");
        std::process::exit(1);
    }
}

/// This process is killed, or this PE of a cluster is lost in the same way: its program is to
/// return what this does.
fn die(world: &World) -> Error {
    const HOW: &str = "was killed by signal 9 (SIGKILL)";
    if std::env::var_os("OXSHMEM_JOB").is_some() {
        kill_this();
    }
    LocalCluster::lose(world, HOW).expect("it is in a cluster");
    Error::PeLost { pe: world.my_pe(), view: 0, how: HOW.to_owned() }
}

/// The world of a replacement that all have let in.
async fn let_in(world: World) -> Result<World> {
    loop {
        match world.rebuilt().await {
            // Another one is missing.
            Err(Error::PeLost { .. }) => {}
            other => return other,
        }
    }
}

/// This process is killed.
fn kill_this() -> ! {
    kill_process(getpid(), Sent::KILL).expect("it is this process");
    unreachable!("it is killed")
}

fn is_lost<T: std::fmt::Debug>(outcome: Result<T>, lost: usize, views: std::ops::RangeInclusive<u64>) {
    match outcome {
        Err(Error::PeLost { pe, view, .. }) if pe == lost && views.contains(&view) => {}
        other => panic!("PE {lost} is lost, and here is {other:?}"),
    }
}

/// Two machines with two PEs each, which are both this one.
const MACHINES: [&str; 4] = ["-H", "a:2,b:2", "--launch-agent", "env OXSHMEM_TEST_HOST={host}"];

/// One PE of four is killed; the others learn of it, and go on as three.
async fn three_go_on(world: World) -> Result<()> {
    const LOST: usize = 2;
    let (me, ctx) = (world.my_pe(), world.context());
    let words = world.alloc_zeroed::<u64>(4).await?;
    world.barrier_all().await?;
    if me == LOST {
        // The barrier is over on all of them.
        words.at(3).wait_until(Cmp::Eq, 3).await?;
        return Err(die(&world));
    }
    let any = words.at(3).wait_until(Cmp::Eq, 9).or_any_loss();
    let all = words.wait_until_all(Cmp::Eq, 9).or_any_loss();
    let some = words.excluding(&[0, 0, 0, 1]).wait_until_some_vector(Cmp::Eq, &[9; 4]).or_loss_of(LOST);
    let of_another = words.slice(3..).wait_until_any(Cmp::Eq, 5).or_loss_of(me);
    ctx.inc(words.at(3), LOST).await?;
    // The barrier hangs on no PE.
    is_lost(world.barrier_all().await, LOST, 1..=1);
    let loss = world.losses().next().await;
    assert_eq!((loss.pe, loss.view), (LOST, 1));
    assert!(loss.how.contains("was killed by signal 9"), "{}", loss.how);
    assert!(world.is_lost(LOST) && !world.is_lost(me));
    // Whether it has the increment cannot be known, which is reported once.
    let _ = ctx.quiet().await;
    ctx.quiet().await?;
    // Operations with it fail, each in its way, and those among the others do not.
    is_lost(ctx.get(&words, LOST).await, LOST, 1..=1);
    is_lost(ctx.put(&words, [1; 4], LOST).await, LOST, 1..=1);
    is_lost(ctx.fetch_add(words.at(0), 1, LOST).await, LOST, 1..=1);
    is_lost(words.at(3).wait_until(Cmp::Eq, 9).or_loss_of(LOST).await.map(drop), LOST, 1..=1);
    is_lost(any.await, LOST, 1..=1);
    is_lost(all.await, LOST, 1..=1);
    is_lost(some.await.map(drop), LOST, 1..=1);
    is_lost(words.wait_until_any(Cmp::Eq, 9).or_loss_of(LOST).await.map(drop), LOST, 1..=1);
    // What has come counts, and so does only that PE.
    assert_eq!(words.wait_until_some(Cmp::Eq, 0).or_loss_of(LOST).await?.last(), Some(&3));
    words.at(3).store(5);
    assert_eq!(of_another.await?, Some(0));
    let next = (me + 1) % 4;
    let next = if next == LOST { 3 } else { next };
    ctx.put(words.slice(..1), [7], next).await?;
    ctx.quiet().await?;
    words.at(0).wait_until(Cmp::Eq, 7).await?;
    // The team is revoked: nothing begins any more.
    is_lost(world.team().sync().await, LOST, 1..=1);
    is_lost(world.team().split_strided(0, 1, 2).await, LOST, 1..=1);
    let survivors = world.team().survivors().await?;
    assert_eq!((survivors.team.n_pes(), survivors.view), (3, 1));
    assert_eq!(survivors.team.my_pe(), if me > LOST { me - 1 } else { me });
    assert_eq!(survivors.completed.len(), 3);
    for round in 0..100 {
        words.at(1).store(me as u64 + round);
        survivors.team.sum_reduce(words.slice(2..3), words.slice(1..2)).await?;
        assert_eq!(words.at(2).load(), 4 + 3 * round);
    }
    survivors.team.destroy().await
}

#[test]
fn three_of_four_go_on() {
    let _limit = time_limit(60);
    let machines = &MACHINES[..];
    let hosts = ["1", "2", "4", "2:cyclic"].map(|hosts| ["--fake-hosts", hosts]);
    for placement in hosts.iter().map(|hosts| &hosts[..]).chain([machines]) {
        let job = Job::new(test_name!(), 4).launcher_args(placement).env("SHMEM_NET_INTERFACES=lo");
        let ended = go_on(job, three_go_on);
        assert_eq!(ended.status, 0, "{placement:?}: {ended:?}");
        let line = "was killed by signal 9 (SIGKILL); the job goes on (view 1)";
        assert!(ended.stderr.contains(line), "{}", ended.stderr);
    }
}

/// What PE `pe` gives in that round of the team that was made in that view.
fn given(view: u64, round: u64, pe: usize) -> u64 {
    (view << 40) ^ (round << 16) ^ (pe as u64 * 7 + 1)
}

/// Collectives without end, in which PEs are killed at random, until two are left.
async fn collectives_until_two_are_left(world: World) -> Result<()> {
    const LEN: usize = 3000;
    let (me, n) = (world.my_pe(), world.n_pes());
    let source = world.alloc_zeroed::<u64>(LEN).await?;
    let dest = world.alloc_zeroed::<u64>(n * LEN).await?;
    world.barrier_all().await?;
    // Only then all of them are sure to be in the job.
    let mut random = Random::new(u64::from(std::process::id()) << 8 | me as u64);
    let (mut team, mut view, mut round) = (world.team().clone(), 0, 0_u64);
    while team.n_pes() > 2 {
        // Others may die with it, but not all.
        if random.below(400) == 0 && team.my_pe() + 1 < team.n_pes() {
            return Err(die(&world));
        }
        let pes: Vec<usize> = (0..team.n_pes()).map(|pe| team.world_pe(pe).unwrap()).collect();
        match step(&team, (view, round), (&source, &dest), &pes, me).await {
            Ok(()) => round += 1,
            Err(Error::PeLost { .. }) => loop {
                match team.survivors().await {
                    Ok(survivors) => {
                        (team, view, round) = (survivors.team, survivors.view, 0);
                        break;
                    }
                    Err(Error::PeLost { .. }) => {}
                    Err(error) => return Err(error),
                }
            },
            Err(error) => return Err(error),
        }
    }
    println!("PE {me} is left in view {view}");
    Ok(())
}

/// One collective, whose result is right if it ends well.
async fn step(
    team: &Team,
    (view, round): (u64, u64),
    (source, dest): (&SymSlice<u64>, &SymSlice<u64>),
    pes: &[usize],
    me: usize,
) -> Result<()> {
    // Short and long ones.
    let len = [1, 40, 3000][(round / 7 % 3) as usize];
    let mine = given(view, round, me);
    source.slice(..len).fill(mine);
    // The destinations are ready.
    team.sync().await?;
    match round % 7 {
        0 => team.sync().await?,
        1 => {
            team.sum_reduce(dest.slice(..len), source.slice(..len)).await?;
            let sum = pes.iter().fold(0_u64, |sum, &pe| sum.wrapping_add(given(view, round, pe)));
            assert!(dest.slice(..len).to_vec().iter().all(|&word| word == sum), "sum of {len}");
        }
        2 => {
            let root = round as usize % pes.len();
            team.broadcast(dest.slice(..len), source.slice(..len), root).await?;
            let right = given(view, round, pes[root]);
            let came = dest.slice(..len).to_vec();
            assert!(
                came.iter().all(|&word| word == right),
                "broadcast of {len} in round {round}: {:x} {right:x}",
                came[0]
            );
        }
        3 | 4 => {
            let all = dest.slice(..len * pes.len());
            if round % 7 == 3 {
                team.fcollect(all, source.slice(..len)).await?;
            } else {
                team.collect(all, source.slice(..len)).await?;
            }
            for (i, &pe) in pes.iter().enumerate() {
                let block = dest.slice(i * len..(i + 1) * len).to_vec();
                assert!(block.iter().all(|&word| word == given(view, round, pe)), "block of {len}");
            }
        }
        5 => {
            team.max_reduce(dest.slice(..len), source.slice(..len)).await?;
            let max = pes.iter().map(|&pe| given(view, round, pe)).max().unwrap();
            assert!(dest.slice(..len).to_vec().iter().all(|&word| word == max), "max of {len}");
        }
        _ => {
            let bytes = (team.my_pe() == 0).then(|| mine.to_le_bytes().repeat(len));
            let came = team.broadcast_bytes(bytes, 0).await?;
            assert_eq!(came, given(view, round, pes[0]).to_le_bytes().repeat(len));
        }
    }
    Ok(())
}

#[test]
fn collectives_go_on_whichever_pes_are_killed_and_whenever() {
    let _limit = time_limit(180);
    for hosts in ["1", "2", "4:cyclic"] {
        for _ in 0..3 {
            let ended = go_on(Job::new(test_name!(), 8).hosts(hosts), collectives_until_two_are_left);
            assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
            let lost = ended.stderr.matches("the job goes on").count();
            assert!((6..=7).contains(&lost), "{}", ended.stderr);
            let left = ended.stdout.matches(&format!("is left in view {lost}")).count();
            assert_eq!(left, 8 - lost, "{}", ended.stdout);
        }
    }
}

#[test]
fn a_program_that_does_not_ask_to_go_on_is_refused_with_a_sentence() {
    let _limit = time_limit(60);
    let job = Job::new(test_name!(), 2).launcher_args(&["--on-loss", "continue"]);
    let ended = job.end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        eprintln!("{}", runtime.block_on(oxshmem::init()).unwrap_err());
        std::process::exit(3);
    });
    assert_eq!(ended.status, 3, "{ended:?}");
    let sentence = "init: SHMEM_ON_LOSS=continue (oshrun --on-loss) has a job go on when a PE is lost, which this \
                    program does not ask for (InitOptions::survive_loss, shmemx_survive_loss)";
    assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
    assert!(!ended.stderr.contains("goes on (view"), "init was not over anywhere: {}", ended.stderr);
}

#[test]
fn a_program_that_asks_to_go_on_ends_with_a_lost_pe_unless_the_job_goes_on() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).end(|| {
        main_of(|world| async move {
            if world.my_pe() == 1 {
                return Err(die(&world));
            }
            world.barrier_all().await
        });
    });
    assert_eq!(ended.status, 137, "{ended:?}");
    assert!(ended.stderr.contains("the job was ended"), "{}", ended.stderr);
}

/// The agent of machine b is killed, and with it its PEs.
async fn a_host_dies(world: World) -> Result<()> {
    let word = world.alloc_zeroed::<u64>(1).await?;
    world.barrier_all().await?;
    if world.my_pe() >= 2 {
        word.at(0).wait_until(Cmp::Eq, 2).await?;
        if world.my_pe() == 2 {
            kill_process(rustix::process::getppid().expect("the agent"), Sent::KILL).expect("it is ours");
        }
        std::future::pending::<()>().await;
    }
    for pe in [2, 3] {
        world.context().inc(word.at(0), pe).await?;
    }
    is_lost(world.barrier_all().await, 2, 1..=1);
    let mut losses = world.losses();
    for (pe, view) in [(2, 1), (3, 2)] {
        let loss = losses.next().await;
        assert_eq!((loss.pe, loss.view), (pe, view));
        assert!(loss.how.contains("was lost with its host b"), "{}", loss.how);
    }
    let _ = world.context().quiet().await;
    let survivors = world.team().survivors().await?;
    assert_eq!((survivors.team.n_pes(), survivors.view), (2, 2));
    survivors.team.sync().await
}

#[test]
fn a_lost_host_is_the_loss_of_its_pes() {
    let _limit = time_limit(60);
    let job = Job::new(test_name!(), 4).launcher_args(&MACHINES).env("SHMEM_NET_INTERFACES=lo");
    let ended = go_on(job, a_host_dies);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(ended.stderr.matches("was lost with its host b").count(), 2, "{}", ended.stderr);
}

/// PE 1 stands still for longer than any other limit, while more is under way to it than sockets
/// take.
async fn one_stands_still(world: World) -> Result<()> {
    const LEN: usize = 4 << 20;
    let (me, ctx) = (world.my_pe(), world.context());
    let block = world.alloc_zeroed::<u64>(LEN).await?;
    let count = world.alloc_zeroed::<u64>(1).await?;
    let pids = world.alloc_zeroed::<u64>(1).await?;
    pids.at(0).store(std::process::id().into());
    world.barrier_all().await?;
    if me == 0 {
        let pid = u32::try_from(ctx.g(pids.at(0), 1).await?).expect("its process");
        stop(pid);
        let put = ctx.put(&block, vec![7; LEN], 1);
        let inc = ctx.inc(count.at(0), 1);
        tokio::time::sleep(Duration::from_secs(8)).await;
        assert!(!world.is_lost(1));
        kill(pid, libc::SIGCONT);
        put.await?;
        inc.await?;
    }
    world.barrier_all().await?;
    assert_eq!(count.at(0).load(), u64::from(me == 1));
    assert!(me != 1 || block.view().to_vec().iter().all(|&word| word == 7));
    assert!((0..world.n_pes()).all(|pe| !world.is_lost(pe)));
    Ok(())
}

#[test]
fn a_pe_that_is_stopped_is_not_lost() {
    let _limit = time_limit(60);
    for hosts in ["1", "2"] {
        let ended = go_on(Job::new(test_name!(), 3).hosts(hosts), one_stands_still);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
    }
}

/// PE 1 panics.
async fn one_panics(world: World) -> Result<()> {
    world.barrier_all().await?;
    assert_ne!(world.my_pe(), 1, "the disk is full");
    is_lost(world.barrier_all().await, 1, 1..=1);
    world.team().survivors().await?.team.sync().await
}

#[test]
fn a_pe_that_drops_its_world_is_lost_whether_or_not_its_process_ends() {
    let _limit = time_limit(60);
    for hosts in ["1", "2"] {
        for stays in ["no", "yes"] {
            let job = Job::new(test_name!(), 3).hosts(hosts).env(&format!("STAYS={stays}"));
            let ended = job.launcher_args(&["--on-loss", "continue"]).end(|| {
                let outcome = std::panic::catch_unwind(|| main_of(one_panics));
                if outcome.is_err() && std::env::var("STAYS").is_ok_and(|stays| stays == "yes") {
                    std::thread::sleep(Duration::from_secs(60));
                }
                outcome.expect("it ends well");
            });
            assert_eq!(ended.status, 0, "{hosts} hosts, stays: {stays}: {ended:?}");
            let how = if stays == "yes" { "has dropped its world" } else { "exited with status 101" };
            assert!(ended.stderr.contains(how), "{}", ended.stderr);
        }
    }
}
