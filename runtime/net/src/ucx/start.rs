//! Operations from their start to their end.

use std::{
    ffi::c_void,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use oxshmem_base::{Error, Result};
use oxshmem_progress::{completion, executor, failure::Failure};
use ucx_sys::*;

use super::{
    Event, UnderWay, Worker,
    operation::{Kind, Operation, outcome},
    peers::Peer,
};

/// Operations under way. A thread that adds one beyond that first makes progress.
const MOST_UNDER_WAY: usize = 4096;
/// A thread that starts this many operations makes progress once.
const STARTS: u32 = 32;
/// How long the end of a PE takes to become known to its launcher, which then ends the others.
const LAST_WORDS: Duration = Duration::from_millis(200);

impl Worker {
    /// Starts something on `pe`: `start` hands it to UCX by its address. An operation that has a
    /// completion completes whatever happens; for others, what went wrong at once is returned.
    pub(super) fn start(
        &self,
        pe: usize,
        operation: Box<Operation>,
        start: impl FnOnce(&'static Ucx, &mut Peer, *mut Operation) -> ucs_status_ptr_t,
    ) -> Result<()> {
        let mut inner = self.inner();
        // It keeps the helper thread from the lock that this thread takes again and again.
        self.helper_waker.show_life();
        inner.started = inner.started.wrapping_add(1);
        let looks = inner.started.is_multiple_of(STARTS);
        let known = matches!(inner.peers.get(pe), Some(Some(_)));
        let peer = match self.peer(&mut inner, pe) {
            Ok(peer) => peer,
            Err(error) => {
                drop(inner);
                if let (false, Error::PeLost { pe, how, .. }) = (known, &error) {
                    // There never was a connection, and others wait for what this PE cannot send.
                    // If that PE has just ended, the launcher is about to say why, and to end this
                    // one too: that is what people are to read.
                    if self.executor.upgrade().is_some_and(|executor| executor.check_failure().is_ok()) {
                        std::thread::sleep(LAST_WORDS);
                    }
                    self.fail(Failure::PeLost { pe: *pe, how: how.clone() });
                }
                return operation.end(Err(error));
            }
        };
        let handed_over = operation.hand_over(self, pe);
        let status = start(self.ucx, peer, handed_over);
        let taken_back = self.take_back(handed_over, status);
        drop(inner);
        let outcome = taken_back.map_or(Ok(()), |(operation, status)| self.end(*operation, status));
        if looks {
            self.keep_up();
        }
        outcome
    }

    /// Takes an operation back that UCX has ended at once; the others are noted. Called with the
    /// lock held.
    pub(super) fn take_back(
        &self,
        handed_over: *mut Operation,
        status: ucs_status_ptr_t,
    ) -> Option<(Box<Operation>, ucs_status_t)> {
        if UCS_PTR_IS_PTR(status) {
            // UCX may have ended it within the call all the same. Relaxed: written by this thread,
            // if it was.
            if !self.ended_at_once.load(Ordering::Relaxed) {
                let place = Some(self.ends().under_way.insert(UnderWay(handed_over)));
                // SAFETY: UCX passes it on to `ended` alone, inside of calls under the lock that is
                // held; what UCX reads of it is another field.
                unsafe { (*handed_over).place = place };
            }
            self.ended_at_once.store(false, Ordering::Relaxed);
            return None;
        }
        // SAFETY: `hand_over` made it, and UCX has not kept it.
        Some((unsafe { Box::from_raw(handed_over) }, UCS_PTR_STATUS(status)))
    }

    /// Completes an operation that has ended. Called with no lock held.
    pub(super) fn end(&self, operation: Operation, status: ucs_status_t) -> Result<()> {
        let pe = operation.pe;
        let outcome = outcome(self, pe, status);
        if let (Kind::Flush { upto, .. }, Ok(())) = (&operation.kind, &outcome)
            && let Some(Some(peer)) = self.inner().peers.get_mut(pe)
        {
            peer.flushed = peer.flushed.max(*upto);
        }
        operation.end(outcome)
    }

    /// UCX has ended an operation. Called inside of UCX, where it cannot complete yet.
    pub(super) fn ended(&self, request: *mut c_void, operation: Box<Operation>, status: ucs_status_t) {
        if !request.is_null() {
            // SAFETY: the request is over, and freed once.
            unsafe { self.ucx.ucp_request_free(request) };
        }
        let mut ends = self.ends();
        match operation.place {
            Some(place) => drop(ends.under_way.try_remove(place)),
            // Relaxed: read by the same thread, when the call returns.
            None => self.ended_at_once.store(true, Ordering::Relaxed),
        }
        ends.events.push_back(Event::Ended(operation, status));
        drop(ends);
        self.has_events();
    }

    /// Something was started that a future may wait for.
    pub(super) fn began(&self) {
        if !executor::will_drive()
            && let Some(executor) = self.executor.upgrade()
        {
            executor.began();
        }
    }

    /// Makes progress for a thread that starts many operations. If the target is slower, that waits
    /// until it has caught up, rather than collect operations without limit. Not inside of a
    /// completion: progress would run others inside of it.
    fn keep_up(&self) {
        if completion::is_busy() {
            return;
        }
        self.progress();
        if self.n_under_way() <= MOST_UNDER_WAY {
            return;
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.n_under_way() > MOST_UNDER_WAY / 2 && Instant::now() < deadline {
            if !self.progress() {
                std::thread::yield_now();
            }
        }
    }

    /// How many operations UCX holds, wait for an answer or for what comes before them, or have
    /// ended and not completed.
    fn n_under_way(&self) -> usize {
        let ends = self.ends();
        let here = ends.under_way.len() + ends.events.len();
        drop(ends);
        here + self.channels().n_waiting()
    }

    /// `waiting` operations wait for an answer, or for what comes before them, the last of which
    /// was just started.
    pub(super) fn keep_up_with(&self, waiting: usize) {
        if waiting.is_multiple_of(STARTS as usize) {
            self.keep_up();
        }
    }
}
