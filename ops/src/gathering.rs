//! What a context knows of its session: whether small operations to other hosts are gathered.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes are gathered for a PE before they are sent, and 0 if nothing is gathered.
#[derive(Debug, Default)]
pub(crate) struct Gathering(AtomicUsize);

/// The most that is gathered.
const MOST: usize = 16 << 10;
/// The least that is worth while.
const LEAST: usize = 512;
/// Bytes of an atomic operation in a batch.
const OPERATION: usize = 16;

impl Gathering {
    /// How many bytes, if there is a session that gathers.
    #[inline(always)]
    pub(crate) fn room(&self) -> Option<usize> {
        // Relaxed: a hint.
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            room => Some(room),
        }
    }

    /// Begins a session, or adds to the one there is.
    pub(crate) fn start(&self, batch: bool, total_ops: Option<usize>, far_pes: usize) {
        if !batch && self.room().is_none() {
            return;
        }
        let room = match total_ops {
            // As many as would go to each PE, but not tiny messages only because there are many
            // PEs.
            Some(count) => (count.saturating_mul(OPERATION) / far_pes.max(1)).clamp(LEAST, MOST),
            None => self.room().unwrap_or(MOST),
        };
        self.0.store(room, Ordering::Relaxed);
    }

    /// Ends it. Whether anything was gathered.
    pub(crate) fn stop(&self) -> bool {
        self.0.swap(0, Ordering::Relaxed) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_nested_sessions_add_up() {
        let gathering = Gathering::default();
        gathering.start(false, Some(1000), 1);
        assert_eq!(gathering.room(), None, "batches were not asked for");
        gathering.start(true, None, 1);
        assert_eq!(gathering.room(), Some(MOST));
        gathering.start(false, Some(100), 1);
        assert_eq!(gathering.room(), Some(100 * OPERATION), "batches still");
        gathering.start(true, None, 1);
        assert_eq!(gathering.room(), Some(100 * OPERATION), "the number stays");
        gathering.start(false, Some(usize::MAX), 4);
        assert_eq!(gathering.room(), Some(MOST));
        gathering.start(false, Some(8), 4);
        assert_eq!(gathering.room(), Some(LEAST));
        assert!(gathering.stop() && !gathering.stop());
        assert_eq!(gathering.room(), None);
    }
}
