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
        let mut inner = self.inner();
        if !inner.open {
            drop(inner);
            return complete(done, Err(Error::Finalized { call: "net" }));
        }
        let (upto, unflushed) = match inner.peers.get_mut(pe) {
            Some(Some(peer)) => (peer.started, peer.flushed < peer.started),
            _ => (0, false),
        };
        let unapplied = self.channels().unapplied(pe);
        drop(inner);
        match (unflushed, unapplied) {
            (false, None) => complete(done, Ok(())),
            (true, None) => self.flush_endpoint(pe, upto, done),
            (false, Some(count)) => self.when_applied(pe, count, done),
            (true, Some(count)) => {
                let both = AllParts::new(done);
                self.flush_endpoint(pe, upto, both.part());
                self.when_applied(pe, count, both.part());
            }
        }
    }

    fn flush_endpoint(&self, pe: usize, upto: u64, done: Completion) {
        let _ = self.start(pe, Operation::new(Kind::Flush { upto, done }), |ucx, peer, operation| {
            // SAFETY: the endpoint is open.
            unsafe { ucx.ucp_ep_flush_nbx(peer.endpoint, &sending(operation)) }
        });
    }

    /// Runs `done` when `pe` has applied `count` batches.
    pub(super) fn when_applied(&self, pe: usize, count: u64, done: Completion) {
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
