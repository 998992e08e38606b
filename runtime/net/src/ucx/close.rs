//! The end of a worker.

use std::{
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use oxshmem_base::Error;
use oxshmem_progress::completion::{complete, waiting};
use ucx_sys::*;

use super::{Inner, UnderWay, Worker};

/// How long a PE that leaves waits for what it has sent.
const LEAVING: Duration = Duration::from_secs(2);

impl Worker {
    /// True for the first call that wants to close it.
    pub(super) fn begin_close(&self) -> bool {
        !self.closing.swap(true, Ordering::AcqRel)
    }

    /// Waits a moment for what was sent, then closes everything. Operations that are still under
    /// way fail.
    ///
    /// UCX 1.13 ends the process if a worker is destroyed that has an answer to give to a PE that
    /// connects. Where the job does not end `in_order`, that may be so, and a worker that holds
    /// nothing stays, on which no thread makes progress, until the process ends.
    ///
    /// A completion may drop the last handle of its PE: those of the others run all the same.
    pub(super) fn close(&self, in_order: bool) {
        waiting(|| self.close_now(in_order));
    }

    fn close_now(&self, in_order: bool) {
        let deadline = Instant::now() + LEAVING;
        self.take_leave();
        let sent = Arc::new(AtomicBool::new(false));
        let is_sent = Arc::clone(&sent);
        self.flush_all(Box::new(move |_| is_sent.store(true, Ordering::Release)));
        while !(sent.load(Ordering::Acquire) && self.has_sent_all()) && Instant::now() < deadline {
            if !self.progress() {
                std::thread::yield_now();
            }
        }
        let closings = self.close_endpoints(!self.has_sent_all());
        let over = |request: &ucs_status_ptr_t| {
            // SAFETY: a request that was not freed yet.
            unsafe { self.ucx.ucp_request_check_status(*request) != UCS_INPROGRESS }
        };
        let deadline = deadline.max(Instant::now() + LEAVING / 4);
        while !closings.iter().all(over) && Instant::now() < deadline {
            if !self.progress() {
                std::thread::yield_now();
            }
        }
        let mut inner = self.inner();
        inner.open = false;
        // SAFETY: no thread uses the worker after `open` was set to false under the lock; what is
        // freed and destroyed is ours.
        unsafe {
            closings.into_iter().for_each(|request| self.ucx.ucp_request_free(request));
        }
        // What UCX still holds may be the caller's memory, which it must let go of in any case.
        if in_order || !self.ends().under_way.is_empty() {
            self.destroy(&inner);
        }
        drop(inner);
        // What UCX has reported meanwhile, and what it has not: it holds no operation any more.
        self.complete_events();
        let left = std::mem::take(&mut self.ends().under_way);
        for (_, UnderWay(operation)) in left {
            // SAFETY: UCX is gone where anything was under way, so the operation is ours alone.
            let operation = unsafe { Box::from_raw(operation) };
            let _ = self.end(*operation, UCS_ERR_CANCELED);
        }
        let (unapplied, asked) = {
            let mut channels = self.channels();
            (channels.fail_all(), channels.asks.asked.fail(None))
        };
        let awaited = self.messages().fail(None);
        for done in awaited {
            complete(done, Err(Error::Finalized { call: "net" }));
        }
        for done in asked {
            complete(done, Err(Error::Finalized { call: "net" }));
        }
        for done in unapplied {
            complete(done, Err(Error::Finalized { call: "net" }));
        }
    }

    /// Ends what UCX has of it. Called with the lock held and `open` set to false.
    fn destroy(&self, inner: &Inner) {
        // SAFETY: no thread uses the worker any more, and what is destroyed is ours.
        unsafe {
            self.ucx.ucp_worker_destroy(self.handle);
            self.ucx.ucp_mem_unmap(inner.context, inner.registered);
            self.ucx.ucp_cleanup(inner.context);
        }
    }

    /// Whether UCX holds nothing. A long message that is never received is never sent.
    fn has_sent_all(&self) -> bool {
        self.ends().under_way.is_empty()
    }

    /// Lets go of messages that were not received, and begins to close all connections. UCX sends
    /// first what it holds, or, if `force` is set, lets go of it: it must have nothing when the
    /// worker is destroyed.
    fn close_endpoints(&self, force: bool) -> Vec<ucs_status_ptr_t> {
        let unreceived = self.messages().take_offered();
        self.turn_down(unreceived);
        let mut inner = self.inner();
        let mut closings = Vec::new();
        for peer in inner.peers.iter_mut().flatten().filter(|peer| !peer.endpoint.is_null()) {
            let params = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS,
                flags: if force { UCP_EP_CLOSE_FLAG_FORCE } else { 0 },
                ..Default::default()
            };
            let endpoint = std::mem::replace(&mut peer.endpoint, ptr::null_mut());
            peer.failed.get_or_insert(UCS_ERR_CANCELED);
            // SAFETY: both are open, and nothing finds them any more.
            let closing = unsafe {
                self.ucx.ucp_rkey_destroy(std::mem::replace(&mut peer.rkey, ptr::null_mut()));
                self.ucx.ucp_ep_close_nbx(endpoint, &params)
            };
            if UCS_PTR_IS_PTR(closing) {
                closings.push(closing);
            }
        }
        closings
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.inner().open {
            self.begin_close();
            self.close(false);
        }
    }
}
