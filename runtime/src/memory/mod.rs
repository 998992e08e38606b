//! Memory that the PEs of one host share, and how one reaches another's.
//!
//! - [`HostMap`]: one memfd that holds a block of every local PE, mapped once a process.
//! - [`Segment`]: a range of such blocks as symmetric memory: (PE, offset) to address.
//! - [`kinds`]: what memory the partitions of the heap are in.
//! - [`copy`]: copies that stay defined when PEs race.
//! - [`word`]: what is done to a word, where, and how wide it is.
//! - [`cache`]: how large the processors' caches are.

mod backing;
pub mod cache;
pub mod copy;
pub mod kinds;
mod map;
mod segment;
mod shape;
pub mod word;

pub use backing::{HugeMemory, Spread};
pub use map::{Addresses, HostMap};
pub use segment::{Extent, Segment, SegmentId};
#[cfg(test)]
pub(crate) use shape::Part;
pub(crate) use shape::Shape;
