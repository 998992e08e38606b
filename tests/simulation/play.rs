//! A PE's program, which checks all that it gets, and goes on with those that are left.

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::{
    FutureExt,
    future::{Either, select},
};
use oxshmem::{Error, prelude::*};

use crate::{
    chance::Course,
    heap::Blocks,
    plan::{Kind, LEN, LOCKS, Plan, Step},
    replacing::{self, UNKNOWN},
};

/// Why a program goes on no further.
pub(crate) enum Stop {
    /// A PE is lost: those that are left begin again.
    Loss,
    /// It is wrong.
    Wrong(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss => f.write_str("a PE is lost"),
            Self::Wrong(what) => f.write_str(what),
        }
    }
}

pub(crate) type Played<T> = Result<T, Stop>;

pub(crate) fn wrong<T>(what: impl Into<String>) -> Played<T> {
    Err(Stop::Wrong(what.into()))
}

pub(crate) struct Game {
    pub(crate) world: World,
    pub(crate) plan: Arc<Plan>,
    pub(crate) course: Arc<Course>,
    pub(crate) source: SymSlice<u64>,
    pub(crate) dest: SymSlice<u64>,
    words: SymSlice<u64>,
    /// Locks, and behind them what each protects.
    pub(crate) locks: SymSlice<u64>,
    pub(crate) blocks: Mutex<Blocks>,
    pub(crate) team: Team,
    /// Its members, by their numbers in the world.
    pub(crate) pes: Vec<usize>,
    pub(crate) view: u64,
    /// The view in which those that are left share the memory.
    pub(crate) shared_in: u64,
    /// How many collectives of the team have ended well here.
    completed: AtomicU64,
    /// The steps that began on this team, and how many collectives had ended before.
    pub(crate) began: Vec<(usize, u64)>,
}

/// What a PE does.
pub(crate) async fn play(world: World, plan: Arc<Plan>, course: Arc<Course>) -> Played<()> {
    let begun = |error: oxshmem::Error| Stop::Wrong(format!("the start: {error}"));
    if world.is_replacement() {
        return replacing::play(world, plan, course).await;
    }
    let n = world.n_pes();
    let source = world.alloc_zeroed::<u64>(n * LEN).await.map_err(begun)?;
    let dest = world.alloc_zeroed::<u64>(n * LEN).await.map_err(begun)?;
    let words = world.alloc_zeroed::<u64>(4).await.map_err(begun)?;
    let locks = world.alloc_zeroed::<u64>(2 * LOCKS).await.map_err(begun)?;
    let used = world.heap_use().used;
    course.begins(world.my_pe());
    let mut game = Game::new(world, plan, course, [source, dest, words, locks], used);
    // The world's team counts what the start took as well.
    game.regroup(true).await?;
    game.play_from(0).await
}

pub(crate) async fn finalize(world: &World) -> Played<()> {
    world.finalize().await.map_err(|error| Stop::Wrong(format!("finalize: {error}")))
}

impl Game {
    /// One that begins, with this memory, whose heap has that many bytes in use.
    pub(crate) fn new(
        world: World,
        plan: Arc<Plan>,
        course: Arc<Course>,
        [source, dest, words, locks]: [SymSlice<u64>; 4],
        used: usize,
    ) -> Self {
        let (team, pes) = (world.team().clone(), (0..world.n_pes()).collect());
        Self {
            world,
            plan,
            course,
            source,
            dest,
            words,
            locks,
            blocks: Mutex::new(Blocks::none(used)),
            team,
            pes,
            view: 0,
            shared_in: 0,
            completed: AtomicU64::new(0),
            began: Vec::new(),
        }
    }

    /// Plays from that step on, to the end.
    pub(crate) async fn play_from(&mut self, mut step: usize) -> Played<()> {
        while step <= self.plan.steps.len() || step == UNKNOWN {
            if self.plan.replaced && self.pes.len() < self.world.n_pes() {
                match self.rebuild().await? {
                    true => step = self.begin_again(step).await?,
                    false => return Ok(()),
                }
                continue;
            }
            match self.go_on_from(step).await {
                Ok(()) | Err(Stop::Loss) => {}
                Err(wrong) => return Err(wrong),
            }
            // All members get the same answer, so that all know whether it is over.
            step = self.regroup(false).await?;
        }
        self.check_losses()?;
        finalize(&self.world).await
    }

    fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    pub(crate) fn me(&self) -> usize {
        self.world.my_pe()
    }

    /// A step of the plan; behind the last one there is the end.
    pub(crate) fn plan_of(&self, step: usize) -> Option<Step> {
        self.plan.steps.get(step).copied()
    }

    /// What PE `pe` gives at `at` in a step.
    pub(crate) fn given(&self, step: usize, pe: usize, at: usize) -> u64 {
        let which = (self.view << 48) | ((step as u64) << 36) | ((pe as u64) << 24) | at as u64;
        (which ^ self.plan.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn gives(&self, step: usize, pe: usize, len: usize) -> Vec<u64> {
        (0..len).map(|at| self.given(step, pe, at)).collect()
    }

    /// An error of `call` may only be the loss of a PE that is lost, and that `may` have caused it.
    pub(crate) fn lost<T>(
        &self,
        call: &str,
        outcome: oxshmem::Result<T>,
        may: impl Fn(usize) -> bool,
    ) -> Played<T> {
        match outcome {
            Ok(value) => Ok(value),
            Err(Error::PeLost { pe, view, .. }) if self.course.lost_in(view) == Some(pe) && may(pe) => {
                if self.world.is_lost(pe) {
                    return Err(Stop::Loss);
                }
                wrong(format!("{call} names PE {pe}, of which the PE does not know"))
            }
            Err(error) => wrong(format!("{call}, whose error cannot be: {error}")),
        }
    }

    /// An error of a collective of the team.
    pub(crate) fn collective<T>(&self, call: &str, outcome: oxshmem::Result<T>) -> Played<T> {
        let value = self.lost(call, outcome, |pe| self.pes.contains(&pe))?;
        self.completed.fetch_add(1, Ordering::Relaxed);
        Ok(value)
    }

    pub(crate) async fn sync(&self) -> Played<()> {
        let outcome = self.team.sync().await;
        self.collective("sync", outcome)
    }

    /// `dest` begins with these.
    fn check(&self, call: &str, right: &[u64]) -> Played<()> {
        let came = self.dest.slice(..right.len()).to_vec();
        match came.iter().zip(right).position(|(came, right)| came != right) {
            None => Ok(()),
            Some(at) => {
                let (came, right, n) = (came[at], right[at], self.pes.len());
                wrong(format!("{call} of {n}: {came:x} instead of {right:x} at {at}"))
            }
        }
    }

    async fn go_on_from(&mut self, step: usize) -> Played<()> {
        for number in step..=self.plan.steps.len() {
            let completed = self.completed();
            self.began.push((number, completed));
            match self.plan.steps.get(number) {
                Some(_) => self.step(number).await?,
                None => self.free_all(number).await?,
            }
        }
        let completed = self.completed();
        self.began.push((self.plan.steps.len() + 1, completed));
        Ok(())
    }

    /// The members that are left make a new team. Returns the step that it begins with.
    pub(crate) async fn regroup(&mut self, is_first: bool) -> Played<usize> {
        let quiet = self.world.context().quiet().await;
        match self.lost("quiet", quiet, |_| true) {
            Ok(()) | Err(Stop::Loss) => {}
            Err(wrong) => return Err(wrong),
        }
        let survivors = self.team.survivors().await;
        let survivors = self.lost("survivors", survivors, |_| false)?;
        let (team, view) = (survivors.team, survivors.view);
        let left: Vec<usize> = (0..team.n_pes()).filter_map(|pe| team.world_pe(pe)).collect();
        let were_lost: Vec<usize> =
            (self.view + 1..=view).filter_map(|view| self.course.lost_in(view)).collect();
        let right: Vec<usize> = self.pes.iter().copied().filter(|pe| !were_lost.contains(pe)).collect();
        if view < self.view || were_lost.len() as u64 != view - self.view || left != right {
            return wrong(format!("survivors in view {view} are {left:?}, and {were_lost:?} are lost"));
        }
        if survivors.completed.len() != left.len() {
            return wrong("survivors says what others have completed than are left");
        }
        let mine = survivors.completed[team.my_pe()];
        let fewest = survivors.completed.iter().copied().min().unwrap_or_default();
        if !is_first && mine != self.completed() {
            return wrong(format!("{} collectives ended, and survivors says {mine}", self.completed()));
        }
        let reached = self.began.iter().rev().find(|(_, before)| *before <= fewest);
        let step = reached.map_or(0, |(step, _)| *step);
        self.drop_uncertain(step)?;
        (self.team, self.pes, self.view, self.completed) = (team, left, view, AtomicU64::new(0));
        self.began.clear();
        // Should this fail, the new team has a member that is lost.
        self.began.push((step, 0));
        if self.shared_in < view {
            match self.lost("survivors of the world", self.world.survivors().await, |_| true) {
                Ok(survivors) if survivors.view < view => return wrong("survivors are of an older view"),
                Ok(_) => self.shared_in = view,
                Err(Stop::Loss) => {}
                Err(wrong) => return Err(wrong),
            }
        }
        Ok(step)
    }

    /// The losses that the PE knows of are those that there were, in their order.
    fn check_losses(&self) -> Played<()> {
        let mut losses = self.world.losses();
        let mut view = 0;
        while let Some(loss) = losses.next().now_or_never() {
            view += 1;
            if loss.view != view || self.course.lost_in(view) != Some(loss.pe) {
                return wrong(format!("loss {view} is not {loss:?}"));
            }
        }
        if view < self.view {
            return wrong(format!("{view} losses are known in view {}", self.view));
        }
        Ok(())
    }

    async fn step(&self, number: usize) -> Played<()> {
        let Step { kind, shift, len } = self.plan.steps[number];
        let (n, me) = (self.pes.len(), self.team.my_pe());
        let (to, from) = (self.pes[(me + shift) % n], self.pes[(me + n - shift % n) % n]);
        let root = shift % n;
        let mine = self.gives(number, self.me(), len);
        let ctx = self.world.context();
        // Its own, whichever team it was before.
        let stamp = self.given(number, 0, 0) | 1;
        let waits = (kind == Kind::Wait).then(|| self.words.at(1).wait_until(Cmp::Eq, stamp).or_any_loss());
        for (at, &value) in mine.iter().enumerate() {
            self.source.at(at).store(value);
        }
        if kind == Kind::FetchAdd || kind == Kind::Signal {
            self.words.at(0).store(0);
        }
        self.sync().await?;
        match kind {
            Kind::Put | Kind::PutNbi => {
                if kind == Kind::Put {
                    let put = ctx.put(self.dest.slice(..len), mine, to).await.map(drop).map_err(Error::from);
                    self.lost("put", put, |pe| pe == to)?;
                } else {
                    drop(ctx.put_nbi(self.dest.slice(..len), mine, to));
                }
                self.lost("quiet", ctx.quiet().await, |pe| pe == to)?;
                self.sync().await?;
                self.check("put", &self.gives(number, from, len))?;
            }
            Kind::Get => {
                let got = ctx.get(self.source.slice(..len), to).await;
                if self.lost("get", got, |pe| pe == to)? != self.gives(number, to, len) {
                    return wrong("get has something else");
                }
                self.sync().await?;
            }
            Kind::FetchAdd => {
                let root = self.pes[root];
                let before = ctx.fetch_add(self.words.at(0), 1, root).await;
                let before = self.lost("fetch_add", before, |pe| pe == root)?;
                if before >= n as u64 {
                    return wrong(format!("fetch_add has {before}"));
                }
                self.sync().await?;
                let sum = self.words.at(0).load();
                if self.me() == root && sum != n as u64 {
                    return wrong(format!("{n} add up to {sum}"));
                }
            }
            Kind::Signal => {
                let root = self.pes[root];
                let inc = ctx.inc(self.words.at(0), root).await;
                self.lost("inc", inc, |pe| pe == root)?;
                self.lost("quiet", ctx.quiet().await, |pe| pe == root)?;
                self.sync().await?;
                let sum = self.words.at(0).load();
                if self.me() == root && sum != n as u64 {
                    return wrong(format!("{n} increments are {sum}"));
                }
            }
            Kind::Wait => {
                let put = ctx.p(self.words.at(1), stamp, to).await;
                self.lost("p", put, |pe| pe == to)?;
                self.lost("quiet", ctx.quiet().await, |pe| pe == to)?;
                if let Some(waits) = waits {
                    let ended = waits.await.map(drop);
                    self.lost("or_any_loss", ended, |_| true)?;
                }
                self.sync().await?;
            }
            Kind::Sync => self.sync().await?,
            Kind::Alloc | Kind::Realloc | Kind::Free => self.memory(number, self.plan.steps[number]).await?,
            Kind::Lock => self.lock(shift % LOCKS, len).await?,
            Kind::Split => self.split(number, shift % 3 + 1, len).await?,
            _ => self.collect(number, kind, root, len).await?,
        }
        Ok(())
    }

    /// A collective with results.
    async fn collect(&self, number: usize, kind: Kind, root: usize, len: usize) -> Played<()> {
        let (n, me) = (self.pes.len(), self.team.my_pe());
        let (team, source) = (self.team.clone(), self.source.slice(..len));
        let (dest, all) = (self.dest.slice(..len), self.dest.slice(..n * len));
        let each: Vec<Vec<u64>> = self.pes.iter().map(|&pe| self.gives(number, pe, len)).collect();
        let fold = |with: fn(u64, u64) -> u64| -> Vec<u64> {
            (0..len).map(|at| each.iter().map(|given| given[at]).reduce(with).unwrap_or_default()).collect()
        };
        let (outcome, right) = match kind {
            Kind::Sum => (team.sum_reduce(dest, source).await, fold(u64::wrapping_add)),
            Kind::Max => (team.max_reduce(dest, source).await, fold(u64::max)),
            Kind::Broadcast => (team.broadcast(dest, source, root).await, each[root].clone()),
            Kind::Fcollect => (team.fcollect(all, source).await, each.concat()),
            Kind::Collect => (team.collect(all, source).await, each.concat()),
            Kind::Alltoall => {
                let mine = self.gives(number, self.me(), n * len);
                mine.iter().enumerate().for_each(|(at, &value)| self.source.at(at).store(value));
                let block = |&pe: &usize| self.gives(number, pe, n * len)[me * len..][..len].to_vec();
                let right = self.pes.iter().flat_map(block).collect();
                (team.alltoall(all, self.source.slice(..n * len)).await, right)
            }
            _ => {
                let bytes = (me == root).then(|| bytes_of(&each[root]));
                let came = team.broadcast_bytes(bytes, root).await;
                let came = self.collective("broadcast_bytes", came)?;
                if came != bytes_of(&each[root]) {
                    return wrong("broadcast_bytes has something else");
                }
                return self.sync().await;
            }
        };
        self.collective(&format!("{kind:?}"), outcome)?;
        self.check(&format!("{kind:?}"), &right)?;
        self.sync().await
    }

    /// A part of the team sums up.
    async fn split(&self, number: usize, stride: usize, len: usize) -> Played<()> {
        let n = self.pes.len();
        let made = self.team.split_strided(0, stride as isize, n.div_ceil(stride)).await;
        let made = self.collective("split_strided", made)?;
        if let Some(part) = made {
            let pes: Vec<usize> = self.pes.iter().copied().step_by(stride).collect();
            let summed = part.sum_reduce(self.dest.slice(..len), self.source.slice(..len));
            let summed = self.unless_any_loss(summed).await?;
            self.lost("sum_reduce of a part", summed, |pe| pes.contains(&pe))?;
            let sum = |at| pes.iter().fold(0_u64, |sum, &pe| sum.wrapping_add(self.given(number, pe, at)));
            self.check("sum_reduce of a part", &(0..len).map(sum).collect::<Vec<_>>())?;
            let destroyed = self.unless_any_loss(part.destroy()).await?;
            self.lost("destroy", destroyed, |pe| pes.contains(&pe))?;
        }
        self.sync().await
    }

    /// A collective of a part of the team, to which members may never come: if one that is in no
    /// part is lost, the part is not revoked, but they may not have it.
    async fn unless_any_loss<T>(&self, call: impl Future<Output = T>) -> Played<T> {
        let mut losses = self.world.losses();
        let lost = async { while losses.next().await.view <= self.view {} };
        match select(pin!(call), pin!(lost)).await {
            Either::Left((outcome, _)) => Ok(outcome),
            Either::Right(_) => Err(Stop::Loss),
        }
    }
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
