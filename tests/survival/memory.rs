//! Symmetric memory of the PEs that are left.

use std::time::Duration;

use oxshmem::{Error, Rejected, Result, Survivors, prelude::*};

use crate::{
    common::{Job, Random, test_name, time_limit},
    go_on, kill_this,
};

/// This process is killed soon, in the middle of something.
fn die_soon(random: &mut Random) {
    let soon = Duration::from_micros(random.below(400));
    std::thread::spawn(move || {
        std::thread::sleep(soon);
        kill_this();
    });
}

/// Those that are left, whichever others are lost meanwhile.
async fn left(world: &World) -> Result<Survivors> {
    loop {
        match world.survivors().await {
            Err(Error::PeLost { .. }) => {}
            other => return other,
        }
    }
}

/// The most blocks that are allocated in a job.
const TAGS: usize = 1 << 13;

/// Blocks that all PEs that are left have, in the same order.
struct Blocks {
    world: World,
    team: Team,
    /// A bit for each tag, here and on all PEs.
    tags: [SymSlice<u64>; 2],
    last: SymSlice<u64>,
    held: Vec<(SymSlice<u64>, u64)>,
    tag: u64,
    /// What all do alike in this view.
    common: Random,
}

impl Blocks {
    async fn new(world: &World) -> Result<Self> {
        let tags = [world.alloc_zeroed(TAGS / 64).await?, world.alloc_zeroed(TAGS / 64).await?];
        let last = world.alloc_zeroed(2).await?;
        let (world, team) = (world.clone(), world.team().clone());
        Ok(Self { world, team, tags, last, held: Vec::new(), tag: 0, common: Random::new(7) })
    }

    fn pattern(&self, tag: u64) -> u64 {
        tag << 8 | self.world.my_pe() as u64
    }

    /// All blocks are as this PE has written them.
    fn check(&self) {
        for (block, tag) in &self.held {
            let right = self.pattern(*tag);
            assert!(block.slice(..).to_vec().iter().all(|&word| word == right), "block {tag}");
        }
    }

    async fn step(&mut self) -> Result<()> {
        let (kind, which, len) = (self.common.below(8), self.common.below(1000), self.common.below(3000));
        let (which, len) = (which as usize, len as usize + 1);
        match kind {
            0..=3 => {
                let block = match kind {
                    0 => self.world.alloc_zeroed::<u64>(len).await?,
                    _ => self.world.alloc::<u64>(len).await?,
                };
                assert!(kind > 0 || block.slice(..).to_vec().iter().all(|&word| word == 0), "it is zeroed");
                self.hold(block).await
            }
            4 | 5 if !self.held.is_empty() => {
                let (block, _) = self.held.swap_remove(which % self.held.len());
                self.world.free(block).await.map_err(|Rejected { error, .. }| error)
            }
            6 if !self.held.is_empty() => {
                let (block, tag) = self.held.swap_remove(which % self.held.len());
                let (before, both) = (self.pattern(tag), len.min(block.len()));
                let block = self.world.realloc(block, len).await.map_err(|Rejected { error, .. }| error)?;
                assert!(block.slice(..both).to_vec().iter().all(|&word| word == before), "block {tag}");
                self.hold(block).await
            }
            _ => self.world.reclaim().await,
        }
    }

    /// A new block, which is where the others find it.
    async fn hold(&mut self, block: SymSlice<u64>) -> Result<()> {
        self.tag += 1;
        assert!((self.tag as usize) < TAGS);
        block.slice(..).fill(self.pattern(self.tag));
        self.held.push((block.clone(), self.tag));
        self.team.sync().await?;
        let next = self.team.world_pe((self.team.my_pe() + 1) % self.team.n_pes()).expect("it has a number");
        self.world.context().p(block.at(0), self.tag << 8 | next as u64, next).await?;
        self.world.context().quiet().await?;
        self.team.sync().await
    }

    /// Goes on with those that are left, and with the blocks that they all have.
    async fn recover(&mut self) -> Result<()> {
        loop {
            let survivors = left(&self.world).await?;
            self.team = survivors.team;
            match self.settle(survivors.view).await {
                Err(Error::PeLost { .. }) => {}
                other => return other,
            }
        }
    }

    async fn settle(&mut self, view: u64) -> Result<()> {
        // What has failed is reported.
        let _ = self.world.context().quiet().await;
        let [mine, all] = &self.tags;
        mine.slice(..).fill(0);
        for &(_, tag) in &self.held {
            let word = mine.at(tag as usize / 64);
            word.store(word.load() | 1 << (tag % 64));
        }
        self.last.at(0).store(self.tag);
        self.team.and_reduce(all, mine).await?;
        self.team.max_reduce(self.last.slice(1..), self.last.slice(..1)).await?;
        self.tag = self.last.at(1).load();
        let all = all.slice(..).to_vec();
        self.held.retain(|&(_, tag)| all[tag as usize / 64] >> (tag % 64) & 1 == 1);
        self.held.sort_by_key(|&(_, tag)| tag);
        self.check();
        self.common = Random::new(view);
        Ok(())
    }
}

/// Blocks come and go while PEs are killed, until two are left, or one.
async fn blocks_come_and_go(world: World) -> Result<()> {
    let mut blocks = Blocks::new(&world).await?;
    let before = world.heap_use().used;
    world.barrier_all().await?;
    let mut random = Random::new(std::process::id().into());
    while blocks.team.n_pes() > 2 {
        if random.below(100) == 0 && blocks.team.my_pe() + 1 < blocks.team.n_pes() {
            die_soon(&mut random);
        }
        if let Err(error) = blocks.step().await {
            assert!(matches!(error, Error::PeLost { .. }), "{error}");
            blocks.recover().await?;
        }
    }
    // One of the two may have been about to die.
    while let Err(error) = all_is_freed(&mut blocks, before).await {
        assert!(matches!(error, Error::PeLost { .. }), "{error}");
        blocks.recover().await?;
    }
    println!("PE {} is left", world.my_pe());
    Ok(())
}

async fn all_is_freed(blocks: &mut Blocks, before: usize) -> Result<()> {
    blocks.check();
    while let Some((block, _)) = blocks.held.pop() {
        blocks.world.free(block).await.map_err(|Rejected { error, .. }| error)?;
    }
    blocks.world.reclaim().await?;
    assert_eq!(blocks.world.heap_use().used, before, "all that was lost is free");
    Ok(())
}

#[test]
fn blocks_are_allocated_and_freed_among_those_that_are_left() {
    let _limit = time_limit(180);
    for hosts in ["1", "2", "4:cyclic"] {
        for _ in 0..3 {
            let ended = go_on(Job::new(test_name!(), 8).hosts(hosts), blocks_come_and_go);
            assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
            let lost = ended.stderr.matches("the job goes on").count();
            assert!(lost >= 6, "{}", ended.stderr);
            // One may have been about to die after that line.
            assert!((8 - lost..=2).contains(&ended.stdout.matches("is left").count()), "{}", ended.stdout);
        }
    }
}

/// PE 1 leaves something, which those of its host read.
async fn something_is_left(world: World) -> Result<()> {
    let words = world.alloc::<u64>(1000).await?;
    words.slice(..).fill(world.my_pe() as u64 + 5);
    world.barrier_all().await?;
    if world.my_pe() == 1 {
        kill_this();
    }
    world.losses().next().await;
    let is_near = world.my_pe() == 0;
    assert_eq!(world.left_by(1, &words), is_near.then(|| vec![6; 1000]));
    left(&world).await.map(drop)
}

#[test]
fn what_a_lost_pe_has_left_can_be_read_on_its_host() {
    let _limit = time_limit(60);
    let ended = go_on(Job::new(test_name!(), 4).hosts("2"), something_is_left);
    assert_eq!(ended.status, 0, "{ended:?}");
}

/// What a world offers beside memory, among those that are left.
async fn teams_and_contexts(world: World) -> Result<()> {
    let me = world.my_pe();
    world.barrier_all().await?;
    if me == 1 {
        kill_this();
    }
    while world.barrier_all().await.is_ok() {}
    let team = left(&world).await?.team;
    let words = world.alloc_zeroed::<u64>(2).await?;
    let odd = team.split_strided(0, 2, 2).await?;
    assert_eq!(odd.is_some(), team.my_pe() % 2 == 0);
    if let Some(odd) = odd {
        let ctx = odd.create_context(ContextOptions::new())?;
        ctx.p(words.at(0), 5, 1 - odd.my_pe()).await?;
        ctx.quiet().await?;
        odd.sync().await?;
        assert_eq!(words.at(0).load(), 5);
        ctx.destroy().await?;
        odd.destroy().await?;
    }
    team.sum_reduce(words.slice(1..), words.slice(..1)).await?;
    assert_eq!(words.at(1).load(), 10);
    world.free(words).await.map_err(|Rejected { error, .. }| error)
}

#[test]
fn teams_and_contexts_are_made_of_those_that_are_left() {
    let _limit = time_limit(60);
    for hosts in ["1", "2"] {
        let ended = go_on(Job::new(test_name!(), 4).hosts(hosts), teams_and_contexts);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
    }
}
