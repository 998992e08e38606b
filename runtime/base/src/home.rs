//! Whether this process is the one that joined the job, or a child of it.
//!
//! A child that was forked has all handles of its parent, and what it did with them would be done
//! in the parent's name: messages to the launcher and to other hosts, words in memory that PEs
//! share. A page that the kernel clears in every child says for the price of a load that this is
//! one, however it was forked.

use std::{
    ptr::{self, NonNull},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::{Error, Result};

/// Knows the process that made it.
///
/// ```
/// use oxshmem_base::home::Home;
///
/// let home = Home::here();
/// assert!(home.is_here() && home.is_this_process());
/// ```
#[derive(Clone, Debug)]
pub struct Home {
    /// Not 0, but in a child. None where the kernel, which is older than 4.14, cannot clear it
    /// there.
    mark: Option<Arc<Mark>>,
    process: u32,
}

/// A page whose first word is 0 in every child.
#[derive(Debug)]
struct Mark(NonNull<AtomicU32>);

// SAFETY: it is the address of an atomic word that is mapped for as long as this lives.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    fn new() -> Option<Self> {
        let page = rustix::param::page_size();
        // SAFETY: a new mapping at an address that the kernel picks; nothing is in it yet.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), page, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let mark = Self(NonNull::new(start.ok()?.cast())?);
        // SAFETY: it is this mapping, all of it.
        unsafe { madvise(mark.0.as_ptr().cast(), page, Advice::LinuxWipeOnFork) }.ok()?;
        // Relaxed: a child that is forked later gets it.
        mark.word().store(1, Ordering::Relaxed);
        Some(mark)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the start of a page that is mapped for as long as this lives, and used as nothing
        // else.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own. Failure would leave a page behind, no more.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), rustix::param::page_size()) };
    }
}

impl Home {
    /// That of this process.
    pub fn here() -> Self {
        Self { mark: Mark::new().map(Arc::new), process: std::process::id() }
    }

    /// Whether this process is not a child of the one that made it.
    #[inline]
    pub fn is_here(&self) -> bool {
        match &self.mark {
            // Relaxed: a thread that was forked is alone in its process.
            Some(mark) => mark.word().load(Ordering::Relaxed) != 0,
            None => self.is_this_process(),
        }
    }

    /// Whether this is the process that made it, asked of the system: right also in children that
    /// share the memory of their parent (`vfork`).
    pub fn is_this_process(&self) -> bool {
        std::process::id() == self.process
    }

    /// An error in a child of PE `pe`.
    #[inline]
    pub fn check(&self, pe: usize, call: &'static str) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(self.refused(pe, call)) }
    }

    #[cold]
    fn refused(&self, pe: usize, call: &'static str) -> Error {
        let (parent, child) = (self.process, std::process::id());
        Error::bootstrap(
            call,
            format!(
                "process {child} was forked by PE {pe} (process {parent}) and is no PE itself; only the process that joined the job may \
                 call the library"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_not_the_process_that_joined() {
        let home = Home::here();
        let by_number = Home { mark: None, ..home.clone() };
        assert!(home.is_here() && by_number.is_here() && home.check(3, "put").is_ok());
        // Without what the C library does for a child.
        // SAFETY: the child does nothing but look, and ends.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child == 0 {
            let is_child = !home.is_here() && !by_number.is_here() && !home.is_this_process();
            // SAFETY: it does not return.
            unsafe { libc::_exit(if is_child { 7 } else { 8 }) };
        }
        let mut status = 0;
        // SAFETY: a status of this function's own.
        assert_eq!(i64::from(unsafe { libc::waitpid(child as i32, &raw mut status, 0) }), child);
        assert_eq!(libc::WEXITSTATUS(status), 7);
        assert!(home.is_here());
    }
}
