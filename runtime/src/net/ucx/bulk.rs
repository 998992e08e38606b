//! Longer puts and gets where everything goes over TCP, as active messages.
//!
//! UCX's own puts and gets are messages there too, of 8 KiB each, which it copies on both sides, and of which it has every put
//! acknowledged. These go in one piece from the caller's memory, up to [`WHOLE`] bytes with the message; of longer ones the message
//! is an offer, and UCX brings the data from one memory into the other without a copy of its own. A put is counted as a
//! [batch](super::batches) is, so that a flush waits for both in the same way.
//!
//! Data that was offered comes after what is sent later. So an operation that reads from a PE begins when the long puts and
//! batches that were sent there before have been applied.

use std::{
    collections::HashMap,
    ffi::{c_uint, c_void},
    hash::BuildHasherDefault,
    sync::atomic::Ordering,
};

use ucx_sys::*;

use super::{
    batches::{Message, stamp, words_of},
    calls::sending,
    operation::{Kind, Operation, Update, arrived},
    worker::{News, NumberHasher, Worker},
};
use crate::{
    Error, Result,
    executor::Failure,
    memory::copy,
    net::{Batch, Done, Spot},
    transport::Signal,
};

/// Names of the active messages.
pub(super) const PUT: c_uint = 8;
pub(super) const WANTED: c_uint = 9;
pub(super) const DATA: c_uint = 10;

/// Up to so many bytes come with the message: what UCX sends over TCP in one piece.
const WHOLE: usize = 60 << 10;

/// Memory that an operation writes to, or reads from, until it is over.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) at: *mut u8,
    pub(super) len: usize,
}

impl Bytes {
    /// The address. A closure that calls this keeps all of it, which it may take to another thread; of `at` it may not.
    pub(super) fn address(self) -> *mut u8 {
        self.at
    }
}

// SAFETY: an address that says nothing of itself; who uses it says why it may.
unsafe impl Send for Bytes {}

/// A get that waits for its data.
struct Asked {
    pe: usize,
    to: Bytes,
    done: Done,
}

/// Data that a PE offers.
pub(super) struct Offered {
    /// UCX's name for the data.
    data: *mut c_void,
    pe: usize,
    /// Where it goes, and whose it is.
    to: Bytes,
    kind: Kind,
}

// SAFETY: UCX's name is used under the worker's lock, and what the operation is can be sent.
unsafe impl Send for Offered {}

impl Offered {
    /// Data of that name from that PE. `to` must be writable until an operation of this `kind` is over.
    pub(super) fn new(data: *mut c_void, pe: usize, to: Bytes, kind: Kind) -> Self {
        Self { data, pe, to, kind }
    }
}

/// Gets, of this PE and of others.
#[derive(Default)]
pub(super) struct Gets {
    asked: u64,
    waiting: HashMap<u64, Asked, BuildHasherDefault<NumberHasher>>,
    /// Which PE wants what under which number.
    wanted: Vec<(usize, u64, Bytes)>,
}

impl Gets {
    /// Whether all have been sent what they want.
    pub(super) fn owes_none(&self) -> bool {
        self.wanted.is_empty()
    }

    pub(super) fn take_wanted(&mut self) -> Vec<(usize, u64, Bytes)> {
        std::mem::take(&mut self.wanted)
    }

    /// Those that wait for `pe`, or for anybody.
    pub(super) fn fail(&mut self, pe: Option<usize>) -> Vec<Done> {
        let lost = |asked: &Asked| pe.is_none_or(|pe| asked.pe == pe);
        self.waiting.extract_if(|_, asked| lost(asked)).map(|(_, asked)| asked.done).collect()
    }
}

impl Worker {
    /// Puts, and has the target update the signal when all is there.
    ///
    /// # Safety
    /// `from` must be readable until the operation is over.
    pub(super) unsafe fn put_by_message(
        &self,
        to: Spot,
        from: *const u8,
        len: usize,
        signal: Option<(Spot, Signal)>,
        operation: Box<Operation>,
    ) -> Result<()> {
        let number = self.announce(to.pe, len > WHOLE);
        let [entry, operand] = signal.map_or([0; _], |(at, update)| entry(at, update));
        let operation = operation.with_header([stamp(self.me, number), to.offset as u64, entry, operand]);
        let head = size_of::<u64>() * if signal.is_some() { 4 } else { 2 };
        let mut is_sent = false;
        let started = self.start(to.pe, operation, |ucx, peer, operation| {
            // SAFETY: the header is the operation's, and `from` the caller's: both stay until UCX has let go of them.
            let status = unsafe {
                let header = (&raw const (*operation).header).cast();
                let params = in_one_piece(operation, len);
                ucx.ucp_am_send_nbx(peer.endpoint, PUT, header, head, from.cast(), len, &params)
            };
            is_sent = UCS_PTR_IS_PTR(status) || UCS_PTR_STATUS(status) == UCS_OK;
            status
        });
        if !is_sent {
            self.applies_no_more(to.pe);
        }
        started
    }

    /// # Safety
    /// `to` must be writable until `done` is told.
    pub(super) unsafe fn get_by_message(&self, from: Spot, to: *mut u8, len: usize, done: Done) {
        let number = {
            let gets = &mut self.gate().gets;
            gets.asked += 1;
            let number = gets.asked;
            gets.waiting.insert(number, Asked { pe: from.pe, to: Bytes { at: to, len }, done });
            number
        };
        let wanted = Operation::note([self.me as u64, number, from.offset as u64, len as u64]);
        if let Err(error) = self.say(from.pe, WANTED, wanted) {
            let asked = self.gate().gets.waiting.remove(&number);
            if let Some(Asked { done, .. }) = asked {
                done(Err(error));
            }
        }
    }

    /// How many batches `pe` has to apply before an operation that reads from it may begin, if it has not.
    pub(super) fn behind_long_puts(&self, pe: usize) -> Option<u64> {
        // Relaxed: whoever must not overtake such a put was started behind it, by whatever orders the two.
        if self.has_offered.load(Ordering::Relaxed) { self.gate().unapplied_long(pe) } else { None }
    }

    /// Sends a PE what it wants of this one's memory.
    pub(super) fn send_wanted(&self, pe: usize, number: u64, from: Bytes) {
        let operation = Operation::new(Kind::Own).with_header([number, 0, 0, 0]);
        // A PE that is gone wants nothing.
        let _ = self.start(pe, operation, |ucx, peer, operation| {
            // SAFETY: the header is the operation's, which stays until UCX has let go of it; the rest is symmetric memory, which stays
            // as long as the worker does.
            unsafe {
                let header = (&raw const (*operation).header).cast();
                let params = in_one_piece(operation, from.len);
                let head = size_of::<u64>();
                ucx.ucp_am_send_nbx(peer.endpoint, DATA, header, head, from.at.cast(), from.len, &params)
            }
        });
    }

    /// Has UCX bring data that was offered.
    pub(super) fn fetch_offered(&self, Offered { data, pe, to, kind }: Offered) {
        // To know whom it came from, not to talk to them.
        let _ = self.start(pe, Operation::new(kind), |ucx, _, operation| {
            let params = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                cb: ucp_request_param_cb { recv_am: Some(arrived) },
                user_data: operation.cast(),
                ..Default::default()
            };
            // SAFETY: whoever has taken the offer has said that this may be written to; the data was offered, and is fetched once.
            unsafe { ucx.ucp_am_recv_data_nbx(self.handle(), data, to.at.cast(), to.len, &params) }
        });
    }

    /// Where in this PE's memory `pe` reads or writes. One that is not of this build may say anything.
    fn place(&self, pe: usize, offset: u64, len: usize) -> Option<Bytes> {
        let at = usize::try_from(offset).ok().and_then(|offset| self.memory.address(self.block, offset, len));
        if at.is_none() {
            let error = Error::bootstrap("net", "it puts or gets beyond the symmetric memory");
            self.fail(Failure::PeLost { pe, how: error.to_string() });
        }
        at.map(|at| Bytes { at, len })
    }
}

/// What a batch says of a signal.
fn entry(at: Spot, update: Signal) -> Update {
    let mut batch = Batch::default();
    batch.signal(at, update);
    let mut entry = Update::default();
    entry.copy_from_slice(&batch.into_words());
    entry
}

/// How UCX is to send so many bytes.
fn in_one_piece(operation: *mut Operation, len: usize) -> ucp_request_param_t {
    let mut params = sending(operation);
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = if len <= WHOLE { UCP_AM_SEND_FLAG_EAGER } else { UCP_AM_SEND_FLAG_RNDV };
    params
}

/// Whether a message's data is only offered.
///
/// # Safety
/// UCX must have passed `param`.
pub(super) unsafe fn is_offer(param: *const ucp_am_recv_param_t) -> bool {
    // SAFETY: valid during the call, as the caller says.
    unsafe { (*param).recv_attr & u64::from(UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 }
}

/// A put has come, or its data is offered.
pub(super) unsafe extern "C" fn put_came(
    worker: *mut c_void,
    header: *const c_void,
    header_len: usize,
    data: *mut c_void,
    len: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: UCX passes what `accept_batches` gave it, and what a PE has sent, for the time of the call.
    let (worker, is_offer) = unsafe { (&*worker.cast::<Worker>(), is_offer(param)) };
    // SAFETY: as above.
    let (plain, signalling) = unsafe { (words_of(header, header_len), words_of(header, header_len)) };
    let (stamp, offset, then) = match (plain, signalling) {
        (Some([stamp, offset]), _) => (stamp, offset, None),
        (_, Some([stamp, offset, entry, operand])) => (stamp, offset, Some([entry, operand])),
        _ => return UCS_OK,
    };
    let pe = stamp as u32 as usize;
    let Some(to) = worker.place(pe, offset, len) else { return UCS_OK };
    if is_offer {
        worker.gate().offered.push(Offered::new(data, pe, to, Kind::Landing { stamp, then }));
        worker.has_news();
        return UCS_INPROGRESS;
    }
    // SAFETY: `place` has checked the bounds of this side; UCX lends `len` bytes for the time of the call.
    unsafe { copy::copy(to.at, data.cast(), len) };
    worker.perform(stamp, then.as_slice().as_flattened());
    UCS_OK
}

/// A PE wants to get something.
pub(super) struct Wanted;

impl Message<4> for Wanted {
    fn came(worker: &Worker, [from, number, offset, len]: [u64; 4]) {
        let pe = from as usize;
        if let Some(bytes) = worker.place(pe, offset, len as usize) {
            worker.gate().gets.wanted.push((pe, number, bytes));
            worker.has_news();
        }
    }
}

/// What this PE wants has come, or is offered.
pub(super) unsafe extern "C" fn data_came(
    worker: *mut c_void,
    header: *const c_void,
    header_len: usize,
    data: *mut c_void,
    len: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `put_came`.
    let (worker, words, is_offer) =
        unsafe { (&*worker.cast::<Worker>(), words_of::<1>(header, header_len), is_offer(param)) };
    let asked = words.and_then(|[number]| worker.gate().gets.waiting.remove(&number));
    let Some(Asked { pe, to, done }) = asked else { return UCS_OK };
    if len != to.len {
        let error = Error::bootstrap("net", format!("PE {pe} has sent {len} bytes, not {}", to.len));
        worker.note(News::Later(Box::new(move || done(Err(error)))));
    } else if is_offer {
        worker.gate().offered.push(Offered::new(data, pe, to, Kind::Plain(done)));
        worker.has_news();
        return UCS_INPROGRESS;
    } else {
        // SAFETY: the caller of the get keeps `to`, which has as many bytes; UCX lends those for the time of the call.
        unsafe { copy::copy(to.at, data.cast(), len) };
        worker.note(News::Over(done));
    }
    UCS_OK
}
