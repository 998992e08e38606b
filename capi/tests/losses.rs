//! Jobs that go on when a PE is lost, in C.

mod common;

use common::Program;

/// On one host, and on several, whose PEs are reached by the network.
const HOSTS: [&str; 4] = ["1", "2", "4", "2:cyclic"];

#[test]
fn errors_with_a_lost_pe_stay_with_their_contexts() {
    let program = Program::new("losses.c");
    for hosts in HOSTS {
        let variables = [("SHMEM_ON_LOSS", "continue"), ("SHMEM_FAKE_HOSTS", hosts)];
        let ended = program.job(4, &variables, &[]);
        ended.passed(4);
        assert_eq!(ended.stdout.matches("goes on").count(), 3, "{hosts} hosts: {ended:?}");
        assert!(ended.stderr.contains("the job goes on (view 1)"), "{hosts} hosts: {ended:?}");
    }
}

#[test]
fn a_world_of_which_each_pe_was_replaced_is_whole() {
    let program = Program::new("rebuilt.c");
    for hosts in HOSTS {
        let variables = [("SHMEM_ON_LOSS", "continue"), ("SHMEM_FAKE_HOSTS", hosts)];
        let ended = program.job_with(&["--respawn", "4"], 4, &variables, &[]);
        ended.passed(4);
        assert_eq!(ended.stdout.matches("is in a whole world").count(), 4, "{hosts} hosts: {ended:?}");
    }
}

#[test]
fn the_example_goes_on_until_two_are_left() {
    let example = Program::new("../../../examples/survivors.c");
    for hosts in HOSTS {
        let variables = [("SHMEM_ON_LOSS", "continue"), ("SHMEM_FAKE_HOSTS", hosts)];
        let ended = example.job(4, &variables, &[]);
        ended.passed(4);
        assert_eq!(ended.stdout.matches("is left of 4, 2 of which are lost").count(), 2, "{ended:?}");
    }
    for n in [1, 2] {
        example.job(n, &[], &[]).passed(n);
    }
    let ended = example.job(3, &[], &[]);
    ended.failed_with(&["PE 1", "was killed by signal 9", "the job was ended"]);
}

#[test]
fn a_program_that_does_not_ask_to_go_on_is_refused() {
    let program = Program::new("setup.c");
    program.job(2, &[("SHMEM_ON_LOSS", "continue")], &[]).failed_with(&["shmemx_survive_loss"]);
}
