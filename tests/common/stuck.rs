//! Reports about PEs that are stuck, taken apart.
#![allow(dead_code, reason = "each test file uses some of it")]

use oxshmem::{Result, World};

use crate::common::Ended;

/// The lines that start so.
pub(crate) fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

/// The rows of the last table, each as its cells.
pub(crate) fn rows(ended: &Ended) -> Vec<Vec<&str>> {
    let lines: Vec<_> = ended.stderr.lines().collect();
    let head = lines.iter().rposition(|line| line.trim_start().starts_with("PE  "));
    let head = head.unwrap_or_else(|| panic!("there is no table in {}", ended.stderr));
    let rows = lines.into_iter().skip(head + 1).take_while(|line| line.starts_with("  "));
    rows.map(|row| row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect()
}

/// What PE `pe` reports that it is stuck in: the text behind the time. It reports it once.
#[track_caller]
pub(crate) fn report_of(ended: &Ended, pe: usize) -> &str {
    let all = lines(&ended.stderr, &format!("oxshmem: PE {pe} on host "));
    let [line] = all[..] else { panic!("PE {pe} has reported {all:?}: {}", ended.stderr) };
    let (_, what) = line.split_once(" s in ").unwrap_or_else(|| panic!("{line}"));
    what
}

/// Takes the team off a text, `X on team 3.17 Y`, and returns the rest, `X on team Y`: which place
/// a team has is its own affair.
#[track_caller]
pub(crate) fn without_team(text: &str) -> String {
    let (before, after) = text.split_once("on team ").unwrap_or_else(|| panic!("no team is in {text}"));
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let name = &after[..after.len() - rest.len()];
    let (split, place) = name.split_once('.').unwrap_or_else(|| panic!("{name} is no team: {text}"));
    let number = |digits: &str| digits.parse::<u64>().unwrap_or_else(|_| panic!("{name} is no team: {text}"));
    assert!(number(split) > 0 && number(place) < 1 << 16, "{text}");
    format!("{before}on team{rest}")
}

/// Runs `body` as the main function of a PE, which may fail.
pub(crate) fn main_of<F: Future<Output = Result<()>>>(body: impl FnOnce(World) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Err(error) = runtime.block_on(async { body(oxshmem::init().await?).await }) {
        eprintln!("Error: {error}");
        std::process::exit(1);
    }
}
