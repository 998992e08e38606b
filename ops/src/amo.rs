//! Atomic memory operations (`OpenSHMEM 1.6 §9.7`).
//!
//! All of them are atomic towards every other operation here on the same element, whichever PE or
//! context issues it. A fetching operation's future is ready with the value before; one that
//! fetches nothing is ready when issued. The nonblocking forms may be dropped, like all others: the
//! future is the place that the value comes to, and [`quiet`](Context::quiet) completes what was
//! not awaited.

use oxshmem_base::Error;
use oxshmem_memory::word::{Atomic, AtomicWord};
use oxshmem_progress::activity::Call;
use oxshmem_spaces::SymRef;

use crate::{
    context::{Context, Sharing},
    operation::{Fetch, Initiated, Update},
    path::{address::AddressPath, near::NearPlace, route::Route},
};

pub use crate::amo_types::{BitwiseAmo, ExtendedAmo, StandardAmo};

/// Operations that return the value before: blocking and nonblocking form of each.
///
/// A row ends with its example: the word before, the arguments, the word after.
macro_rules! fetching {
    ($(
        $(#[$meta:meta])*
        $name:ident ($call:ident), $name_nbi:ident ($call_nbi:ident): $types:ident ($($arg:ident),*) $section:literal => $operation:expr,
        $start:literal ($($with:literal),*) $end:literal;
    )*) => {
        impl AddressPath {$(
            /// The value before, as
            #[doc = concat!("[`Context::", stringify!($name), "`] gives it.")]
            #[inline(always)]
            pub fn $name<T: $types>(&self, at: *const T, $($arg: T,)* pe: i32) -> Option<T> {
                self.amo(at, $operation($($arg.to_word()),*), pe)
            }
        )*}

        impl<M: Sharing> Context<M> {$(
            $(#[$meta])*
            /// (`OpenSHMEM 1.6
            #[doc = concat!("§", $section, "`).")]
            /// Ready with the value before.
            ///
            /// # Errors
            /// [`PeOutOfRange`](oxshmem_base::Error::PeOutOfRange),
            /// [`ForeignMemory`](oxshmem_base::Error::ForeignMemory),
            /// [`Finalized`](oxshmem_base::Error::Finalized).
            ///
            /// ```
            /// # use oxshmem::prelude::*;
            /// # LocalCluster::run(2, |world| async move {
            /// let word = world.alloc_zeroed::<u64>(1).await?;
            /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
            #[doc = concat!("ctx.set(word.at(0), ", stringify!($start), ", next).await?;")]
            #[doc = concat!(
                "let before = ctx.", stringify!($name),
                "(word.at(0), ", $(stringify!($with), ", ",)* "next).await?;"
            )]
            #[doc = concat!("assert_eq!(before, ", stringify!($start), ");")]
            #[doc = concat!("assert_eq!(ctx.fetch(word.at(0), next).await?, ", stringify!($end), ");")]
            /// # world.finalize().await
            /// # })?;
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[inline(always)]
            pub fn $name<T: $types>(&self, at: SymRef<'_, T>, $($arg: T,)* pe: usize) -> Fetch<T> {
                self.fetch_word(Call::$call, at, $operation($($arg.to_word()),*), pe)
            }

            /// The nonblocking form of
            #[doc = concat!("[`", stringify!($name), "`](Self::", stringify!($name), "):")]
            /// it may be dropped, and is unordered with others until [`fence`](Self::fence).
            ///
            /// ```
            /// # use oxshmem::prelude::*;
            /// # LocalCluster::run(2, |world| async move {
            /// let word = world.alloc_zeroed::<u64>(1).await?;
            /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
            #[doc = concat!("ctx.set(word.at(0), ", stringify!($start), ", next).await?;")]
            #[doc = concat!(
                "let before = ctx.", stringify!($name_nbi),
                "(word.at(0), ", $(stringify!($with), ", ",)* "next);"
            )]
            /// ctx.quiet().await?; // completes it, awaited or not
            #[doc = concat!("assert_eq!(ctx.fetch(word.at(0), next).await?, ", stringify!($end), ");")]
            #[doc = concat!("assert_eq!(before.await?, ", stringify!($start), ");")]
            /// # world.finalize().await
            /// # })?;
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[inline(always)]
            pub fn $name_nbi<T: $types>(&self, at: SymRef<'_, T>, $($arg: T,)* pe: usize) -> Fetch<T> {
                self.fetch_word(Call::$call_nbi, at, $operation($($arg.to_word()),*), pe)
            }
        )*}
    };
}

/// Operations that return nothing.
///
/// A row ends with its example, as above.
macro_rules! updating {
    ($(
        $(#[$meta:meta])*
        $name:ident ($call:ident): $types:ident ($($arg:ident),*) $section:literal => $operation:expr,
        $start:literal ($($with:literal),*) $end:literal;
    )*) => {
        impl AddressPath {$(
            /// Does what
            #[doc = concat!("[`Context::", stringify!($name), "`] does.")]
            #[inline(always)]
            pub fn $name<T: $types>(&self, at: *const T, $($arg: T,)* pe: i32) -> Option<()> {
                self.update(at, $operation($($arg.to_word()),*), pe)
            }
        )*}

        impl<M: Sharing> Context<M> {$(
            $(#[$meta])*
            /// (`OpenSHMEM 1.6
            #[doc = concat!("§", $section, "`).")]
            /// Fetches nothing, and is ready when issued; [`quiet`](Self::quiet) completes it.
            ///
            /// # Errors
            /// [`PeOutOfRange`](oxshmem_base::Error::PeOutOfRange),
            /// [`ForeignMemory`](oxshmem_base::Error::ForeignMemory),
            /// [`Finalized`](oxshmem_base::Error::Finalized).
            ///
            /// ```
            /// # use oxshmem::prelude::*;
            /// # LocalCluster::run(2, |world| async move {
            /// let word = world.alloc_zeroed::<u64>(1).await?;
            /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
            #[doc = concat!("ctx.set(word.at(0), ", stringify!($start), ", next).await?;")]
            #[doc = concat!(
                "ctx.", stringify!($name), "(word.at(0), ", $(stringify!($with), ", ",)* "next).await?;"
            )]
            /// ctx.quiet().await?;
            #[doc = concat!("assert_eq!(ctx.fetch(word.at(0), next).await?, ", stringify!($end), ");")]
            /// # world.finalize().await
            /// # })?;
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[inline(always)]
            pub fn $name<T: $types>(&self, at: SymRef<'_, T>, $($arg: T,)* pe: usize) -> Update {
                self.update_word(Call::$call, at, $operation($($arg.to_word()),*), pe)
            }
        )*}
    };
}

fetching! {
    /// Fetches the value of `at` on `pe`
    fetch (Fetch), fetch_nbi (FetchNbi): ExtendedAmo () "9.7.1.1" => || Atomic::Fetch,
        5 () 5;
    /// Stores `value` at `at` on `pe`, and fetches what was there
    swap (Swap), swap_nbi (SwapNbi): ExtendedAmo (value) "9.7.1.4" => Atomic::Swap,
        5 (7) 7;
    /// Stores `value` at `at` on `pe` if `cond` is there, and fetches what was
    compare_swap (CompareSwap), compare_swap_nbi (CompareSwapNbi): StandardAmo (cond, value) "9.7.1.3" =>
        |cond, value| Atomic::CompareSwap { cond, value },
        5 (5, 7) 7;
    /// Adds `value`, wrapping, to `at` on `pe`
    fetch_add (FetchAdd), fetch_add_nbi (FetchAddNbi): StandardAmo (value) "9.7.1.7" => Atomic::Add,
        5 (3) 8;
    /// Bitwise and of `value` into `at` on `pe`
    fetch_and (FetchAnd), fetch_and_nbi (FetchAndNbi): BitwiseAmo (value) "9.7.1.9" => Atomic::And,
        0b110 (0b011) 0b010;
    /// Bitwise or of `value` into `at` on `pe`
    fetch_or (FetchOr), fetch_or_nbi (FetchOrNbi): BitwiseAmo (value) "9.7.1.11" => Atomic::Or,
        0b110 (0b011) 0b111;
    /// Bitwise exclusive or of `value` into `at` on `pe`
    fetch_xor (FetchXor), fetch_xor_nbi (FetchXorNbi): BitwiseAmo (value) "9.7.1.13" => Atomic::Xor,
        0b110 (0b011) 0b101;
}

updating! {
    /// Stores `value` at `at` on `pe`
    set (Set): ExtendedAmo (value) "9.7.1.2" => Atomic::Set,
        5 (7) 7;
    /// Adds `value`, wrapping, to `at` on `pe`
    add (Add): StandardAmo (value) "9.7.1.8" => Atomic::Add,
        5 (3) 8;
    /// Bitwise and of `value` into `at` on `pe`
    and (And): BitwiseAmo (value) "9.7.1.10" => Atomic::And,
        0b110 (0b011) 0b010;
    /// Bitwise or of `value` into `at` on `pe`
    or (Or): BitwiseAmo (value) "9.7.1.12" => Atomic::Or,
        0b110 (0b011) 0b111;
    /// Bitwise exclusive or of `value` into `at` on `pe`
    xor (Xor): BitwiseAmo (value) "9.7.1.14" => Atomic::Xor,
        0b110 (0b011) 0b101;
}

impl AddressPath {
    /// The value before, as [`Context::fetch_inc`] gives it.
    #[inline(always)]
    pub fn fetch_inc<T: StandardAmo>(&self, at: *const T, pe: i32) -> Option<T> {
        self.fetch_add(at, T::ONE, pe)
    }

    /// Does what [`Context::inc`] does.
    #[inline(always)]
    pub fn inc<T: StandardAmo>(&self, at: *const T, pe: i32) -> Option<()> {
        self.add(at, T::ONE, pe)
    }
}

impl<M: Sharing> Context<M> {
    /// Adds 1, wrapping, to `at` on `pe`, and fetches what was there (`OpenSHMEM 1.6 §9.7.1.5`).
    ///
    /// # Errors
    /// The errors of [`fetch_add`](Self::fetch_add).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// assert_eq!(ctx.fetch_inc(word.at(0), next).await?, 0);
    /// assert_eq!(ctx.fetch_inc(word.at(0), next).await?, 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn fetch_inc<T: StandardAmo>(&self, at: SymRef<'_, T>, pe: usize) -> Fetch<T> {
        self.fetch_word(Call::FetchInc, at, Atomic::Add(T::ONE.to_word()), pe)
    }

    /// The nonblocking form of [`fetch_inc`](Self::fetch_inc).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let first = ctx.fetch_inc_nbi(word.at(0), next);
    /// ctx.quiet().await?; // completes it
    /// assert_eq!(ctx.fetch(word.at(0), next).await?, 1);
    /// assert_eq!(first.await?, 0);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn fetch_inc_nbi<T: StandardAmo>(&self, at: SymRef<'_, T>, pe: usize) -> Fetch<T> {
        self.fetch_word(Call::FetchIncNbi, at, Atomic::Add(T::ONE.to_word()), pe)
    }

    /// Adds 1, wrapping, to `at` on `pe` (`OpenSHMEM 1.6 §9.7.1.6`).
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// ctx.inc(word.at(0), next).await?;
    /// ctx.quiet().await?;
    /// assert_eq!(ctx.fetch(word.at(0), next).await?, 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn inc<T: StandardAmo>(&self, at: SymRef<'_, T>, pe: usize) -> Update {
        self.update_word(Call::Inc, at, Atomic::Add(T::ONE.to_word()), pe)
    }

    /// An atomic operation called `call`, which hands the value before to `then`, on whichever
    /// thread, and is complete when that has returned: for C, whose nonblocking forms leave the
    /// value in memory. `then` must not wait for anything.
    #[doc(hidden)]
    pub fn fetch_then<T: ExtendedAmo>(
        &self,
        call: &'static str,
        at: SymRef<'_, T>,
        operation: Atomic<T::Word>,
        pe: usize,
        then: impl FnOnce(T) + Send + 'static,
    ) -> Fetch<()> {
        Fetch(self.fetch_routed((fetching_call(&operation), call), at, operation, pe, then))
    }

    #[inline(always)]
    fn fetch_word<T: ExtendedAmo>(
        &self,
        call: Call,
        at: SymRef<'_, T>,
        operation: Atomic<T::Word>,
        pe: usize,
    ) -> Fetch<T> {
        Fetch(match self.near_untraced(at.as_view(), pe) {
            // SAFETY: a `SymRef` is one aligned element in bounds, on every PE, of the word's size.
            Some(near) => Initiated::Complete(T::from_word(unsafe { near.atomic(operation) })),
            None => self.fetch_routed((call, call.name()), at, operation, pe, |before| before),
        })
    }

    #[inline(always)]
    pub(crate) fn update_word<T: ExtendedAmo>(
        &self,
        call: Call,
        at: SymRef<'_, T>,
        operation: Atomic<T::Word>,
        pe: usize,
    ) -> Update {
        Update(match self.near_untraced(at.as_view(), pe) {
            Some(near) => {
                // SAFETY: as above.
                unsafe { near.atomic(operation) };
                Initiated::Complete(())
            }
            None => self.update_routed(call, at, operation, pe),
        })
    }

    /// Fetches from `at` by whichever way leads there. Emits the event, finds what is wrong.
    #[cold]
    #[inline(never)]
    fn fetch_routed<T: ExtendedAmo, V: Send>(
        &self,
        (call, name): (Call, &'static str),
        at: SymRef<'_, T>,
        operation: Atomic<T::Word>,
        pe: usize,
        then: impl FnOnce(T) -> V + Send + 'static,
    ) -> Initiated<V, Error> {
        let started = self.started(call, size_of::<T>(), pe);
        let op = match self.route(name, at.as_view(), pe) {
            Ok(Route { near: Some(near), .. }) => {
                // SAFETY: as above.
                Initiated::Complete(then(T::from_word(unsafe { near.atomic(operation) })))
            }
            Ok(at) => {
                let value = |before| then(T::from_word(T::Word::from_u64(before)));
                self.fetch_away(&at, operation.widened(), T::Word::WIDTH, value)
            }
            Err(error) => Initiated::failed(error, self.ops()),
        };
        self.ended(started, op)
    }

    /// Updates `at` by whichever way leads there. Emits the event, finds what is wrong.
    #[cold]
    #[inline(never)]
    fn update_routed<T: ExtendedAmo>(
        &self,
        call: Call,
        at: SymRef<'_, T>,
        operation: Atomic<T::Word>,
        pe: usize,
    ) -> Initiated<(), Error> {
        let started = self.update_started(call, size_of::<T>(), pe, Some(at.as_view().extent()));
        let op = match self.route(call.name(), at.as_view(), pe) {
            Ok(Route { near: Some(near), .. }) => {
                // SAFETY: as above.
                unsafe { near.atomic(operation) };
                Initiated::Complete(())
            }
            Ok(at) => self.update_away(&at, operation.widened(), T::Word::WIDTH),
            Err(error) => Initiated::failed(error, self.ops()),
        };
        self.ended(started, op)
    }
}

/// The call of an operation whose value before is left somewhere.
fn fetching_call<W>(operation: &Atomic<W>) -> Call {
    match operation {
        Atomic::Fetch => Call::FetchNbi,
        Atomic::Set(_) => Call::Set,
        Atomic::Swap(_) => Call::SwapNbi,
        Atomic::CompareSwap { .. } => Call::CompareSwapNbi,
        Atomic::Add(_) => Call::FetchAddNbi,
        Atomic::And(_) => Call::FetchAndNbi,
        Atomic::Or(_) => Call::FetchOrNbi,
        Atomic::Xor(_) => Call::FetchXorNbi,
    }
}
