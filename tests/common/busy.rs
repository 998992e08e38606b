//! PEs that never end by themselves, each in another way, and how their end is looked for.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use oxshmem::{Result, World, prelude::*};

use crate::common::{is_alive, stretched};

/// What the process of a PE is called once all have joined.
const NAME: &str = "busy";

/// Computes, waits or sleeps, by the PE's number.
pub(crate) async fn for_ever(world: World) -> Result<()> {
    let word = world.alloc_zeroed::<u64>(1).await?;
    world.barrier_all().await?;
    fs::write("/proc/self/comm", NAME).expect("a thread may be renamed");
    match world.my_pe() % 3 {
        0 => loop {
            std::hint::spin_loop();
        },
        1 => word.at(0).wait_until(Cmp::Eq, 1).await.map(drop),
        _ => loop {
            thread::sleep(Duration::from_secs(100));
        },
    }
}

/// Returns when all of these processes are at it.
#[track_caller]
pub(crate) fn await_all(pes: &[u32]) {
    let deadline = Instant::now() + stretched(20);
    let is_busy =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|it| it.trim() == NAME);
    while !pes.iter().all(is_busy) {
        assert!(Instant::now() < deadline, "not all PEs have joined");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Fails if any of these processes is there 3 seconds from now.
#[track_caller]
pub(crate) fn assert_gone_soon(pes: &[u32]) {
    let (since, limit) = (Instant::now(), stretched(3));
    while pes.iter().any(|&pid| is_alive(pid)) && since.elapsed() < limit {
        thread::sleep(Duration::from_millis(5));
    }
    let left: Vec<_> = pes.iter().filter(|&&pid| is_alive(pid)).collect();
    assert!(left.is_empty(), "of {pes:?}, these live on: {left:?}");
    println!("gone after {:?}", since.elapsed());
}
