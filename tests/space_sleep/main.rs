//! A PE that waits for device memory uses no processor. This is a program of its own, as the whole
//! process is measured.

#[path = "../common/mod.rs"]
mod common;
mod sleep;
