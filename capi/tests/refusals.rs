//! Where the system refuses something to a PE: it goes without, or there is one line that says so,
//! and nothing that Rust or UCX print for their own developers.

mod common;

use std::process::Command;

use common::{Ended, Program};

const TWO_HOSTS: (&str, &str) = ("SHMEM_FAKE_HOSTS", "2");

/// Expects that every PE of a job of two that says anything says this in a line, and no more.
#[track_caller]
fn one_line_each(ended: &Ended, what: &str) {
    assert_eq!(ended.status, Some(1), "{ended:?}");
    let is_error = |line: &&str| line.starts_with("oxshmem: ") && !line.starts_with("oxshmem: warning: ");
    let lines: Vec<_> = ended.stderr.lines().filter(is_error).collect();
    assert!((1..=2).contains(&lines.len()) && lines.iter().all(|line| line.contains(what)), "{ended:?}");
    for word in ["panicked", "backtrace", "Assertion"] {
        assert!(!ended.stderr.contains(word), "{ended:?}");
    }
}

/// A collective may leave something behind that goes on when its call is over. Only that needs a
/// thread.
#[test]
fn without_threads_pes_of_one_host_work_or_say_in_one_line_that_they_cannot() {
    let program = Program::new("refusals.c");
    for n in [1, 2] {
        let ended = program.job(n, &[("SHMEM_FAKE_HOSTS", "1")], &["threads"]);
        if ended.status != Some(0) {
            one_line_each(
                &ended,
                "cannot start a thread that progress needs: Resource temporarily unavailable",
            );
        }
    }
    assert_eq!(program.alone_with(&["threads"]).status, Some(0));
}

#[test]
fn a_thread_that_cannot_be_started_is_one_line() {
    let program = Program::new("refusals.c");
    let ended = program.job(2, &[TWO_HOSTS, ("SHMEM_NET", "ucx")], &["threads"]);
    one_line_each(&ended, "start of a thread for UCX: Resource temporarily unavailable");
    let ended = program.job(2, &[TWO_HOSTS, ("SHMEM_NET", "tcp")], &["threads"]);
    one_line_each(&ended, "start of the progress thread: Resource temporarily unavailable");
    let device = [
        ("SHMEM_GPU_EMULATE", "1"),
        ("SHMEM_ENABLE_GPU_SPACE", "1"),
        ("SHMEM_DEFAULT_SPACE", "gpu"),
        ("RUST_BACKTRACE", "0"),
    ];
    let ended = program.job(1, &device, &["threads", "device"]);
    one_line_each(&ended, "start of the progress thread: Resource temporarily unavailable");
}

#[test]
fn pes_need_no_pairs_of_sockets() {
    let program = Program::new("refusals.c");
    for hosts in ["1", "2"] {
        program.job(2, &[("SHMEM_FAKE_HOSTS", hosts)], &["sockets"]).passed(2);
    }
}

#[test]
fn a_job_that_cannot_be_is_one_line() {
    let program = Program::new("refusals.c");
    let wrong = |n: &str| format!("fd=7,inode=1,life=8,end=1,pe=0,n={n},hosts=1,host=a");
    let jobs = ["18446744073709551615", "99999999999", "99999999", "0", "-1", "x", ""].map(wrong);
    for job in jobs.iter().map(String::as_str).chain(["", "fd=1"]) {
        let ended = Ended::of(Command::new(program.path()).env("OXSHMEM_JOB", job));
        one_line_each(&ended, "OXSHMEM_JOB");
    }
}

#[test]
fn what_ucx_says_is_on_standard_error() {
    let program = Program::new("refusals.c");
    let ended = program.job(2, &[TWO_HOSTS, ("SHMEM_NET", "ucx"), ("UCX_LOG_LEVEL", "info")], &[]);
    ended.passed(2);
    assert_eq!(ended.stdout, "done\ndone\n", "{ended:?}");
    assert!(ended.stderr.lines().any(|line| line.starts_with("oxshmem: UCX INFO: ")), "{ended:?}");
}
