//! The memory of a team: what its scratch memory holds, as words and slots, and ranges of symmetric
//! memory.

pub(crate) mod scratch;
pub(crate) mod span;
pub(crate) mod staging;
pub(crate) mod words;
