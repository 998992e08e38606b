//! A collective that was called, and which part of it each PE does.

use std::ops::Range;

use oxshmem_base::{Error, Result};

use crate::{group::Group, memory::span::Span, operation::Operation, signature::Signature};

/// What chunks of PEs are aligned to, so that two PEs do not write the same cache line.
const ALIGN: usize = 64;

/// A collective that was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) operation: Operation,
    pub(crate) signature: Signature,
    /// Bytes of an element.
    pub(crate) size: usize,
    pub(crate) source: Span,
    pub(crate) dest: Span,
}

impl Called {
    /// Bytes that this PE gives to each other one.
    #[inline(always)]
    pub(crate) fn given(&self) -> usize {
        match self.operation {
            Operation::Alltoall | Operation::Alltoalls { .. } => self.signature.len() * self.size,
            _ => self.source.len(),
        }
    }

    /// How many bytes PEs with these `lengths` give to this `collect` together.
    ///
    /// # Errors
    /// One of them has no room for them: its own error on that one, and on the others, which have
    /// found nothing wrong, that it was that one.
    pub(crate) fn check_room(&self, group: &Group, lengths: &[Lengths]) -> Result<usize> {
        let (total, signature, size) = (total_of(lengths), self.signature, self.size.max(1));
        if total > self.dest.len() {
            let (source_len, dest_len) = (total / size, self.dest.len() / size);
            return Err(Error::LengthMismatch { call: signature.name(), source_len, dest_len });
        }
        match lengths.iter().position(|&[_, room]| (room as usize) < total) {
            Some(pe) => Err(group.differ(pe, Signature::refused(signature.name()), signature)),
            None => Ok(total),
        }
    }
}

/// How many bytes a PE gives to a `collect`, and for how many it has room.
pub(crate) type Lengths = [u64; 2];

/// How many bytes these give together: the greatest number if it is more than that, as they come
/// from other PEs.
pub(crate) fn total_of(lengths: &[Lengths]) -> usize {
    lengths.iter().fold(0, |sum, &[len, _]| sum.saturating_add(len as usize))
}

/// The bytes of `len` that are PE `pe`'s part, of `n`: whole elements, as `ALIGN` is a multiple of
/// all sizes.
pub(crate) fn chunk(len: usize, pe: usize, n: usize) -> Range<usize> {
    let each = len.div_ceil(n).next_multiple_of(ALIGN);
    (pe * each).min(len)..((pe + 1) * each).min(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_everything_once_in_whole_elements() {
        for len in [0, 1, 63, 64, 65, 4096, 70_001, 70_000 * 16] {
            for n in 1..20 {
                let chunks: Vec<_> = (0..n).map(|pe| chunk(len, pe, n)).collect();
                assert!(chunks[0].start == 0 && chunks[n - 1].end == len);
                assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(chunks.iter().all(|chunk| chunk.start % ALIGN == 0 || chunk.start == len));
                assert_eq!(chunks.into_iter().map(|chunk| chunk.len()).sum::<usize>(), len);
            }
        }
    }
}
