//! The shape of strided transfers (`OpenSHMEM 1.6 §9.6.1.3`).

use oxshmem_base::{Error, Result};

/// Blocks of elements at equal distances on both sides.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    pub(crate) dest_stride: usize,
    pub(crate) source_stride: usize,
    pub(crate) block: usize,
    pub(crate) count: usize,
}

impl Blocks {
    /// One block.
    pub(crate) fn whole(len: usize) -> Self {
        Self { dest_stride: len, source_stride: len, block: len, count: 1 }
    }

    /// These blocks in bytes, of elements of `size` bytes.
    pub(crate) fn in_bytes(self, size: usize) -> Self {
        let Self { dest_stride, source_stride, block, count } = self;
        let [dest_stride, source_stride, block] = [dest_stride, source_stride, block].map(|n| n * size);
        Self { dest_stride, source_stride, block, count }
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
            0 => Self { count, ..Self::whole(0) },
            1 => Self::whole(block),
            _ => self,
        })
    }
}
