//! What is printed about C programs that are stuck.

mod common;

use std::{io::pipe, process::Command};

use common::Program;

/// What PE `pe` of a job of `n` says, once, when others make it wait for longer than the second
/// after which it does.
#[track_caller]
fn awaited_in(program: &Program, n: usize, place: &str, pe: usize) -> String {
    let ended = program.job(n, &[("SHMEM_HANG_TIMEOUT", "1")], &[place, "1.6"]);
    ended.passed(n);
    let start = format!("oxshmem: PE {pe} on host ");
    let lines: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with(&start)).collect();
    let [line] = lines[..] else { panic!("{place}: {}", ended.stderr) };
    let (_, what) = line.split_once(" s in ").unwrap_or_else(|| panic!("{line}"));
    assert!(ended.stderr.contains("oshrun: the job may be stuck"), "{}", ended.stderr);
    what.to_owned()
}

/// Checks that it says an offset between these two.
#[track_caller]
fn assert_offset(what: &str, start: &str, end: &str) {
    let offset = what.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    let offset = offset.unwrap_or_else(|| panic!("{what} is not {start}...{end}"));
    let offset = u64::from_str_radix(offset, 16).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(offset < 1 << 16, "{what}");
}

#[test]
fn a_thread_that_waits_for_a_lock_which_another_one_has_says_that_it_is_this_pes_own_and_a_global() {
    for options in [&["-pthread", "-fPIE", "-pie"][..], &["-pthread", "-no-pie", "-fno-pie"]] {
        let lock = awaited_in(&Program::with("stuck.c", options), 1, "own lock", 0);
        assert_offset(&lock, "set_lock(lock at globals offset 0x", ", which this PE has)");
    }
}

#[test]
fn a_pe_that_waits_for_a_word_says_whether_it_is_a_global_and_what_it_is_now() {
    let program = Program::with("stuck.c", &["-pthread"]);
    let global = awaited_in(&program, 2, "static word", 1);
    assert_offset(&global, "wait_until(i64 at globals offset 0x", " >= 7, now 3)");
    let word = awaited_in(&program, 2, "heap word", 1);
    assert_offset(&word, "wait_until(i64 at heap offset 0x", " >= 7, now 0)");
}

#[test]
fn a_pe_that_waits_in_an_allocation_says_in_which() {
    let what = awaited_in(&Program::with("stuck.c", &["-pthread"]), 2, "allocation", 1);
    assert!(what.starts_with("alloc_zeroed #") && what.ends_with(" on the world team"), "{what}");
}

#[test]
fn a_program_that_waits_lives_on_where_nothing_reads_the_report_about_it() {
    let program = Program::with("stuck.c", &["-pthread"]);
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut alone = Command::new(program.path());
    alone.args(["own lock", "1.6"]).env("SHMEM_HANG_TIMEOUT", "1").stderr(writer);
    let status = alone.status().expect("it starts");
    assert!(status.success(), "{status}");
}
