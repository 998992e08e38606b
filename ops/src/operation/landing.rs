//! How an operation that outlasts its call ends: its outcome lands where its future looks for it.
//!
//! An error is in the op set too until a future has returned it. Otherwise the context's next
//! `quiet` reports it, whatever became of the future.

use std::sync::Arc;

use oxshmem_base::{Error, Result, wakes::Hold};
use oxshmem_progress::{
    completion::Completion,
    flight::Flight,
    opset::{FailedOp, OpSet},
};

/// How an operation ended, on its way to its future.
pub(crate) type Landed<T, E> = Result<T, Failed<E>>;

/// One of these to come.
pub(crate) type Landing<T, E> = Arc<Flight<Landed<T, E>>>;

/// An error on its way to its operation's future. The op set has it too, until the future returns
/// it.
pub(crate) struct Failed<E> {
    error: E,
    failure: FailedOp,
    ops: Arc<OpSet>,
}

impl<E> Failed<E> {
    /// Of an operation on `pe`, if that is known.
    #[cold]
    pub(crate) fn new(error: E, pe: Option<usize>, ops: &Arc<OpSet>) -> Self
    where
        E: AsRef<Error>,
    {
        let failure = ops.fail(pe, error.as_ref().clone());
        Self { error, failure, ops: Arc::clone(ops) }
    }

    /// The error. The caller gives it to the program.
    #[cold]
    pub(crate) fn seen(self) -> E {
        self.ops.seen(self.failure);
        self.error
    }
}

/// Enters an operation on `pe` in the op set. Returns where its outcome lands, and the completion
/// that lands there what `end` makes of it.
///
/// What `end` holds must be `'static` in fact: a `STABLE` buffer is so by the contract of
/// [`Source`](crate::Source) and [`Sink`](crate::Sink), though its type may say less.
pub(crate) fn begin<V, T, E, F>(ops: &Arc<OpSet>, pe: usize, end: F) -> (Landing<T, E>, Completion<V>)
where
    T: Send,
    E: AsRef<Error> + Send,
    F: FnOnce(Result<V>) -> Result<T, E> + Send,
{
    let flight = Arc::new(Flight::<Landed<T, E>>::default());
    let (ops, landing) = (Arc::clone(ops), Arc::clone(&flight));
    let ticket = ops.begin(pe);
    let completion: Box<dyn FnOnce(Result<V>) + Send + '_> = Box::new(move |outcome| {
        let ended = end(outcome);
        // A task that is woken finds the future's outcome there, and the operation over for
        // `quiet`.
        let _hold = Hold::begin();
        landing.land(ended.map_err(|error| Failed::new(error, Some(pe), &ops)));
        ops.complete(ticket);
    });
    // SAFETY: only lifetimes change. What `end` holds is a STABLE buffer, which is `'static` by the
    // contract of `Source` and `Sink`, or a function.
    let completion =
        unsafe { std::mem::transmute::<Box<dyn FnOnce(Result<V>) + Send + '_>, Completion<V>>(completion) };
    (flight, completion)
}
