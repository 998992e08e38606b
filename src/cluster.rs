//! PEs as tasks of one process: for tests, examples and services that scale inside a process.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

mod replacing;

use futures::{
    FutureExt,
    future::{Either, select},
};
use oxshmem_base::{
    Distribution, Error, Result,
    settings::{OnLoss, Settings},
};
use oxshmem_job::{Bootstrap, Local};
use oxshmem_net::{Link, Wires};
use oxshmem_progress::failure::Failure;
use oxshmem_spaces::Pe;
use tokio::sync::Notify;

use self::replacing::Replacing;
use crate::World;

/// Several PEs in one process.
///
/// They run the same code as PEs in processes of their own, each with a heap, contexts and a
/// progress engine, but share one mapping, and wake each other without the kernel.
///
/// ```
/// use oxshmem::prelude::*;
///
/// let sums = LocalCluster::run(4, |world| async move {
///     let sum = world.alloc_zeroed::<u64>(1).await?;
///     world.context().add(sum.at(0), world.my_pe() as u64, 0).await?; // on PE 0
///     world.finalize().await?;
///     Ok(sum.at(0).load())
/// })?;
/// assert_eq!(sums, [6, 0, 0, 0]);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct LocalCluster;

/// How a [`LocalCluster`] is set up.
///
/// ```
/// use oxshmem::ClusterOptions;
///
/// let mut options = ClusterOptions { threads: 1, ..ClusterOptions::default() };
/// options.settings.symmetric_size = 1 << 20;
/// assert_eq!(options.settings.symmetric_size, 1 << 20);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// The settings of every PE. Those of the environment are not read, except for
    /// [`placement`](Self::placement).
    pub settings: Settings,
    /// Threads that run the PEs: as many as there are processors, but no more than PEs, if 0.
    pub threads: usize,
    /// How the PEs are distributed over simulated hosts. PEs of different hosts have no memory in
    /// common. By default as the settings say, or as `SHMEM_FAKE_HOSTS` does in the environment; if
    /// neither says anything, all PEs are on one host.
    pub placement: Distribution,
    /// What it takes to reach a PE of another host: by default, nothing. In [virtual
    /// time](Link::virtual_time) all PEs run on the thread that calls
    /// [`run_with`](LocalCluster::run_with), whatever [`threads`](Self::threads) says.
    pub link: Link,
    /// Whether the PEs go on without those that are lost: see [`survive_loss`](Self::survive_loss).
    /// [`settings`](Self::settings) have no say in that.
    pub survives_loss: bool,
    /// How many replacements of lost PEs there are to be at most: see [`respawn`](Self::respawn).
    pub respawns: usize,
}

impl ClusterOptions {
    /// Puts the PEs on `k` simulated hosts, each with a block of consecutive PEs, as even as
    /// possible. For other placements set [`placement`](Self::placement).
    ///
    /// ```
    /// use oxshmem::{ClusterOptions, Distribution};
    ///
    /// let two = ClusterOptions::default().hosts(2);
    /// assert_eq!(two.placement, Distribution::even(2));
    /// let uneven = ClusterOptions { placement: Distribution::each([3, 1]), ..two };
    /// assert_eq!(uneven.placement.to_string(), "3+1");
    /// ```
    pub fn hosts(self, k: usize) -> Self {
        Self { placement: Distribution::even(k), ..self }
    }

    /// Says what it takes to reach a PE of another host. With [virtual time](Link::virtual_time)
    /// the cluster becomes a simulator, whose clock [`World::simulation`] shows.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxshmem::{ClusterOptions, Link, prelude::*};
    ///
    /// let slow = Link { latency: Duration::from_millis(1), ..Link::default() };
    /// let options = ClusterOptions::default().hosts(2).link(slow);
    /// let times = LocalCluster::run_with(2, options, |world| async move {
    ///     let word = world.alloc_zeroed::<u64>(1).await?;
    ///     let start = std::time::Instant::now();
    ///     world.context().g(word.at(0), 1 - world.my_pe()).await?;
    ///     let taken = start.elapsed();
    ///     world.finalize().await?;
    ///     Ok(taken)
    /// })?;
    /// assert!(times.iter().all(|&taken| taken >= Duration::from_millis(2))); // there and back
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn link(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// Has the cluster go on when a PE is lost, as a job of `oshrun --on-loss=continue` does. A PE
    /// is lost when its program ends in whichever way, or its world is dropped, without
    /// [`finalize`](World::finalize). The others know of it after as much time as a message takes.
    ///
    /// ```
    /// use oxshmem::{ClusterOptions, Error, prelude::*};
    ///
    /// let options = ClusterOptions::default().survive_loss();
    /// let ends = LocalCluster::run_each(3, options, |world| async move {
    ///     assert_ne!(world.my_pe(), 1, "the disk is full");
    ///     assert!(matches!(world.barrier_all().await, Err(Error::PeLost { pe: 1, view: 1, .. })));
    ///     let left = world.team().survivors().await?.team;
    ///     left.sync().await?;
    ///     world.finalize().await?;
    ///     Ok(left.n_pes())
    /// })?;
    /// assert!(matches!(ends[..], [Ok(2), Err(Error::PeLost { pe: 1, .. }), Ok(2)]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn survive_loss(self) -> Self {
        Self { survives_loss: true, ..self }
    }

    /// Has the cluster [go on](Self::survive_loss), and the program run again in the place of a PE
    /// that is lost, with the same number and on the same host, as `oshrun --respawn N` does: at
    /// most `n` times in all, and at most once a second, of virtual time if that is the cluster's.
    /// The others let it in by [`World::rebuilt`].
    ///
    /// A replacement begins when all others know of the loss, and nothing of the lost PE is left:
    /// its tasks have ended, and what they had is dropped.
    /// [`run_each`](LocalCluster::run_each) returns what became of the last one.
    ///
    /// ```
    /// use oxshmem::{ClusterOptions, Error, prelude::*};
    ///
    /// let options = ClusterOptions::default().respawn(1);
    /// let sums = LocalCluster::run_with(3, options, |mut world| async move {
    ///     if !world.is_replacement() {
    ///         let mut rejoined = world.rejoined();
    ///         world.barrier_all().await?;
    ///         if world.my_pe() == 1 {
    ///             return Err(Error::Unsupported { what: "it is an example".into() });
    ///         }
    ///         assert_eq!(rejoined.next().await, 1);
    ///     }
    ///     world = world.rebuilt().await?; // all three
    ///     let sum = world.alloc_zeroed::<u64>(2).await?;
    ///     sum.at(0).store(1);
    ///     world.team().sum_reduce(sum.slice(1..), sum.slice(..1)).await?;
    ///     world.finalize().await?;
    ///     Ok(sum.at(1).load())
    /// })?;
    /// assert_eq!(sums, [3, 3, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn respawn(self, n: usize) -> Self {
        Self { survives_loss: true, respawns: n, ..self }
    }
}

impl LocalCluster {
    /// Runs `program` as each of `n` PEs and returns their results in the order of their numbers.
    ///
    /// Blocks the calling thread, which must not be inside of an async runtime; there use
    /// [`start`](Self::start). A PE ends in good order by [`World::finalize`].
    ///
    /// # Errors
    /// The error of the PE that failed first. A PE that panics, or returns without `finalize` while
    /// others go on, fails with [`Error::PeLost`]; the others are ended.
    ///
    /// ```
    /// use oxshmem::prelude::*;
    ///
    /// let pes = LocalCluster::run(3, |world| async move {
    ///     world.barrier_all().await?;
    ///     world.finalize().await?;
    ///     Ok(world.my_pe())
    /// })?;
    /// assert_eq!(pes, [0, 1, 2]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn run<R, F>(n: usize, program: impl Fn(World) -> F) -> Result<Vec<R>>
    where
        R: Send + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        Self::run_with(n, ClusterOptions::default(), program)
    }

    /// [`run`](Self::run) with options.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run), and [`Error::Unsupported`] if this many PEs cannot be
    /// placed like that. In a cluster that [goes on](ClusterOptions::survive_loss), a PE that is
    /// lost ends no other, and the error is that of the first to be lost.
    ///
    /// ```
    /// use oxshmem::{ClusterOptions, prelude::*};
    ///
    /// let options = ClusterOptions { threads: 1, ..ClusterOptions::default() };
    /// let sizes = LocalCluster::run_with(100, options, |world| async move {
    ///     world.finalize().await?;
    ///     Ok(world.n_pes())
    /// })?;
    /// assert_eq!(sizes, [100; 100]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn run_with<R, F>(n: usize, options: ClusterOptions, program: impl Fn(World) -> F) -> Result<Vec<R>>
    where
        R: Send + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let (ends, first) = Self::run_all(n, options, program)?;
        match first {
            Some(error) => Err(error),
            None => Ok(ends.into_iter().filter_map(Result::ok).collect()),
        }
    }

    /// [`run_with`](Self::run_with), with what became of each PE: in a cluster that [goes
    /// on](ClusterOptions::survive_loss) some may be lost, and others end well.
    ///
    /// # Errors
    /// Of the start. A PE that failed has its error in the list; one that was ended because of it
    /// that of the other.
    ///
    /// ```
    /// use oxshmem::{ClusterOptions, Error, prelude::*};
    ///
    /// let options = ClusterOptions::default().survive_loss();
    /// let ends = LocalCluster::run_each(2, options, |world| async move {
    ///     if world.my_pe() == 1 {
    ///         return Ok(None); // without finalize
    ///     }
    ///     let loss = world.losses().next().await;
    ///     world.finalize().await?;
    ///     Ok(Some(loss.pe))
    /// })?;
    /// assert!(matches!(ends[..], [Ok(Some(1)), Err(Error::PeLost { pe: 1, .. })]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn run_each<R, F>(
        n: usize,
        options: ClusterOptions,
        program: impl Fn(World) -> F,
    ) -> Result<Vec<Result<R>>>
    where
        R: Send + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        Self::run_all(n, options, program).map(|(ends, _)| ends)
    }

    /// Loses the PE of `world` at this moment, in a cluster that [goes
    /// on](ClusterOptions::survive_loss): nothing of it goes on, as if its process were killed. The
    /// caller may be the PE itself, or any other. What its program does from then on fails; its
    /// locks and guards stay as they are, which they do not when the program just returns.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where a lost PE is the end of the job, or the PE is a process.
    ///
    /// ```
    /// use oxshmem::{ClusterOptions, Error, prelude::*};
    ///
    /// let options = ClusterOptions::default().survive_loss();
    /// let ends = LocalCluster::run_each(2, options, |world| async move {
    ///     if world.my_pe() == 1 {
    ///         LocalCluster::lose(&world, "it is an example")?;
    ///     }
    ///     let ended = world.barrier_all().await;
    ///     assert!(matches!(ended, Err(Error::PeLost { pe: 1, .. })));
    ///     world.finalize().await
    /// })?;
    /// assert!(ends[0].is_ok() && ends[1].is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn lose(world: &World, how: &str) -> Result<()> {
        let pe = world.pe();
        if pe.losses().is_none() || !pe.in_process() {
            let what =
                "PEs are lost on purpose in a LocalCluster that goes on (ClusterOptions::survive_loss)";
            return Err(Error::Unsupported { what: what.to_owned() });
        }
        pe.abandon_as(how);
        Ok(())
    }

    /// What became of each PE, and the error of the first that failed.
    fn run_all<R, F>(
        n: usize,
        options: ClusterOptions,
        program: impl Fn(World) -> F,
    ) -> Result<(Vec<Result<R>>, Option<Error>)>
    where
        R: Send + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let (goes_on, respawns) = (options.survives_loss, options.respawns);
        let threads = match options.threads {
            0 => oxshmem_base::processors::allowed().min(n.max(1)),
            threads => threads,
        };
        let (wires, advanced) = (Arc::new(OnceLock::<Weak<Wires>>::new()), Arc::new(Notify::new()));
        let is_virtual = options.link.virtual_time;
        let mut runtime = if is_virtual {
            let (clock, advanced) = (Arc::clone(&wires), Arc::clone(&advanced));
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            // No PE can go on: that is when virtual time does. What is on the way keeps the
            // runtime, which is not to keep that in turn.
            runtime.on_thread_park(move || {
                if clock.get().and_then(Weak::upgrade).is_some_and(|wires| wires.advance()) {
                    advanced.notify_one();
                }
            });
            runtime
        } else {
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            runtime.worker_threads(threads);
            runtime
        };
        let runtime =
            runtime.enable_all().build().map_err(|e| Error::system("starting a tokio runtime", e))?;
        runtime.block_on(async {
            let JoinedCluster { worlds, job, settings } = Self::join(n, options, &wires).await?;
            let mut replacing = Replacing::of(job, settings, respawns);
            // The first is the cause; the others follow from it.
            let failed = Arc::new(Mutex::new(None));
            let mut pes = tokio::task::JoinSet::new();
            if is_virtual {
                // What happens may be nothing that a PE waits for. Then this task has time go on.
                tokio::spawn(async move {
                    loop {
                        advanced.notified().await;
                    }
                });
            }
            let begin = |world: World| {
                let (pe, failed) = (program(world.clone()), Arc::clone(&failed));
                async move {
                    let outcome = AssertUnwindSafe(pe).catch_unwind().await;
                    let ended = end(&world, outcome, &failed);
                    (world.my_pe(), Arc::downgrade(world.pe()), ended)
                }
            };
            for world in worlds {
                pes.spawn(begin(world));
            }
            let mut ends: Vec<Option<Result<R>>> = (0..n).map(|_| None).collect();
            loop {
                let next = match select(pin!(replacing.next()), pin!(pes.join_next())).await {
                    Either::Left((world, _)) => Either::Left(world),
                    Either::Right((ended, _)) => Either::Right(ended),
                };
                let ended = match next {
                    Either::Left(world) => {
                        pes.spawn(begin(world?));
                        continue;
                    }
                    Either::Right(ended) => ended,
                };
                let Some(ended) = ended else { break };
                let Ok((pe, left, ended)) = ended else { continue };
                if ended.is_err() {
                    match goes_on {
                        true => replacing.lost(pe, left),
                        false => pes.abort_all(),
                    }
                }
                ends[pe] = Some(ended);
            }
            let first = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
            // One that has a replacement which has ended well has not failed.
            let first = match first {
                Some((pe, _)) if matches!(ends[pe], Some(Ok(_))) => {
                    ends.iter().flatten().find_map(|end| end.as_ref().err().cloned())
                }
                first => first.map(|(_, error)| error),
            };
            // One that was ended has the error that ended it.
            let ended = |pe| Error::PeLost {
                pe,
                view: 0,
                how: first.as_ref().map_or_else(String::new, Error::to_string),
            };
            let ends = ends.into_iter().enumerate().map(|(pe, end)| end.unwrap_or_else(|| Err(ended(pe))));
            Ok((ends.collect(), first))
        })
    }

    /// The worlds of `n` PEs, to be used by tasks of the caller's own runtime. PEs with real waits
    /// must run concurrently.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the address space has no room for this many heaps.
    ///
    /// ```
    /// use oxshmem::{prelude::*, settings::Settings};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut worlds = LocalCluster::start(2, Settings::default()).await?.into_iter();
    /// let (a, b) = (worlds.next().unwrap(), worlds.next().unwrap());
    /// tokio::try_join!(a.barrier_all(), b.barrier_all())?;
    /// tokio::try_join!(a.finalize(), b.finalize())?;
    /// assert!(a.is_finalized() && b.is_finalized());
    /// # Ok::<(), oxshmem::Error>(())
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn start(n: usize, settings: Settings) -> Result<Vec<World>> {
        Self::start_with(n, ClusterOptions { settings, ..ClusterOptions::default() }).await
    }

    /// [`start`](Self::start) with options. The threads are the caller's, whatever the options say.
    ///
    /// # Errors
    /// The errors of [`start`](Self::start), and [`Error::Unsupported`] if this many PEs cannot be
    /// placed like that, in [virtual time](Link::virtual_time), which
    /// [`run_with`](Self::run_with) has the clock of, or with
    /// [replacements](ClusterOptions::respawn), which that has the program of.
    ///
    /// ```
    /// use oxshmem::{ClusterOptions, Distribution, Error, prelude::*};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let placement = Distribution::each([2, 1]);
    /// let options = ClusterOptions { placement, ..ClusterOptions::default() };
    /// let outcome = LocalCluster::start_with(4, options).await;
    /// assert!(matches!(outcome, Err(Error::Unsupported { .. }))); // it places three
    /// # });
    /// ```
    pub async fn start_with(n: usize, options: ClusterOptions) -> Result<Vec<World>> {
        if options.link.virtual_time {
            let what = "virtual time is for LocalCluster::run_with, which knows when no PE can go on".into();
            return Err(Error::Unsupported { what });
        }
        if options.respawns > 0 {
            let what =
                "replacements are for LocalCluster::run_with, which has the program to run again".into();
            return Err(Error::Unsupported { what });
        }
        Self::join(n, options, &OnceLock::new()).await.map(|joined| joined.worlds)
    }

    /// Has `n` PEs join a job, whose network is in `wires` before the first of them uses it.
    async fn join(n: usize, options: ClusterOptions, wires: &OnceLock<Weak<Wires>>) -> Result<JoinedCluster> {
        if n == 0 {
            return Err(Error::Unsupported {
                what: "a LocalCluster of 0 PEs is no job; start at least one PE".into(),
            });
        }
        let ClusterOptions { mut settings, placement, link, survives_loss, respawns, .. } = options;
        let placement = if !placement.is_unset() {
            placement
        } else if !settings.fake_hosts.is_unset() {
            settings.fake_hosts.clone().up_to(n)
        } else {
            Settings::fake_hosts_for(n, |name| std::env::var_os(name))?
        };
        let hosts = placement.hosts(n)?;
        if link.virtual_time {
            // Each host would have a thread that looks at real time.
            settings.hang_timeout = None;
        }
        // So that what the PEs show is what is in force.
        settings.fake_hosts = placement;
        settings.on_loss = if survives_loss { OnLoss::Continue } else { OnLoss::End };
        let members = if survives_loss { Local::surviving_cluster_on } else { Local::cluster_on };
        let locals: Vec<_> = members(hosts).into_iter().map(Arc::new).collect();
        let job = Arc::clone(&locals[0]);
        {
            let first = &*job;
            if respawns > 0 {
                first.keep_for_replacements();
            }
            if let Some(common) = first.common() {
                common.of(|| link);
            }
            if let Some(its) = Wires::of(first) {
                let way = Arc::downgrade(&its);
                first.bring_news_by(Box::new(move |pe, news| match way.upgrade() {
                    Some(way) => way.bring(pe, news),
                    None => news(),
                }));
                // It is asked once for each cluster.
                let _ = wires.set(Arc::downgrade(&its));
            }
        }
        let joins = locals.into_iter().map(|local| Pe::join(local, settings.clone()));
        let pes = futures::future::try_join_all(joins).await?;
        let worlds: Vec<World> = pes.into_iter().map(World::new).collect();
        worlds.iter().for_each(|world| world.pe().bootstrap().survives());
        Ok(JoinedCluster { worlds, job, settings })
    }
}

/// The PEs of a cluster that have joined, and the way to it.
struct JoinedCluster {
    worlds: Vec<World>,
    job: Arc<Local>,
    settings: Settings,
}

/// What became of a PE. If it did not end in good order the error is kept, if it is the first, and
/// the other PEs are ended, or know that it is lost.
fn end<R>(
    world: &World,
    outcome: std::thread::Result<Result<R>>,
    failed: &Mutex<Option<(usize, Error)>>,
) -> Result<R> {
    let pe = world.my_pe();
    let before = world.pe().losses().and_then(|losses| losses.of(pe));
    let lost = |how: String| (Error::PeLost { pe, view: 0, how: how.clone() }, how);
    let (error, how) = match outcome {
        Ok(Ok(result)) if world.is_finalized() => return Ok(result),
        Ok(Ok(_)) => match before {
            Some(loss) => lost(loss.how.to_string()),
            None => lost("it returned without finalize".into()),
        },
        Ok(Err(error)) => {
            let how = format!("it failed: {error}");
            (error, how)
        }
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            lost(format!("it panicked: {}", text.unwrap_or_else(|| "without a message".into())))
        }
    };
    // A PE that fails because another is gone has nothing new to tell.
    let consequence =
        matches!(error, Error::PeLost { pe: other, .. } | Error::GlobalExit { pe: other, .. } if other != pe);
    // Before the others can fail because of it.
    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| (pe, error.clone()));
    if world.pe().losses().is_some() {
        world.pe().abandon_as(&how);
    } else if !consequence {
        world.pe().lose_peer(Failure::PeLost { pe, how });
    }
    Err(error)
}
