//! What programs do that live with other libraries, though the specification promises them nothing.

mod common;

use common::{Ended, Program};

/// How long a thread may take to see a store: a sleep of 16 ms at the most, and what a machine at
/// work adds.
const LATE: &str = "200";

#[test]
fn a_wait_sees_what_another_thread_of_its_pe_stores_past_the_library() {
    let program = Program::with("local_store.c", &["-pthread"]);
    for how in ["0", "1", "2", "3", "4", "5"] {
        for delay in ["0", "3", "500"] {
            let ended = program.job(2, &[], &[how, delay, LATE]);
            ended.passed(2);
            assert!(!ended.stdout.contains("late"), "{how}, after {delay} ms: {ended:?}");
        }
    }
}

/// Half a percent, and as much again for what a build without optimisation and a machine at work
/// add.
#[test]
fn a_wait_that_looks_by_itself_leaves_its_processor_to_others() {
    let ended = Program::with("local_store.c", &["-pthread"]).job(2, &[], &["0", "3000", LATE]);
    ended.passed(2);
    for line in ended.stdout.lines() {
        let share: u32 = line.parse().unwrap_or_else(|_| panic!("{ended:?}"));
        assert!(share <= 100, "{share} of 10000: {ended:?}");
    }
}

/// The lines of the library.
fn lines(ended: &Ended) -> Vec<&str> {
    ended.stderr.lines().filter(|line| line.starts_with("oxshmem: ")).collect()
}

#[test]
fn an_allocation_without_room_is_reported_once_a_job() {
    let program = Program::new("elsewhere.c");
    for routine in ["malloc", "calloc", "align", "realloc"] {
        let ended = program.job(3, &[("SHMEM_SYMMETRIC_SIZE", "1M")], &["no room", routine]);
        ended.passed(3);
        let [line] = lines(&ended)[..] else { panic!("{ended:?}") };
        let parts = [
            routine,
            "no room for 2097152 bytes",
            " of 1048576 bytes are free",
            "raise SHMEM_SYMMETRIC_SIZE",
        ];
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    let variables = [("SHMEM_SYMMETRIC_SIZE", "1M"), ("SHMEM_WARN_HEAP", "off")];
    let ended = program.job(3, &variables, &["no room", "malloc"]);
    ended.passed(3);
    assert!(lines(&ended).is_empty(), "{ended:?}");
}

#[test]
fn a_small_alignment_is_rounded_up_and_one_that_is_none_gives_null() {
    let ended = Program::new("elsewhere.c").job(2, &[], &["alignments"]);
    ended.passed(2);
    let [line] = lines(&ended)[..] else { panic!("{ended:?}") };
    assert!(line.contains("shmem_align: an alignment of 3 bytes is not a power of two"), "{line}");
}

#[test]
fn a_pe_outside_of_an_active_set_has_nothing_to_do_in_its_collectives() {
    let program = Program::new("elsewhere.c");
    for n in [2, 3, 4, 7] {
        let ended = program.job(n, &[], &["outside"]);
        ended.passed(n);
        assert!(lines(&ended).is_empty(), "{ended:?}");
    }
    let ended = program.job(3, &[("SHMEM_DEBUG", "1")], &["outside"]);
    ended.passed(3);
    let warned = lines(&ended)
        .into_iter()
        .any(|line| line.contains("PE 1: shmem_barrier: it is not in the active set"));
    assert!(warned, "{ended:?}");
}
