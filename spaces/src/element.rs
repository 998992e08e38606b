//! What symmetric memory can hold.

use bytemuck::Pod;

/// Plain data: any bytes are a valid value, so that a torn or stale one is wrong but harmless, and sending
/// its bytes to another PE sends it whole. Every [`Pod`] type that threads may share is one.
///
/// A type with padding, a reference or an invariant (`bool`, `char`, enums) is not, and does not compile:
///
/// ```compile_fail
/// fn needs<T: oxshmem_spaces::Element>() {}
/// needs::<bool>();
/// ```
pub trait Element: Pod + Send + Sync {}

impl<T: Pod + Send + Sync> Element for T {}
