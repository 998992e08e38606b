//! Gets of many small blocks from another host, packed into messages.
//!
//! A message costs a thousand times what an element does. So the target packs as many blocks as go
//! into one message, and this PE puts them where they belong. A few messages are under way at a
//! time, and the end of one starts the next.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use oxshmem_base::Result;
use oxshmem_memory::copy;
use oxshmem_net::{Net, PACKED, Shape, Spot};
use oxshmem_progress::completion::AllParts;

use super::route::Far;
use crate::blocks::Blocks;

/// Blocks of more bytes go by themselves.
const LONG: usize = 1 << 10;
/// So many messages are under way of one get.
const WINDOW: usize = 16;

/// A get of blocks. It is over when the last reference to it is gone.
pub(crate) struct Packed {
    net: Arc<dyn Net>,
    from: Spot,
    to: *mut u8,
    /// How far apart the blocks are at `to`.
    spread: usize,
    /// All of them, at `from`.
    blocks: Shape,
    /// The first that is in no message.
    next: AtomicUsize,
    all: Arc<AllParts>,
}

// SAFETY: the address is used as `start` says, on whichever thread; the rest can be sent.
unsafe impl Send for Packed {}
// SAFETY: messages write to different blocks; the rest can be shared.
unsafe impl Sync for Packed {}

impl Packed {
    /// Whether blocks of so many bytes are better packed.
    pub(crate) fn pays(block: usize) -> bool {
        (1..=LONG).contains(&block)
    }

    /// Gets `blocks`, whose shape is in bytes and none of which is empty, to `to`.
    ///
    /// # Safety
    /// `to` must be writable for all of them until `all` is over.
    pub(crate) unsafe fn start(far: Far<'_>, to: *mut u8, blocks: Blocks, all: Arc<AllParts>) {
        let Blocks { dest_stride, source_stride, block, count } = blocks;
        let packed = Arc::new(Self {
            net: Arc::clone(far.net),
            from: far.spot,
            to,
            spread: dest_stride,
            blocks: Shape { block, stride: source_stride, count },
            next: AtomicUsize::new(0),
            all,
        });
        for _ in 0..WINDOW.min(count.div_ceil(packed.most())) {
            Arc::clone(&packed).bring(Vec::new());
        }
    }

    /// How many blocks go into a message.
    fn most(&self) -> usize {
        PACKED / self.blocks.block
    }

    /// Gets the next blocks by way of `buffer`, and those after them, if there are any left.
    fn bring(self: Arc<Self>, mut buffer: Vec<u8>) {
        let Shape { block, stride, count } = self.blocks;
        // Relaxed: messages have nothing to do with each other.
        let at = self.next.fetch_add(self.most(), Ordering::Relaxed);
        if at >= count {
            return;
        }
        let blocks = Shape { count: self.most().min(count - at), ..self.blocks };
        buffer.resize(block * blocks.count, 0);
        let room = buffer.as_mut_ptr();
        let (net, from) =
            (Arc::clone(&self.net), Spot { offset: self.from.offset + at * stride, ..self.from });
        let then = move |got: Result<()>| {
            if got.is_err() {
                return self.all.note(got);
            }
            // SAFETY: the blocks are inside of `to`, which the caller keeps until `all` is over;
            // the buffer has as many.
            unsafe {
                let to = self.to.add(at * self.spread);
                copy::copy_strided(to, self.spread, buffer.as_ptr(), block, block, blocks.count);
            }
            self.bring(buffer);
        };
        // SAFETY: the completion holds the buffer, whose bytes stay where they are.
        unsafe { net.get_packed(from, blocks, room, Box::new(then)) };
    }
}
