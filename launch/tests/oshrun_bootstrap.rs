//! PEs that `oshrun` starts meet as the bootstrap's shared suite demands.

mod common;

use common::{line, oshrun, program};

#[test]
fn pes_pass_the_suite() {
    for n in [1, 2, 3, 7, 16] {
        let ended = line(&format!("-np {n} pe suite"));
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{n} PEs");
    }
}

#[test]
fn pes_of_simulated_hosts_pass_the_suite() {
    for args in [
        "-np 2 --fake-hosts 2",
        "-np 5 --fake-hosts 2",
        "-np 6 --fake-hosts 3+1+2",
        "-np 7 --fake-hosts 3:cyclic",
        "-np 7 --fake-hosts 1,4,2:cyclic",
    ] {
        let ended = line(&format!("{args} pe suite"));
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{args}");
    }
}

#[test]
fn pes_know_the_names_and_the_pes_of_their_hosts() {
    let host = oxshmem_job::host_name();
    for (args, places) in [
        (
            "-np 3 --fake-hosts 1",
            vec![format!("0 {host} [0, 1, 2]"), format!("1 {host} [0, 1, 2]"), format!("2 {host} [0, 1, 2]")],
        ),
        (
            "-np 3 --fake-hosts 2",
            vec![format!("0 {host}-0 [0, 1]"), format!("1 {host}-0 [0, 1]"), format!("2 {host}-1 [2]")],
        ),
        (
            "-np 3 --fake-hosts 1+2",
            vec![format!("0 {host}-0 [0]"), format!("1 {host}-1 [1, 2]"), format!("2 {host}-1 [1, 2]")],
        ),
        (
            "-np 3 --fake-hosts 2:cyclic",
            vec![format!("0 {host}-0 [0, 2]"), format!("1 {host}-1 [1]"), format!("2 {host}-0 [0, 2]")],
        ),
    ] {
        let ended = line(&format!("{args} pe where"));
        let mut lines: Vec<_> = ended.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, places, "{args}: {}", ended.stderr);
    }
}

#[test]
fn a_hundred_pes_on_as_many_hosts_have_a_short_environment() {
    let ended = oshrun(["-np", "100", "--fake-hosts", "100x1:cyclic", "sh", "-c", "echo ${#OXSHMEM_JOB}"]);
    let lengths: Vec<usize> = ended.stdout.lines().map(|line| line.parse().expect("a length")).collect();
    assert_eq!(lengths.len(), 100, "{}", ended.stderr);
    assert!(lengths.iter().all(|&length| length < 200), "{lengths:?}");
}

#[test]
fn pes_meet_without_a_runtime() {
    assert_eq!(line("-np 3 pe meet 100000").status, 0);
}

#[test]
fn two_hundred_pes_meet() {
    let ended = line("-np 200 pe meet 100");
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}

#[test]
fn pes_meet_in_a_runtime_without_io() {
    assert_eq!(line("-np 3 pe meet-without-io").status, 0);
}

#[test]
fn a_process_can_be_a_pe_again_after_finalize() {
    let ended = line("-np 3 pe twice");
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    assert_eq!(ended.stdout.matches("round 1\n").count(), 3);
}

#[test]
fn a_second_init_is_refused_while_the_first_lasts() {
    let ended = line("-np 1 pe again-while-in");
    assert_eq!(ended.status, 9);
    assert!(ended.stdout.starts_with("init: this process is already PE 0"), "{}", ended.stdout);
}

#[test]
fn a_program_that_a_pe_starts_is_no_pe() {
    let ended = line("-np 2 pe grandchild");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    for pe in 0..2 {
        assert!(
            ended.stdout.contains(&format!("says that this process is PE {pe}, but its descriptor")),
            "{}",
            ended.stdout
        );
    }
}

#[test]
fn a_descriptor_that_is_something_else_is_refused() {
    let script = format!(
        "fd=${{OXSHMEM_JOB#fd=}}; fd=${{fd%%,*}}; eval \"exec $fd</dev/null\"; exec {} suite",
        program().display()
    );
    // The shell of some systems only takes descriptors below 10.
    let ended = oshrun(["-np", "1", "/bin/bash", "-c", &script]);
    assert_eq!(ended.status, 9, "{}", ended.stderr);
    assert!(ended.stdout.contains("is something else than the socket"), "{}", ended.stdout);
}

#[test]
fn a_malformed_variable_is_refused() {
    let script = format!("OXSHMEM_JOB=nonsense exec {} suite", program().display());
    let ended = common::script(1, &script);
    assert_eq!(ended.status, 9);
    assert!(ended.stdout.contains("OXSHMEM_JOB=\"nonsense\" cannot be used"), "{}", ended.stdout);
}

#[test]
fn oshrun_inside_a_pe_is_a_job_of_its_own() {
    let inner = format!("exec {} -np 2 {} suite", env!("CARGO_BIN_EXE_oshrun"), program().display());
    let ended = common::script(2, &inner);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    // None of the outer job's sockets reaches the inner PEs: each has its own and nothing else
    // beyond 2.
    let count = format!(
        "exec {} -np 1 /bin/sh -c 'ls -l /proc/$$/fd | grep -c socket'",
        env!("CARGO_BIN_EXE_oshrun")
    );
    assert_eq!(common::script(2, &count).stdout, "1\n1\n");
}

#[test]
fn a_pe_behind_a_wrapper_script_meets_the_others() {
    let ended = common::script(3, &format!("{} suite; exit $?", program().display()));
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}

#[test]
fn pes_that_outlive_sigterm_learn_what_happened() {
    let ended = line("-np 3 pe outlive 3");
    assert_eq!(ended.status, 3);
    assert_eq!(ended.stdout, "PE 0 ended the job with global_exit(3)\n".repeat(3));
    let ended = line("-np 3 pe outlive 0");
    assert_eq!(ended.stdout, "PE 0 is lost: exited with status 0 without finalize\n".repeat(2));
}
