//! The symmetric heap and its partitions: what is allocated, and the memory that it is in.

#[path = "../common/mod.rs"]
mod common;
mod heap;
mod heap_property;
mod kinds;
mod sealed;
