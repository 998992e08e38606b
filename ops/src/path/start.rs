//! Where an operation goes that is no load or store of this PE: to the device of this host, over
//! the net, or through host memory in between.
//!
//! [`start`] takes any operation between symmetric memory of any PE and memory here. Puts are over
//! when they are visible, and what waits for words there has been woken.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    Segment, SegmentId,
    copy::{copy, copy_strided},
    op::{Address, Blocks, Op, Spot, Verb},
    word::{Atomic, Place, Width},
};
use oxshmem_progress::completion::{AllParts, Completion, no_value};
use oxshmem_spaces::{
    Pe,
    device::{DeviceOp, DevicePlace, End},
    relay::{
        Piece,
        pieces::{PIECE, PIECES},
    },
};

/// Symmetric memory of this host, by the PE's number among those of the host.
enum OnHost {
    Memory(*mut u8),
    Device(DevicePlace),
}

/// Where a place is that is on this host.
fn on_host(pe: &Pe, spot: Spot) -> Option<OnHost> {
    let local_pe = pe.local_pe_of(spot.pe)?;
    Some(match spot.segment {
        // SAFETY: a spot is in bounds on each PE that has a device, and its maker has seen that
        // this one has.
        SegmentId::Gpu => OnHost::Device(unsafe { DevicePlace::new(local_pe, spot.offset) }),
        host => OnHost::Memory(segment(pe, host).address_unchecked(local_pe, spot.offset)),
    })
}

/// Symmetric memory of the host.
fn segment(pe: &Pe, id: SegmentId) -> Segment {
    match id {
        SegmentId::Scratch => pe.scratch(),
        SegmentId::Heap | SegmentId::Gpu => pe.symmetric(),
    }
}

/// Symmetric memory of this PE.
pub(crate) fn here_of(pe: &Pe, own: Spot) -> End {
    match on_host(pe, own) {
        Some(OnHost::Device(place)) => place.into(),
        Some(OnHost::Memory(address)) => address.into(),
        None => unreachable!("a PE is on its own host"),
    }
}

/// The operation as one of the device, if it is on device memory of this host with all that it
/// names there.
pub(crate) fn on_device(pe: &Pe, op: Op<Spot, End>) -> Option<DeviceOp> {
    let place = |spot| match on_host(pe, spot) {
        Some(OnHost::Device(place)) => Some(place),
        _ => None,
    };
    let there = place(op.there)?;
    let then = match op.then {
        Some((at, update)) => Some((place(at)?, update)),
        None => None,
    };
    Some(Op { then, ..op.map(|_| there, |here| here) })
}

/// Wakes what waits for words among `len` bytes, which were written, if they are on this host.
pub(crate) fn ring(pe: &Pe, spot: Spot, len: usize) {
    match (pe.local_pe_of(spot.pe), spot.segment) {
        (None, _) => {}
        (Some(local_pe), SegmentId::Gpu) => pe.shm().device_words_changed(local_pe),
        (Some(local_pe), host) => {
            pe.shm().ring(Place { segment: &segment(pe, host), local_pe, offset: spot.offset }, len);
        }
    }
}

/// Starts an operation. `done` runs when it is over, with its signal, and whatever waits for words
/// that it changed has been woken.
///
/// # Safety
/// Memory here must be in bounds until then, and symmetric memory must be kept.
pub(crate) unsafe fn start(pe: &Arc<Pe>, op: Op<Spot, End>, done: Completion<u64>) {
    let place = on_host(pe, op.there);
    if let (None, Some(net), Some(op)) = (&place, pe.net(), reached(op)) {
        // SAFETY: passed on to the caller.
        return unsafe { oxshmem_net::start(net, op, done) };
    }
    let home = Arc::clone(pe);
    let over = move |outcome: Result<u64>| match outcome {
        // SAFETY: passed on to the caller.
        Ok(before) => unsafe { follow(&home, op, before, done) },
        Err(_) => done(outcome),
    };
    // SAFETY: passed on to the caller.
    unsafe {
        match place {
            Some(place) => start_here(pe, place, op, Box::new(over)),
            None => ThroughHost::start(pe, op, Box::new(over)),
        }
    }
}

/// What follows when the bytes of an operation are where they belong: waiters are woken, and the
/// signal is updated. `done` runs then.
///
/// # Safety
/// As for [`start`].
pub(crate) unsafe fn follow(pe: &Arc<Pe>, op: Op<Spot, End>, before: u64, done: Completion<u64>) {
    match op.verb {
        Verb::Atomic(Atomic::Fetch, _) | Verb::Get(End::Host(_)) => {}
        Verb::Get(End::Device(here)) => pe.shm().device_words_changed(here.block()),
        Verb::Put(_) | Verb::Atomic(..) => ring(pe, op.there, op.blocks.span().unwrap_or(0)),
    }
    match op.then {
        None => done(Ok(before)),
        // SAFETY: a signal is one aligned element in bounds, on every PE.
        Some((at, update)) => unsafe {
            start(pe, Op::atomic(at, update.into(), Width::Eight), done);
        },
    }
}

/// Starts an operation on memory of this host, without its signal.
///
/// # Safety
/// As for [`start`].
unsafe fn start_here(pe: &Pe, place: OnHost, op: Op<Spot, End>, done: Completion<u64>) {
    let at = match place {
        OnHost::Device(place) => {
            let op = Op { then: None, ..op }.map(|_| place, |here| here);
            // SAFETY: passed on to the caller.
            return unsafe { start_on_device(pe, op, done) };
        }
        OnHost::Memory(at) => at,
    };
    // The blocks of an operation of the device whose other end is in memory of the host.
    let Blocks { len, count, there, here } = op.blocks;
    let turned = Blocks { len, count, there: here, here: there };
    // SAFETY: passed on to the caller.
    let value = unsafe {
        match op.verb {
            Verb::Put(End::Device(from)) => {
                return start_on_device(pe, Op::get(from, at, len).of_blocks(turned), done);
            }
            Verb::Get(End::Device(to)) => {
                return start_on_device(pe, Op::put(to, at, len).of_blocks(turned), done);
            }
            Verb::Put(End::Host(from)) => {
                copy_strided(at, there, from.get(), here, len, count);
                0
            }
            Verb::Get(End::Host(to)) => {
                copy_strided(to.get(), here, at, there, len, count);
                0
            }
            Verb::Atomic(operation, width) => operation.apply(at, width),
        }
    };
    pe.shm().quiet();
    done(Ok(value));
}

/// Starts an operation of the device.
///
/// # Safety
/// As for [`start`].
unsafe fn start_on_device(pe: &Pe, op: DeviceOp, done: Completion<u64>) {
    let Some(device) = pe.device() else { return done(Err(Error::Finalized { call: "device" })) };
    if let Verb::Atomic(Atomic::Set(value), Width::Eight) = op.verb {
        // An aligned word is copied by one write, which takes less than a kernel.
        let value = Box::new(value);
        let set = Op::put(op.there, (&raw const *value).cast::<u8>(), size_of::<u64>());
        let done = Box::new(move |copied| {
            drop(value);
            done(copied);
        });
        // SAFETY: passed on to the caller; the completion holds the value.
        return unsafe { device.start(set, done) };
    }
    // SAFETY: passed on to the caller.
    unsafe { device.start(op, done) };
}

/// Whether a put of memory that the net does not reach goes to device memory of another host in
/// pieces, which it reaches.
pub(crate) fn goes_in_pieces(to: Spot, len: usize) -> bool {
    to.segment == SegmentId::Gpu && len > PIECE
}

/// The operation on memory of another host, if the net reaches what it names here.
fn reached(op: Op<Spot, End>) -> Option<Op> {
    let here = match op.verb {
        Verb::Put(End::Host(from)) if !goes_in_pieces(op.there, op.blocks.len) => from,
        Verb::Get(End::Host(to)) => to,
        Verb::Put(_) | Verb::Get(_) => return None,
        Verb::Atomic(..) => Address::from(std::ptr::null::<u8>()),
    };
    Some(op.delivered().map(|there| there, |_| here))
}

/// A transfer between another host and memory here that the net does not reach: each block goes
/// through pieces of host memory. It is over when the last reference is gone.
struct ThroughHost {
    pe: Arc<Pe>,
    /// One block.
    op: Op<Spot, End>,
    /// Where the next part begins.
    at: AtomicUsize,
    all: Arc<AllParts>,
}

impl ThroughHost {
    /// # Safety
    /// As for [`start`].
    unsafe fn start(pe: &Arc<Pe>, op: Op<Spot, End>, done: Completion<u64>) {
        let Some(pieces) = pe.pieces() else { return done(Err(Error::Finalized { call: "copy" })) };
        let all = AllParts::new(no_value(done));
        for op in op.each() {
            let (pe, all) = (Arc::clone(pe), Arc::clone(&all));
            let through = Arc::new(Self { pe, op, at: AtomicUsize::new(0), all });
            for _ in 0..PIECES.min(op.blocks.len.div_ceil(PIECE)) {
                let through = Arc::clone(&through);
                // SAFETY: passed on to the caller.
                pieces.take(move |piece| unsafe { through.bring(piece) });
            }
        }
    }

    /// Brings the next part through a piece, and those after it, if there is any left.
    ///
    /// # Safety
    /// As for [`start`], whose caller keeps the memory until `all` is over.
    unsafe fn bring(self: Arc<Self>, piece: Piece) {
        // Relaxed: parts have nothing to do with each other.
        let at = self.at.fetch_add(PIECE, Ordering::Relaxed);
        let Some(left) = self.op.blocks.len.checked_sub(at).filter(|&left| left > 0) else { return };
        let op = self.op.piece(at, PIECE.min(left));
        let (between, len) = (piece.start(), op.blocks.len);
        let pe = Arc::clone(&self.pe);
        // First one half of the way, then the other.
        let [first, second] = match op.verb {
            Verb::Put(from) => [Half::Here(from, between.into()), Half::Net(Op::put(op.there, between, len))],
            Verb::Get(to) => [Half::Net(Op::get(op.there, between, len)), Half::Here(between.into(), to)],
            Verb::Atomic(..) => return,
        };
        let then = move |half: Result<u64>| {
            if let Err(error) = half {
                return self.all.note(Err(error));
            }
            let pe = Arc::clone(&self.pe);
            let free = move |copied: Result<u64>| match copied {
                // SAFETY: as this one.
                Ok(_) => unsafe { self.bring(piece) },
                Err(error) => self.all.note(Err(error)),
            };
            // SAFETY: the completion holds the piece; the rest the caller keeps.
            unsafe { second.start(&pe, len, Box::new(free)) };
        };
        // SAFETY: as above.
        unsafe { first.start(&pe, len, Box::new(then)) };
    }
}

/// One half of the way through host memory.
enum Half {
    /// Between memory here.
    Here(End, End),
    /// Between host memory here and another host.
    Net(Op<Spot, End>),
}

impl Half {
    /// # Safety
    /// As for [`start`].
    unsafe fn start(self, pe: &Arc<Pe>, len: usize, done: Completion<u64>) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self {
                Self::Net(op) => start(pe, op, done),
                Self::Here(End::Device(from), to) => start_on_device(pe, Op::get(from, to, len), done),
                Self::Here(from, End::Device(to)) => start_on_device(pe, Op::put(to, from, len), done),
                Self::Here(End::Host(from), End::Host(to)) => {
                    copy(to.get(), from.get(), len);
                    pe.shm().quiet();
                    done(Ok(0));
                }
            }
        }
    }
}
