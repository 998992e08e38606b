//! The device functions, compiled for the host and called by threads as a kernel's: by every way to
//! memory, with waits that end and waits that are given up, and with more requests than there is
//! room for.

mod common;
#[path = "common/hosts.rs"]
mod hosts;

use std::{
    ffi::c_int,
    path::PathBuf,
    process::Command,
    sync::OnceLock,
    time::{Duration, Instant},
};

use libloading::{Library, Symbol};
use oxshmem::{DeviceHandle, Error, Result, prelude::*};

use common::{Job, PeRuntime, cluster, soon, test_name, time_limit, with_device};

/// Bytes of an `Area` of the kernels, and more.
const AREA: usize = 8192;

/// The kernels, which are compiled once, or none where there is no compiler.
fn kernels() -> Option<&'static Library> {
    static KERNELS: OnceLock<Option<Library>> = OnceLock::new();
    let library = KERNELS.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("oxshmem-kernels-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let built = folder.join("kernels.so");
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let compiled = Command::new("c++")
            .args(["-std=c++17", "-O1", "-fPIC", "-shared", "-DSHMEMX_DEVICE_ON_HOST", "-I"])
            .arg(root.join("capi/include"))
            .arg("-I")
            .arg(root.join("tests/gpu_verify"))
            .arg(root.join("tests/kernels/host.cpp"))
            .arg("-o")
            .arg(&built)
            .status();
        let library = match compiled {
            Ok(status) => {
                assert!(status.success(), "c++ fails");
                // SAFETY: it has no initialisers.
                Some(unsafe { Library::new(&built) }.unwrap())
            }
            Err(_) => {
                println!("skipped: there is no C++ compiler named c++");
                None
            }
        };
        std::fs::remove_dir_all(&folder).unwrap();
        library
    });
    library.as_ref()
}

type Functions = unsafe extern "C" fn(DeviceHandle, u64, u64, c_int) -> c_int;
type Apart = unsafe extern "C" fn(DeviceHandle, u64, c_int) -> c_int;
type AddOften = unsafe extern "C" fn(DeviceHandle, u64, c_int, c_int) -> c_int;
type PutSignal = unsafe extern "C" fn(DeviceHandle, u64, u64, u64, c_int) -> c_int;
type WaitFor = unsafe extern "C" fn(DeviceHandle, u64, u64) -> c_int;
type Put = unsafe extern "C" fn(DeviceHandle, u64, u64, c_int) -> c_int;
type FetchFrom = unsafe extern "C" fn(DeviceHandle, u64, c_int, *mut u64) -> c_int;

/// A kernel by its name.
fn kernel<T>(name: &str) -> Symbol<'static, T> {
    // SAFETY: the types are those of the file in C++.
    unsafe { kernels().expect("they are compiled").get(name) }.unwrap()
}

/// Runs a kernel on a thread of its own, and returns what it returns.
async fn launch<T: Send + 'static>(kernel: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(kernel).await.unwrap()
}

/// This PE's address of symmetric memory, as kernels take it.
fn address<T: Element>(world: &World, memory: &SymSlice<T>) -> u64 {
    let view = memory.view();
    let on_host = || view.ptr(world.my_pe()).unwrap().expose_provenance() as u64;
    view.device_address().unwrap_or_else(on_host)
}

/// Calls every function for every PE, with memory of both spaces.
async fn every_function(world: World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let handle = world.device_handle()?;
    let gpu = world.space(SpaceKind::Gpu)?;
    let (there, here) = (gpu.alloc_zeroed::<u8>(n * AREA).await?, gpu.alloc_zeroed::<u8>(AREA).await?);
    let on_host = world.alloc_zeroed::<u8>(n * AREA).await?;
    for memory in [&there, &on_host] {
        let [area, here] = [address(&world, memory) + (me * AREA) as u64, address(&world, &here)];
        for to in 0..n {
            let wrong = launch(move || {
                // SAFETY: the areas are this PE's on each PE, and have room.
                unsafe {
                    let with_own = kernel::<Functions>("test_functions")(handle, area, here, to as c_int);
                    [with_own, kernel::<Apart>("test_functions_apart")(handle, area, to as c_int)]
                }
            });
            let wrong = wrong.await;
            assert_eq!(wrong, [0, 0], "PE {me} to PE {to}, in {}: these lines", memory.space());
        }
    }
    world.context().quiet().await?;
    world.barrier_all().await
}

#[test]
fn every_function_reaches_every_pe_of_a_process() {
    let _limit = time_limit(120);
    if kernels().is_none() {
        return;
    }
    for n in [1, 2, 4] {
        cluster(n, with_device(), every_function).unwrap();
    }
}

#[test]
fn every_function_reaches_pes_of_other_hosts_and_those_that_are_not_in_a_row() {
    let _limit = time_limit(120);
    if kernels().is_none() {
        return;
    }
    for placement in ["1+1", "2+2:cyclic"] {
        hosts::placed(placement, with_device(), every_function).unwrap();
    }
}

#[test]
fn every_function_reaches_every_pe_that_is_a_process() {
    let _limit = time_limit(120);
    if kernels().is_none() {
        return;
    }
    let jobs = [(2, None), (4, None), (2, Some("2"))];
    for (n, hosts) in jobs.into_iter().filter(|(_, hosts)| hosts.is_none() || common::reaches_hosts()) {
        let job = Job::new(test_name!(), n).runtime(PeRuntime::MultiThread);
        let job = hosts.iter().fold(job, |job, placement| job.hosts(placement));
        let spaces = ["SHMEM_ENABLE_CPU_SPACE=1", "SHMEM_ENABLE_GPU_SPACE=1", "SHMEM_GPU_EMULATE=1"];
        let sizes = ["SHMEM_SYMMETRIC_SIZE=16M", "SHMEM_GPU_SYMMETRIC_SIZE=8M"];
        let job = spaces.iter().chain(&sizes).fold(job, |job, variable| job.env(variable));
        job.run(every_function);
    }
}

/// Memory of a PE in the GPU space, of this many words.
async fn words(world: &World, len: usize) -> Result<SymSlice<u64>> {
    world.space(SpaceKind::Gpu)?.alloc_zeroed(len).await
}

#[test]
fn a_pe_that_sleeps_is_woken_by_a_kernel_of_another() {
    let _limit = time_limit(60);
    if kernels().is_none() {
        return;
    }
    let took = cluster(2, with_device(), |world| async move {
        let (data, signal) = (words(&world, 1).await?, words(&world, 1).await?);
        let on_host = world.alloc_zeroed::<u64>(1).await?;
        let handle = world.device_handle()?;
        let [data_at, signal_at, host_at] =
            [address(&world, &data), address(&world, &signal), address(&world, &on_host)];
        let other = 1 - world.my_pe();
        let mut took = Vec::new();
        for round in 1..=20 {
            world.barrier_all().await?;
            if world.my_pe() == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
                // SAFETY: the words are symmetric.
                let begun = launch(move || unsafe {
                    kernel::<PutSignal>("test_put_signal")(
                        handle,
                        data_at,
                        100 + round,
                        signal_at,
                        other as c_int,
                    )
                });
                assert_eq!(begun.await, 0);
                soon("the answer", signal.at(0).wait_until(Cmp::Eq, round)).await?;
                // A word of host memory, by a request.
                // SAFETY: as above.
                let begun = launch(move || unsafe {
                    kernel::<Put>("test_put")(handle, host_at, round, other as c_int)
                });
                assert_eq!(begun.await, 0);
            } else {
                let begin = Instant::now();
                soon("the signal", signal.at(0).wait_until(Cmp::Eq, round)).await?;
                took.push(begin.elapsed().saturating_sub(Duration::from_millis(10)));
                assert_eq!(data.at(0).load(), 100 + round);
                world.context().p(signal.at(0), round, other).await?;
                soon("the word", on_host.at(0).wait_until(Cmp::Eq, round)).await?;
            }
        }
        world.barrier_all().await?;
        Ok(took)
    });
    let mut took = took.unwrap().remove(1);
    took.sort();
    println!("woken {:?} after the kernel's launch was due, at the median", took[took.len() / 2]);
}

#[test]
fn a_wait_in_a_kernel_has_a_limit_and_quiet_says_so() {
    let _limit = time_limit(60);
    if kernels().is_none() {
        return;
    }
    let mut settings = with_device();
    settings.gpu_kernel_timeout = Duration::from_millis(50);
    cluster(1, settings, |world| async move {
        let word = words(&world, 1).await?;
        let (handle, at) = (world.device_handle()?, address(&world, &word));
        let wait = move |value| {
            // SAFETY: the word is symmetric.
            launch(move || unsafe { kernel::<WaitFor>("test_wait")(handle, at, value) })
        };
        let begin = Instant::now();
        assert_eq!(wait(1).await, 1, "the number of the error");
        assert!(begin.elapsed() >= Duration::from_millis(50));
        // The engine gets the error soon.
        let error = loop {
            match world.context().quiet().await {
                Err(error) => break error,
                Ok(()) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "no error");
        };
        assert!(matches!(&error, Error::Kernel { call: "wait_until", pe: 0, .. }), "{error}");
        assert!(error.to_string().contains("SHMEM_GPU_KERNEL_TIMEOUT"), "{error}");
        // And then all is as before.
        word.at(0).store(1);
        assert_eq!(wait(1).await, 0);
        world.context().quiet().await
    })
    .unwrap();
}

#[test]
fn more_requests_than_there_is_room_for_wait_for_each_other() {
    const TIMES: c_int = 500;
    const THREADS: usize = 4;
    let _limit = time_limit(60);
    if kernels().is_none() {
        return;
    }
    cluster(2, with_device(), |world| async move {
        let sum = world.alloc_zeroed::<u64>(1).await?;
        let (handle, at) = (world.device_handle()?, address(&world, &sum));
        let other = 1 - world.my_pe() as c_int;
        let threads = (0..THREADS).map(|_| {
            // SAFETY: the word is symmetric.
            launch(move || unsafe { kernel::<AddOften>("test_add_often")(handle, at, TIMES, other) })
        });
        assert_eq!(futures::future::join_all(threads).await, [0; THREADS]);
        world.barrier_all().await?;
        assert_eq!(sum.at(0).load(), THREADS as u64 * TIMES as u64);
        world.context().quiet().await
    })
    .unwrap();
}

#[test]
fn a_request_that_cannot_be_served_is_an_error_on_both_sides() {
    let _limit = time_limit(60);
    if kernels().is_none() {
        return;
    }
    cluster(2, with_device(), |world| async move {
        let word = words(&world, 1).await?;
        let mut nothing = Box::new(0u64);
        let (at, apart) = (address(&world, &word), (&raw mut *nothing).expose_provenance() as u64);
        let mut found = 7;
        for (at, pe, says) in [(at, 2, "PE 2 is out of range"), (apart, 1, "not in symmetric memory")] {
            let handle = world.device_handle()?;
            // SAFETY: it is refused.
            let put = launch(move || unsafe { kernel::<Put>("test_put")(handle, at, 1, pe) });
            assert_eq!(put.await, 2, "the number of the error");
            let error = world.context().quiet().await.unwrap_err();
            assert!(matches!(&error, Error::Kernel { .. }) && error.to_string().contains(says), "{error}");
            // SAFETY: as above.
            let fetched = unsafe { kernel::<FetchFrom>("test_fetch")(handle, at, pe, &mut found) };
            assert_eq!((fetched, found), (2, 0));
        }
        // What was reported is not reported again, and a new handle begins anew.
        world.context().quiet().await?;
        let (handle, other) = (world.device_handle()?, 1 - world.my_pe() as c_int);
        // SAFETY: the word is symmetric.
        let put = launch(move || unsafe { kernel::<Put>("test_put")(handle, at, 5, other) });
        assert_eq!(put.await, 0);
        world.barrier_all().await?;
        assert_eq!(word.at(0).load(), 5);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_handle_costs_little_where_kernels_ask_for_nothing() {
    let _limit = time_limit(60);
    let mut settings = with_device();
    settings.gpu_emulate_latency = Duration::ZERO;
    cluster(1, settings, |world| async move {
        let _handle = world.device_handle()?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = common::cpu_time();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let busy = common::cpu_time() - before;
        println!("{busy:?} of 500 ms");
        assert!(busy < Duration::from_millis(100), "{busy:?} of 500 ms");
        Ok(())
    })
    .unwrap();
}

#[test]
fn without_a_device_there_is_no_handle() {
    let _limit = time_limit(60);
    cluster(1, common::settings(), |world| async move {
        let error = world.device_handle().unwrap_err();
        assert!(matches!(error, Error::OutsideSpace { space: SpaceKind::Gpu, pe: 0, .. }), "{error}");
        Ok(())
    })
    .unwrap();
}
