//! Point-to-point synchronisation (`OpenSHMEM 1.6 §9.11`), with the deprecated forms for 16 bits
//! and without a comparison.

use std::ffi::c_int;

use oxshmem::{Cmp, Masked, Wait, WaitSet, Waitable};

use crate::{
    call::Call,
    export::export,
    state::DEFAULT_PATH,
    types::{amo_types, old_amo_types},
};

/// A comparison: the numbers are those of the header.
#[inline(always)]
pub(crate) fn comparison(call: Call, cmp: c_int) -> Cmp {
    match cmp {
        1 => Cmp::Eq,
        2 => Cmp::Ne,
        3 => Cmp::Lt,
        4 => Cmp::Le,
        5 => Cmp::Gt,
        6 => Cmp::Ge,
        _ => call.fail(format_args!("cmp = {cmp} is none of SHMEM_CMP_EQ, NE, LT, LE, GT and GE")),
    }
}

#[inline(always)]
fn wait_until<T: Waitable>(call: Call, what: &'static str, ivar: *mut T, cmp: Cmp, value: T) -> T {
    let seen = call.look(call.word(what, ivar.cast_const()).wait_until(cmp, value));
    DEFAULT_PATH.prepare_answer();
    seen
}

#[inline(always)]
fn test<T: Waitable>(call: Call, ivar: *mut T, cmp: Cmp, value: T) -> c_int {
    c_int::from(call.word("ivar", ivar.cast_const()).test(cmp, value))
}

/// What the routines for several words are given.
struct Words<T> {
    call: Call,
    ivars: *mut T,
    nelems: usize,
    status: *const c_int,
    cmp: c_int,
}

impl<T: Waitable> Words<T> {
    fn cmp(&self) -> Cmp {
        comparison(self.call, self.cmp)
    }

    fn set<'a>(&self) -> Masked<'a, T> {
        let Self { call, ivars, nelems, status, .. } = *self;
        let words = call.view("ivars", ivars.cast_const(), nelems);
        if status.is_null() {
            return words.set();
        }
        // SAFETY: the caller vouches for an element for each word, and the wait is over when the
        // call returns.
        words.excluding(unsafe { call.slice("status", status, nelems) })
    }

    fn values<'a>(&self, values: *const T) -> &'a [T] {
        // SAFETY: as above.
        unsafe { self.call.slice("cmp_values", values, self.nelems) }
    }

    fn wait_until_all(self, value: T) {
        self.call.wait(self.set().wait_until_all(self.cmp(), value));
    }

    fn wait_until_all_vector(self, values: *const T) {
        self.call.wait(self.set().wait_until_all_vector(self.cmp(), self.values(values)));
    }

    fn wait_until_any(self, value: T) -> usize {
        index(self.call.wait(self.set().wait_until_any(self.cmp(), value)))
    }

    fn wait_until_any_vector(self, values: *const T) -> usize {
        index(self.call.wait(self.set().wait_until_any_vector(self.cmp(), self.values(values))))
    }

    fn wait_until_some(self, indices: *mut usize, value: T) -> usize {
        let satisfied = self.call.wait(self.set().wait_until_some(self.cmp(), value));
        name(self.call, &satisfied, indices)
    }

    fn wait_until_some_vector(self, indices: *mut usize, values: *const T) -> usize {
        let satisfied = self.call.wait(self.set().wait_until_some_vector(self.cmp(), self.values(values)));
        name(self.call, &satisfied, indices)
    }

    fn test_all(self, value: T) -> c_int {
        c_int::from(self.set().test_all(self.cmp(), value))
    }

    fn test_all_vector(self, values: *const T) -> c_int {
        c_int::from(self.set().test_all_vector(self.cmp(), self.values(values)))
    }

    fn test_any(self, value: T) -> usize {
        index(self.set().test_any(self.cmp(), value))
    }

    fn test_any_vector(self, values: *const T) -> usize {
        index(self.set().test_any_vector(self.cmp(), self.values(values)))
    }

    fn test_some(self, indices: *mut usize, value: T) -> usize {
        name(self.call, &self.set().test_some(self.cmp(), value), indices)
    }

    fn test_some_vector(self, indices: *mut usize, values: *const T) -> usize {
        name(self.call, &self.set().test_some_vector(self.cmp(), self.values(values)), indices)
    }
}

/// An index, or `SIZE_MAX`.
fn index(index: Option<usize>) -> usize {
    index.unwrap_or(usize::MAX)
}

/// Writes down which words are satisfied. Returns how many.
fn name(call: Call, satisfied: &[usize], indices: *mut usize) -> usize {
    call.not_null("indices", indices.cast_const(), satisfied.len());
    for (i, &index) in satisfied.iter().enumerate() {
        // SAFETY: the caller has room for as many indices as there are words.
        unsafe { indices.add(i).write_unaligned(index) };
    }
    satisfied.len()
}

/// The routines for one word that take a comparison.
macro_rules! one {
    ($name:literal, $T:ty) => {
        export!(concat!("shmem_", $name, "_wait_until"), |name| (ivar: *mut $T, cmp: c_int, cmp_value: $T) {
            let call = Call::new(name);
            wait_until(call, "ivar", ivar, comparison(call, cmp), cmp_value);
        });
        export!(concat!("shmem_", $name, "_test"), |name| (ivar: *mut $T, cmp: c_int, cmp_value: $T) -> c_int {
            let call = Call::new(name);
            test(call, ivar, comparison(call, cmp), cmp_value)
        });
    };
}

/// One routine for several words.
macro_rules! set {
    ($name:literal, $T:ty, $do:ident($($indices:ident)?; $values:ty) $(-> $ret:ty)?) => {
        export!(
            concat!("shmem_", $name, "_", stringify!($do)),
            |name| (
                ivars: *mut $T,
                nelems: usize,
                $($indices: *mut usize,)?
                status: *const c_int,
                cmp: c_int,
                values: $values,
            ) $(-> $ret)? {
                Words { call: Call::new(name), ivars, nelems, status, cmp }.$do($($indices,)? values)
            }
        );
    };
}

macro_rules! several {
    ($name:literal, $T:ty) => {
        set!($name, $T, wait_until_all(; $T));
        set!($name, $T, wait_until_any(; $T) -> usize);
        set!($name, $T, wait_until_some(indices; $T) -> usize);
        set!($name, $T, wait_until_all_vector(; *const $T));
        set!($name, $T, wait_until_any_vector(; *const $T) -> usize);
        set!($name, $T, wait_until_some_vector(indices; *const $T) -> usize);
        set!($name, $T, test_all(; $T) -> c_int);
        set!($name, $T, test_any(; $T) -> usize);
        set!($name, $T, test_some(indices; $T) -> usize);
        set!($name, $T, test_all_vector(; *const $T) -> c_int);
        set!($name, $T, test_any_vector(; *const $T) -> usize);
        set!($name, $T, test_some_vector(indices; *const $T) -> usize);
    };
}

/// The routine that waits for a change.
macro_rules! change {
    ($name:literal, $T:ty) => {
        change!(@ concat!("shmem_", $name, "_wait"), $T);
    };
    (@ $name:expr, $T:ty) => {
        export!($name, |name| (ivar: *mut $T, cmp_value: $T) {
            wait_until(Call::new(name), "ivar", ivar, Cmp::Ne, cmp_value);
        });
    };
}

amo_types!(one);
amo_types!(several);
one!("short", i16);
one!("ushort", u16);
// Other libraries have these.
several!("short", i16);
several!("ushort", u16);
old_amo_types!(change);
change!("short", i16);
change!(@ "shmem_wait", i64);

export!("shmem_wait_until", |name| (ivar: *mut i64, cmp: c_int, cmp_value: i64) {
    let call = Call::new(name);
    wait_until(call, "ivar", ivar, comparison(call, cmp), cmp_value);
});

export!("shmem_signal_wait_until", |name| (sig_addr: *mut u64, cmp: c_int, cmp_value: u64) -> u64 {
    let call = Call::new(name);
    wait_until(call, "sig_addr", sig_addr, comparison(call, cmp), cmp_value)
});
