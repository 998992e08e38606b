//! Atomic memory operations (`OpenSHMEM 1.6 §9.7`), with the names that they had before 1.4.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use oxshmem::BitwiseAmo;
use oxshmem::Element;
use oxshmem::ExtendedAmo;
use oxshmem::StandardAmo;
use oxshmem_memory::copy;
use oxshmem_memory::word::Atomic;
use oxshmem_ops::path::address::AddressPath;

use crate::call::Call;
use crate::export::export_path;
use crate::export::with_ctx_path;
use crate::state::DEFAULT_PATH;
use crate::types::Bits;
use crate::types::amo_types;
use crate::types::bitwise_types;
use crate::types::float_amo_types;
use crate::types::old_amo_types;

/// What atomics are for, on words of bits: a sum of integers is the same whether they have a sign
/// or not.
trait Word: Bits<Bits: BitwiseAmo> {}

impl<T: Bits<Bits: BitwiseAmo>> Word for T {}

/// Where a nonblocking operation leaves the value that it has fetched.
#[derive(Clone, Copy)]
struct Fetched<T>(*mut T);

// SAFETY: the caller leaves the variable alone until the operation is complete, which may be on
// another thread.
unsafe impl<T> Send for Fetched<T> {}

impl<T: Element> Fetched<T> {
    /// Leaves the value there. Not for device memory.
    fn set(self, value: T) {
        // SAFETY: the caller vouches for the variable, wherever it is and however it is aligned.
        unsafe { copy::copy(self.0.cast(), (&raw const value).cast(), size_of::<T>()) };
    }
}

/// Begins an operation that leaves what it has fetched at `fetch`, and is complete at the next
/// `shmem_quiet`.
#[inline(never)]
fn fetch_later<T: ExtendedAmo>(
    call: Call,
    fetch: *mut T,
    dest: *const T,
    operation: Atomic<T::Word>,
    pe: c_int,
) {
    call.not_null("fetch", fetch.cast_const(), 1);
    let at = call.word("dest", dest);
    let start = |fetched: Fetched<T>| {
        call.context.fetch_then(call.name, at, operation, pe as usize, move |before| fetched.set(before))
    };
    if call.on_device(fetch) {
        // By way of this host.
        let mut before = MaybeUninit::<T>::uninit();
        call.wait_on(pe, start(Fetched(before.as_mut_ptr())));
        // SAFETY: the operation is over, and has left it there.
        return call.word("fetch", fetch.cast_const()).store(unsafe { before.assume_init() });
    }
    call.start_on(pe, start(Fetched(fetch)));
}

/// Leaves at `fetch` what an operation has fetched on the path by addresses.
#[inline(always)]
fn leave<T>(path: &AddressPath, fetch: *mut T, value: impl FnOnce() -> Option<T>) -> Option<()> {
    // SAFETY: the caller vouches for the variable.
    unsafe { path.leave(fetch, value) }
}

/// Operations that fetch, with their nonblocking forms, for all that did not go by addresses: one
/// function for all types of a size.
macro_rules! fetching {
    ($($name:ident, $nbi:ident: $types:ident ($($arg:ident),*) => $operation:expr;)*) => {$(
        #[inline(always)]
        fn $name<T: Word>(call: Call, dest: *mut T, $($arg: T,)* pe: c_int) -> T {
            #[inline(never)]
            fn of_bits<T: $types>(call: Call, dest: *mut T, $($arg: T,)* pe: c_int) -> T {
                let at = call.word("dest", dest.cast_const());
                call.wait_on(pe, call.context.$name(at, $($arg,)* pe as usize))
            }
            T::from_bits(of_bits::<T::Bits>(call, dest.cast(), $($arg.bits(),)* pe))
        }

        #[inline(always)]
        fn $nbi<T: Word>(call: Call, fetch: *mut T, dest: *mut T, $($arg: T,)* pe: c_int) {
            #[inline(never)]
            fn of_bits<T: $types>(call: Call, fetch: *mut T, dest: *mut T, $($arg: T,)* pe: c_int) {
                fetch_later(call, fetch, dest.cast_const(), $operation, pe);
            }
            of_bits::<T::Bits>(call, fetch.cast(), dest.cast(), $($arg.bits(),)* pe);
        }
    )*};
}

/// Operations that do not, likewise.
macro_rules! updating {
    ($($name:ident: $types:ident ($($arg:ident),*);)*) => {$(
        #[inline(always)]
        fn $name<T: Word>(call: Call, dest: *mut T, $($arg: T,)* pe: c_int) {
            #[inline(never)]
            fn of_bits<T: $types>(call: Call, dest: *mut T, $($arg: T,)* pe: c_int) {
                let at = call.word("dest", dest.cast_const());
                call.wait_on(pe, call.context.$name(at, $($arg,)* pe as usize));
            }
            of_bits::<T::Bits>(call, dest.cast(), $($arg.bits(),)* pe);
        }
    )*};
}

fetching! {
    swap, swap_nbi: ExtendedAmo (value) => Atomic::Swap(value.to_word());
    compare_swap, compare_swap_nbi: StandardAmo (cond, value) =>
        Atomic::CompareSwap { cond: cond.to_word(), value: value.to_word() };
    fetch_inc, fetch_inc_nbi: StandardAmo () => Atomic::Add(T::ONE.to_word());
    fetch_add, fetch_add_nbi: StandardAmo (value) => Atomic::Add(value.to_word());
    fetch_and, fetch_and_nbi: BitwiseAmo (value) => Atomic::And(value.to_word());
    fetch_or, fetch_or_nbi: BitwiseAmo (value) => Atomic::Or(value.to_word());
    fetch_xor, fetch_xor_nbi: BitwiseAmo (value) => Atomic::Xor(value.to_word());
}

updating! {
    set: ExtendedAmo (value);
    inc: StandardAmo ();
    add: StandardAmo (value);
    and: BitwiseAmo (value);
    or: BitwiseAmo (value);
    xor: BitwiseAmo (value);
}

#[inline(always)]
fn fetch<T: Word>(call: Call, source: *const T, pe: c_int) -> T {
    #[inline(never)]
    fn of_bits<T: ExtendedAmo>(call: Call, source: *const T, pe: c_int) -> T {
        let at = call.word("source", source);
        call.wait_on(pe, call.context.fetch(at, pe as usize))
    }
    T::from_bits(of_bits::<T::Bits>(call, source.cast(), pe))
}

#[inline(always)]
fn fetch_nbi<T: Word>(call: Call, fetch: *mut T, source: *const T, pe: c_int) {
    fetch_later::<T::Bits>(call, fetch.cast(), source.cast(), Atomic::Fetch, pe);
}

/// Of table 7.
macro_rules! extended {
    ($name:literal, $T:ty) => {
        with_ctx_path!(concat!($name, "_atomic_fetch"), (source: *const $T, pe: c_int) -> $T, AddressPath::fetch::<$T>, fetch::<$T>);
        with_ctx_path!(concat!($name, "_atomic_set"), (dest: *mut $T, value: $T, pe: c_int), AddressPath::set::<$T>, set::<$T>);
        with_ctx_path!(concat!($name, "_atomic_swap"), (dest: *mut $T, value: $T, pe: c_int) -> $T, AddressPath::swap::<$T>, swap::<$T>);
        with_ctx_path!(
            concat!($name, "_atomic_fetch_nbi"),
            (fetch: *mut $T, source: *const $T, pe: c_int),
            |path: &AddressPath, fetch, source, pe| leave(path, fetch, || path.fetch::<$T>(source, pe)),
            fetch_nbi::<$T>
        );
        with_ctx_path!(
            concat!($name, "_atomic_swap_nbi"),
            (fetch: *mut $T, dest: *mut $T, value: $T, pe: c_int),
            |path: &AddressPath, fetch, dest, value, pe| leave(path, fetch, || path.swap::<$T>(dest, value, pe)),
            swap_nbi::<$T>
        );
    };
}

/// Of table 6.
macro_rules! standard {
    ($name:literal, $T:ty) => {
        with_ctx_path!(
            concat!($name, "_atomic_compare_swap"),
            (dest: *mut $T, cond: $T, value: $T, pe: c_int) -> $T,
            AddressPath::compare_swap::<$T>, compare_swap::<$T>
        );
        with_ctx_path!(concat!($name, "_atomic_fetch_inc"), (dest: *mut $T, pe: c_int) -> $T, AddressPath::fetch_inc::<$T>, fetch_inc::<$T>);
        with_ctx_path!(concat!($name, "_atomic_inc"), (dest: *mut $T, pe: c_int), AddressPath::inc::<$T>, inc::<$T>);
        with_ctx_path!(
            concat!($name, "_atomic_fetch_add"),
            (dest: *mut $T, value: $T, pe: c_int) -> $T,
            AddressPath::fetch_add::<$T>, fetch_add::<$T>
        );
        with_ctx_path!(concat!($name, "_atomic_add"), (dest: *mut $T, value: $T, pe: c_int), AddressPath::add::<$T>, add::<$T>);
        with_ctx_path!(
            concat!($name, "_atomic_compare_swap_nbi"),
            (fetch: *mut $T, dest: *mut $T, cond: $T, value: $T, pe: c_int),
            |path: &AddressPath, fetch, dest, cond, value, pe| leave(path, fetch, || path.compare_swap::<$T>(dest, cond, value, pe)),
            compare_swap_nbi::<$T>
        );
        with_ctx_path!(
            concat!($name, "_atomic_fetch_inc_nbi"),
            (fetch: *mut $T, dest: *mut $T, pe: c_int),
            |path: &AddressPath, fetch, dest, pe| leave(path, fetch, || path.fetch_inc::<$T>(dest, pe)),
            fetch_inc_nbi::<$T>
        );
        with_ctx_path!(
            concat!($name, "_atomic_fetch_add_nbi"),
            (fetch: *mut $T, dest: *mut $T, value: $T, pe: c_int),
            |path: &AddressPath, fetch, dest, value, pe| leave(path, fetch, || path.fetch_add::<$T>(dest, value, pe)),
            fetch_add_nbi::<$T>
        );
    };
}

/// One operation of table 8.
macro_rules! bitwise_one {
    ($name:literal, $operation:literal, $T:ty, $update:ident, $fetch:ident, $nbi:ident) => {
        with_ctx_path!(
            concat!($name, "_atomic_", $operation),
            (dest: *mut $T, value: $T, pe: c_int),
            AddressPath::$update::<$T>,
            $update::<$T>
        );
        with_ctx_path!(
            concat!($name, "_atomic_fetch_", $operation),
            (dest: *mut $T, value: $T, pe: c_int) -> $T,
            AddressPath::$fetch::<$T>,
            $fetch::<$T>
        );
        with_ctx_path!(
            concat!($name, "_atomic_fetch_", $operation, "_nbi"),
            (fetch: *mut $T, dest: *mut $T, value: $T, pe: c_int),
            |path: &AddressPath, fetch, dest, value, pe| leave(path, fetch, || path.$fetch::<$T>(dest, value, pe)),
            $nbi::<$T>
        );
    };
}

macro_rules! bitwise {
    ($name:literal, $T:ty) => {
        bitwise_one!($name, "and", $T, and, fetch_and, fetch_and_nbi);
        bitwise_one!($name, "or", $T, or, fetch_or, fetch_or_nbi);
        bitwise_one!($name, "xor", $T, xor, fetch_xor, fetch_xor_nbi);
    };
}

/// `shmem_$name`, which `$path` does, or else `$body`, called with the [`Call`] and the arguments.
macro_rules! old {
    ($name:expr, ($($arg:ident: $ty:ty),*) $(-> $ret:ty)?, $path:expr, $body:expr) => {
        export_path!(
            concat!("shmem_", $name), ($($arg: $ty),*) $(-> $ret)?,
            &DEFAULT_PATH => $path, Call::long(concat!("shmem_", $name)) => $body
        );
    };
}

macro_rules! old_extended {
    ($name:literal, $T:ty) => {
        old!(concat!($name, "_fetch"), (source: *const $T, pe: c_int) -> $T, AddressPath::fetch::<$T>, fetch::<$T>);
        old!(concat!($name, "_set"), (dest: *mut $T, value: $T, pe: c_int), AddressPath::set::<$T>, set::<$T>);
        old!(concat!($name, "_swap"), (dest: *mut $T, value: $T, pe: c_int) -> $T, AddressPath::swap::<$T>, swap::<$T>);
    };
}

macro_rules! old_standard {
    ($name:literal, $T:ty) => {
        old!(
            concat!($name, "_cswap"),
            (dest: *mut $T, cond: $T, value: $T, pe: c_int) -> $T,
            AddressPath::compare_swap::<$T>, compare_swap::<$T>
        );
        old!(concat!($name, "_finc"), (dest: *mut $T, pe: c_int) -> $T, AddressPath::fetch_inc::<$T>, fetch_inc::<$T>);
        old!(concat!($name, "_inc"), (dest: *mut $T, pe: c_int), AddressPath::inc::<$T>, inc::<$T>);
        old!(concat!($name, "_fadd"), (dest: *mut $T, value: $T, pe: c_int) -> $T, AddressPath::fetch_add::<$T>, fetch_add::<$T>);
        old!(concat!($name, "_add"), (dest: *mut $T, value: $T, pe: c_int), AddressPath::add::<$T>, add::<$T>);
    };
}

amo_types!(extended);
float_amo_types!(extended);
amo_types!(standard);
bitwise_types!(bitwise);
old_amo_types!(old_extended);
float_amo_types!(old_extended);
old_amo_types!(old_standard);
