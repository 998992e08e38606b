//! The executable's globals as symmetric memory (`OpenSHMEM 1.6 §3`).
//!
//! At `shmem_init` what is in `.data` and `.bss` is copied to this PE's part of the shared memory, behind its heap, and
//! that is mapped over them: page by page, without what the dynamic linker has made read-only. From then on a global is
//! where it was, and every PE of the host reaches it as it reaches the heap.
//!
//! A child that the program forks gets a copy of its own, so that nothing it writes is seen by its parent.

use std::{
    ffi::{c_int, c_void},
    ops::Range,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::null_mut,
    sync::{Mutex, PoisonError},
};

use oxshmem::Error;
use oxshmem_runtime::{Pe, memory::HostMap};

/// The writable pages of the executable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    /// In the order of their addresses.
    pages: Vec<Range<usize>>,
}

/// Pages that are shared now: what a child must have copies of.
static SHARED: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());

impl Globals {
    /// Of the program that this process runs.
    pub(crate) fn of_executable() -> Result<Self, Error> {
        let mut globals = Self::default();
        let data: *mut Self = &raw mut globals;
        // SAFETY: `first_object` gets `data` and nothing else keeps it.
        unsafe { libc::dl_iterate_phdr(Some(first_object), data.cast()) };
        Ok(globals)
    }

    /// From the first to the last of them. Empty if there are none.
    pub(crate) fn range(&self) -> Range<usize> {
        match (self.pages.first(), self.pages.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }

    /// Bytes from the first to the last.
    pub(crate) fn len(&self) -> usize {
        self.range().len()
    }

    /// Puts this PE's shared memory in their place.
    pub(crate) fn share(&self, pe: &Pe) -> Result<(), Error> {
        let map: &HostMap = pe.heap_map();
        let start = self.range().start;
        for pages in &self.pages {
            let at = pe.me() * map.stride() + pe.statics_at() + (pages.start - start);
            // SAFETY: `at` is the place of these pages in this PE's block, which nobody uses yet.
            let there = map.base().wrapping_add(at);
            unsafe { replace(pages, there, map.descriptor(), at as libc::off_t) }.map_err(|error| {
                Error::Unsupported { what: format!("cannot share the globals of the executable: {error}") }
            })?;
        }
        let first = {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            let first = shared.is_empty();
            shared.clone_from(&self.pages);
            first
        };
        if first && !self.pages.is_empty() {
            // SAFETY: a function without arguments that lives as long as the process.
            unsafe { libc::pthread_atfork(None, None, Some(unshare)) };
        }
        Ok(())
    }
}

/// Called for the executable first, and then no more.
///
/// # Safety
/// `info` is the dynamic linker's, `data` a `Globals`.
unsafe extern "C" fn first_object(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: as the caller says; the headers stay mapped as long as the executable.
    let (globals, base, headers) = unsafe {
        let info = &*info;
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        (&mut *data.cast::<Globals>(), info.dlpi_addr as usize, headers)
    };
    let page = rustix::param::page_size();
    let end_of = |header: &libc::Elf64_Phdr| base + header.p_vaddr as usize + header.p_memsz as usize;
    let relro = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
    // The dynamic linker protects whole pages only.
    let read_only = relro.map_or(0..0, |header| base + header.p_vaddr as usize..end_of(header) / page * page);
    for header in headers.iter().filter(|it| it.p_type == libc::PT_LOAD && it.p_flags & libc::PF_W != 0) {
        let mut start = (base + header.p_vaddr as usize) / page * page;
        let end = end_of(header).next_multiple_of(page);
        if (start..end).contains(&read_only.start) || read_only.contains(&start) {
            start = read_only.end.max(start);
        }
        if start < end {
            globals.pages.push(start..end);
        }
    }
    globals.pages.sort_by_key(|pages| pages.start);
    1
}

/// Copies `pages` to `there`, which is at `at` in the file, and maps that over them.
///
/// # Safety
/// `there` must be writable for as many bytes, and nobody else may write to the pages meanwhile.
unsafe fn replace(
    pages: &Range<usize>,
    there: *mut u8,
    file: BorrowedFd<'_>,
    at: libc::off_t,
) -> std::io::Result<()> {
    let here: *mut u8 = std::ptr::with_exposed_provenance_mut(pages.start);
    let all = SignalsBlocked::new();
    // SAFETY: both are mapped for so many bytes. Nothing here writes to a global between the copy and the mapping.
    let mapped = unsafe {
        copy_what_is_not_zero(here, there, pages.len());
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(
            here.cast(),
            pages.len(),
            protection,
            libc::MAP_SHARED | libc::MAP_FIXED,
            file.as_raw_fd(),
            at,
        )
    };
    drop(all);
    if mapped == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Copies page by page, leaving out those that are zero, so that a large `.bss` takes no memory before it is used.
///
/// # Safety
/// As for a copy of `len` bytes, which are whole pages; `to` is zero.
unsafe fn copy_what_is_not_zero(from: *const u8, to: *mut u8, len: usize) {
    let page = rustix::param::page_size();
    for start in (0..len).step_by(page) {
        // SAFETY: inside of both, and pages are aligned.
        unsafe {
            let words = std::slice::from_raw_parts(from.add(start).cast::<u64>(), page / 8);
            if words.iter().any(|&word| word != 0) {
                libc::memcpy(to.add(start).cast(), from.add(start).cast(), page);
            }
        }
    }
}

/// In a child: private copies in place of the shared pages.
extern "C" fn unshare() {
    // The thread that forked may have held it. Nobody else runs here.
    let Ok(shared) = SHARED.try_lock() else { return };
    for pages in shared.iter() {
        let here: *mut c_void = std::ptr::with_exposed_provenance_mut(pages.start);
        // SAFETY: a new mapping of the same size, filled with what is there, takes its place in one step.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let copy = libc::mmap(null_mut(), pages.len(), protection, private, -1, 0);
            if copy == libc::MAP_FAILED {
                // Better no child than one that writes to its parent's memory.
                libc::_exit(127);
            }
            copy_what_is_not_zero(here.cast(), copy.cast(), pages.len());
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            if libc::mremap(copy, pages.len(), pages.len(), flags, here) == libc::MAP_FAILED {
                libc::_exit(127);
            }
        }
    }
}

/// No signal handler runs on this thread while this lives: it might write to a global.
struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    fn new() -> Self {
        // SAFETY: sets of this function's own.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self(before)
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the set that was there before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, null_mut()) };
    }
}
