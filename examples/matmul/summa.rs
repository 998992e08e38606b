//! The grid, the blocks, and the panels that go along rows and columns.
//!
//! A block of A is stored by columns and one of B by rows, so that any panel of either is one piece
//! of memory.
//!
//! Panels land in symmetric memory. From there a PE packs them for its kernel, which frees the
//! place for the next ones, and that is where the two buffers are: one panel lands while another,
//! packed, is multiplied.

use std::{
    error::Error,
    ops::Range,
    time::{Duration, Instant},
};

use oxshmem::prelude::*;

use crate::kernel::{self, Packed};

/// Multiply-adds that are done before the broadcasts get a chance to go on.
const AT_ONCE: usize = 1 << 20;

/// A·B, distributed over all PEs.
pub(crate) struct Product<'a> {
    world: &'a World,
    size: usize,
    grid: Grid,
    /// The PEs in this one's row of the grid, and those in its column.
    row: Team,
    column: Team,
    panels: Vec<Range<usize>>,
    a: SymSlice<f64>,
    b: SymSlice<f64>,
    /// This PE's block, by rows.
    c: Vec<f64>,
    /// Where panels of A and of B land.
    landing: [SymSlice<f64>; 2],
}

/// `rows` by `columns` PEs, and which of them this one is.
#[derive(Clone, Copy)]
struct Grid {
    rows: usize,
    columns: usize,
    row: usize,
    column: usize,
}

impl Grid {
    /// The one that is nearest to a square.
    fn new(world: &World) -> Self {
        let n = world.n_pes();
        let rows = (1..=n.isqrt()).rev().find(|&rows| n.is_multiple_of(rows)).unwrap_or(1);
        let columns = n / rows;
        Self { rows, columns, row: world.my_pe() / columns, column: world.my_pe() % columns }
    }
}

/// The part of `size` that is the `index`-th of `parts`.
fn band(size: usize, index: usize, parts: usize) -> Range<usize> {
    size * index / parts..size * (index + 1) / parts
}

/// Which of `parts` has `place`.
fn owner(size: usize, place: usize, parts: usize) -> usize {
    (0..parts).find(|&part| band(size, part, parts).contains(&place)).unwrap_or(0)
}

/// A random number for a place.
pub(crate) fn random(what: u64, row: usize, column: usize) -> u64 {
    let mut z = (what << 60 | (row as u64) << 30 | column as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// An element of A or of B: an integer from -4 to 4.
fn entry(matrix: u64, row: usize, column: usize) -> f64 {
    (random(matrix, row, column) % 9) as f64 - 4.0
}

const A: u64 = 0;
const B: u64 = 1;

impl<'a> Product<'a> {
    /// The product of two matrices of `size` rows and columns, in panels of at most `width`.
    /// Collective.
    pub(crate) async fn new(world: &'a World, size: usize, width: usize) -> Result<Self, Box<dyn Error>> {
        let grid = Grid::new(world);
        if size < grid.columns {
            let Grid { rows, columns, .. } = grid;
            return Err(format!("{rows} x {columns} PEs need matrices of at least {columns} rows").into());
        }
        let (row, column) = world.team().split_2d(grid.columns).await?;

        // A panel is on one column of PEs and on one row of them, so it ends where one of their
        // blocks does.
        let edges = |parts| (0..=parts).map(move |part| size * part / parts);
        let mut cuts: Vec<usize> =
            (0..size).step_by(width).chain(edges(grid.rows)).chain(edges(grid.columns)).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let panels = cuts.windows(2).map(|pair| pair[0]..pair[1]).collect();

        let (most_rows, most_columns) = (size.div_ceil(grid.rows), size.div_ceil(grid.columns));
        let block = most_rows * most_columns;
        let (a, b) = (world.alloc(block).await?, world.alloc(block).await?);
        let width = width.min(most_rows).min(most_columns);
        let landing = [world.alloc(most_rows * width).await?, world.alloc(most_columns * width).await?];
        let mut product = Self { world, size, grid, row, column, panels, a, b, c: Vec::new(), landing };
        let (rows, columns) = (product.rows(), product.columns());
        product.c = vec![0.0; rows.len() * columns.len()];

        let a: Vec<f64> =
            product.inner_of_a().flat_map(|k| rows.clone().map(move |i| entry(A, i, k))).collect();
        let b: Vec<f64> =
            product.inner_of_b().flat_map(|k| columns.clone().map(move |j| entry(B, k, j))).collect();
        product.a.slice(..a.len()).write(&a);
        product.b.slice(..b.len()).write(&b);
        Ok(product)
    }

    /// Rows and columns of the grid.
    pub(crate) fn grid(&self) -> (usize, usize) {
        (self.grid.rows, self.grid.columns)
    }

    /// The rows of A and C that are here.
    fn rows(&self) -> Range<usize> {
        band(self.size, self.grid.row, self.grid.rows)
    }

    /// The columns of B and C that are here.
    fn columns(&self) -> Range<usize> {
        band(self.size, self.grid.column, self.grid.columns)
    }

    /// The columns of A that are here.
    fn inner_of_a(&self) -> Range<usize> {
        band(self.size, self.grid.column, self.grid.columns)
    }

    /// The rows of B that are here.
    fn inner_of_b(&self) -> Range<usize> {
        band(self.size, self.grid.row, self.grid.rows)
    }

    /// Computes C anew, with the broadcasts of a panel behind the multiplication of the one before,
    /// or after it. Returns how long this PE has computed. Collective.
    pub(crate) async fn compute(&mut self, overlap: bool) -> oxshmem::Result<Duration> {
        let (rows, columns) = (self.rows().len(), self.columns().len());
        let mut c = std::mem::take(&mut self.c);
        c.fill(0.0);
        let mut packed = Packed::default();
        let mut computing = Duration::ZERO;
        if let Some(first) = self.panels.first() {
            self.fetch(first).await?;
        }
        for (panel, next) in self.panels.iter().zip(self.panels.iter().skip(1).map(Some).chain([None])) {
            let begin = Instant::now();
            let [a, b] = &self.landing;
            let depth = panel.len();
            packed.pack(a.slice(..rows * depth), b.slice(..columns * depth), depth);
            computing += begin.elapsed();

            let fetch = async {
                match next {
                    Some(next) => self.fetch(next).await,
                    None => Ok(()),
                }
            };
            let multiply = async {
                let at_once = (AT_ONCE / (rows * depth).max(1)).next_multiple_of(kernel::COLUMNS);
                for start in (0..columns).step_by(at_once) {
                    let begin = Instant::now();
                    packed.multiply(start..(start + at_once).min(columns), &mut c, columns);
                    computing += begin.elapsed();
                    tokio::task::yield_now().await;
                }
            };
            if overlap {
                let (fetched, ()) = tokio::join!(fetch, multiply);
                fetched?;
            } else {
                multiply.await;
                fetch.await?;
            }
        }
        self.c = c;
        Ok(computing)
    }

    /// Brings a panel of A to all PEs of this row, and one of B to all of this column.
    async fn fetch(&self, panel: &Range<usize>) -> oxshmem::Result<()> {
        let (size, Grid { rows, columns, .. }) = (self.size, self.grid);
        let [a_root, b_root] = [columns, rows].map(|parts| owner(size, panel.start, parts));
        // Where the panel is in its owner's block; the others need a source that is as long.
        let part = |block: Range<usize>, each: usize| {
            let start = panel.start - block.start;
            start * each..(start + panel.len()) * each
        };
        let (height, width) = (self.rows().len(), self.columns().len());
        let a = self.a.slice(part(band(size, a_root, columns), height));
        let b = self.b.slice(part(band(size, b_root, rows), width));
        let [landing_a, landing_b] = &self.landing;
        // A team's collectives begin one after the other. After the sync all PEs have packed what
        // was there before.
        let free = [self.row.sync(), self.column.sync()];
        let a = self.row.broadcast(landing_a.slice(..a.len()), a, a_root);
        let b = self.column.broadcast(landing_b.slice(..b.len()), b, b_root);
        let [row_free, column_free] = free;
        tokio::try_join!(row_free, column_free, a, b)?;
        Ok(())
    }

    /// What this PE's block of A gives to A·x.
    fn a_times(&self, x: &[f64]) -> Vec<f64> {
        let a = self.a.view().to_vec();
        let (rows, inner) = (self.rows(), self.inner_of_a());
        let mut sums = vec![0.0; self.size];
        for (column, k) in a.chunks(rows.len().max(1)).zip(inner) {
            sums[rows.clone()].iter_mut().zip(column).for_each(|(sum, a)| *sum += a * x[k]);
        }
        sums
    }

    /// What this PE's block of B gives to B·x.
    fn b_times(&self, x: &[f64]) -> Vec<f64> {
        rows_times(&self.b.view().to_vec(), self.inner_of_b(), self.columns(), x)
    }

    /// What this PE's block of C gives to C·x.
    fn c_times(&self, x: &[f64]) -> Vec<f64> {
        rows_times(&self.c, self.rows(), self.columns(), x)
    }

    /// Freivalds' check. Collective, and an error on all PEs alike.
    pub(crate) async fn check(&self) -> Result<(), Box<dyn Error>> {
        let x: Vec<f64> = (0..self.size).map(|i| (random(2, i, 0) & 0xffff) as f64).collect();
        let y = self.sum_over_pes(self.b_times(&x)).await?;
        let mut difference = self.c_times(&x);
        difference.iter_mut().zip(self.a_times(&y)).for_each(|(cx, ay)| *cx -= ay);
        let difference = self.sum_over_pes(difference).await?;
        match difference.iter().position(|&difference| difference != 0.0) {
            None => Ok(()),
            Some(row) => Err(format!("row {row} of the product is wrong").into()),
        }
    }

    /// The sum of the vectors of all PEs. Collective.
    async fn sum_over_pes(&self, vector: Vec<f64>) -> oxshmem::Result<Vec<f64>> {
        let sums = self.world.alloc(vector.len()).await?;
        sums.view().write(&vector);
        self.world.team().sum_reduce(&sums, &sums).await?;
        Ok(sums.view().to_vec())
    }
}

/// A block that is stored by rows, times the part of `x` for its columns, where its rows are.
fn rows_times(block: &[f64], rows: Range<usize>, columns: Range<usize>, x: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; x.len()];
    for (row, i) in block.chunks(columns.len().max(1)).zip(rows) {
        sums[i] = row.iter().zip(&x[columns.clone()]).map(|(element, x)| element * x).sum();
    }
    sums
}
