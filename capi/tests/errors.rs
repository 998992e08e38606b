//! The beginning and the end of a program's use of the library, and the errors that it gets when it
//! does something wrong.

mod common;

use std::process::Command;

use common::{Ended, PES, Program, passes_in_cxx_too};

#[test]
fn calls_before_init_and_after_finalize_end_the_job_with_a_line_that_says_so() {
    let program = Program::new("errors.c");
    let routines = [
        "shmem_my_pe",
        "shmem_n_pes",
        "shmem_barrier_all",
        "shmem_long_p",
        "shmem_ctx_long_p",
        "shmem_long_atomic_inc",
        "shmem_getmem",
        "shmem_malloc",
        "shmem_ptr",
        "shmem_query_thread",
        "shmem_finalize",
        "shmem_global_exit",
    ];
    for routine in routines {
        for (kind, when) in [("before", "before shmem_init"), ("after", "after shmem_finalize")] {
            if (kind, routine) == ("after", "shmem_finalize") {
                // There is nothing left to do.
                program.job(2, &[], &[kind, routine]).passed(2);
                continue;
            }
            program.job(2, &[], &[kind, routine]).failed_with(&[routine, when]);
        }
    }
}

#[test]
fn a_program_can_ask_which_pe_it_is_and_what_it_reaches() {
    passes_in_cxx_too("setup.c");
}

#[test]
fn initialisations_and_finalisations_nest_and_may_be_repeated() {
    let program = Program::new("errors.c");
    for case in ["nested", "again"] {
        for n in PES {
            println!("{case} on {n} PEs");
            program.job(n, &[], &[case]).passed(n);
        }
        let alone = Ended::of(Command::new(program.path()).arg(case));
        assert_eq!(alone.status, Some(0), "{case}: {alone:?}");
    }
}

#[test]
fn a_program_that_calls_start_pes_need_not_finalize() {
    let program = Program::new("errors.c");
    for n in PES {
        let ended = program.job(n, &[], &["start_pes"]);
        ended.passed(n);
        assert_eq!(ended.stdout, "done\n".repeat(n));
    }
}

#[test]
fn global_exit_ends_the_job_with_its_status() {
    let program = Program::new("errors.c");
    for status in [0, 1, 42, 255] {
        for n in [1, 3] {
            let ended = program.job(n, &[], &["exit", &status.to_string()]);
            assert_eq!(ended.status, Some(status), "{n} PEs: {ended:?}");
        }
    }
}

#[test]
fn wrong_arguments_are_named() {
    let program = Program::new("errors.c");
    for (which, parts) in [
        ("pe", &["shmem_long_p", "pe = 2"][..]),
        ("negative", &["shmem_long_p", "pe = -1"]),
        ("private", &["shmem_long_p", "dest", "not symmetric"]),
        ("null", &["shmem_long_put", "source", "null"]),
        ("long", &["shmem_long_put", "dest"]),
        ("add", &["shmem_long_atomic_fetch_add", "pe = 2"]),
        ("get", &["shmem_getmem", "pe = -1"]),
        ("misaligned", &["shmem_long_p", "dest", "not aligned"]),
        ("end", &["shmem_long_p", "dest", "not symmetric"]),
        ("over", &["shmem_putmem", "dest", "not all of the 16 bytes"]),
        ("invalid", &["shmem_ctx_long_p", "SHMEM_CTX_INVALID"]),
        ("unknown", &["shmem_ctx_long_g", "ctx = 0xf", "no context"]),
        ("destroyed", &["shmem_ctx_long_atomic_add", "destroyed"]),
    ] {
        let ended = program.job(2, &[], &["argument", which]);
        ended.failed_with(&[parts, &["PE"]].concat());
    }
    program.job(2, &[], &["argument", "nothing"]).passed(2);
}

/// What the specification allows is no error, however odd it looks.
#[test]
fn what_is_just_legal_is_no_error() {
    Program::new("legal.c").passes();
}
