//! How C programs end: without `shmem_finalize`, by an error while handlers of `atexit` call
//! routines, in a child.

mod common;

use common::{Ended, PES, Program};

const WARNING: &str = "ended without shmem_finalize";

/// The lines of the library.
fn lines(ended: &Ended) -> Vec<&str> {
    ended.stderr.lines().filter(|line| line.starts_with("oxshmem: ")).collect()
}

/// Expects an end because PEs of a job of two differ, without another error, and without a word of
/// Rust.
#[track_caller]
fn only_differs(ended: &Ended) {
    assert_eq!(ended.status, Some(1), "{ended:?}");
    let lines = lines(ended);
    // Both may say so.
    let differs = |line: &&str| line.contains(": PEs differ in a collective call: ");
    assert!((1..=2).contains(&lines.len()) && lines.iter().all(differs), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

#[test]
fn a_program_that_returns_0_is_finalized_at_its_exit_with_one_warning() {
    let program = Program::new("endings.c");
    for n in PES {
        let ended = program.job(n, &[], &["return", "0"]);
        ended.passed(n);
        assert_eq!(ended.stdout, "the result\n");
        assert!(matches!(lines(&ended)[..], [line] if line.contains(WARNING)), "{ended:?}");
        program.job(n, &[], &["one"]).passed(n);
    }
    let alone = program.alone_with(&["return", "0"]);
    assert_eq!((alone.status, lines(&alone).len()), (Some(0), 1), "{alone:?}");
}

#[test]
fn a_program_that_returns_anything_else_ends_the_job_with_that() {
    let program = Program::new("endings.c");
    for n in [1, 3] {
        let ended = program.job(n, &[], &["return", "5"]);
        assert_eq!(ended.status, Some(5), "{ended:?}");
        assert!(!ended.stderr.contains(WARNING), "{ended:?}");
    }
}

#[test]
fn a_program_that_calls_start_pes_need_not_finalize_whatever_the_status() {
    let program = Program::new("endings.c");
    for status in [0, 3] {
        let ended = program.job(3, &[], &["old", &status.to_string()]);
        assert_eq!(ended.status, Some(status), "{ended:?}");
        assert!(lines(&ended).is_empty(), "{ended:?}");
    }
}

#[test]
fn handlers_of_atexit_may_finalize() {
    let program = Program::new("endings.c");
    for n in [1, 3] {
        program.job(n, &[], &["handler before"]).passed(n);
        let ended = program.job(n, &[], &["handler behind"]);
        ended.passed(n);
        assert!(lines(&ended).is_empty(), "{ended:?}");
        for case in ["handler behind", "handler again"] {
            let ended = program.job(n, &[], &[case, "5"]);
            assert_eq!(ended.status, Some(5), "{ended:?}");
            assert!(lines(&ended).is_empty(), "{ended:?}");
        }
    }
}

#[test]
fn an_error_is_one_line_and_one_status_whatever_is_called_at_exit() {
    let program = Program::with("endings.c", &["-pthread"]);
    for case in ["old", "exits fail", "handlers fail"] {
        only_differs(&program.job(2, &[], &[case]));
    }
}

#[test]
fn lines_of_threads_that_fail_at_once_are_whole() {
    let program = Program::with("endings.c", &["-pthread"]);
    for _ in 0..5 {
        let ended = program.job(4, &[], &["threads"]);
        assert_eq!(ended.status, Some(1), "{ended:?}");
        let lines = lines(&ended);
        assert!(!lines.is_empty(), "{ended:?}");
        for line in lines {
            let number = line.strip_prefix("oxshmem: PE ").and_then(|rest| rest.split_once(": "));
            let (_, what) = number.unwrap_or_else(|| panic!("{ended:?}"));
            assert_eq!(what, "shmem_long_p: pe = -1 is out of range: there are 4 PEs in its team");
        }
    }
}

#[test]
fn a_child_that_exits_leaves_the_job_alone() {
    let program = Program::new("endings.c");
    for n in [1, 3] {
        program.job(n, &[], &["child"]).passed(n);
    }
}
