//! The executable's globals as symmetric memory (`OpenSHMEM 1.6 §3`).
//!
//! At `shmem_init` what is in `.data` and `.bss` is copied to this PE's part of the shared memory,
//! behind its heap, and that is mapped over them: page by page, without what the dynamic linker has
//! made read-only. From then on a global is where it was, and every PE of the host reaches it as it
//! reaches the heap.
//!
//! A child that the program forks gets a copy of its own, so that nothing it writes is seen by its
//! parent.
//!
//! It gets it when the C library has done its own part of the fork, and that writes to the C
//! library's globals. Hence a program that has these among its own, because all of it is static,
//! cannot fork.
//!
//! At `shmem_finalize` they become private memory again, in two steps between which no write of
//! another thread is lost: a private mapping of the same pages, each of which then gets its own
//! copy. After that nothing is left in the file.
//!
//! What was never written takes no memory: of a large `.bss` only the pages that exist are copied.

use std::{
    ffi::{c_int, c_void},
    fs::File,
    iter::once,
    ops::Range,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd},
        unix::fs::FileExt,
    },
    ptr::null_mut,
    slice,
    sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicUsize, Ordering},
    time::Duration,
};

use oxshmem::Error;
use oxshmem_memory::HostMap;
use oxshmem_spaces::Pe;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate};

use crate::{call::fatal, state};

/// The writable pages of the executable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    /// In the order of their addresses.
    parts: Vec<Part>,
    /// Equal for equal executables.
    fingerprint: u64,
    /// Whether the C library's are among them.
    whole: bool,
}

#[derive(Clone, Debug)]
struct Part {
    pages: Range<usize>,
    /// Pages from here on are zero in the executable.
    bss: usize,
}

/// Pages of the executable that are shared, or were: what a child must have copies of.
struct Shared {
    pages: Range<usize>,
    /// The descriptor of what they are kept in; [`PRIVATE`] while they are not shared.
    file: AtomicI32,
    /// Where they are in it.
    at: AtomicUsize,
}

/// No descriptor.
const PRIVATE: i32 = -1;

/// This many bytes get copies of their own before the memory that they were copied from is given
/// back.
const CHUNK: usize = 16 << 20;

/// Whether the C library's globals are shared with the program's.
static WHOLE: AtomicBool = AtomicBool::new(false);

/// The pages that are shared now, or were; null if none ever were. They are the same for as long as
/// the process runs, so that this is allocated once, and never freed: a child may be about to read
/// it. A child only reads, because it may itself be a shared global.
static SHARED: AtomicPtr<Vec<Shared>> = AtomicPtr::new(null_mut());

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
        match (self.parts.first(), self.parts.last()) {
            (Some(first), Some(last)) => first.pages.start..last.pages.end,
            _ => 0..0,
        }
    }

    /// Bytes from the first to the last.
    pub(crate) fn len(&self) -> usize {
        self.range().len()
    }

    /// A number that differs where PEs run different executables, whose globals have nothing to do
    /// with each other.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Puts this PE's shared memory in their place. One thread at a time.
    pub(crate) fn share(&self, pe: &Pe) -> Result<(), Error> {
        let failed = |error| Error::Unsupported {
            what: format!("cannot share the globals of the executable: {error}"),
        };
        let map: &HostMap = pe.heap_map();
        let start = self.range().start;
        // Relaxed: what is stored below is what makes it count.
        WHOLE.store(self.whole, Ordering::Relaxed);
        for (part, shared) in self.parts.iter().zip(self.all()) {
            let at = pe.local_pe() * map.stride() + pe.statics_at() + (part.pages.start - start);
            // SAFETY: only the pages of this PE's globals are mapped by it.
            let file = unsafe { map.descriptor() }.try_clone_to_owned().map_err(failed)?;
            let there = map.base().wrapping_add(at);
            // SAFETY: `at` is the place of these pages in this PE's block, which is not used yet.
            unsafe { part.replace(there, file.as_fd(), at) }.map_err(failed)?;
            shared.at.store(at, Ordering::Relaxed);
            // Release: a child that is forked by another thread sees where they are.
            shared.file.store(file.into_raw_fd(), Ordering::Release);
        }
        Ok(())
    }

    /// The record of each part.
    fn all(&self) -> &'static [Shared] {
        if SHARED.load(Ordering::Relaxed).is_null() {
            let none = |part: &Part| Shared {
                pages: part.pages.clone(),
                file: AtomicI32::new(PRIVATE),
                at: AtomicUsize::new(0),
            };
            let all: Vec<_> = self.parts.iter().map(none).collect();
            // Release: a child that is forked by another thread sees what it points to.
            SHARED.store(Box::into_raw(Box::new(all)), Ordering::Release);
        }
        all_parts()
    }
}

/// What [`Globals::share`] has shared becomes the program's own memory again, and keeps its
/// contents. The PEs have left the job, so that no other PE reads or writes it any more.
///
/// What this PE had in `map` is gone then, as far as that is ordinary memory.
pub(crate) fn make_private(map: &HostMap, block: usize) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Unsupported {
        what: format!("cannot make the globals of the executable private again: {error}"),
    };
    let no_fork = NoFork::new();
    for it in all_parts() {
        it.make_private().map_err(failed)?;
    }
    drop(no_fork);
    if !all_parts().is_empty() {
        // The private mapping keeps the file, in which the heap was too.
        // SAFETY: of the file only this PE's block is given back, which is used no more.
        let file = unsafe { map.descriptor() };
        let _ = give_back(file, block * map.stride(), map.stride());
    }
    Ok(())
}

/// Gives the memory of a part of a file back to the system.
fn give_back(file: BorrowedFd<'_>, at: usize, len: usize) -> rustix::io::Result<()> {
    fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at as u64, len as u64)
}

/// All pages that are shared or were.
fn all_parts() -> &'static [Shared] {
    // SAFETY: null, or what `Globals::all` has leaked. Acquire: pairs with the release there.
    unsafe { SHARED.load(Ordering::Acquire).as_ref() }.map_or(&[], Vec::as_slice)
}

/// What is shared now.
fn shared() -> impl Iterator<Item = (&'static Shared, BorrowedFd<'static>)> {
    all_parts().iter().filter_map(|it| Some((it, it.file()?)))
}

/// Called for the executable first, and then no more.
///
/// # Safety
/// `info` is the dynamic linker's, `data` a `Globals`.
unsafe extern "C" fn first_object(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: as the caller says; the headers stay mapped as long as the executable.
    let (globals, base, headers) = unsafe {
        let info = &*info;
        let headers = slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        (&mut *data.cast::<Globals>(), info.dlpi_addr as usize, headers)
    };
    let page = rustix::param::page_size();
    let start_of = |header: &libc::Elf64_Phdr| base + header.p_vaddr as usize;
    let end_of = |header: &libc::Elf64_Phdr| start_of(header) + header.p_memsz as usize;
    let relro = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
    // The dynamic linker protects whole pages only.
    let read_only = relro.map_or(0..0, |header| start_of(header)..end_of(header) / page * page);
    for header in headers.iter().filter(|it| it.p_type == libc::PT_LOAD && it.p_flags & libc::PF_W != 0) {
        let mut start = start_of(header) / page * page;
        let end = end_of(header).next_multiple_of(page);
        if (start..end).contains(&read_only.start) || read_only.contains(&start) {
            start = read_only.end.max(start);
        }
        let bss = (start_of(header) + header.p_filesz as usize).next_multiple_of(page);
        if start < end {
            globals.parts.push(Part { pages: start..end, bss: bss.clamp(start, end) });
        }
    }
    globals.parts.sort_by_key(|part| part.pages.start);

    // No C library is loaded for it.
    globals.whole = headers.iter().all(|header| header.p_type != libc::PT_INTERP);

    let mut hash = Fnv::new();
    for header in headers {
        for field in [u64::from(header.p_type), u64::from(header.p_flags), header.p_vaddr, header.p_memsz] {
            hash.add(&field.to_ne_bytes());
        }
        // The linker's name for this build, if it has given one.
        if header.p_type == libc::PT_NOTE {
            // SAFETY: notes are in a segment that is loaded and stays.
            hash.add(unsafe {
                slice::from_raw_parts(
                    std::ptr::with_exposed_provenance(start_of(header)),
                    header.p_memsz as usize,
                )
            });
        }
    }
    globals.fingerprint = hash.0;
    1
}

/// FNV-1a: for telling executables apart.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

impl Part {
    /// Copies the pages to `there`, which is at `at` in the file, and maps that over them.
    ///
    /// # Safety
    /// `there` must be writable for as many bytes and zero, and no other code may write to the
    /// pages meanwhile.
    unsafe fn replace(&self, there: *mut u8, file: BorrowedFd<'_>, at: usize) -> std::io::Result<()> {
        let here: *mut u8 = std::ptr::with_exposed_provenance_mut(self.pages.start);
        let len = self.pages.len();
        let existing = self.existing();
        let all = SignalsBlocked::new();
        // SAFETY: both are mapped for this many bytes. Nothing here writes to a global between the
        // copy and the mapping.
        let mapped = unsafe {
            for run in existing {
                copy_what_is_not_zero(here.add(run.start), there.add(run.start), run.len());
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_FIXED;
            libc::mmap(here.cast(), len, protection, flags, file.as_raw_fd(), at as libc::off_t)
        };
        drop(all);
        if mapped == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Runs of pages, from the first on, that may not be zero.
    fn existing(&self) -> Vec<Range<usize>> {
        /// Present in memory, or in swap space.
        const EXISTS: u64 = 3 << 62;
        let page = rustix::param::page_size();
        let data = self.bss - self.pages.start;
        let mut runs: Vec<_> = once(0..data).collect();
        let mut words = vec![0; (self.pages.end - self.bss) / page * 8];
        let map = File::open("/proc/self/pagemap");
        if map.and_then(|map| map.read_exact_at(&mut words, (self.bss / page * 8) as u64)).is_err() {
            // All of them, then.
            return once(0..self.pages.len()).collect();
        }
        for (i, word) in words.chunks_exact(8).enumerate() {
            if u64::from_ne_bytes(word.try_into().unwrap_or_default()) & EXISTS == 0 {
                continue;
            }
            let start = data + i * page;
            match runs.last_mut() {
                Some(last) if last.end == start => last.end += page,
                _ => runs.push(start..start + page),
            }
        }
        runs
    }
}

impl Shared {
    /// What they are kept in, if they are shared.
    fn file(&self) -> Option<BorrowedFd<'static>> {
        // Acquire: with it comes where they are.
        let file = self.file.load(Ordering::Acquire);
        // SAFETY: `share` has stored it, and it is closed only when it is in here no more. It is
        // used in that process by the thread that finalizes, and in a child.
        (file != PRIVATE).then(|| unsafe { BorrowedFd::borrow_raw(file) })
    }

    /// Where they are in the file.
    fn at(&self) -> usize {
        // Relaxed: it comes with the file.
        self.at.load(Ordering::Relaxed)
    }

    fn make_private(&self) -> std::io::Result<()> {
        let Some(file) = self.file() else { return Ok(()) };
        let here: *mut u8 = std::ptr::with_exposed_provenance_mut(self.pages.start);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        // SAFETY: the same bytes take the place of those that were there: a thread that writes
        // meanwhile does so before, to the file, or after, to its own copy of the page.
        let mapped = unsafe {
            libc::mmap(
                here.cast(),
                self.pages.len(),
                protection,
                flags,
                file.as_raw_fd(),
                self.at() as libc::off_t,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        for run in self.existing(file) {
            for start in run.clone().step_by(CHUNK) {
                let len = CHUNK.min(run.end - start);
                for at in (start..start + len).step_by(rustix::param::page_size()) {
                    // SAFETY: a byte of these pages, which the program may be using: hence
                    // atomically.
                    copy_on_write(unsafe { AtomicU8::from_ptr(here.add(at)) });
                }
                // It takes memory, no more, if it fails.
                let _ = give_back(file, self.at() + start, len);
            }
        }
        // No thread forks meanwhile. Acquire: as in `file`.
        let file = self.file.swap(PRIVATE, Ordering::Acquire);
        // SAFETY: `share` has given it up, and it is in here no more.
        drop(unsafe { OwnedFd::from_raw_fd(file) });
        Ok(())
    }

    /// Runs of pages, from the first on, that may not be zero in the file.
    fn existing(&self, file: BorrowedFd<'static>) -> impl Iterator<Item = Range<usize>> {
        let (len, in_file) = (self.pages.len(), self.at());
        let mut next = 0;
        std::iter::from_fn(move || {
            let seek = |from| rustix::fs::seek(file, from);
            if next >= len {
                return None;
            }
            let start = match seek(SeekFrom::Data((in_file + next) as u64)) {
                Ok(start) => start as usize - in_file,
                Err(rustix::io::Errno::NXIO) => len,
                // All of them, then.
                Err(_) => next,
            };
            let end = match seek(SeekFrom::Hole((in_file + start.min(len)) as u64)) {
                Ok(end) if start < len => (end as usize - in_file).min(len),
                _ => len,
            };
            next = end;
            (start < len).then_some(start..end)
        })
    }
}

/// Writes a byte back as it is, so that its page is copied if it is mapped privately from a file.
fn copy_on_write(byte: &AtomicU8) {
    // Relaxed: nothing changes. Not by an operation that changes nothing in any case, which
    // compilers turn into a load.
    let mut value = byte.load(Ordering::Relaxed);
    while let Err(now) = byte.compare_exchange_weak(value, value, Ordering::Relaxed, Ordering::Relaxed) {
        value = now;
    }
}

/// Copies page by page, leaving out those that are zero.
///
/// Not by the C library's function, in whose place sanitizers put their own: it ends programs that
/// touch what is between globals, and that is copied too. The accesses are volatile so that the
/// compiler does not make a call of it either.
///
/// # Safety
/// As for a copy of `len` bytes, which are whole pages; `to` is zero.
unsafe fn copy_what_is_not_zero(from: *const u8, to: *mut u8, len: usize) {
    let page = rustix::param::page_size();
    for start in (0..len).step_by(page) {
        // SAFETY: inside of both, and pages are aligned.
        unsafe {
            let (from, to) = (from.add(start).cast::<u64>(), to.add(start).cast::<u64>());
            let words = slice::from_raw_parts(from, page / 8);
            if words.iter().any(|&word| word != 0) {
                (0..words.len()).for_each(|i| to.add(i).write_volatile(from.add(i).read_volatile()));
            }
        }
    }
}

/// Has every child call [`unshare`] first of all, before what the program itself has registered:
/// that may write to globals. Hence it is done when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array.00101")]
static AT_FORK: extern "C" fn() = {
    extern "C" fn register() {
        // SAFETY: a function without arguments that lives as long as the process.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(unshare)) };
    }
    register
};

/// How many threads are about to fork.
static FORKS: AtomicUsize = AtomicUsize::new(0);
/// Whether pages become private again: a child would have some that are in the file no more.
static NO_FORK: AtomicBool = AtomicBool::new(false);

/// No thread forks while this lives.
struct NoFork(());

impl NoFork {
    fn new() -> Self {
        // SeqCst, here and in `before_fork`: either this sees that thread, or that sees this.
        NO_FORK.store(true, Ordering::SeqCst);
        while FORKS.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(Duration::from_micros(100));
        }
        Self(())
    }
}

impl Drop for NoFork {
    fn drop(&mut self) {
        NO_FORK.store(false, Ordering::SeqCst);
    }
}

/// In the parent, when it has forked.
extern "C" fn after_fork() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// In a program that is about to fork.
extern "C" fn before_fork() {
    loop {
        FORKS.fetch_add(1, Ordering::SeqCst);
        if !NO_FORK.load(Ordering::SeqCst) {
            break;
        }
        FORKS.fetch_sub(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_micros(100));
    }
    // Relaxed: it was stored before what `shared` looks at.
    if shared().next().is_some() && WHOLE.load(Ordering::Relaxed) {
        let why =
            "a program linked with -static cannot do this after shmem_init, one with -static-libshmem can";
        fatal("fork", format_args!("{why}"));
    }
}

/// In a child: private copies in place of the shared pages.
extern "C" fn unshare() {
    for (it, file) in shared() {
        let pages = &it.pages;
        let here: *mut u8 = std::ptr::with_exposed_provenance_mut(pages.start);
        // SAFETY: a new mapping of the same size, filled with what is there, takes its place in one
        // step.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let copy = libc::mmap(null_mut(), pages.len(), protection, private, -1, 0);
            if copy == libc::MAP_FAILED {
                // Better no child than one that writes to its parent's memory.
                libc::_exit(127);
            }
            for run in it.existing(file) {
                copy_what_is_not_zero(here.add(run.start), copy.cast::<u8>().add(run.start), run.len());
            }
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            // Not by the C library's function, in whose place UCX may have put its own, which
            // forgets where to.
            let moved = libc::syscall(libc::SYS_mremap, copy, pages.len(), pages.len(), flags, here);
            if moved == -1 {
                libc::_exit(127);
            }
        }
    }
    // Only now, as what this changes may be in a global itself. No other thread of the parent's is
    // here.
    state::close_in_child();
    FORKS.store(0, Ordering::Relaxed);
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
