//! `cargo xtask fuzz`: changed input for every parser of what another process sends.
//!
//! Each parser has a test beside it, which `runtime/base/src/fuzz.rs` gives what real senders make,
//! changed. The same tests run with `cargo test`, with a few hundred inputs that are always the
//! same.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::run::{Failure, Job, Outcome, Verdict};

/// By their package: the tests of the parsers.
const PARSERS: [(&str, &[&str]); 4] = [
    (
        "oxshmem-job",
        &[
            "pmix::tests::what_pes_have_put_is_taken_or_refused_whatever_it_is",
            "rendezvous::frame::tests::bytes_are_frames_or_refused_whatever_they_are",
            "rendezvous::hosts::tests::places_survive_the_way_and_others_do_no_harm",
            "wire::tests::datagrams_are_messages_or_refused_whatever_is_in_them",
        ],
    ),
    (
        "oxshmem-net",
        &[
            "fuzz::tests::batches_are_applied_or_refused_whatever_is_in_them",
            "fuzz::tests::heads_are_performed_or_refused_whatever_they_ask",
            "tcp::fuzz::frames_are_served_or_refused_whatever_is_in_them",
            "ucx::fuzz::messages_are_taken_or_dropped_whatever_is_in_them",
        ],
    ),
    ("oxshmem-spaces", &["relay::tests::requests_and_answers_are_taken_or_refused_whatever_is_in_them"]),
    (
        "oxshmem-launch",
        &[
            "oshrun::frame::tests::frames_are_taken_or_refused_whatever_is_in_them",
            "oshrun::exchanges::tests::calls_are_answered_or_refused_in_whatever_order_pes_make_them",
            "trace::read::tests::recordings_are_read_or_refused_whatever_is_in_them",
        ],
    ),
];

/// Tries all parsers, for this many seconds together.
pub(crate) fn fuzz(seconds: u64) -> Outcome {
    let count: u64 = PARSERS.iter().map(|(_, tests)| tests.len() as u64).sum();
    for (package, tests) in PARSERS {
        let line = format!("test --package {package} --lib -- --exact --nocapture --test-threads=1");
        let passed = format!("test result: ok. {} passed", tests.len());
        let ran = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ran);
        Job::cargo(&line)
            .args(tests)
            .env("OXSHMEM_FUZZ_SECONDS", (seconds / count).max(1).to_string())
            .limit(seconds + 1200)
            // Relaxed: only looked at when the job is over.
            .run_seen(move |line| _ = line.starts_with(&passed) && !seen.swap(true, Ordering::Relaxed))?;
        if !ran.load(Ordering::Relaxed) {
            return Err(Failure::new(format!("not all of the tests are there: {}", tests.join(", "))));
        }
    }
    Ok(Verdict::Passed)
}
