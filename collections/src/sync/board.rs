//! Words on one PE, and the tasks of all PEs that wait for what becomes of them.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
};

use futures::{FutureExt, future::BoxFuture};
use oxshmem_base::Result;
use oxshmem_ops::{Cmp, Context, ContextOptions, Wait, detach, operation::Fetch, wait::WaitOrLoss};
use oxshmem_spaces::{SymRef, SymSlice};
use oxshmem_teams::Team;

use crate::Home;

/// The PE of the team that has the words.
pub(super) const HOME: usize = 0;

/// Words on one PE.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) team: Team,
    pub(super) ctx: Context,
    /// The words, then how many tasks wait on all PEs together, and on each, all of them on the one
    /// PE. Then, on each PE, how often its tasks were woken.
    memory: SymSlice<u64>,
    words: usize,
}

impl Board {
    /// A board with these words. Collective over the PEs of `home`.
    pub(super) async fn new(home: &impl Home, words: &[u64]) -> Result<Self> {
        let team = home.home_team();
        let memory = home.allocate(words.len() + 1 + team.n_pes() + 1).await?;
        if team.my_pe() == HOME {
            memory.slice(..words.len()).write(words);
        }
        team.sync().await?;
        let ctx = team.create_context(ContextOptions::new())?;
        Ok(Self { team, ctx, memory, words: words.len() })
    }

    pub(super) fn fetch(&self, word: usize) -> Fetch<u64> {
        self.ctx.fetch(self.memory.at(word), HOME)
    }

    pub(super) fn fetch_add(&self, word: usize, value: u64) -> Fetch<u64> {
        self.ctx.fetch_add(self.memory.at(word), value, HOME)
    }

    pub(super) fn fetch_or(&self, word: usize, bits: u64) -> Fetch<u64> {
        self.ctx.fetch_or(self.memory.at(word), bits, HOME)
    }

    /// Changes a word to what `change` makes of it, until that is `None`: whether it has.
    pub(super) async fn update(
        &self,
        word: usize,
        mut change: impl FnMut(u64) -> Option<u64>,
    ) -> Result<bool> {
        let mut seen = self.fetch(word).await?;
        while let Some(new) = change(seen) {
            let before = self.ctx.compare_swap(self.memory.at(word), seen, new, HOME).await?;
            if before == seen {
                return Ok(true);
            }
            seen = before;
        }
        Ok(false)
    }

    /// How many tasks wait, on all PEs together.
    fn all_waiting(&self) -> SymRef<'_, u64> {
        self.memory.at(self.words)
    }

    fn woken(&self) -> SymRef<'_, u64> {
        self.memory.at(self.memory.len() - 1)
    }

    /// How many tasks of this PE wait.
    fn here_waiting(&self) -> SymRef<'_, u64> {
        self.memory.at(self.words + 1 + self.team.my_pe())
    }

    /// Wakes the tasks that wait, on all PEs, after words have changed.
    pub(super) async fn wake(&self) -> Result<()> {
        // A task counts itself before it looks at the words. Atomics of one word are in one order:
        // either this sees the task, or the task sees what has changed.
        if self.ctx.fetch_add(self.all_waiting(), 0, HOME).await? == 0 {
            return Ok(());
        }
        let of_pes = self.memory.slice(self.words + 1..self.memory.len() - 1);
        let waiting = self.ctx.get(of_pes, HOME).await?;
        for (pe, _) in waiting.iter().enumerate().filter(|&(_, &tasks)| tasks != 0) {
            // If it is lost, nothing waits there.
            drop(self.ctx.signal_add(self.woken(), 1, pe));
        }
        Ok(())
    }

    /// A task that looks at the words again and again.
    pub(super) fn look(self: &Arc<Self>) -> Look<'_> {
        Look { board: self, counted: None, woken: 0 }
    }
}

/// A task that looks at the words of a board, and waits for others until they are as it wants them.
#[derive(Debug)]
pub(super) struct Look<'b> {
    board: &'b Arc<Board>,
    /// None before it has waited.
    counted: Option<Counted>,
    /// How often this PE's tasks had been woken when it last looked.
    woken: u64,
}

impl Look<'_> {
    /// Ready when it is time to look again.
    ///
    /// # Errors
    /// `PeLost` once the team has lost a PE, which may have what it waits for.
    pub(super) async fn again(&mut self) -> Result<()> {
        let board = self.board;
        let word = board.woken();
        if self.counted.is_none() {
            self.woken = board.ctx.signal_fetch(word);
            // What changes after that wakes it.
            self.counted = Some(Going::new(Counted::new(Arc::clone(board))).await?);
            return Ok(());
        }
        let changed = word.wait_until(Cmp::Ne, self.woken).or_any_loss();
        if board.team.is_revoked() {
            // It fails, and says which PE is lost.
            board.team.sync().await?;
        }
        self.woken = changed.await?;
        Ok(())
    }
}

/// A task that is counted as one that waits.
#[derive(Debug)]
struct Counted(Arc<Board>);

impl Counted {
    async fn new(board: Arc<Board>) -> Result<Self> {
        // Its PE is known before it counts among all.
        board.ctx.fetch_add(board.here_waiting(), 1, HOME).await?;
        board.ctx.fetch_add(board.all_waiting(), 1, HOME).await?;
        Ok(Self(board))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let Self(board) = self;
        for count in [board.all_waiting(), board.here_waiting()] {
            // If the PE is lost, so are its counts.
            drop(board.ctx.fetch_add(count, 1_u64.wrapping_neg(), HOME));
        }
    }
}

/// A future with a result that may not be lost: if it is dropped when it has begun, it goes on, and
/// its result is dropped when it is there.
pub(super) struct Going<T: Send + 'static> {
    future: Option<BoxFuture<'static, T>>,
    begun: bool,
}

impl<T: Send + 'static> Going<T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { future: Some(future.boxed()), begun: false }
    }
}

impl<T: Send + 'static> Future for Going<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<T> {
        self.begun = true;
        let future = self.future.as_mut().expect("it is not polled after its end");
        let polled = future.poll_unpin(cx);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Going<T> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take()
            && self.begun
        {
            detach(future.map(drop));
        }
    }
}
