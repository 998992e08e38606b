//! Collectives on active sets (`OpenSHMEM 1.6 §9.10`, deprecated there).
//!
//! An active set becomes a team the first time that its PEs call something together: they meet in
//! the pSync of that call, which is 0 again afterwards. The team is kept for their next call, and
//! is why pSync and pWrk are not used then. Where a program has a great many active sets, so that
//! there is no room to keep more, the team ends with the call.
//!
//! Threads may call something on one active set at once, if each has a pSync of its own. A team's
//! collectives have one order on all PEs, which threads do not keep, so in a job that asked for
//! `SHMEM_THREAD_MULTIPLE` on any PE, each pSync has a team of its own.

use std::{
    ffi::{c_int, c_long, c_void},
    sync::{Arc, PoisonError},
};

use oxshmem::{Complex, Element, LongDouble, SymView, Team};
use oxshmem_base::report;

use crate::{
    call::Call,
    collectives::Data,
    export::export,
    reductions::Method,
    tables::{
        making::{Making, SYNC_WORDS},
        sets::{Set, Sets},
    },
};

/// `SHMEM_SYNC_SIZE`, and every other constant for the elements of a pSync.
const SYNC_SIZE: usize = 32;

/// The three numbers by which C names an active set.
#[derive(Clone, Copy)]
struct Triplet {
    start: c_int,
    log_stride: c_int,
    size: c_int,
}

impl Triplet {
    /// Checks the numbers. None if this PE is not in the set: other libraries have it do nothing,
    /// and so programs call collectives on all PEs.
    fn set(self, call: Call) -> Option<Set> {
        let (me, n_pes) = (call.global.world.my_pe(), call.global.world.n_pes());
        let start = self.natural(call, "PE_start", self.start, 0);
        let log_stride = self.natural(call, "logPE_stride", self.log_stride, 0);
        let size = self.natural(call, "PE_size", self.size, 1);
        // The stride of a single PE is of no importance.
        let stride = if size == 1 { Some(1) } else { 1_usize.checked_shl(log_stride as u32) };
        let last = stride.and_then(|stride| (size - 1).checked_mul(stride)?.checked_add(start));
        let (Some(stride), Some(_)) = (stride, last.filter(|&last| last < n_pes)) else {
            self.fail(call, format_args!("it goes beyond the last of {n_pes} PEs"))
        };
        if me < start || !(me - start).is_multiple_of(stride) || (me - start) / stride >= size {
            if call.global.world.pe().settings().debug {
                let name = call.name;
                report(format_args!(
                    "oxshmem: warning: PE {me}: {name}: it is not in the active set with PE_start = {start}, \
                     logPE_stride = {log_stride} and PE_size = {size}, so the call does nothing"
                ));
            }
            return None;
        }
        Some([start, stride, size])
    }

    fn natural(self, call: Call, what: &str, value: c_int, least: usize) -> usize {
        match usize::try_from(value) {
            Ok(value) if value >= least => value,
            _ => self.fail(call, format_args!("{what} is less than {least}")),
        }
    }

    #[cold]
    fn fail(self, call: Call, why: std::fmt::Arguments<'_>) -> ! {
        let Self { start, log_stride, size } = self;
        call.fail(format_args!(
            "the active set with PE_start = {start}, logPE_stride = {log_stride} and PE_size = {size} is wrong: {why}"
        ))
    }

    /// Does something with the team of the set.
    #[inline(never)]
    fn run(self, call: Call, p_sync: *mut c_long, work: &dyn Fn(&Team) -> c_int) {
        let Some(set) = self.set(call) else { return };
        let sync = call.view("pSync", p_sync.cast_const().cast::<u64>(), SYNC_SIZE);
        let world = call.global.world.team();
        let Sets { threads, teams } = &call.global.sets;
        if !threads && set == [0, 1, world.n_pes()] {
            work(world);
            return;
        }
        let key = (set, if *threads { p_sync.addr() } else { 0 });
        let known = teams.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(team) = known {
            work(&team);
            return;
        }
        let (team, keep) = self.make(call, world, set, sync);
        if keep {
            let team = Arc::new(team);
            teams.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&team));
            work(&team);
        } else {
            work(&team);
            call.collective(|| team.destroy());
        }
    }

    /// Makes the team.
    fn make(self, call: Call, world: &Team, set: Set, sync: SymView<'_, u64>) -> (Team, bool) {
        // Others may have begun to write to the words in front.
        if let Some(i) = (SYNC_WORDS..SYNC_SIZE).find(|&i| sync.at(i).load() != 0) {
            call.fail(format_args!(
                "pSync[{i}] is not SHMEM_SYNC_VALUE; set all its elements to that before the first call"
            ));
        }
        let Some(making) = Making::new(world, set, sync) else {
            self.fail(call, format_args!("this PE is not in it"))
        };
        let [start, stride, size] = set;
        let _entry = world.places().enter(start, stride, size);
        call.value(call.outcome(|| making.make("active_set")))
    }
}

export!("shmem_barrier", |name| (start: c_int, log_stride: c_int, size: c_int, p_sync: *mut c_long) {
    let call = Call::long(name);
    call.complete(call.context.quiet());
    Triplet { start, log_stride, size }.run(call, p_sync, &|team| call.collective(|| team.sync()));
});

export!("shmem_sync", |name| (start: c_int, log_stride: c_int, size: c_int, p_sync: *mut c_long) {
    let call = Call::long(name);
    Triplet { start, log_stride, size }.run(call, p_sync, &|team| call.collective(|| team.sync()));
});

/// Defines one routine that moves elements of `$N` bytes.
macro_rules! moving {
    ($name:literal, $N:literal, ($($before:ident: $before_ty:ty),*), ($($after:ident: $after_ty:ty),*), $does:ident) => {
        export!($name, |name| (
            dest: *mut c_void,
            source: *const c_void,
            $($before: $before_ty,)*
            nelems: usize,
            $($after: $after_ty,)*
            start: c_int,
            log_stride: c_int,
            size: c_int,
            p_sync: *mut c_long,
        ) {
            let call = Call::long(name);
            let data = Data::<$N> { call, dest, source, nelems, stream: None };
            Triplet { start, log_stride, size }
                .run(call, p_sync, &|team| data.$does(team, $($before,)* $($after,)*));
        });
    };
}

moving!("shmem_broadcast32", 4, (), (root: c_int), broadcast_to_others);
moving!("shmem_broadcast64", 8, (), (root: c_int), broadcast_to_others);
moving!("shmem_collect32", 4, (), (), collect);
moving!("shmem_collect64", 8, (), (), collect);
moving!("shmem_fcollect32", 4, (), (), fcollect);
moving!("shmem_fcollect64", 8, (), (), fcollect);
moving!("shmem_alltoall32", 4, (), (), alltoall);
moving!("shmem_alltoall64", 8, (), (), alltoall);
moving!("shmem_alltoalls32", 4, (dst: isize, sst: isize), (), alltoalls);
moving!("shmem_alltoalls64", 8, (dst: isize, sst: isize), (), alltoalls);

/// The arguments of a reduction.
struct SetReduction<T> {
    call: Call,
    dest: *const T,
    source: *const T,
    nreduce: c_int,
}

impl<T: Element> SetReduction<T> {
    /// Does it with the team of a set: one function a type.
    #[inline(never)]
    fn run(self, set: Triplet, p_sync: *mut c_long, method: Method<T>) {
        let Self { call, dest, source, nreduce } = self;
        let Ok(len) = usize::try_from(nreduce) else {
            call.fail(format_args!("nreduce = {nreduce} is negative"))
        };
        let (dest, source) = (call.view("dest", dest, len), call.view("source", source, len));
        set.run(call, p_sync, &|team| call.on_team(team, None, &|team| method(team, dest, source)));
    }
}

/// Defines one reduction for one type.
macro_rules! to_all {
    ($name:literal, $T:ty, $op:literal, $does:ident) => {
        export!(concat!("shmem_", $name, "_", $op, "_to_all"), |name| (
            dest: *mut $T,
            source: *const $T,
            nreduce: c_int,
            start: c_int,
            log_stride: c_int,
            size: c_int,
            _p_wrk: *mut $T,
            p_sync: *mut c_long,
        ) {
            let reduction = SetReduction { call: Call::long(name), dest, source, nreduce };
            reduction.run(Triplet { start, log_stride, size }, p_sync, |team, dest, source| team.$does(dest, source));
        });
    };
}

macro_rules! bitwise {
    ($name:literal, $T:ty) => {
        to_all!($name, $T, "and", and_reduce);
        to_all!($name, $T, "or", or_reduce);
        to_all!($name, $T, "xor", xor_reduce);
    };
}

macro_rules! ordered {
    ($name:literal, $T:ty) => {
        to_all!($name, $T, "max", max_reduce);
        to_all!($name, $T, "min", min_reduce);
        arithmetic!($name, $T);
    };
}

macro_rules! arithmetic {
    ($name:literal, $T:ty) => {
        to_all!($name, $T, "sum", sum_reduce);
        to_all!($name, $T, "prod", prod_reduce);
    };
}

/// The types of table 11 for and, or, xor.
macro_rules! bitwise_types {
    ($m:ident) => {
        $m!("short", i16);
        $m!("int", i32);
        $m!("long", i64);
        $m!("longlong", i64);
    };
}

bitwise_types!(bitwise);
bitwise_types!(ordered);
ordered!("float", f32);
ordered!("double", f64);
ordered!("longdouble", LongDouble);
arithmetic!("complexd", Complex<f64>);
arithmetic!("complexf", Complex<f32>);
