//! The examples of the specification that are whole programs, written anew in `tests/spec`:
//! compiled as strict C11, and those that are for C++ too as C++17, then run on all numbers of PEs.
//!
//! Examples 54 and 55 need MPI, and run where that is installed. Those that are missing are parts
//! of programs.

mod common;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use common::{Ended, PES, Program, folder};

/// A file of `tests/spec`, the section of the specification, the example, and whether it is for C++
/// too.
type Example = (&'static str, &'static str, u32, bool);

const ATOMICITY: &[Example] = &[
    ("3.2_domains.c", "3.2", 1, true),
    ("3.2_types.c", "3.2", 2, true),
    ("3.2_reduction.c", "3.2", 3, true),
    ("3.2_local.c", "3.2", 4, true),
];

const SETUP: &[Example] = &[
    ("9.1.1_init.c", "9.1.1", 5, false),
    ("9.1.3_n_pes.c", "9.1.3", 6, true),
    ("9.1.4_finalize.c", "9.1.4", 7, false),
    ("9.1.9_ptr.c", "9.1.9", 9, false),
    ("A_hello.c", "Annex A", 52, true),
    ("A_symmetric.c", "Annex A", 53, false),
];

/// It fails on purpose: a test of its own runs it.
const GLOBAL_EXIT: Example = ("9.1.6_global_exit.c", "9.1.6", 8, true);

const TEAMS: &[Example] = &[
    ("9.4.5_translate.c", "9.4.5", 10, true),
    ("9.4.6_split_strided.c", "9.4.6", 11, false),
    ("9.4.7_split_2d.c", "9.4.7", 12, true),
    ("9.5.2_team_contexts.c", "9.5.2", 13, true),
    ("9.5.3_openmp.c", "9.5.3", 14, false),
    ("9.5.3_pipeline.c", "9.5.3", 15, false),
    ("9.5.3_thread_local.c", "9.5.3", 16, false),
    ("9.9.3_session.c", "9.9.3", 28, true),
];

const ONE_SIDED: &[Example] = &[
    ("9.6.1.1_put.c", "9.6.1.1", 17, false),
    ("9.6.1.2_p.c", "9.6.1.2", 18, false),
    ("9.6.1.6_g.c", "9.6.1.6", 20, false),
    ("9.8.3_put_signal.c", "9.8.3", 27, false),
    ("9.12.1_fence.c", "9.12.1", 45, false),
    ("9.12.2_quiet.c", "9.12.2", 46, false),
    ("9.13.1_lock.c", "9.13.1", 47, false),
];

const ATOMICS: &[Example] = &[
    ("9.7.1.3_compare_swap.c", "9.7.1.3", 21, false),
    ("9.7.1.4_swap.c", "9.7.1.4", 22, false),
    ("9.7.1.5_fetch_inc.c", "9.7.1.5", 23, false),
    ("9.7.1.6_inc.c", "9.7.1.6", 24, false),
    ("9.7.1.7_fetch_add.c", "9.7.1.7", 25, false),
    ("9.7.1.8_add.c", "9.7.1.8", 26, false),
];

const COLLECTIVES: &[Example] = &[
    ("9.10.1_barrier_all.c", "9.10.1", 29, false),
    ("9.10.2_barrier.c", "9.10.2", 30, false),
    ("9.10.3_sync.c", "9.10.3", 31, false),
    ("9.10.5_alltoall.c", "9.10.5", 32, true),
    ("9.10.6_alltoalls.c", "9.10.6", 33, true),
    ("9.10.7_broadcast.c", "9.10.7", 34, false),
    ("9.10.8_collect.c", "9.10.8", 35, true),
    ("9.10.9_reductions.c", "9.10.9", 36, false),
];

const WAITS: &[Example] = &[
    ("9.11.2_wait_until_all.c", "9.11.2", 38, false),
    ("9.11.3_wait_until_any.c", "9.11.3", 39, false),
    ("9.11.4_wait_until_some.c", "9.11.4", 40, false),
    ("9.11.6_wait_until_any_vector.c", "9.11.6", 41, false),
    ("9.11.8_test.c", "9.11.8", 42, false),
    ("9.11.10_test_any.c", "9.11.10", 43, false),
    ("9.11.11_test_some.c", "9.11.11", 44, false),
];

/// They need MPI, and its launcher.
const MPI: &[Example] =
    &[("D.1.4_ranks.c", "Annex D.1.4", 54, false), ("D.1.4_communicator.c", "Annex D.1.4", 55, false)];

/// What the second line of a program asks of the compiler.
fn flags(text: &str) -> Vec<&str> {
    let line = text.lines().nth(1).unwrap_or_default();
    let flags = line.strip_prefix("/* flags: ").and_then(|rest| rest.strip_suffix(" */"));
    flags.map(|flags| flags.split(' ').collect()).unwrap_or_default()
}

/// Whether the C compiler has OpenMP, its header and its library.
fn has_openmp() -> bool {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("openmp-{}", std::process::id()));
    let mut command = Command::new("cc");
    command.args(["-fopenmp", "-include", "omp.h", "-shared", "-x", "c", "/dev/null", "-o"]).arg(&out);
    let ended = Ended::of(&mut command);
    // There is none if it has not.
    let _ = fs::remove_file(out);
    ended.status == Some(0)
}

fn text((file, ..): Example) -> String {
    let path = folder("tests/spec").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The program as C11, and as C++17 if it is both, or none for want of OpenMP.
fn compiled(example: Example) -> Vec<Program> {
    let (file, .., cpp) = example;
    let source = format!("../spec/{file}");
    let text = text(example);
    let flags = flags(&text);
    if flags.contains(&"-fopenmp") && !has_openmp() {
        eprintln!("{file} does not run: cc has no OpenMP");
        return Vec::new();
    }
    let mut languages = vec![&["-std=c11", "-Wpedantic"][..]];
    if cpp {
        languages.push(&["-x", "c++", "-std=c++17", "-Wpedantic"]);
    }
    languages.into_iter().map(|language| Program::with(&source, &[language, &flags].concat())).collect()
}

#[track_caller]
fn pass(examples: &[Example]) {
    for example in examples {
        for program in compiled(*example) {
            program.passes();
        }
    }
}

#[test]
fn every_program_is_listed_with_the_section_and_example_that_it_names() {
    let listed: Vec<Example> =
        [ATOMICITY, SETUP, &[GLOBAL_EXIT], TEAMS, ONE_SIDED, ATOMICS, COLLECTIVES, WAITS, MPI].concat();
    let files: BTreeSet<String> = fs::read_dir(folder("tests/spec"))
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry can be read").file_name().into_string().expect("it is ASCII"))
        .collect();
    let names: BTreeSet<String> = listed.iter().map(|(file, ..)| (*file).to_owned()).collect();
    assert_eq!(names, files);
    let numbers: BTreeSet<u32> = listed.iter().map(|(_, _, number, _)| *number).collect();
    // 19, 37 and 48 to 51 are parts of programs.
    let whole: BTreeSet<u32> = (1..=55).filter(|n| ![19, 37, 48, 49, 50, 51].contains(n)).collect();
    assert_eq!((numbers, listed.len()), (whole, files.len()));
    for example in listed {
        let (file, section, number, _) = example;
        let start = format!("/* {section}, example {number}: ");
        assert!(text(example).starts_with(&start), "{file} does not start with {start:?}");
    }
}

#[test]
fn the_examples_of_what_atomics_guarantee_pass() {
    pass(ATOMICITY);
}

#[test]
fn the_examples_of_setup_and_the_first_programs_pass() {
    pass(SETUP);
}

#[test]
fn the_example_of_global_exit_ends_with_its_status_and_what_it_printed() {
    for program in compiled(GLOBAL_EXIT) {
        for n in PES {
            let ended = program.run(n);
            assert_eq!(ended.status, Some(1), "with {n} PEs: {ended:?}");
            assert!(ended.stdout.contains("no input"), "with {n} PEs: {ended:?}");
            let file = folder("Cargo.toml").into_os_string().into_string().expect("it is UTF-8");
            let ended = program.job(n, &[], &[&file]);
            ended.passed(n);
            assert!(ended.stdout.contains("some input"), "with {n} PEs: {ended:?}");
        }
    }
}

#[test]
fn the_examples_with_mpi_pass_under_mpirun_and_pes_are_ranks() {
    for (file, ..) in MPI {
        let source = format!("../spec/{file}");
        let Some(program) = Program::with_mpi(&source, &["-std=c11"]) else { return };
        for n in PES {
            let ended = program.under_mpirun(n, &[]);
            ended.passed(n);
            for pe in 0..n {
                let line = format!("PE {pe}'s MPI rank is {pe}\n");
                assert!(ended.stdout.contains(&line), "{file} with {n} PEs: {ended:?}");
            }
        }
    }
}

#[test]
fn the_examples_of_teams_contexts_and_sessions_pass() {
    pass(TEAMS);
}

#[test]
fn the_examples_of_puts_gets_signals_ordering_and_locks_pass() {
    pass(ONE_SIDED);
}

#[test]
fn the_examples_of_atomic_operations_pass() {
    pass(ATOMICS);
}

#[test]
fn the_examples_of_collectives_pass() {
    pass(COLLECTIVES);
}

#[test]
fn the_examples_of_waits_and_tests_pass() {
    pass(WAITS);
}
