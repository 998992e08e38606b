//! Sessions: hints that the operations to come tolerate delay, so that small ones may travel
//! together (`OpenSHMEM 1.6 §9.9`).
//!
//! A session with [`batch`](SessionOptions::batch) gathers small puts, signals and atomic
//! operations that fetch nothing, on PEs of other hosts, and applies them at their target in one
//! go. They are ordered and completed as without it: [`fence`](Context::fence) and
//! [`quiet`](Context::quiet) send what was gathered, and so does a PE that waits for something or
//! computes for long. A session changes nothing on PEs of the own host.

use std::{fmt, ops::Deref};

use crate::{
    context::{Context, Shared, Sharing},
    quiet::Quiet,
};

/// What is to be expected of the operations of a session.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem::SessionOptions;
///
/// let table = world.alloc_zeroed::<u64>(64).await?;
/// let ctx = world.context();
/// let session = ctx.session(SessionOptions::new().batch().total_ops(1000));
/// for i in 0..1000 {
///     session.xor(table.at(i % 64), i as u64, i % world.n_pes()).await?;
/// }
/// session.finish().await?; // all of them are there
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    batch: bool,
    total_ops: Option<usize>,
}

impl SessionOptions {
    /// Options that promise nothing.
    ///
    /// ```
    /// use oxshmem_ops::SessionOptions;
    ///
    /// assert_eq!(SessionOptions::new(), SessionOptions::default());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Operations may be delayed and joined: `SHMEM_CTX_SESSION_BATCH`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// use oxshmem::SessionOptions;
    ///
    /// let counts = world.alloc_zeroed::<u64>(2).await?;
    /// {
    ///     let session = world.context().session(SessionOptions::new().batch());
    ///     for i in 0..100 {
    ///         session.inc(counts.at(i % 2), i / 2 % world.n_pes()).await?;
    ///     }
    /// } // ends here
    /// world.barrier_all().await?;
    /// assert_eq!(counts.view().to_vec(), [50, 50]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn batch(self) -> Self {
        Self { batch: true, ..self }
    }

    /// About this many operations will come, which sizes the buffers:
    /// `SHMEM_CTX_SESSION_TOTAL_OPS`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// use oxshmem::SessionOptions;
    ///
    /// let session = world.context().session(SessionOptions::new().batch().total_ops(10));
    /// session.finish().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn total_ops(self, count: usize) -> Self {
        Self { total_ops: Some(count), ..self }
    }
}

/// A session on a context, which it can be used like. It ends when it is dropped.
pub struct Session<'a, M: Sharing = Shared>(&'a Context<M>);

impl<M: Sharing> Session<'_, M> {
    /// Ends the session. Ready when its operations, and all that were issued on the context before,
    /// are complete.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// use oxshmem::SessionOptions;
    ///
    /// let words = world.alloc_zeroed::<u64>(100).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let session = ctx.session(SessionOptions::new().batch());
    /// for i in 0..100 {
    ///     session.p(words.at(i), i as u64, next).await?;
    /// }
    /// session.finish().await?;
    /// assert_eq!(ctx.g(words.at(99), next).await?, 99);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn finish(self) -> Quiet {
        let context = self.0;
        drop(self);
        context.quiet()
    }
}

impl<M: Sharing> Deref for Session<'_, M> {
    type Target = Context<M>;

    fn deref(&self) -> &Context<M> {
        self.0
    }
}

impl<M: Sharing> Drop for Session<'_, M> {
    fn drop(&mut self) {
        self.0.session_stop();
    }
}

impl<M: Sharing> fmt::Debug for Session<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session on {:?}", self.0)
    }
}

impl<M: Sharing> Context<M> {
    /// Says what is to be expected of the operations until the session ends (`OpenSHMEM 1.6
    /// §9.9.2`). A hint, which changes neither their order nor their completion.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// use oxshmem::SessionOptions;
    ///
    /// let total = world.alloc_zeroed::<u64>(1).await?;
    /// let session = world.context().session(SessionOptions::new().batch());
    /// session.add(total.at(0), 21, 0).await?; // need not have left
    /// session.quiet().await?; // is there
    /// drop(session);
    /// world.barrier_all().await?;
    /// assert_eq!(world.context().g(total.at(0), 0).await?, 42);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn session(&self, options: SessionOptions) -> Session<'_, M> {
        self.session_start(options);
        Session(self)
    }

    /// Begins a session that [`session_stop`](Self::session_stop) ends. One that has begun takes up
    /// the new options.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// use oxshmem::SessionOptions;
    ///
    /// let words = world.alloc_zeroed::<u64>(4).await?;
    /// let ctx = world.context();
    /// ctx.session_start(SessionOptions::new().batch());
    /// ctx.session_start(SessionOptions::new().total_ops(4)); // still gathers
    /// for i in 0..4 {
    ///     ctx.add(words.at(i), 1, 0).await?;
    /// }
    /// ctx.session_stop();
    /// ctx.session_stop(); // does nothing
    /// ctx.quiet().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn session_start(&self, options: SessionOptions) {
        let elsewhere = self.pe().n_pes() - self.pe().placement().local.len();
        self.gathering().start(options.batch, options.total_ops, elsewhere);
        if let Some(recorder) = self.pe().recorder() {
            recorder.batch_begun();
        }
    }

    /// Ends the session (`OpenSHMEM 1.6 §9.9.3`). What was gathered leaves; [`quiet`](Self::quiet)
    /// completes it.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// world.context().session_stop(); // there is none
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn session_stop(&self) {
        if !self.gathering().stop() {
            return;
        }
        if let Some(net) = self.pe().net() {
            net.send_gathered();
        }
        if let Some(recorder) = self.pe().recorder() {
            recorder.batch();
        }
    }
}
