//! The file of a recording: made with room for all of it, so that a disk that is full is found out
//! here and not by a store, and mapped.

use std::{
    path::Path,
    ptr::{self, NonNull},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use oxshmem_base::{Error, Result, owned};
use rustix::{
    fs::{FallocateFlags, fallocate, ftruncate},
    io::Errno,
    mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap},
};

use super::{
    Head,
    form::{FORM, HEAD, Pair, RECORD, RECORD_WORDS, ring_at, word},
};

/// What the rings of all PEs of a host may take together, and the least and most of one.
const ALL: usize = 512 << 20;
const LEAST: usize = 256 << 10;
const MOST: usize = 32 << 20;
/// Where there are few PEs, the bytes of a ring that are there from the start: the first time that
/// a page is stored to takes as long as ten records.
const READY: usize = 8 << 20;

/// The file, mapped.
pub(super) struct File {
    base: NonNull<u8>,
    len: usize,
    ring: usize,
    capacity: usize,
    n_pes: usize,
}

// SAFETY: the map is nothing but atomic words.
unsafe impl Send for File {}
// SAFETY: as above.
unsafe impl Sync for File {}

impl File {
    pub(super) fn create(dir: &Path, head: &Head<'_>, now: Pair) -> Result<Self> {
        let failed = |call: &'static str| move |error: Errno| Error::system(call, error);
        owned::folder(dir).map_err(|error| cannot(dir, error))?;
        let path = dir.join(format!("pe-{}.trace", head.pe));
        // Another file than that of the last job, which may be read still.
        let file = owned::file(&path).map_err(|error| cannot(&path, error))?;
        let bytes = (ALL / head.local_pes.max(1)).clamp(LEAST, MOST);
        let ring = ring_at(head.n_pes);
        // A power of two.
        let capacity = (bytes / RECORD + 1).next_power_of_two() / 2;
        let len = ring + capacity * RECORD;
        match fallocate(&file, FallocateFlags::empty(), 0, len as u64) {
            // There are file systems that cannot.
            Err(Errno::OPNOTSUPP) => ftruncate(&file, len as u64).map_err(failed("ftruncate"))?,
            done => done.map_err(|error| cannot(&path, error.into()))?,
        }
        // SAFETY: a new map, at no particular address.
        let base = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap(ptr::null_mut(), len, access, MapFlags::SHARED, &file, 0).map_err(failed("mmap"))?
        };
        let base = NonNull::new(base.cast()).ok_or_else(|| failed("mmap")(Errno::NOMEM))?;
        let made = Self { base, len, ring, capacity, n_pes: head.n_pes };
        made.get_ready(head.local_pes);
        made.write_head(head, now);
        Ok(made)
    }

    /// A matter of speed: older kernels cannot, and it is done without.
    fn get_ready(&self, local_pes: usize) {
        let ready = (self.ring + READY / local_pes.max(1)).min(self.len);
        // SAFETY: a part of the map, whose contents this leaves as they are.
        let _ = unsafe { madvise(self.base.as_ptr().cast(), ready, Advice::LinuxPopulateWrite) };
    }

    fn write_head(&self, head: &Head<'_>, now: Pair) {
        let program = std::env::args_os().next().unwrap_or_default();
        self.write_text(word::HOST, word::HOST_BYTES, head.host.as_bytes());
        self.write_text(word::PROGRAM, word::PROGRAM_BYTES, program.as_encoded_bytes());
        let Pair { ticks, monotonic, of_day } = now;
        let pairs = [word::FIRST, word::LAST]
            .into_iter()
            .flat_map(|at| [(at, ticks), (at + 1, monotonic), (at + 2, of_day)]);
        let all = [
            (word::PE, head.pe as u64),
            (word::N_PES, head.n_pes as u64),
            (word::PID, std::process::id().into()),
            (word::CAPACITY, self.capacity as u64),
            (word::RING, self.ring as u64),
            (word::FORM, FORM),
        ];
        for (at, value) in pairs.chain(all) {
            // Relaxed: what reads the file does so when the process is gone.
            self.head(at).store(value, Relaxed);
        }
    }

    /// As much of `text` as fits, and a zero byte.
    fn write_text(&self, at: usize, room: usize, text: &[u8]) {
        let mut bytes = vec![0; room];
        let len = text.len().min(room - 1);
        bytes[..len].copy_from_slice(&text[..len]);
        for (i, part) in bytes.as_chunks::<8>().0.iter().enumerate() {
            self.head(at + i).store(u64::from_ne_bytes(*part), Relaxed);
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    /// A word of the head.
    #[inline(always)]
    pub(super) fn head(&self, at: usize) -> &AtomicU64 {
        assert!(at < HEAD / 8);
        // SAFETY: the map is page-aligned and begins with the head.
        unsafe { &*self.base.as_ptr().cast::<AtomicU64>().add(at) }
    }

    /// A word of the totals.
    #[inline(always)]
    pub(super) fn total(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.n_pes * super::TOTAL_WORDS);
        // SAFETY: behind the head is room for the totals of all PEs.
        unsafe { &*self.base.as_ptr().add(HEAD).cast::<AtomicU64>().add(at) }
    }

    /// The words at a place of the ring.
    #[inline(always)]
    pub(super) fn record(&self, at: usize) -> &[AtomicU64; RECORD_WORDS] {
        assert!(at < self.capacity);
        // SAFETY: the ring begins at a page and has this many records.
        unsafe { &*self.base.as_ptr().add(self.ring + at * RECORD).cast() }
    }

    /// Has the system begin to write it to its disk.
    pub(super) fn flush(&self) {
        // SAFETY: the map is this object's. If it cannot, the system writes it later anyway.
        let _ = unsafe { msync(self.base.as_ptr().cast(), self.len, MsyncFlags::ASYNC) };
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the map is this object's, and no reference to it is left. Nothing is lost if it
        // fails.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

fn cannot(path: &Path, error: std::io::Error) -> Error {
    Error::InvalidSetting {
        name: "SHMEM_TRACE",
        value: path.display().to_string(),
        reason: format!("cannot make the file of a PE's recording: {error}"),
    }
}
