//! The end of a job by `shmem_global_exit`, for the PEs that did not call it.

mod common;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use common::{Ended, Program, programs};

/// As many lines as there are PEs, whatever they wait in.
fn check(program: &Program, place: &str, options: &[&str]) {
    let n = 4;
    let mut job = Command::new(programs().join("oshrun"));
    job.args(["-np", &n.to_string()]).args(options).arg(program.path()).arg(place);
    let started = Instant::now();
    let ended = Ended::of(&mut job);
    let line = "oshrun: PE 0 called global_exit(7)\n";
    assert_eq!(
        (ended.status, ended.stderr.lines().next()),
        (Some(7), line.lines().next()),
        "{place}: {ended:?}"
    );
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, (0..n).map(|pe| format!("PE {pe} was here")).collect::<Vec<_>>(), "{place}: {ended:?}");
    assert!(started.elapsed() < Duration::from_secs(10), "{place}: {:?}", started.elapsed());
}

#[test]
fn pes_that_wait_in_the_library_write_what_they_have_printed() {
    let program = Program::new("flush.c");
    for place in ["word", "barrier", "lock", "allocation", "finalize"] {
        check(&program, place, &[]);
    }
}

#[test]
fn so_does_a_pe_of_which_another_thread_reads_standard_input() {
    check(&Program::new("flush.c"), "stdin", &[]);
}

#[test]
fn so_do_pes_of_other_hosts() {
    // SAFETY: a constant, terminated string; the library's initialisers ask nothing of their
    // callers.
    if unsafe { libc::dlopen(c"libucp.so.0".as_ptr(), libc::RTLD_NOW) }.is_null() {
        println!("skipped: there is no libucp.so.0; on Debian, as root: apt-get install libucx0");
        return;
    }
    let program = Program::new("flush.c");
    for place in ["word", "barrier", "lock"] {
        check(&program, place, &["--fake-hosts", "2:cyclic"]);
    }
}
