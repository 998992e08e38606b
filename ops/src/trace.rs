//! One event for each operation, at TRACE, under the target `oxshmem`, which costs one load and one
//! predicted branch while they are off; and the records of waits.

use oxshmem_memory::Extent;
use oxshmem_progress::{activity::Call, record::Pending};
use oxshmem_spaces::Pe;

/// Reports that `call` was issued, moving `bytes` to or from `pe`.
#[inline(always)]
pub(crate) fn trace_operation(call: &'static str, bytes: usize, pe: usize) {
    if is_traced() {
        emit(call, bytes, pe);
    }
}

/// Whether events may be listened to.
#[inline(always)]
pub(crate) fn is_traced() -> bool {
    tracing::level_enabled!(tracing::Level::TRACE)
}

#[cold]
#[inline(never)]
fn emit(call: &'static str, bytes: usize, pe: usize) {
    tracing::trace!(target: "oxshmem", call, bytes, pe);
}

/// The record of a wait that has begun, for as long as it lasts.
#[cold]
pub(crate) fn waiting(pe: &Pe, call: Call, words: Option<Extent>) -> Option<Pending> {
    let recorder = pe.recorder()?;
    Some(Pending::new(recorder, recorder.wait_begun(call, words)))
}
