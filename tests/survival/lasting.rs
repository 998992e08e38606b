//! What many losses leave behind in the processes that live through them: nothing.
//!
//! `LOSSES=1000 OXSHMEM_TEST_SLOWER=40 cargo test --workspace --test survival lasting --
//! --nocapture` is the long run, at a loss a second.

use std::{
    fs::{read_dir, read_to_string},
    time::Duration,
};

use oxshmem::{Error, Rejected, RejoinStream, Result, Unclaimed, prelude::*};
use oxshmem_progress::activity::Count;

use crate::{
    common::{Job, Random, test_name, time_limit},
    go_on, kill_this, let_in,
};

/// How many PEs are lost, unless the variable `LOSSES` says so.
const LOSSES: u64 = 20;
/// After as many losses a process has all that it ever needs.
const AT_FIRST: u64 = 8;
/// Elements of what collectives move: they take several messages.
const LEN: usize = 40_000;

fn losses() -> u64 {
    std::env::var("LOSSES").map_or(LOSSES, |losses| losses.parse().expect("a number"))
}

/// What a process has.
#[derive(Clone, Copy, Debug)]
struct Footprint {
    descriptors: usize,
    mappings: usize,
    threads: usize,
    /// Private memory, and memory that is shared, in kB.
    private: usize,
    shared: usize,
}

impl Footprint {
    /// Of this process (`self`), or of another.
    fn of(process: &str) -> Self {
        let file = |name: &str| format!("/proc/{process}/{name}");
        let status = read_to_string(file("status")).expect("procfs");
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("it is there");
            line.trim_end_matches("kB").trim().parse().expect("a number")
        };
        Self {
            descriptors: read_dir(file("fd")).expect("procfs").count(),
            mappings: read_to_string(file("maps")).expect("procfs").lines().count(),
            threads: read_dir(file("task")).expect("procfs").count(),
            private: kilobytes("RssAnon:"),
            shared: kilobytes("RssShmem:"),
        }
    }

    /// What has become more since `before`, but for memory that the allocator keeps.
    fn grown(&self, before: &Self, kept: usize) -> Vec<&'static str> {
        let rows = [
            // One for each connection, of which some may not be made yet.
            ("descriptors", self.descriptors, before.descriptors + 4),
            ("mappings", self.mappings, before.mappings + 2),
            ("threads", self.threads, before.threads),
            ("private memory", self.private, before.private + kept),
            ("shared memory", self.shared, before.shared + 256),
        ];
        rows.into_iter().filter(|(_, now, before)| now > before).map(|(name, ..)| name).collect()
    }
}

/// A PE that goes through the losses of others, or is one of them.
struct Lasting {
    world: World,
    rejoined: RejoinStream,
    words: SymSlice<u64>,
    sums: SymSlice<u64>,
}

impl Lasting {
    async fn begin(world: World) -> Result<Self> {
        let rejoined = world.rejoined();
        if world.is_replacement() {
            let world = let_in(world).await?;
            let mut unclaimed = world.unclaimed().into_iter().map(Unclaimed::claim::<u64>);
            let (Some(words), Some(sums)) = (unclaimed.next(), unclaimed.next()) else {
                panic!("there is memory from the beginning");
            };
            // Like the others, it gives up what the loss has interrupted.
            drop(unclaimed);
            world.reclaim().await?;
            return Ok(Self { world, rejoined, words, sums });
        }
        let (words, sums) = (world.alloc_zeroed(LEN).await?, world.alloc_zeroed(LEN).await?);
        Ok(Self { world, rejoined, words, sums })
    }

    /// A team comes and goes. One that a loss interrupts may take its place for ever.
    async fn splits(&self) -> Result<()> {
        let team = self.world.team();
        if let Some(half) = team.split_strided(0, 2, team.n_pes() / 2).await? {
            half.max_reduce(self.sums.slice(..10), self.words.slice(..10)).await?;
            half.destroy().await?;
        }
        team.sync().await
    }

    /// All that there is, without end: until a PE is lost.
    async fn goes_on(&self, victim: usize) -> Error {
        let (world, team, ctx) = (&self.world, self.world.team(), self.world.context());
        let (me, n) = (world.my_pe(), world.n_pes());
        let own = world.create_context(ContextOptions::new()).expect("a world");
        let each = async {
            loop {
                team.sum_reduce(&self.sums, &self.words).await?;
                team.broadcast_bytes((me == 0).then(|| vec![7; 100_000]), 0).await?;
                own.put(self.words.slice(..1000), vec![1; 1000], victim).await?;
                ctx.fetch_add(self.words.at(me), 1, (me + 1) % n).await?;
                ctx.put_nbi(self.words.slice(1000..), vec![2; LEN - 1000], victim).await?;
                let block = world.alloc_zeroed::<u64>(5000).await?;
                world.free(block).await.map_err(|Rejected { error, .. }| error)?;
            }
        };
        let ended: Result<()> = each.await;
        let _ = own.quiet().await;
        ended.expect_err("it does not end well")
    }

    /// The world is whole again, and its heap is as it was.
    async fn is_whole_again(&mut self, before: usize) -> Result<()> {
        // What has not come to a lost PE is reported.
        let _ = self.world.context().quiet().await;
        self.world = loop {
            match self.world.rebuilt().await {
                Ok(whole) => break whole,
                Err(Error::PeLost { .. }) => _ = self.rejoined.next().await,
                Err(error) => return Err(error),
            }
        };
        self.world.reclaim().await?;
        assert_eq!(self.world.heap_use().used, before, "memory is lost");
        Ok(())
    }
}

async fn many_losses(world: World) -> Result<()> {
    let mut member = Lasting::begin(world).await?;
    let (me, n) = (member.world.my_pe(), member.world.n_pes());
    let (used, losses) = (member.world.heap_use().used, losses());
    let launcher = rustix::process::getppid().expect("oshrun").as_raw_nonzero().to_string();
    // The first and the last PE live through all losses, on different hosts if there are several.
    let watches: &[&str] = match me {
        0 => &["self", &launcher],
        _ if me == n - 1 => &["self"],
        _ => &[],
    };
    let (mut first, mut teams) = (Vec::new(), Vec::new());
    loop {
        let mut known = member.world.losses();
        let mut lost = 0;
        while futures::FutureExt::now_or_never(known.next()).is_some() {
            lost += 1;
        }
        if !watches.is_empty() && (lost == AT_FIRST || lost % 100 == 0 || lost == losses) {
            let now: Vec<_> = watches.iter().map(|process| Footprint::of(process)).collect();
            println!("PE {me} and its launcher after {lost} losses: {now:?}");
            if lost == AT_FIRST {
                first = now;
            } else if lost == losses {
                for (now, first) in now.iter().zip(&first) {
                    let grown = now.grown(first, 1024);
                    assert!(grown.is_empty(), "{grown:?} grow: {first:?} {now:?}");
                }
            }
        }
        let free: u32 = member.world.team().places().free().iter().map(|places| places.count_ones()).sum();
        teams.push((member.world.pe().board().counts().of(Count::Teams), free));
        if lost == losses {
            // Those of the first world, which `main_of` has, and of this one.
            let as_before = |&(count, free): &(u64, u32)| count <= 4 && free == teams[0].1;
            assert!(teams.iter().all(as_before), "teams and free places: {teams:?}");
            break;
        }
        let mut random = Random::new(lost);
        let victim = 1 + random.below(n as u64 - 2) as usize;
        // The PE that is killed behind it may be that already on others.
        if let Err(error) = member.splits().await {
            assert!(matches!(error, Error::PeLost { .. }), "{error}");
        }
        if victim == me {
            let soon = Duration::from_micros(u64::from(std::process::id()) * 7919 % 5000);
            std::thread::spawn(move || {
                std::thread::sleep(soon);
                kill_this();
            });
        }
        match member.goes_on(victim).await {
            Error::PeLost { .. } => member.is_whole_again(used).await?,
            error => return Err(error),
        }
    }
    println!("PE {me} has seen the end");
    Ok(())
}

/// A job goes through its losses, and its processes have what they had before.
fn goes_through(job: Job) {
    let _limit = time_limit(120);
    let ended = go_on(job.launcher_args(&["--respawn", "50000"]), many_losses);
    assert_eq!(ended.status, 0, "{ended:?}");
    let seen = ended.stdout.matches("has seen the end").count();
    assert_eq!(seen, pes(), "{ended:?}");
    println!("{}", ended.stdout);
}

fn pes() -> usize {
    if losses() > LOSSES { 8 } else { 4 }
}

#[test]
fn processes_of_one_host_that_live_through_many_losses_have_what_they_had_before() {
    goes_through(Job::new(test_name!(), pes()));
}

#[test]
fn processes_of_two_hosts_that_live_through_many_losses_have_what_they_had_before() {
    goes_through(Job::new(test_name!(), pes()).hosts("2"));
}
