//! Which active messages there are, and what takes each of them.

use std::{ffi::c_uint, ptr};

use oxshmem_base::Result;
use ucx_sys::*;

use super::{
    Worker,
    arrivals::{self, Arrival, Noted, arrived},
    asks::{Answer, Question},
    batches::{Applied, Batched, Goodbye, WantApplied},
    messages::{SentMessage, SentShort},
    notifications::Notification,
    open::check,
};

/// Names below this one mean something to UCX in this process, whatever sends them.
const NAMES: c_uint = 32;

/// A message of a name that none of ours has.
struct Unknown;

impl Arrival for Unknown {
    fn came(worker: &Worker, _header: &[u64], _data: &[u8]) {
        worker.drop_strange();
    }
}

/// The handler of each name.
pub(super) const HANDLERS: [(c_uint, ucp_am_recv_callback_t); 9] = [
    (arrivals::BATCH, Some(arrived::<Batched>)),
    (arrivals::APPLIED, Some(arrived::<Noted<2, Applied>>)),
    (arrivals::WANT_APPLIED, Some(arrived::<Noted<2, WantApplied>>)),
    (arrivals::QUESTION, Some(arrived::<Noted<6, Question>>)),
    (arrivals::ANSWER, Some(arrived::<Noted<2, Answer>>)),
    (arrivals::GOODBYE, Some(arrived::<Noted<1, Goodbye>>)),
    (arrivals::NOTIFICATION, Some(arrived::<Notification>)),
    (arrivals::SHORT_MESSAGE, Some(arrived::<SentShort>)),
    (arrivals::MESSAGE, Some(arrived::<SentMessage>)),
];

impl Worker {
    /// From now on active messages are understood.
    pub(super) fn accept_messages(&self) -> Result<()> {
        // UCX keeps one handler for each name up to the highest, and, in 1.13 and later versions,
        // clears only that one when it makes room for more: a message of a name between them would
        // be a jump to nowhere. So the highest comes first, and all have one.
        for id in (0..NAMES).rev() {
            let known = HANDLERS.iter().find(|(known, _)| *known == id);
            let cb = known.map_or(Some(arrived::<Unknown> as _), |(_, cb)| *cb);
            let params = ucp_am_handler_param_t {
                field_mask: (UCP_AM_HANDLER_PARAM_FIELD_ID
                    | UCP_AM_HANDLER_PARAM_FIELD_FLAGS
                    | UCP_AM_HANDLER_PARAM_FIELD_CB
                    | UCP_AM_HANDLER_PARAM_FIELD_ARG)
                    .into(),
                id,
                flags: UCP_AM_FLAG_WHOLE_MSG,
                cb,
                arg: ptr::from_ref(self).cast_mut().cast(),
            };
            // SAFETY: the worker is open and not used yet; handlers run inside of its progress,
            // which ends before this goes.
            check(self.ucx, "take active messages", unsafe {
                self.ucx.ucp_worker_set_am_recv_handler(self.handle, &params)
            })?;
        }
        Ok(())
    }
}
