//! Heat in a plate, by Jacobi's five-point stencil, with the exchange of edges hidden behind the
//! computation.
//!
//! Every PE has a band of rows. For a step it needs the row above its band and the row below, which
//! are on its neighbours. It sends its own edge rows with put-with-signal, and while they and its
//! neighbours' are under way it computes the rows that need neither: two futures in a `join!`. How
//! much of the exchange that hides is measured, by the same steps with the exchange first and the
//! computation after it. At the end PE 0 computes all of it alone, and the results must be equal to
//! the last bit.
//!
//! ```text
//! oshrun -np 4 target/release/examples/halo [--rows 256] [--columns 256] [--steps 100] [--no-check]
//! ```

use std::{
    error::Error,
    ops::Range,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, value_parser};
use oxshmem::prelude::*;

/// Temperature at the upper edge of the plate. It is 0 at the others, and inside at first.
const HOT: f64 = 100.0;
/// Rows that are computed before the exchange gets a chance to go on.
const ROWS_AT_ONCE: usize = 64;
/// The neighbours, as indices.
const ABOVE: usize = 0;
const BELOW: usize = 1;

#[derive(Clone, Parser)]
#[command(about = "Heat in a plate: a stencil whose communication hides behind its computation")]
struct Options {
    /// Rows of the plate, at least one for each PE
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..))]
    rows: u32,

    /// Columns of the plate
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..))]
    columns: u32,

    /// Steps, each of them with and without overlap
    #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    steps: u32,

    /// Leaves out the comparison with a sequential computation
    #[arg(long)]
    no_check: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| run(world, options).await).await
}

async fn run(world: &World, options: Options) -> Result<(), Box<dyn Error>> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let (rows, width) = (options.rows as usize, options.columns as usize + 2);
    if rows < n {
        return Err(format!("{rows} rows cannot be divided among {n} PEs; give at least --rows {n}").into());
    }
    let band = |pe: usize| rows * pe / n..rows * (pe + 1) / n;
    let mine = band(me);

    let mut halo = Halo::new(world, width).await?;
    let one_by_one = simulate(&mut halo, &mine, &options, false).await?;
    let overlapped = simulate(&mut halo, &mine, &options, true).await?;

    // PE 0 collects how long all waited, and what came out.
    let waits = world.alloc_zeroed::<u64>(2).await?;
    let plate = world.alloc::<f64>(rows.div_ceil(n) * width).await?;
    for (i, run) in [&one_by_one, &overlapped].into_iter().enumerate() {
        world.context().add(waits.at(i), run.waited.as_nanos() as u64, 0).await?;
    }
    plate.slice(..mine.len() * width).write(overlapped.plate.inner());
    world.barrier_all().await?;
    if me == 0 {
        let rate = |run: &Run| {
            let cells = f64::from(options.rows) * f64::from(options.columns) * f64::from(options.steps);
            cells / run.elapsed.as_secs_f64() / 1e6
        };
        println!("{rows} x {} cells, {} steps, {n} PEs", options.columns, options.steps);
        println!("exchange, then compute: {:.1} M cells/s", rate(&one_by_one));
        println!("exchange while computing: {:.1} M cells/s", rate(&overlapped));
        let [before, after] =
            [0, 1].map(|i| waits.at(i).load() as f64 / (n as f64 * f64::from(options.steps)) / 1e3);
        if n > 1 {
            println!("a PE spends {before:.2} µs of a step on the exchange, and {after:.2} µs with overlap");
            let hidden = 100.0 * (1.0 - after / before);
            match hidden {
                0.0.. => println!("{hidden:.0} % of the exchange is hidden"),
                // As it may be where PEs, or other programs, share processors.
                _ => println!("nothing of the exchange is hidden"),
            }
        }
        if !options.no_check {
            let mut whole = Plate::new(0..rows, width);
            for _ in 0..options.steps {
                whole.compute(1..rows + 1);
                whole.step_ends();
            }
            for pe in 0..n {
                let theirs = world.context().get(plate.slice(..band(pe).len() * width), pe).await?;
                let expected = &whole.inner()[band(pe).start * width..band(pe).end * width];
                if let Some(at) = (0..theirs.len()).find(|&i| theirs[i].to_bits() != expected[i].to_bits()) {
                    let (row, column) = (band(pe).start + at / width, at % width);
                    let (is, should) = (theirs[at], expected[at]);
                    return Err(
                        format!("row {row}, column {column} is {is}, but alone it is {should}").into()
                    );
                }
            }
            println!("equal to the sequential computation, to the last bit");
        }
    }
    // PE 0 has read the plates of the others before they go.
    world.barrier_all().await?;
    Ok(())
}

/// What came of some steps.
struct Run {
    plate: Plate,
    elapsed: Duration,
    /// How long the exchanges took without this PE computing meanwhile.
    waited: Duration,
}

/// Computes the steps on this PE's band, with or without overlap. Collective.
async fn simulate(
    halo: &mut Halo<'_>,
    band: &Range<usize>,
    options: &Options,
    overlap: bool,
) -> oxshmem::Result<Run> {
    let mut plate = Plate::new(band.clone(), halo.width);
    let (mut waited, last) = (Duration::ZERO, band.len());
    halo.world.barrier_all().await?;
    halo.world.phase(if overlap { "exchange while computing" } else { "exchange, then compute" });
    let begin = Instant::now();
    for _ in 0..options.steps {
        // Rows 1 and `last` need a neighbour's row.
        let inner = 2..last;
        let (first_row, last_row) = (plate.row(1).to_vec(), plate.row(last).to_vec());
        let (begin, mut computing) = (Instant::now(), Duration::ZERO);
        if overlap {
            let compute = async {
                for start in inner.clone().step_by(ROWS_AT_ONCE) {
                    let begin = Instant::now();
                    plate.compute(start..(start + ROWS_AT_ONCE).min(inner.end));
                    computing += begin.elapsed();
                    tokio::task::yield_now().await;
                }
            };
            let (exchanged, ()) = tokio::join!(halo.exchange(first_row, last_row), compute);
            exchanged?;
            waited += begin.elapsed().saturating_sub(computing);
        } else {
            halo.exchange(first_row, last_row).await?;
            waited += begin.elapsed();
            plate.compute(inner);
        }
        halo.received(&mut plate);
        plate.compute(1..2);
        plate.compute(last.max(2)..last + 1);
        plate.step_ends();
    }
    halo.world.barrier_all().await?;
    halo.world.phase("");
    Ok(Run { plate, elapsed: begin.elapsed(), waited })
}

/// Some rows of the plate, with one more at each end: a neighbour's, or the edge of the plate.
struct Plate {
    width: usize,
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Plate {
    /// The rows `band`.
    fn new(band: Range<usize>, width: usize) -> Self {
        let mut now = vec![0.0; (band.len() + 2) * width];
        if band.start == 0 {
            now[..width].fill(HOT);
        }
        Self { width, next: now.clone(), now }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.now[row * self.width..][..self.width]
    }

    fn set_row(&mut self, row: usize, values: SymView<'_, f64>) {
        values.read(&mut self.now[row * self.width..][..self.width]);
    }

    /// The rows without those at the ends.
    fn inner(&self) -> &[f64] {
        &self.now[self.width..self.now.len() - self.width]
    }

    /// Computes the next step of some rows: each cell is the mean of its four neighbours.
    fn compute(&mut self, rows: Range<usize>) {
        let width = self.width;
        for row in rows {
            let [above, here, below] = [row - 1, row, row + 1].map(|row| &self.now[row * width..][..width]);
            let next = &mut self.next[row * width..][..width];
            for i in 1..width - 1 {
                next[i] = 0.25 * (above[i] + below[i] + here[i - 1] + here[i + 1]);
            }
        }
    }

    /// The next step becomes the present one. The ends do not change: they are the plate's edge, or
    /// come again.
    fn step_ends(&mut self) {
        let (width, len) = (self.width, self.now.len());
        self.next[..width].copy_from_slice(&self.now[..width]);
        self.next[len - width..].copy_from_slice(&self.now[len - width..]);
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

/// The exchange of edge rows with the neighbours.
struct Halo<'a> {
    world: &'a World,
    width: usize,
    /// Rows from the neighbour above and from the one below, for even and for odd steps. Two are
    /// enough: a neighbour sends its row for step k + 2 after it has got ours for k + 1, and that
    /// we send after we have read step k's.
    rows: SymSlice<f64>,
    /// The latest step whose row has come, from above and from below.
    arrived: SymSlice<u64>,
    step: u64,
}

impl<'a> Halo<'a> {
    async fn new(world: &'a World, width: usize) -> oxshmem::Result<Self> {
        let (rows, arrived) = (world.alloc(4 * width).await?, world.alloc_zeroed(2).await?);
        Ok(Self { world, width, rows, arrived, step: 0 })
    }

    fn neighbour(&self, side: usize) -> Option<usize> {
        let me = self.world.my_pe();
        let pe = if side == ABOVE { me.checked_sub(1) } else { me.checked_add(1) };
        pe.filter(|&pe| pe < self.world.n_pes())
    }

    /// Where the row from `side` is in this step.
    fn place(&self, side: usize) -> SymView<'_, f64> {
        let start = (2 * (self.step % 2) as usize + side) * self.width;
        self.rows.slice(start..start + self.width)
    }

    /// Sends this PE's edge rows, and waits until its neighbours' are here.
    async fn exchange(&mut self, first_row: Vec<f64>, last_row: Vec<f64>) -> oxshmem::Result<()> {
        self.step += 1;
        // What goes up comes from below, seen from there.
        let above = self.exchange_with(ABOVE, first_row, BELOW);
        let below = self.exchange_with(BELOW, last_row, ABOVE);
        tokio::try_join!(above, below)?;
        Ok(())
    }

    async fn exchange_with(&self, side: usize, row: Vec<f64>, their_side: usize) -> oxshmem::Result<()> {
        let Some(pe) = self.neighbour(side) else { return Ok(()) };
        let (place, signal) = (self.place(their_side), self.arrived.at(their_side));
        // The put begins here; the wait and the put's own completion are awaited together.
        let put = self.world.context().put_signal_nbi(place, row, signal, Signal::Set(self.step), pe);
        let arrived = self.arrived.at(side).wait_until(Cmp::Ge, self.step);
        let (put, arrived) = tokio::join!(put, arrived);
        put?;
        arrived?;
        Ok(())
    }

    /// Copies the rows that have come to the ends of `plate`.
    fn received(&self, plate: &mut Plate) {
        let last = plate.now.len() / self.width - 1;
        for (side, row) in [(ABOVE, 0), (BELOW, last)] {
            if self.neighbour(side).is_some() {
                plate.set_row(row, self.place(side));
            }
        }
    }
}
