//! [`Semaphore`]: permits that tasks of all PEs share.
//!
//! Each request has a ticket: how many permits were asked for before it. It has its own when as
//! many have been granted. So requests are served in their order, and giving permits back is one
//! addition.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_ops::detach;

use super::board::{Board, Going};
use crate::Home;

/// How many permits were asked for.
const ASKED: usize = 0;
/// How many there were: those at the beginning, and all that were added or given back.
const GRANTED: usize = 1;
/// Added to what was granted once the semaphore is closed.
const CLOSED: u64 = 1 << 62;

/// Permits that tasks of all PEs share, as `tokio::sync::Semaphore` has them for those of one
/// process.
///
/// Requests are served in their order: one for many permits is not overtaken by others for few.
/// Clones are of the same semaphore.
///
/// A permit does not complete operations: a task whose puts the next holder is to see quiets its
/// context before it drops the permit. In a job that goes on after a loss, calls that would have to
/// wait fail with [`Error::PeLost`] once a PE of the team is lost, since it may have had what they
/// wait for.
///
/// ```
/// use oxshmem::{collections::Semaphore, prelude::*};
///
/// LocalCluster::run(4, |world| async move {
///     let licenses = Semaphore::new(&world, 2).await?;
///     let permit = licenses.acquire().await?; // at most two PEs are here at a time
///     drop(permit);
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Semaphore {
    pub(super) board: Arc<Board>,
}

impl Semaphore {
    /// The most permits that a semaphore can have.
    pub const MAX_PERMITS: usize = 1 << 60;

    /// A semaphore with this many permits, the same number on all PEs. Collective over the
    /// PEs of a world or a space.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed`.
    ///
    /// # Panics
    /// If there are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub async fn new(home: &impl Home, permits: usize) -> Result<Self> {
        assert!(permits <= Self::MAX_PERMITS, "{permits} permits");
        Ok(Self { board: Arc::new(Board::new(home, &[0, permits as u64]).await?) })
    }

    /// Gets a permit, once there is one. If the future is dropped, it has none, and keeps none
    /// from others.
    ///
    /// # Errors
    /// [`Error::Closed`] if the semaphore is closed, and [`Error::PeLost`].
    pub async fn acquire(&self) -> Result<SemaphorePermit> {
        self.acquire_many(1).await
    }

    /// Gets this many permits, once they are there.
    ///
    /// # Errors
    /// The errors of [`acquire`](Self::acquire).
    ///
    /// ```
    /// # use oxshmem::{collections::Semaphore, prelude::*};
    /// # LocalCluster::run(3, |world| async move {
    /// let semaphore = Semaphore::new(&world, 10).await?;
    /// let permits = semaphore.acquire_many(7).await?;
    /// assert_eq!(permits.num_permits(), 7);
    /// permits.release().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn acquire_many(&self, permits: u32) -> Result<SemaphorePermit> {
        let (board, count) = (Arc::clone(&self.board), u64::from(permits));
        let asked = Going::new(async move {
            let ticket = board.fetch_add(ASKED, count).await?;
            Ok::<_, Error>(SemaphorePermit { board, count, ticket: Some(ticket) })
        });
        let mut permit = asked.await?;
        permit.granted(count, &self.board).await?;
        permit.ticket = None;
        Ok(permit)
    }

    /// Gets a permit if there is one, and no other task waits for one.
    ///
    /// # Errors
    /// The errors of [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<Option<SemaphorePermit>> {
        self.try_acquire_many(1).await
    }

    /// Gets this many permits if they are there, and no other task waits for some.
    ///
    /// # Errors
    /// The errors of [`acquire`](Self::acquire).
    ///
    /// ```
    /// # use oxshmem::{collections::Semaphore, prelude::*};
    /// # LocalCluster::run(1, |world| async move {
    /// let semaphore = Semaphore::new(&world, 2).await?;
    /// let one = semaphore.try_acquire().await?.expect("a permit");
    /// assert!(semaphore.try_acquire_many(2).await?.is_none());
    /// one.release().await?;
    /// assert!(semaphore.try_acquire_many(2).await?.is_some());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn try_acquire_many(&self, permits: u32) -> Result<Option<SemaphorePermit>> {
        let (board, count) = (Arc::clone(&self.board), u64::from(permits));
        let tried = Going::new(async move {
            // It only grows, so that those it has seen are there still when it asks for them.
            let granted = board.fetch(GRANTED).await?;
            check_open(granted)?;
            let got = board.update(ASKED, |asked| (asked + count <= granted).then(|| asked + count)).await?;
            // One that was not got would be given back.
            Ok(got.then(|| SemaphorePermit { board, count, ticket: None }))
        });
        tried.await
    }

    /// Adds permits, which need not have been there before. It has begun when its future is polled
    /// once, and goes on if that is dropped.
    ///
    /// # Errors
    /// The errors of [`Context::fetch_add`](oxshmem_ops::Context::fetch_add).
    pub async fn add_permits(&self, permits: usize) -> Result<()> {
        Going::new(give(Arc::clone(&self.board), permits as u64)).await
    }

    /// How many permits there are that nothing has asked for.
    ///
    /// # Errors
    /// The errors of [`Context::fetch`](oxshmem_ops::Context::fetch).
    pub async fn available_permits(&self) -> Result<usize> {
        let asked = self.board.fetch(ASKED).await?;
        let granted = self.board.fetch(GRANTED).await? & (CLOSED - 1);
        Ok(granted.saturating_sub(asked) as usize)
    }

    /// Ends all requests, those that wait and those to come, with [`Error::Closed`]. Permits that
    /// tasks have stay valid.
    ///
    /// # Errors
    /// The errors of [`Context::fetch_or`](oxshmem_ops::Context::fetch_or).
    ///
    /// ```
    /// # use oxshmem::{collections::Semaphore, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let never = Semaphore::new(&world, 0).await?;
    /// if world.my_pe() == 0 {
    ///     never.close().await?;
    /// }
    /// assert!(never.acquire().await.is_err());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn close(&self) -> Result<()> {
        let board = Arc::clone(&self.board);
        let closed = Going::new(async move {
            board.fetch_or(GRANTED, CLOSED).await?;
            board.wake().await
        });
        closed.await
    }

    /// Whether the semaphore is closed.
    ///
    /// # Errors
    /// The errors of [`Context::fetch`](oxshmem_ops::Context::fetch).
    pub async fn is_closed(&self) -> Result<bool> {
        Ok(self.board.fetch(GRANTED).await? >= CLOSED)
    }
}

/// An error if this is what was granted by a semaphore that is closed.
fn check_open(granted: u64) -> Result<()> {
    match granted {
        CLOSED.. => Err(Error::Closed { what: "semaphore" }),
        _ => Ok(()),
    }
}

async fn give(board: Arc<Board>, count: u64) -> Result<()> {
    board.fetch_add(GRANTED, count).await?;
    board.wake().await
}

/// Permits of a [`Semaphore`], which gets them back when this is dropped. That does not wait.
#[must_use = "permits are given back when this is dropped"]
#[derive(Debug)]
pub struct SemaphorePermit {
    board: Arc<Board>,
    /// How many. 0 once they were given back or forgotten.
    count: u64,
    /// How many were asked for before, of a request that was not granted yet.
    ticket: Option<u64>,
}

impl SemaphorePermit {
    /// Waits until this many permits are granted behind those that were asked for before.
    async fn granted(&self, count: u64, board: &Arc<Board>) -> Result<()> {
        let mut look = board.look();
        loop {
            let granted = board.fetch(GRANTED).await?;
            check_open(granted)?;
            if self.ticket.is_none_or(|ticket| ticket + count <= granted) {
                return Ok(());
            }
            look.again().await?;
        }
    }

    /// How many permits these are.
    pub fn num_permits(&self) -> usize {
        self.count as usize
    }

    /// Gives them back: ready when the semaphore has them. It goes on if the future is dropped.
    ///
    /// # Errors
    /// The errors of [`Context::fetch_add`](oxshmem_ops::Context::fetch_add).
    pub async fn release(mut self) -> Result<()> {
        let count = std::mem::take(&mut self.count);
        Going::new(give(Arc::clone(&self.board), count)).await
    }

    /// Does not give them back, ever.
    pub fn forget(mut self) {
        self.count = 0;
    }
}

impl Drop for SemaphorePermit {
    fn drop(&mut self) {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return;
        }
        let request = Self { board: Arc::clone(&self.board), count: 0, ticket: self.ticket };
        detach(async move {
            // Permits that were only asked for are free when those before them are granted: else
            // they would be taken for those. If that fails, so does what waits behind.
            if request.ticket.is_none() || request.granted(0, &request.board).await.is_ok() {
                // If the PE is lost, nothing waits for them.
                let _ = give(Arc::clone(&request.board), count).await;
            }
        });
    }
}
