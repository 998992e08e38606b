//! What programs do that live with other libraries, though the specification promises them nothing.

mod common;

use common::{Ended, Program};

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
