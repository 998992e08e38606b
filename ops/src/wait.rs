//! Point-to-point synchronisation: waiting for, and testing, words of this PE (`OpenSHMEM 1.6
//! §9.11`).
//!
//! | C | here |
//! |---|---|
//! | `shmem_wait_until`, `shmem_signal_wait_until` | [`Wait::wait_until`] on a [`SymRef`] |
//! | `shmem_test` | [`Wait::test`] |
//! | `shmem_wait_until_all`, `…_any`, `…_some` | [`WaitSet`] methods, of a slice or masked one |
//! | `…_vector` | the same with one value an element |
//! | `shmem_test_all`, `…_any`, `…_some`, `…_vector` | likewise |
//!
//! A wait looks at its words, spins for a moment, and then sleeps until another PE rings this one's
//! doorbell. All futures here may be dropped at any time, and combined with others by `select!` and
//! `timeout`.

mod cmp;
mod condition;
mod masked;
mod or_loss;
mod set;
mod waitable;
mod word;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use oxshmem_base::Result;
use oxshmem_spaces::SymRef;

use crate::{operation::Immediate, sealed::Sealed, trace::trace_operation};

pub use cmp::Cmp;
pub use condition::WaitUntilSet;
pub use masked::Masked;
pub use or_loss::{OrLoss, WaitOrLoss};
pub use set::WaitSet;
pub use waitable::Waitable;
pub use word::{WordWait, WordWatch, wait_in};
pub(crate) use word::{look, wait_as};

/// Waiting for one word of this PE.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let flag = world.alloc_zeroed::<u64>(1).await?;
/// if world.my_pe() == 0 {
///     world.context().p(flag.at(0), 7, 1).await?;
/// } else {
///     assert_eq!(flag.at(0).wait_until(Cmp::Ne, 0).await?, 7);
///     assert!(flag.at(0).test(Cmp::Eq, 7));
/// }
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait Wait<'a, T: Waitable>: Sealed {
    /// Waits until the word compares to `value` (`OpenSHMEM 1.6 §9.11.1`, §9.11.15). Ready with the
    /// value that satisfied it. Everything its writer put before, with a fence or as
    /// put-with-signal, is visible then.
    ///
    /// # Errors
    /// [`GlobalExit`](oxshmem_base::Error::GlobalExit),
    /// [`PeLost`](oxshmem_base::Error::PeLost) and
    /// [`Finalized`](oxshmem_base::Error::Finalized), when the word can change no more.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(3).await?;
    /// let flag = world.alloc_zeroed::<i32>(1).await?;
    /// if world.my_pe() == 0 {
    ///     world.context().put(&data, [1, 2, 3], 1).await?;
    ///     world.context().fence().await?;
    ///     world.context().p(flag.at(0), 5, 1).await?;
    /// } else {
    ///     assert_eq!(flag.at(0).wait_until(Cmp::Ge, 1).await?, 5);
    ///     assert_eq!(data.view().to_vec(), [1, 2, 3]); // put before the flag, so here by now
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn wait_until(self, cmp: Cmp, value: T) -> WaitUntil<'a, T>;

    /// Whether the word compares to `value` now (`OpenSHMEM 1.6 §9.11.8`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let count = world.alloc_zeroed::<u32>(1).await?;
    /// for pe in 0..world.n_pes() {
    ///     world.context().inc(count.at(0), pe).await?;
    /// }
    /// while !count.at(0).test(Cmp::Eq, 2) {
    ///     tokio::task::yield_now().await; // other work
    /// }
    /// assert_eq!(count.at(0).load(), 2);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn test(self, cmp: Cmp, value: T) -> bool;
}

impl<T: Waitable> Sealed for SymRef<'_, T> {}

impl<'a, T: Waitable> Wait<'a, T> for SymRef<'a, T> {
    #[inline(always)]
    fn wait_until(self, cmp: Cmp, value: T) -> WaitUntil<'a, T> {
        trace_operation("wait_until", size_of::<T>(), self.as_view().pe().me());
        WaitUntil { word: self, cmp, value, wait: WordWait::default() }
    }

    #[inline(always)]
    fn test(self, cmp: Cmp, value: T) -> bool {
        cmp.holds(look(self), value)
    }
}

/// A wait for one word: see [`Wait::wait_until`].
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// # use std::time::Duration;
/// let flag = world.alloc_zeroed::<u64>(1).await?;
/// let wait = flag.at(0).wait_until(Cmp::Eq, 1);
/// // It is not set: the time runs out, and the wait is dropped.
/// assert!(tokio::time::timeout(Duration::from_millis(1), wait).await.is_err());
/// world.context().p(flag.at(0), 1, 0).await?;
/// assert_eq!(flag.at(0).wait_until(Cmp::Eq, 1).await?, 1);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "nothing waits unless this is awaited"]
pub struct WaitUntil<'a, T: Waitable> {
    word: SymRef<'a, T>,
    cmp: Cmp,
    value: T,
    wait: WordWait,
}

impl<T: Waitable> Unpin for WaitUntil<'_, T> {}

impl<T: Waitable> Future for WaitUntil<'_, T> {
    type Output = Result<T>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { word, cmp, value, ref mut wait } = *self;
        match wait.look_recorded(word, cmp, value) {
            Some(seen) => Poll::Ready(Ok(seen)),
            None => wait.watch_shown(word, cmp, value, cx.waker()),
        }
    }
}

impl<T: Waitable> Sealed for WaitUntil<'_, T> {}

impl<T: Waitable> Immediate for WaitUntil<'_, T> {
    type Output = T;

    #[inline(always)]
    fn now(self) -> Result<T, Self> {
        let seen = look(self.word);
        if self.cmp.holds(seen, self.value) { Ok(seen) } else { Err(self) }
    }
}

impl<T: Waitable> Drop for WaitUntil<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.wait.end(self.word);
    }
}

impl<T: Waitable + fmt::Debug> fmt::Debug for WaitUntil<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WaitUntil({:?} {:?} {:?})", self.word, self.cmp, self.value)
    }
}
