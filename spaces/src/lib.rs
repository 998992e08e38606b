//! Symmetric memory: where it is, who gets which part of it, and how a Rust program holds it.
//!
//! | module | what it offers |
//! |---|---|
//! | [`SymSlice`], [`SymView`], [`SymRef`] | typed symmetric memory, owned and borrowed |
//! | [`Element`] | what it can hold |
//! | [`heap`] | the allocator, as arithmetic |
//!
//! Hidden from users, and for the rooms above: `allocation`, a symmetric heap with its blocks, and `domain`, kinds of
//! memory.

// What the rooms above build on; users meet neither.
#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_runtime::report`"))]

#[doc(hidden)]
pub mod allocation;
#[doc(hidden)]
pub mod domain;
mod element;
pub mod heap;
mod slice;

pub use element::Element;
pub use heap::{HeapUse, Hints};
pub use slice::{SymRef, SymSlice, SymView, Symmetric};
