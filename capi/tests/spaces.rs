//! Memory spaces, with an emulated device, as C programs use them.

mod common;

use common::{PES, Program};

const BOTH: [(&str, &str); 4] = [
    ("SHMEM_ENABLE_CPU_SPACE", "1"),
    ("SHMEM_ENABLE_GPU_SPACE", "1"),
    ("SHMEM_GPU_EMULATE", "1"),
    ("SHMEM_GPU_SYMMETRIC_SIZE", "4M"),
];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    BOTH.iter().chain(more).copied().collect()
}

#[test]
fn every_routine_takes_addresses_of_device_memory() {
    let program = Program::new("devices.c");
    for n in PES {
        program.job(n, &with(&[]), &[]).passed(n);
        program.job(n, &with(&[("SHMEM_DEFAULT_SPACE", "GPU")]), &["default"]).passed(n);
    }
}

#[test]
fn a_job_says_once_that_a_device_is_emulated() {
    let program = Program::new("devices.c");
    let ended = program.job(4, &with(&[]), &[]);
    ended.passed(4);
    let lines = ended.stderr.lines().filter(|line| line.contains("emulated")).count();
    assert_eq!(lines, 1, "{}", ended.stderr);
    let ended = Program::new("spaces.c").job(2, &[("SHMEM_GPU_EMULATE", "1")], &[]);
    ended.passed(2);
    assert!(!ended.stderr.contains("emulated"), "it is not enabled: {}", ended.stderr);
}

#[test]
fn a_device_that_some_pes_have_is_invalid_on_the_others() {
    let program = Program::new("device_errors.c");
    let some = with(&[("SHMEM_GPU_EMULATE_PES", "0,2")]);
    program.job(4, &some, &["members"]).passed(4);
    program
        .job(4, &some, &["outside"])
        .failed_with(&["shmem_long_p", "PE 1 is not in the team of the GPU space"]);
    program
        .job(4, &some, &["team"])
        .failed_with(&["shmem_long_sum_reduce", "PE 1 is not in the team of the GPU space"]);
}

#[test]
fn mistakes_with_spaces_end_the_job_with_a_line_that_says_so() {
    let program = Program::new("device_errors.c");
    let wrong: [(&str, &[&str]); 14] = [
        (
            "free_by_other",
            &["shmem_space_free: ptr = 0x", "allocated in the GPU space", "back to the CPU space"],
        ),
        ("free_by_default", &["shmem_free: ptr = 0x", "allocated in the GPU space", "back to the CPU space"]),
        (
            "free_host_by_gpu",
            &["shmem_space_free: ptr = 0x", "allocated in the CPU space", "back to the GPU space"],
        ),
        ("realloc", &["shmem_realloc: ptr = 0x", "allocated in the GPU space"]),
        ("sizes", &["shmem_space_malloc", "PE 0", "100 bytes", "PE 1", "108 bytes", "GPU space"]),
        ("spaces", &["shmem_space_malloc", "PE 0", "PE 1", "in the GPU space"]),
        ("no_space", &["shmem_space_is_available: space = 0x7 is no space"]),
        ("no_space_malloc", &["shmem_space_malloc: space = 0x", "is no space"]),
        ("mixed", &["shmem_long_sum_reduce", "destination is in the GPU space", "source in the CPU space"]),
        (
            "mixed_collect",
            &["shmem_long_fcollect", "destination is in the CPU space", "source in the GPU space"],
        ),
        ("lock", &["shmem_set_lock", "device memory"]),
        ("beyond", &["shmem_long_put: dest = 0x", "not all of the"]),
        ("unaligned", &["shmem_long_p: dest = 0x", "is not aligned to 8 bytes"]),
        ("destroy", &["shmem_team_destroy", "predefined team"]),
    ];
    for (what, parts) in wrong {
        println!("{what}");
        program.job(2, &with(&[]), &[what]).failed_with(parts);
    }
}

#[test]
fn a_stray_store_to_device_memory_faults() {
    let program = Program::new("device_errors.c");
    let line = "which is device memory: byte 0x18 of PE 0's heap in the GPU space";
    let off = with(&[("SHMEM_GPU_FAULT_LINE", "off")]);
    for (settings, what, says, of_program) in [
        (with(&[]), "stray", true, None),
        (off, "stray", false, None),
        // The program's handlers, from before and after the initialisation, have their say.
        (with(&[]), "stray_before", true, Some("the program's handler")),
        (with(&[]), "stray_behind", true, Some("the program's handler, first")),
    ] {
        let ended = program.job(1, &settings, &[what]);
        assert!(ended.status.is_some_and(|status| status != 0), "{ended:?}");
        assert_eq!(ended.stderr.contains(line), says, "{what}: {}", ended.stderr);
        match of_program {
            Some(text) => assert!(ended.stderr.contains(text), "{what}: {}", ended.stderr),
            None => {
                let signal = ended.stderr.contains("SIGSEGV") || ended.stderr.contains("signal 11");
                assert!(signal, "{}", ended.stderr);
            }
        }
    }
}

#[test]
fn an_environment_that_the_text_forbids_fails_the_initialisation() {
    let program = Program::new("spaces.c");
    let fails =
        |variables: &[(&str, &str)], parts: &[&str]| program.job(2, variables, &[]).failed_with(parts);
    fails(
        &[("SHMEM_ENABLE_CPU_SPACE", "")],
        &["shmem_init", "SHMEM_ENABLE_CPU_SPACE", "SHMEM_ENABLE_GPU_SPACE", "disabled on all 2 PEs"],
    );
    fails(&[("SHMEM_DEFAULT_SPACE", "GPU")], &["shmem_init", "SHMEM_DEFAULT_SPACE=\"GPU\""]);
    fails(&[("SHMEM_ENABLE_GPU_SPACE", "1")], &["shmem_init", "PEs 0-1 have no device"]);
    fails(&[("SHMEM_DEFAULT_SPACE", "FPGA")], &["SHMEM_DEFAULT_SPACE=\"FPGA\"", "CPU, GPU"]);
}
