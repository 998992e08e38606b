//! Flushes: when everything that was started on a PE is visible there.

use oxshmem_base::{Error, Result};
use oxshmem_progress::completion::{AllParts, Completion, complete};

use super::{
    Worker,
    arrivals::WANT_APPLIED,
    operation::{Kind, Operation, outcome, sending},
};

impl Worker {
    /// Runs `done` when everything that was started on `pe` before is visible there.
    pub(super) fn flush(&self, pe: usize, done: Completion) {
        self.send_gathered(Some(pe));
        match self.unseen(pe) {
            Err(error) => complete(done, Err(error)),
            Ok((None, None)) => complete(done, Ok(())),
            Ok((Some(upto), None)) => self.flush_endpoint(pe, upto, done),
            Ok((None, Some(count))) => self.when_applied(pe, count, done),
            Ok((Some(upto), Some(count))) => {
                let both = AllParts::new(done);
                self.flush_endpoint(pe, upto, both.part());
                self.when_applied(pe, count, both.part());
            }
        }
    }

    /// Up to which operation UCX has to flush what was started on `pe`, and how many batches `pe`
    /// has to apply, if it has not.
    pub(super) fn unseen(&self, pe: usize) -> Result<(Option<u64>, Option<u64>)> {
        let inner = self.inner();
        if !inner.open {
            return Err(Error::Finalized { call: "net" });
        }
        let peer = inner.peers.get(pe).and_then(Option::as_ref);
        let unflushed = peer.filter(|peer| peer.flushed < peer.started).map(|peer| peer.started);
        Ok((unflushed, self.channels().unapplied(pe)))
    }

    fn flush_endpoint(&self, pe: usize, upto: u64, done: Completion) {
        let _ = self.start(pe, Operation::new(Kind::Flush { upto, done }), |ucx, peer, operation| {
            // SAFETY: the endpoint is open.
            unsafe { ucx.ucp_ep_flush_nbx(peer.endpoint, &sending(operation)) }
        });
    }

    /// Runs `done` when `pe` has applied `count` batches.
    fn when_applied(&self, pe: usize, count: u64, done: Completion) {
        let (waits, n) = {
            let mut channels = self.channels();
            (channels.wait(pe, count, done), channels.n_waiting())
        };
        match waits {
            // It is to be asked, behind what it is asked for.
            Ok(true) => {
                if self.send_words(pe, WANT_APPLIED, Operation::note([self.me as u64, count])).is_err() {
                    self.applies_no_more(pe);
                }
            }
            Ok(false) => self.keep_up_with(n),
            // It was applied meanwhile, or never will be.
            Err(done) => complete(done, self.reachable(pe)),
        }
    }

    pub(super) fn reachable(&self, pe: usize) -> Result<()> {
        match self.inner().peers.get(pe) {
            Some(Some(peer)) => peer.failed.map_or(Ok(()), |status| outcome(self, pe, status)),
            _ => Ok(()),
        }
    }

    /// Runs `done` when everything that was started on any PE before is visible there.
    pub(super) fn flush_all(&self, done: Completion) {
        self.send_gathered(None);
        let pes: Vec<usize> = {
            let inner = self.inner();
            if !inner.open {
                drop(inner);
                return complete(done, Err(Error::Finalized { call: "net" }));
            }
            let known = inner.peers.iter().enumerate().filter(|(_, peer)| peer.is_some());
            known.map(|(pe, _)| pe).collect()
        };
        let all = AllParts::new(done);
        for pe in pes {
            self.flush(pe, all.part());
        }
    }
}
