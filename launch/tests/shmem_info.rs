//! `shmem-info` shows the memory that there is, and what would become of partitions.

use std::{fs, process::Command};

/// Its output with these variables, and whether it ended well.
fn shmem_info(args: &[&str], variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shmem-info"));
    let output = command.args(args).envs(variables.iter().copied()).output().expect("it runs");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(text).expect("text"))
}

#[test]
fn nodes_pages_and_partitions_are_shown() {
    let root = std::env::temp_dir().join(format!("oxshmem-info-{}", std::process::id()));
    for (node, cpus) in [(0, "0-3\n"), (1, "\n")] {
        let folder = root.join(format!("node{node}"));
        fs::create_dir_all(&folder).expect("a folder");
        let meminfo = format!("Node {node} MemTotal: 1048576 kB\nNode {node} MemFree: 524288 kB\n");
        fs::write(folder.join("meminfo"), meminfo).expect("a file");
        fs::write(folder.join("cpulist"), cpus).expect("a file");
    }
    let variables = [
        ("SHMEM_NUMA_TOPOLOGY", root.to_str().expect("text")),
        ("SMAX_SYMMETRIC_PARTITION1", "size=64M"),
        ("SMA_SYMMETRIC_PARTITION2", "size=100M:kind=F:policy=M"),
        ("SHMEM_SYMMETRIC_PARTITION3", "size=200M:kind=F:policy=M"),
    ];
    let (good, text) = shmem_info(&["--local-pes", "4"], &variables);
    let (parsed, json) = shmem_info(&["--local-pes", "4", "--json"], &variables);
    fs::remove_dir_all(&root).expect("it is there");
    assert!(good && parsed, "{text}{json}");
    for part in [
        "memory      node 0: Normalmem, 512 of 1024 MiB available\n",
        "memory      node 1: Fastmem, 512 of 1024 MiB available, without processors\n",
        "partition   SMAX_SYMMETRIC_PARTITION1=size=64M:kind=Sysdefault:policy=Sysdefault: 64M for each of 4 PEs (256 MiB)",
        "partition   SMA_SYMMETRIC_PARTITION2=size=100M:kind=Fastmem:policy=Mandatory: 100M for each of 4 PEs (400 MiB)",
        "init would fail: Fastmem, which is node 1 here, can give 512 MiB, of the 800 MiB that 4 PEs need",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["nodes"][1]["fastmem"], &json["nodes"][0]["fastmem"]), (&true.into(), &false.into()));
    assert_eq!(json["partitions"].as_array().map(Vec::len), Some(3));
    assert!(json["huge_pages"].is_array());
}

#[test]
fn devices_are_listed_or_one_line_says_why_there_are_none() {
    let ((good, text), (parsed, json)) = (shmem_info(&[], &[]), shmem_info(&["--json"], &[]));
    assert!(good && parsed, "{text}{json}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("device ")).collect();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    match json["devices_missing"].as_str() {
        Some(why) => assert_eq!(lines, [format!("device      none: {why}")]),
        None => assert_eq!(json["devices"].as_array().map(Vec::len), Some(lines.len())),
    }
    assert!(!lines.is_empty());
}

#[test]
fn a_partition_that_cannot_be_read_is_one_line() {
    let (good, text) = shmem_info(&[], &[("SMAX_SYMMETRIC_PARTITION1", "size=many")]);
    assert!(!good && text.lines().count() == 1, "{text}");
    assert!(text.starts_with("shmem-info: SMAX_SYMMETRIC_PARTITION1=\"size=many\": \"many\" at 6"), "{text}");
}
