//! Steps of the host in a stream of the program: the stream waits for what the host does.

use std::sync::Arc;

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, lock},
};
use oxshmem_progress::completion::Completion;
use oxshmem_spaces::{
    Pe,
    device::stream::{Held, ProgramStreams, StreamRef},
};

/// Whether the stream waits.
enum StreamWait {
    NotYet,
    Holds(Held),
    /// The step is over, or the stream cannot wait, and why.
    Over(Result<()>),
}

/// Calls `begin` when `stream` has come so far. It is given how that went, and a completion; the
/// stream goes on once that has completed, and `done` completes with its outcome.
pub(super) fn step(
    pe: &Arc<Pe>,
    streams: &dyn ProgramStreams,
    stream: StreamRef<'_>,
    begin: impl FnOnce(Completion) + Send + 'static,
    done: Completion,
) {
    let by = pe.local_pe();
    let wait = Arc::new(Mutex::new(StreamWait::NotYet));
    let release = Arc::clone(&wait);
    let end = move |outcome: Result<()>| {
        let before = std::mem::replace(&mut *lock(&release), StreamWait::Over(Ok(())));
        match before {
            StreamWait::Over(Err(refused)) => done(outcome.and(Err(refused))),
            StreamWait::Holds(held) => {
                // The stream goes on.
                drop(held);
                done(outcome);
            }
            StreamWait::NotYet | StreamWait::Over(Ok(())) => done(outcome),
        }
    };
    let reached = move |reached: Result<()>| match reached {
        Ok(()) => begin(Box::new(end)),
        Err(error) => end(Err(error)),
    };
    // SAFETY: there are no bytes.
    unsafe { streams.append(by, stream, &[], Box::new(reached)) };
    let held = streams.hold(by, stream);
    let mut wait = lock(&wait);
    match (&*wait, held) {
        (StreamWait::NotYet, Ok(held)) => *wait = StreamWait::Holds(held),
        (StreamWait::NotYet, Err(refused)) => *wait = StreamWait::Over(Err(refused)),
        (_, held) => {
            drop(wait);
            drop(held);
        }
    }
}

/// Why a stream that is captured does not take an operation.
pub(super) fn not_captured(call: &'static str) -> Error {
    Error::Unsupported {
        what: format!(
            "{call} cannot be captured into a graph here, as the host takes part in it; enqueue it outside of the capture"
        ),
    }
}
