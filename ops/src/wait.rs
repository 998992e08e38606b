//! Point-to-point synchronisation: waiting for, and testing, words of this PE (`OpenSHMEM 1.6 §9.11`).
//!
//! | C | here |
//! |---|---|
//! | `shmem_wait_until`, `shmem_signal_wait_until` | [`Wait::wait_until`] on a [`SymRef`] |
//! | `shmem_test` | [`Wait::test`] |
//! | `shmem_wait_until_all`, `…_any`, `…_some` | [`WaitSet`] methods, over a slice or a masked one |
//! | `…_vector` | the same with one value an element |
//! | `shmem_test_all`, `…_any`, `…_some`, `…_vector` | likewise |
//!
//! A wait looks at its words, spins for a moment, and then sleeps until another PE rings this one's doorbell.
//! All futures here may be dropped at any time, and combined with others by `select!` and `timeout`.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use oxshmem_runtime::{
    Pe, Result,
    executor::{Fired, Probe, WatchKey, Word},
    transport::{Atomic, AtomicWord},
};
use oxshmem_spaces::{SymRef, SymSlice, SymView};

use crate::{amo::StandardAmo, trace::trace_operation};

/// A comparison of a word with a value (`OpenSHMEM 1.6 §9.11`, table 13).
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let stock = world.alloc_zeroed::<i32>(1).await?; // one on every PE
/// let next = (world.my_pe() + 1) % world.n_pes();
/// world.context().add(stock.at(0), 3, next).await?;
/// stock.at(0).wait_until(Cmp::Gt, 2).await?;
/// assert!(stock.at(0).test(Cmp::Le, 3));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// Equal: `SHMEM_CMP_EQ`.
    Eq,
    /// Not equal: `SHMEM_CMP_NE`.
    Ne,
    /// Greater: `SHMEM_CMP_GT`.
    Gt,
    /// Greater or equal: `SHMEM_CMP_GE`.
    Ge,
    /// Less: `SHMEM_CMP_LT`.
    Lt,
    /// Less or equal: `SHMEM_CMP_LE`.
    Le,
}

impl Cmp {
    /// Whether `word` compares so to `value`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// assert!(Cmp::Ge.holds(2, 2));
    /// assert!(!Cmp::Gt.holds(2, 2));
    /// assert!(Cmp::Lt.holds(-1, 0)); // signed types compare as such
    /// ```
    #[inline(always)]
    pub fn holds<T: Ord>(self, word: T, value: T) -> bool {
        match self {
            Self::Eq => word == value,
            Self::Ne => word != value,
            Self::Gt => word > value,
            Self::Ge => word >= value,
            Self::Lt => word < value,
            Self::Le => word <= value,
        }
    }

    /// Which of less, equal and greater satisfy it.
    fn accepts(self) -> [bool; 3] {
        match self {
            Self::Eq => [false, true, false],
            Self::Ne => [true, false, true],
            Self::Gt => [false, false, true],
            Self::Ge => [false, true, true],
            Self::Lt => [true, false, false],
            Self::Le => [true, true, false],
        }
    }
}

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
pub trait Wait<'a, T: StandardAmo> {
    /// Waits until the word compares to `value` (`OpenSHMEM 1.6 §9.11.1`, §9.11.15). Ready with the value that
    /// satisfied it. Everything its writer put before, with a fence or as put-with-signal, is visible then.
    ///
    /// # Errors
    /// [`GlobalExit`](oxshmem_runtime::Error::GlobalExit), [`PeLost`](oxshmem_runtime::Error::PeLost) and
    /// [`Finalized`](oxshmem_runtime::Error::Finalized), when the word can change no more.
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

impl<'a, T: StandardAmo> Wait<'a, T> for SymRef<'a, T> {
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
/// // Nobody sets it: the time runs out, and the wait is dropped.
/// assert!(tokio::time::timeout(Duration::from_millis(1), wait).await.is_err());
/// world.context().p(flag.at(0), 1, 0).await?;
/// assert_eq!(flag.at(0).wait_until(Cmp::Eq, 1).await?, 1);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "nothing waits unless this is awaited"]
pub struct WaitUntil<'a, T: StandardAmo> {
    word: SymRef<'a, T>,
    cmp: Cmp,
    value: T,
    wait: WordWait,
}

impl<T: StandardAmo> Unpin for WaitUntil<'_, T> {}

impl<T: StandardAmo> Future for WaitUntil<'_, T> {
    type Output = Result<T>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { word, cmp, value, ref mut wait } = *self;
        match wait.look(word, cmp, value) {
            Some(seen) => Poll::Ready(Ok(seen)),
            None => wait.watch(word, cmp, value, cx.waker()),
        }
    }
}

impl<T: StandardAmo> Drop for WaitUntil<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.wait.end(self.word);
    }
}

impl<T: StandardAmo + fmt::Debug> fmt::Debug for WaitUntil<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WaitUntil({:?} {:?} {:?})", self.word, self.cmp, self.value)
    }
}

/// The state of a wait for one word, apart from the word: for state machines that have many waits in
/// turn. [`end`](Self::end) it before it is dropped or used for another word.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct WordWait {
    watch: Option<WatchKey>,
}

impl WordWait {
    /// The word's value if it compares now, or, the first time, if it comes to while this PE may spin.
    #[inline(always)]
    pub fn look<T: StandardAmo>(&mut self, word: SymRef<'_, T>, cmp: Cmp, value: T) -> Option<T> {
        let seen = look(word);
        if cmp.holds(seen, value) {
            return Some(seen);
        }
        if self.watch.is_some() {
            return None;
        }
        Self::spin(word, cmp, value)
    }

    #[inline(never)]
    fn spin<T: StandardAmo>(word: SymRef<'_, T>, cmp: Cmp, value: T) -> Option<T> {
        let mut seen = None;
        word.as_view().pe().executor().spin_until(|| {
            seen = Some(look(word)).filter(|&seen| cmp.holds(seen, value));
            seen.is_some()
        });
        seen
    }

    /// Has `waker` woken when the word compares, after [`look`](Self::look) has found that it does not.
    #[cold]
    #[inline(never)]
    pub fn watch<T: StandardAmo>(
        &mut self,
        word: SymRef<'_, T>,
        cmp: Cmp,
        value: T,
        waker: &Waker,
    ) -> Poll<Result<T>> {
        let pe = word.as_view().pe();
        let executor = pe.executor();
        if let Some(key) = &self.watch {
            return match executor.check(key, waker) {
                None => Poll::Pending,
                Some(Fired::Satisfied(bits)) => Poll::Ready(Ok(T::from_bits(bits))),
                Some(Fired::Ended) => Poll::Ready(Err(ended(pe))),
            };
        }
        pe.check("wait_until")?;
        let allocation = Arc::clone(word.as_view().allocation());
        // SAFETY: a `SymRef` is aligned; the watch holds the allocation, which keeps the word mapped.
        let probe = Probe::Word(unsafe {
            let address = word.as_view().own();
            Word::new(address, size_of::<T>() == 8, T::SIGNED, cmp.accepts(), value.to_bits())
        });
        let extent = word.as_view().extent();
        tracing::trace!(target: "oxshmem", call = "wait_until", "not yet: leaves it to the driver");
        self.watch = Some(executor.register(probe, extent, allocation, waker));
        // What came between the last look and the registration is nobody's but ours to see.
        let seen = look(word);
        let now = if cmp.holds(seen, value) {
            Ok(seen)
        } else {
            match pe.check("wait_until") {
                Ok(()) => return Poll::Pending,
                Err(error) => Err(error),
            }
        };
        self.end(word);
        Poll::Ready(now)
    }

    /// Whether there is no watch to end.
    #[inline(always)]
    pub fn is_unwatched(&self) -> bool {
        self.watch.is_none()
    }

    /// Ends the watch, if there is one.
    #[inline(always)]
    pub fn end<T: StandardAmo>(&mut self, word: SymRef<'_, T>) {
        if let Some(key) = self.watch.take() {
            word.as_view().pe().executor().unregister(key);
        }
    }
}

/// Several words of this PE to wait for: a slice, or a slice with some elements [excluded](Masked::excluding).
///
/// An empty set is satisfied at once: `all` is ready, `any` has `None` (where C has `SIZE_MAX`), `some` an
/// empty list.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(3, |world| async move {
/// let here = world.alloc_zeroed::<u64>(world.n_pes()).await?;
/// for pe in 0..world.n_pes() {
///     world.context().p(here.at(world.my_pe()), 1, pe).await?;
/// }
/// here.wait_until_all(Cmp::Eq, 1).await?; // a slice
/// assert!(here.slice(1..).test_all(Cmp::Eq, 1)); // a part of one
/// assert_eq!(here.slice(..0).wait_until_any(Cmp::Eq, 1).await?, None); // an empty set
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait WaitSet<'a, T: StandardAmo>: Sized {
    /// The words and the mask.
    #[doc(hidden)]
    fn set(self) -> Masked<'a, T>;

    /// The set without the elements whose `status` is not 0.
    ///
    /// # Panics
    /// If `status` is not as long as the slice.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let flags = world.alloc_zeroed::<u64>(3).await?;
    /// world.context().put(&flags, [1, 0, 1], 0).await?;
    /// let status = [0, 1, 0]; // without the one in the middle
    /// flags.excluding(&status).wait_until_all(Cmp::Eq, 1).await?;
    /// assert_eq!(flags.excluding(&[1, 0, 0]).test_some(Cmp::Eq, 1), [2]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    fn excluding(self, status: &'a [i32]) -> Masked<'a, T> {
        let set = self.set();
        assert_eq!(status.len(), set.words.len(), "a status array has one entry for each word");
        Masked { status: Some(status), ..set }
    }

    /// Waits until every word compares to `value` (`OpenSHMEM 1.6 §9.11.2`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let here = world.alloc_zeroed::<u32>(world.n_pes()).await?;
    /// for pe in 0..world.n_pes() {
    ///     world.context().p(here.at(world.my_pe()), 1, pe).await?;
    /// }
    /// here.wait_until_all(Cmp::Ne, 0).await?;
    /// assert_eq!(here.view().to_vec(), [1, 1, 1]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn wait_until_all(
        self,
        cmp: Cmp,
        value: T,
    ) -> impl Future<Output = Result<()>> + Send + use<'a, Self, T> {
        wait(Condition::new(self.set(), cmp, Values::Same(value)), "wait_until_all", true, Condition::all)
    }

    /// Waits until some word compares to `value`, and names one that does (`OpenSHMEM 1.6 §9.11.3`).
    /// Repeated calls come to every word that does: none is starved.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let done = world.alloc_zeroed::<u64>(2).await?;
    /// if world.my_pe() > 0 {
    ///     world.context().p(done.at(world.my_pe() - 1), 1, 0).await?;
    /// } else {
    ///     let mut status = [0, 0];
    ///     while let Some(i) = done.excluding(&status).wait_until_any(Cmp::Eq, 1).await? {
    ///         status[i] = 1; // seen: not to be waited for again
    ///     }
    ///     assert_eq!(status, [1, 1]);
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn wait_until_any(
        self,
        cmp: Cmp,
        value: T,
    ) -> impl Future<Output = Result<Option<usize>>> + Send + use<'a, Self, T> {
        wait(Condition::new(self.set(), cmp, Values::Same(value)), "wait_until_any", false, Condition::any)
    }

    /// Waits until some words compare to `value`, and names all that do (`OpenSHMEM 1.6 §9.11.4`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let done = world.alloc_zeroed::<u64>(2).await?;
    /// if world.my_pe() > 0 {
    ///     world.context().p(done.at(world.my_pe() - 1), 1, 0).await?;
    /// } else {
    ///     let first = done.wait_until_some(Cmp::Eq, 1).await?;
    ///     assert!(!first.is_empty()); // one of them, or both
    ///     done.wait_until_all(Cmp::Eq, 1).await?;
    ///     assert_eq!(done.wait_until_some(Cmp::Eq, 1).await?, [0, 1]);
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn wait_until_some(
        self,
        cmp: Cmp,
        value: T,
    ) -> impl Future<Output = Result<Vec<usize>>> + Send + use<'a, Self, T> {
        wait(Condition::new(self.set(), cmp, Values::Same(value)), "wait_until_some", false, Condition::some)
    }

    /// [`wait_until_all`](Self::wait_until_all) with a value for each word (`OpenSHMEM 1.6 §9.11.5`).
    ///
    /// # Panics
    /// If `values` is not as long as the slice; so for the other vector forms.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let ids = world.alloc_zeroed::<u32>(world.n_pes()).await?;
    /// for pe in 0..world.n_pes() {
    ///     world.context().p(ids.at(world.my_pe()), 10 + world.my_pe() as u32, pe).await?;
    /// }
    /// ids.wait_until_all_vector(Cmp::Eq, &[10, 11]).await?;
    /// assert_eq!(ids.view().to_vec(), [10, 11]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    fn wait_until_all_vector(
        self,
        cmp: Cmp,
        values: &'a [T],
    ) -> impl Future<Output = Result<()>> + Send + use<'a, Self, T> {
        wait(
            Condition::new(self.set(), cmp, Values::Each(values)),
            "wait_until_all_vector",
            true,
            Condition::all,
        )
    }

    /// [`wait_until_any`](Self::wait_until_any) with a value for each word (`OpenSHMEM 1.6 §9.11.6`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let levels = world.alloc_zeroed::<i64>(2).await?;
    /// let next = (world.my_pe() + 1) % world.n_pes();
    /// world.context().p(levels.at(1), 5, next).await?;
    /// assert_eq!(levels.wait_until_any_vector(Cmp::Ge, &[1, 5]).await?, Some(1));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    fn wait_until_any_vector(
        self,
        cmp: Cmp,
        values: &'a [T],
    ) -> impl Future<Output = Result<Option<usize>>> + Send + use<'a, Self, T> {
        wait(
            Condition::new(self.set(), cmp, Values::Each(values)),
            "wait_until_any_vector",
            false,
            Condition::any,
        )
    }

    /// [`wait_until_some`](Self::wait_until_some) with a value for each word (`OpenSHMEM 1.6 §9.11.7`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let levels = world.alloc_zeroed::<i64>(2).await?;
    /// let next = (world.my_pe() + 1) % world.n_pes();
    /// world.context().p(levels.at(1), 5, next).await?;
    /// assert_eq!(levels.wait_until_some_vector(Cmp::Ge, &[1, 5]).await?, [1]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    fn wait_until_some_vector(
        self,
        cmp: Cmp,
        values: &'a [T],
    ) -> impl Future<Output = Result<Vec<usize>>> + Send + use<'a, Self, T> {
        wait(
            Condition::new(self.set(), cmp, Values::Each(values)),
            "wait_until_some_vector",
            false,
            Condition::some,
        )
    }

    /// Whether every word compares to `value` now (`OpenSHMEM 1.6 §9.11.9`). So does each of an empty set.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<i64>(3).await?;
    /// words.view().write(&[1, 2, 3]); // this PE's
    /// assert!(words.test_all(Cmp::Gt, 0));
    /// assert!(!words.test_all(Cmp::Gt, 1));
    /// assert!(words.slice(..0).test_all(Cmp::Gt, 9));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn test_all(self, cmp: Cmp, value: T) -> bool {
        Condition::new(self.set(), cmp, Values::Same(value)).all().is_some()
    }

    /// A word that compares to `value` now, if one does (`OpenSHMEM 1.6 §9.11.10`). None is starved.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<i64>(3).await?;
    /// words.view().write(&[1, 2, 3]); // this PE's
    /// assert_eq!(words.test_any(Cmp::Gt, 2), Some(2));
    /// assert_eq!(words.test_any(Cmp::Gt, 3), None);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn test_any(self, cmp: Cmp, value: T) -> Option<usize> {
        Condition::new(self.set(), cmp, Values::Same(value)).any().flatten()
    }

    /// The words that compare to `value` now (`OpenSHMEM 1.6 §9.11.11`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<i64>(3).await?;
    /// words.view().write(&[1, 2, 3]); // this PE's
    /// assert_eq!(words.test_some(Cmp::Ne, 2), [0, 2]);
    /// assert!(words.test_some(Cmp::Lt, 0).is_empty());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn test_some(self, cmp: Cmp, value: T) -> Vec<usize> {
        Condition::new(self.set(), cmp, Values::Same(value)).some().unwrap_or_default()
    }

    /// [`test_all`](Self::test_all) with a value for each word (`OpenSHMEM 1.6 §9.11.12`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<i64>(3).await?;
    /// words.view().write(&[1, 2, 3]); // this PE's
    /// assert!(words.test_all_vector(Cmp::Eq, &[1, 2, 3]));
    /// assert!(!words.test_all_vector(Cmp::Eq, &[1, 2, 4]));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    fn test_all_vector(self, cmp: Cmp, values: &'a [T]) -> bool {
        Condition::new(self.set(), cmp, Values::Each(values)).all().is_some()
    }

    /// [`test_any`](Self::test_any) with a value for each word (`OpenSHMEM 1.6 §9.11.13`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<i64>(3).await?;
    /// words.view().write(&[1, 2, 3]); // this PE's
    /// assert_eq!(words.test_any_vector(Cmp::Eq, &[0, 2, 0]), Some(1));
    /// assert_eq!(words.test_any_vector(Cmp::Eq, &[0, 0, 0]), None);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    fn test_any_vector(self, cmp: Cmp, values: &'a [T]) -> Option<usize> {
        Condition::new(self.set(), cmp, Values::Each(values)).any().flatten()
    }

    /// [`test_some`](Self::test_some) with a value for each word (`OpenSHMEM 1.6 §9.11.14`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<i64>(3).await?;
    /// words.view().write(&[1, 2, 3]); // this PE's
    /// assert_eq!(words.test_some_vector(Cmp::Ge, &[1, 9, 1]), [0, 2]);
    /// assert!(words.test_some_vector(Cmp::Ge, &[9, 9, 9]).is_empty());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    fn test_some_vector(self, cmp: Cmp, values: &'a [T]) -> Vec<usize> {
        Condition::new(self.set(), cmp, Values::Each(values)).some().unwrap_or_default()
    }
}

/// A slice of words, some of which may be excluded from waiting.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// # use oxshmem::Masked;
/// let flags = world.alloc_zeroed::<u64>(3).await?;
/// flags.at(2).store(1);
/// let rest: Masked<u64> = flags.excluding(&[1, 1, 0]); // only the last
/// rest.wait_until_all(Cmp::Eq, 1).await?;
/// assert!(rest.test_all(Cmp::Eq, 1) && !flags.test_all(Cmp::Eq, 1));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Masked<'a, T> {
    words: SymView<'a, T>,
    status: Option<&'a [i32]>,
}

impl<'a, T: StandardAmo> WaitSet<'a, T> for Masked<'a, T> {
    fn set(self) -> Masked<'a, T> {
        self
    }
}

impl<'a, T: StandardAmo> WaitSet<'a, T> for SymView<'a, T> {
    fn set(self) -> Masked<'a, T> {
        Masked { words: self, status: None }
    }
}

impl<'a, T: StandardAmo> WaitSet<'a, T> for &'a SymSlice<T> {
    fn set(self) -> Masked<'a, T> {
        Masked { words: self.view(), status: None }
    }
}

impl<T> fmt::Debug for Masked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words.fmt(f)
    }
}

#[derive(Clone, Copy)]
enum Values<'a, T> {
    Same(T),
    Each(&'a [T]),
}

/// A wait set with what its words are compared to.
#[derive(Clone, Copy)]
struct Condition<'a, T> {
    set: Masked<'a, T>,
    cmp: Cmp,
    values: Values<'a, T>,
}

impl<'a, T: StandardAmo> Condition<'a, T> {
    #[track_caller]
    fn new(set: Masked<'a, T>, cmp: Cmp, values: Values<'a, T>) -> Self {
        if let Values::Each(values) = values {
            assert_eq!(values.len(), set.words.len(), "a vector form has one value for each word");
        }
        Self { set, cmp, values }
    }

    fn len(&self) -> usize {
        self.set.words.len()
    }

    fn includes(&self, i: usize) -> bool {
        self.set.status.is_none_or(|status| status[i] == 0)
    }

    fn value(&self, i: usize) -> T {
        match self.values {
            Values::Same(value) => value,
            Values::Each(values) => values[i],
        }
    }

    fn holds(&self, i: usize) -> bool {
        self.cmp.holds(look(self.set.words.at(i)), self.value(i))
    }

    fn all(&self) -> Option<()> {
        (0..self.len()).all(|i| !self.includes(i) || self.holds(i)).then_some(())
    }

    fn any(&self) -> Option<Option<usize>> {
        let len = self.len();
        if !(0..len).any(|i| self.includes(i)) {
            return Some(None);
        }
        let first = turn(len);
        (first..len).chain(0..first).find(|&i| self.includes(i) && self.holds(i)).map(Some)
    }

    fn some(&self) -> Option<Vec<usize>> {
        let satisfied: Vec<_> = (0..self.len()).filter(|&i| self.includes(i) && self.holds(i)).collect();
        let empty = satisfied.is_empty() && (0..self.len()).any(|i| self.includes(i));
        (!empty).then_some(satisfied)
    }

    /// Something that any thread can look at: whether all words compare, or, if not `all` are asked for, whether
    /// one more of those that do not compare now does.
    fn probe(&self, all: bool) -> Probe {
        let mut open: Vec<Word> = Vec::new();
        for i in (0..self.len()).filter(|&i| self.includes(i)) {
            let word = self.set.words.at(i);
            // SAFETY: a `SymRef` is aligned; the watch holds the allocation, which keeps the words mapped.
            open.push(unsafe {
                let bits = self.value(i).to_bits();
                Word::new(word.as_view().own(), size_of::<T>() == 8, T::SIGNED, self.cmp.accepts(), bits)
            });
        }
        if all {
            // Words are done with in turn, so that n of them cost n looks in all, not n at every wake.
            let mut done = 0;
            return Probe::Custom(Box::new(move || {
                done += open[done..].iter().take_while(|word| word.holds()).count();
                done == open.len()
            }));
        }
        // Words that compare already do not end the wait by themselves, unless they stop and start again.
        let mut before: Vec<bool> = open.iter().map(Word::holds).collect();
        Probe::Custom(Box::new(move || {
            let mut changed = false;
            for (word, before) in open.iter().zip(&mut before) {
                let holds = word.holds();
                changed |= holds && !*before;
                *before = holds;
            }
            changed
        }))
    }
}

/// Waits until `satisfied` finds something in `condition`.
fn wait<'a, T: StandardAmo, R: Send>(
    condition: Condition<'a, T>,
    call: &'static str,
    all: bool,
    satisfied: fn(&Condition<'a, T>) -> Option<R>,
) -> impl Future<Output = Result<R>> + Send + use<'a, T, R> {
    let pe = condition.set.words.pe();
    trace_operation(call, condition.len() * size_of::<T>(), pe.me());
    let mut watch = Watch { pe, key: None };
    let mut spun = false;
    poll_fn(move |cx| {
        loop {
            if let Some(result) = satisfied(&condition) {
                watch.end();
                return Poll::Ready(Ok(result));
            }
            if let Some(key) = &watch.key {
                match pe.executor().check(key, cx.waker()) {
                    None => return Poll::Pending,
                    Some(Fired::Ended) => return Poll::Ready(Err(ended(pe))),
                    // One more word compares than when the watch was made: look again, and watch again.
                    Some(Fired::Satisfied(_)) => watch.end(),
                }
                continue;
            }
            if !std::mem::replace(&mut spun, true) {
                pe.executor().spin_until(|| satisfied(&condition).is_some());
                continue;
            }
            pe.check(call)?;
            watch.begin(condition.probe(all), condition.set.words, cx.waker());
            // What came before the watch is nobody's but ours to see.
            if satisfied(&condition).is_none() {
                pe.check(call)?;
                return Poll::Pending;
            }
        }
    })
}

/// A watch that ends with its future.
struct Watch<'a> {
    pe: &'a Arc<Pe>,
    key: Option<WatchKey>,
}

impl Watch<'_> {
    fn begin<T: StandardAmo>(&mut self, probe: Probe, words: SymView<'_, T>, waker: &Waker) {
        let keepalive = Arc::clone(words.allocation());
        self.key = Some(self.pe.executor().register(probe, words.extent(), keepalive, waker));
    }

    fn end(&mut self) {
        if let Some(key) = self.key.take() {
            self.pe.executor().unregister(key);
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// This PE's value of a word, with all that its writer made visible before.
#[inline(always)]
fn look<T: StandardAmo>(word: SymRef<'_, T>) -> T {
    // SAFETY: a `SymRef` is one aligned element of the word's size, mapped while it is borrowed.
    T::from_word(unsafe { T::Word::apply(word.as_view().own(), Atomic::Fetch) })
}

/// Where `any` starts to look: elsewhere each time, so that it comes to every word.
fn turn(len: usize) -> usize {
    thread_local! {
        static TURN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    // A multiplicative walk, so that callers who alternate between sets do not share a pattern with it.
    let turn = TURN.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    TURN.set(turn);
    ((u128::from(turn) * len as u128) >> 64) as usize
}

fn ended(pe: &Pe) -> oxshmem_runtime::Error {
    pe.check("wait_until").err().unwrap_or(oxshmem_runtime::Error::Finalized { call: "wait_until" })
}
