//! `cargo xtask fuzz`: changed input for every parser of what another process sends.
//!
//! Each parser has a test beside it, which `runtime/base/src/fuzz.rs` gives what real senders make,
//! changed. Its name ends with [`SUFFIX`]. The same tests run with `cargo test`, with a few hundred
//! inputs that are always the same.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::run::{Failure, Job, Outcome, Verdict};

/// With what the names of these tests end, which their helper sees to.
const SUFFIX: &str = "_whatever_is_sent";

/// Tries each parser for this many seconds.
pub(crate) fn fuzz(seconds: u64) -> Outcome {
    let passed = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&passed);
    // Of the workspace, so that nothing is built that the other tests were not built with.
    Job::cargo("test --workspace --lib --")
        .args([SUFFIX, "--nocapture"])
        .env("OXSHMEM_FUZZ_SECONDS", seconds.to_string())
        .limit(20 * seconds + 1200)
        .run_seen(move |line| {
            let count = line.strip_prefix("test result: ok. ").and_then(|rest| rest.split(' ').next());
            let count = count.and_then(|count| count.parse().ok()).unwrap_or(0);
            // Relaxed: only looked at when the job is over.
            seen.fetch_add(count, Ordering::Relaxed);
        })?;
    match passed.load(Ordering::Relaxed) {
        0 => Err(Failure::new(format!("there is no test whose name ends with {SUFFIX}"))),
        parsers => {
            println!("{parsers} parsers");
            Ok(Verdict::Passed)
        }
    }
}
