//! Data of long messages that UCX does not bring with them but offers, and brings when it is known
//! where it goes: so nothing keeps it meanwhile.
//!
//! What was offered comes after what is sent later.

use std::ffi::c_void;

use oxshmem_progress::completion::Completion;
use ucx_sys::*;

use super::{
    Worker,
    operation::{Kind, Operation, arrived},
};

/// Memory that a message is read from, or written to, until it is over.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) at: *mut u8,
    pub(super) len: usize,
}

// SAFETY: an address that says nothing of itself; each use says why it may be used.
unsafe impl Send for Bytes {}

/// Data that UCX offers, by its name for it. It is to be fetched or turned down.
pub(super) struct Offer {
    data: *mut c_void,
    len: usize,
}

// SAFETY: UCX's name is used under the worker's lock.
unsafe impl Send for Offer {}

impl Offer {
    /// # Safety
    /// `data` must be UCX's name for as many bytes.
    pub(super) unsafe fn new(data: *mut c_void, len: usize) -> Self {
        Self { data, len }
    }

    /// Bytes of it.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// A message that a PE offers, and that is wanted.
pub(super) struct Offered {
    offer: Offer,
    pe: usize,
    to: Bytes,
    done: Completion<usize>,
}

impl Offered {
    /// What that PE offers. `to` must have room for it, and be writable until `done` runs.
    pub(super) fn new(offer: Offer, pe: usize, to: Bytes, done: Completion<usize>) -> Self {
        Self { offer, pe, to, done }
    }
}

impl Worker {
    /// Has UCX bring data that was offered.
    pub(super) fn fetch_offered(&self, Offered { offer, pe, to, done }: Offered) {
        let Offer { data, len } = offer;
        // To know where it came from, not to send there.
        let _ = self.start(pe, Operation::new(Kind::Received { len, done }), |ucx, _, operation| {
            let params = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                cb: ucp_request_param_cb { recv_am: Some(arrived) },
                user_data: operation.cast(),
                ..Default::default()
            };
            // SAFETY: what has taken the offer has promised that this may be written to; the data
            // was offered, and is fetched once.
            unsafe { ucx.ucp_am_recv_data_nbx(self.handle, data, to.at.cast(), len, &params) }
        });
    }

    /// Lets go of data that UCX offers.
    pub(super) fn turn_down(&self, offered: impl IntoIterator<Item = Offer>) {
        let inner = self.inner();
        if inner.open {
            for Offer { data, .. } in offered {
                // SAFETY: the worker is open and ours; the data was offered, and nothing else has
                // its name any more.
                unsafe { self.ucx.ucp_am_data_release(self.handle, data) };
            }
        }
    }
}
