//! One event for each operation, at TRACE, under the target `oxshmem`. Off, it costs one load and
//! one predicted branch.

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
