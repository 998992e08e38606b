//! What PEs print and read.

mod common;

use std::{
    collections::HashMap,
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use common::{Ended, feed, line, oshrun, program, script, start_with};

fn bash(script: &str) -> Ended {
    let output = Command::new("/bin/bash").args(["-c", script]).stdin(Stdio::null()).output().expect("bash");
    Ended {
        status: output.status.code().expect("it is not killed"),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn lines_of_eight_pes_are_never_broken() {
    let ended = line("-np 8 pe lines 400 5000");
    assert_eq!(ended.status, 0);
    let mut counts = HashMap::new();
    for line in ended.stdout.lines() {
        let letter = line.as_bytes()[0];
        assert!(line.len() == 5000 && line.bytes().all(|byte| byte == letter), "a broken line");
        *counts.entry(letter).or_insert(0) += 1;
    }
    assert!(counts.len() == 8 && counts.values().all(|&count| count == 400), "{counts:?}");
}

#[test]
fn lines_longer_than_any_pipe_are_not_broken() {
    let ended = line("-np 3 pe lines 3 1000000");
    assert_eq!(ended.stdout.len(), 9 * 1_000_001);
    for line in ended.stdout.lines() {
        assert!(line.len() == 1_000_000 && line.bytes().all(|byte| byte == line.as_bytes()[0]));
    }
}

#[test]
fn output_passes_fast() {
    let started = Instant::now();
    let ended = line("-np 2 pe lines 40000 999");
    assert_eq!(ended.stdout.len(), 80_000_000);
    // A tenth of what an idle machine does.
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[test]
fn both_streams_arrive_where_they_belong() {
    let ended = script(2, "echo out; echo err >&2");
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\nout\n", "err\nerr\n"));
}

#[test]
fn a_last_line_without_an_end_is_written_as_it_is() {
    assert_eq!(oshrun(["-np", "1", "printf", "a\\nb"]).stdout, "a\nb");
    let ended = oshrun(["-np", "3", "printf", "b"]);
    assert_eq!(ended.stdout, "b\nb\nb", "lines of different PEs stay apart");
}

#[test]
fn messages_start_a_line_of_their_own() {
    let ended = script(1, "printf oops >&2; exit 3");
    let (first, second) = ended.stderr.split_once('\n').expect("two lines");
    assert_eq!(first, "oops");
    assert!(second.starts_with("oshrun: PE 0 "), "{second}");
}

#[test]
fn tags_name_the_pe_on_every_line() {
    let ended = oshrun(["-np", "2", "--tag-output", "sh", "-c", "echo a; echo; printf b; echo e >&2"]);
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] ", "[0] a", "[0] b", "[1] ", "[1] a", "[1] b"]);
    let mut lines: Vec<_> = ended.stderr.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] e", "[1] e"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_job_as_it_ends_a_shell_pipeline() {
    // PEs that never end by themselves, and PEs that have ended before their output is found to be
    // unwanted.
    for pe in ["yes".to_owned(), format!("{} lines 2000 1000", program().display())] {
        let job = format!("{} -np 2 -- {pe} | head -n 1 >/dev/null", env!("CARGO_BIN_EXE_oshrun"));
        let ended = bash(&format!("{job}; echo ${{PIPESTATUS[0]}}"));
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("141\n", ""), "{pe}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let oshrun = env!("CARGO_BIN_EXE_oshrun");
    let full =
        "oshrun: cannot write to standard output: No space left on device (os error 28); the job was ended\n";
    for pes in ["-np 1 -- seq 1 100000", "-np 2 -- yes", "-np 1 -- echo a", "-np 1 -- printf a"] {
        let ended = bash(&format!("{oshrun} {pes} >/dev/full"));
        assert_eq!((ended.status, ended.stderr.as_str()), (1, full), "{pes}");
    }
    let ended = bash(&format!("{oshrun} -np 1 -- sh -c 'echo a >&2' 2>/dev/full"));
    assert_eq!(ended.status, 1);
    // What went wrong first is still the message.
    let ended = bash(&format!("{oshrun} -np 1 -- sh -c 'kill -9 $$' >/dev/full"));
    assert_eq!(ended.status, 137, "{ended:?}");
    let ended = bash(&format!("{oshrun} --help >/dev/full"));
    assert_eq!(ended.status, 2, "{ended:?}");
    assert!(ended.stderr.starts_with("oshrun: cannot write"), "{ended:?}");
}

#[test]
fn output_into_what_does_not_wait_is_complete() {
    // Another program may have put the pipe that is our output into the mode in which a write does
    // not wait.
    let script = format!(
        "{} -np 2 -- {} lines 2000 1000 | (sleep 0.5; wc -c)",
        "python3 -c 'import os, sys; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])' $OSHRUN",
        program().display()
    );
    let script = format!("OSHRUN={}; {script}", env!("CARGO_BIN_EXE_oshrun"));
    assert_eq!(bash(&script).stdout.trim(), "4004000");
}

#[test]
fn a_reader_that_is_slow_loses_nothing() {
    let command = format!(
        "{} -np 2 {} lines 2000 1000 | (sleep 1; wc -c)",
        env!("CARGO_BIN_EXE_oshrun"),
        program().display()
    );
    let output = Command::new("/bin/bash").args(["-c", &command]).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "4004000");
}

#[test]
fn a_reader_that_never_reads_does_not_keep_a_job_from_ending() {
    let command = format!(
        "timeout 10 {} -np 2 --timeout 0.5 {} lines 20000 1000 2>&1 | (sleep 4; cat >/dev/null); echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_oshrun"),
        program().display()
    );
    let output = Command::new("/bin/bash").args(["-c", &command]).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "124\n");
}

#[test]
fn input_goes_to_pe_0() {
    let mut running = start_with(["-np", "3", "--tag-output", "cat"], Stdio::piped());
    feed(&mut running, "one\ntwo\n");
    drop(running.child.stdin.take());
    let ended = running.end();
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "[0] one\n[0] two\n"));
}

#[test]
fn input_that_never_ends_does_not_keep_a_job_from_ending() {
    let mut running = start_with(["-np", "2", "true"], Stdio::piped());
    let stdin = running.child.stdin.take();
    assert_eq!(running.end().status, 0);
    drop(stdin);
}

#[test]
fn input_that_no_pe_reads_does_no_harm() {
    for stdin in ["none", "0", "all"] {
        let mut running = start_with(["-np", "2", "--stdin", stdin, "sleep", "0.3"], Stdio::piped());
        // The pipe is full, or broken, as it would be without a launcher.
        let _ = running.child.stdin.take().expect("piped").write_all(&[b'x'; 100_000]);
        assert_eq!(running.end().status, 0);
    }
}

#[test]
fn input_that_pe_0_does_not_read_is_left_to_others() {
    let oshrun = env!("CARGO_BIN_EXE_oshrun");
    let each = |job: &str| bash(&format!("seq 3 | while read x; do echo $x; {job}; done")).stdout;
    assert_eq!(each(&format!("{oshrun} -np 2 -- true")), "1\n2\n3\n");
    assert_eq!(each(&format!("{oshrun} -np 1 -- sh -c 'read y; echo $y'")), "1\n2\n3\n\n");
    assert_eq!(each(&format!("{oshrun} -np 2 --stdin none -- cat")), "1\n2\n3\n");
}

#[test]
fn input_goes_to_the_pes_that_the_option_names() {
    let lines = |option: &str| {
        let script = format!("seq 2 | {} -np 3 --tag-output {option} -- cat", env!("CARGO_BIN_EXE_oshrun"));
        let ended = bash(&script);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{option}");
        let mut lines: Vec<_> = ended.stdout.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines.join(" ")
    };
    assert_eq!(lines("--stdin none"), "");
    assert_eq!(lines("--stdin 0"), "[0] 1 [0] 2");
    assert_eq!(lines("--stdin all"), "[0] 1 [0] 2 [1] 1 [1] 2 [2] 1 [2] 2");
}

#[test]
fn a_pe_that_ends_keeps_no_input_from_the_others() {
    let script = format!(
        "seq 200000 | {} -np 3 --stdin all -- sh -c '{}'",
        env!("CARGO_BIN_EXE_oshrun"),
        "pe=${OXSHMEM_JOB#*pe=}; [ ${pe%%,*} = 1 ] || exec tail -n 1"
    );
    assert_eq!(bash(&script).stdout, "200000\n200000\n");
}

#[test]
fn a_line_is_passed_on_while_the_program_runs() {
    let mut running =
        start_with(["-np", "1", "sh", "-c", "read a; echo got $a; read b; echo got $b"], Stdio::piped());
    feed(&mut running, "1\n");
    std::thread::sleep(Duration::from_millis(50));
    feed(&mut running, "2\n");
    assert_eq!(running.end().stdout, "got 1\ngot 2\n");
}
