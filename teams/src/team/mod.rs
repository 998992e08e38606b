//! Teams: subsets of the PEs, with numbers of their own and collectives among themselves
//! (`OpenSHMEM 1.6 §9.4`).

pub mod agree;
mod leftovers;
pub(crate) mod places;
mod rebuilt;
mod split;
mod survivors;

use std::{any::Any, fmt, sync::Arc};

use oxshmem_base::{Error, Result, sync::lock};
use oxshmem_ops::{Context, ContextOptions, Members, context::Sharing, order::Quiet};
use oxshmem_progress::activity::{Activity, Call};
use oxshmem_spaces::{Pe, device::stream::StreamRef};

pub use self::{rebuilt::Rebuilt, survivors::Survivors};
pub use crate::queue::TeamConfig;
use crate::{
    group::Group,
    hosts::sync::sync_in,
    queue::{Collective, Core, Ended, Outcome, Shown, registry::Registry},
    signature::Signature,
    team::agree::meet_in,
    tuning::Tuning,
};

/// A team of PEs. Clones are the same team; any thread may use any of them.
///
/// Two collectives of a team run in the order of their calls, which must be the same on all its
/// PEs. Those of different teams may be under way at once.
///
/// When a PE drops its last handle to a team that was split off, it leaves it, as the others must
/// do after their last collective too; [`destroy`](Self::destroy) does the same and can be awaited.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(5, |world| async move {
/// let team = world.team().split_strided(0, 2, 3).await?; // PEs 0, 2 and 4
/// assert_eq!(team.is_some(), world.my_pe() % 2 == 0);
/// if let Some(evens) = team {
///     assert_eq!((evens.my_pe(), evens.n_pes()), (world.my_pe() / 2, 3));
///     evens.sync().await?;
///     evens.destroy().await?;
/// }
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone)]
pub struct Team {
    core: Arc<Core>,
    _handle: Arc<Handle>,
}

/// What all clones of a [`Team`] on a PE share, and only they.
struct Handle(Arc<Core>);

/// The place of the world's scratch memory.
const WORLD: usize = 0;
/// The place of that of the PEs of one host.
const SHARED: usize = 1;
/// The place of that of the PEs of a space, if those are not all.
const SPACE: usize = 2;

impl Team {
    /// The team of all PEs, `SHMEM_TEAM_WORLD`, and that of those on this PE's host,
    /// `SHMEM_TEAM_SHARED`: they can load and store each other's heaps.
    #[doc(hidden)]
    pub fn predefined(pe: &Arc<Pe>) -> [Self; 2] {
        if let Err(why) = Tuning::default().with(&pe.settings().tuning)
            && pe.me() == 0
        {
            oxshmem_base::report(format_args!("oxshmem: SHMEM_TUNING is ignored: {why}"));
        }
        let registry = Arc::new(Registry::default());
        let local = Members::listed(&pe.placement().local);
        let make = |members: Members, place: usize, name: &'static str| {
            registry.take(place);
            // Every PE is a member of both.
            let me = members.pe_of(pe.me()).unwrap_or_default();
            let group = Group::new(pe, members, me, place, place as u64);
            Self::new(Core::new(group, place, Some(name), TeamConfig::default(), &registry))
        };
        let teams = [make(Members::world(pe.n_pes()), WORLD, "world"), make(local, SHARED, "shared")];
        survivors::follow(pe, &registry);
        teams
    }

    /// The team of the PEs of a space, of which this is one, where those are not all.
    ///
    /// # Safety
    /// `pes` must be numbers of PEs of the job, the same on all of these. Once a PE.
    #[doc(hidden)]
    pub unsafe fn of_space(&self, pes: &[usize], name: &'static str) -> Option<Self> {
        let (pe, registry) = (self.core.group.pe(), &self.core.registry);
        let members = Members::listed(pes);
        let me = members.pe_of(pe.me())?;
        registry.take(SPACE);
        let group = Group::new(pe, members, me, SPACE, SPACE as u64);
        Some(Self::new(Core::new(group, SPACE, Some(name), TeamConfig::default(), registry)))
    }

    /// The team of all PEs. Once a PE: a second one would begin to count anew. `World::team` has
    /// it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use oxshmem_spaces::Pe;
    /// # use oxshmem_job::Local;
    /// # use oxshmem_base::settings::Settings;
    /// # use oxshmem_teams::Team;
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
    /// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
    /// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
    /// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
    /// assert_eq!((a.my_pe(), b.my_pe(), b.n_pes()), (0, 1, 2));
    /// tokio::try_join!(a.sync(), b.sync())?;
    /// # Ok::<(), oxshmem_base::Error>(())
    /// # })?;
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn world(pe: &Arc<Pe>) -> Self {
        let [world, _] = Self::predefined(pe);
        world
    }

    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { _handle: Arc::new(Handle(Arc::clone(&core))), core }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// This PE's number in the team (`OpenSHMEM 1.6 §9.4.1`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// assert_eq!(world.team().my_pe(), world.my_pe());
    /// let reversed = world.team().split_strided(2, -1, 3).await?.expect("all PEs are in it");
    /// assert_eq!(reversed.my_pe(), 2 - world.my_pe());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn my_pe(&self) -> usize {
        self.core.group.my_pe()
    }

    /// How many PEs the team has (`OpenSHMEM 1.6 §9.4.2`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// assert_eq!(world.team().n_pes(), 3);
    /// assert_eq!(world.team_shared().n_pes(), 3); // they all are on this host
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn n_pes(&self) -> usize {
        self.core.group.n_pes()
    }

    /// What it was made for (`OpenSHMEM 1.6 §9.4.4`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.team().config(), TeamConfig::default());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn config(&self) -> TeamConfig {
        self.core.config
    }

    /// The number in `dest` of the PE that is `pe` here, if it is in both (`OpenSHMEM 1.6 §9.4.5`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(6, |world| async move {
    /// if let Some(odds) = world.team().split_strided(1, 2, 3).await? {
    ///     assert_eq!(odds.translate_pe(2, world.team()), Some(5));
    ///     assert_eq!(world.team().translate_pe(3, &odds), Some(1));
    ///     assert_eq!(world.team().translate_pe(2, &odds), None);
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn translate_pe(&self, pe: usize, dest: &Self) -> Option<usize> {
        let members = self.core.group.team();
        dest.core.group.team().pe_of((pe < members.n()).then(|| members.world_pe(pe))?)
    }

    /// The number in the world of the PE that is `pe` here.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(4, |world| async move {
    /// let reversed = world.team().split_strided(3, -1, 4).await?.expect("all PEs are in it");
    /// assert_eq!((reversed.world_pe(0), reversed.world_pe(4)), (Some(3), None));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn world_pe(&self, pe: usize) -> Option<usize> {
        let members = self.core.group.team();
        (pe < members.n()).then(|| members.world_pe(pe))
    }

    /// A context whose operations take PE numbers of this team. Local: other PEs need not do the
    /// same (`OpenSHMEM 1.6 §9.5.2`).
    ///
    /// # Errors
    /// [`Error::TeamDestroyed`] and [`Error::Finalized`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(4, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// if let Some(odds) = world.team().split_strided(1, 2, 2).await? {
    ///     let ctx = odds.create_context(ContextOptions::new())?;
    ///     ctx.inc(word.at(0), 1).await?; // on PE 3 of the world
    ///     assert_eq!(ctx.team(), Some(odds));
    /// }
    /// world.barrier_all().await?;
    /// assert_eq!(word.at(0).load(), if world.my_pe() == 3 { 2 } else { 0 });
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn create_context<M: Sharing>(&self, options: ContextOptions<M>) -> Result<Context<M>> {
        self.core.check("create_context")?;
        let group = &self.core.group;
        let team: Arc<dyn Any + Send + Sync> = Arc::new(self.clone());
        let (pe, members, me) = (Arc::clone(group.pe()), group.team().clone(), group.my_pe());
        // SAFETY: the members of a team are PEs of its job.
        let context = unsafe { Context::over(pe, members, me, team, options) };
        lock(&self.core.contexts).add(context.handle());
        Ok(context)
    }

    /// The context that operations are on that name none, of the team of all PEs. It lasts as long
    /// as the job.
    #[doc(hidden)]
    pub fn default_context(&self) -> Context {
        let group = &self.core.group;
        let (pe, members) = (Arc::clone(group.pe()), group.team().clone());
        let (me, team) = (group.my_pe(), Arc::new(self.clone()));
        // SAFETY: as in `create_context`.
        unsafe { Context::over(pe, members, me, team, ContextOptions::new()) }
    }

    /// No future is ready before every PE of the team has called this (`OpenSHMEM 1.6
    /// §9.10.3`). Completes no operations: see `quiet`. Collective; the call itself says that this
    /// PE has come.
    ///
    /// # Errors
    /// [`Error::PeLost`], [`Error::GlobalExit`] and [`Error::Finalized`], when it can end no more;
    /// [`Error::TeamDestroyed`]; [`Error::CollectiveMismatch`] if PEs called different things
    /// before.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let sync = world.team().sync(); // this PE has come
    /// sync.await?; // the other one too
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn sync(&self) -> Collective<'_> {
        self.core.sync()
    }

    /// A [`sync`](Self::sync) that is part of a barrier, as which it is recorded.
    #[doc(hidden)]
    #[inline]
    pub fn barrier(&self) -> Collective<'_> {
        self.core.sync_as(Call::Barrier)
    }

    /// Runs a collective of this team in the order of a CUDA stream: it begins when everything is
    /// over that the stream was given before, and what the stream is given afterwards starts when
    /// it has ended. The call does not wait. In the team's order the collective comes where it is
    /// called.
    ///
    /// The future is ready when it has ended, and may be dropped. Collective.
    ///
    /// # Errors
    /// The collective's; [`Error::Unsupported`] where there is no CUDA, for a stream that is not of
    /// the primary context of the PE's device, for one that is captured into a graph, and if the
    /// collective is another team's.
    pub fn on_stream<'s, 't>(
        &'t self,
        stream: impl Into<StreamRef<'s>>,
        collective: impl FnOnce(&'t Self) -> Collective<'t>,
    ) -> Collective<'t> {
        self.core.on_stream(stream.into(), None, || collective(self), None)
    }

    /// [`on_stream`](Self::on_stream) after `before`, for callers that want the outcome without a
    /// future.
    #[doc(hidden)]
    pub fn on_stream_then<'t>(
        &'t self,
        stream: StreamRef<'_>,
        before: Option<Quiet>,
        collective: impl FnOnce(&'t Self) -> Collective<'t>,
        ended: Option<Ended>,
    ) -> Collective<'t> {
        self.core.on_stream(stream, before, || collective(self), ended)
    }

    /// Runs `collective`, which traces name `call`, when its turn comes. It sees the team's group,
    /// and may [`sync`](crate::sync::sync_in) in it.
    ///
    /// It may call whatever it likes, of this team too, whose turn comes when it has ended, and
    /// drop the team's last handle. What it has called of this team it cannot await: that is an
    /// error at once, [`Error::Unsupported`]. If it wakes itself at every poll it keeps its thread
    /// to itself.
    ///
    /// # Errors
    /// The errors of [`sync`](Self::sync), and its own; [`Error::Panicked`] if it panics.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// use oxshmem_teams::sync::sync_in;
    ///
    /// let met = world.team().run("meet", |group| async move {
    ///     sync_in(&group).await?;
    ///     Ok("met")
    /// });
    /// assert_eq!(met.await?, "met");
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn run<T, F>(
        &self,
        call: &'static str,
        collective: impl FnOnce(Arc<Group>) -> F + Send + 'static,
    ) -> Outcome<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.core.run(call, Activity::new(Call::collective(call)), collective)
    }

    /// An error if `call`, which takes the team's turn, is awaited by what [runs](Self::run) on the
    /// team.
    #[doc(hidden)]
    pub fn check_awaited(&self, call: &'static str) -> Result<()> {
        self.core.check_awaited(call)
    }

    /// Whether the team has lost a member, as far as this PE knows. All its collectives fail then,
    /// without waiting. An extension: the specification has no lost PEs.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// assert!(!world.team().is_revoked());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn is_revoked(&self) -> bool {
        self.core.group.revoked().is_some()
    }

    /// How many messages this PE has sent in collectives of the team.
    #[doc(hidden)]
    pub fn messages_sent(&self) -> u64 {
        self.core.group.sent()
    }

    /// The blocks of the heap that collectives of this PE's other teams use without owning them.
    #[doc(hidden)]
    pub fn blocks_in_use_elsewhere(&self) -> Vec<u64> {
        self.others().into_iter().flat_map(|team| team.blocks_in_use()).collect()
    }

    /// Ready when the collectives of this PE's other teams have ended.
    #[doc(hidden)]
    pub fn others_idle(&self) -> impl Future<Output = ()> + Send + use<> {
        let others = self.others();
        async move {
            for team in others {
                // Their futures have the outcomes.
                team.idle().await;
            }
        }
    }

    /// Ready when this team's collectives have ended.
    #[doc(hidden)]
    pub fn idle(&self) -> impl Future<Output = ()> + Send + use<> {
        let core = Arc::clone(&self.core);
        async move { core.idle().await }
    }

    /// Ready when the collectives of all of this PE's teams have ended.
    #[doc(hidden)]
    pub fn all_idle(&self) -> impl Future<Output = ()> + Send + use<> {
        let (others, own) = (self.others_idle(), Arc::clone(&self.core));
        async move {
            others.await;
            own.idle().await;
        }
    }

    fn others(&self) -> Vec<Arc<Core>> {
        let teams = self.core.registry.teams().into_iter();
        teams.filter(|team| !Arc::ptr_eq(team, &self.core)).collect()
    }

    /// Ends the team: waits for its collectives and completes its contexts, which cannot be used
    /// any more; nor can the team, on this PE, from the call on. Collective over the team
    /// (`OpenSHMEM 1.6 §9.4.8`).
    ///
    /// # Errors
    /// [`Error::TeamPredefined`], [`Error::TeamDestroyed`] the second time, errors of operations on
    /// its contexts that the program has not seen, and those of [`sync`](Self::sync).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let (row, column) = world.team().split_2d(2).await?;
    /// let twin = row.clone();
    /// row.destroy().await?;
    /// assert!(twin.sync().await.is_err());
    /// column.sync().await?; // another team
    /// assert!(world.team().destroy().await.is_err()); // the world stays
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn destroy(&self) -> Collective<'_> {
        let call = "destroy";
        let begun = match self.core.predefined {
            Some(team) => Err(Error::TeamPredefined { call, team }),
            None => self.core.check(call).and_then(|()| match self.core.set_destroyed() {
                true => Ok(()),
                false => Err(Error::TeamDestroyed { call }),
            }),
        };
        match begun {
            Ok(()) => self.core.leave(Shown::As(Activity::new(Call::TeamDestroy))),
            Err(error) => Collective::failed(error),
        }
    }
}

impl Core {
    /// Completes the team's contexts, then its last collective: afterwards its scratch memory may
    /// be another's. It goes on if it is not awaited.
    fn leave(&self, shown: Shown) -> Collective<'_> {
        let (group, registry, place) = (Arc::clone(&self.group), Arc::clone(&self.registry), self.place);
        let contexts = lock(&self.contexts).take();
        let under_way: Vec<_> = contexts.iter().filter_map(|context| context.end(group.pe())).collect();
        self.task(shown, Signature::named("destroy"), async move {
            let mut completed = Ok(());
            for quiet in under_way {
                completed = completed.and(quiet.await);
            }
            // Even if an operation has failed: the others wait. Where PEs have called different
            // things, others may still write here that they have, so the place stays taken.
            group.check()?;
            meet_in(&group, "destroy").await?;
            // When it is over here, no PE looks at the scratch memory of this one any more, or
            // writes there.
            sync_in(&group).await?;
            registry.give_back(place);
            completed
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0.predefined.is_none() && self.0.check("destroy").is_ok() && self.0.set_destroyed() {
            // It goes on by itself, and if others keep theirs for long, no PE is stuck in it.
            drop(self.0.leave(Shown::Nothing));
        }
    }
}

/// A context's way back to its team.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let ctx = world.team_shared().create_context(ContextOptions::new())?;
/// assert_eq!(ctx.team().map(|team| team.n_pes()), Some(2));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait InTeam: sealed::SealedContext {
    /// The team that the context was made from, which for the default context is the world; none if
    /// the team is destroyed (`OpenSHMEM 1.6 §9.5.4`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let ctx = world.team_shared().create_context(ContextOptions::new())?;
    /// assert_eq!(ctx.team().as_ref(), Some(world.team_shared()));
    /// assert_eq!(world.context().team().as_ref(), Some(world.team()));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn team(&self) -> Option<Team>;
}

mod sealed {
    pub trait SealedContext {}
}

impl<M: Sharing> sealed::SealedContext for Context<M> {}

impl<M: Sharing> InTeam for Context<M> {
    fn team(&self) -> Option<Team> {
        self.made_from().downcast_ref::<Team>().filter(|team| team.core.check("team").is_ok()).cloned()
    }
}

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }
}

impl Eq for Team {}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.core.predefined.map(|name| format!("{name}, ")).unwrap_or_default();
        write!(f, "Team({name}PE {} of {})", self.my_pe(), self.n_pes())
    }
}
