//! An operation that was initiated, wherever it is by now.

use std::sync::Arc;
use std::task::Context;
use std::task::Poll;

use oxshmem_base::Error;
use oxshmem_progress::executor::FirstPoll;
use oxshmem_progress::opset::OpSet;

use super::landing::Failed;
use super::landing::Landing;
use super::remote::Remote;

/// An operation that was initiated.
///
/// Two machine words where `T` has at most one, so that it stays in registers all the way to the
/// `await`.
pub(crate) enum Op<T, E: Into<Error>> {
    Complete(T),
    Failed(Box<Failed<E>>),
    /// Performed by something that lands its outcome.
    UnderWay(Landing<T, E>),
    /// Likewise, by a device.
    OnDevice(Box<OnDevice<T, E>>),
    /// A put to another host whose future waits for its remote completion.
    Remote(Box<Remote<T, E>>),
    Taken,
}

/// An operation of a device.
pub(crate) struct OnDevice<T, E> {
    flight: Landing<T, E>,
    engine: FirstPoll,
}

impl<T, E: Into<Error>> Op<T, E> {
    /// One that was refused before anything was begun.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed(error: E, ops: &Arc<OpSet>) -> Self
    where
        E: AsRef<Error>,
    {
        Self::Failed(Box::new(Failed::new(error, None, ops)))
    }

    /// One that a device performs.
    pub(crate) fn on_device(flight: Landing<T, E>, engine: FirstPoll) -> Self {
        Self::OnDevice(Box::new(OnDevice { flight, engine }))
    }

    #[inline(always)]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        match std::mem::replace(self, Self::Taken) {
            Self::Complete(outcome) => Poll::Ready(Ok(outcome)),
            other => self.poll_slow(other, cx),
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
            Self::UnderWay(_) | Self::OnDevice(_) | Self::Remote(_) => "under way",
            Self::Taken => "taken",
        }
    }

    #[cold]
    #[inline(never)]
    fn poll_slow(&mut self, state: Self, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        match state {
            Self::Complete(outcome) => Poll::Ready(Ok(outcome)),
            Self::Failed(failed) => Poll::Ready(Err(failed.seen())),
            Self::UnderWay(flight) => {
                let outcome = flight.poll(cx);
                if outcome.is_pending() {
                    *self = Self::UnderWay(flight);
                }
                outcome.map_err(Failed::seen)
            }
            Self::OnDevice(mut operation) => {
                let OnDevice { flight, engine } = &mut *operation;
                let outcome = engine.poll(|| flight.poll(cx));
                if outcome.is_pending() {
                    *self = Self::OnDevice(operation);
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

/// When the future of a put is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadyWhen {
    /// When the source may be reused: the put's local completion.
    Reusable,
    /// When the data is at the target: its remote completion.
    Delivered,
}
