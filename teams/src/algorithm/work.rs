//! What a collective does in the memory of all PEs, and which part of it each PE does.

use std::ops::Range;

use crate::{
    algorithm::{
        room::{Lengths, total_of},
        tree_broadcast::ToRoot,
    },
    group::Group,
    memory::span::Span,
    reduction::Kernel,
    signature::Signature,
};

/// What chunks of PEs are aligned to, so that two PEs do not write the same cache line.
const ALIGN: usize = 64;

/// What is to be done in the memory of the PEs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Each PE copies from the root. Its own destination may be left as it is. It helps if the
    /// destinations are ready before their PEs come to this.
    Broadcast { root: usize, to_root: ToRoot, are_ready: bool },
    /// Each PE combines its chunk of all sources, and writes it to all destinations.
    Reduce(&'static Kernel),
    /// The same, to the destination of the first PE. What others have in theirs is then
    /// unspecified.
    ReduceToFirst(&'static Kernel),
    /// Each PE computes its chunk of all PEs' sums, and writes it to them.
    Scan { kernel: &'static Kernel, inclusive: bool },
    /// Each PE writes its block to all, `start` bytes behind the beginning.
    Collect { start: usize },
    /// Each PE writes each block to its PE.
    Alltoall,
    /// The same with strides, of elements of `size` bytes.
    Alltoalls { size: usize, dst: usize, sst: usize },
}

/// One that was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) work: Work,
    pub(crate) signature: Signature,
    pub(crate) source: Span,
    pub(crate) dest: Span,
}

impl Called {
    /// A `collect` of PEs with these `lengths`, for which `dest` has room.
    pub(crate) fn collect(
        group: &Group,
        signature: Signature,
        source: Span,
        dest: Span,
        lengths: &[Lengths],
    ) -> Self {
        let start = total_of(&lengths[..group.me()]);
        // C programs give it all memory that there is, and mean what is needed of it.
        let dest = dest.part(0..total_of(lengths));
        Self { work: Work::Collect { start }, signature, source, dest }
    }
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
