//! What a process has after `shmem_finalize`: what it had before `shmem_init`, however often
//! (`OpenSHMEM 1.6 §9.1.4`).

mod common;

use common::{Program, is_played};

fn program() -> Option<Program> {
    // Its memory is seen with that of its player.
    (!is_played("what a process has")).then(|| Program::new("released.c"))
}

#[test]
fn a_process_that_leaves_the_job_a_thousand_times_has_what_it_had_before() {
    let Some(program) = program() else { return };
    let small = [("SHMEM_SYMMETRIC_SIZE", "8M")];
    program.job(2, &small, &["1000", "1"]).passed(2);
    program.job(3, &small, &["20", "1"]).passed(3);
    program.alone_with(&["1000", "1"]).passed(1);
}

#[test]
fn a_large_heap_is_given_back() {
    let Some(program) = program() else { return };
    let large = [("SHMEM_SYMMETRIC_SIZE", "2G")];
    program.job(2, &large, &["40", "1024", "16"]).passed(2);
}

#[test]
fn what_connects_hosts_is_given_back() {
    // SAFETY: a constant, terminated string; the library's initialisers ask nothing of their
    // callers.
    if unsafe { libc::dlopen(c"libucp.so.0".as_ptr(), libc::RTLD_NOW) }.is_null() {
        println!("skipped: there is no libucp.so.0; on Debian, as root: apt-get install libucx0");
        return;
    }
    let Some(program) = program() else { return };
    program.job(2, &[("SHMEM_FAKE_HOSTS", "2"), ("SHMEM_SYMMETRIC_SIZE", "8M")], &["60", "1"]).passed(2);
}
