//! Symmetric memory: where it is, who gets which part of it, and how a Rust program holds it.
//!
//! | module | what it offers |
//! |---|---|
//! | [`SymSlice`], [`SymView`], [`SymRef`] | typed symmetric memory, owned and borrowed |
//! | [`Element`] | what it can hold |
//! | [`heap`] | the allocator, as arithmetic |
//! | [`allocation`] | a symmetric heap with its blocks, for the rooms above |
//! | [`domain`] | kinds of memory, likewise |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

pub mod allocation;
pub mod domain;
mod element;
pub mod heap;
mod local;
mod slice;
mod view;

pub use element::Element;
pub use heap::{HeapUse, Hints};
pub use slice::{SymSlice, Symmetric};
pub use view::{SymRef, SymView};
