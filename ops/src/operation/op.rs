//! An operation that was initiated, wherever it is by now.

use std::sync::Arc;
use std::task::Context;
use std::task::Poll;

use oxshmem_base::Error;
use oxshmem_progress::executor::FirstPoll;
use oxshmem_progress::opset::OpSet;
use oxshmem_progress::record::Pending;

use super::landing::Failed;
use super::landing::Landing;
use super::remote::Remote;

/// An operation that was initiated.
///
/// Two machine words where `T` has at most one, so that it stays in registers all the way to the
/// `await`.
pub(crate) enum Initiated<T, E: Into<Error>> {
    Complete(T),
    Failed(Box<Failed<E>>),
    /// Performed by something that lands its outcome.
    UnderWay(Box<UnderWay<T, E>>),
    /// A put to another host whose future waits for its remote completion.
    Remote(Box<Remote<T, E>>),
    Taken,
}

/// An operation that is under way.
pub(crate) struct UnderWay<T, E> {
    pub(crate) flight: Landing<T, E>,
    engine: FirstPoll,
}

impl<T, E: Into<Error>> Initiated<T, E> {
    /// One that was refused before anything was begun.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed(error: E, ops: &Arc<OpSet>) -> Self
    where
        E: AsRef<Error>,
    {
        Self::Failed(Box::new(Failed::new(error, None, ops)))
    }

    /// One that lands in `flight`, for which the engine polls.
    pub(crate) fn under_way(flight: Landing<T, E>, engine: FirstPoll) -> Self {
        Self::UnderWay(Box::new(UnderWay { flight, engine }))
    }

    #[inline(always)]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        match std::mem::replace(self, Self::Taken) {
            Self::Complete(outcome) => Poll::Ready(Ok(outcome)),
            other => self.poll_slow(other, cx),
        }
    }

    /// Has the end recorded of an operation that is under way.
    #[cold]
    pub(crate) fn record(&mut self, end: Pending) {
        match self {
            Self::UnderWay(operation) => operation.flight.record(end),
            Self::Remote(remote) => remote.record(end),
            Self::Complete(_) | Self::Failed(_) | Self::Taken => drop(end),
        }
    }

    /// The output if it is there.
    #[inline(always)]
    pub(crate) fn now(self) -> Result<T, Self> {
        match self {
            Self::Complete(output) => Ok(output),
            other => Err(other),
        }
    }

    pub(crate) fn refused(self) -> Option<Error> {
        match self {
            Self::Failed(failed) => Some(failed.seen().into()),
            _ => None,
        }
    }

    pub(crate) fn state(&self) -> &'static str {
        match self {
            Self::Complete(_) => "complete",
            Self::Failed(_) => "failed",
            Self::UnderWay(_) | Self::Remote(_) => "under way",
            Self::Taken => "taken",
        }
    }

    #[cold]
    #[inline(never)]
    fn poll_slow(&mut self, state: Self, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        match state {
            Self::Complete(outcome) => Poll::Ready(Ok(outcome)),
            Self::Failed(failed) => Poll::Ready(Err(failed.seen())),
            Self::UnderWay(mut operation) => {
                let UnderWay { flight, engine } = &mut *operation;
                let outcome = engine.poll(|| flight.poll(cx));
                if outcome.is_pending() {
                    *self = Self::UnderWay(operation);
                }
                outcome.map_err(Failed::seen)
            }
            Self::Remote(mut remote) => {
                let outcome = remote.poll(cx);
                if outcome.is_pending() {
                    *self = Self::Remote(remote);
                }
                outcome
            }
            Self::Taken => panic!("an operation's future was polled after it had completed"),
        }
    }
}
