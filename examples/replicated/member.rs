//! A PE among those that are there: what they decide together, and how they go on after a loss.
//!
//! Every few milliseconds the first of them decides what is to be done, and a broadcast gives that
//! to all. It fails when a PE is lost: then all that are left come to [`Member::recover`]. Whether
//! their number falls or rises, they [settle](Member::settle) before they serve again.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures::FutureExt;
use oxshmem::{Error, RejoinStream, Survivors, Team, prelude::*};
use tokio::sync::{RwLockWriteGuard, watch};

use crate::{
    client::{Ports, below},
    history::{Failure, Recorder, now},
    store::{Epoch, Memory, Store},
};

/// How often the first PE decides.
const ROUND: Duration = Duration::from_millis(5);
/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;
/// How long the PEs serve before they try again to let replacements in.
const RETRY: u64 = SECOND / 10;
/// No PE is killed that close to the end.
const QUIET_END: u64 = 2 * SECOND;
/// After as many seconds a PE that was to be killed is thought to be lost and replaced already.
const LATE: u64 = 5;
/// How long a replacement is waited for in the end.
const LAST_WAIT: u64 = 5 * SECOND;

/// Words of [`Memory::words`]: the port of this PE's service; what is reduced, and to what; whether
/// this PE has seen the end.
const PORT: usize = 0;
const GIVEN: usize = 1;
const REDUCED: usize = 2;
const ENDED: usize = 3;

/// What all PEs of a job know, replacements included.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Where the history is.
    pub(crate) folder: PathBuf,
    /// When clients begin and end.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// In which second a PE was killed last.
    pub(crate) killed: u64,
}

impl Plan {
    fn encode(&self) -> Vec<u8> {
        format!("{} {} {} {}", self.begin, self.end, self.killed, self.folder.display()).into_bytes()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(bytes).ok()?.splitn(4, ' ');
        let mut number = || words.next()?.parse().ok();
        let (begin, end, killed) = (number()?, number()?, number()?);
        Some(Self { folder: words.next()?.into(), begin, end, killed })
    }
}

/// What is to be done.
enum Decision {
    GoOn,
    /// Replacements are let in.
    Rebuild,
    /// This PE is killed.
    Kill(usize),
    /// Clients end.
    End,
}

impl Decision {
    fn encode(&self) -> Vec<u8> {
        match *self {
            Self::GoOn => vec![0],
            Self::Rebuild => vec![1],
            Self::Kill(pe) => [vec![2], pe.to_le_bytes().to_vec()].concat(),
            Self::End => vec![3],
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (0, []) => Some(Self::GoOn),
            (1, []) => Some(Self::Rebuild),
            (2, pe) => Some(Self::Kill(usize::from_le_bytes(pe.try_into().ok()?))),
            (3, []) => Some(Self::End),
            _ => None,
        }
    }
}

/// This PE.
pub(crate) struct Member {
    world: World,
    /// Those that are there.
    pub(crate) team: Team,
    rejoined: RejoinStream,
    /// When replacements are to be let in, if one waits.
    rebuild_at: Option<u64>,
    pub(crate) store: Arc<Store>,
    pub(crate) ports: Ports,
    /// None until this PE has it from another.
    pub(crate) plan: Option<Plan>,
    /// Whether PEs are killed.
    kills: bool,
    /// How many were lost when the PEs that are left met last, and when one was killed last.
    view: u64,
    killed_in: Option<u64>,
    /// Whether all is done, on all PEs.
    is_over: bool,
    random: u64,
}

impl Member {
    /// Joins the others. PE 0 of a new job makes the plan. None if the others have ended before
    /// they let this replacement in.
    pub(crate) async fn begin(
        world: World,
        keys: usize,
        port: u16,
        kills: bool,
        plan: Option<Plan>,
    ) -> Result<Option<Self>, Failure> {
        let rejoined = world.rejoined();
        let is_replacement = world.is_replacement();
        let (world, team, memory) = if is_replacement {
            let Some(joined) = join(world).await? else { return Ok(None) };
            joined
        } else {
            let memory = Memory::new(&world, keys).await?;
            (world.clone(), world.team().clone(), memory)
        };
        memory.words.at(PORT).store(port.into());
        let store = Arc::new(Store::new(memory, Epoch::new(&world, &team)));
        let random = u64::from(std::process::id());
        let ports = Ports::default();
        let plan = plan.filter(|_| !is_replacement && world.my_pe() == 0);
        let (rebuild_at, is_over, view, killed_in) = (None, false, 0, None);
        let mut this = Self {
            world,
            team,
            rejoined,
            rebuild_at,
            store,
            ports,
            plan,
            kills,
            view,
            killed_in,
            is_over,
            random,
        };
        let store = this.store.clone();
        let mut epoch = store.halt().await;
        match this.settle(&mut epoch).await {
            Err(Error::PeLost { .. }) => this.recover(epoch).await?,
            other => {
                other?;
                store.resume(epoch);
            }
        }
        Ok(Some(this))
    }

    /// Takes part until the end. `clients` says how many run on this PE still, and `stop` has them
    /// end.
    pub(crate) async fn run(
        &mut self,
        recorder: &Arc<Recorder>,
        clients: &watch::Receiver<usize>,
        stop: &watch::Sender<bool>,
    ) -> Result<(), Failure> {
        let store = self.store.clone();
        while !self.is_over {
            let recovers = match self.step(recorder, clients, stop).await {
                Ok(ended) => ended,
                Err(Error::PeLost { .. }) => true,
                Err(error) => return Err(error.into()),
            };
            if recovers {
                // Others may not know that it is the end, if a PE is lost now.
                let epoch = store.halt().await;
                self.recover(epoch).await?;
            }
        }
        Ok(())
    }

    /// One round. Whether all clients have ended.
    async fn step(
        &mut self,
        recorder: &Arc<Recorder>,
        clients: &watch::Receiver<usize>,
        stop: &watch::Sender<bool>,
    ) -> oxshmem::Result<bool> {
        while self.rejoined.next().now_or_never().is_some() {
            self.rebuild_at = Some(now());
        }
        let mut decision = None;
        if self.team.my_pe() == 0 {
            tokio::time::sleep(ROUND).await;
            decision = Some(self.decide().encode());
        }
        let decision = self.team.broadcast_bytes(decision, 0).await?;
        match Decision::decode(&decision).ok_or_else(malformed)? {
            Decision::GoOn => {}
            Decision::Rebuild => self.rebuild().await?,
            Decision::Kill(pe) => {
                self.killed_in = Some(self.view);
                if let Some(plan) = &mut self.plan {
                    plan.killed = (now() - plan.begin) / SECOND;
                }
                if pe == self.world.my_pe() {
                    let (recorder, soon) = (recorder.clone(), below(&mut self.random, 3000));
                    // In the middle of whatever it does.
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_micros(soon));
                        if let Err(error) = recorder.killed(pe) {
                            eprintln!("replicated: {error}");
                        }
                        let _ = rustix::process::kill_process(
                            rustix::process::getpid(),
                            rustix::process::Signal::KILL,
                        );
                    });
                }
            }
            Decision::End => {
                stop.send_replace(true);
                let words = &self.store.memory.words;
                words.at(GIVEN).store(*clients.borrow() as u64);
                self.team.sum_reduce(words.slice(REDUCED..=REDUCED), words.slice(GIVEN..=GIVEN)).await?;
                if words.at(REDUCED).load() == 0 {
                    words.at(ENDED).store(1);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn decide(&mut self) -> Decision {
        let Some(plan) = &self.plan else { return Decision::GoOn };
        let (n, now) = (self.team.n_pes(), now());
        let is_whole = n == self.world.n_pes();
        if self.rebuild_at.is_some_and(|at| at <= now) && !is_whole {
            return Decision::Rebuild;
        }
        if now >= plan.end && (is_whole || !self.kills || now >= plan.end + LAST_WAIT) {
            return Decision::End;
        }
        let second = now.saturating_sub(plan.begin) / SECOND;
        // With one copy of some keys alone, a loss would lose them. On a busy machine a PE that is
        // to be killed goes on for a while.
        let is_dead = self.killed_in.is_none_or(|view| self.view > view) || second > plan.killed + LATE;
        if self.kills && n >= 2 && second > plan.killed && is_dead && now + QUIET_END < plan.end {
            let which = below(&mut self.random, n as u64) as usize;
            return self.team.world_pe(which).map_or(Decision::GoOn, Decision::Kill);
        }
        Decision::GoOn
    }

    /// Lets replacements in.
    async fn rebuild(&mut self) -> oxshmem::Result<()> {
        let store = self.store.clone();
        let mut epoch = store.halt().await;
        self.rebuild_at = None;
        match self.world.rebuilt().await {
            Ok(world) => (self.team, self.world) = (world.team().clone(), world),
            // Another is missing, or has ended.
            Err(Error::PeLost { .. } | Error::Bootstrap { .. }) => {
                self.rebuild_at = Some(now() + RETRY);
                store.resume(epoch);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        // Those that are let in.
        while self.rejoined.next().now_or_never().is_some() {}
        match self.settle(&mut epoch).await {
            // No operation begins meanwhile: the store may be half filled.
            Err(Error::PeLost { .. }) => self.recover(epoch).await,
            Err(error) => Err(error),
            Ok(()) => {
                store.resume(epoch);
                Ok(())
            }
        }
    }

    /// Goes on with those that are left, or ends if one of them has seen the end.
    async fn recover(&mut self, mut epoch: RwLockWriteGuard<'_, Epoch>) -> oxshmem::Result<()> {
        let store = self.store.clone();
        loop {
            match self.settle_survivors(&mut epoch).await {
                Ok(()) => break,
                Err(Error::PeLost { .. }) => {}
                // The job ends with the first loss: there was none.
                Err(Error::Unsupported { .. }) => {
                    self.is_over = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        store.resume(epoch);
        Ok(())
    }

    async fn settle_survivors(&mut self, epoch: &mut Epoch) -> oxshmem::Result<()> {
        // What has not come to a lost PE is reported.
        let _ = self.world.context().quiet().await;
        let Survivors { team, view, .. } = self.world.survivors().await?;
        (self.team, self.view) = (team, view);
        // The PE that has decided that one is killed may be that one.
        if let Some(plan) = &mut self.plan {
            plan.killed = plan.killed.max(now().saturating_sub(plan.begin) / SECOND);
        }
        *epoch = Epoch::new(&self.world, &self.team);
        let ended = self.store.memory.words.at(ENDED);
        for &pe in &epoch.members {
            self.is_over |= self.world.context().g(ended, pe).await? == 1;
        }
        if self.is_over { Ok(()) } else { self.settle(epoch).await }
    }

    /// Has the members of the team know the same, and the store be whole, while none of them
    /// serves. Collective over the team.
    async fn settle(&mut self, epoch: &mut Epoch) -> oxshmem::Result<()> {
        let (me, n, ctx) = (self.team.my_pe(), self.team.n_pes(), self.world.context());
        *epoch = Epoch::new(&self.world, &self.team);
        let words = &self.store.memory.words;
        // The first of those that have the plan gives it to all.
        words.at(GIVEN).store(if self.plan.is_some() { (n - me) as u64 } else { 0 });
        self.team.max_reduce(words.slice(REDUCED..=REDUCED), words.slice(GIVEN..=GIVEN)).await?;
        let root = n - words.at(REDUCED).load() as usize;
        let plan = self.plan.as_ref().filter(|_| me == root).map(Plan::encode);
        let plan = self.team.broadcast_bytes(plan, root).await?;
        self.plan = Some(Plan::decode(&plan).ok_or_else(malformed)?);
        let mut ports = vec![None; self.world.n_pes()];
        for &pe in &epoch.members {
            ports[pe] = u16::try_from(ctx.g(words.at(PORT), pe).await?).ok();
        }
        self.store.repair(epoch).await?;
        self.team.sync().await?;
        *self.ports.lock().unwrap_or_else(PoisonError::into_inner) = ports;
        Ok(())
    }
}

/// Waits until the others let this replacement in. None if they do not, since they have ended.
async fn join(mut world: World) -> Result<Option<(World, Team, Memory)>, Failure> {
    let given_up = now() + 2 * LAST_WAIT;
    loop {
        match world.rebuilt().await {
            Ok(whole) => {
                world = whole;
                break;
            }
            Err(Error::PeLost { .. }) if now() < given_up => tokio::time::sleep(ROUND).await,
            Err(Error::PeLost { .. } | Error::Bootstrap { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(memory) = Memory::claim(&world) {
        let team = world.team().clone();
        return Ok(Some((world, team, memory)));
    }
    // Another PE was lost before this one had the memory. All others come here too.
    loop {
        match world.survivors().await {
            Ok(Survivors { team, .. }) => {
                let memory = Memory::claim(&world).ok_or("a replacement has no memory")?;
                return Ok(Some((world, team, memory)));
            }
            Err(Error::PeLost { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn malformed() -> Error {
    Error::Unsupported { what: "what PEs decide is malformed".to_owned() }
}
