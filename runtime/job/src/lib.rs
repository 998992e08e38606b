//! How a PE learns its number and meets the others, before there is symmetric memory.
//!
//! A [`Bootstrap`] knows the PE's number and place, exchanges small messages among all PEs, hands
//! descriptors to the PEs of one host, and ends the job. Everything above works with any of them:
//! [`single`] (one PE), [`local`] (PEs as tasks of one process), [`launched`] (processes started
//! by `oshrun`, which they talk to as [`wire`] describes), [`pmix`] (processes started by a
//! launcher that offers PMIx, such as `mpirun`) and [`rendezvous`] (processes that find each other
//! at an address). All of them pass the suite in [`suite`]. [`from_env`] says which of them a
//! process is to use.

pub mod cipher;
mod claim;
mod common;
pub mod exchanges;
pub mod foreign;
pub mod job;
pub mod joining;
pub mod launched;
pub mod lease;
pub mod lifeline;
pub mod local;
pub mod losses;
mod offers;
pub mod pmix;
pub mod proof;
pub mod rendezvous;
pub mod rounds;
pub mod single;
pub mod suite;
pub mod suspicions;
pub mod wire;

use std::{
    any::Any,
    os::fd::{BorrowedFd, OwnedFd},
    sync::Arc,
};

use async_trait::async_trait;
use oxshmem_base::{
    Error, Hosts, Result,
    printable::printable,
    settings::{OnLoss, Settings},
};

pub use common::Common;
pub use foreign::Foreign;
pub use launched::Launched;
pub use local::{Courier, Local, News};
pub use losses::{Loss, LossWatch, Losses, Rejoined};
pub use pmix::Pmix;
pub use rendezvous::{Met, Rendezvous};
pub use single::Single;
pub use wire::TeamRound;

use sealed::Sealed;

/// What no other crate can implement, and so no bootstrap.
mod sealed {
    pub trait Sealed {}
}

/// Where a PE is among the others.
///
/// ```
/// use std::sync::Arc;
///
/// use oxshmem_base::Hosts;
/// use oxshmem_job::Placement;
///
/// let placement = Placement::new(3, Arc::new(Hosts::even(5, 2)), "node2".to_owned());
/// assert_eq!((placement.n_pes, &*placement.local), (5, &[3, 4][..]));
/// assert!(placement.is_leader());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// This PE's number.
    pub pe: usize,
    /// How many PEs the job has.
    pub n_pes: usize,
    /// The PEs on this PE's host, itself included, in ascending order. The first is the host's
    /// leader. Behind an `Arc`, because all PEs of one process have the same list.
    pub local: Arc<[usize]>,
    /// Which host every PE is on. All PEs of the job have the same map.
    pub hosts: Arc<Hosts>,
    /// The name of this PE's host, for messages.
    pub host: String,
    /// Whether this PE comes in the place of one that the job has lost. The others have begun
    /// without it.
    pub is_replacement: bool,
}

impl Placement {
    /// That of PE `pe`, whose host is called `host`.
    pub fn new(pe: usize, hosts: Arc<Hosts>, host: String) -> Self {
        let local = hosts.pes_of(hosts.host_of(pe)).collect();
        Self { pe, n_pes: hosts.n_pes(), local, hosts, host, is_replacement: false }
    }

    /// Whether this PE does for its host what one PE must do. No replacement does: it was done
    /// before.
    pub fn is_leader(&self) -> bool {
        self.local.first() == Some(&self.pe) && !self.is_replacement
    }
}

/// What the leader of a host hands to the other PEs there.
#[derive(Debug)]
pub enum Offer {
    /// Open descriptors, for PEs in processes of their own.
    Descriptors(Vec<OwnedFd>),
    /// The thing itself, for PEs in the same process.
    Object(Arc<dyn Any + Send + Sync>),
}

/// Something that the leader of a host makes and all its PEs use, such as a mapping.
pub trait Shared: Send + Sync + Sized + 'static {
    /// Descriptors from which another process can make the same thing.
    ///
    /// # Safety
    /// With them safe code can write to memory that others rely on. The caller must hand them to
    /// PEs of this host alone, which do no more with them than make the thing.
    unsafe fn to_descriptors(&self) -> Result<Vec<OwnedFd>>;

    /// Makes it from what [`to_descriptors`](Self::to_descriptors) gave in another process, for the
    /// PE with number `block` among those of its host.
    ///
    /// # Safety
    /// They must be that.
    unsafe fn from_descriptors(descriptors: Vec<OwnedFd>, block: usize) -> Result<Self>;
}

/// The way PEs find each other. Only those here exist: where the memory of a PE is follows from its
/// [`Placement`].
#[async_trait]
pub trait Bootstrap: Sealed + Send + Sync + 'static {
    /// Which PE this is, and where all are.
    fn placement(&self) -> &Placement;

    /// Gives `mine` to all PEs and returns what each of them gave, in the order of their numbers.
    /// Collective over all PEs; calls are matched in order.
    /// The result is one allocation for all PEs of a process.
    async fn exchange(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>>;

    /// Gives `mine` to the leaders of the hosts alone: other PEs get nothing, which takes them no
    /// time. What a PE gives is to be shorter than 256 KiB. Matched in order with
    /// [`exchange`](Self::exchange).
    async fn exchange_to_leaders(&self, mine: Vec<u8>) -> Result<Option<Arc<[Vec<u8>]>>> {
        let all = self.exchange(mine).await?;
        Ok(self.placement().is_leader().then_some(all))
    }

    /// Returns when all PEs have called it.
    async fn barrier(&self) -> Result<()> {
        self.exchange(Vec::new()).await.map(drop)
    }

    /// Whether the PEs of this host live in one process.
    fn in_process(&self) -> bool;

    /// Whether all hosts of the job are this machine, which simulates them.
    fn is_one_machine(&self) -> bool {
        false
    }

    /// What all PEs of the job have in common, if they live in one process, on whichever hosts,
    /// which may be simulated.
    fn common(&self) -> Option<&Common> {
        None
    }

    /// Whether `global_exit` may end this process: no other PE lives in it, and no caller counts on
    /// it to go on.
    fn owns_process(&self) -> bool {
        !self.in_process()
    }

    /// Hands what the host's leader offers to all PEs of the host, the leader included. Collective
    /// over the host; the leader gives `Some`, the others `None`. Descriptors reach processes of
    /// the same user only.
    async fn share_raw(&self, offer: Option<Offer>) -> Result<Offer>;

    /// Says that this PE has left the job in good order, so that its process may end.
    fn finalized(&self);

    /// Says that this PE takes no part any more, without having left in good order. Returns when
    /// the launcher knows: what other PEs do next may be the consequence.
    fn abandoned(&self, _how: &str) {}

    /// Tells the launcher that a PE of this process seems to be stuck. True if it prints what all
    /// PEs of the job are stuck in, which else the process itself does for those that it knows of.
    fn stuck(&self) -> bool {
        false
    }

    /// Where it shows that the job ends because a PE called `global_exit`, or because one was
    /// [lost](Self::lost): a descriptor that hangs up then (`POLLRDHUP`), and for nothing else.
    /// `None` where processes are ended without being asked.
    fn hangs_up(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Which PE has called `global_exit`, and with what, once [`hangs_up`](Self::hangs_up) has.
    /// Once: later calls may have no answer.
    fn global_exit(&self) -> Option<(usize, i32)> {
        None
    }

    /// Which PE was lost, and how, once [`hangs_up`](Self::hangs_up) has for that reason. `None`
    /// where a launcher ends the processes of the others.
    fn lost(&self) -> Option<(usize, String)> {
        None
    }

    /// Has `call` run when [`hangs_up`](Self::hangs_up) has hung up, once, on a thread of the
    /// bootstrap. Not where only threads that wait are to notice.
    fn when_over(&self, _call: Box<dyn FnOnce() + Send>) {}

    /// The PEs that the job has lost, if it is one that goes on without them.
    fn losses(&self) -> Option<&Arc<Losses>> {
        None
    }

    /// How many exchanges this PE has called. Each replacement calls as many as the PEs that began
    /// the job.
    fn exchanges(&self) -> usize {
        0
    }

    /// Gives what `round` has to the other members of a team, of which this PE is one, and returns
    /// how many PEs the job has lost and what each member gave, in their order. Those that were
    /// lost since the team was made are not waited for, and gave nothing. Collective over those
    /// that are left; calls are matched by key.
    async fn regroup(&self, _round: TeamRound) -> Result<(u64, Vec<Vec<u8>>)> {
        Err(Error::Unsupported { what: "the job ends when a PE is lost".to_owned() })
    }

    /// Says that init is over on this PE, which goes on without PEs that are lost from now on.
    fn survives(&self) {}

    /// Says that this PE has not reached PE `pe` for a while, or does again: in a job that goes on,
    /// where only the launcher decides which PE is lost.
    fn suspects(&self, _pe: usize, _out_of_reach: bool) {}

    /// Asks for the end of the whole job with `status`, and says why. PEs in other processes are
    /// ended by the launcher; this one goes on until then.
    fn abort(&self, status: i32, why: &str);
}

/// Makes `T` once a host, on the leader, and gives it to every PE there.
/// Collective over the host.
pub async fn share<T: Shared>(
    bootstrap: &dyn Bootstrap,
    make: impl FnOnce() -> Result<T> + Send,
) -> Result<Arc<T>> {
    let mut own = None;
    let offer = if bootstrap.placement().is_leader() {
        let made = Arc::new(make()?);
        own = Some(Arc::clone(&made));
        Some(if bootstrap.in_process() {
            Offer::Object(made)
        } else {
            // SAFETY: the other PEs of the host get them, and make the thing below.
            Offer::Descriptors(unsafe { made.to_descriptors() }?)
        })
    } else {
        None
    };
    match (bootstrap.share_raw(offer).await?, own) {
        // The leader keeps what it made, and closes the copies that came back to it.
        (_, Some(own)) => Ok(own),
        (Offer::Descriptors(descriptors), None) => {
            let Placement { pe, hosts, .. } = bootstrap.placement();
            // SAFETY: they are from the host's leader, which made them so above.
            unsafe { T::from_descriptors(descriptors, hosts.local_pe_of(*pe)) }.map(Arc::new)
        }
        (Offer::Object(object), None) => {
            object.downcast().map_err(|_| Error::bootstrap("share", "PEs share objects of different types"))
        }
    }
}

/// The bootstrap of the job that this process was started in: `oshrun`'s if that started it, a
/// rendezvous if the settings name its address, PMIx's if the launcher offers that, and else that
/// of a job of one PE. There, if it was another launcher that started the process, `warn` gets a
/// warning. Collective over all PEs.
///
/// # Errors
/// The errors of [`Launched::from_env`], [`Rendezvous::from_settings`], [`Met::join`] and
/// [`Pmix::from_env`].
///
/// ```
/// # use oxshmem_base::settings::Settings;
/// # oxshmem_job::suite::runtime().block_on(async {
/// let settings = Settings::default();
/// let warn = |foreign: &oxshmem_job::Foreign| eprintln!("warning: {foreign}");
/// let bootstrap = oxshmem_job::from_env(&settings, warn).await?;
/// assert_eq!(bootstrap.placement().n_pes, 1); // no launcher started this example
/// # Ok::<(), oxshmem_base::Error>(())
/// # })?;
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
pub async fn from_env(settings: &Settings, warn: impl FnOnce(&Foreign)) -> Result<Arc<dyn Bootstrap>> {
    let goes_on = settings.on_loss == OnLoss::Continue;
    // The order matters: oshrun may have been started inside a job of any other launcher, whose
    // variables its PEs inherit.
    if let Some(launched) = Launched::from_env()? {
        return Ok(if goes_on { launched.go_on()? } else { Arc::new(launched) });
    }
    // What was set for the purpose goes before what a launcher sets anyway.
    if let Some(given) = Rendezvous::from_settings(settings)? {
        return Ok(Arc::new(Met::join(given, settings.on_loss).await?));
    }
    if goes_on {
        // Nothing else decides which PE is lost.
        return Err(Error::Unsupported {
            what: "SHMEM_ON_LOSS=continue is for jobs that oshrun starts (oshrun --on-loss=continue), and for those \
                   without a launcher (SHMEM_RENDEZVOUS)"
                .to_owned(),
        });
    }
    if let Some(pmix) = Pmix::from_env().await? {
        return Ok(Arc::new(pmix));
    }
    if let Some(foreign) = Foreign::from_env() {
        warn(&foreign);
    }
    Ok(Arc::new(Single::new()))
}

/// This host's name, for messages.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| printable(name.trim_end()).into_owned())
}
