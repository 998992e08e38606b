//! A flight is one operation that did not finish at once: it owns the buffers until they are free again.
//!
//! Whoever performs the operation holds one reference and lands the flight; the future holds another and
//! takes what came back. Dropping or forgetting the future only lets go of that second reference, so the
//! buffers outlive the operation in every case.

use std::{
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use crate::wakes::wake;

/// An operation under way whose outcome is a `T`.
///
/// ```
/// use std::task::{Context, Poll, Waker};
/// use oxshmem_runtime::flight::Flight;
///
/// let (flight, mut cx) = (Flight::default(), Context::from_waker(Waker::noop()));
/// assert_eq!(flight.poll(&mut cx), Poll::Pending);
/// flight.land(vec![1, 2, 3]); // the buffer is free again
/// assert_eq!(flight.poll(&mut cx), Poll::Ready(vec![1, 2, 3]));
/// ```
#[derive(Debug)]
pub struct Flight<T>(Mutex<State<T>>);

#[derive(Debug)]
enum State<T> {
    Aloft(Option<Waker>),
    Landed(T),
    Taken,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self(Mutex::new(State::Aloft(None)))
    }
}

impl<T> Flight<T> {
    /// The operation is over: hands `outcome` to the future, if there still is one.
    pub fn land(&self, outcome: T) {
        let before = std::mem::replace(&mut *self.state(), State::Landed(outcome));
        if let State::Aloft(Some(waker)) = before {
            wake(waker);
        }
    }

    /// The outcome, once.
    ///
    /// # Panics
    /// If it was taken before.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<T> {
        let mut state = self.state();
        match &mut *state {
            State::Aloft(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            State::Landed(_) => match std::mem::replace(&mut *state, State::Taken) {
                State::Landed(outcome) => Poll::Ready(outcome),
                // The arm was chosen on this very state, under the lock.
                State::Aloft(_) | State::Taken => unreachable!("the state is locked"),
            },
            State::Taken => panic!("an operation's future was polled after it had completed"),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
