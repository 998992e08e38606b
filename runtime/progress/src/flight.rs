//! A flight is one operation that did not finish at once: it owns the buffers until they are free
//! again.
//!
//! The thread that performs the operation holds one reference and lands the flight; the future
//! holds another and takes what came back. Dropping or forgetting the future only lets go of that
//! second reference, so the buffers outlive the operation in every case.

use std::task::{Context, Poll};

use oxshmem_base::{
    sync::{Mutex, lock},
    wakes::StoredWaker,
};

use crate::record::Pending;

/// An operation under way whose outcome is a `T`.
///
/// ```
/// use std::task::{Context, Poll, Waker};
/// use oxshmem_progress::flight::Flight;
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
    /// Also what records its end, if anything does.
    Aloft(StoredWaker, Option<Pending>),
    Landed(T),
    Taken,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self(Mutex::new(State::Aloft(StoredWaker::default(), None)))
    }
}

impl<T> Flight<T> {
    /// The operation is over: hands `outcome` to the future, if there still is one.
    pub fn land(&self, outcome: T) {
        let before = std::mem::replace(&mut *lock(&self.0), State::Landed(outcome));
        if let State::Aloft(waker, record) = before {
            drop(record);
            waker.wake();
        }
    }

    /// Has the end of the operation recorded, unless it is over.
    pub fn record(&self, end: Pending) {
        let mut over = Some(end);
        if let State::Aloft(_, record) = &mut *lock(&self.0) {
            std::mem::swap(record, &mut over);
        }
        // Without the lock.
        drop(over);
    }

    /// The outcome, once.
    ///
    /// # Panics
    /// If it was taken before.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<T> {
        // Made, and what it replaces dropped, without the lock.
        let mut waker = StoredWaker::of(cx.waker());
        let mut state = lock(&self.0);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Aloft(mut stored, record) => {
                std::mem::swap(&mut stored, &mut waker);
                *state = State::Aloft(stored, record);
                Poll::Pending
            }
            State::Landed(outcome) => Poll::Ready(outcome),
            State::Taken => panic!("an operation's future was polled after it had completed"),
        }
    }
}
