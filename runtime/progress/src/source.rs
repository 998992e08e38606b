//! What the engine polls, and where it reads words that no processor can load.

use std::{fmt, os::fd::BorrowedFd, time::Duration};

/// Something whose completions must be looked for: a UCX worker, the streams of a device.
///
/// Tasks and threads that wait [`poll`](Self::poll) it. While none does, the helper thread of the
/// process polls it, or sleeps as [`arm`](Self::arm) says. A source that has something to do that
/// no descriptor shows [notifies](crate::helper_waker::HelperWaker::notify) it.
pub trait Source: Send + Sync + fmt::Debug {
    /// Completes what is over, and never blocks. True if anything was.
    fn poll(&self) -> bool;

    /// Whether something that this PE has started here is not over, as far as that is known.
    fn is_pending(&self) -> bool;

    /// How the helper sleeps until the next thing is over. Called by the helper alone, which polls
    /// again before it sleeps.
    fn arm(&self) -> Armed<'_>;

    /// Sends what was gathered, if anything was. A thread that waits calls it before it polls.
    fn hand_over(&self) {}

    /// How long a future that is not ready polls the source before it returns `Pending`.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether it stores to the PE's memory without a ring. Whatever is waited for may be there
    /// then, so that each look is at all words.
    fn stores_silently(&self) -> bool {
        false
    }

    /// Whether polls complete anything. Where a thread of the source's own completes everything,
    /// the engine leaves it alone.
    fn wants_polling(&self) -> bool {
        true
    }
}

/// What a source says before the helper sleeps.
#[derive(Clone, Copy, Debug)]
pub enum Armed<'a> {
    /// There is something to do, so the helper polls again.
    Ready,
    /// The helper may sleep until the descriptor is readable, or for `limit`, or until it is
    /// notified.
    Asleep {
        /// Readable when something is over.
        descriptor: Option<BorrowedFd<'a>>,
        /// When to look again.
        limit: Option<Duration>,
    },
}

impl Armed<'_> {
    /// Nothing is under way.
    pub const IDLE: Self = Self::Asleep { descriptor: None, limit: None };
}

/// Where words are that are waited for, and that no processor can load.
///
/// # Safety
/// [`read`](Self::read) must fill all of `to`, each aligned word of up to 8 bytes by one read.
pub unsafe trait Words: Send + Sync + fmt::Debug {
    /// How many bytes there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads pieces of a local PE's memory, by their offsets and lengths, one behind the other to
    /// `to`.
    ///
    /// # Safety
    /// All pieces must be in bounds, and as long as `to` together.
    unsafe fn read(&self, local_pe: usize, pieces: &[(usize, usize)], to: &mut [u8]);
}
