//! The PEs that this one is connected to, and those that it has lost.

use std::{
    ffi::c_void,
    ptr::{self, NonNull},
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem_base::{Error, Result};
use oxshmem_progress::{completion::complete, failure::Failure};
use ucx_sys::*;

use super::{
    Ends, Event, Inner, Worker,
    open::{HEAD, check, to_words},
    operation::outcome,
};

/// How long after the end of a connection its PE may still turn out to have left in peace: what it
/// announced may come over another connection.
const BENEFIT_OF_DOUBT: Duration = Duration::from_secs(2);

/// A PE that was talked to.
pub(super) struct Peer {
    pub(super) endpoint: ucp_ep_h,
    pub(super) rkey: ucp_rkey_h,
    /// The address of its memory, there.
    pub(super) base: u64,
    /// What messages to it end with.
    pub(super) secret: u64,
    /// How many operations were started that UCX has to flush, and how many it is known to have
    /// flushed.
    pub(super) started: u64,
    pub(super) flushed: u64,
    pub(super) failed: Option<ucs_status_t>,
    /// Shared, as UCX has its address: a box may not be aliased when it is moved.
    id: Arc<EndpointId>,
}

/// What UCX is given to name an endpoint that it gives up.
struct EndpointId {
    worker: NonNull<Worker>,
    pe: usize,
}

// SAFETY: the worker is used where it is alive, and as others use it, by reference.
unsafe impl Send for EndpointId {}
// SAFETY: as above.
unsafe impl Sync for EndpointId {}

impl Worker {
    /// The connection to `pe`, made if there is none.
    pub(super) fn peer<'a>(&self, inner: &'a mut Inner, pe: usize) -> Result<&'a mut Peer> {
        if !inner.open {
            return Err(Error::Finalized { call: "net" });
        }
        if matches!(inner.peers.get(pe), Some(None)) {
            inner.peers[pe] = Some(self.connect(pe)?);
        }
        let peer = inner.peers.get_mut(pe).and_then(Option::as_mut);
        let peer = peer.ok_or_else(|| Error::bootstrap("net", format!("there is no PE {pe}")))?;
        match peer.failed {
            None => Ok(peer),
            Some(status) => {
                Err(Error::PeLost { pe, view: 0, how: format!("UCX says: {}", self.text(status)) })
            }
        }
    }

    #[cold]
    fn connect(&self, pe: usize) -> Result<Box<Peer>> {
        let malformed = || {
            Error::bootstrap(
                "net",
                format!(
                    "PE {pe} has published no address that this one can read: do all run the same build?"
                ),
            )
        };
        let lost =
            |error: Error| Error::PeLost { pe, view: 0, how: format!("it cannot be reached: {error}") };
        let published = self.directory.get().ok_or_else(malformed)?.of(pe)?;
        let (head, rest) = published.split_at_checked(HEAD).ok_or_else(malformed)?;
        let word = |at: usize| head[at..at + 8].iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
        let (address, rkey) = rest.split_at_checked(word(0) as usize).ok_or_else(malformed)?;
        if rkey.len() as u64 != word(8) {
            return Err(malformed());
        }
        // Aligned as UCX's own buffers are.
        let (address, key) = (to_words(address), to_words(rkey));
        let mut peer = Box::new(Peer {
            endpoint: ptr::null_mut(),
            rkey: ptr::null_mut(),
            base: word(16),
            secret: word(24),
            started: 0,
            flushed: 0,
            failed: None,
            id: Arc::new(EndpointId { worker: NonNull::from(self), pe }),
        });
        let params = ucp_ep_params_t {
            field_mask: (UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
                | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE
                | UCP_EP_PARAM_FIELD_ERR_HANDLER)
                .into(),
            address: address.as_ptr().cast(),
            err_mode: UCP_ERR_HANDLING_MODE_PEER,
            err_handler: ucp_err_handler { cb: Some(broke), arg: Arc::as_ptr(&peer.id).cast_mut().cast() },
            ..Default::default()
        };
        // SAFETY: the worker is open and ours; the address and the key are what the PE has
        // published. What the error handler is given stays with the peer until the worker is
        // destroyed.
        unsafe {
            check(self.ucx, "connect", self.ucx.ucp_ep_create(self.handle, &params, &mut peer.endpoint))
                .map_err(lost)?;
            let unpacked = self.ucx.ucp_ep_rkey_unpack(peer.endpoint, key.as_ptr().cast(), &mut peer.rkey);
            if let Err(error) = check(self.ucx, "unpack a key", unpacked) {
                // The endpoint stays as long as the worker does, and may still break.
                Box::leak(peer);
                return Err(lost(error));
            }
        }
        Ok(peer)
    }

    /// A PE cannot be reached any more: what waits for it fails, and so does what is started later.
    pub(super) fn lost(&self, pe: usize, status: ucs_status_t) {
        {
            let mut inner = self.inner();
            let Inner { peers, .. } = &mut *inner;
            let Some(Some(peer)) = peers.get_mut(pe) else { return };
            if peer.failed.replace(status).is_some() {
                return;
            }
            let force = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS,
                flags: UCP_EP_CLOSE_FLAG_FORCE,
                ..Default::default()
            };
            let endpoint = std::mem::replace(&mut peer.endpoint, ptr::null_mut());
            // SAFETY: the endpoint is open, and nothing finds it any more. Its remote key goes
            // first.
            let closing = unsafe {
                self.ucx.ucp_rkey_destroy(std::mem::replace(&mut peer.rkey, ptr::null_mut()));
                self.ucx.ucp_ep_close_nbx(endpoint, &force)
            };
            if UCS_PTR_IS_PTR(closing) {
                // SAFETY: a request without a callback, freed once; UCX goes on without it.
                unsafe { self.ucx.ucp_request_free(closing) };
            }
        }
        if !self.is_closed() {
            self.ends().suspects.push((pe, status, Instant::now()));
        }
        let (failed, asked) = {
            let mut channels = self.channels();
            (channels.fail(pe), channels.asks.asked.fail(Some(pe)))
        };
        let awaited = self.messages().fail(Some(pe));
        for done in awaited {
            complete(done, outcome(self, pe, status).map(|()| 0));
        }
        for done in failed {
            complete(done, outcome(self, pe, status));
        }
        for done in asked {
            complete(done, outcome(self, pe, status).map(|()| 0));
        }
        if let Some(listener) = self.listener() {
            listener.lost(Some(pe), &|| match outcome(self, pe, status) {
                Err(error) => error,
                Ok(()) => Error::Finalized { call: "net" },
            });
        }
    }

    /// Ends the job of this PE if another was lost: a thread that only waits for it would never
    /// know. How long there is to wait for that, if there is a doubt. Called by the helper thread.
    pub(super) fn judge(&self) -> Option<Duration> {
        let (lost, next) = {
            let Ends { suspects, left, .. } = &mut *self.ends();
            suspects.retain(|(pe, ..)| !left.contains(pe));
            let lost = suspects.iter().position(|(.., since)| since.elapsed() >= BENEFIT_OF_DOUBT);
            let lost = lost.map(|at| suspects.swap_remove(at));
            let oldest =
                suspects.iter().map(|(.., since)| BENEFIT_OF_DOUBT.saturating_sub(since.elapsed())).min();
            (lost, oldest)
        };
        if let Some((pe, status, _)) = lost {
            self.fail(Failure::PeLost { pe, how: format!("UCX says: {}", self.text(status)) });
        }
        next
    }
}

/// UCX has given up an endpoint.
unsafe extern "C" fn broke(id: *mut c_void, _endpoint: ucp_ep_h, status: ucs_status_t) {
    // SAFETY: UCX passes what `connect` gave it, which lives as long as the endpoint, and so does
    // the worker.
    let (worker, pe) = unsafe {
        let id = &*id.cast::<EndpointId>();
        (id.worker.as_ref(), id.pe)
    };
    worker.note(Event::Broken(pe, status));
}
