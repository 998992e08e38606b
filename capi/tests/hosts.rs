//! PEs on several hosts, which oshrun simulates.

mod common;

use common::{PES, Program};

/// Whether PEs of several hosts reach each other. Otherwise says that the test is skipped.
fn reaches_hosts() -> bool {
    if std::env::var_os("SHMEM_NET").is_none_or(|net| net != "ucx") {
        return true;
    }
    // SAFETY: a constant, terminated string; the library's initialisers ask nothing of their
    // callers.
    let has = unsafe { !libc::dlopen(c"libucp.so.0".as_ptr(), libc::RTLD_NOW).is_null() };
    if !has {
        println!("skipped: there is no libucp.so.0; on Debian, as root: apt-get install libucx0");
    }
    has
}

#[test]
fn globals_and_heap_of_pes_on_other_hosts_are_reached_and_have_no_address() {
    if !reaches_hosts() {
        return;
    }
    for options in [&["-fPIE", "-pie"][..], &["-no-pie", "-fno-pie"]] {
        let program = Program::with("hosts.c", options);
        for n in PES {
            program.job(n, &[("SHMEM_FAKE_HOSTS", "2:cyclic")], &[]).passed(n);
        }
    }
}

#[test]
fn nonblocking_operations_on_words_of_other_hosts_are_under_way_together() {
    if !reaches_hosts() {
        return;
    }
    Program::with("pipelined.c", &[]).job(2, &[("SHMEM_FAKE_HOSTS", "2")], &[]).passed(2);
}

#[test]
fn what_is_just_legal_is_no_error_between_hosts_either() {
    if !reaches_hosts() {
        return;
    }
    let program = Program::new("legal.c");
    for n in PES {
        program.job(n, &[("SHMEM_FAKE_HOSTS", "2:cyclic")], &[]).passed(n);
    }
}

#[test]
fn active_sets_come_together_between_hosts() {
    if !reaches_hosts() {
        return;
    }
    let program = Program::new("active_sets.c");
    for n in PES {
        program.job(n, &[("SHMEM_FAKE_HOSTS", "2:cyclic")], &[]).passed(n);
    }
}
