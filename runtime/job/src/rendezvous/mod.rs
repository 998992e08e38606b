//! PEs in processes that no launcher started: each is given an address, its number, their count and
//! a secret, and PE 0, which listens at the address, does for all what a launcher does.
//!
//! Each process has a thread, `oxshmem-rendezvous`. That of PE 0 (`serve`) takes connections,
//! puts together what the PEs exchange, and notices whose connection ends; those of the others
//! (`follow`) pass on requests and answers. So a PE learns of the end of the job, and its process
//! ends, whatever its program does. A connection begins with a proof that both ends know the
//! secret, before which nothing of it is parsed.
//!
//! In a job that goes on when a PE is lost, PE 0 also decides which PEs are (`arbiter`). Each of
//! the others has a [lease](crate::lease) then, which a timer of the kernel holds (`fence`). The
//! job ends with PE 0.
//!
//! PEs of one host share descriptors over a socket of that host alone, as under PMIx.

#[cfg(test)]
mod tests;

mod arbiter;
mod door;
mod ending;
mod fence;
mod follow;
mod frame;
mod given;
mod hosts;
mod link;
mod proof;
mod serve;

use std::{
    os::fd::BorrowedFd,
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::Duration,
};

use async_trait::async_trait;
use oxshmem_base::{
    Error, Result,
    home::Home,
    settings::OnLoss,
    sync::{Mutex, lock},
};

use super::{
    Bootstrap, Offer, Placement, TeamRound,
    claim::Claim,
    losses::Losses,
    offers::{OfferServer, Sharing},
    wire,
};
pub use given::Rendezvous;

use self::{
    fence::Fence,
    frame::{Frame, FrameKind, WANTS_NOTHING},
    hosts::Place,
    link::{Link, Over, Stay},
};

/// How long `global_exit` waits until PE 0 knows of it.
const KNOWN: Duration = Duration::from_secs(2);

/// One PE of a job that has no launcher.
#[derive(Debug)]
pub struct Met {
    placement: Placement,
    one_machine: bool,
    service: Threaded,
    sharing: Sharing,
    home: Home,
    /// Until this PE has left the job.
    claim: Mutex<Option<Claim>>,
}

/// What becomes of the process.
#[derive(Clone, Copy, Debug)]
struct Conduct {
    /// It is the PE's alone, and ends with the job.
    ends_process: bool,
}

/// The thread of a PE, which ends when this is dropped.
#[derive(Debug)]
struct Threaded {
    link: Arc<Link>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Threaded {
    fn drop(&mut self) {
        self.link.leave(Stay::Abandoned);
    }
}

impl Met {
    /// Finds the other PEs, as the one that this process is given to be. Collective over all PEs.
    ///
    /// # Errors
    /// [`Error::AlreadyInitialized`] while this process is a PE, and [`Error::Bootstrap`] if what
    /// is given cannot be used, if PEs do not come in time, or if two processes are to be one PE.
    pub async fn join(given: Rendezvous, on_loss: OnLoss) -> Result<Self> {
        let claim = Claim::take(given.pe)?;
        Self::as_pe(given, on_loss, Some(claim)).await
    }

    /// As one of the PEs of this process, if there is no claim: it does not end with the job then.
    async fn as_pe(given: Rendezvous, on_loss: OnLoss, claim: Option<Claim>) -> Result<Self> {
        const CALL: &str = "init";
        let secret = given.checked()?;
        let (me, n) = (given.pe, given.n_pes);
        let failed = |error| Error::system(CALL, error);
        let goes_on = on_loss == OnLoss::Continue;
        let link = Arc::new(Link::new(goes_on).map_err(failed)?);
        let conduct = Conduct { ends_process: claim.is_some() };
        let fence = (goes_on && conduct.ends_process && me > 0).then(Fence::new);
        let fence = fence.transpose().map_err(failed)?;
        let (shared, fake_hosts) = (Arc::clone(&link), given.fake_hosts.clone());
        let run = move || match given.pe {
            0 => serve::run(given, secret, conduct, shared),
            _ => follow::run(&given, &secret, (conduct, fence), &shared),
        };
        let thread = Builder::new().name("oxshmem-rendezvous".into()).spawn(run);
        let thread = thread.map_err(|error| Error::system(CALL, error))?;
        let service = Threaded { link, thread: Mutex::new(Some(thread)) };
        service.link.started().await?;

        let server = match n {
            1 => None,
            _ => Some(OfferServer::open(n - 1).map_err(|error| Error::system(CALL, error))?),
        };
        let mine = Place::here(server.as_ref(), &fake_hosts);
        let all = service.exchange(CALL, mine.to_bytes(), n).await?;
        let all: Vec<_> = all.iter().map(|bytes| Place::from_bytes(bytes)).collect();
        let leader = Place::leader(&all, me);
        let reached = leader == me || all[leader].address.is_some_and(|address| address.is_reachable());
        let mine = if reached { leader } else { me };
        let leaders = service.exchange(CALL, (mine as u64).to_le_bytes().to_vec(), n).await?;
        let leader_of = |bytes: &Vec<u8>| {
            let number = u64::from_le_bytes(bytes[..].try_into().ok()?);
            usize::try_from(number).ok().filter(|&leader| leader < n)
        };
        let leaders =
            leaders.iter().map(leader_of).collect::<Option<Vec<_>>>().ok_or_else(|| other_build(CALL))?;
        let (hosts, host, one_machine) = hosts::places(&all, &leaders, me);
        let placement = Placement::new(me, Arc::new(hosts), host);
        let sharing = match (server, placement.local.len(), all[placement.local[0]].address) {
            (_, 1, _) => Sharing::Alone,
            (Some(mut server), local, _) if placement.is_leader() => {
                server.expect(local - 1);
                Sharing::leader(server)
            }
            (_, _, Some(leader)) => Sharing::other(leader),
            _ => return Err(other_build(CALL)),
        };
        Ok(Self { placement, one_machine, service, sharing, home: Home::here(), claim: Mutex::new(claim) })
    }
}

impl Threaded {
    /// Gives `mine` to all PEs.
    async fn exchange(&self, call: &'static str, mine: Vec<u8>, n: usize) -> Result<Arc<[Vec<u8>]>> {
        let ticket = self.link.ask(Frame::new(FrameKind::Give).body(mine))?;
        let (_, packed) = self.link.answer(ticket).await?;
        wire::unpack(&packed, n).ok_or_else(|| other_build(call))
    }
}

fn other_build(call: &'static str) -> Error {
    Error::bootstrap(call, "a PE runs another version of oxshmem; start all PEs with one build")
}

impl super::sealed::Sealed for Met {}

#[async_trait]
impl Bootstrap for Met {
    fn placement(&self) -> &Placement {
        &self.placement
    }

    async fn exchange(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        const CALL: &str = "exchange";
        self.home.check(self.placement.pe, CALL)?;
        self.service.exchange(CALL, mine, self.placement.n_pes).await
    }

    async fn exchange_to_leaders(&self, mine: Vec<u8>) -> Result<Option<Arc<[Vec<u8>]>>> {
        if self.placement.is_leader() {
            return self.exchange(mine).await.map(Some);
        }
        self.home.check(self.placement.pe, "exchange")?;
        let request = Frame::new(FrameKind::Give).value(WANTS_NOTHING).body(mine);
        let ticket = self.service.link.ask(request)?;
        self.service.link.answer(ticket).await.map(|_| None)
    }

    fn is_one_machine(&self) -> bool {
        self.one_machine
    }

    fn in_process(&self) -> bool {
        false
    }

    async fn share_raw(&self, offer: Option<Offer>) -> Result<Offer> {
        self.home.check(self.placement.pe, "share")?;
        self.sharing.share(offer, &self.placement).await
    }

    fn finalized(&self) {
        if !self.home.is_here() {
            return;
        }
        self.service.link.leave(Stay::Left);
        if let Some(thread) = lock(&self.service.thread).take() {
            // It has reported that itself if it has panicked. It takes no longer than `LAST_WORDS`.
            let _ = thread.join();
        }
        drop(lock(&self.claim).take());
    }

    fn abandoned(&self, _how: &str) {
        if self.home.is_here() {
            self.service.link.leave(Stay::Abandoned);
        }
    }

    fn hangs_up(&self) -> Option<BorrowedFd<'_>> {
        Some(self.service.link.hangs_up())
    }

    fn global_exit(&self) -> Option<(usize, i32)> {
        match self.service.link.over()? {
            Over::Exit { pe, status } => Some((pe, status)),
            Over::Lost { .. } => None,
        }
    }

    fn lost(&self) -> Option<(usize, String)> {
        match self.service.link.over()? {
            Over::Lost { pe, how } => Some((pe, how)),
            Over::Exit { .. } => None,
        }
    }

    fn when_over(&self, call: Box<dyn FnOnce() + Send>) {
        self.service.link.when_over(call);
    }

    fn losses(&self) -> Option<&Arc<Losses>> {
        self.service.link.losses.as_ref()
    }

    async fn regroup(&self, round: TeamRound) -> Result<(u64, Vec<Vec<u8>>)> {
        const CALL: &str = "survivors";
        self.home.check(self.placement.pe, CALL)?;
        let request = Frame::new(FrameKind::Regroup).body(round.encode());
        let (view, packed) = self.service.link.answer(self.service.link.ask(request)?).await?;
        let all = wire::unpack(&packed, round.members.len()).ok_or_else(|| other_build(CALL))?;
        Ok((view as u64, all.to_vec()))
    }

    fn survives(&self) {
        // It fails when the job is over, which this PE sees elsewhere.
        let _ = self.service.link.ask(Frame::new(FrameKind::Survives));
    }

    fn suspects(&self, pe: usize, out_of_reach: bool) {
        let kind = if out_of_reach { FrameKind::Suspects } else { FrameKind::Reaches };
        let _ = self.service.link.ask(Frame::new(kind).value(pe as i32));
    }

    fn abort(&self, status: i32, _why: &str) {
        // The process may end at once: the others are to know of it before.
        if self.home.is_here() && self.service.link.ask(Frame::new(FrameKind::Abort).value(status)).is_ok() {
            self.service.link.wait_until_over(KNOWN);
        }
    }
}
