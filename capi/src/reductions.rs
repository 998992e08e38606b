//! Reductions and scans on teams (`OpenSHMEM 1.6 §9.10.9`, `§9.10.10`).

use std::ffi::c_int;

use oxshmem::{Collective, Complex, Element, LongDouble, SymView, Team};

use crate::{
    call::Call,
    export::export,
    teams::{NO_TEAM, TeamHandle, find},
    types::{Stream, rma_types},
};

/// What a reduction or scan of elements of type `T` is in Rust.
pub(crate) type Method<T> = for<'a> fn(&'a Team, SymView<'a, T>, SymView<'a, T>) -> Collective<'a>;

/// The arguments of a reduction or scan.
struct Reduction<T> {
    call: Call,
    team: TeamHandle,
    dest: *const T,
    source: *const T,
    nelems: usize,
}

impl<T: Element> Reduction<T> {
    /// Does it here, or in the order of a stream: one function a type.
    #[inline(never)]
    fn run(self, stream: Option<Stream>, method: Method<T>) -> c_int {
        let Self { call, team, dest, source, nelems } = self;
        let Some(team) = find(call, team) else { return NO_TEAM };
        let (dest, source) = (call.view("dest", dest, nelems), call.view("source", source, nelems));
        call.on_team(team, stream, &|team| method(team, dest, source))
    }
}

/// Defines one routine for one type, and the one in the order of a stream.
macro_rules! reduction {
    ($name:literal, $T:ty, $op:literal, $does:ident) => {
        export!(
            concat!("shmem_", $name, "_", $op),
            |name| (team: TeamHandle, dest: *mut $T, source: *const $T, nelems: usize) -> c_int {
                let call = Call::long(name);
                Reduction { call, team, dest, source, nelems }.run(None, |team, dest, source| team.$does(dest, source))
            }
        );
        export!(
            concat!("shmemx_", $name, "_", $op, "_on_stream"),
            |name| (
                team: TeamHandle,
                dest: *mut $T,
                source: *const $T,
                nelems: usize,
                stream: Stream,
            ) -> c_int {
                let call = Call::long(name);
                Reduction { call, team, dest, source, nelems }.run(Some(stream), |team, dest, source| team.$does(dest, source))
            }
        );
    };
}

macro_rules! bitwise {
    ($name:literal, $T:ty) => {
        reduction!($name, $T, "and_reduce", and_reduce);
        reduction!($name, $T, "or_reduce", or_reduce);
        reduction!($name, $T, "xor_reduce", xor_reduce);
    };
}

macro_rules! ordered {
    ($name:literal, $T:ty) => {
        reduction!($name, $T, "max_reduce", max_reduce);
        reduction!($name, $T, "min_reduce", min_reduce);
        arithmetic!($name, $T);
    };
}

macro_rules! arithmetic {
    ($name:literal, $T:ty) => {
        reduction!($name, $T, "sum_reduce", sum_reduce);
        reduction!($name, $T, "prod_reduce", prod_reduce);
        reduction!($name, $T, "sum_inscan", sum_inscan);
        reduction!($name, $T, "sum_exscan", sum_exscan);
    };
}

/// The types of table 10 for and, or, xor.
macro_rules! bitwise_types {
    ($m:ident) => {
        $m!("uchar", u8);
        $m!("ushort", u16);
        $m!("uint", u32);
        $m!("ulong", u64);
        $m!("ulonglong", u64);
        $m!("int8", i8);
        $m!("int16", i16);
        $m!("int32", i32);
        $m!("int64", i64);
        $m!("uint8", u8);
        $m!("uint16", u16);
        $m!("uint32", u32);
        $m!("uint64", u64);
        $m!("size", usize);
    };
}

bitwise_types!(bitwise);
// Those for max and min are the types of RMA.
rma_types!(ordered);
ordered!("longdouble", LongDouble);
arithmetic!("complexd", Complex<f64>);
arithmetic!("complexf", Complex<f32>);
