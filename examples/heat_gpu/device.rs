//! The steps on a CUDA device: a kernel computes, and streams order all of it.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use cudarc::{
    driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg},
    nvrtc::Ptx,
};
use oxshmem::prelude::*;

use crate::Part;

/// Threads in a block of the kernel.
const THREADS: u32 = 256;

/// What the kernel needs, and two streams.
struct Device {
    kernel: CudaFunction,
    edge: Arc<CudaStream>,
    inner: Arc<CudaStream>,
}

/// The two versions of a PE's rows, of which each step reads one and writes the other.
struct Plates<'a> {
    both: [&'a SymSlice<f64>; 2],
    came: &'a SymSlice<u64>,
}

impl Device {
    fn new(world: &World) -> Result<Self, Box<dyn Error>> {
        let context = CudaContext::new(world.gpu()?.ordinal())?;
        let module = context.load_module(Ptx::from_src(include_str!("heat.ptx")))?;
        let [edge, inner] = [context.new_stream()?, context.new_stream()?];
        Ok(Self { kernel: module.load_function("heat")?, edge, inner })
    }

    /// Enqueues the next values of some rows of the part, counted with the row that the neighbour
    /// above has.
    fn compute(
        &self,
        stream: &CudaStream,
        part: Part,
        [from, to]: [&SymSlice<f64>; 2],
        rows: std::ops::Range<usize>,
    ) -> Result<(), Box<dyn Error>> {
        let count = ((rows.end - rows.start) * part.columns) as u64;
        if count == 0 {
            return Ok(());
        }
        let [from, to] = [from, to].map(|plate| plate.view().device_address());
        let (from, to) = from.zip(to).ok_or("the plate is not in device memory")?;
        let start = (rows.start * part.columns) as u64;
        let (columns, rows) = (part.columns as u64, part.rows as u64);
        // Row 0 here is that before the first of this PE's.
        let first = (part.first as u64).wrapping_sub(1);
        let config = LaunchConfig {
            grid_dim: (count.div_ceil(THREADS.into()) as u32, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(&self.kernel);
        launch.arg(&from).arg(&to).arg(&start).arg(&count).arg(&columns).arg(&first).arg(&rows);
        // SAFETY: these are the kernel's arguments, and the rows around the cells are in both
        // plates.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    /// Enqueues step `step`, which is counted from 1. The first and the last row are computed in
    /// the stream `edge` and put into the neighbours' plates, with a signal each, for which the
    /// neighbours' streams wait. What is between is computed in the stream `inner` meanwhile; if
    /// the two are one stream, nothing overlaps.
    fn step(
        &self,
        world: &World,
        part: Part,
        plates: &Plates<'_>,
        step: u64,
        inner: &CudaStream,
    ) -> Result<(), Box<dyn Error>> {
        let (ctx, mine, columns) = (world.context().on_stream(&self.edge), part.mine, part.columns);
        let [a, b] = plates.both;
        let (from, to) = if step % 2 == 1 { (a, b) } else { (b, a) };
        let row = |i: usize| i * columns..(i + 1) * columns;
        self.compute(&self.edge, part, [from, to], 1..2)?;
        self.compute(&self.edge, part, [from, to], mine.max(2)..mine + 1)?;
        // No call here waits, and the futures may be dropped: `quiet` hears of their errors.
        if let Some(pe) = part.above {
            let there = to.slice(row(mine + 1));
            drop(ctx.put_signal(there, to.slice(row(1)), plates.came.at(1), Signal::Set(step), pe));
        }
        if let Some(pe) = part.below {
            drop(ctx.put_signal(
                to.slice(row(0)),
                to.slice(row(mine)),
                plates.came.at(0),
                Signal::Set(step),
                pe,
            ));
        }
        self.compute(inner, part, [from, to], 2..mine.max(2))?;
        for neighbour in [part.above.map(|_| 0), part.below.map(|_| 1)].into_iter().flatten() {
            drop(ctx.wait_until(plates.came.at(neighbour), Cmp::Ge, step));
        }
        // The next step reads what both have computed.
        if inner.cu_stream() != self.edge.cu_stream() {
            self.edge.join(inner)?;
            inner.join(&self.edge)?;
        }
        Ok(())
    }
}

/// Does the steps, with the interior in a stream of its own or not, and says how long that took.
/// What is in `plates.both[steps % 2]` then is the result.
async fn run(
    world: &World,
    device: &Device,
    part: Part,
    plates: Plates<'_>,
    steps: u64,
    overlaps: bool,
) -> Result<Duration, Box<dyn Error>> {
    let inner = if overlaps { &device.inner } else { &device.edge };
    world.barrier_all().await?;
    let begin = Instant::now();
    for step in 1..=steps {
        device.step(world, part, &plates, step, inner)?;
        // A stream takes some hundred steps at most.
        if step % 64 == 0 {
            world.gpu()?.stream(&device.edge).await?;
        }
    }
    world.context().quiet().await?;
    world.gpu()?.stream(inner).await?;
    let took = begin.elapsed();
    world.barrier_all().await?;
    Ok(took)
}

/// The steps on the device, from `cells`, this PE's rows. Returns the rows then, and how long the
/// steps took in one stream and in two.
pub(crate) async fn heat(
    world: &World,
    part: Part,
    cells: &[f64],
    steps: u64,
) -> Result<(Vec<f64>, [Duration; 2]), Box<dyn Error>> {
    let device = Device::new(world)?;
    let gpu = world.space(SpaceKind::Gpu)?;
    let len = (part.mine + 2) * part.columns;
    let own = part.columns..(part.mine + 1) * part.columns;
    let both = [gpu.alloc_zeroed::<f64>(len).await?, gpu.alloc_zeroed::<f64>(len).await?];
    let mut times = [Duration::ZERO; 2];
    for (overlaps, time) in [false, true].into_iter().zip(&mut times) {
        let came = gpu.alloc_zeroed::<u64>(2).await?;
        both[0].slice(own.clone()).write(cells);
        // The neighbours' rows at the beginning.
        world.barrier_all().await?;
        let ctx = world.context();
        if let Some(pe) = part.above {
            let there = both[0].slice((part.mine + 1) * part.columns..len);
            ctx.put(there, both[0].slice(part.columns..2 * part.columns), pe).await?;
        }
        if let Some(pe) = part.below {
            let from = both[0].slice(part.mine * part.columns..(part.mine + 1) * part.columns);
            ctx.put(both[0].slice(..part.columns), from, pe).await?;
        }
        let plates = Plates { both: [&both[0], &both[1]], came: &came };
        *time = run(world, &device, part, plates, steps, overlaps).await?;
    }
    Ok((both[steps as usize % 2].slice(own).to_vec(), times))
}
