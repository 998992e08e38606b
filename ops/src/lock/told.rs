//! What a PE's board says of a lock: that the PE waits for it, for as long as one of its tasks does.
//!
//! The machine may wait when no task does, as one that goes away leaves the PE its place in the queue. Nobody is stuck then.

use std::sync::Arc;

use oxshmem_progress::activity::{Activity, Board, Entry};

/// What the machine waits for, and whether the board says so.
#[derive(Debug, Default)]
pub(super) struct ToldWait {
    wait: Option<Activity>,
    entry: Option<Entry>,
}

impl ToldWait {
    /// The machine waits for this from now on, or for nothing.
    pub(super) fn set(&mut self, wait: Option<Activity>) {
        if self.wait != wait {
            self.entry = None;
            self.wait = wait;
        }
    }

    /// Has the board say it if any task waits.
    pub(super) fn say(&mut self, board: &Arc<Board>, any_task: bool) {
        match &self.wait {
            Some(wait) if any_task && self.entry.is_none() => self.entry = Some(board.enter(wait)),
            Some(_) if any_task => {}
            _ => self.entry = None,
        }
    }
}
