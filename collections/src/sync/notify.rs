//! [`Notify`]: notices without data, from tasks of all PEs to tasks of all PEs.
//!
//! All of it is one word: how many tasks wait, how many notices there are for them, and how often
//! all of them were notified together.

use std::sync::Arc;

use oxshmem_base::Result;
use oxshmem_ops::detach;

use super::board::{Board, Going};
use crate::Home;

const WORD: usize = 0;
/// Bits for how many tasks wait, and for how many notices there are.
const BITS: u32 = 20;
const MASK: u64 = (1 << BITS) - 1;

/// Notifies tasks of all PEs, as `tokio::sync::Notify` does those of one process.
///
/// Tasks that wait are notified in no order. Clones are the same.
///
/// A notice does not complete operations: a task whose puts are to be seen quiets its context
/// before. In a job that goes on after a loss, [`notified`](Self::notified) fails with `PeLost`
/// once a PE of the team is lost and there is no notice yet.
///
/// ```
/// use oxshmem::{collections::Notify, prelude::*};
///
/// LocalCluster::run(2, |world| async move {
///     let ready = Notify::new(&world).await?;
///     match world.my_pe() {
///         0 => ready.notify_one().await?,
///         _ => ready.notified().await?,
///     }
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Notify {
    board: Arc<Board>,
}

impl Notify {
    /// Collective over the PEs of a world or a space.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed`.
    pub async fn new(home: &impl Home) -> Result<Self> {
        Ok(Self { board: Arc::new(Board::new(home, &[0]).await?) })
    }

    /// Waits for a notice: one that was kept, or the next one that comes once the future was
    /// polled. If it is dropped, a notice that it had goes to another task.
    ///
    /// # Errors
    /// `PeLost`, and the errors of [`Context::compare_swap`](oxshmem_ops::Context::compare_swap).
    ///
    /// # Panics
    /// If a million tasks wait already.
    pub async fn notified(&self) -> Result<()> {
        let mut entry = Going::new(Entry::new(Arc::clone(&self.board))).await?;
        let mut look = self.board.look();
        while entry.stage == Stage::Waiting {
            look.again().await?;
            entry = Going::new(entry.take()).await?;
        }
        entry.stage = Stage::Over;
        Ok(())
    }

    /// Notifies one of the tasks that wait. If there is none, the notice is kept for the next one
    /// that will; no more than one is kept. It has begun when its future is polled once, and goes
    /// on if that is dropped.
    ///
    /// # Errors
    /// The errors of [`Context::compare_swap`](oxshmem_ops::Context::compare_swap).
    pub async fn notify_one(&self) -> Result<()> {
        Going::new(notify_one(Arc::clone(&self.board))).await
    }

    /// Notifies all tasks that wait. No notice is kept for others.
    ///
    /// # Errors
    /// The errors of [`notify_one`](Self::notify_one).
    ///
    /// ```
    /// # use oxshmem::{collections::Notify, prelude::*};
    /// # use std::time::Duration;
    /// # LocalCluster::run(3, |world| async move {
    /// let news = Notify::new(&world).await?;
    /// if world.my_pe() == 0 {
    ///     tokio::time::sleep(Duration::from_millis(10)).await;
    ///     news.notify_waiters().await?;
    /// } else {
    ///     // Too late if it begins to wait after that.
    ///     let _ = tokio::time::timeout(Duration::from_secs(1), news.notified()).await;
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn notify_waiters(&self) -> Result<()> {
        let board = Arc::clone(&self.board);
        let notified = Going::new(async move {
            let change = |word| {
                let State { epoch, waiting, notices } = State::of(word);
                let kept = notices.saturating_sub(waiting);
                (waiting > 0).then(|| State { epoch: epoch + 1, waiting: 0, notices: kept }.word())
            };
            match board.update(WORD, change).await? {
                true => board.wake().await,
                false => Ok(()),
            }
        });
        notified.await
    }
}

async fn notify_one(board: Arc<Board>) -> Result<()> {
    let change = |word| {
        let state = State::of(word);
        (state.notices <= state.waiting).then(|| State { notices: state.notices + 1, ..state }.word())
    };
    match board.update(WORD, change).await? {
        true => board.wake().await,
        false => Ok(()),
    }
}

/// What the word has.
#[derive(Clone, Copy)]
struct State {
    /// How often all tasks were notified, modulo what fits.
    epoch: u64,
    /// Tasks that wait, and have not seen that they are notified.
    waiting: u64,
    /// Notices for them, and one more if one is kept.
    notices: u64,
}

impl State {
    fn of(word: u64) -> Self {
        Self { epoch: word >> (2 * BITS), waiting: word >> BITS & MASK, notices: word & MASK }
    }

    fn word(self) -> u64 {
        self.epoch << (2 * BITS) | self.waiting << BITS | self.notices
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// It has taken a notice, which goes to another task if this one goes away.
    Notified,
    Over,
}

/// A task that waits. What becomes of it when it goes away is for [`Drop`].
struct Entry {
    board: Arc<Board>,
    epoch: u64,
    stage: Stage,
}

impl Entry {
    /// Waits, or takes the notice that is kept.
    async fn new(board: Arc<Board>) -> Result<Self> {
        let (mut epoch, mut stage) = (0, Stage::Waiting);
        let change = |word| {
            let state = State::of(word);
            epoch = state.epoch;
            if state.notices > state.waiting {
                stage = Stage::Notified;
                return Some(State { notices: state.notices - 1, ..state }.word());
            }
            stage = Stage::Waiting;
            assert!(state.waiting + 1 < MASK, "no more tasks can wait for notices");
            Some(State { waiting: state.waiting + 1, ..state }.word())
        };
        board.update(WORD, change).await?;
        Ok(Self { board, epoch, stage })
    }

    /// Takes a notice if there is one.
    async fn take(mut self) -> Result<Self> {
        let (epoch, mut all_were) = (self.epoch, false);
        let change = |word| {
            let state = State::of(word);
            all_were = state.epoch != epoch;
            let State { waiting, notices, .. } = state;
            let takes = !all_were && notices > 0;
            takes.then(|| State { waiting: waiting - 1, notices: notices - 1, ..state }.word())
        };
        let took = self.board.update(WORD, change).await?;
        if took {
            self.stage = Stage::Notified;
        } else if all_were {
            self.stage = Stage::Over;
        }
        Ok(self)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let (board, epoch) = (Arc::clone(&self.board), self.epoch);
        // If the PE that has the word is lost, so are its notices.
        match self.stage {
            Stage::Over => {}
            Stage::Notified => detach(async move {
                let _ = notify_one(board).await;
            }),
            Stage::Waiting => detach(async move {
                let change = |word| {
                    let state = State::of(word);
                    let waiting = state.waiting.wrapping_sub(1);
                    // One notice is kept.
                    let left = || State { waiting, notices: state.notices.min(waiting + 1), ..state };
                    (state.epoch == epoch).then(|| left().word())
                };
                let _ = board.update(WORD, change).await;
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_what_was_put_into_it() {
        let state = State { epoch: (1 << 24) - 1, waiting: 7, notices: MASK };
        let State { epoch, waiting, notices } = State::of(state.word());
        assert_eq!((epoch, waiting, notices), ((1 << 24) - 1, 7, MASK));
        // It begins again with 0, and leaves the others alone.
        let next = State::of(State { epoch: epoch + 1, ..state }.word());
        assert_eq!((next.epoch, next.waiting, next.notices), (0, 7, MASK));
    }
}
