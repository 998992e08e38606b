//! Memory that the PEs of one host share, how a PE reaches that of another, and what it does there:
//! [`word`] has the vocabulary of a word, [`op`] an operation as a value.

mod addresses;
mod backing;
pub mod copy;
mod map;
pub mod op;
mod segment;
mod shape;
pub mod word;

pub use addresses::Addresses;
pub use backing::{HugeMemory, Spread};
pub use map::HostMap;
pub use segment::{Extent, HEAP_ALIGN, Segment, SegmentId};
pub use shape::{Part, Shape};
