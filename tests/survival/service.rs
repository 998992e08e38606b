//! A service that goes on: the example `replicated`, whose PEs are killed and replaced.

use crate::common::{Job, time_limit};

/// The number before `label`.
fn number_before(text: &str, label: &str) -> Option<f64> {
    let (before, _) = text.split_once(label)?;
    before.rsplit([' ', '\n']).next()?.parse().ok()
}

#[test]
fn a_replicated_store_loses_no_acknowledged_write_and_returns_no_old_value() {
    let _limit = time_limit(120);
    let program = std::env::current_exe().expect("this program's path");
    let example = program.ancestors().nth(2).expect("a target folder").join("examples/replicated");
    if !example.exists() {
        return println!("skipped: cargo was not asked to build the examples");
    }
    for hosts in ["1", "2"] {
        // The last argument of the example is in the place of a program.
        let job = Job::of_program("--kill", 4).hosts(hosts).launcher_args(&["--on-loss=continue"]);
        let example = example.to_str().expect("a path in UTF-8");
        let ended = job.launcher_args(&["--respawn", "100", "--", example, "--seconds=6"]).end(|| ());
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
        assert!(ended.stderr.matches("the job goes on").count() >= 2, "{hosts} hosts: {ended:?}");
        assert!(ended.stdout.contains(" acknowledged writes, 0 lost\n0 stale reads\n"), "{ended:?}");
        let acknowledged = number_before(&ended.stdout, " acknowledged writes");
        assert!(acknowledged.is_some_and(|writes| writes > 100.0), "{ended:?}");
    }
}
