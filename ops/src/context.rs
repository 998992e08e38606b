//! Communication contexts: who orders and completes which operations (`OpenSHMEM 1.6 §9.5`).
//!
//! Each context has an op set of its own, so that `quiet` and `fence` on one wait for nothing that was issued
//! on another. The options that C gives as flags are types here where they are promises about threads.

use std::{cell::Cell, fmt, marker::PhantomData, sync::Arc};

use oxshmem_runtime::{Error, Pe, Result, opset::OpSet, transport::Place};
use oxshmem_spaces::{Element, SymView};

/// A stream of operations on symmetric memory, with an order and a completion of its own.
///
/// `M` says which threads may use it: any at any time ([`Shared`], the default), one at a time
/// ([`Serialized`]: `Send`, not `Sync`) or only the one that made it ([`Private`]: not even `Send`).
///
/// ```compile_fail
/// fn on_another_thread(ctx: oxshmem_ops::Context<oxshmem_ops::Private>) {
///     std::thread::spawn(move || drop(ctx));
/// }
/// ```
pub struct Context<M: Sharing = Shared> {
    pe: Arc<Pe>,
    ops: Arc<OpSet>,
    nostore: bool,
    sharing: PhantomData<M::Marker>,
}

/// Which threads may use a context.
pub trait Sharing: sealed::Sealed {
    /// A type that is `Send` and `Sync` just as the context shall be.
    #[doc(hidden)]
    type Marker;
    /// Its name in the specification.
    const NAME: &'static str;
}

/// Any thread, at any time.
#[derive(Debug)]
pub enum Shared {}

/// One thread at a time: `SHMEM_CTX_SERIALIZED`.
#[derive(Debug)]
pub enum Serialized {}

/// The thread that made it: `SHMEM_CTX_PRIVATE`.
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

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Shared {}
    impl Sealed for super::Serialized {}
    impl Sealed for super::Private {}
}

/// What a context is made for (`OpenSHMEM 1.6 §9.5.1`).
///
/// ```
/// use oxshmem_ops::ContextOptions;
///
/// let any_thread = ContextOptions::new();
/// let one_thread = ContextOptions::new().nostore().private();
/// # let _ = (any_thread, one_thread);
/// ```
pub struct ContextOptions<M: Sharing = Shared> {
    nostore: bool,
    sharing: PhantomData<M>,
}

impl ContextOptions {
    /// For any thread, ordering stores too.
    pub fn new() -> Self {
        Self { nostore: false, sharing: PhantomData }
    }

    /// For one thread at a time: `SHMEM_CTX_SERIALIZED`. The context is `Send` and not `Sync`.
    pub fn serialized(self) -> ContextOptions<Serialized> {
        ContextOptions { nostore: self.nostore, sharing: PhantomData }
    }

    /// For the thread that makes it: `SHMEM_CTX_PRIVATE`. The context is neither `Send` nor `Sync`.
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
    /// `quiet` and `fence` need not order this PE's own stores to symmetric memory: `SHMEM_CTX_NOSTORE`.
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
    pub fn new(pe: Arc<Pe>, options: ContextOptions<M>) -> Self {
        Self { pe, ops: Arc::default(), nostore: options.nostore, sharing: PhantomData }
    }

    /// How many PEs it reaches: operations take PE numbers below this.
    #[inline(always)]
    pub fn n_pes(&self) -> usize {
        self.pe.n_pes()
    }

    /// The number of the PE that it belongs to.
    #[inline(always)]
    pub fn my_pe(&self) -> usize {
        self.pe.me()
    }

    /// Completes every operation on the context, then ends it (`OpenSHMEM 1.6 §9.5.3`). Dropping a context
    /// does not wait: its operations complete by themselves, at the latest in `finalize`.
    pub async fn destroy(self) -> Result<()> {
        self.quiet().await
    }

    #[inline(always)]
    pub(crate) fn pe(&self) -> &Arc<Pe> {
        &self.pe
    }

    #[inline(always)]
    pub(crate) fn ops(&self) -> &Arc<OpSet> {
        &self.ops
    }

    /// The place of `view` on `pe`. One comparison for the PE, one for the job.
    #[inline(always)]
    pub(crate) fn target<'a, T: Element>(
        &self,
        call: &'static str,
        view: SymView<'a, T>,
        pe: usize,
    ) -> Result<Place<'a>> {
        if pe < self.pe.n_pes() && view.allocation().job() == self.pe.job() {
            Ok(view.place(pe))
        } else {
            Err(self.misdirected(call, pe))
        }
    }

    #[cold]
    #[inline(never)]
    fn misdirected(&self, call: &'static str, pe: usize) -> Error {
        let n_pes = self.pe.n_pes();
        match self.pe.check(call) {
            Err(error) => error,
            Ok(()) if pe >= n_pes => Error::PeOutOfRange { call, pe, n_pes },
            Ok(()) => Error::ForeignMemory { call },
        }
    }
}

impl<M: Sharing> fmt::Debug for Context<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nostore = if self.nostore { ", nostore" } else { "" };
        write!(f, "Context({}{nostore}) of PE {}", M::NAME, self.my_pe())
    }
}
