//! Writing to standard error without SIGPIPE.
//!
//! A C program that writes to a pipe without a reader is ended by SIGPIPE, also when the library
//! writes in its name. A diagnosis must not end what it reports. The flag that keeps a write from
//! raising the signal exists for sockets alone, so the thread that writes blocks the signal, takes
//! it back if its write has raised it, and unblocks it.

use std::{io, mem::MaybeUninit, ptr};

use rustix::{io::Errno, stdio::stderr};

/// Writes all of `bytes` to standard error: in one write, if the kernel takes them so. It never
/// raises SIGPIPE.
///
/// # Errors
/// The errors of the write; `BrokenPipe` if there is no reader.
pub fn write_stderr(bytes: &[u8]) -> io::Result<()> {
    without_sigpipe(|| write_all(bytes))
}

/// Not by way of `std`, whose lock a thread may hold that waits for a reader.
fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(stderr(), bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Does `write`, for which the signal is blocked in this thread. One that was pending before stays
/// pending.
fn without_sigpipe<T>(write: impl FnOnce() -> T) -> T {
    let pipe = only_sigpipe();
    let was_pending = is_pending();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are valid for the time of the call. The mask is this thread's own.
    let blocked = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &pipe, before.as_mut_ptr()) } == 0;
    let done = write();
    if blocked {
        if !was_pending && is_pending() {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // The signal of a write goes to the thread that writes, so no other thread takes it.
            // SAFETY: it takes a blocked signal, and is given room for nothing else.
            unsafe { libc::sigtimedwait(&pipe, ptr::null_mut(), &now) };
        }
        // SAFETY: `pthread_sigmask` has filled the set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    }
    done
}

fn only_sigpipe() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call makes a set of the memory, and the second adds a signal that exists.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        set.assume_init()
    }
}

/// Whether the signal waits for this thread, or for the process.
fn is_pending() -> bool {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call fills the set, which is looked at only if it has.
    unsafe { libc::sigpending(set.as_mut_ptr()) == 0 && libc::sigismember(set.as_ptr(), libc::SIGPIPE) == 1 }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::Write,
        os::fd::OwnedFd,
        sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed},
    };

    use rustix::{pipe::pipe, thread::gettid};

    use super::*;

    /// Writes to a pipe without a reader.
    fn write_to_nobody() -> io::Result<()> {
        let (read, write): (OwnedFd, OwnedFd) = pipe()?;
        drop(read);
        File::from(write).write_all(b"text")
    }

    #[test]
    fn a_write_that_nobody_reads_is_an_error_and_no_signal() {
        static CAUGHT: AtomicUsize = AtomicUsize::new(0);
        static THREAD: AtomicI32 = AtomicI32::new(0);
        extern "C" fn count(_: libc::c_int) {
            // Relaxed: the thread reads what it has written itself. Other tests' threads do not
            // count.
            if THREAD.load(Relaxed) == gettid().as_raw_nonzero().get() {
                CAUGHT.fetch_add(1, Relaxed);
            }
        }
        THREAD.store(gettid().as_raw_nonzero().get(), Relaxed);
        // SAFETY: the handler calls only what may be called in one.
        let before =
            unsafe { libc::signal(libc::SIGPIPE, count as extern "C" fn(libc::c_int) as libc::sighandler_t) };
        for _ in 0..2 {
            let error = without_sigpipe(write_to_nobody).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
            assert!(!is_pending());
        }
        assert_eq!(CAUGHT.load(Relaxed), 0);
        // SAFETY: puts back what was there.
        unsafe { libc::signal(libc::SIGPIPE, before) };
    }

    #[test]
    fn the_mask_of_the_thread_is_as_it_was() {
        let is_blocked = || {
            let mut mask = MaybeUninit::uninit();
            // SAFETY: it fills the set, and changes nothing.
            unsafe {
                libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr());
                libc::sigismember(mask.as_ptr(), libc::SIGPIPE) == 1
            }
        };
        let before = is_blocked();
        assert!(without_sigpipe(is_blocked));
        assert_eq!(is_blocked(), before);
    }
}
