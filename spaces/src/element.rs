//! What symmetric memory can hold.

use bytemuck::Pod;

/// Plain data: any bytes are a valid value, so that a torn or stale one is wrong but harmless, and
/// sending its bytes to another PE sends it whole. Every [`Pod`] type that threads may share is
/// one.
///
/// A type with padding, a reference or an invariant (`bool`, `char`, enums) is not, and does not
/// compile:
///
/// ```compile_fail
/// fn needs<T: oxshmem_spaces::Element>() {}
/// needs::<bool>();
/// ```
///
/// A type of one's own is one by `#[derive]`:
///
/// ```
/// use oxshmem::{Pod, Zeroable, prelude::*};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// #[bytemuck(crate = "oxshmem::bytemuck")]
/// #[repr(C)]
/// struct Point {
///     x: f64,
///     y: f64,
/// }
///
/// # LocalCluster::run(2, |world| async move {
/// let origin = world.alloc::<Point>(1).await?;
/// origin.at(0).store(Point { x: 1.0, y: 2.0 });
/// assert_eq!(origin.at(0).load().y, 2.0);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait Element: Pod + Send + Sync {}

impl<T: Pod + Send + Sync> Element for T {}
