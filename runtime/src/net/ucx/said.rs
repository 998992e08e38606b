//! What PEs say to each other over UCX, for whoever listens: an active message each, of a head and bytes.

use std::{
    ffi::c_void,
    sync::{Arc, Weak},
};

use ucx_sys::*;

use super::{
    batches::SAID,
    calls::sending,
    operation::{Kind, Operation},
    worker::{News, Worker},
};
use crate::net::{Done, Listener, Words};

/// Who says it, and the words.
pub(super) type Head = [u64; 6];

impl Worker {
    /// From now on this is who listens.
    pub(super) fn listen(&self, listener: Weak<dyn Listener>) {
        // A PE joins once, so there is no other.
        let _ = self.listener.set(listener);
    }

    pub(super) fn listener(&self) -> Option<Arc<dyn Listener>> {
        self.listener.get().and_then(Weak::upgrade)
    }

    /// # Safety
    /// `from` must be readable for `len` bytes until `done` is told.
    pub(super) unsafe fn talk(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Done) {
        let [a, b, c, d, e] = words;
        let operation = Operation::new(Kind::Said { head: [self.me as u64, a, b, c, d, e], done });
        let _ = self.start(pe, operation, |ucx, peer, operation| {
            let mut params = sending(operation);
            params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
            // As data, and never as an offer of it: whoever listens has agreed to have room for it.
            params.flags = UCP_AM_SEND_FLAG_EAGER;
            // SAFETY: the head is the operation's, which stays until UCX has let go of it, and the caller keeps `from`.
            unsafe {
                let head = match &(*operation).kind {
                    Kind::Said { head, .. } => (&raw const *head).cast::<c_void>(),
                    _ => unreachable!("it was made above"),
                };
                let head_len = size_of::<Head>();
                ucx.ucp_am_send_nbx(peer.endpoint, SAID, head, head_len, from.cast(), len, &params)
            }
        });
    }
}

/// A PE has said something.
pub(super) unsafe extern "C" fn was_said(
    worker: *mut c_void,
    header: *const c_void,
    header_len: usize,
    data: *mut c_void,
    len: usize,
    _param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: UCX passes what `accept_batches` gave it.
    let worker = unsafe { &*worker.cast::<Worker>() };
    let mut words: Head = [0; _];
    if header_len == size_of_val(&words) {
        let mut bytes = Vec::new();
        // SAFETY: UCX lends both for the time of the call, and the words are as long as the head; it was sent as data that is not only
        // offered.
        unsafe {
            std::ptr::copy_nonoverlapping(header.cast::<u8>(), words.as_mut_ptr().cast(), header_len);
            if len > 0 {
                bytes.extend_from_slice(std::slice::from_raw_parts(data.cast::<u8>(), len));
            }
        }
        let [from, words @ ..] = words;
        if let Some(listener) = worker.listener() {
            worker.note(News::Later(Box::new(move || listener.heard(from as usize, words, bytes))));
        }
    }
    UCS_OK
}
