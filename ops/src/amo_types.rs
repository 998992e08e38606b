//! The types that atomic operations take, and the words that they are accessed as.
//!
//! Each trait is a table of the specification: [`StandardAmo`] (table 6), [`ExtendedAmo`] (table 7,
//! floating point too) and [`BitwiseAmo`] (table 8). No other crate can add to them.

use oxshmem_memory::word::AtomicWord;
use oxshmem_spaces::Element;

use crate::{sealed::Sealed, wait::Waitable};

/// Types that can be fetched, set and swapped atomically: table 7 of the specification.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem::{ExtendedAmo, SymRef};
///
/// async fn reset<T: ExtendedAmo>(ctx: &Context, at: SymRef<'_, T>, to: T) -> oxshmem::Result<T> {
///     ctx.swap(at, to, ctx.my_pe()).await
/// }
///
/// let word = world.alloc_zeroed::<f64>(1).await?;
/// assert_eq!(reset(world.context(), word.at(0), 0.5).await?, 0.0);
/// assert_eq!(word.at(0).load(), 0.5);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait ExtendedAmo: Element + Sealed {
    /// The word with the type's bits.
    #[doc(hidden)]
    type Word: AtomicWord;
    /// The bits.
    #[doc(hidden)]
    fn to_word(self) -> Self::Word;
    /// The value with these bits.
    #[doc(hidden)]
    fn from_word(word: Self::Word) -> Self;
}

/// Types that can also be compared, added to and waited for: table 6 of the specification.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem::{StandardAmo, SymRef};
///
/// async fn count<T: StandardAmo>(ctx: &Context, at: SymRef<'_, T>) -> oxshmem::Result<T> {
///     ctx.inc(at, ctx.my_pe()).await?;
///     ctx.fetch(at, ctx.my_pe()).await
/// }
///
/// assert_eq!(count(world.context(), world.alloc_zeroed::<i32>(1).await?.at(0)).await?, 1);
/// assert_eq!(count(world.context(), world.alloc_zeroed::<usize>(1).await?.at(0)).await?, 1);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait StandardAmo: ExtendedAmo + Waitable {
    /// The type's 1.
    #[doc(hidden)]
    const ONE: Self;
}

/// Types that take bitwise operations: table 8 of the specification.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem::{BitwiseAmo, SymRef};
///
/// async fn mark<T: BitwiseAmo>(ctx: &Context, at: SymRef<'_, T>, bits: T) -> oxshmem::Result<T> {
///     ctx.fetch_or(at, bits, ctx.my_pe()).await
/// }
///
/// let word = world.alloc_zeroed::<u32>(1).await?;
/// assert_eq!(mark(world.context(), word.at(0), 0b101).await?, 0);
/// assert_eq!(word.at(0).load(), 0b101);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait BitwiseAmo: StandardAmo {}

macro_rules! extended {
    ($($name:ty => $word:ty, $to:expr, $from:expr;)*) => {$(
        impl ExtendedAmo for $name {
            type Word = $word;

            #[inline(always)]
            fn to_word(self) -> $word {
                $to(self)
            }

            #[inline(always)]
            fn from_word(word: $word) -> Self {
                $from(word)
            }
        }

        // An element is accessed as this word, wherever it is.
        const _: () = assert!(
            size_of::<$name>() == size_of::<$word>() && align_of::<$name>() == align_of::<$word>()
        );
    )*};
}

macro_rules! standard {
    ($($name:ty => $word:ty;)*) => {$(
        extended! { $name => $word, |value| value as $word, |word| word as $name; }

        impl StandardAmo for $name {
            const ONE: Self = 1;
        }
    )*};
}

standard! {
    i32 => u32;
    u32 => u32;
    i64 => u64;
    u64 => u64;
    isize => u64;
    usize => u64;
}

impl Sealed for f32 {}
impl Sealed for f64 {}

extended! {
    f32 => u32, f32::to_bits, f32::from_bits;
    f64 => u64, f64::to_bits, f64::from_bits;
}

impl BitwiseAmo for i32 {}
impl BitwiseAmo for u32 {}
impl BitwiseAmo for i64 {}
impl BitwiseAmo for u64 {}

#[cfg(not(target_pointer_width = "64"))]
compile_error!("oxshmem needs 64-bit addresses");
