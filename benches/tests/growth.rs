//! Nothing that a program may have many of grows faster than n log n.

use std::process::{Command, Output};

/// One PE waits for no other, so that what else the machine does adds little to the least of a few
/// measurements.
fn growth() -> Output {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120", env!("CARGO_BIN_EXE_shmem-perf"), "--growth", "--quick"]);
    command.output().expect("timeout is there")
}

#[test]
fn a_hundred_times_as_many_cost_about_as_much_each() {
    // What grows does so each time.
    let outputs = (0..3).map(|_| growth());
    let mut outputs = outputs.inspect(|output| println!("{}", String::from_utf8_lossy(&output.stdout)));
    assert!(
        outputs.any(|output| output.status.success() && output.stdout.split(|&b| b == b'\n').count() > 14)
    );
}
