//! The bounds of collectives: one PE's share of the bytes that must be moved and added, by `memcpy`
//! and a loop over vector registers, on the same memory, without any agreement with other PEs.
//!
//! | collective of S bytes | what each of n PEs must do |
//! |---|---|
//! | broadcast | copy S |
//! | fcollect, collect, alltoall | copy n blocks of S |
//! | sum | an n-th of the vector: add n sources, store the result, copy it to n − 1 PEs |
//! | inscan | an n-th of the vector: copy 1 source, then add n − 1 times, each to another PE |
//!
//! Where PEs share a core, that core does the shares of all of them, one after the other: what its
//! caches must hold is then what it is in the collective. Beside it is what agreeing takes: a flag
//! one way, or a synchronisation of PEs that share cores.

use std::{
    sync::atomic::Ordering::{Acquire, Release},
    time::Instant,
};

use oxshmem::{SymSlice, World};

use crate::{
    measured::Op,
    raw::{address, memcpy, spin, word, word_of},
};

/// Words between those that different PEs set.
pub(crate) const APART: usize = 16;

/// Bytes that are added, and then copied, at a time: they stay in the core's cache.
const BLOCK: usize = 32 << 10;

/// The shares of the PEs of one core.
pub(crate) struct Shares(Vec<Share>);

/// One PE's share of a collective.
struct Share {
    op: Op,
    bytes: usize,
    /// Where to write, and where to read, for each PE.
    dests: Vec<*mut u8>,
    sources: Vec<*mut u8>,
}

impl Shares {
    /// The shares of all PEs on this one's core, where PEs are bound to `cores` cores in turn, for
    /// the first PE of each core; none for the others, whose turn would come after.
    pub(crate) fn new(
        op: Op,
        world: &World,
        cores: usize,
        [dest, source]: [&SymSlice<f64>; 2],
        elements: usize,
    ) -> Self {
        let (me, n) = (world.my_pe(), world.n_pes());
        let pes = (me..n).step_by(cores).filter(|_| me < cores);
        Self(pes.map(|pe| Share::new(op, pe, n, [dest, source], elements)).collect())
    }

    /// The time that they take once, in ns: the median of some attempts of several times each. Of
    /// the best one, the others' misfortunes in caches that the machine shares with strangers would
    /// be missing, which collectives have too.
    pub(crate) fn time(&self, times: usize) -> f64 {
        const ATTEMPTS: usize = 5;
        if self.0.is_empty() {
            return 0.0;
        }
        let times = times.div_ceil(ATTEMPTS).max(4);
        let attempt = || {
            let start = Instant::now();
            for _ in 0..times {
                // SAFETY: `new` took every address from slices that have `bytes` there, which stay
                // allocated; all PEs are between collectives, and no two cores write the same
                // bytes.
                self.0.iter().for_each(|share| unsafe { share.once() });
            }
            start.elapsed().as_nanos() as f64 / times as f64
        };
        let mut attempts = [(); ATTEMPTS].map(|()| attempt());
        attempts.sort_by(f64::total_cmp);
        attempts[ATTEMPTS / 2]
    }
}

impl Share {
    fn new(op: Op, me: usize, n: usize, [dest, source]: [&SymSlice<f64>; 2], elements: usize) -> Self {
        let bytes = elements * 8;
        let chunk = (bytes.div_ceil(n)).next_multiple_of(64).min(bytes);
        let start = (me * chunk).min(bytes);
        let (mut dests, mut sources) = (Vec::new(), Vec::new());
        let mut add = |to: *mut u8, from: *mut u8| {
            dests.push(to);
            sources.push(from);
        };
        let own = |slice: &SymSlice<f64>, block: usize| address(slice.slice(block * elements..), me);
        let all = 0..n;
        match op {
            Op::Barrier | Op::Sync => {}
            Op::Broadcast | Op::BroadcastRotating => add(own(dest, 0), address(source.slice(..), 0)),
            Op::Fcollect | Op::Collect => {
                all.for_each(|pe| add(own(dest, pe), address(source.slice(..), pe)));
            }
            Op::Alltoall | Op::Alltoalls => {
                all.for_each(|pe| add(own(dest, pe), address(source.slice(me * elements..), pe)));
            }
            Op::Sum | Op::Inscan => {
                // Its own destination is the first.
                all.map(|i| (me + i) % n).for_each(|pe| {
                    let part = start / 8..;
                    add(address(dest.slice(part.clone()), pe), address(source.slice(part), pe));
                });
            }
        }
        let bytes = if matches!(op, Op::Sum | Op::Inscan) { chunk.min(bytes - start) } else { bytes };
        Self { op, bytes, dests, sources }
    }

    /// # Safety
    /// The addresses must be those of memory that no other thread writes.
    unsafe fn once(&self) {
        if !matches!(self.op, Op::Sum | Op::Inscan) {
            for (&to, &from) in self.dests.iter().zip(&self.sources) {
                // SAFETY: passed on to the caller.
                unsafe { memcpy(to, from, self.bytes) };
            }
            return;
        }
        for start in (0..self.bytes).step_by(BLOCK) {
            let len = BLOCK.min(self.bytes - start);
            // SAFETY: `start` and `len` are inside of `bytes`, for which the caller speaks.
            unsafe {
                let at = |list: &[*mut u8], i: usize| list[i].add(start);
                let n = self.sources.len();
                if self.op == Op::Inscan || n == 1 {
                    memcpy(at(&self.dests, 0), at(&self.sources, 0), len);
                }
                for i in 1..n {
                    if self.op == Op::Inscan {
                        add(at(&self.dests, i), at(&self.dests, i - 1), at(&self.sources, i), len);
                    } else {
                        let so_far = if i == 1 { &self.sources } else { &self.dests };
                        add(at(&self.dests, 0), at(so_far, 0), at(&self.sources, i), len);
                    }
                }
                for i in 1..n {
                    if self.op == Op::Sum {
                        memcpy(at(&self.dests, i), at(&self.dests, 0), len);
                    }
                }
            }
        }
    }
}

/// `out = a + b` over `len` bytes of `f64`, in the widest registers there are.
///
/// # Safety
/// All three must be valid and aligned; `out` may be `a`.
unsafe fn add(out: *mut u8, a: *mut u8, b: *mut u8, len: usize) {
    #[inline(always)]
    unsafe fn each(out: *mut f64, a: *const f64, b: *const f64, count: usize) {
        for i in 0..count {
            // SAFETY: passed on to the caller.
            unsafe { *out.add(i) = *a.add(i) + *b.add(i) };
        }
    }
    let (out, a, b, count) = (out.cast::<f64>(), a.cast::<f64>(), b.cast::<f64>(), len / 8);
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        unsafe fn wide(out: *mut f64, a: *const f64, b: *const f64, count: usize) {
            // SAFETY: passed on to the caller.
            unsafe { each(out, a, b, count) }
        }
        #[target_feature(enable = "avx2")]
        unsafe fn middle(out: *mut f64, a: *const f64, b: *const f64, count: usize) {
            // SAFETY: passed on to the caller.
            unsafe { each(out, a, b, count) }
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it; the rest is passed on to the caller.
            return unsafe { wide(out, a, b, count) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { middle(out, a, b, count) };
        }
    }
    // SAFETY: passed on to the caller.
    unsafe { each(out, a, b, count) }
}

/// How long a flag takes from one of 2 PEs to the other, in ns. Both call it, as often: `number`
/// counts the flags. It is the best of some attempts, as a PE that was interrupted is not far away.
pub(crate) fn one_way(words: &SymSlice<u64>, me: usize, number: &mut u64) -> f64 {
    const ROUNDS: u64 = 40;
    let (mine, theirs) = (word(words.slice(..), me), word(words.slice(..), 1 - me));
    let mut attempt = || {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            *number += 1;
            if me == 1 {
                spin(mine, *number);
            }
            theirs.store(*number, Release);
            if me == 0 {
                spin(mine, *number);
            }
        }
        start.elapsed().as_nanos() as f64 / ROUNDS as f64 / 2.0
    };
    (0..8).map(|_| attempt()).fold(f64::INFINITY, f64::min)
}

/// How long `n` PEs that share processors take to meet, in ns: each sets a word of each other one,
/// and gives the processor away by `sched_yield` until all have set its own. All call it, as often:
/// `number` counts the synchronisations.
pub(crate) fn synchronisation(words: &SymSlice<u64>, me: usize, n: usize, number: &mut u64) -> f64 {
    const ROUNDS: u64 = 100;
    let of = |pe: usize, from: usize| word_of(words.slice(from * APART..), pe);
    let others: Vec<_> = (0..n).filter(|&pe| pe != me).map(|pe| (of(pe, me), of(me, pe))).collect();
    let mut attempt = || {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            *number += 1;
            others.iter().for_each(|(theirs, _)| theirs.store(*number, Release));
            for (_, mine) in &others {
                while mine.load(Acquire) < *number {
                    rustix::thread::sched_yield();
                }
            }
        }
        start.elapsed().as_nanos() as f64 / ROUNDS as f64
    };
    (0..8).map(|_| attempt()).fold(f64::INFINITY, f64::min)
}
