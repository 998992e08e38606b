//! Mutated input for the parsers of what another process sends: `cargo xtask fuzz`.
//!
//! A parser gets what a real sender has made, with some of its bytes changed, cut off, doubled or
//! set to numbers that lie at an edge. It may refuse that or not, but must not panic, and must not
//! ask for memory that the input does not account for. As a plain test it sees a few hundred
//! inputs, always the same; `cargo xtask fuzz` has other ones each time, for this many seconds.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// For how many seconds each parser is tried.
const SECONDS: &str = "OXSHMEM_FUZZ_SECONDS";

/// A change. Places are taken modulo the length.
#[derive(Clone, Debug)]
enum Change {
    Byte(usize, u8),
    Bit(usize, u32),
    /// A word at a place that is a multiple of its size.
    Word(usize, u64),
    Cut(usize),
    /// This many bytes more.
    Grow(usize, u8),
    /// Bytes of one place at another.
    Copy(usize, usize, usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        match *self {
            Self::Grow(by, byte) => bytes.resize(len + by, byte),
            _ if len == 0 => {}
            Self::Byte(at, byte) => bytes[at % len] = byte,
            Self::Bit(at, bit) => bytes[at % len] ^= 1 << bit,
            Self::Word(at, word) => {
                let at = (at % len) & !7;
                let end = (at + 8).min(len);
                bytes[at..end].copy_from_slice(&word.to_ne_bytes()[..end - at]);
            }
            Self::Cut(to) => bytes.truncate(to % len),
            Self::Copy(from, to, count) => {
                let (from, to) = (from % len, to % len);
                let count = count.min(len - from).min(len - to);
                bytes.copy_within(from..from + count, to);
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let word = prop_oneof![
        any::<u64>(),
        (0..64u32).prop_map(|bit| 1 << bit),
        (0..64u32).prop_map(|bit| (1u64 << bit).wrapping_sub(1)),
        (0..4096u64),
        (0..4096u64).prop_map(|below| u64::MAX - below),
    ];
    prop_oneof![
        3 => (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        3 => (any::<usize>(), 0..8u32).prop_map(|(at, bit)| Change::Bit(at, bit)),
        4 => (any::<usize>(), word).prop_map(|(at, word)| Change::Word(at, word)),
        1 => any::<usize>().prop_map(Change::Cut),
        1 => (0..64usize, any::<u8>()).prop_map(|(by, byte)| Change::Grow(by, byte)),
        1 => (any::<usize>(), any::<usize>(), 0..64usize)
            .prop_map(|(from, to, count)| Change::Copy(from, to, count)),
    ]
}

/// Has `parse` make what it can of `real` input that was changed, and of what was not. A panic of
/// it fails the test, with the least input that brings it about. The name of the test ends with
/// `_whatever_is_sent`, by which `cargo xtask fuzz` finds it.
pub fn mutated(real: &[Vec<u8>], parse: impl Fn(&[u8])) {
    // The harness names a test's thread so, unless it has only one.
    let test = thread::current().name().unwrap_or_default().to_owned();
    assert!(test == "main" || test.ends_with("_whatever_is_sent"), "cargo xtask fuzz does not find {test}");
    real.iter().for_each(|input| parse(input));
    let seconds = env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let inputs = (0..real.len(), prop::collection::vec(change(), 1..6)).prop_map(|(which, changes)| {
        let mut bytes = real[which].clone();
        changes.iter().for_each(|change| change.apply(&mut bytes));
        bytes
    });
    let mut tried = 0;
    loop {
        let config = Config { failure_persistence: None, ..Config::default() };
        let cases = config.cases;
        let mut runner = match until {
            None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
            Some(_) => TestRunner::new(config),
        };
        let outcome = runner.run(&inputs, |bytes| {
            parse(&bytes);
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
        tried += cases;
        if until.is_none_or(|until| Instant::now() >= until) {
            return println!("{tried} inputs");
        }
    }
}

/// The bytes of words.
#[allow(dead_code, reason = "not all users have words")]
pub fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The whole words of bytes.
#[allow(dead_code, reason = "not all users have words")]
pub fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|&word| u64::from_ne_bytes(word)).collect()
}
