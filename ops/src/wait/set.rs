//! Sets of words to wait for.

use oxshmem_progress::activity::Call;
use oxshmem_spaces::{SymSlice, SymView};

use super::{
    cmp::Cmp,
    condition::{Condition, Values, WaitUntilSet},
    masked::Masked,
    waitable::Waitable,
};
use crate::sealed::Sealed;

/// Several words of this PE to wait for: a slice, or a slice with some elements
/// [excluded](WaitSet::excluding).
///
/// An empty set is satisfied at once: `all` is ready, `any` has `None` (where C has `SIZE_MAX`),
/// `some` an empty list.
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
pub trait WaitSet<'a, T: Waitable>: Sized + Sealed {
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
    fn wait_until_all(self, cmp: Cmp, value: T) -> WaitUntilSet<'a, T, ()> {
        WaitUntilSet::new(
            Condition::new(self.set(), cmp, Values::Same(value)),
            Call::WaitUntilAll,
            true,
            Condition::all,
        )
    }

    /// Waits until some word compares to `value`, and names one that does (`OpenSHMEM 1.6
    /// §9.11.3`). Repeated calls come to every word that does: none is starved.
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
    fn wait_until_any(self, cmp: Cmp, value: T) -> WaitUntilSet<'a, T, Option<usize>> {
        WaitUntilSet::new(
            Condition::new(self.set(), cmp, Values::Same(value)),
            Call::WaitUntilAny,
            false,
            Condition::any,
        )
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
    fn wait_until_some(self, cmp: Cmp, value: T) -> WaitUntilSet<'a, T, Vec<usize>> {
        WaitUntilSet::new(
            Condition::new(self.set(), cmp, Values::Same(value)),
            Call::WaitUntilSome,
            false,
            Condition::some,
        )
    }

    /// [`wait_until_all`](Self::wait_until_all) with a value for each word (`OpenSHMEM 1.6
    /// §9.11.5`).
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
    fn wait_until_all_vector(self, cmp: Cmp, values: &'a [T]) -> WaitUntilSet<'a, T, ()> {
        WaitUntilSet::new(
            Condition::new(self.set(), cmp, Values::Each(values)),
            Call::WaitUntilAllVector,
            true,
            Condition::all,
        )
    }

    /// [`wait_until_any`](Self::wait_until_any) with a value for each word (`OpenSHMEM 1.6
    /// §9.11.6`).
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
    fn wait_until_any_vector(self, cmp: Cmp, values: &'a [T]) -> WaitUntilSet<'a, T, Option<usize>> {
        WaitUntilSet::new(
            Condition::new(self.set(), cmp, Values::Each(values)),
            Call::WaitUntilAnyVector,
            false,
            Condition::any,
        )
    }

    /// [`wait_until_some`](Self::wait_until_some) with a value for each word (`OpenSHMEM 1.6
    /// §9.11.7`).
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
    fn wait_until_some_vector(self, cmp: Cmp, values: &'a [T]) -> WaitUntilSet<'a, T, Vec<usize>> {
        WaitUntilSet::new(
            Condition::new(self.set(), cmp, Values::Each(values)),
            Call::WaitUntilSomeVector,
            false,
            Condition::some,
        )
    }

    /// Whether every word compares to `value` now (`OpenSHMEM 1.6 §9.11.9`). So does each of an
    /// empty set.
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

    /// A word that compares to `value` now, if one does (`OpenSHMEM 1.6 §9.11.10`). None is
    /// starved.
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

impl<T: Waitable> Sealed for Masked<'_, T> {}
impl<T: Waitable> Sealed for SymView<'_, T> {}
impl<T: Waitable> Sealed for &SymSlice<T> {}

impl<'a, T: Waitable> WaitSet<'a, T> for Masked<'a, T> {
    fn set(self) -> Masked<'a, T> {
        self
    }
}

impl<'a, T: Waitable> WaitSet<'a, T> for SymView<'a, T> {
    fn set(self) -> Masked<'a, T> {
        Masked { words: self, status: None }
    }
}

impl<'a, T: Waitable> WaitSet<'a, T> for &'a SymSlice<T> {
    fn set(self) -> Masked<'a, T> {
        Masked { words: self.view(), status: None }
    }
}
