//! Heat that spreads over a plate whose rows lie in device memory, distributed over the PEs.
//!
//! A step needs a row of each neighbour. On a CUDA device a kernel computes, and a PE's first and
//! last row go straight into the neighbours' devices, in the order of a stream, while the interior
//! is computed in another one: see `device`. On the emulated device the host computes, and puts
//! each row with a signal that is in device memory too. Where there is no GPU space the same
//! program runs in the default space. PE 0 compares the result with that of a sequential run, to
//! the last bit.
//!
//! ```text
//! oshrun -np 4 -x SHMEM_ENABLE_GPU_SPACE=1 -x SHMEM_GPU_EMULATE=1 -- \
//!     target/release/examples/heat_gpu [--rows 64] [--steps 50]
//! ```

#[cfg(feature = "cuda")]
mod device;

use std::{error::Error, process::ExitCode};

use clap::{Parser, value_parser};
use oxshmem::prelude::*;

/// The rows of a PE: `mine` from row `first` of the plate on.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "without CUDA there are no kernels"))]
struct Part {
    first: usize,
    mine: usize,
    /// The plate's rows and columns.
    rows: usize,
    columns: usize,
    /// The PEs that have the rows before and behind.
    above: Option<usize>,
    below: Option<usize>,
}

#[derive(Parser)]
#[command(about = "Heat on a plate in device memory")]
struct Options {
    /// Rows of the plate, at least one for each PE
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u64).range(1..=1 << 20))]
    rows: u64,

    /// Columns of the plate
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u64).range(3..=1 << 20))]
    columns: u64,

    /// Steps in time
    #[arg(long, default_value_t = 50, value_parser = value_parser!(u64).range(0..=1 << 20))]
    steps: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| run(world, options).await).await
}

async fn run(world: &World, options: Options) -> Result<(), Box<dyn Error>> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let (columns, steps) = (options.columns as usize, options.steps);
    // As many rows on each PE, so that the plate has at least as many as asked for.
    let mine = (options.rows as usize).div_ceil(n);
    let space = world.space(SpaceKind::Gpu).or_else(|_| world.space(SpaceKind::Default))?;
    if me == 0 {
        let (kind, memory) = (space.kind(), space.memory());
        println!("{} x {columns} cells on {n} PEs, in the {kind} space: {memory}", mine * n);
    }
    let part = Part {
        first: me * mine,
        mine,
        rows: mine * n,
        columns,
        above: me.checked_sub(1),
        below: Some(me + 1).filter(|&pe| pe < n),
    };
    let all = start(part.rows, columns);
    let cells = &all[me * mine * columns..(me + 1) * mine * columns];
    #[cfg(feature = "cuda")]
    if world.gpu().is_ok() {
        let (cells, [one, two]) = device::heat(world, part, cells, steps).await?;
        let own = space.alloc::<f64>(cells.len()).await?;
        own.view().write(&cells);
        compare(world, &space, own.view(), all, part, steps).await?;
        if me == 0 {
            let (one, two) = (one.as_secs_f64(), two.as_secs_f64());
            println!(
                "{:.3} ms in one stream, {:.3} in two: {:.2} times as fast",
                one * 1e3,
                two * 1e3,
                one / two
            );
        }
        return Ok(());
    }
    let plate = on_the_host(world, &space, part, cells, steps).await?;
    compare(world, &space, plate.slice(columns..(mine + 1) * columns), all, part, steps).await
}

/// The steps where there is no CUDA: the host computes.
async fn on_the_host(
    world: &World,
    space: &Space,
    part: Part,
    cells: &[f64],
    steps: u64,
) -> Result<SymSlice<f64>, Box<dyn Error>> {
    let Part { mine, columns, above, below, .. } = part;
    let (ctx, me) = (world.context(), world.my_pe());
    // A row of a neighbour, this PE's own, and one of the other neighbour.
    let plate = space.alloc_zeroed::<f64>((mine + 2) * columns).await?;
    let came = space.alloc_zeroed::<u64>(2).await?;
    let row = |i: usize| i * columns..(i + 1) * columns;
    let own = columns..(mine + 1) * columns;

    ctx.put(plate.slice(own.clone()), cells, me).await?;
    ctx.quiet().await?;
    for step in 1..=steps {
        // From device to device, and the signal after the data.
        if let Some(pe) = above {
            let (to, from) = (plate.slice(row(mine + 1)), plate.slice(row(1)));
            ctx.put_signal(to, from, came.at(1), Signal::Set(2 * step - 1), pe).await?;
        }
        if let Some(pe) = below {
            let (to, from) = (plate.slice(row(0)), plate.slice(row(mine)));
            ctx.put_signal(to, from, came.at(0), Signal::Set(2 * step - 1), pe).await?;
        }
        for neighbour in [above.map(|_| 0), below.map(|_| 1)].into_iter().flatten() {
            came.at(neighbour).wait_until(Cmp::Ge, 2 * step - 1).await?;
        }
        // What is a kernel on a real device.
        let before = ctx.get(&plate, me).await?;
        let after = spread(&before, part.first, part.rows, columns);
        ctx.put(plate.slice(own.clone()), after, me).await?;
        // The neighbours' next rows must not come before this PE has used the last ones.
        world.barrier_all().await?;
    }

    Ok(plate)
}

/// Has PE 0 compare all rows with those of a sequential run.
async fn compare(
    world: &World,
    space: &Space,
    own: SymView<'_, f64>,
    all: Vec<f64>,
    part: Part,
    steps: u64,
) -> Result<(), Box<dyn Error>> {
    let whole = space.alloc_zeroed::<f64>(part.rows * part.columns).await?;
    world.team().fcollect(&whole, own).await?;
    if world.my_pe() == 0 {
        let got = world.context().get(&whole, 0).await?;
        if got != alone(all, part.columns, steps) {
            return Err("the result differs from that of a sequential run".into());
        }
        println!("{steps} steps: equal to a sequential run, {:.3} at the warmest", warmest(&got));
    }
    Ok(())
}

/// A cold plate with a warm spot.
fn start(rows: usize, columns: usize) -> Vec<f64> {
    let warm = |i: usize| {
        (i / columns).abs_diff(rows / 2) + (i % columns).abs_diff(columns / 3) < rows.min(columns) / 4 + 1
    };
    (0..rows * columns).map(|i| if warm(i) { 100.0 } else { 0.0 }).collect()
}

/// The next values of all rows of `cells` but the first and the last, the first of which is row
/// `first` of the plate. Cells at the edge of the plate stay as they are.
fn spread(cells: &[f64], first: usize, rows: usize, columns: usize) -> Vec<f64> {
    let inner = columns..cells.len() - columns;
    let next = inner.map(|i| {
        let (row, column) = (first + i / columns - 1, i % columns);
        if row == 0 || row + 1 == rows || column == 0 || column + 1 == columns {
            return cells[i];
        }
        let around = cells[i - columns] + cells[i + columns] + cells[i - 1] + cells[i + 1];
        0.5 * cells[i] + 0.125 * around
    });
    next.collect()
}

/// All steps by one PE, on the whole plate.
fn alone(mut cells: Vec<f64>, columns: usize, steps: u64) -> Vec<f64> {
    let rows = cells.len() / columns;
    for _ in 0..steps {
        let mut framed = vec![0.0; columns];
        framed.append(&mut cells);
        framed.resize(framed.len() + columns, 0.0);
        cells = spread(&framed, 0, rows, columns);
    }
    cells
}

fn warmest(cells: &[f64]) -> f64 {
    cells.iter().copied().fold(0.0, f64::max)
}
