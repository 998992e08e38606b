//! Memory kinds: partitions of the symmetric heap as C programs use them, and the errors that they
//! get when they misuse them.

mod common;

use common::{PES, Program};

const PARTITIONS: [(&str, &str); 3] = [
    ("SMAX_SYMMETRIC_PARTITION1", "size=8M"),
    ("SMA_SYMMETRIC_PARTITION2", "pgsize=2M:kind=F:policy=P:size=4M"),
    ("SHMEM_SYMMETRIC_PARTITION127", "size=4096K:kind=Normalmem:policy=Interleaved"),
];

#[test]
fn blocks_of_every_partition_are_symmetric_and_resized_and_freed_there() {
    let program = Program::new("kinds.c");
    for n in PES {
        program.job(n, &PARTITIONS, &[]).passed(n);
    }
}

#[test]
fn a_partition_that_is_not_defined_gives_null_and_one_line() {
    let program = Program::new("kinds.c");
    let ended = program.job(3, &PARTITIONS, &["undefined"]);
    ended.passed(3);
    let lines: Vec<_> = ended.stderr.lines().filter(|line| line.contains("returns null")).collect();
    let [line] = lines[..] else { panic!("{}", ended.stderr) };
    assert!(
        line.contains("shmemx_kind_malloc: partition -1 is not from 1 to SHMEMX_MAX_PARTITION_ID"),
        "{line}"
    );

    let ended = program.job(2, &[("SMAX_SYMMETRIC_PARTITION5", "size=1M")], &["no_first"]);
    ended.passed(2);
    let lines = ended.stderr.lines().filter(|line| line.contains("returns null")).collect::<Vec<_>>();
    let [line] = lines[..] else { panic!("{}", ended.stderr) };
    for part in
        ["shmem_malloc: partition 1 is not defined", "SMAX_SYMMETRIC_PARTITION1 is not set", "defined are 5"]
    {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn blocks_of_partitions_are_freed_also_where_the_default_space_is_a_device() {
    let device = [
        ("SHMEM_ENABLE_CPU_SPACE", "1"),
        ("SHMEM_ENABLE_GPU_SPACE", "1"),
        ("SHMEM_GPU_EMULATE", "1"),
        ("SHMEM_GPU_SYMMETRIC_SIZE", "4M"),
        ("SHMEM_DEFAULT_SPACE", "GPU"),
    ];
    let variables = [&PARTITIONS[..], &device[..]].concat();
    Program::new("kinds.c").job(2, &variables, &["device"]).passed(2);
}

#[test]
fn what_is_wrong_with_a_call_ends_the_job() {
    let program = Program::new("kinds.c");
    program.job(2, &PARTITIONS, &["different"]).failed_with(&[
        "shmemx_kind_malloc",
        "PE 0",
        "in partition 1",
        "PE 1",
        "in partition 2",
    ]);
    let ended = program.job(1, &PARTITIONS, &["alignment"]);
    ended.passed(1);
    let line = "shmemx_kind_align: an alignment of 24 bytes is not a power of two";
    assert!(ended.stderr.contains(line), "{ended:?}");
}

#[test]
fn what_is_wrong_with_a_variable_ends_the_job_at_its_beginning() {
    let program = Program::new("kinds.c");
    for (variables, parts) in [
        (
            &[("SMAX_SYMMETRIC_PARTITION1", "size=1M:kind=Fast:policy=M")][..],
            &["\"Fast\" at 14", "Fastmem"][..],
        ),
        (
            &[("SMAX_SYMMETRIC_PARTITION1", "size=1M"), ("SMA_SYMMETRIC_SIZE", "1M")],
            &["SMA_SYMMETRIC_SIZE is set too"],
        ),
        (&[("SMAX_SYMMETRIC_PARTITION128", "size=1M")], &["SMAX_SYMMETRIC_PARTITION128", "1 to 127"]),
        (&[("SMAX_SYMMETRIC_PARTITION2000", "size=1M")], &["SMAX_SYMMETRIC_PARTITION2000", "1 to 127"]),
        (
            &[("SMAX_SYMMETRIC_PARTITION3", "size=1M"), ("SHMEM_SYMMETRIC_PARTITION3", "size=1M")],
            &["SMAX_SYMMETRIC_PARTITION3", "SHMEM_SYMMETRIC_PARTITION3"],
        ),
    ] {
        program.job(2, variables, &[]).failed_with(parts);
    }
}

#[test]
fn the_example_runs_with_and_without_its_partitions() {
    let example = Program::new("../../../examples/hbm.c");
    let variables = [
        ("SMA_SYMMETRIC_PARTITION1", "size=64M:kind=S:pgsize=2M:policy=S"),
        ("SMA_SYMMETRIC_PARTITION2", "kind=Fastmem:policy=Preferred:size=64M:pgsize=8M"),
    ];
    for n in [1, 2, 4] {
        let ended = example.job(n, &variables, &[]);
        ended.passed(n);
        assert!(ended.stdout.contains("array_B in partition 2"), "{}", ended.stdout);
        let ended = example.job(n, &[], &[]);
        ended.passed(n);
        assert!(ended.stdout.contains("array_B in partition 1"), "{}", ended.stdout);
    }
}
