//! The symmetric heap's allocator, as arithmetic on offsets (`OpenSHMEM 1.6 §9.3`).
//!
//! Nothing here knows an address or touches the memory that it hands out, and every choice follows
//! from the calls made so far. So PEs that make the same calls in the same order get the same
//! offsets without talking to each other, which is what makes an object symmetric.

mod allocator;
mod block;
mod error;
mod free_set;
mod state;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use allocator::{Heap, HeapUse};
pub use block::{Block, Hints, Layout, Realloc};
pub use error::{Exhausted, HeapError};

/// Bytes in a cache line. Every block starts on a line and fills whole lines, so that no two blocks
/// share one and every type is aligned.
pub const LINE: usize = 64;

/// The largest alignment of a block, in bytes: what the base of every segment is aligned to that is
/// not smaller itself.
pub const MAX_ALIGN: usize = 1 << 30;
