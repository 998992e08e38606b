//! What ends a process whose lease is over: a timer of the kernel, which sends SIGKILL. No thread
//! of the process has to run for that, which may be stopped.

use std::{io, mem, ptr, time::Duration};

/// Kills this process at a time, unless it is put off.
#[derive(Debug)]
pub(super) struct Fence(libc::timer_t);

// SAFETY: a timer belongs to the process, and any thread may set it.
unsafe impl Send for Fence {}

impl Fence {
    /// A fence that is not set.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: all zeros are a value of this type.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_SIGNAL, libc::SIGKILL);
        let mut timer = ptr::null_mut();
        // SAFETY: both are this function's own.
        match unsafe { libc::timer_create(libc::CLOCK_BOOTTIME, &mut event, &mut timer) } {
            0 => Ok(Self(timer)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Has this process killed at that [time](crate::lease::now).
    pub(super) fn set(&self, at: Duration) {
        // SAFETY: all zeros are a value of this type.
        let mut spec: libc::itimerspec = unsafe { mem::zeroed() };
        spec.it_value.tv_sec = at.as_secs() as libc::time_t;
        spec.it_value.tv_nsec = at.subsec_nanos().into();
        // SAFETY: the timer is there until this is dropped. It cannot fail: the time is one.
        unsafe { libc::timer_settime(self.0, libc::TIMER_ABSTIME, &spec, ptr::null_mut()) };
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: nothing uses it after this.
        unsafe { libc::timer_delete(self.0) };
    }
}
