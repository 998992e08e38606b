//! Some words of a slice.

use std::fmt;

use oxshmem_spaces::SymView;

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
    pub(super) words: SymView<'a, T>,
    pub(super) status: Option<&'a [i32]>,
}

impl<T> fmt::Debug for Masked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words.fmt(f)
    }
}
