//! Symmetric memory: where it is, who gets which part of it, and how a Rust program holds it.
//!
//! | module | what it offers |
//! |---|---|
//! | [`SymSlice`], [`SymView`], [`SymRef`] | typed symmetric memory, owned and borrowed |
//! | [`Element`] | what it can hold |
//! | [`heap`] | the allocator, as arithmetic |
//! | [`allocation`] | a symmetric heap with its blocks, for the rooms above |
//! | [`Domain`] | what symmetric memory is in: host memory, or that of a device |
//! | [`device`] | devices whose memory can be symmetric: CUDA's, and an emulated one |
//! | [`kinds`] | what memory the partitions of a heap are in |
//! | [`relay`] | device memory of other hosts |
//! | [`window`] | how PEs find numbers that all of them have |
//! | [`mod@pe`] | how a PE joins its job |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

pub mod allocation;
pub mod device;
#[cfg(feature = "cuda")]
mod device_view;
mod domain;
mod element;
pub mod heap;
mod instance;
pub mod kinds;
pub mod pe;
pub mod relay;
mod slice;
mod view;
pub mod window;

#[cfg(feature = "cuda")]
pub use device_view::{DeviceAddress, DeviceView};
pub use domain::Domain;
pub use element::Element;
pub use heap::{HeapUse, Hints};
pub use oxshmem_job::{Loss, LossWatch, Losses};
pub use pe::Pe;
pub use slice::{SymSlice, Symmetric};
pub use view::{SymRef, SymView};

/// All ways to drive an engine.
#[cfg(test)]
fn ways() -> impl Iterator<Item = oxshmem_progress::suite::Way> {
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let several = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    oxshmem_progress::suite::Way::all([one, several].map(|runtime| runtime.expect("threads start")))
}
