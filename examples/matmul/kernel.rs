//! The product of a panel of A and a panel of B, added to a block of C.
//!
//! C is computed in tiles that fit into registers. For a tile the panels are read along their
//! depth, so they are packed such that what one step needs is in succession. The loops over a tile
//! have constant bounds: the compiler unrolls them and makes vector instructions of them.

use std::ops::Range;

use oxshmem::SymView;

/// Rows and columns of a tile.
const ROWS: usize = 6;
pub(crate) const COLUMNS: usize = 8;

/// A panel of A and one of B, packed. What is beyond their edges is 0.
#[derive(Default)]
pub(crate) struct Packed {
    /// For each tile's rows, and for each step, a column of A.
    a: Vec<[f64; ROWS]>,
    /// For each tile's columns, and for each step, a row of B.
    b: Vec<[f64; COLUMNS]>,
    rows: usize,
    depth: usize,
    scratch: Vec<f64>,
}

impl Packed {
    /// Packs `depth` columns of A and as many rows of B, which lie one behind the other.
    pub(crate) fn pack(&mut self, a: SymView<'_, f64>, b: SymView<'_, f64>, depth: usize) {
        (self.rows, self.depth) = (a.len() / depth, depth);
        pack(&mut self.a, a, depth, &mut self.scratch);
        pack(&mut self.b, b, depth, &mut self.scratch);
    }

    /// Adds the product to some columns of C, which has rows of `width`. The first one is a tile's
    /// first.
    pub(crate) fn multiply(&self, columns: Range<usize>, c: &mut [f64], width: usize) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has these instructions.
            return unsafe { self.multiply_avx2(columns, c, width) };
        }
        self.tiles::<{ cfg!(target_feature = "fma") || cfg!(target_arch = "aarch64") }>(columns, c, width);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn multiply_avx2(&self, columns: Range<usize>, c: &mut [f64], width: usize) {
        self.tiles::<true>(columns, c, width);
    }

    #[inline(always)]
    fn tiles<const FUSED: bool>(&self, columns: Range<usize>, c: &mut [f64], width: usize) {
        for left in columns.clone().step_by(COLUMNS) {
            let b = &self.b[left / COLUMNS * self.depth..][..self.depth];
            let right = (left + COLUMNS).min(columns.end);
            for top in (0..self.rows).step_by(ROWS) {
                let a = &self.a[top / ROWS * self.depth..][..self.depth];
                let tile = tile::<FUSED>(a, b);
                for (row, sums) in (top..self.rows).zip(tile) {
                    let c = &mut c[row * width + left..row * width + right];
                    c.iter_mut().zip(sums).for_each(|(c, sum)| *c += sum);
                }
            }
        }
    }
}

/// The product of some rows of A and some columns of B.
#[inline(always)]
fn tile<const FUSED: bool>(a: &[[f64; ROWS]], b: &[[f64; COLUMNS]]) -> [[f64; COLUMNS]; ROWS] {
    let mut sums = [[0.0; COLUMNS]; ROWS];
    for (a, b) in a.iter().zip(b) {
        for (sums, &a) in sums.iter_mut().zip(a) {
            for (sum, &b) in sums.iter_mut().zip(b) {
                // Without an instruction for it, `mul_add` is a call.
                *sum = if FUSED { a.mul_add(b, *sum) } else { *sum + a * b };
            }
        }
    }
    sums
}

/// Cuts `depth` vectors, which lie one behind the other, into pieces of `N`, and puts the first
/// pieces of all of them first.
fn pack<const N: usize>(
    packed: &mut Vec<[f64; N]>,
    panel: SymView<'_, f64>,
    depth: usize,
    scratch: &mut Vec<f64>,
) {
    scratch.resize(panel.len(), 0.0);
    panel.read(scratch);
    let len = panel.len() / depth;
    packed.clear();
    packed.resize(len.div_ceil(N) * depth, [0.0; N]);
    if len == 0 {
        return;
    }
    for (step, vector) in scratch.chunks_exact(len).enumerate() {
        for (place, piece) in vector.chunks(N).enumerate() {
            packed[place * depth + step][..piece.len()].copy_from_slice(piece);
        }
    }
}
