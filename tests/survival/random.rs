//! PEs are killed at random, in the middle of whatever they do, and replaced.

use std::time::Duration;

use futures::FutureExt;
use oxshmem::{Error, Rejected, RejoinStream, Result, Survivors, Unclaimed, prelude::*};

use crate::{
    common::{Job, Random, test_name, time_limit},
    go_on, kill_this, let_in,
};

/// Elements of the memory that all have from the beginning.
const LEN: usize = 400;

/// A PE of a job that is to go through many losses.
struct Member {
    world: World,
    /// Those that are there.
    team: Team,
    rejoined: RejoinStream,
    /// How many replacements this PE knows of, and how many of them it has let in or found lost.
    known: u64,
    /// A number on each PE, of the last round that wrote there.
    words: SymSlice<u64>,
    /// What is summed up, and the sum.
    sums: SymSlice<u64>,
    /// How many rounds there were.
    round: u64,
}

impl Member {
    async fn begin(world: World) -> Result<Self> {
        let rejoined = world.rejoined();
        if !world.is_replacement() {
            let (words, sums) = (world.alloc_zeroed(LEN).await?, world.alloc_zeroed(2).await?);
            let team = world.team().clone();
            return Ok(Self { world, team, rejoined, known: 0, words, sums, round: 0 });
        }
        let world = let_in(world).await?;
        let mut unclaimed = world.unclaimed().into_iter().map(Unclaimed::claim::<u64>);
        let (Some(words), Some(sums)) = (unclaimed.next(), unclaimed.next()) else {
            panic!("there is memory from the beginning");
        };
        let team = world.team().clone();
        Ok(Self { world, team, rejoined, known: 0, words, sums, round: 0 })
    }

    /// One round among those that are there. Whether there is to be another.
    async fn step(&mut self, rounds: u64) -> Result<bool> {
        let (me, n, ctx) = (self.team.my_pe(), self.team.n_pes(), self.world.context());
        while self.rejoined.next().now_or_never().is_some() {
            self.known += 1;
        }
        // The first knows the round, and says whether replacements are to be let in. One that has
        // replaced the first counts from the others.
        self.sums.at(0).store(self.round);
        self.team.max_reduce(self.sums.slice(1..), self.sums.slice(..1)).await?;
        self.round = self.sums.at(1).load() + 1;
        let is_missing = (0..self.world.n_pes()).any(|pe| self.world.is_lost(pe));
        let lets_in = (me == 0).then(|| vec![u8::from(self.known > 0 && is_missing)]);
        if self.team.broadcast_bytes(lets_in, 0).await? == [1] {
            self.known = 0;
            match self.world.rebuilt().await {
                Ok(world) => {
                    (self.team, self.world) = (world.team().clone(), world);
                    return Ok(true);
                }
                // Another is missing.
                Err(Error::PeLost { .. }) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        // Each writes to the next.
        let next = self.team.world_pe((me + 1) % n).expect("it has a number");
        let value = self.round << 8 | me as u64;
        ctx.put(&self.words, vec![value; LEN], next).await?;
        ctx.quiet().await?;
        self.team.sync().await?;
        let right = self.round << 8 | ((me + n - 1) % n) as u64;
        assert!(self.words.slice(..).to_vec().iter().all(|&word| word == right), "round {}", self.round);
        assert_eq!(ctx.g(self.words.at(LEN / 2), next).await?, value);
        // Memory comes and goes.
        let some = self.world.alloc_zeroed::<u64>(1 + (self.round % 100) as usize).await?;
        assert!(some.slice(1..).to_vec().iter().all(|&word| word == 0), "it is zeroed");
        ctx.p(some.at(0), value, next).await?;
        ctx.quiet().await?;
        self.team.sync().await?;
        assert_eq!(some.at(0).load(), right);
        some.slice(..).fill(value);
        self.world.free(some).await.map_err(|Rejected { error, .. }| error)?;
        Ok(self.round < rounds)
    }

    /// Goes on with those that are left.
    async fn recover(&mut self) -> Result<()> {
        // What has not come to a lost PE is reported.
        let _ = self.world.context().quiet().await;
        loop {
            match self.world.survivors().await {
                Ok(Survivors { team, .. }) => {
                    self.team = team;
                    return Ok(());
                }
                Err(Error::PeLost { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Rounds, in which PEs are killed about this often.
async fn rounds(world: World, rounds: u64, seldom: u64) -> Result<()> {
    let mut member = Member::begin(world).await?;
    let mut random = Random::new(std::process::id().into());
    loop {
        // A replacement takes a second, in which there are thousands of rounds.
        let is_whole = member.team.n_pes() == member.world.n_pes();
        if is_whole && random.below(seldom) == 0 && member.round + 50 < rounds {
            let soon = Duration::from_micros(random.below(3000));
            std::thread::spawn(move || {
                std::thread::sleep(soon);
                kill_this();
            });
        }
        match member.step(rounds).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(Error::PeLost { .. }) => member.recover().await?,
            Err(error) => return Err(error),
        }
    }
    println!("PE {} is there in the end", member.world.my_pe());
    Ok(())
}

#[test]
fn a_job_goes_through_losses_and_replacements() {
    let _limit = time_limit(180);
    let machines = &crate::MACHINES[..];
    let hosts = ["1", "2"].map(|hosts| ["--fake-hosts", hosts]);
    for placement in hosts.iter().map(|hosts| &hosts[..]).chain([machines]) {
        let job = Job::new(test_name!(), 4).launcher_args(placement).env("SHMEM_NET_INTERFACES=lo");
        let ended = go_on(job.launcher_args(&["--respawn", "1000"]), |world| rounds(world, 600, 300));
        assert_eq!(ended.status, 0, "{placement:?}: {ended:?}");
        assert!(ended.stdout.contains("is there in the end"), "{}", ended.stdout);
        println!("{placement:?}: {} losses", ended.stderr.matches("the job goes on").count());
    }
}
