//! Comparisons of words.

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
    pub(super) fn accepts(self) -> [bool; 3] {
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
