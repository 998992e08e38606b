//! Memory that the PEs of one host share, and how a PE reaches that of another.
//!

mod backing;
pub mod copy;
mod map;
mod segment;
mod shape;
pub mod word;

pub use backing::{HugeMemory, Spread};
pub use map::{Addresses, HostMap};
pub use segment::{Extent, HEAP_ALIGN, Segment, SegmentId};
pub use shape::{Part, Shape};
