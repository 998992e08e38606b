//! [`OnceCell`]: a value that one PE computes, once.
//!
//! The value is on one PE, with a word that says that it is there. Each PE that has seen it keeps a
//! copy. A semaphore with one permit has one task compute it, and is closed when that is done.

use std::{
    convert::Infallible,
    future::Future,
    sync::{Arc, OnceLock},
};

use oxshmem_base::{Error, Result};
use oxshmem_spaces::{Element, SymSlice};

use super::{
    board::{Going, HOME},
    semaphore::{Semaphore, SemaphorePermit},
};
use crate::Home;

/// A value that is computed at most once, on one PE of all, as `tokio::sync::OnceCell` has it for
/// one process.
///
/// Clones are of the same cell.
///
/// In a job that goes on after a loss, calls that would have to wait for another PE's value fail
/// with [`Error::PeLost`] once a PE of the team is lost.
///
/// ```
/// use oxshmem::{collections::OnceCell, prelude::*};
///
/// LocalCluster::run(4, |world| async move {
///     let seed = OnceCell::<u64>::new(&world).await?;
///     let mine = world.my_pe() as u64;
///     let chosen = *seed.get_or_init(|| async move { mine }).await?;
///     world.barrier_all().await?;
///     assert_eq!(seed.get().await?, Some(&chosen)); // the same on all PEs
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OnceCell<T: Element> {
    shared: Arc<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T: Element> {
    semaphore: Semaphore,
    /// On one PE.
    value: SymSlice<T>,
    seen: OnceLock<T>,
}

impl<T: Element> OnceCell<T> {
    /// A cell without a value. Collective over the PEs of a world or a space.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed`.
    pub async fn new(home: &impl Home) -> Result<Self> {
        let value = home.allocate(1).await?;
        let semaphore = Semaphore::new(home, 1).await?;
        Ok(Self { shared: Arc::new(Shared { semaphore, value, seen: OnceLock::new() }) })
    }

    /// The value, if there is one. It does not wait for one that is being computed.
    ///
    /// # Errors
    /// The errors of [`Context::get`](oxshmem_ops::Context::get).
    pub async fn get(&self) -> Result<Option<&T>> {
        let Shared { semaphore, value, seen } = &*self.shared;
        if let Some(value) = seen.get() {
            return Ok(Some(value));
        }
        // It was written before that.
        if !semaphore.is_closed().await? {
            return Ok(None);
        }
        let value = semaphore.board.ctx.get(value, HOME).await?[0];
        Ok(Some(seen.get_or_init(|| value)))
    }

    /// The value. If there is none, one task of all PEs computes it, and the others wait for it. If
    /// the future of that one is dropped, another one computes it.
    ///
    /// # Errors
    /// [`Error::PeLost`], and the errors of [`get`](Self::get).
    pub async fn get_or_init<F: Future<Output = T>>(&self, init: impl FnOnce() -> F) -> Result<&T> {
        let init = || async { Ok::<T, Infallible>(init().await) };
        self.get_or_try_init(init).await.map(|value| value.unwrap_or_else(|never| match never {}))
    }

    /// [`get_or_init`](Self::get_or_init) with what may fail: then the cell is still without a
    /// value, and another one computes it.
    ///
    /// # Errors
    /// The errors of [`get_or_init`](Self::get_or_init), and inside of them that of `init`.
    ///
    /// ```
    /// # use oxshmem::{collections::OnceCell, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let size = OnceCell::<usize>::new(&world).await?;
    /// let parsed = size.get_or_try_init(|| async { "12".parse() }).await?;
    /// assert_eq!(parsed, Ok(&12));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn get_or_try_init<E, F: Future<Output = Result<T, E>>>(
        &self,
        init: impl FnOnce() -> F,
    ) -> Result<Result<&T, E>> {
        if let Some(value) = self.get().await? {
            return Ok(Ok(value));
        }
        let permit = match self.shared.semaphore.acquire().await {
            Ok(permit) => permit,
            Err(Error::Closed { .. }) => return Ok(Ok(self.there().await?)),
            Err(error) => return Err(error),
        };
        match init().await {
            Ok(value) => Ok(Ok(self.store(permit, value).await?)),
            Err(error) => {
                permit.release().await?;
                Ok(Err(error))
            }
        }
    }

    /// Gives the cell its value. Whether it had none, and none is being computed: otherwise it
    /// stays as it is.
    ///
    /// # Errors
    /// The errors of [`Context::put`](oxshmem_ops::Context::put).
    ///
    /// ```
    /// # use oxshmem::{collections::OnceCell, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let first = OnceCell::new(&world).await?;
    /// let was_first = first.set(world.my_pe()).await?;
    /// world.barrier_all().await?;
    /// assert_eq!(was_first, first.get().await? == Some(&world.my_pe()));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn set(&self, value: T) -> Result<bool> {
        match self.shared.semaphore.try_acquire().await {
            Ok(Some(permit)) => self.store(permit, value).await.map(|_| true),
            Ok(None) | Err(Error::Closed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn there(&self) -> Result<&T> {
        Ok(self.get().await?.expect("a cell whose semaphore is closed has a value"))
    }

    /// Writes the value, which is that of the cell from then on.
    async fn store(&self, permit: SemaphorePermit, value: T) -> Result<&T> {
        let shared = Arc::clone(&self.shared);
        let stored = Going::new(async move {
            let ctx = &shared.semaphore.board.ctx;
            ctx.put(&shared.value, [value], HOME).await?;
            ctx.fence().await?;
            shared.semaphore.close().await?;
            permit.forget();
            Ok::<_, Error>(())
        });
        stored.await?;
        self.there().await
    }
}
