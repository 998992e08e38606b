//! Programs that use MPI beside OpenSHMEM, which `mpirun` starts (`OpenSHMEM 1.6 Annex D.1`).

mod common;

use common::{Program, mpirun_is, options_of_mpi};

#[test]
fn mpi_and_openshmem_begin_and_end_in_any_order() {
    let Some(program) = Program::with_mpi("../mpi/orders.c", &[]) else { return };
    // Version 5 takes a process that another library has made a client of PMIx for one that MPI
    // has, and fails.
    let mpi_first = mpirun_is("Open MPI) 5");
    // The two inits and the two finalizes; the last two begin OpenSHMEM twice, which MPI does not
    // allow of itself.
    for order in ["msSM", "smMS", "msMS", "smSM", "msSsSM", "smSsMS"] {
        if mpi_first && order.starts_with('s') {
            println!("{order} does not run: Open MPI 5 has to begin first");
            continue;
        }
        for n in [1, 2, 4] {
            let ended = program.under_mpirun(n, &[order]);
            assert_eq!(ended.status, Some(0), "{order} with {n} PEs: {ended:?}");
        }
    }
}

#[test]
fn global_exit_ends_an_mpi_program_with_its_status() {
    let Some(program) = Program::with_mpi("../mpi/exit.c", &[]) else { return };
    let ended = program.under_mpirun(3, &[]);
    assert_eq!(ended.status, Some(5), "{ended:?}");
    assert!(!ended.stdout.contains("still here"), "{ended:?}");
}

#[test]
fn an_mpi_program_that_no_launcher_starts_is_a_job_of_one() {
    let Some(program) = Program::with_mpi("../mpi/orders.c", &[]) else { return };
    for order in ["msSM", "smMS"] {
        let ended = program.alone_with(&[order]);
        assert_eq!(ended.status, Some(0), "{order}: {ended:?}");
    }
}

#[test]
fn an_mpicc_without_header_or_library_is_none() {
    let why = options_of_mpi("gcc -I/no/such/folder -DNO_MPI")
        .expect_err("there is no header in the compiler's own folders");
    assert!(why.contains("mpi.h"), "{why}");
    assert!(options_of_mpi("gcc -lno-such-mpi").is_err());
}
