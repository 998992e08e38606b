//! Worlds and spaces as what [collections](crate::collections) are made in.

use oxshmem_collections::Home;

use crate::{Element, Result, Space, SymSlice, Team, World};

impl Home for World {
    fn home_team(&self) -> Team {
        self.team().clone()
    }

    fn allocate<T: Element>(&self, len: usize) -> impl Future<Output = Result<SymSlice<T>>> + Send {
        self.alloc_zeroed(len)
    }
}

impl Home for Space {
    fn home_team(&self) -> Team {
        self.team().clone()
    }

    fn allocate<T: Element>(&self, len: usize) -> impl Future<Output = Result<SymSlice<T>>> + Send {
        self.alloc_zeroed(len)
    }
}
