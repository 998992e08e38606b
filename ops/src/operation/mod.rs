//! The futures of operations.
//!
//! An operation that finished during its call is in its future with its outcome, and ready at the
//! first poll, without allocation or lock. Another shares a
//! [`Flight`](oxshmem_progress::flight::Flight) with what performs it. Dropping a future detaches
//! it: the operation goes on, keeps its buffers, and stays in its context's op set.
//!
//! | module | |
//! |---|---|
//! | `op` | an operation that was initiated |
//! | `landing` | how one that outlasts its call ends |
//! | `remote` | puts that wait for their remote completion |

mod landing;
mod op;
mod remote;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use oxshmem_base::Error;

use crate::sealed::Sealed;

pub(crate) use {
    landing::{Landed, begin},
    op::Initiated,
    remote::Remote,
};

/// Why an operation failed, with the owned buffer that it was given.
///
/// `?` turns it into an [`Error`], and drops the buffer. Operations on values and borrowed slices,
/// which are their caller's still, fail with a plain `Error`.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem::{Error, Rejected};
///
/// let data = world.alloc_zeroed::<u64>(2).await?;
/// match world.context().put(&data, vec![1, 2, 3], 0).await {
///     Err(Rejected { error: Error::LengthMismatch { .. }, buffer }) => {
///         assert_eq!(buffer, [1, 2, 3]);
///     }
///     other => panic!("three elements do not go into two: {other:?}"),
/// }
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct Rejected<B> {
    /// What went wrong.
    pub error: Error,
    /// The buffer, untouched from now on.
    pub buffer: B,
}

impl<B> AsRef<Error> for Rejected<B> {
    fn as_ref(&self) -> &Error {
        &self.error
    }
}

impl<B> From<Rejected<B>> for Error {
    fn from(rejected: Rejected<B>) -> Self {
        rejected.error
    }
}

impl<B> fmt::Debug for Rejected<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B> fmt::Display for Rejected<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B> std::error::Error for Rejected<B> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// A future whose output may be there without a poll: for callers without tasks.
pub trait Immediate: Future + Sized + Sealed {
    /// What it is ready with if all went well.
    type Output;

    /// The output, if the operation has ended well; otherwise the future as it was.
    ///
    /// # Errors
    /// Itself, to be awaited.
    fn now(self) -> Result<<Self as Immediate>::Output, Self>;

    /// Why the operation was not even begun, if it was not. Otherwise it goes on, detached.
    fn refused(self) -> Option<Error> {
        None
    }
}

macro_rules! operation {
    ($(#[$meta:meta])* $name:ident<$param:ident $(, $failure:ident)?> -> $output:ty, $error:ty) => {
        $(#[$meta])*
        pub struct $name<$param $(, $failure: Into<Error> = Rejected<$param>)?>(pub(crate) Initiated<$output, $error>);

        impl<$param $(, $failure: Into<Error>)?> Unpin for $name<$param $(, $failure)?> {}

        impl<$param $(, $failure: Into<Error>)?> Future for $name<$param $(, $failure)?> {
            type Output = Result<$output, $error>;

            #[inline(always)]
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                self.0.poll(cx)
            }
        }

        impl<$param $(, $failure: Into<Error>)?> Sealed for $name<$param $(, $failure)?> {}

        impl<$param $(, $failure: Into<Error>)?> Immediate for $name<$param $(, $failure)?> {
            type Output = $output;

            #[inline(always)]
            fn now(self) -> Result<$output, Self> {
                self.0.now().map_err(Self)
            }

            fn refused(self) -> Option<Error> {
                self.0.refused()
            }
        }

        impl<$param $(, $failure: Into<Error>)?> fmt::Debug for $name<$param $(, $failure)?> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.state())
            }
        }
    };
}

operation! {
    /// A put. Ready with the source when that may be reused, which is its *local* completion: the
    /// data need not be visible at the target yet.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let put = ctx.put(&data, vec![1, 2, 3, 4], next);
    /// let source = put.await?; // may be reused; the data is on its way
    /// ctx.quiet().await?; // there
    /// assert_eq!(ctx.get(&data, next).await?, source);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    Put<S, E> -> S, E
}

operation! {
    /// A nonblocking put. Ready with the source when the data is at the target, which is its
    /// *remote* completion.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let put = ctx.put_nbi(&data, vec![1, 2, 3, 4], next);
    /// let source = put.await?; // there
    /// assert_eq!(ctx.get(&data, next).await?, source);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    PutNbi<S, E> -> S, E
}

operation! {
    /// A put-with-signal. Ready with the source when that may be reused, which is its *local*
    /// completion.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(2).await?;
    /// let signal = world.alloc_zeroed::<u64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let put = ctx.put_signal(&data, vec![1, 2], signal.at(0), Signal::Set(1), next);
    /// assert_eq!(put.await?, [1, 2]); // the vector
    /// signal.at(0).wait_until(Cmp::Eq, 1).await?; // from the PE before
    /// assert_eq!(data.view().to_vec(), [1, 2]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    PutSignal<S, E> -> S, E
}

operation! {
    /// A nonblocking put-with-signal. Ready with the source when data and signal are at the target,
    /// which is its *remote* completion.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(2).await?;
    /// let signal = world.alloc_zeroed::<u64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let put = ctx.put_signal_nbi(&data, vec![1, 2], signal.at(0), Signal::Set(1), next);
    /// put.await?; // data and signal are there
    /// assert_eq!(ctx.g(signal.at(0), next).await?, 1);
    /// assert_eq!(ctx.get(&data, next).await?, [1, 2]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    PutSignalNbi<S, E> -> S, E
}

operation! {
    /// A get. Ready with the destination when the data is in it.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// data.view().fill(world.my_pe() as u64);
    /// world.barrier_all().await?;
    /// let (a, b) = (ctx.get(data.slice(..2), next), ctx.get_into([0; 2], data.slice(2..), next));
    /// // Both are under way, and may be awaited in any order.
    /// assert_eq!((b.await?, a.await?), ([next as u64; 2], vec![next as u64; 2]));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    Get<B, E> -> B, E
}

operation! {
    /// An atomic operation that fetches. Ready with the value before it.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let tickets = world.alloc_zeroed::<u64>(1).await?;
    /// let take = world.context().fetch_add(tickets.at(0), 1, 0);
    /// let mine = take.await?; // no other PE has it
    /// assert!(mine < 3);
    /// world.barrier_all().await?;
    /// assert_eq!(world.context().g(tickets.at(0), 0).await?, 3);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    Fetch<T> -> T, Error
}

/// A store, a signal or an atomic operation that fetches nothing. Ready at its *local* completion:
/// the value is on its way, but need not be visible at the target yet.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let word = world.alloc_zeroed::<u64>(1).await?;
/// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
/// let add = ctx.add(word.at(0), 2, next);
/// add.await?; // issued
/// ctx.quiet().await?; // there
/// assert_eq!(ctx.g(word.at(0), next).await?, 2);
/// assert!(ctx.add(word.at(0), 2, 5).await.is_err()); // there is no PE 5
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct Update(pub(crate) Initiated<(), Error>);

impl Future for Update {
    type Output = Result<(), Error>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx)
    }
}

impl Sealed for Update {}

impl Immediate for Update {
    type Output = ();

    #[inline(always)]
    fn now(self) -> Result<(), Self> {
        self.0.now().map_err(Self)
    }

    fn refused(self) -> Option<Error> {
        self.0.refused()
    }
}

impl fmt::Debug for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Update({})", self.0.state())
    }
}
