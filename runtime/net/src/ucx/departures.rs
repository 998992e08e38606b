//! Active messages as they leave. What becomes of them where they [arrive](super::arrivals) their
//! name says.

use std::{ffi::c_uint, ptr};

use oxshmem_base::Result;
use ucx_sys::*;

use super::{
    Worker,
    operation::{Operation, sending},
    peers::Peer,
};

/// How the data of a message goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With it: the receiver has room.
    Whole,
    /// As UCX likes, which may only offer it where it is long.
    Free,
}

impl Worker {
    /// Sends the words of an operation, which come as data, and never as an offer of it.
    pub(super) fn send_words(&self, pe: usize, id: c_uint, operation: Box<Operation>) -> Result<()> {
        self.start(pe, operation, |_, peer, operation| self.give_words(peer, id, operation))
    }

    /// Hands them to UCX. Called with the lock held.
    pub(super) fn give_words(&self, peer: &Peer, id: c_uint, operation: *mut Operation) -> ucs_status_ptr_t {
        let params = message(operation, Form::Whole);
        // SAFETY: it was lent, and UCX does not have it yet.
        unsafe { (*operation).sign(peer.secret) };
        // SAFETY: the words are the operation's, which stays until UCX has let go of it.
        unsafe {
            let words = (*operation).words();
            let (from, len) = (words.as_ptr().cast(), size_of_val(words));
            self.ucx.ucp_am_send_nbx(peer.endpoint, id, ptr::null(), 0, from, len, &params)
        }
    }

    /// Hands bytes to UCX, behind the header of an operation. Called with the lock held.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes until the operation, which was lent, is over.
    pub(super) unsafe fn give_bytes(
        &self,
        peer: &Peer,
        id: c_uint,
        operation: *mut Operation,
        from: *const u8,
        len: usize,
        form: Form,
    ) -> ucs_status_ptr_t {
        let params = message(operation, form);
        // SAFETY: it was lent, and UCX does not have it yet.
        unsafe { (*operation).sign(peer.secret) };
        // SAFETY: the header is the operation's, which stays until UCX has let go of it; so does
        // the rest, as the caller says.
        unsafe {
            let header = (*operation).header();
            let (head, head_len) = (header.as_ptr().cast(), size_of_val(header));
            self.ucx.ucp_am_send_nbx(peer.endpoint, id, head, head_len, from.cast(), len, &params)
        }
    }
}

/// How UCX is to send a message, and to report its end.
fn message(operation: *mut Operation, form: Form) -> ucp_request_param_t {
    let mut params = sending(operation);
    if form == Form::Whole {
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        params.flags = UCP_AM_SEND_FLAG_EAGER;
    }
    params
}
