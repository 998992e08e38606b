//! PEs as tasks of one process: for tests, examples and services that scale inside a process.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use futures::FutureExt;
use oxshmem_runtime::{Error, Pe, Result, bootstrap::Local, executor::Failure, settings::Settings};

use crate::World;

/// Several PEs in one process.
///
/// They run the same code as PEs in processes of their own, each with a heap, contexts and an executor, but
/// share one mapping, and wake each other without the kernel.
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
    /// The settings of every PE. Those of the environment are not read.
    pub settings: Settings,
    /// Threads that run the PEs: as many as there are processors, but no more than PEs, if 0.
    pub threads: usize,
}

impl LocalCluster {
    /// Runs `program` as each of `n` PEs and returns their results in the order of their numbers.
    ///
    /// Blocks the calling thread, which must not be inside of an async runtime; there use
    /// [`start`](Self::start). A PE ends in good order by [`World::finalize`].
    ///
    /// # Errors
    /// The error of the PE that failed first. A PE that panics, or returns without `finalize` while others go on,
    /// fails with [`Error::PeLost`]; the others are ended.
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
    /// Those of [`run`](Self::run).
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
        let threads = match options.threads {
            0 => oxshmem_runtime::pe::allowed_cpus().min(n.max(1)),
            threads => threads,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()
            .map_err(|e| Error::system("starting a tokio runtime", e))?;
        runtime.block_on(async {
            let worlds = Self::start(n, options.settings).await?;
            // The first is the cause; the others follow from it.
            let failed = Arc::new(Mutex::new(None));
            let mut pes = tokio::task::JoinSet::new();
            for world in worlds {
                let pe = program(world.clone());
                let failed = Arc::clone(&failed);
                pes.spawn(async move {
                    let outcome = AssertUnwindSafe(pe).catch_unwind().await;
                    (world.my_pe(), end(&world, outcome, &failed))
                });
            }
            let mut results: Vec<Option<R>> = (0..n).map(|_| None).collect();
            while let Some(joined) = pes.join_next().await {
                match joined {
                    Ok((pe, Some(result))) => results[pe] = Some(result),
                    Ok((_, None)) => pes.abort_all(),
                    Err(_) => {}
                }
            }
            match failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(error) => Err(error),
                None => Ok(results.into_iter().flatten().collect()),
            }
        })
    }

    /// The worlds of `n` PEs, to be used by tasks of the caller's own runtime. PEs with real waits must
    /// run concurrently.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the address space has no room for so many heaps.
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
        if n == 0 {
            return Err(Error::Unsupported { what: "a job has at least one PE".into() });
        }
        let joins = Local::cluster(n).into_iter().map(|local| Pe::join(Arc::new(local), settings.clone()));
        let pes = futures::future::try_join_all(joins).await?;
        Ok(pes.into_iter().map(World::new).collect())
    }
}

/// What became of a PE. If it did not end in good order the error is kept, if it is the first, and the others
/// are told.
fn end<R>(
    world: &World,
    outcome: std::thread::Result<Result<R>>,
    failed: &Mutex<Option<Error>>,
) -> Option<R> {
    let pe = world.my_pe();
    let lost = |how: String| (Error::PeLost { pe, how: how.clone() }, how);
    let (error, how) = match outcome {
        Ok(Ok(result)) if world.is_finalized() => return Some(result),
        Ok(Ok(_)) => lost("it returned without finalize".into()),
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
    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    if !consequence {
        world.pe().lose_peer(Failure::PeLost { pe, how });
    }
    None
}
