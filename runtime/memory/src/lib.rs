//! Memory that the PEs of one host share, and how one reaches another's.
//!
//! - [`HostMap`]: one memfd that holds a block of every local PE, mapped once a process.
//! - [`Segment`]: a range of such blocks as symmetric memory: (PE, offset) to address.
//! - [`copy`]: copies that stay defined when PEs race.

mod backing;
pub mod copy;
mod map;
mod segment;
mod shape;
pub mod word;

pub use backing::{HugeMemory, Spread};
pub use map::{Addresses, HostMap};
pub use segment::{Extent, Segment, SegmentId};
pub use shape::{Part, Shape};
