//! The processors that this process may run on.

use std::num::NonZero;

/// How many processors this process may run on.
pub fn allowed() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
