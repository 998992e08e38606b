//! The processors that this process may run on.

use std::num::NonZero;

use rustix::thread::{CpuSet, sched_getaffinity};

/// How many processors this process may run on.
pub fn allowed() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The processor that this thread is bound to, if it is bound to one alone.
pub fn bound_to() -> Option<u32> {
    let set = sched_getaffinity(None).ok()?;
    let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| set.is_set(cpu))?;
    (set.count() == 1).then_some(cpu as u32)
}

/// The number of the processor that this thread is on, at least for a moment.
#[inline]
pub fn current() -> usize {
    rustix::thread::sched_getcpu()
}
