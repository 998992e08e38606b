//! The shape of strided transfers (`OpenSHMEM 1.6 §9.6.1.3`).

use oxshmem_base::{Error, Result};
use oxshmem_memory::op::Blocks;

/// Blocks of elements at equal distances on both sides.
#[derive(Clone, Copy)]
pub(crate) struct Strided {
    pub(crate) dest_stride: usize,
    pub(crate) source_stride: usize,
    pub(crate) block: usize,
    pub(crate) count: usize,
}

impl Strided {
    /// In bytes, of elements of `size` bytes, of a put or a get.
    pub(crate) fn in_bytes(self, size: usize, is_put: bool) -> Blocks {
        let Self { dest_stride, source_stride, block, count } = self;
        let [dest, source, len] = [dest_stride, source_stride, block].map(|n| n * size);
        let (there, here) = if is_put { (dest, source) } else { (source, dest) };
        Blocks { len, count, there, here }
    }

    /// How many elements, for traces: of blocks that are not checked yet.
    pub(crate) fn elements(self) -> usize {
        self.block.saturating_mul(self.count)
    }

    /// These blocks, if they are inside buffers of `dest_len` and `source_len` elements. Then no
    /// sum of their bytes overflows.
    pub(crate) fn checked(self, call: &'static str, dest_len: usize, source_len: usize) -> Result<Self> {
        let Self { dest_stride, source_stride, block, count } = self;
        if block == 0 {
            return Err(Error::InvalidStride { call, what: "block size", value: block });
        }
        for (side, what, stride, len) in [
            ("destination", "destination stride", dest_stride, dest_len),
            ("source", "source stride", source_stride, source_len),
        ] {
            if stride < block {
                return Err(Error::InvalidStride { call, what, value: stride });
            }
            let reach =
                count.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(block));
            let needed = reach.unwrap_or(usize::MAX);
            if needed > len {
                return Err(Error::StrideOutOfRange { call, what: side, needed, len });
            }
        }
        // A stride that leads to no other block may be any number, and so may the size of no block.
        Ok(match count {
            0 => Self { dest_stride: 0, source_stride: 0, block: 0, count },
            1 => Self { dest_stride: block, source_stride: block, block, count },
            _ => self,
        })
    }
}
