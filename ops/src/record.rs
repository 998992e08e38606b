//! Operations are counted while a looker looks, and recorded while a recording is on. One word says
//! whether either is: where it is 0, that costs one load and one predicted branch.

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_memory::Extent;
use oxshmem_progress::{
    activity::{Call, Kind},
    record::{Pending, Recorder, form::place},
};

use crate::{
    context::{Context, Sharing},
    operation::Initiated,
    path::away::GATHERED,
    trace::{is_traced, trace_operation},
};

/// An operation that is to be recorded.
#[derive(Clone, Copy)]
pub(crate) struct Started<'a> {
    recorder: &'a Arc<Recorder>,
    call: Call,
    bytes: usize,
    pe: usize,
    word: u64,
    /// When it was called; 0 if it is one of a session's, which are only counted.
    begin: u64,
}

impl<M: Sharing> Context<M> {
    /// Whether operations are counted or recorded.
    #[inline(always)]
    pub(crate) fn is_observed(&self) -> bool {
        self.pe().board().is_observed()
    }

    /// Says that `call` was issued, moving `bytes` to or from `pe`. What this returns is for
    /// [`ended`](Self::ended).
    #[inline(always)]
    pub(crate) fn started(&self, call: Call, bytes: usize, pe: usize) -> Option<Started<'_>> {
        if is_traced() || self.is_observed() { self.observe(call, bytes, pe, None, false) } else { None }
    }

    /// Says that an operation was issued that a session may gather, and that changes `word`, if it
    /// is one.
    #[inline(always)]
    pub(crate) fn update_started(
        &self,
        call: Call,
        bytes: usize,
        pe: usize,
        word: Option<Extent>,
    ) -> Option<Started<'_>> {
        if is_traced() || self.is_observed() { self.observe(call, bytes, pe, word, true) } else { None }
    }

    #[inline]
    fn observe(
        &self,
        call: Call,
        bytes: usize,
        pe: usize,
        word: Option<Extent>,
        is_update: bool,
    ) -> Option<Started<'_>> {
        if is_traced() || self.pe().board().is_watched() {
            self.issued(call.name(), bytes, pe);
        }
        let recorder = self.pe().recorder()?;
        let is_gathered = is_update && bytes <= GATHERED && self.gathering().room().is_some();
        let begin = if is_gathered { 0 } else { recorder.now() };
        Some(Started { recorder, call, bytes, pe, word: word.map_or(0, place), begin })
    }

    /// Emits the event of `call`, which moves `bytes` to or from `pe`, and counts it, as far as
    /// that is wanted.
    #[inline(never)]
    pub(crate) fn issued(&self, call: &'static str, bytes: usize, pe: usize) {
        trace_operation(call, bytes, pe);
        // What names no PE is an error, of which there is nothing to count.
        if self.pe().board().is_watched()
            && pe < self.n_pes()
            && let Some(kind) = Kind::of(call)
        {
            let target = self.pe().local_pe_of(self.world_pe(pe));
            self.pe().board().operation(kind, bytes, target);
        }
    }

    /// Records an operation that has become `op`.
    #[inline(always)]
    pub(crate) fn ended<T, E: Into<Error>>(
        &self,
        started: Option<Started<'_>>,
        op: Initiated<T, E>,
    ) -> Initiated<T, E> {
        match started {
            None => op,
            Some(started) => self.record(started, op),
        }
    }

    #[inline]
    fn record<T, E: Into<Error>>(&self, started: Started<'_>, mut op: Initiated<T, E>) -> Initiated<T, E> {
        let Started { recorder, call, bytes, pe, word, begin } = started;
        if matches!(op, Initiated::Failed(_) | Initiated::Taken) {
            return op;
        }
        let target = self.world_pe(pe);
        if begin == 0 {
            recorder.element(target, bytes);
        } else if matches!(op, Initiated::Complete(_)) {
            recorder.operation(call, target, bytes, word, begin);
        } else {
            let slot = recorder.operation_begun(call, target, bytes, word, begin);
            op.record(Pending::new(recorder, slot));
        }
        op
    }
}
