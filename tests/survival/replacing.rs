//! Replacements of PEs that were lost: `oshrun --respawn`.

use oxshmem::{Error, InitOptions, Rejected, Result, prelude::*, settings::Settings};

use crate::{
    common::{Job, test_name, time_limit},
    go_on, kill_this,
};

/// The PEs that are killed, one after the other: among them the first of the job, and of each host.
const LOST: [usize; 4] = [2, 0, 3, 2];
/// Elements of the memory that all have from the beginning.
const LEN: usize = 5000;

/// Each round, a PE is killed and replaced; then all do together what a world offers.
async fn all_are_replaced(first: World) -> Result<()> {
    let me = first.my_pe();
    let mut world = first.clone();
    let rejoined = world.rejoined();
    if world.is_replacement() {
        assert!(matches!(world.barrier_all().await, Err(Error::PeLost { .. })), "it is not let in yet");
        world = world.rebuilt().await?;
        let mut unclaimed = world.unclaimed();
        assert_eq!(unclaimed.iter().map(|memory| memory.bytes()).collect::<Vec<_>>(), [8 * LEN, 64]);
        assert!(world.unclaimed().is_empty());
        let rounds = unclaimed.pop().expect("there are two").claim::<u64>();
        let words = unclaimed.pop().expect("there are two").claim::<u64>();
        assert!(words.slice(..).to_vec().iter().all(|&word| word == 0), "it is zeroed");
        // The others know in which round they are.
        let round = world.team().broadcast_bytes(None, 1).await?[0] as usize;
        all_is_well(&world, &words, &rounds, round).await?;
        return go_through(world, rejoined, (words, rounds), round + 1).await;
    }
    let words = world.alloc_zeroed::<u64>(LEN).await?;
    let rounds = world.alloc_zeroed::<u64>(8).await?;
    words.slice(..).fill(me as u64);
    last_barrier(&world).await?;
    go_through(world, rejoined, (words, rounds), 0).await
}

async fn go_through(
    mut world: World,
    mut rejoined: oxshmem::RejoinStream,
    (words, rounds): (SymSlice<u64>, SymSlice<u64>),
    mut round: usize,
) -> Result<()> {
    let me = world.my_pe();
    while round < LOST.len() {
        if LOST[round] == me {
            kill_this();
        }
        // The next loss ends it, whatever is under way.
        let lost = loop {
            match world.barrier_all().await {
                Ok(()) => {}
                Err(Error::PeLost { pe, .. }) => break pe,
                Err(error) => return Err(error),
            }
        };
        assert_eq!((lost, world.is_lost(lost)), (LOST[round], true));
        // What has not reached it is reported.
        let _ = world.context().quiet().await;
        world = loop {
            match world.rebuilt().await {
                Ok(world) => break world,
                Err(Error::PeLost { .. }) => _ = rejoined.next().await,
                Err(error) => return Err(error),
            }
        };
        let number = (world.my_pe() == 1).then(|| vec![round as u8]);
        world.team().broadcast_bytes(number, 1).await?;
        all_is_well(&world, &words, &rounds, round).await?;
        round += 1;
    }
    println!("PE {me} has seen the end");
    Ok(())
}

async fn all_is_well(
    world: &World,
    words: &SymSlice<u64>,
    rounds: &SymSlice<u64>,
    round: usize,
) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    assert!((0..n).all(|pe| !world.is_lost(pe)));
    let lost = LOST[round];
    if me != lost {
        assert!(words.slice(..).to_vec().iter().all(|&word| word == me as u64), "what others have stays");
    }
    world.barrier_all().await?;
    // Each writes to the next, and reads it from there.
    let next = (me + 1) % n;
    ctx.put(words, vec![7_u64; LEN], next).await?;
    ctx.inc(rounds.at(round), next).await?;
    ctx.quiet().await?;
    world.barrier_all().await?;
    assert!(words.slice(..).to_vec().iter().all(|&word| word == 7));
    assert_eq!(rounds.at(round).load(), 1);
    assert_eq!(ctx.g(rounds.at(round), next).await?, 1);
    world.barrier_all().await?;
    // New memory, at the same place on all; the old one is resized.
    let sums = world.alloc_zeroed::<u64>(2).await?;
    sums.at(0).store(me as u64 + 1);
    world.team().sum_reduce(sums.slice(1..), sums.slice(..1)).await?;
    assert_eq!(sums.at(1).load(), (n * (n + 1) / 2) as u64);
    let half = world.team().split_strided(0, 2, n / 2).await?;
    if let Some(half) = half {
        half.sum_reduce(sums.slice(1..), sums.slice(..1)).await?;
        half.destroy().await?;
    }
    world.team_shared().sync().await?;
    world.free(sums).await.map_err(|Rejected { error, .. }| error)?;
    words.slice(..).fill(me as u64);
    last_barrier(world).await
}

/// A barrier behind which a PE is killed, so that it may fail on others.
pub(crate) async fn last_barrier(world: &World) -> Result<()> {
    match world.barrier_all().await {
        Err(Error::PeLost { .. }) => Ok(()),
        other => other,
    }
}

#[test]
fn a_replacement_takes_the_place_of_a_pe_that_is_lost() {
    let _limit = time_limit(120);
    for hosts in ["1", "2", "4"] {
        let job = Job::new(test_name!(), 4).hosts(hosts).launcher_args(&["--respawn", "4"]);
        let ended = go_on(job, all_are_replaced);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
        assert_eq!(ended.stdout.matches("has seen the end").count(), 4, "{ended:?}");
        assert_eq!(ended.stderr.matches("the job goes on").count(), 4, "{ended:?}");
    }
}

/// PE 1 is killed, and the others leave without its replacement.
async fn the_others_leave(world: World) -> Result<()> {
    if world.is_replacement() {
        let left = world.rebuilt().await;
        assert!(left.as_ref().is_err_and(|error| error.to_string().contains("has left the job already")));
        println!("it comes too late: {}", left.unwrap_err());
        return Ok(());
    }
    world.barrier_all().await?;
    if world.my_pe() == 1 {
        kill_this();
    }
    let mut rejoined = world.rejoined();
    assert_eq!(rejoined.next().await, 1);
    Ok(())
}

#[test]
fn a_replacement_that_the_others_do_not_let_in_learns_that_they_have_left() {
    let _limit = time_limit(60);
    for hosts in ["1", "2"] {
        let job = Job::new(test_name!(), 4).hosts(hosts).launcher_args(&["--respawn", "1"]);
        let ended = go_on(job, the_others_leave);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
        assert!(ended.stdout.contains("it comes too late"), "{ended:?}");
    }
}

/// When PE 2 has a replacement, PE 0 lets it in, and PE 1 calls for those that are left.
async fn two_disagree(first: World) -> Result<()> {
    let mut world = first.clone();
    if !world.is_replacement() {
        let mut rejoined = world.rejoined();
        last_barrier(&world).await?;
        if world.my_pe() == 2 {
            kill_this();
        }
        rejoined.next().await;
        if world.my_pe() == 0 {
            assert!(matches!(world.rebuilt().await, Err(Error::PeLost { pe: 2, view: 1, .. })));
        }
        assert_eq!(world.survivors().await?.team.n_pes(), 2);
    }
    world = loop {
        match world.rebuilt().await {
            Ok(world) => break world,
            // On a replacement, which is waited for.
            Err(Error::PeLost { .. }) if first.is_replacement() => {}
            Err(error) => return Err(error),
        }
    };
    world.barrier_all().await?;
    println!("PE {} agrees", world.my_pe());
    Ok(())
}

#[test]
fn pes_do_not_wait_for_each_other_in_survivors_and_in_rebuilt() {
    let _limit = time_limit(60);
    for hosts in ["1", "2"] {
        let job = Job::new(test_name!(), 3).hosts(hosts).launcher_args(&["--respawn", "1"]);
        let ended = go_on(job, two_disagree);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
        assert_eq!(ended.stdout.matches(" agrees").count(), 3, "{hosts} hosts: {ended:?}");
    }
}

/// A world ends before another begins, of which PE 1 is replaced.
async fn a_second_world(first: World) -> Result<()> {
    let world = if first.is_replacement() {
        first.rebuilt().await?
    } else {
        first.finalize().await?;
        let settings = Settings::from_env()?;
        let world = oxshmem::init_with(InitOptions::from(settings).survive_loss()).await?;
        let mut rejoined = world.rejoined();
        last_barrier(&world).await?;
        if world.my_pe() == 1 {
            kill_this();
        }
        assert_eq!(rejoined.next().await, 1);
        world.rebuilt().await?
    };
    world.barrier_all().await?;
    println!("PE {} is in a whole world", world.my_pe());
    if !first.is_replacement() {
        world.finalize().await?;
        std::process::exit(0);
    }
    Ok(())
}

#[test]
fn a_world_that_is_not_the_first_lets_replacements_in() {
    let _limit = time_limit(60);
    let machines = &crate::MACHINES[..];
    for placement in [&["--fake-hosts", "1"][..], &["--fake-hosts", "2"], machines] {
        let job = Job::new(test_name!(), 4).launcher_args(placement).env("SHMEM_NET_INTERFACES=lo");
        let ended = go_on(job.launcher_args(&["--respawn", "1"]), a_second_world);
        assert_eq!(ended.status, 0, "{placement:?}: {ended:?}");
        assert_eq!(ended.stdout.matches("is in a whole world").count(), 4, "{placement:?}: {ended:?}");
    }
}
