//! Programs that something else than `oshrun` starts: which job they are in, and when that is worth
//! a warning.

mod common;

use common::{alone, oshrun, program};

#[test]
fn a_program_that_no_launcher_starts_is_one_pe() {
    let ended = alone("begin", &[]);
    assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (0, "PE 0 of 1\n", ""));
}

#[test]
fn a_program_of_a_launcher_that_is_not_spoken_to_is_one_pe_with_one_warning() {
    for variables in [
        &["PMI_RANK=1", "PMI_SIZE=4"][..],
        &["PMI_FD=9"],
        &["SLURM_PROCID=1", "SLURM_NTASKS=4"],
        &["OMPI_COMM_WORLD_SIZE=4"],
        &["MPI_LOCALNRANKS=2"],
        &["PALS_RANKID=1"],
        &["JSM_NAMESPACE_RANK=1"],
        &["FLUX_TASK_RANK=1", "FLUX_JOB_SIZE=2"],
        &["ALPS_APP_PE=1"],
    ] {
        let ended = alone("begin", variables);
        assert_eq!((ended.status, ended.stdout.as_str()), (0, "PE 0 of 1\n"), "{variables:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{variables:?}: {}", ended.stderr);
        for what in
            variables.iter().copied().chain(["warning: ", "one PE", "oshrun", "srun --mpi=pmix", "mpirun"])
        {
            assert!(ended.stderr.contains(what), "{what}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_job_of_one_that_was_asked_for_is_no_reason_to_warn() {
    for variables in
        [&["SLURM_NTASKS=4"][..], &["SLURM_PROCID=0", "SLURM_NTASKS=1"], &["PMI_RANK=0", "PMI_SIZE=1"]]
    {
        let ended = alone("begin", variables);
        assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (0, "PE 0 of 1\n", ""));
    }
}

#[test]
fn oshrun_inside_of_another_launchers_job_comes_first() {
    let mut args = vec!["-np", "2"];
    for variable in ["PMI_RANK=0", "PMI_SIZE=4", "SLURM_PROCID=0", "SLURM_NTASKS=4", "PMIX_RANK=0"] {
        args.extend(["-x", variable]);
    }
    let program = program();
    args.extend([program.to_str().expect("a readable path"), "begin"]);
    let ended = oshrun(args);
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!((ended.status, lines, ended.stderr.as_str()), (0, vec!["PE 0 of 2", "PE 1 of 2"], ""));
}
