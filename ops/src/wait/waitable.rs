//! The types of the words that are waited for.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use oxshmem_spaces::Element;

use crate::sealed::Sealed;

/// Types of words that can be waited for and tested: table 12 of the specification, which is that
/// of [`StandardAmo`](crate::StandardAmo) and the integers of 16 bits. Those have no atomic
/// operations, but a `p` of one arrives in one piece.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem::{SymRef, Waitable};
///
/// async fn next<T: Waitable>(word: SymRef<'_, T>, than: T) -> oxshmem::Result<T> {
///     word.wait_until(Cmp::Gt, than).await
/// }
///
/// let level = world.alloc_zeroed::<i16>(1).await?;
/// level.at(0).store(-7);
/// world.barrier_all().await?;
/// world.context().p(level.at(0), -5, (world.my_pe() + 1) % 2).await?;
/// assert_eq!(next(level.at(0), -6).await?, -5);
/// assert!(level.test_all(Cmp::Lt, 0)); // signed
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait Waitable: Element + Ord + Sealed {
    /// Whether comparison is signed.
    #[doc(hidden)]
    const SIGNED: bool;
    /// The bits, in 64.
    #[doc(hidden)]
    fn to_bits(self) -> u64;
    /// The value with these bits, of which the lowest count.
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;
    /// The value at `address`, with all that its writer made visible before.
    ///
    /// # Safety
    /// `address` must be aligned to the type and mapped.
    #[doc(hidden)]
    unsafe fn look(address: *const u8) -> Self;
}

macro_rules! waitable {
    ($($name:ty => $bits:ty, $atomic:ty, $signed:literal;)*) => {$(
        impl Sealed for $name {}

        // An element is accessed as this word.
        const _: () = assert!(
            size_of::<$name>() == size_of::<$atomic>() && align_of::<$name>() == align_of::<$atomic>()
        );

        impl Waitable for $name {
            const SIGNED: bool = $signed;

            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self as $bits)
            }

            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }

            #[inline(always)]
            unsafe fn look(address: *const u8) -> Self {
                // SAFETY: aligned and mapped by the caller's word; PEs only ever access it
                // atomically or by copies that tolerate races. Acquire: what was put before the
                // word was is visible where the word is seen.
                unsafe { <$atomic>::from_ptr(address.cast_mut().cast()).load(Ordering::Acquire) as Self }
            }
        }
    )*};
}

waitable! {
    i16 => u16, AtomicU16, true;
    u16 => u16, AtomicU16, false;
    i32 => u32, AtomicU32, true;
    u32 => u32, AtomicU32, false;
    i64 => u64, AtomicU64, true;
    u64 => u64, AtomicU64, false;
    isize => u64, AtomicU64, true;
    usize => u64, AtomicU64, false;
}
