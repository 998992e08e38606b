//! The clock that records are stamped with: the processor's counter where the kernel trusts it, as
//! reading it takes a third of the time; otherwise the monotonic clock.

use rustix::time::{ClockId, clock_gettime};

use super::form::Pair;

/// What the kernel itself takes the time from.
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    Counter,
    Monotonic,
}

impl Clock {
    /// The one that is good here. All PEs of a host come to the same.
    pub(super) fn new() -> Self {
        let source = std::fs::read_to_string(SOURCE).unwrap_or_default();
        let is_counter = match source.trim() {
            "tsc" => cfg!(target_arch = "x86_64"),
            "arch_sys_counter" => cfg!(target_arch = "aarch64"),
            _ => false,
        };
        if is_counter { Self::Counter } else { Self::Monotonic }
    }

    #[inline(always)]
    pub(super) fn now(self) -> u64 {
        match self {
            Self::Counter => counter(),
            Self::Monotonic => nanoseconds(ClockId::Monotonic),
        }
    }

    /// One moment on all clocks: the best of some attempts, as the thread may be interrupted in
    /// between.
    pub(super) fn pair(self) -> Pair {
        let attempt = || {
            let before = self.now();
            let monotonic = nanoseconds(ClockId::Monotonic);
            let of_day = nanoseconds(ClockId::Realtime);
            let after = self.now();
            (after - before, Pair { ticks: before + (after - before) / 2, monotonic, of_day })
        };
        let attempts = [attempt(), attempt(), attempt(), attempt()];
        attempts.into_iter().min_by_key(|(took, _)| *took).map(|(_, pair)| pair).unwrap_or_default()
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every processor of this architecture has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the kernel lets programs read this register, and reads its own time from it.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
    };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn counter() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
