//! Collections over the symmetric memory of several PEs: what a Rust program uses before it counts
//! offsets.
//!
//! They are built on what every program has: teams, contexts and symmetric memory. `oxshmem` has
//! them as `oxshmem::collections`. The specification has nothing like them.
//!
//! | collection | what it is |
//! |---|---|
//! | [`Array`] | elements that are distributed over all PEs, by index |
//! | [`Channel`], [`Broadcast`] | messages from many PEs to one, and from one to all |
//! | [`Map`] | keys with values, that are distributed over all PEs by a hash |
//! | [`Semaphore`], [`RwLock`], [`OnceCell`], [`Notify`] | what tasks of all PEs wait for |

mod array;
mod channel;
mod home;
mod map;
mod sync;

pub use array::{Array, Layout};
pub use channel::{Broadcast, Channel, Codec, Plain, Receiver, Sender, Serde};
pub use home::Home;
pub use map::{Map, MapStats};
pub use sync::{Notify, OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit};
