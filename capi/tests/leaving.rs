//! PEs that leave the job while another is in a call too many, and threads that leave a wait in
//! other ways than by its end.

mod common;

use std::time::{Duration, Instant};

use common::Program;

/// One host, and two where there is UCX.
fn hosts() -> Vec<&'static [(&'static str, &'static str)]> {
    // SAFETY: a constant, terminated string; the library's initialisers ask nothing of their
    // callers.
    if unsafe { libc::dlopen(c"libucp.so.0".as_ptr(), libc::RTLD_NOW) }.is_null() {
        println!("on one host alone: there is no libucp.so.0; on Debian, as root: apt-get install libucx0");
        return vec![&[]];
    }
    vec![&[], &[("SHMEM_FAKE_HOSTS", "2")]]
}

#[test]
fn a_barrier_too_many_ends_the_job_at_once_and_both_calls_are_named() {
    let program = Program::with("leaving.c", &["-pthread"]);
    for (what, call) in [("barrier", "calls finalize"), ("team", "calls destroy")] {
        for n in [2, 3] {
            for [first, others] in [["0", "100000"], ["100000", "0"]] {
                for hosts in hosts() {
                    let start = Instant::now();
                    let ended = program.job(n, hosts, &[what, first, others]);
                    ended.failed_with(&["PE 0 calls sync", call]);
                    // Long before it would be reported to hang.
                    assert!(start.elapsed() < Duration::from_secs(30), "{ended:?}");
                }
            }
        }
    }
}

#[test]
fn a_thread_that_is_cancelled_in_a_wait_keeps_nothing_that_others_need() {
    let program = Program::with("leaving.c", &["-pthread"]);
    for hosts in hosts() {
        for n in [1, 2, 3] {
            println!("{n} PEs, {hosts:?}");
            program.job(n, hosts, &["cancel"]).passed(n);
        }
    }
    assert_eq!(program.alone_with(&["cancel"]).status, Some(0));
}

#[test]
fn a_thread_that_has_jumped_out_of_a_wait_is_named_when_it_waits_again() {
    let program = Program::with("leaving.c", &["-pthread"]);
    for n in [1, 3] {
        let parts = ["called by a thread that waits in another call", "longjmp"];
        program.job(n, &[], &["jump"]).failed_with(&parts);
    }
}
