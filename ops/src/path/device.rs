//! The device path: device memory, there or here, by the
//! [`Device`](oxshmem_spaces::device::Device).
//!
//! An operation is in the op set until the data is where it belongs. Local and remote completion
//! are one here, except for a source that has been copied when the call returns. What goes between
//! device memory here and another host passes through pieces of host memory, part by part.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    SegmentId,
    copy::copy as copy_on_host,
    word::{Atomic, AtomicWord, Width},
};
use oxshmem_net::Spot;
use oxshmem_progress::completion::{AllParts, Completion};
use oxshmem_spaces::{
    Element, Pe, SymSlice, SymView,
    device::{AnyDevice, Blocks as DeviceBlocks, DevicePlace, End},
    relay::{
        Piece,
        pieces::{PIECE, PIECES},
    },
};

use super::{
    near::{Near, NearPlace},
    route::{Here, Route},
};
use crate::{
    blocks::Blocks,
    buffer::{Sink, Source},
    context::{Context, Sharing},
    operation::{Op, ReadyWhen, Remote, begin},
    still::Still,
};

/// One end of a transfer.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Host(*mut u8),
    Device(DevicePlace),
    Far(Spot),
}

// SAFETY: an address is only used as the operation's, whose maker vouches for it on whichever
// thread.
unsafe impl Send for Side {}

impl Side {
    pub(crate) fn of(target: &Route<'_>) -> Self {
        match *target {
            Route::Near(near) => Self::Host(near.address()),
            Route::Far(far) => Self::Far(far.spot),
            Route::Device(cell) => Self::Device(cell),
        }
    }

    /// A source or a sink of this PE, which is at `address` if that is in host memory.
    pub(crate) fn here<T: Element>(here: Here, address: *mut T) -> Self {
        match here {
            Here::Device(cell) => Self::Device(cell),
            Here::Host => Self::Host(address.cast()),
        }
    }

    /// The end of a copy of the device, unless it is on another host.
    fn end(self) -> Option<End> {
        match self {
            Self::Host(address) => Some(End::Host(address)),
            Self::Device(cell) => Some(End::Device(cell)),
            Self::Far(_) => None,
        }
    }

    /// What is so many bytes behind it.
    fn behind(self, bytes: usize) -> Self {
        match self {
            Self::Host(address) => Self::Host(address.wrapping_add(bytes)),
            Self::Device(cell) => Self::Device(cell.behind(bytes)),
            Self::Far(spot) => Self::Far(Spot { offset: spot.offset + bytes, ..spot }),
        }
    }
}

/// A buffer of this process for what is copied when it is called, in words for the sake of its
/// alignment.
struct Bounce(Vec<u64>);

impl Bounce {
    fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(size_of::<u64>())])
    }

    fn side(&mut self) -> Side {
        Side::Host(self.0.as_mut_ptr().cast())
    }
}

/// A transfer between another host and memory here that the net does not reach. It is over when the
/// last reference is gone.
struct ThroughHost {
    pe: Arc<Pe>,
    from: Side,
    to: Side,
    len: usize,
    /// Where the next part begins.
    at: AtomicUsize,
    all: Arc<AllParts>,
}

// SAFETY: as for `Side`; the rest can be shared.
unsafe impl Sync for ThroughHost {}

impl ThroughHost {
    /// Brings the next part through a piece, and those after it, if there is any left.
    fn bring(self: Arc<Self>, piece: Piece) {
        // Relaxed: parts have nothing to do with each other.
        let at = self.at.fetch_add(PIECE, Ordering::Relaxed);
        if at >= self.len {
            return;
        }
        let len = PIECE.min(self.len - at);
        let (from, to) = (self.from.behind(at), self.to.behind(at));
        let between = Side::Host(piece.start());
        let pe = Arc::clone(&self.pe);
        let then = move |half: Result<()>| {
            if half.is_err() {
                return self.all.note(half);
            }
            let pe = Arc::clone(&self.pe);
            let free = move |copied: Result<()>| match copied {
                Ok(()) => self.bring(piece),
                Err(_) => self.all.note(copied),
            };
            // SAFETY: the completion holds the piece; both sides are in bounds by the word of the
            // transfer's caller, until its completion.
            unsafe { copy(&pe, between, to, len, Box::new(free)) };
        };
        // SAFETY: as above.
        unsafe { copy(&pe, from, between, len, Box::new(then)) };
    }
}

/// What is known of an operation on a PE, for what its end does.
pub(crate) struct There<T: Element> {
    pe: Arc<Pe>,
    written: Written<T>,
}

/// Memory that something is written to, whose waiters are to be woken.
enum Written<T: Element> {
    /// Host memory of a local PE.
    Near(SymSlice<T>, usize),
    /// Device memory of a local PE.
    Device(usize),
    /// Memory of another host, which sees to it.
    Far,
}

impl<T: Element> There<T> {
    pub(crate) fn new(pe: &Arc<Pe>, target: &Route<'_>, view: SymView<'_, T>) -> Self {
        let written = match target {
            Route::Near(near) => Written::Near(view.to_owned(), near.local_pe()),
            Route::Device(place) => Written::Device(place.block()),
            Route::Far(_) => Written::Far,
        };
        Self { pe: Arc::clone(pe), written }
    }

    /// Something has been written there.
    pub(crate) fn ring(&self) {
        match &self.written {
            Written::Near(memory, local_pe) => {
                let view = memory.view();
                Near::new(self.pe.shm(), view, *local_pe).ring(view.len() * size_of::<T>());
            }
            Written::Device(local_pe) => self.pe.shm().device_words_changed(*local_pe),
            Written::Far => {}
        }
    }
}

/// Whether so many bytes of memory that the net does not reach go to device memory of another host
/// in pieces, which it reaches.
pub(crate) fn goes_in_pieces(to: Spot, len: usize) -> bool {
    to.segment == SegmentId::Gpu && len > PIECE
}

/// Copies `len` bytes. `completion` runs when they are there.
///
/// # Safety
/// Both sides must be in bounds until then.
pub(super) unsafe fn copy(pe: &Arc<Pe>, from: Side, to: Side, len: usize, completion: Completion) {
    let (Some(device), far) = (pe.device(), pe.net().zip(pe.pieces())) else {
        return completion(Err(Error::Finalized { call: "copy" }));
    };
    // SAFETY: the caller's sides are passed on; the completion holds a piece or a bounce buffer.
    unsafe {
        match (from, to, far) {
            (Side::Host(from), Side::Host(to), _) => {
                copy_on_host(to, from, len);
                pe.shm().quiet();
                completion(Ok(()));
            }
            (Side::Far(spot), Side::Host(to), Some((net, _))) => net.get(spot, to, len, completion),
            (Side::Host(from), Side::Far(spot), Some((net, _))) if !goes_in_pieces(spot, len) => {
                let last = Arc::clone(net);
                let flush = move |put: Result<()>| match put {
                    Ok(()) => last.flush(spot.pe, completion),
                    Err(error) => completion(Err(error)),
                };
                net.put(spot, from, len, Box::new(flush));
            }
            // One side is far, and the net does not reach the other.
            (Side::Far(_), _, Some((_, pieces))) | (_, Side::Far(_), Some((_, pieces))) => {
                let through = Arc::new(ThroughHost {
                    pe: Arc::clone(pe),
                    from,
                    to,
                    len,
                    at: AtomicUsize::new(0),
                    all: AllParts::new(completion),
                });
                for _ in 0..PIECES.min(len.div_ceil(PIECE)) {
                    let through = Arc::clone(&through);
                    pieces.take(move |piece| through.bring(piece));
                }
            }
            (Side::Far(_), ..) | (_, Side::Far(_), _) => completion(Err(Error::Finalized { call: "copy" })),
            (from, to, _) => match (from.end(), to.end()) {
                (Some(from), Some(to)) => device.copy(from, to, len, completion),
                _ => unreachable!("what is far was above"),
            },
        }
    }
}

/// An atomic operation that fetches nothing, on a word of 8 bytes, and wakes what waits for it;
/// `completion` runs when it has happened.
///
/// # Safety
/// The word must be in bounds and aligned.
pub(crate) unsafe fn update(there: There<u64>, at: Side, word: Atomic<u64>, completion: Completion) {
    let pe = Arc::clone(&there.pe);
    match (at, pe.device(), pe.net()) {
        (Side::Host(address), ..) => {
            // SAFETY: the caller vouches for the word.
            unsafe { u64::apply(address, word) };
            there.ring();
            completion(Ok(()));
        }
        (Side::Device(cell), Some(device), _) => {
            if let Atomic::Set(value) = word {
                let done = Box::new(move |set: Result<()>| {
                    there.ring();
                    completion(set);
                });
                // SAFETY: passed on to the caller.
                return unsafe { set_word(device, cell, value, done) };
            }
            let done = Box::new(move |before: Result<u64>| {
                there.ring();
                completion(before.map(drop));
            });
            // SAFETY: as above.
            unsafe { device.atomic(cell, Width::Eight, word, done) };
        }
        (Side::Far(spot), _, Some(net)) => match net.update(spot, Width::Eight, word) {
            Ok(()) => net.flush(spot.pe, completion),
            Err(error) => completion(Err(error)),
        },
        _ => completion(Err(Error::Finalized { call: "signal" })),
    }
}

/// Sets a word of 8 bytes: an aligned word is copied by one write, which takes less than a kernel.
///
/// # Safety
/// The word must be in bounds and aligned.
unsafe fn set_word(device: &AnyDevice, at: DevicePlace, value: u64, completion: Completion) {
    let value = Box::new(value);
    let from = End::Host((&raw const *value).cast_mut().cast());
    let done = Box::new(move |copied: Result<()>| {
        drop(value);
        completion(copied);
    });
    // SAFETY: passed on to the caller; the completion holds the value.
    unsafe { device.copy(from, End::Device(at), size_of::<u64>(), done) };
}

/// A signal that follows its data.
pub(crate) struct Following<'a> {
    pub(crate) to: Route<'a>,
    pub(crate) signal: SymView<'a, u64>,
    pub(crate) update: Atomic<u64>,
}

impl<M: Sharing> Context<M> {
    /// Puts blocks of `source`, whose shape is in bytes, where it or its destination is in device
    /// memory, and then a signal, if there is one.
    pub(crate) fn put_device<T, S>(
        &self,
        (to, dest): (Route<'_>, SymView<'_, T>),
        (source, here): (S, Here),
        blocks: Blocks,
        following: Option<Following<'_>>,
        pe: usize,
        ready: ReadyWhen,
    ) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let side = Side::of(&to);
        let last = self.after_put(There::new(self.pe(), &to, dest), following);
        if S::STABLE {
            let source = Still::new(source);
            let from = Side::here(here, source.as_ptr().cast_mut());
            let (flight, completion) = begin(self.ops(), pe, move |put: Result<()>| source.given_back(put));
            // SAFETY: a STABLE source stays where it is as long as it exists, and the completion
            // holds it; the target is in bounds.
            unsafe {
                copy_blocks(self.pe(), from, side, blocks, Box::new(move |put| last(put, completion)));
            }
            return Op::under_way(flight, self.pe().engine().at_first_poll());
        }
        // What is not STABLE is copied now, or, where it is in device memory, kept from being given
        // to others.
        let (kept, room) = match here {
            Here::Device(_) => (source.symmetric().map(SymView::to_owned), 0),
            Here::Host => (None, source.len() * size_of::<T>()),
        };
        let mut bounce = Bounce::new(room);
        let from = match here {
            Here::Device(cell) => Side::Device(cell),
            Here::Host => {
                if let Side::Host(copied) = bounce.side() {
                    // SAFETY: the source's elements are readable, and the buffer has room for them.
                    unsafe { copy_on_host(copied, source.as_ptr().cast(), room) };
                }
                bounce.side()
            }
        };
        let waits = matches!(here, Here::Device(_)) || ready == ReadyWhen::Delivered;
        let (flight, completion) = begin(self.ops(), pe, move |put: Result<()>| {
            drop((kept, bounce));
            put
        });
        // Without a future that waits for it, `quiet` reports what goes wrong.
        let flight = waits.then_some(flight);
        // SAFETY: the completion holds the buffer, or the device memory; the target is in bounds.
        unsafe {
            copy_blocks(self.pe(), from, side, blocks, Box::new(move |put| last(put, completion)));
        }
        match flight {
            Some(flight) => Op::Remote(Box::new(Remote::landing(
                flight,
                source.back(),
                S::reject_back,
                self.pe().engine().at_first_poll(),
            ))),
            None => Op::Complete(source.back()),
        }
    }

    /// What comes when the data of a put is there: its waiters, and the signal.
    pub(crate) fn after_put<T: Element>(
        &self,
        there: There<T>,
        following: Option<Following<'_>>,
    ) -> impl FnOnce(Result<()>, Completion) + Send + 'static + use<M, T> {
        let signal = following.map(|Following { to, signal, update }| {
            (Side::of(&to), There::new(self.pe(), &to, signal), update)
        });
        move |put, completion| {
            if let Err(error) = put {
                return completion(Err(error));
            }
            there.ring();
            match signal {
                None => completion(Ok(())),
                // SAFETY: a signal is one aligned element in bounds, on every PE.
                Some((at, there, word)) => unsafe { update(there, at, word, completion) },
            }
        }
    }

    /// Fills blocks of `buffer`, whose shape is in bytes, where it or what it is filled with is in
    /// device memory.
    pub(crate) fn get_device<T, B>(
        &self,
        (from, source): (Route<'_>, SymView<'_, T>),
        (buffer, here): (B, Here),
        blocks: Blocks,
        pe: usize,
    ) -> Op<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let from = Side::of(&from);
        let kept = source.to_owned();
        let mut held = Still::new(buffer.hold());
        let to = Side::here(here, held.as_mut_ptr());
        let this = Arc::clone(self.pe());
        let (flight, completion) = begin(self.ops(), pe, move |got: Result<()>| {
            if let Here::Device(place) = here {
                this.shm().device_words_changed(place.block());
            }
            drop(kept);
            held.filled(got)
        });
        // SAFETY: what a sink holds is STABLE: it stays where it is as long as it exists, and the
        // completion holds it.
        unsafe { copy_blocks(self.pe(), from, to, blocks, completion) };
        Op::under_way(flight, self.pe().engine().at_first_poll())
    }

    /// An atomic operation that fetches.
    pub(crate) fn fetch_device<T: Send>(
        &self,
        at: DevicePlace,
        width: Width,
        operation: Atomic<u64>,
        value: impl FnOnce(u64) -> T + Send + 'static,
        pe: usize,
    ) -> Op<T, Error> {
        let writer = (!matches!(operation, Atomic::Fetch)).then(|| Arc::clone(self.pe()));
        let (flight, completion) = begin(self.ops(), pe, move |before: Result<u64>| {
            if let Some(writer) = writer {
                writer.shm().device_words_changed(at.block());
            }
            before.map(value)
        });
        match self.pe().device() {
            // SAFETY: a `SymRef` is one aligned element in bounds, on every PE.
            Some(device) => unsafe { device.atomic(at, width, operation, completion) },
            None => completion(Err(Error::Finalized { call: "atomic" })),
        }
        Op::under_way(flight, self.pe().engine().at_first_poll())
    }

    /// An atomic operation that fetches nothing.
    pub(crate) fn update_device(
        &self,
        at: DevicePlace,
        width: Width,
        operation: Atomic<u64>,
        pe: usize,
    ) -> Op<(), Error> {
        // Without a future that waits for it, `quiet` reports what goes wrong.
        if let (Width::Eight, Atomic::Set(value), Some(device)) = (width, operation, self.pe().device()) {
            let home = Arc::clone(self.pe());
            let (_, completion) = begin(self.ops(), pe, move |set: Result<()>| {
                home.shm().device_words_changed(at.block());
                set
            });
            // SAFETY: a `SymRef` is one aligned element in bounds, on every PE.
            unsafe { set_word(device, at, value, completion) };
        } else {
            drop(self.fetch_device(at, width, operation, drop, pe));
        }
        Op::Complete(())
    }
}

/// Copies blocks, whose shape is in bytes. `completion` runs when all are there.
///
/// # Safety
/// All must be in bounds on both sides until then.
pub(crate) unsafe fn copy_blocks(pe: &Arc<Pe>, from: Side, to: Side, blocks: Blocks, completion: Completion) {
    let Blocks { dest_stride, source_stride, block, count } = blocks;
    if count == 1 {
        // SAFETY: passed on to the caller.
        return unsafe { copy(pe, from, to, block, completion) };
    }
    if let (Some(from), Some(to), Some(device)) = (from.end(), to.end(), pe.device())
        && matches!((from, to), (End::Device(_), _) | (_, End::Device(_)))
    {
        let blocks = DeviceBlocks { len: block, count, from_stride: source_stride, to_stride: dest_stride };
        // SAFETY: passed on to the caller.
        return unsafe { device.copy_blocks(from, to, blocks, completion) };
    }
    let all = AllParts::new(completion);
    for i in 0..count {
        let (from, to) = (from.behind(i * source_stride), to.behind(i * dest_stride));
        // SAFETY: passed on to the caller.
        unsafe { copy(pe, from, to, block, all.part()) };
    }
}
