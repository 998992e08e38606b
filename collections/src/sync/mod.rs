//! [`Semaphore`], [`RwLock`], [`OnceCell`] and [`Notify`]: what tasks of all PEs wait for together.
//!
//! They are named as tokio's, and behave as those do, but that their calls reach another PE and so
//! may fail. Each keeps a few words on PE 0 of its team, a [`Board`], which calls change by
//! atomics. A task that has to wait counts itself there, and is woken by what changes the words.
//! What drops a guard or a future does not wait: the steps that are left go on by [`detach`].

mod board;
mod notify;
mod once;
mod rwlock;
mod semaphore;

pub use self::{
    notify::Notify,
    once::OnceCell,
    rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard},
    semaphore::{Semaphore, SemaphorePermit},
};

#[cfg(doc)]
use self::board::Board;
#[cfg(doc)]
use oxshmem_ops::detach;
