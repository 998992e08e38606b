//! What the PE's activity board shows of a lock: that the PE waits for it, as long as one of its
//! tasks does.
//!
//! The machine may wait when no task does, as a task that goes away leaves its place in the queue
//! to the PE. Then the board shows nothing: no task is stuck.

use oxshmem_progress::activity::{Activity, Board, Entry};

/// What the machine waits for, and whether the board shows it.
#[derive(Debug, Default)]
pub(super) struct ShownWait {
    wait: Option<Activity>,
    entry: Option<Entry>,
}

impl ShownWait {
    /// The machine waits for this from now on, or for nothing.
    pub(super) fn set(&mut self, wait: Option<Activity>) {
        if self.wait != wait {
            self.entry = None;
            self.wait = wait;
        }
    }

    /// Has the board show it if any task waits.
    pub(super) fn show(&mut self, board: &Board, any_task: bool) {
        match &self.wait {
            Some(wait) if any_task && self.entry.is_none() => self.entry = Some(board.enter(wait)),
            Some(_) if any_task => {}
            _ => self.entry = None,
        }
    }
}
