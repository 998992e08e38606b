//! Time limits: a test that hangs prints what every PE was doing, and takes its process down.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// What PEs of this process noted that they are doing, by test and PE.
static DOING: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());
/// Processes that tests have started and not waited for.
static CHILDREN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// The time that a test has, for as long as this lives.
#[must_use]
pub(crate) struct TimeLimit(Option<mpsc::Sender<()>>);

/// How much longer than this many seconds whatever has a limit may take: as many times as
/// `OXSHMEM_TEST_SLOWER` says, where a test runs in qemu or under a sanitizer.
pub(crate) fn stretched(seconds: u64) -> Duration {
    let factor = std::env::var("OXSHMEM_TEST_SLOWER").ok().and_then(|factor| factor.parse().ok());
    Duration::from_secs(seconds) * factor.unwrap_or(1)
}

/// Whether this test runs on a processor that is only played, as `OXSHMEM_TEST_PLAYED` says: what
/// its player does beside is not the library's. Then says that this is not tested.
pub(crate) fn is_played(what: &str) -> bool {
    let is_played = std::env::var_os("OXSHMEM_TEST_PLAYED").is_some();
    if is_played {
        eprintln!("not tested: {what}, as the processor is only played");
    }
    is_played
}

/// Gives the calling test this many seconds. When they are over, what all PEs and threads were
/// doing is printed, children are killed, and the process ends: nothing less stops a thread that
/// hangs.
pub(crate) fn time_limit(seconds: u64) -> TimeLimit {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let (alive, ended) = mpsc::channel::<()>();
    thread::Builder::new()
        .name("time-limit".into())
        .spawn(move || {
            let limit = stretched(seconds);
            if ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                expire(&test, limit);
            }
        })
        .expect("a thread");
    TimeLimit(Some(alive))
}

/// Notes what a PE is doing, for the message of [`time_limit`].
pub(crate) fn doing(pe: usize, what: &str) {
    lock(&DOING).insert(pe, what.to_owned());
}

pub(crate) fn child_started(pid: u32) {
    lock(&CHILDREN).push(pid);
}

pub(crate) fn child_ended(pid: u32) {
    lock(&CHILDREN).retain(|&child| child != pid);
}

fn expire(test: &str, limit: Duration) {
    let mut text = format!("\n{test} is not over after {} s.\n", limit.as_secs());
    for (pe, what) in &*lock(&DOING) {
        text += &format!("  PE {pe}, in the test that noted it last: {what}\n");
    }
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        text += &format!("  thread {} in {}\n", read("comm").trim_end(), read("wchan"));
    }
    for pid in std::mem::take(&mut *lock(&CHILDREN)) {
        text += &format!("  killed process {pid}\n");
        super::kill(pid, libc::SIGKILL);
    }
    // Not by a macro, whose output the test harness would keep.
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::exit(101);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
