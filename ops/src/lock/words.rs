//! The words of a lock, as a PE reaches them.

use oxshmem_base::Result;
use oxshmem_memory::Extent;
use oxshmem_progress::activity::{Activity, Ahead, Call};
use oxshmem_spaces::SymRef;

use super::{
    local::Seat,
    queue::{MINE, Words},
};
use crate::wait::{Cmp, wait_as, wait_in};

impl Seat {
    fn tail(&self) -> SymRef<'_, u32> {
        self.halves.at(0)
    }

    fn node(&self) -> SymRef<'_, u32> {
        self.halves.at(1)
    }

    pub(super) fn extent(&self) -> Extent {
        self.halves.view().extent()
    }
}

impl Words for Seat {
    fn name(&self) -> u32 {
        self.pe.me() as u32 + 1
    }

    async fn swap_tail(&self, name: u32) -> Result<u32> {
        self.context.swap(self.tail(), name, self.home).await
    }

    async fn compare_swap_tail(&self, cond: u32, name: u32) -> Result<u32> {
        self.context.compare_swap(self.tail(), cond, name, self.home).await
    }

    async fn or_node(&self, bits: u32, name: u32) -> Result<()> {
        self.context.or(self.node(), bits, (name as usize).wrapping_sub(1)).await
    }

    async fn fetch_node(&self) -> Result<u32> {
        self.context.fetch(self.node(), self.pe.me()).await
    }

    async fn clear_node(&self) -> Result<()> {
        self.context.set(self.node(), 0, self.pe.me()).await
    }

    async fn wait_turn(&self, before: u32) -> Result<()> {
        let mut shown = false;
        let show = || {
            shown = true;
            self.waits(Ahead::Pe(before as usize - 1))
        };
        let came = wait_as(self.node(), Cmp::Ge, MINE, show).await;
        if shown {
            self.waits_no_more();
        }
        came.map(drop)
    }

    async fn wait_next(&self, node: u32) -> Result<u32> {
        let activity = Activity::lock(Call::ClearLock, self.extent(), Ahead::Unknown);
        wait_in(activity, self.node(), Cmp::Ne, node).await
    }
}
