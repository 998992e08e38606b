//! What is kept for an operation that UCX has under way, until UCX says that it is over.

use std::{ffi::c_void, ptr::NonNull};

use oxshmem_base::{Error, Result};
use oxshmem_progress::completion::{Completion, complete};
use ucx_sys::*;

use super::Worker;
use crate::batch::extend;

/// Words that a header has at most, with the one that it [ends with](Operation::sign).
pub(super) const HEADER: usize = 7;
/// Words of a short message, with the one that it [ends with](Operation::sign).
pub(super) const NOTE: usize = 7;

/// The header of an active message: this many of these words.
#[derive(Clone, Copy, Default)]
pub(super) struct Header {
    words: [u64; HEADER],
    len: usize,
}

impl<const N: usize> From<[u64; N]> for Header {
    fn from(words: [u64; N]) -> Self {
        const { assert!(N < HEADER, "it ends with one more") };
        let mut header = Self { len: N, ..Self::default() };
        header.words[..N].copy_from_slice(&words);
        header
    }
}

/// An operation under way. UCX knows it by its address.
pub(super) struct Operation {
    /// Whose it is: outlives it, since a worker has UCX let go of everything before it goes.
    worker: Option<NonNull<Worker>>,
    /// The other PE.
    pub(super) pe: usize,
    /// Among those that are under way.
    pub(super) place: Option<usize>,
    /// The header of an active message, where UCX reads it.
    header: Header,
    pub(super) kind: Kind,
}

// SAFETY: the worker's address is only used under the rules of `ended`; the rest can be sent.
unsafe impl Send for Operation {}

pub(super) enum Kind {
    /// UCX reads these words. Nothing waits for its end.
    Words(Vec<u64>),
    /// This many of these.
    Note([u64; NOTE], usize),
    /// A put or get, whose buffer is the caller's.
    Moved(Completion<u64>),
    /// Something sent, whose buffer is the caller's.
    Plain(Completion),
    /// A flush of what was started up to some operation.
    Flush { upto: u64, done: Completion },
    /// A message of `len` bytes, of which UCX brings the data.
    Received { len: usize, done: Completion<usize> },
}

impl Operation {
    pub(super) fn new(kind: Kind) -> Box<Self> {
        Box::new(Self { worker: None, pe: 0, place: None, header: Header::default(), kind })
    }

    pub(super) fn with_header(mut self: Box<Self>, header: impl Into<Header>) -> Box<Self> {
        self.header = header.into();
        self
    }

    pub(super) fn header(&self) -> &[u64] {
        &self.header.words[..self.header.len]
    }

    /// A message of a few words.
    pub(super) fn note<const N: usize>(words: [u64; N]) -> Box<Self> {
        const { assert!(N < NOTE, "it ends with one more") };
        let mut note = [0; NOTE];
        note[..N].copy_from_slice(&words);
        Self::new(Kind::Note(note, N))
    }

    /// Adds what the PE that it is sent to knows its job's messages by. Once, before UCX has it.
    pub(super) fn sign(&mut self, secret: u64) {
        match (&mut self.header, &mut self.kind) {
            (Header { len: 0, .. }, Kind::Words(words)) => words.push(secret),
            (Header { len: 0, .. }, Kind::Note(words, len)) => {
                words[*len] = secret;
                *len += 1;
            }
            (header, _) => {
                header.words[header.len] = secret;
                header.len += 1;
            }
        }
    }

    /// What it sends, if that is words.
    pub(super) fn words(&self) -> &[u64] {
        match &self.kind {
            Kind::Words(words) => words,
            Kind::Note(words, len) => &words[..*len],
            _ => &[],
        }
    }

    /// Hands it to UCX, by its address.
    pub(super) fn hand_over(mut self: Box<Self>, worker: &Worker, pe: usize) -> *mut Self {
        (self.worker, self.pe) = (Some(NonNull::from(worker)), pe);
        Box::into_raw(self)
    }

    /// Completes it, or returns what went wrong where nothing waits for it. Called with no lock
    /// held.
    pub(super) fn end(self, outcome: Result<()>) -> Result<()> {
        match self.kind {
            Kind::Plain(done) | Kind::Flush { done, .. } => complete(done, outcome),
            Kind::Moved(done) => complete(done, outcome.map(|()| 0)),
            Kind::Received { len, done } => complete(done, outcome.map(|()| len)),
            Kind::Words(_) | Kind::Note(..) => return outcome,
        }
        Ok(())
    }
}

/// How UCX is to report the end of an operation.
pub(super) fn sending(operation: *mut Operation) -> ucp_request_param_t {
    ucp_request_param_t {
        op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        cb: ucp_request_param_cb { send: Some(ended) },
        user_data: operation.cast(),
        ..Default::default()
    }
}

/// The end of everything that is sent, put, fetched or flushed.
unsafe extern "C" fn ended(request: *mut c_void, status: ucs_status_t, operation: *mut c_void) {
    // SAFETY: UCX calls this once for an operation that `lend` made, inside of a call for its
    // worker.
    unsafe { end(request, status, operation.cast()) }
}

/// The end of an active message's data.
pub(super) unsafe extern "C" fn arrived(
    request: *mut c_void,
    status: ucs_status_t,
    _length: usize,
    operation: *mut c_void,
) {
    // SAFETY: as in `ended`.
    unsafe { end(request, status, operation.cast()) }
}

unsafe fn end(request: *mut c_void, status: ucs_status_t, operation: *mut Operation) {
    // SAFETY: as `ended` says. The request is UCX's no longer, and neither is the operation.
    unsafe {
        let Some(worker) = (*operation).worker else { return };
        worker.as_ref().ended(request, Box::from_raw(operation), status);
    }
}

/// The bytes at `from`, in words, of which the last is filled up with zeros, and room for two more.
///
/// # Safety
/// `from` must be readable for `len` bytes; others may write there meanwhile.
pub(super) unsafe fn words_from(from: *const u8, len: usize) -> Vec<u64> {
    // With room for three words behind it: see `send_short`.
    let mut words = Vec::with_capacity(len.div_ceil(size_of::<u64>()) + 3);
    // SAFETY: passed on to the caller.
    unsafe { extend(&mut words, from, len) };
    words
}

/// What a status means to what waits.
pub(super) fn outcome(worker: &Worker, pe: usize, status: ucs_status_t) -> Result<()> {
    match status {
        UCS_OK => Ok(()),
        UCS_ERR_CANCELED if worker.is_closed() => Err(Error::Finalized { call: "net" }),
        status => Err(Error::PeLost { pe, view: 0, how: format!("UCX says: {}", worker.text(status)) }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_short_message_has_all_of_its_bytes_and_zeros_behind_them() {
        let bytes: Vec<u8> = (1..=40).collect();
        for len in 0..=bytes.len() {
            // SAFETY: the vector has as many bytes.
            let words = unsafe { words_from(bytes.as_ptr(), len) };
            let mut expected = bytes[..len].to_vec();
            expected.resize(len.next_multiple_of(size_of::<u64>()), 0);
            assert_eq!(bytemuck::cast_slice::<u64, u8>(&words), expected);
            assert!(words.capacity() >= words.len() + 2);
        }
    }

    // ThreadSanitizer sees a plain read of what another thread writes.
    #[test]
    fn others_may_write_to_what_is_sent_meanwhile() {
        let memory: [AtomicU64; 4] = std::array::from_fn(|_| AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in 1..=100 {
                    memory.iter().for_each(|word| word.store(value, Ordering::Relaxed));
                }
            });
            for _ in 0..100 {
                // SAFETY: the words are there, and may be read and written at any time.
                let words = unsafe { words_from(memory.as_ptr().cast(), size_of_val(&memory)) };
                assert!(words.iter().all(|&word| word <= 100));
            }
        });
    }
}
