//! Communication contexts: streams of operations with an order and a completion of their own
//! (`OpenSHMEM 1.6 §9.5`).
//!
//! Each context has an op set. So `quiet` and `fence` on one context wait for nothing that was
//! issued on another. The options that C gives as flags are types here where they are promises
//! about threads.

mod reach;

use std::{
    any::Any,
    cell::Cell,
    fmt,
    marker::PhantomData,
    ops::Range,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use oxshmem_base::Result;
use oxshmem_progress::opset::OpSet;
use oxshmem_spaces::Pe;

use self::reach::{Reach, Reaches};
use crate::{gathering::Gathering, members::Members, quiet::Quiet, sealed::Sealed};

/// A stream of operations on symmetric memory, with an order and a completion of its own.
///
/// `M` says which threads may use it: any at any time ([`Shared`], the default), one at a time
/// ([`Serialized`]: `Send`, not `Sync`) or only the one that made it ([`Private`]: not even
/// `Send`).
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let word = world.alloc_zeroed::<u64>(1).await?;
/// let ctx = world.create_context(ContextOptions::new())?; // besides `world.context()`
/// let adding = tokio::spawn(async move {
///     ctx.add(word.at(0), 1, 0).await?;
///     ctx.quiet().await?; // waits for nothing of other contexts
///     ctx.g(word.at(0), 0).await
/// });
/// assert!(adding.await.unwrap()? >= 1);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
///
/// ```compile_fail
/// fn on_another_thread(ctx: oxshmem_ops::Context<oxshmem_ops::Private>) {
///     std::thread::spawn(move || drop(ctx));
/// }
/// ```
pub struct Context<M: Sharing = Shared> {
    pe: Arc<Pe>,
    reach: Arc<Reach>,
    ops: Arc<OpSet>,
    gathering: Gathering,
    nostore: bool,
    sharing: PhantomData<M::Marker>,
}

/// PEs of this host whose numbers are in a row, and whose memory is evenly spaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearPes {
    /// The first one's number.
    pub(crate) from: usize,
    pub(crate) n: u32,
    /// The first one's number among those of the host, and the distance to the next one's.
    /// Wrapping.
    pub(crate) first: usize,
    pub(crate) stride: usize,
}

/// What a team knows of a context that was made from it: enough to complete and to end it.
#[derive(Debug)]
pub struct ContextHandle {
    reach: Weak<Reach>,
    ops: Weak<OpSet>,
}

impl ContextHandle {
    /// Whether the context is still there.
    pub fn is_alive(&self) -> bool {
        self.reach.strong_count() > 0
    }

    /// From now on the context reaches no PE. What is under way on it goes on.
    pub fn close(&self) {
        if let Some(reach) = self.reach.upgrade() {
            // Relaxed: flags for mistakes, not for synchronisation.
            reach.near.store(0, Ordering::Relaxed);
            reach.n.store(0, Ordering::Relaxed);
        }
    }

    /// Closes a context of `pe`. What is under way on it is complete when the future is ready.
    /// There is none if the context is gone.
    pub fn end(&self, pe: &Pe) -> Option<Quiet> {
        self.close();
        self.ops.upgrade().map(|ops| Quiet::of(pe, &ops))
    }
}

/// The contexts that were made from a team, as far as they may be alive.
#[derive(Debug, Default)]
pub struct ContextHandles {
    all: Vec<ContextHandle>,
    /// From this many on, those that are gone are looked for. At least twice as many as were alive
    /// then, so that making a context takes the same time however many there are.
    look_at: usize,
}

impl ContextHandles {
    /// Adds a context that was just made.
    pub fn add(&mut self, context: ContextHandle) {
        if self.all.len() >= self.look_at {
            self.all.retain(ContextHandle::is_alive);
            self.look_at = (2 * self.all.len()).max(16);
        }
        self.all.push(context);
    }

    /// Takes all of them out.
    pub fn take(&mut self) -> Vec<ContextHandle> {
        std::mem::take(self).all
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.members.fmt(f)
    }
}

/// Which threads may use a context.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// use oxshmem::{Private, Serialized, Shared};
/// use oxshmem_ops::context::Sharing;
///
/// assert_eq!([Shared::NAME, Serialized::NAME], ["shared", "serialized"]);
/// assert_eq!(Private::NAME, "private");
/// let ctx = world.create_context(ContextOptions::new().serialized())?;
/// assert!(format!("{ctx:?}").contains(Serialized::NAME));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait Sharing: Sealed {
    /// A type that is `Send` and `Sync` just as the context shall be.
    #[doc(hidden)]
    type Marker;
    /// Its name in the specification.
    const NAME: &'static str;
}

/// Any thread, at any time.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem::Shared;
///
/// let ctx: Context<Shared> = world.create_context(ContextOptions::new())?;
/// let word = world.alloc_zeroed::<u64>(1).await?;
/// let inc = || world.block_on(ctx.inc(word.at(0), world.my_pe()));
/// std::thread::scope(|threads| {
///     let other = threads.spawn(inc);
///     inc().and(other.join().unwrap())
/// })?;
/// assert_eq!(word.at(0).load(), 2);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub enum Shared {}

/// One thread at a time: `SHMEM_CTX_SERIALIZED`.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem::Serialized;
///
/// let ctx: Context<Serialized> = world.create_context(ContextOptions::new().serialized())?;
/// let word = world.alloc_zeroed::<u64>(1).await?;
/// tokio::spawn(async move {
///     ctx.inc(word.at(0), 0).await // another task has it now
/// }).await.unwrap()?;
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub enum Serialized {}

/// The thread that made it: `SHMEM_CTX_PRIVATE`.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// use oxshmem::Private;
///
/// let word = world.alloc_zeroed::<u64>(1).await?;
/// {
///     let ctx: Context<Private> = world.create_context(ContextOptions::new().private())?;
///     // Not held across an `await` of this task, which might go on in another thread.
///     world.block_on(ctx.p(word.at(0), 3, 0))?;
/// }
/// assert_eq!(word.at(0).load(), 3);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub enum Private {}

impl Sharing for Shared {
    type Marker = ();
    const NAME: &'static str = "shared";
}

impl Sharing for Serialized {
    type Marker = Cell<()>;
    const NAME: &'static str = "serialized";
}

impl Sharing for Private {
    type Marker = *const ();
    const NAME: &'static str = "private";
}

impl Sealed for Shared {}
impl Sealed for Serialized {}
impl Sealed for Private {}

/// What a context is made for (`OpenSHMEM 1.6 §9.5.1`).
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let any_thread = world.create_context(ContextOptions::new())?;
/// let one_thread = world.create_context(ContextOptions::new().nostore().serialized())?;
/// let next = (world.my_pe() + 1) % world.n_pes();
/// let words = world.alloc_zeroed::<u64>(2).await?;
/// any_thread.p(words.at(0), 1, next).await?;
/// one_thread.p(words.at(1), 2, next).await?;
/// assert_eq!(any_thread.get(&words, next).await?, [1, 2]);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct ContextOptions<M: Sharing = Shared> {
    nostore: bool,
    sharing: PhantomData<M>,
}

impl ContextOptions {
    /// For any thread, ordering stores too.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let ctx = world.create_context(ContextOptions::new())?;
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// ctx.p(word.at(0), 1, world.my_pe()).await?;
    /// assert_eq!(word.at(0).load(), 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn new() -> Self {
        Self { nostore: false, sharing: PhantomData }
    }

    /// For one thread at a time: `SHMEM_CTX_SERIALIZED`. The context is `Send` and not `Sync`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let ctx = world.create_context(ContextOptions::new().serialized())?;
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// let pe = world.my_pe();
    /// let inc = tokio::spawn(async move { ctx.fetch_inc(word.at(0), pe).await });
    /// assert_eq!(inc.await.unwrap()?, 0);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn serialized(self) -> ContextOptions<Serialized> {
        ContextOptions { nostore: self.nostore, sharing: PhantomData }
    }

    /// For the thread that makes it: `SHMEM_CTX_PRIVATE`. The context is neither `Send` nor `Sync`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// let before = {
    ///     let ctx = world.create_context(ContextOptions::new().private())?;
    ///     world.block_on(ctx.fetch_inc(word.at(0), 0))?
    /// };
    /// assert_eq!((before, word.at(0).load()), (0, 1));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn private(self) -> ContextOptions<Private> {
        ContextOptions { nostore: self.nostore, sharing: PhantomData }
    }
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Sharing> ContextOptions<M> {
    /// `quiet` and `fence` need not order this PE's own stores to symmetric memory:
    /// `SHMEM_CTX_NOSTORE`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let ctx = world.create_context(ContextOptions::new().nostore())?;
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let next = (world.my_pe() + 1) % world.n_pes();
    /// ctx.put(&data, [1, 2, 3, 4], next).await?;
    /// ctx.quiet().await?; // orders what the context did, not what this PE stores by itself
    /// assert_eq!(ctx.get(&data, next).await?, [1, 2, 3, 4]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn nostore(self) -> Self {
        Self { nostore: true, ..self }
    }
}

impl<M: Sharing> Clone for ContextOptions<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Sharing> Copy for ContextOptions<M> {}

impl<M: Sharing> Context<M> {
    /// A context of `pe` over all PEs of its job.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use oxshmem_spaces::Pe;
    /// # use oxshmem_job::Single;
    /// # use oxshmem_base::settings::Settings;
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # let pe = runtime.block_on(Pe::join(Arc::new(Single::new()), Settings::default()))?;
    /// use oxshmem_ops::{Context, ContextOptions};
    ///
    /// let ctx = Context::new(pe, ContextOptions::new()); // `World::create_context` does this
    /// assert_eq!((ctx.my_pe(), ctx.n_pes()), (0, 1));
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn new(pe: Arc<Pe>, options: ContextOptions<M>) -> Self {
        let (members, me) = (Members::world(pe.n_pes()), pe.me());
        // SAFETY: they are all PEs of the job.
        unsafe { Self::over(pe, members, me, Arc::new(()), options) }
    }

    /// A context over the PEs of a team, of which this is number `me`. Its operations take numbers
    /// in the team.
    ///
    /// # Safety
    /// The members must be PEs of the job of `pe`, and `pe` itself their number `me`: no operation
    /// asks again.
    pub unsafe fn over(
        pe: Arc<Pe>,
        members: Members,
        me: usize,
        team: Arc<dyn Any + Send + Sync>,
        options: ContextOptions<M>,
    ) -> Self {
        let (near, local_pes) = near_pes(&pe, &members);
        let reach = Arc::new(Reach {
            near: AtomicUsize::new(near.len()),
            near_from: near.start,
            local_pes,
            n: AtomicUsize::new(members.n()),
            members,
            me,
            team,
        });
        if let Some(losses) = pe.losses() {
            pe.kept::<Reaches>().add(&reach, losses);
        }
        let ops = Arc::new(OpSet::counted(pe.tally()));
        Self {
            pe,
            reach,
            ops,
            gathering: Gathering::default(),
            nostore: options.nostore,
            sharing: PhantomData,
        }
    }

    /// The team's handle to it.
    #[doc(hidden)]
    pub fn handle(&self) -> ContextHandle {
        ContextHandle { reach: Arc::downgrade(&self.reach), ops: Arc::downgrade(&self.ops) }
    }

    /// What [`over`](Self::over) was given.
    #[doc(hidden)]
    pub fn made_from(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.reach.team
    }

    /// How many PEs it reaches, those of its team: operations take PE numbers below this.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let ctx = world.context();
    /// assert_eq!(ctx.n_pes(), 2);
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// assert!(ctx.p(word.at(0), 1, ctx.n_pes()).await.is_err());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn n_pes(&self) -> usize {
        self.reach.n.load(Ordering::Relaxed)
    }

    /// The number of the PE that it belongs to, in its team.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let ctx = world.create_context(ContextOptions::new())?;
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// ctx.p(word.at(0), 1, ctx.my_pe()).await?; // this PE's own
    /// assert_eq!((ctx.my_pe(), word.at(0).load()), (world.my_pe(), 1));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn my_pe(&self) -> usize {
        self.reach.me
    }

    /// The number in the world of the PE that is `pe` here, if it reaches that.
    #[inline(always)]
    pub(crate) fn world_pe(&self, pe: usize) -> usize {
        self.reach.members.world_pe(pe)
    }

    /// Completes every operation on the context, then ends it (`OpenSHMEM 1.6 §9.5.3`). Dropping a
    /// context does not wait: its operations complete by themselves, at the latest in `finalize`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let ctx = world.create_context(ContextOptions::new())?;
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let next = (world.my_pe() + 1) % world.n_pes();
    /// drop(ctx.put_nbi(&data, vec![1, 2, 3, 4], next));
    /// ctx.destroy().await?; // the put is complete
    /// assert_eq!(world.context().get(&data, next).await?, [1, 2, 3, 4]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn destroy(self) -> Result<()> {
        self.quiet().await
    }

    #[inline(always)]
    pub(crate) fn pe(&self) -> &Arc<Pe> {
        &self.pe
    }

    /// The number of `pe` among those of this host, if `pe` is one of those in a row. One
    /// comparison.
    #[inline(always)]
    pub(crate) fn near_pe(&self, pe: usize) -> Option<usize> {
        let behind = pe.wrapping_sub(self.reach.near_from);
        let is_near = behind < self.reach.near.load(Ordering::Relaxed);
        is_near.then(|| self.reach.local_pes.world_pe(behind))
    }

    /// Whether `pe` is on another host for sure: those of this host are in a row, and it is
    /// outside.
    pub(crate) fn is_beyond(&self, pe: usize) -> bool {
        let near = self.reach.near.load(Ordering::Relaxed);
        near > 0 && pe.wrapping_sub(self.reach.near_from) >= near
    }

    /// The near PEs, if they are in a row and their memory is evenly spaced.
    pub(crate) fn evenly_near(&self) -> Option<NearPes> {
        let n = self.reach.near.load(Ordering::Relaxed);
        let (first, stride) = self.reach.local_pes.even()?;
        Some(NearPes { from: self.reach.near_from, n: n.try_into().ok()?, first, stride })
    }

    #[inline(always)]
    pub(crate) fn gathering(&self) -> &Gathering {
        &self.gathering
    }

    #[inline(always)]
    pub(crate) fn ops(&self) -> &Arc<OpSet> {
        &self.ops
    }
}

/// Which of the members are on this host, if they follow each other, and their numbers there.
fn near_pes(pe: &Pe, members: &Members) -> (Range<usize>, Members) {
    let placement = pe.placement();
    if placement.hosts.n_hosts() == 1 {
        return (0..members.n(), members.clone());
    }
    let here = |at: &usize| members.pe_of(*at);
    let mut numbers: Vec<usize> = placement.local.iter().filter_map(here).collect();
    numbers.sort_unstable();
    let first = numbers.first().copied().unwrap_or(0);
    if !numbers.iter().copied().eq(first..first + numbers.len()) {
        numbers.clear();
    }
    let local_pes: Vec<usize> =
        numbers.iter().map(|&number| placement.hosts.local_pe_of(members.world_pe(number))).collect();
    (first..first + numbers.len(), Members::listed(&local_pes))
}

impl<M: Sharing> fmt::Debug for Context<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nostore = if self.nostore { ", nostore" } else { "" };
        write!(f, "Context({}{nostore}) of PE {}", M::NAME, self.my_pe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A context, as far as a team knows of it.
    fn made() -> (ContextHandle, Arc<OpSet>, Arc<Reach>) {
        let (near, n) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let members = Members::world(1);
        let reach =
            Reach { near, near_from: 0, local_pes: members.clone(), n, members, me: 0, team: Arc::new(()) };
        let (reach, ops) = (Arc::new(reach), Arc::<OpSet>::default());
        (ContextHandle { reach: Arc::downgrade(&reach), ops: Arc::downgrade(&ops) }, ops, reach)
    }

    #[test]
    fn a_team_looks_for_contexts_that_are_gone_ever_less_often_and_keeps_few_of_them() {
        let mut handles = ContextHandles::default();
        let (mut alive, mut looks) = (Vec::new(), 0);
        for _ in 0..10_000 {
            let (handle, ops, reach) = made();
            let before = handles.look_at;
            handles.add(handle);
            looks += usize::from(handles.look_at != before);
            alive.push((ops, reach));
        }
        assert!(looks < 20, "{looks} looks at all contexts");
        drop(alive);
        (0..30_000).for_each(|_| handles.add(made().0));
        assert!(handles.all.len() < 100, "{} contexts that are gone", handles.all.len());
        assert!(handles.take().len() < 100 && handles.take().is_empty());
    }
}
