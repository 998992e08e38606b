//! The matrix, what is computed on single tiles, and the plain factorisation that checks the
//! result.
//!
//! A tile is stored by columns.

use oxshmem::SymView;

/// An element of the matrix, which is symmetric and positive definite: random numbers, and a
/// diagonal that exceeds the sum of its row. Beyond `size` it goes on as the unit matrix.
pub(crate) fn entry(size: usize, row: usize, column: usize) -> f64 {
    let (row, column) = (row.max(column), row.min(column));
    match (row == column, row < size) {
        (true, true) => size as f64,
        (true, false) => 1.0,
        (false, true) => random(row, column),
        (false, false) => 0.0,
    }
}

/// A random number from -1 to 1 for a place.
fn random(row: usize, column: usize) -> f64 {
    let mut z = ((row as u64) << 32 | column as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Replaces the lower triangle of a tile by its Cholesky factor: `tile = L·Lᵀ`. What is above
/// the diagonal becomes 0.
pub(crate) fn factor(tile: &mut [f64], n: usize) {
    for column in 0..n {
        let (done, rest) = tile.split_at_mut(column * n);
        let this = &mut rest[..n];
        for before in done.chunks_exact(n) {
            let scale = before[column];
            this[column..]
                .iter_mut()
                .zip(&before[column..])
                .for_each(|(this, before)| *this -= scale * before);
        }
        let root = this[column].sqrt();
        this[..column].fill(0.0);
        this[column..].iter_mut().for_each(|value| *value /= root);
    }
}

/// Replaces a tile by X with `X·Lᵀ = tile`, where L is a factor in the same form.
pub(crate) fn solve(tile: &mut [f64], factor: SymView<'_, f64>, n: usize) {
    let mut l = vec![0.0; n * n];
    factor.read(&mut l);
    for column in 0..n {
        let (done, rest) = tile.split_at_mut(column * n);
        let this = &mut rest[..n];
        for (k, before) in done.chunks_exact(n).enumerate() {
            let scale = l[k * n + column];
            this.iter_mut().zip(before).for_each(|(this, before)| *this -= scale * before);
        }
        let pivot = l[column * n + column];
        this.iter_mut().for_each(|value| *value /= pivot);
    }
}

/// The factor of the whole matrix, as one tile, element by element.
pub(crate) fn plain(size: usize) -> Vec<f64> {
    let mut matrix: Vec<f64> =
        (0..size * size).map(|place| entry(size, place % size, place / size)).collect();
    factor(&mut matrix, size);
    matrix
}
