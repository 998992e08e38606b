//! Collectives on teams that move data (`OpenSHMEM 1.6 §9.10.5` to `§9.10.8`).
//!
//! They copy elements without looking at them, so that it is one function a size, whatever the
//! type. Those over active sets call the functions here too.

use std::ffi::{c_int, c_void};

use oxshmem::{Collective, SymView, Team};

use crate::{
    call::Call,
    export::export,
    teams::{NO_TEAM, TeamHandle, find},
    types::{Stream, rma_types},
};

/// What a routine was called with, but for its team: the elements are of `N` bytes, and need no
/// alignment.
#[derive(Clone, Copy)]
pub(crate) struct Data<const N: usize> {
    pub(crate) call: Call,
    pub(crate) dest: *mut c_void,
    pub(crate) source: *const c_void,
    pub(crate) nelems: usize,
    /// The stream in whose order it is, if it is in one's.
    pub(crate) stream: Option<Stream>,
}

impl<const N: usize> Data<N> {
    fn dest(self, len: usize) -> SymView<'static, [u8; N]> {
        self.call.view("dest", self.dest.cast_const().cast(), len)
    }

    fn source(self, len: usize) -> SymView<'static, [u8; N]> {
        self.call.view("source", self.source.cast(), len)
    }

    /// Runs the collective, here or in the order of the stream.
    fn run(self, team: &Team, collective: &dyn Fn(&Team) -> Collective<'_>) -> c_int {
        self.call.on_team(team, self.stream, collective)
    }

    pub(crate) fn alltoall(self, team: &Team) -> c_int {
        // More than any memory holds is not symmetric.
        let len = self.nelems.saturating_mul(team.n_pes());
        self.run(team, &|team| team.alltoall(self.dest(len), self.source(len)))
    }

    pub(crate) fn alltoalls(self, team: &Team, dst: isize, sst: isize) -> c_int {
        let [dst, sst] = [("dst", dst), ("sst", sst)].map(|(what, stride)| match usize::try_from(stride) {
            Ok(stride) if stride > 0 => stride,
            _ => self.call.fail(format_args!("{what} = {stride} is less than 1")),
        });
        let before = self.nelems.saturating_mul(team.n_pes()).checked_sub(1);
        let span = |stride: usize| before.map_or(0, |before| before.saturating_mul(stride).saturating_add(1));
        let (dest, source) = (self.dest(span(dst)), self.source(span(sst)));
        self.run(team, &|team| team.alltoalls(dest, source, dst, sst, self.nelems))
    }

    /// The root; one that is not in the team ends the job.
    fn root(self, team: &Team, root: c_int) -> usize {
        match usize::try_from(root) {
            Ok(pe) if pe < team.n_pes() => pe,
            _ => self.call.fail(format_args!(
                "PE_root = {root} is out of range: there are {} PEs in the team",
                team.n_pes()
            )),
        }
    }

    pub(crate) fn broadcast(self, team: &Team, root: c_int) -> c_int {
        let root = self.root(team, root);
        self.run(team, &|team| team.broadcast(self.dest(self.nelems), self.source(self.nelems), root))
    }

    pub(crate) fn broadcast_to_others(self, team: &Team, root: c_int) -> c_int {
        let root = self.root(team, root);
        self.run(team, &|team| {
            team.broadcast_to_others(self.dest(self.nelems), self.source(self.nelems), root)
        })
    }

    pub(crate) fn collect(self, team: &Team) -> c_int {
        // The length of the result is not known before: it may fill all that there is.
        let rest = self.call.global.addresses.rest(self.dest.cast_const().cast());
        let dest = rest.unwrap_or_else(|| self.dest(self.nelems));
        self.run(team, &|team| team.collect(dest, self.source(self.nelems)))
    }

    pub(crate) fn fcollect(self, team: &Team) -> c_int {
        let dest = self.dest(self.nelems.saturating_mul(team.n_pes()));
        self.run(team, &|team| team.fcollect(dest, self.source(self.nelems)))
    }
}

/// Defines `shmem_$name` and `shmemx_$name_on_stream`: `$does` with their data and their team.
macro_rules! collective {
    ($name:expr, $C:ty, $N:expr, ($($arg:ident: $ty:ty),*), $does:ident) => {
        collective!($name, $C, $N, (), ($($arg: $ty),*), $does);
    };
    ($name:expr, $C:ty, $N:expr, ($($before:ident: $before_ty:ty),*), ($($after:ident: $after_ty:ty),*), $does:ident) => {
        export!(concat!("shmem_", $name), |name| (
            team: TeamHandle,
            dest: *mut $C,
            source: *const $C,
            $($before: $before_ty,)*
            nelems: usize,
            $($after: $after_ty,)*
        ) -> c_int {
            let call = Call::long(name);
            let Some(team) = find(call, team) else { return NO_TEAM };
            let (dest, source) = (dest.cast(), source.cast());
            let data = Data::<{ $N }> { call, dest, source, nelems, stream: None };
            data.$does(team, $($before,)* $($after,)*)
        });
        export!(concat!("shmemx_", $name, "_on_stream"), |name| (
            team: TeamHandle,
            dest: *mut $C,
            source: *const $C,
            $($before: $before_ty,)*
            nelems: usize,
            $($after: $after_ty,)*
            stream: Stream,
        ) -> c_int {
            let call = Call::long(name);
            let Some(team) = find(call, team) else { return NO_TEAM };
            let (dest, source) = (dest.cast(), source.cast());
            let data = Data::<{ $N }> { call, dest, source, nelems, stream: Some(stream) };
            data.$does(team, $($before,)* $($after,)*)
        });
    };
}

/// All of one type, or of bytes.
macro_rules! collectives {
    ($alltoall:expr, $alltoalls:expr, $broadcast:expr, $collect:expr, $fcollect:expr, $C:ty, $N:expr) => {
        collective!($alltoall, $C, $N, (), alltoall);
        collective!($alltoalls, $C, $N, (dst: isize, sst: isize), (), alltoalls);
        collective!($broadcast, $C, $N, (pe_root: c_int), broadcast);
        collective!($collect, $C, $N, (), collect);
        collective!($fcollect, $C, $N, (), fcollect);
    };
}

macro_rules! typed {
    ($name:literal, $T:ty) => {
        collectives!(
            concat!($name, "_alltoall"),
            concat!($name, "_alltoalls"),
            concat!($name, "_broadcast"),
            concat!($name, "_collect"),
            concat!($name, "_fcollect"),
            $T,
            size_of::<$T>()
        );
    };
}

rma_types!(typed);
typed!("longdouble", oxshmem::LongDouble);

collectives!("alltoallmem", "alltoallsmem", "broadcastmem", "collectmem", "fcollectmem", c_void, 1);
