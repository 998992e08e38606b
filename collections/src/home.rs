//! What collections are made in.

use std::future::Future;

use oxshmem_base::Result;
use oxshmem_spaces::{Element, SymSlice};
use oxshmem_teams::Team;

/// What has symmetric memory, and a team that shares it: a `World` or a `Space`.
pub trait Home {
    /// Its PEs.
    fn home_team(&self) -> Team;

    /// Allocates `len` elements on each of them, with every byte 0. Collective over them.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed`.
    fn allocate<T: Element>(&self, len: usize) -> impl Future<Output = Result<SymSlice<T>>> + Send;
}
