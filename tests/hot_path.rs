//! The hot path: operations that do not wait allocate nothing, and make no system call.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    process::Command,
    task::Poll,
};

use common::{Job, cluster, is_played, on_one_host, poll_once, settings, test_name, time_limit};
use oxshmem::{Context, Result, Shared, Signal, prelude::*, settings::Settings};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all memory is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The outcome of a future that must be ready at its first poll.
#[track_caller]
fn ready<T, E: std::fmt::Debug>(mut future: impl Future<Output = Result<T, E>> + Unpin) -> T {
    match poll_once(&mut future) {
        Poll::Ready(outcome) => outcome.expect("no error"),
        Poll::Pending => panic!("it is not ready at its first poll"),
    }
}

/// Every operation that does not wait, once, on `pe`. Returns the buffers for the next time.
fn every_operation(
    ctx: &Context<Shared>,
    slice: &SymSlice<u64>,
    narrow: &SymSlice<u32>,
    floats: &SymSlice<f64>,
    buffers: (Vec<u64>, Box<[u64]>),
    pe: usize,
) -> (Vec<u64>, Box<[u64]>) {
    let (vec, boxed) = buffers;
    let (word, signal) = (slice.at(0), slice.at(1));
    let part = slice.slice(8..8 + vec.len());
    ready(ctx.p(word, 1, pe));
    ready(ctx.p(narrow.at(0), 1, pe));
    ready(ctx.g(word, pe));
    ready(ctx.put(word, 5, pe));
    ready(ctx.put(slice.slice(8..10), [1, 2], pe));
    ready(ctx.put(part, &vec[..], pe));
    let vec = ready(ctx.put(part, vec, pe));
    let vec = ready(ctx.put_nbi(part, vec, pe));
    let boxed = ready(ctx.put_nbi(part, boxed, pe));
    let vec = ready(ctx.get_into(vec, part, pe));
    let boxed = ready(ctx.get_into(boxed, part, pe));
    ready(ctx.get_into([0; 4], slice.slice(8..12), pe));
    let vec = ready(ctx.get_nbi(vec, part, pe));
    let vec = ready(ctx.iput(part, vec, 2, 3, 4, pe));
    let vec = ready(ctx.ibget(vec, part, 4, 3, 2, 3, pe));
    let vec = ready(ctx.put_signal(part, vec, signal, Signal::Add(1), pe));
    let vec = ready(ctx.put_signal_nbi(part, vec, signal, Signal::Set(1), pe));
    ready(ctx.signal_add(signal, 1, pe));
    ready(ctx.signal_set(signal, 1, pe));
    ctx.signal_fetch(signal);
    ready(ctx.fetch(word, pe));
    ready(ctx.set(word, 1, pe));
    ready(ctx.swap(word, 1, pe));
    ready(ctx.compare_swap(word, 1, 2, pe));
    ready(ctx.fetch_inc(word, pe));
    ready(ctx.inc(word, pe));
    ready(ctx.fetch_add(word, 3, pe));
    ready(ctx.add(word, 3, pe));
    ready(ctx.fetch_and(word, 3, pe));
    ready(ctx.and(word, 3, pe));
    ready(ctx.fetch_or(word, 3, pe));
    ready(ctx.or(word, 3, pe));
    ready(ctx.fetch_xor(word, 3, pe));
    ready(ctx.xor(word, 3, pe));
    ready(ctx.fetch_add(narrow.at(1), 3, pe));
    ready(ctx.swap(floats.at(0), 1.5, pe));
    drop(ctx.fetch_add_nbi(word, 1, pe));
    ready(ctx.fence());
    ready(ctx.quiet());
    ready(ctx.pe_quiet(&[pe]));
    // A word that no other PE writes.
    let own = slice.at(60);
    own.store(7);
    own.load();
    ready(own.wait_until(Cmp::Eq, 7));
    own.test(Cmp::Ne, 7);
    slice.view().fill(7);
    slice.slice(..4).test_all(Cmp::Eq, 7);
    slice.test_any(Cmp::Eq, 7);
    slice.slice(..4).test_all_vector(Cmp::Eq, &[7; 4]);
    slice.excluding(&[1; 64]).test_any(Cmp::Eq, 9);
    part.to_owned();
    (vec, boxed)
}

async fn memory(world: &World) -> Result<(SymSlice<u64>, SymSlice<u32>, SymSlice<f64>)> {
    Ok((world.alloc_zeroed(64).await?, world.alloc_zeroed(8).await?, world.alloc_zeroed(8).await?))
}

#[test]
fn operations_that_do_not_wait_allocate_nothing() {
    allocate_nothing(&settings());
}

#[test]
fn operations_that_are_recorded_allocate_nothing_either() {
    let folder = std::env::temp_dir().join(format!("hot-path-record-{}", std::process::id()));
    let mut settings = settings();
    settings.trace = Some(folder.clone());
    allocate_nothing(&settings);
    let recorded = std::fs::read_dir(&folder).map_or(0, Iterator::count);
    let _ = std::fs::remove_dir_all(&folder);
    assert!(recorded == 3 || std::env::var_os("SHMEM_FAKE_HOSTS").is_some(), "{recorded} recordings");
}

fn allocate_nothing(settings: &Settings) {
    let _limit = time_limit(60);
    if !on_one_host("what goes to other hosts is kept until it is there, and takes system calls") {
        return;
    }
    for n in [1, 2, 3] {
        let done = cluster(n, settings.clone(), move |world| async move {
            let (slice, narrow, floats) = memory(&world).await?;
            let mut buffers = (vec![0; 32], vec![0; 32].into_boxed_slice());
            let pe = (world.my_pe() + 1) % n;
            for round in 0..3 {
                let before = ALLOCATIONS.get();
                world.phase("every operation");
                buffers = every_operation(world.context(), &slice, &narrow, &floats, buffers, pe);
                let allocations = ALLOCATIONS.get() - before;
                assert!(round == 0 || allocations == 0, "{allocations} allocations or frees");
            }
            world.barrier_all().await
        });
        done.unwrap();
    }
}

#[test]
fn a_barrier_of_one_pe_allocates_nothing() {
    let _limit = time_limit(60);
    let done = cluster(1, settings(), |world| async move {
        world.barrier_all().await?;
        let before = ALLOCATIONS.get();
        for _ in 0..100 {
            ready(world.barrier_all());
            ready(world.sync_all());
        }
        assert_eq!(ALLOCATIONS.get() - before, 0);
        Ok(())
    });
    done.unwrap();
}

/// Marks in the trace, by a system call that nothing else makes: to close a descriptor that never
/// is.
fn mark(number: i32) {
    // SAFETY: no such descriptor is open, so nothing is closed.
    unsafe { libc::close(-number) };
}

#[test]
fn a_hundred_thousand_operations_make_no_system_call() {
    make_no_system_call(test_name!(), None);
}

#[test]
fn a_hundred_thousand_operations_that_are_recorded_make_no_system_call_either() {
    let folder = std::env::temp_dir().join(format!("hot-path-calls-{}", std::process::id()));
    let variable = format!("SHMEM_TRACE={}", folder.display());
    make_no_system_call(test_name!(), Some(&variable));
    let _ = std::fs::remove_dir_all(&folder);
}

fn make_no_system_call(test: &'static str, variable: Option<&str>) {
    let _limit = time_limit(120);
    if !on_one_host("what goes to other hosts is kept until it is there, and takes system calls") {
        return;
    }
    let trace = std::env::temp_dir().join(format!("{test}-{}", std::process::id()));
    let traced = std::env::var("HOT_PATH_TRACED").is_ok();
    if !traced && Command::new("strace").arg("-V").output().is_err() {
        eprintln!("not tested: there is no strace here");
        return;
    }
    // The PEs of this job start strace on themselves.
    let job = Job::new(test, 2).env(&format!("HOT_PATH_TRACE={}", trace.display()));
    let job = variable.into_iter().fold(job, Job::env);
    let ended = job.end(|| {
        futures::executor::block_on(async {
            let world = oxshmem::init().await.unwrap();
            let (slice, narrow, floats) = memory(&world).await.unwrap();
            let pe = 1 - world.my_pe();
            let done = world.alloc_zeroed::<u64>(1).await.unwrap();
            world.barrier_all().await.unwrap();
            if world.my_pe() == 0 {
                let mut strace = attach(&std::env::var("HOT_PATH_TRACE").unwrap());
                mark(1001);
                let mut buffers = (vec![0; 32], vec![0; 32].into_boxed_slice());
                for _ in 0..2200 {
                    buffers = every_operation(world.context(), &slice, &narrow, &floats, buffers, pe);
                }
                mark(1002);
                strace.kill().unwrap();
                strace.wait().unwrap();
                world.context().p(done.at(0), 1, pe).await.unwrap();
            } else {
                // Awake meanwhile: that a PE which sleeps must be woken by a system call is as it
                // should be.
                while !done.at(0).test(Cmp::Eq, 1) {
                    std::hint::spin_loop();
                }
            }
            world.finalize().await.unwrap();
        });
    });
    let calls = std::fs::read_to_string(&trace).unwrap_or_default();
    let _ = std::fs::remove_file(&trace);
    if ended.stdout.contains("cannot trace") {
        eprintln!("not tested: strace may not trace here");
        return;
    }
    assert_eq!(ended.status, 0, "{ended:?}");
    if is_played("which system calls there are") {
        return;
    }
    let between: Vec<&str> = calls
        .lines()
        .skip_while(|line| !line.contains("close(-1001)"))
        .skip(1)
        .take_while(|line| !line.contains("close(-1002)"))
        .collect();
    assert!(calls.contains("close(-1002)"), "the trace is incomplete:\n{calls}");
    assert!(
        between.is_empty(),
        "{} system calls, such as {:?}",
        between.len(),
        &between[..between.len().min(5)]
    );
}

/// Has strace write this thread's system calls to a file.
fn attach(file: &str) -> std::process::Child {
    // SAFETY: asks for this thread's number, and lets its own child trace it.
    let thread = unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        libc::syscall(libc::SYS_gettid)
    };
    let mut strace = Command::new("strace")
        .args(["-p", &thread.to_string(), "-o", file])
        .env_remove("OXSHMEM_JOB")
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("strace is there");
    let is_traced = || {
        let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    };
    while !is_traced() {
        if strace.try_wait().expect("our child").is_some() {
            println!("cannot trace");
            std::process::exit(0);
        }
        std::thread::yield_now();
    }
    strace
}
