//! [`RwLock`]: a value that many tasks read, or one changes.
//!
//! The value is on one PE. A lock to read is one permit of a semaphore, and one to write is all of
//! them.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use oxshmem_base::Result;
use oxshmem_ops::detach;
use oxshmem_spaces::{Element, SymSlice};

use super::{
    board::{Going, HOME},
    semaphore::{Semaphore, SemaphorePermit},
};
use crate::Home;

/// Permits of its semaphore.
const ALL: u32 = 1 << 29;

/// A value that tasks of all PEs share: many read it, or one changes it, as with
/// `tokio::sync::RwLock` in one process.
///
/// Requests are served in their order, so that a task that waits to write is not overtaken by those
/// that read. A guard has a copy of the value; one to write sends it back when it is dropped.
/// Clones are of the same lock.
///
/// In a job that goes on after a loss, calls that would have to wait fail with `PeLost` once a PE
/// of the team is lost, since it may have had the lock.
///
/// ```
/// use oxshmem::{collections::RwLock, prelude::*};
///
/// LocalCluster::run(4, |world| async move {
///     let total = RwLock::new(&world, [0.0, 0.0]).await?;
///     {
///         let mut total = total.write().await?;
///         total[0] += 0.5;
///         total[1] += 1.5;
///     } // it is sent back, and the next PE gets it then
///     world.barrier_all().await?;
///     assert_eq!(*total.read().await?, [2.0, 6.0]);
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RwLock<T: Element> {
    semaphore: Semaphore,
    /// On one PE.
    value: Arc<SymSlice<T>>,
}

impl<T: Element> RwLock<T> {
    /// A lock around a value, of which that of PE 0 counts. Collective over the PEs of a world or a
    /// space.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed`.
    pub async fn new(home: &impl Home, value: T) -> Result<Self> {
        let memory = home.allocate(1).await?;
        if home.home_team().my_pe() == HOME {
            memory.view().write(&[value]);
        }
        // Collective, so that no PE reads before that.
        let semaphore = Semaphore::new(home, ALL as usize).await?;
        Ok(Self { semaphore, value: Arc::new(memory) })
    }

    /// Waits until no task writes, and reads the value.
    ///
    /// # Errors
    /// `PeLost`, and the errors of [`Context::get`](oxshmem_ops::Context::get).
    pub async fn read(&self) -> Result<RwLockReadGuard<T>> {
        let permit = self.semaphore.acquire().await?;
        Ok(RwLockReadGuard { value: self.load().await?, permit })
    }

    /// Reads the value, if no task writes or waits for that.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub async fn try_read(&self) -> Result<Option<RwLockReadGuard<T>>> {
        match self.semaphore.try_acquire().await? {
            Some(permit) => Ok(Some(RwLockReadGuard { value: self.load().await?, permit })),
            None => Ok(None),
        }
    }

    /// Waits until no other task reads or writes.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub async fn write(&self) -> Result<RwLockWriteGuard<T>> {
        self.writes(self.semaphore.acquire_many(ALL).await?).await
    }

    /// Gets the lock to write, if no task reads or writes or waits for that.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub async fn try_write(&self) -> Result<Option<RwLockWriteGuard<T>>> {
        match self.semaphore.try_acquire_many(ALL).await? {
            Some(permit) => Ok(Some(self.writes(permit).await?)),
            None => Ok(None),
        }
    }

    async fn writes(&self, permit: SemaphorePermit) -> Result<RwLockWriteGuard<T>> {
        let value = self.load().await?;
        Ok(RwLockWriteGuard { value, changed: false, lock: self.clone(), permit: Some(permit) })
    }

    /// The value; a permit keeps others from writing it.
    async fn load(&self) -> Result<T> {
        Ok(self.semaphore.board.ctx.get(&*self.value, HOME).await?[0])
    }

    async fn store(self, value: T, permit: SemaphorePermit) -> Result<()> {
        let ctx = &self.semaphore.board.ctx;
        let stored = ctx.put(&*self.value, [value], HOME).await;
        // What is on the same PE comes behind it.
        let stored = stored.and(ctx.fence().await);
        permit.release().await?;
        stored
    }
}

/// The value of an [`RwLock`], which no task changes while this lives.
#[must_use = "others may write when this is dropped"]
#[derive(Debug)]
pub struct RwLockReadGuard<T> {
    value: T,
    permit: SemaphorePermit,
}

impl<T> RwLockReadGuard<T> {
    /// Gives the lock back: ready when it is. It goes on if the future is dropped.
    ///
    /// # Errors
    /// The errors of [`SemaphorePermit::release`].
    pub async fn unlock(self) -> Result<()> {
        self.permit.release().await
    }
}

impl<T> Deref for RwLockReadGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The value of an [`RwLock`], for one task alone. If that has changed it, it is sent back when
/// this is dropped. That does not wait, and no task gets the lock before.
#[must_use = "the value is sent back when this is dropped"]
#[derive(Debug)]
pub struct RwLockWriteGuard<T: Element> {
    value: T,
    changed: bool,
    lock: RwLock<T>,
    /// None once it was given back.
    permit: Option<SemaphorePermit>,
}

impl<T: Element> RwLockWriteGuard<T> {
    /// Sends the value back and gives the lock to the next: ready when that is done, with errors
    /// that a drop has no place for. It goes on if the future is dropped.
    ///
    /// # Errors
    /// The errors of [`Context::put`](oxshmem_ops::Context::put), with which the lock is given back
    /// nevertheless.
    ///
    /// ```
    /// # use oxshmem::{collections::RwLock, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let count = RwLock::new(&world, 5_u64).await?;
    /// let mut guard = count.write().await?;
    /// *guard += 1;
    /// guard.unlock().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn unlock(mut self) -> Result<()> {
        match self.permit.take() {
            Some(permit) if self.changed => Going::new(self.lock.clone().store(self.value, permit)).await,
            Some(permit) => permit.release().await,
            None => Ok(()),
        }
    }
}

impl<T: Element> Deref for RwLockWriteGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Element> DerefMut for RwLockWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        &mut self.value
    }
}

impl<T: Element> Drop for RwLockWriteGuard<T> {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take()
            && self.changed
        {
            let store = self.lock.clone().store(self.value, permit);
            detach(async move {
                // If the PE that has the value is lost, so is the value.
                let _ = store.await;
            });
        }
    }
}
