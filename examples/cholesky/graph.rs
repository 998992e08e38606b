//! The factorisation as a graph of futures, and in steps with barriers between them.
//!
//! The tiles of the lower triangle are distributed over a grid of PEs, in turn along both of its
//! dimensions. For tile (i, j) of the factor its PE needs the tiles (i, k) and (j, k) with k < j,
//! then (j, j). As soon as a tile is computed it is put, with a signal, to the PEs that need it.
//! Each of them has room for all tiles, and a signal for each: the number of the latest run in
//! which it has come.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream::FuturesUnordered};
use oxshmem::{Result, prelude::*};

use crate::{kernel::Packed, tile, turns::Turns};

/// The factorisation of a matrix on all PEs.
pub(crate) struct Factorisation<'a> {
    world: &'a World,
    size: usize,
    /// Rows and columns of a tile, and how many tiles the matrix has along each dimension.
    tile: usize,
    count: usize,
    /// Rows and columns of the grid.
    grid: (usize, usize),
    tiles: SymSlice<f64>,
    arrived: SymSlice<u64>,
    run: u64,
    work: Mutex<Work>,
    turns: Turns,
}

/// What computes one tile at a time, and for how long it has.
#[derive(Default)]
struct Work {
    packed: Packed,
    time: Duration,
}

/// How many tiles the lower triangle of a matrix has.
pub(crate) fn tiles_of(size: usize, tile: usize) -> usize {
    let count = size.div_ceil(tile);
    count * (count + 1) / 2
}

impl<'a> Factorisation<'a> {
    /// Collective.
    pub(crate) async fn new(world: &'a World, size: usize, tile: usize) -> Result<Self> {
        let n = world.n_pes();
        let rows = (1..=n.isqrt()).rev().find(|&rows| n.is_multiple_of(rows)).unwrap_or(1);
        let (count, all) = (size.div_ceil(tile), tiles_of(size, tile));
        let (tiles, arrived) = (world.alloc(all * tile * tile).await?, world.alloc_zeroed(all).await?);
        let (grid, work, turns) = ((rows, n / rows), Mutex::default(), Turns::default());
        Ok(Self { world, size, tile, count, grid, tiles, arrived, run: 0, work, turns })
    }

    /// Rows and columns of the grid.
    pub(crate) fn grid(&self) -> (usize, usize) {
        self.grid
    }

    /// Every tile is a task, which computes as soon as what it needs has come. Returns how long
    /// this PE has computed. Collective.
    pub(crate) async fn as_graph(&mut self) -> Result<Duration> {
        self.begin();
        let mut tasks: FuturesUnordered<_> = self.mine().map(|(i, j)| self.task(i, j)).collect();
        while let Some(outcome) = tasks.next().await {
            outcome?;
        }
        drop(tasks);
        self.end().await
    }

    async fn task(&self, i: usize, j: usize) -> Result<()> {
        let mut sum = self.zeros();
        for k in 0..j {
            self.has_come(i, k).await?;
            self.has_come(j, k).await?;
            let turn = self.turns.take((j, i)).await;
            self.add_product(&mut sum, i, j, k);
            // What has come meanwhile takes its place in the queue before the next turn is given.
            tokio::task::yield_now().await;
            drop(turn);
        }
        if i != j {
            self.has_come(j, j).await?;
        }
        let turn = self.turns.take((j, i)).await;
        self.finish(i, j, &sum);
        tokio::task::yield_now().await;
        drop(turn);
        Ok(())
    }

    /// Computes in steps instead, one for each column of tiles: its diagonal tile, then the tiles
    /// below, then all products with them. Collective.
    pub(crate) async fn in_steps(&mut self) -> Result<Duration> {
        self.begin();
        let mut open: Vec<_> = self.mine().map(|(i, j)| (i, j, self.zeros())).collect();
        for k in 0..self.count {
            for (i, j, sum) in open.iter().filter(|(i, j, _)| *i == k && *j == k) {
                self.finish(*i, *j, sum);
            }
            self.world.barrier_all().await?;
            for (i, j, sum) in open.iter().filter(|(i, j, _)| *i > k && *j == k) {
                self.finish(*i, *j, sum);
            }
            self.world.barrier_all().await?;
            open.retain(|(_, j, _)| *j > k);
            for (i, j, sum) in &mut open {
                self.add_product(sum, *i, *j, k);
            }
        }
        self.end().await
    }

    fn begin(&mut self) {
        self.run += 1;
        self.work().time = Duration::ZERO;
    }

    /// When all tiles are where they are needed, on all PEs.
    async fn end(&self) -> Result<Duration> {
        self.world.barrier_all().await?;
        Ok(self.work().time)
    }

    /// Adds tile (i, k) times tile (j, k) transposed to `sum`, which is stored by rows.
    fn add_product(&self, sum: &mut [f64], i: usize, j: usize, k: usize) {
        let mut work = self.work();
        let begin = Instant::now();
        work.packed.pack(self.at(i, k), self.at(j, k), self.tile);
        work.packed.multiply(0..self.tile, sum, self.tile);
        work.time += begin.elapsed();
    }

    /// Computes tile (i, j) of the factor, and sends it to where it is needed.
    fn finish(&self, i: usize, j: usize, sum: &[f64]) {
        let n = self.tile;
        let mut work = self.work();
        let begin = Instant::now();
        let entry = |row, column| tile::entry(self.size, i * n + row, j * n + column);
        let places = (0..n).flat_map(|column| (0..n).map(move |row| (row, column)));
        let mut tile: Vec<f64> =
            places.map(|(row, column)| entry(row, column) - sum[row * n + column]).collect();
        match i == j {
            true => tile::factor(&mut tile, n),
            false => tile::solve(&mut tile, self.at(j, j), n),
        }
        work.time += begin.elapsed();
        drop(work);
        for pe in self.needing(i, j) {
            let (signal, run) = (self.arrived.at(self.number(i, j)), Signal::Set(self.run));
            // What becomes of it the barrier at the end says.
            drop(self.world.context().put_signal_nbi(self.at(i, j), tile.clone(), signal, run, pe));
        }
    }

    /// Waits until tile (i, j) of the factor is here.
    async fn has_come(&self, i: usize, j: usize) -> Result<()> {
        self.arrived.at(self.number(i, j)).wait_until(Cmp::Ge, self.run).await?;
        Ok(())
    }

    /// The PEs that compute with tile (i, j), and the one that has it.
    fn needing(&self, i: usize, j: usize) -> Vec<usize> {
        let row = (j..=i).map(|column| self.owner(i, column));
        let column = (i..self.count).map(|row| self.owner(row, i));
        let mut pes: Vec<usize> = row.chain(column).collect();
        pes.sort_unstable();
        pes.dedup();
        pes
    }

    fn owner(&self, i: usize, j: usize) -> usize {
        let (rows, columns) = self.grid;
        i % rows * columns + j % columns
    }

    /// The tiles that this PE computes, by columns.
    fn mine(&self) -> impl Iterator<Item = (usize, usize)> + use<'_, 'a> {
        let all = (0..self.count).flat_map(|j| (j..self.count).map(move |i| (i, j)));
        all.filter(|&(i, j)| self.owner(i, j) == self.world.my_pe())
    }

    fn number(&self, i: usize, j: usize) -> usize {
        i * (i + 1) / 2 + j
    }

    fn at(&self, i: usize, j: usize) -> SymView<'_, f64> {
        let (start, len) = (self.number(i, j), self.tile * self.tile);
        self.tiles.slice(start * len..(start + 1) * len)
    }

    fn zeros(&self) -> Vec<f64> {
        vec![0.0; self.tile * self.tile]
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The largest difference from the plain factorisation. Called by one PE, which asks those that
    /// have the tiles.
    pub(crate) async fn largest_error(&self) -> Result<f64> {
        let (plain, n, mut largest) = (tile::plain(self.size), self.tile, 0f64);
        for (i, j) in (0..self.count).flat_map(|j| (j..self.count).map(move |i| (i, j))) {
            let tile = self.world.context().get(self.at(i, j), self.owner(i, j)).await?;
            for (place, value) in tile.iter().enumerate() {
                let (row, column) = (i * n + place % n, j * n + place / n);
                if row < self.size && column < self.size {
                    let error = (value - plain[column * self.size + row]).abs();
                    // A number that is none is an error too.
                    largest = if error >= 0.0 { largest.max(error) } else { f64::INFINITY };
                }
            }
        }
        Ok(largest)
    }
}
