//! The recording of what a C program does, the routine that switches it, and that of its phases.

mod common;

use std::{fs, process::Command};

use common::{Ended, Program, programs};

#[test]
fn what_a_program_does_is_recorded_unless_it_switches_that_off() {
    let program = Program::new("tracing.c");
    // Nothing is recorded, and nothing happens.
    program.passes();
    let folder = std::env::temp_dir().join(format!("capi-tracing-{}", std::process::id()));
    let shown = folder.to_str().expect("a readable path");
    for n in [1, 3] {
        program.job(n, &[("SHMEM_TRACE", shown)], &[]).passed(n);
        let ended = Ended::of(Command::new(programs().join("oshrun")).args(["--trace-report", shown]));
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains("trace.json"), "{}", ended.stderr);
        let json = fs::read_to_string(folder.join("trace.json")).expect("it was written");
        let count = |call: &str| json.matches(&format!("\"ph\":\"X\",\"name\":\"{call}\"")).count();
        // One of the barriers is that of `shmem_init`.
        for (call, each) in
            [("p", 1), ("put", 1), ("add", 1), ("g", 1), ("put_signal", 1), ("barrier", 3), ("finalize", 1)]
        {
            assert_eq!(count(call), each * n, "{call}: {json}");
        }
        let phases = |name: &str| json.matches(&format!("\"name\":\"{name}\",\"cat\":\"phase\"")).count();
        assert_eq!(
            ["operations", "not\u{fffd}recorded", "signals", "too early", "too late"].map(phases),
            [n, n, n, 0, 0],
            "{json}"
        );
        let _ = fs::remove_dir_all(&folder);
    }
}
