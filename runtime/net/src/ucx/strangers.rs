//! Messages of processes that are no PEs of this job, which are dropped.
//!
//! UCX takes messages of any process that reaches its port, other users' included. So each PE makes
//! up a number when it joins, which it publishes through the launcher with its address, and every
//! message to it ends with that number: the header, where there is one, and the data otherwise. It
//! is in every message, because UCX does not say which process has sent one but by what it says
//! itself.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use oxshmem_base::{Error, Result, random, report};

use super::{Event, Worker, arrivals::WORD};

/// What a PE knows its job's messages by.
pub(super) struct Strangers {
    secret: u64,
    /// Messages that were dropped.
    dropped: AtomicU64,
}

impl Strangers {
    /// With a number of this PE's own.
    pub(super) fn new() -> Result<Self> {
        let secret = random::bytes().map_err(|error| Error::system("init", error))?;
        Ok(Self { secret: u64::from_ne_bytes(secret), dropped: AtomicU64::new(0) })
    }

    /// What messages to this PE end with.
    pub(super) fn secret(&self) -> u64 {
        self.secret
    }

    /// Whether a message that ends with this word is from a PE of this job. One comparison of two
    /// words, which takes as long whichever of their bits differ.
    fn knows(&self, word: u64) -> bool {
        word == self.secret
    }
}

impl Worker {
    /// The words of a message's header and its data, without the number that it ends with. `None`
    /// if it is a stranger's. Called inside of UCX.
    #[inline]
    pub(super) fn admit<'a>(&self, header: &'a [u64], data: &'a [u8]) -> Option<(&'a [u64], &'a [u8])> {
        let (word, header, data) = match header {
            [header @ .., word] => (*word, header, data),
            [] => {
                let (data, word) = data.split_last_chunk::<WORD>().unwrap_or((data, &[0; WORD]));
                (u64::from_ne_bytes(*word), header, data)
            }
        };
        if self.strangers.knows(word) {
            return Some((header, data));
        }
        self.drop_strange();
        None
    }

    /// The PE that a message says it is from, if the job has one of that number. It is an index and
    /// a key here, of which there are to be no more than there are PEs.
    pub(super) fn sender(&self, from: u64) -> Option<usize> {
        usize::try_from(from).ok().filter(|&from| from < self.n_pes)
    }

    /// Counts a message that is dropped, and has the first one reported.
    #[cold]
    pub(super) fn drop_strange(&self) {
        // Relaxed: only counted.
        let before = self.strangers.dropped.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(target: "oxshmem::net", dropped = before + 1, "a message that is not from this job is dropped");
        if before > 0 {
            return;
        }
        let me = self.me;
        self.note(Event::Later(Box::new(move || {
            say(format_args!(
                "PE {me} drops messages of a process that is not of this job; the book's chapter Security says what to do"
            ));
        })));
    }

    /// Says how many were dropped in all, if it was more than the one that was reported.
    pub(super) fn report_dropped(&self) {
        let (me, dropped) = (self.me, self.dropped());
        if dropped > 1 {
            say(format_args!("PE {me} has dropped {dropped} messages of processes that are not of this job"));
        }
    }

    /// How many messages were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.strangers.dropped.load(Ordering::Relaxed)
    }
}

fn say(what: fmt::Arguments<'_>) {
    report(format_args!("oxshmem: warning: {what}"));
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::c_uint,
        ptr,
        sync::Arc,
        time::{Duration, Instant},
    };

    use ucx_sys::*;

    use super::{
        super::{
            arrivals::{BATCH, MESSAGE},
            open::{HEAD, Interfaces, Opening, open_context},
            tests::three,
        },
        *,
    };
    use crate::{Batch, suite::End};
    use oxshmem_base::Hosts;
    use oxshmem_job::Placement;
    use oxshmem_memory::op::Spot;
    use oxshmem_memory::{SegmentId, copy};

    /// A process that is no PE, with a UCX of its own and an endpoint to a PE.
    struct Stranger {
        opening: Opening,
        endpoint: ucp_ep_h,
    }

    impl Stranger {
        fn of(worker: &Worker) -> Self {
            let ucx = worker.ucx;
            let placement = Placement::new(0, Arc::new(Hosts::one(1)), String::new());
            let context = open_context(ucx, &placement, &Interfaces::Loopback).unwrap();
            let mut opening = Opening { ucx, context, worker: ptr::null_mut(), registered: ptr::null_mut() };
            let params = ucp_worker_params_t::default();
            let published = &worker.published;
            let len = usize::from_le_bytes(*published.first_chunk().unwrap());
            let address = super::super::open::to_words(&published[HEAD..][..len]);
            let mut endpoint = ptr::null_mut();
            let to = ucp_ep_params_t {
                field_mask: UCP_EP_PARAM_FIELD_REMOTE_ADDRESS.into(),
                address: address.as_ptr().cast(),
                ..Default::default()
            };
            // SAFETY: the context is open, and the parameters say which of them count. The address
            // is a worker's.
            unsafe {
                assert_eq!(ucx.ucp_worker_create(context, &params, &mut opening.worker), UCS_OK);
                assert_eq!(ucx.ucp_ep_create(opening.worker, &to, &mut endpoint), UCS_OK);
            }
            Self { opening, endpoint }
        }

        /// Sends a message, and goes on until it has left.
        fn send(&self, id: c_uint, header: &[u64], data: &[u64]) {
            let (ucx, worker) = (self.opening.ucx, self.opening.worker);
            let params = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS,
                flags: UCP_AM_SEND_FLAG_EAGER,
                ..Default::default()
            };
            let (head, head_len) = (header.as_ptr().cast(), size_of_val(header));
            // SAFETY: the endpoint is open, and header and data live until the request is over.
            unsafe {
                let request = ucx.ucp_am_send_nbx(
                    self.endpoint,
                    id,
                    head,
                    head_len,
                    data.as_ptr().cast(),
                    size_of_val(data),
                    &params,
                );
                if UCS_PTR_IS_PTR(request) {
                    while ucx.ucp_request_check_status(request) == UCS_INPROGRESS {
                        ucx.ucp_worker_progress(worker);
                    }
                    ucx.ucp_request_free(request);
                }
                assert!(!UCS_PTR_IS_ERR(request), "{}", ucx.status_text(UCS_PTR_STATUS(request)));
            }
        }
    }

    fn word(end: &End) -> u64 {
        // SAFETY: it is in the memory.
        unsafe { copy::load(end.memory.address(0, 0, WORD).unwrap().cast::<u64>()) }
    }

    /// What a PE sends to set the word at the start of `pe`'s memory.
    fn batch(pe: usize, value: u64) -> Batch {
        let mut batch = Batch::default();
        batch.put(Spot { pe, segment: SegmentId::Heap, offset: 0 }, &value.to_ne_bytes());
        batch
    }

    #[test]
    fn what_a_stranger_sends_changes_nothing_and_is_counted() {
        let Some((pes, workers)) = three(Duration::ZERO) else { return };
        let (victim, worker) = (&pes[0], &workers[0]);
        let stranger = Stranger::of(worker);
        // As a batch of PE 1, with another number and with none, and a message.
        let stamp = 1;
        let mut words = batch(0, 7).into_words();
        words.push(stamp);
        stranger.send(BATCH, &[], &words);
        words.push(worker.strangers.secret() ^ 1 << 63);
        stranger.send(BATCH, &[], &words);
        stranger.send(BATCH, &[stamp, 0], &words[..3]);
        stranger.send(MESSAGE, &[stamp, 0, 0], &[7]);
        // Of every kind, and of none.
        let mut sent = 4;
        for id in 0..40 {
            for len in 0..=8 {
                stranger.send(id, &[u64::MAX; 8][..len], &[u64::MAX; 9][..8 - len]);
                // UCX warns of names that have no handler by itself.
                sent += u64::from(id < 32);
            }
        }
        let until = Instant::now() + Duration::from_secs(20);
        while worker.dropped() < sent && Instant::now() < until {
            worker.progress();
        }
        assert_eq!((worker.dropped(), word(victim)), (sent, 0));
        // The job goes on.
        for (from, end) in pes.iter().enumerate().skip(1) {
            end.net.apply(0, batch(0, from as u64)).unwrap();
            while word(victim) != from as u64 {
                assert!(Instant::now() < until);
                pes.iter().for_each(|end| _ = end.net.poll());
            }
        }
        assert_eq!(worker.dropped(), sent);
    }
}
