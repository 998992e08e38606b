//! Host memory that devices copy from and to without the driver's help: pieces of our own, the
//! symmetric memory, and what belongs to the program, for the time of a long copy.

use std::{any::Any, collections::HashMap, fmt, ops::Range, sync::Arc};

use cudarc::driver::sys::CUdeviceptr;
use oxshmem_base::sync::{Mutex, lock};
use oxshmem_memory::HostMap;

use super::{
    driver::{self, Context, Outcome, Pinned, Stream},
    gpu::Command,
};

/// Pieces of equal size, which are taken and come back.
#[derive(Debug)]
pub(super) struct Slots {
    context: Arc<Context>,
    size: usize,
    /// How many are made at a time.
    count: usize,
    state: Mutex<SlotPool>,
}

#[derive(Debug, Default)]
struct SlotPool {
    free: Vec<(usize, CUdeviceptr)>,
    memory: Vec<Pinned>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    start: usize,
    /// Its address for kernels.
    pub(super) shown: CUdeviceptr,
}

impl Slots {
    pub(super) fn new(context: &Arc<Context>, size: usize, count: usize) -> Outcome<Arc<Self>> {
        let slots = Self { context: Arc::clone(context), size, count, state: Mutex::default() };
        slots.grow()?;
        Ok(Arc::new(slots))
    }

    fn grow(&self) -> Outcome<()> {
        // Without the lock: the driver may wait for what is under way.
        let memory = Pinned::new(&self.context, self.size * self.count)?;
        let starts = (0..self.count).map(|i| i * self.size);
        let mut state = lock(&self.state);
        state.free.extend(starts.map(|at| (memory.start().addr() + at, memory.shown + at as u64)));
        // For `Slot::start`, which makes a pointer of the number.
        memory.start().expose_provenance();
        state.memory.push(memory);
        Ok(())
    }

    /// Bytes of each.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// One that is free, if there is.
    pub(super) fn take(self: &Arc<Self>) -> Option<Slot> {
        let (start, shown) = lock(&self.state).free.pop()?;
        Some(Slot { slots: Arc::clone(self), start, shown })
    }

    /// One that is free, or a new one.
    pub(super) fn take_or_make(self: &Arc<Self>) -> Outcome<Slot> {
        loop {
            match self.take() {
                Some(slot) => return Ok(slot),
                None => self.grow()?,
            }
        }
    }
}

impl Slot {
    pub(super) fn start(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.start)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.slots.state).free.push((self.start, self.shown));
    }
}

/// What is registered with the driver at a time. Copies are cut at the same places, as none may be
/// of several such pieces.
const CHUNK: usize = 16 << 20;

/// The symmetric memory of the host, which is registered with the driver piece by piece, when large
/// copies use it.
#[derive(Debug)]
pub(super) struct Registered {
    map: Arc<HostMap>,
    context: Arc<Context>,
    /// By their numbers, whether the driver knows them, of those that were registered.
    chunks: Mutex<HashMap<usize, bool>>,
    /// Addresses of the program's memory that the driver knows for the time of a copy.
    meanwhile: Mutex<Vec<Range<usize>>>,
}

impl Registered {
    pub(super) fn new(map: &Arc<HostMap>, context: &Arc<Context>) -> Self {
        Self {
            map: Arc::clone(map),
            context: Arc::clone(context),
            chunks: Mutex::default(),
            meanwhile: Mutex::default(),
        }
    }

    /// Whether the driver knows the memory at an address, for as long as the program lets it. A
    /// context must be entered.
    pub(super) fn knows(&self, address: *const u8) -> bool {
        // With the lock: what is not on the list is not made known to the driver meanwhile.
        let meanwhile = lock(&self.meanwhile);
        !meanwhile.iter().any(|range| range.contains(&address.addr())) && driver::knows(address)
    }

    fn len(&self) -> usize {
        self.map.stride() * self.map.local_pes()
    }

    /// Where a range begins in the map, if it is inside.
    fn inside(&self, start: *const u8, len: usize) -> Option<usize> {
        let at = start.addr().checked_sub(self.map.base().addr())?;
        (at < self.len() && len <= self.len() - at).then_some(at)
    }

    /// Whether devices copy from or to a range by themselves.
    pub(super) fn is_ready(&self, start: *const u8, len: usize) -> bool {
        let Some(at) = self.inside(start, len) else { return false };
        let chunks = lock(&self.chunks);
        (at / CHUNK..=(at + len.max(1) - 1) / CHUNK).all(|chunk| chunks.get(&chunk) == Some(&true))
    }

    /// Tells the driver of a range, if it is inside. This takes a while.
    pub(super) fn make_ready(&self, start: *const u8, len: usize) {
        let Some(at) = self.inside(start, len) else { return };
        let mut chunks = lock(&self.chunks);
        for chunk in at / CHUNK..=(at + len.max(1) - 1) / CHUNK {
            chunks.entry(chunk).or_insert_with(|| {
                let Ok(_entered) = self.context.enter() else { return false };
                let from = chunk * CHUNK;
                let bytes = CHUNK.min(self.len() - from);
                // SAFETY: the map is mapped for as long as this lives, and `drop` unregisters
                // first.
                unsafe { driver::register(self.map.base().wrapping_add(from), bytes) }.is_ok()
            });
        }
    }

    /// Copies a long range of the program's memory, which is made known to the driver meanwhile:
    /// that takes less time than the driver's own copies. True if it is over, and false if the
    /// driver is to copy by itself.
    ///
    /// # Safety
    /// Both ends must be what the command says until this returns.
    pub(super) unsafe fn copy_known(&self, stream: &Stream, command: &Command) -> Outcome<bool> {
        let (start, len) = match *command {
            Command::In { from, len, .. } => (from.cast_mut(), len),
            Command::Out { to, len, .. } => (to, len),
            _ => return Ok(false),
        };
        if len < LONG || self.inside(start, len).is_some() {
            return Ok(false);
        }
        let _entered = stream.context().enter()?;
        // SAFETY: passed on to the caller.
        let copy = |(at, len): ByteRange| unsafe {
            match *command {
                Command::In { from, to, .. } => stream.copy_in(from.wrapping_add(at), to + at as u64, len),
                Command::Out { from, to, .. } => stream.copy_out(from + at as u64, to.wrapping_add(at), len),
                _ => Ok(()),
            }
        };
        let (whole, rims) = pages(start.addr(), len);
        let range = start.addr()..start.addr() + len;
        lock(&self.meanwhile).push(range.clone());
        let mut known = Known { starts: Vec::new(), range, list: &self.meanwhile };
        let mut copied = Ok(());
        for (at, len) in whole {
            let start = start.wrapping_add(at);
            // SAFETY: the caller keeps it, and `known` unregisters it before this returns. What the
            // driver does not take, as the program has made it known or too much is locked, it
            // copies by itself.
            match unsafe { driver::register(start, len) } {
                Ok(()) => known.starts.push(start),
                Err(_) if known.starts.is_empty() => return Ok(false),
                Err(_) => {}
            }
            // The device copies this part while the next is made known to the driver.
            copied = copied.and_then(|()| copy((at, len)));
        }
        let copied = rims.into_iter().filter(|(_, len)| *len > 0).fold(copied, |copied, rim| {
            // Of rims the driver knows nothing.
            copied.and_then(|()| copy(rim))
        });
        // Even if a part of it failed: what was begun uses the caller's memory.
        let over = stream.synchronize();
        drop(known);
        copied.and(over).map(|()| true)
    }

    /// The parts in which a range is copied: offsets in it, and lengths.
    pub(super) fn pieces(&self, start: *const u8, len: usize) -> Vec<ByteRange> {
        match self.inside(start, len) {
            Some(at) => cut(at, len),
            None => vec![(0, len)],
        }
    }
}

/// From this many bytes on the program's memory is made known to the driver.
const LONG: usize = 4 << 20;
/// What the driver takes into account.
const PAGE: usize = 4096;

/// The program's memory that the driver knows until this is dropped, in the context that is
/// entered: where its parts begin, and its place on the list.
struct Known<'a> {
    starts: Vec<*mut u8>,
    range: Range<usize>,
    list: &'a Mutex<Vec<Range<usize>>>,
}

impl Drop for Known<'_> {
    fn drop(&mut self) {
        for start in self.starts.drain(..) {
            // SAFETY: registered once, and the stream that copied was waited for.
            unsafe { driver::unregister(start) };
        }
        let mut list = lock(self.list);
        if let Some(at) = list.iter().position(|range| *range == self.range) {
            list.swap_remove(at);
        }
    }
}

/// A part of a range: its offset and length.
type ByteRange = (usize, usize);

/// The whole pages of `len` bytes at an address, a chunk at a time, and the rims before and behind
/// them.
fn pages(start: usize, len: usize) -> (Vec<ByteRange>, [ByteRange; 2]) {
    let first = (start.next_multiple_of(PAGE) - start).min(len);
    let end = ((start + len) / PAGE * PAGE).saturating_sub(start).max(first);
    let whole = (first..end).step_by(CHUNK).map(|at| (at, CHUNK.min(end - at)));
    (whole.collect(), [(0, first), (end, len - end)])
}

/// Cuts `len` bytes from `at` on where chunks end.
fn cut(at: usize, len: usize) -> Vec<ByteRange> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < len {
        let piece = (CHUNK - (at + done) % CHUNK).min(len - done);
        pieces.push((done, piece));
        done += piece;
    }
    pieces
}

impl Drop for Registered {
    fn drop(&mut self) {
        let Ok(_entered) = self.context.enter() else { return };
        for (&chunk, _) in lock(&self.chunks).iter().filter(|(_, known)| **known) {
            // SAFETY: registered once, and nothing is under way any more.
            unsafe { driver::unregister(self.map.base().wrapping_add(chunk * CHUNK)) };
        }
    }
}

/// Other host memory that kernels reach.
#[derive(Debug, Default)]
pub(super) struct Shown(Mutex<Vec<ShownMemory>>);

/// Memory that the driver knows, and what keeps it mapped.
struct ShownMemory {
    start: usize,
    len: usize,
    /// That in which it was made known.
    context: Arc<Context>,
    _keep: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for ShownMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.len, self.start)
    }
}

impl Shown {
    /// The address by which kernels in `context` reach `len` bytes from `start` on.
    ///
    /// # Safety
    /// They must be mapped as long as `keep` lives.
    pub(super) unsafe fn show(
        &self,
        context: &Arc<Context>,
        start: *const u8,
        len: usize,
        keep: Arc<dyn Any + Send + Sync>,
    ) -> Outcome<u64> {
        let _entered = context.enter()?;
        let mut pieces = lock(&self.0);
        if !pieces.iter().any(|piece| piece.start == start.addr() && piece.len >= len) {
            // SAFETY: mapped as long as the piece, and `drop` unregisters first.
            unsafe { driver::register(start.cast_mut(), len) }?;
            let context = Arc::clone(context);
            start.expose_provenance();
            pieces.push(ShownMemory { start: start.addr(), len, context, _keep: keep });
        }
        // SAFETY: it is registered.
        unsafe { driver::shown(start.cast_mut()) }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        for piece in lock(&self.0).iter() {
            let Ok(_entered) = piece.context.enter() else { continue };
            // SAFETY: registered once, and by the word of their launchers no kernels run any more.
            unsafe { driver::unregister(std::ptr::with_exposed_provenance_mut(piece.start)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_differ_from_their_rims() {
        assert_eq!(pages(2 * PAGE, 3 * PAGE), (vec![(0, 3 * PAGE)], [(0, 0), (3 * PAGE, 0)]));
        assert_eq!(pages(PAGE - 16, 2 * PAGE), (vec![(16, PAGE)], [(0, 16), (16 + PAGE, PAGE - 16)]));
        let (whole, rims) = pages(16, 2 * CHUNK + PAGE);
        assert_eq!(whole, [(PAGE - 16, CHUNK), (CHUNK + PAGE - 16, CHUNK)]);
        assert_eq!(rims, [(0, PAGE - 16), (2 * CHUNK + PAGE - 16, 16)]);
        assert_eq!(pages(16, 100), (vec![], [(0, 100), (100, 0)]));
        assert_eq!(pages(PAGE - 16, PAGE), (vec![], [(0, 16), (16, PAGE - 16)]));
    }

    #[test]
    fn copies_are_cut_where_chunks_end() {
        assert_eq!(cut(0, 10), [(0, 10)]);
        assert_eq!(cut(CHUNK - 4, 10), [(0, 4), (4, 6)]);
        assert_eq!(cut(5, 2 * CHUNK), [(0, CHUNK - 5), (CHUNK - 5, CHUNK), (2 * CHUNK - 5, 5)]);
        assert_eq!(cut(CHUNK, CHUNK), [(0, CHUNK)]);
        assert_eq!(cut(3, 0), []);
    }
}
