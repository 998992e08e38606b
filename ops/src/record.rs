//! The records of operations, if what the PE does is recorded. While it is not they cost nothing,
//! as the comparison of the PE's key, which every operation makes, sends it here.

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_memory::Extent;
use oxshmem_progress::{
    activity::Call,
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
    /// Says that `call` was issued, moving `bytes` to or from `pe`. What this returns is for
    /// [`ended`](Self::ended).
    #[inline(always)]
    pub(crate) fn started(&self, call: Call, bytes: usize, pe: usize) -> Option<Started<'_>> {
        if is_traced() || self.is_watched() {
            trace_operation(call.name(), bytes, pe);
            self.count(call.name(), bytes, pe);
        }
        let recorder = self.pe().recorder()?;
        Some(Started { recorder, call, bytes, pe, word: 0, begin: recorder.now() })
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
        if is_traced() || self.is_watched() {
            trace_operation(call.name(), bytes, pe);
            self.count(call.name(), bytes, pe);
        }
        let recorder = self.pe().recorder()?;
        if bytes <= GATHERED && self.gathering().room().is_some() {
            return Some(Started { recorder, call, bytes, pe, word: 0, begin: 0 });
        }
        Some(Started { recorder, call, bytes, pe, word: word.map_or(0, place), begin: recorder.now() })
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
