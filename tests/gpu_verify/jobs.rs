//! Jobs of processes on a device: of many PEs, with a PE that is killed, and with too little
//! memory.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use oxshmem::prelude::*;

use super::{
    common::{AS_PE, DEVICE, on_pes, with_device},
    report::collect,
};

/// Bytes of device memory of each PE that is killed or has none left.
const HEAP: usize = 128 << 20;

/// What every PE of a large job does.
pub(crate) fn large() {
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let gpu = world.space(SpaceKind::Gpu)?;
        let (field, count) = (gpu.alloc::<f32>(50_000).await?, gpu.alloc_zeroed::<u64>(1).await?);
        field.view().fill(0.0);
        world.barrier_all().await?;
        let (next, before) = ((me + 1) % n, (me + n - 1) % n);
        world.context().put(field.slice(..25_000), vec![me as f32; 25_000], next).await?;
        for _ in 0..5 {
            world.context().fetch_add(count.at(0), 1, 0).await?;
        }
        world.barrier_all().await?;
        assert_eq!(field.at(24_999).load(), before as f32);
        if me == 0 {
            assert_eq!(count.at(0).load(), 5 * n as u64);
        }
        world.team().sum_reduce(&field, &field).await?;
        let sum = (n * (n - 1) / 2) as f32;
        assert_eq!((field.at(0).load(), field.at(49_999).load()), (sum, 0.0));
        world.barrier_all().await?;
        let seen = world.context().get(field.slice(100..200), before).await?;
        assert_eq!(seen, vec![sum; 100]);
        world.barrier_all().await
    });
}

/// Has a large heap, says so, and waits for ever.
pub(crate) fn hold() {
    let mut settings = with_device();
    settings.gpu_symmetric_size = Some(HEAP);
    on_pes(settings, |world| async move {
        let all = world.space(SpaceKind::Gpu)?.alloc::<u8>(HEAP / 2).await?;
        all.view().slice(..1 << 20).fill(1);
        world.barrier_all().await?;
        println!("has its memory: {}", std::process::id());
        std::future::pending::<()>().await;
        Ok(())
    });
}

/// A job of this program that does `run`.
fn job(n: usize, run: &str) -> Command {
    let program = std::env::current_exe().expect("this program's path");
    let mut command = Command::new(&program);
    command.arg("--oshrun").arg("-np").arg(n.to_string()).arg(&program).arg("--run").arg(run);
    command.env(AS_PE, "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Bytes of the first device that are free, as this process sees it.
#[cfg(feature = "cuda")]
fn free() -> usize {
    let context = cudarc::driver::CudaContext::new(0).expect("a device");
    context.mem_get_info().expect("its memory").0
}

#[cfg(not(feature = "cuda"))]
fn free() -> usize {
    0
}

/// Waits for a job's end, and ends it when that does not come.
fn end_of(job: &mut Child, limit: Duration) -> std::process::ExitStatus {
    let begin = Instant::now();
    loop {
        match job.try_wait().expect("a child") {
            Some(status) => return status,
            None if begin.elapsed() > limit => {
                let _ = job.kill();
                let _ = job.wait();
                panic!("the job was not over after {limit:?}");
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Waits until this many bytes are free again.
fn comes_back(before: usize, since: Instant) {
    // What the driver keeps for contexts changes a little.
    while free() + (HEAP / 2) < before {
        assert!(since.elapsed() < Duration::from_secs(10), "{} of {before} bytes are free", free());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A PE is killed: the job ends, says which, and the device has its memory back within a second.
pub(crate) fn killed() {
    let before = free();
    let mut job = job(2, "hold").spawn().expect("a job");
    let stderr = collect(job.stderr.take());
    let mut lines = BufReader::new(job.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut pids = Vec::new();
    while pids.len() < 2 {
        let Some(line) = lines.next() else { panic!("{}", stderr.join().unwrap_or_default()) };
        if let Some((_, pid)) = line.split_once("has its memory: ") {
            pids.push(pid.trim().parse::<i32>().expect("a number"));
        }
    }
    // That of one PE at least is of this device.
    let is_held = before == 0 || free() + HEAP / 2 <= before;
    // SAFETY: a process that this one's child started, and that waits for ever.
    unsafe { libc::kill(pids[1], libc::SIGKILL) };
    let since = Instant::now();
    assert!(is_held, "the memory is taken: {} of {before} bytes are free", free());
    let status = end_of(&mut job, Duration::from_secs(10));
    let ended = since.elapsed();
    assert!(!status.success());
    comes_back(before, since);
    let (back, stderr) = (since.elapsed(), stderr.join().unwrap_or_default());
    assert!(stderr.contains("SIGKILL") || stderr.contains("signal 9"), "{stderr}");
    println!("the job ended after {ended:.1?}, and its device memory was back after {back:.1?}");
    assert!(back < Duration::from_secs(1), "{back:?}");
}

/// More memory is asked for than there is: each PE fails with one line that says so, and what was
/// made is given back.
pub(crate) fn exhausted() {
    let before = free();
    for size in ["100G", "4T"] {
        let mut job = job(2, "large-heap").env("SHMEM_GPU_SYMMETRIC_SIZE", size).spawn().expect("a job");
        let stderr = collect(job.stderr.take());
        let status = end_of(&mut job, Duration::from_secs(30));
        let stderr = stderr.join().unwrap_or_default();
        assert!(!status.success(), "{stderr}");
        let clear: Vec<&str> = stderr.lines().filter(|line| line.contains("have no room for")).collect();
        assert!(!clear.is_empty() && clear.len() <= 2, "a line a PE: {stderr}");
        assert!(clear.iter().all(|line| line.contains("lower SHMEM_GPU_SYMMETRIC_SIZE")), "{stderr}");
        comes_back(before, Instant::now());
    }
}

/// Begins with what the environment asks for.
pub(crate) fn large_heap() {
    let sharing = std::env::var(DEVICE).unwrap_or_default();
    // SAFETY: this process has no other thread yet.
    unsafe {
        std::env::set_var("SHMEM_ENABLE_CPU_SPACE", "1");
        std::env::set_var("SHMEM_ENABLE_GPU_SPACE", "1");
        std::env::set_var("SHMEM_GPU_SHARING", sharing);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
    if let Err(error) = runtime.block_on(oxshmem::init()) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
