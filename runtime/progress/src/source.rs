//! What the engine polls, and where it reads words that no processor can load.

use std::{fmt, time::Duration};

/// Something whose completions must be looked for: a UCX worker, the streams of a device.
pub trait Source: Send + Sync + fmt::Debug {
    /// Completes what is over, and never blocks. True if anything was.
    fn poll(&self) -> bool;

    /// Whether something that this PE has started here is not over, as far as that is known.
    fn is_pending(&self) -> bool;

    /// The thread that polled is about to sleep. Until it polls again, a thread of the source's
    /// own completes what is over.
    fn rest(&self);

    /// A future waits for something here, and polls no more.
    fn attend(&self) {}

    /// How long a future that is not ready polls the source before it returns `Pending`.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether polls complete anything. Where a thread of the source's own completes everything,
    /// the engine leaves it alone.
    fn wants_polling(&self) -> bool {
        true
    }
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
