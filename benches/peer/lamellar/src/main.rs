//! What Lamellar takes for operations that `shmem-perf` measures, between two PEs of a host. PE 0
//! calls and PE 1 waits in a barrier. A line has the operation, its bytes, and the median of its
//! batches in nanoseconds a call; a batch takes about 2 ms.
//!
//! It is built in this folder by `cargo build --release`, and started twice at a time, with
//! `LAMELLAR_BACKEND=shmem LAMELLAR_THREADS=1 LAMELLAR_NUM_PES=2 LAMELLAR_JOB_ID=1`, and
//! `LAMELLAR_PE_ID=0` or 1.

use std::time::{Duration, Instant};

use lamellar::{array::prelude::*, memregion::prelude::*};

const BATCH: Duration = Duration::from_millis(2);
const BATCHES: usize = 51;

fn measure(name: &str, bytes: usize, mut call: impl FnMut()) {
    let begun = Instant::now();
    let mut calls = 0u32;
    while begun.elapsed() < 10 * BATCH {
        call();
        calls += 1;
    }
    let calls = (calls / 10).max(1);
    let mut times: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let begun = Instant::now();
            (0..calls).for_each(|_| call());
            begun.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name}\t{bytes}\t{:.1}", times[BATCHES / 2]);
}

fn main() {
    let world = lamellar::LamellarWorldBuilder::new().build();
    let (me, other) = (world.my_pe(), world.num_pes() - 1);
    let region = world.alloc_shared_mem_region::<u64>(1 << 17).block();
    let large = world.alloc_one_sided_mem_region::<u64>(1 << 17);
    let array = AtomicArray::<usize>::new(&world, 2, lamellar::Distribution::Block).block();
    world.barrier();
    if me == 0 {
        // SAFETY: PE 1 touches nothing of the region before the last barrier.
        unsafe {
            measure("put", 8, || region.put(other, 0, 7).block());
            measure("get", 8, || _ = region.get(other, 0).block());
            measure("put", 1 << 20, || region.put_buffer(other, 0, large.clone()).block());
        }
        measure("fetch_add", 8, || _ = array.fetch_add(1, 1).block());
    }
    world.barrier();
    // All PEs call as often as each other: a fixed number.
    const CALLS: u32 = 2_000;
    let mut times = Vec::new();
    for _ in 0..BATCHES {
        let begun = Instant::now();
        (0..CALLS).for_each(|_| world.barrier());
        times.push(begun.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    times.sort_by(f64::total_cmp);
    if me == 0 {
        println!("barrier\t0\t{:.1}", times[BATCHES / 2]);
    }
}
