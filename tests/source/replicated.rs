//! What the example `replicated` says of histories, and how it draws them.

#[path = "../../examples/replicated/check.rs"]
mod check;
#[allow(dead_code, reason = "no history is recorded here")]
#[path = "../../examples/replicated/history.rs"]
mod history;
#[path = "../../examples/replicated/picture.rs"]
mod picture;

use check::{Report, check};
use history::History;

/// What clients have recorded, one text for each.
fn history(clients: &[&str]) -> History {
    let mut all = History::default();
    clients.iter().for_each(|text| all.add(text).expect("it is well formed"));
    all.entries.sort_by_key(|entry| entry.begin);
    all
}

/// How many acknowledged writes are lost, and how many reads are stale.
fn faults(clients: &[&str]) -> (usize, usize) {
    let Report { lost, stale, .. } = check(&history(clients));
    (lost, stale)
}

#[test]
fn a_read_that_overlaps_a_write_may_return_the_old_value_or_the_new_one() {
    let write = "write 5 0 100 7\ndone 0 200 7";
    assert_eq!(faults(&[write, "read 5 1 150\ndone 0 160 0\nread 5 1 250\ndone 1 260 7"]), (0, 0));
    assert_eq!(faults(&[write, "read 5 1 150\ndone 0 160 7\nread 5 1 250\ndone 1 260 7"]), (0, 0));
}

#[test]
fn the_old_value_after_the_new_one_is_stale() {
    let write = "write 5 0 100 7\ndone 0 200 7";
    let reads = "read 5 1 110\ndone 0 120 7\nread 5 1 130\ndone 1 140 0";
    assert_eq!(faults(&[write, reads]), (0, 1));
    let later = "read 5 1 250\ndone 0 260 0\nread 5 1 270\ndone 1 280 7";
    assert_eq!(faults(&[write, later]), (0, 1), "the write was acknowledged before");
    let of_both = "read 5 1 310\ndone 0 320 8\nread 5 1 330\ndone 1 340 7\nread 5 1 350\ndone 2 360 8";
    assert_eq!(faults(&[write, "write 5 2 110 8\ndone 0 400 8", of_both]).1, 1);
}

#[test]
fn a_value_that_was_not_written_or_not_yet_is_stale() {
    assert_eq!(faults(&["read 5 1 110\ndone 0 120 9"]), (0, 1));
    assert_eq!(faults(&["write 5 0 200 7\ndone 0 300 7", "read 5 1 110\ndone 0 120 7"]), (0, 1));
}

#[test]
fn an_acknowledged_write_that_no_read_has_seen_is_lost() {
    let write = "write 5 0 100 7\ndone 0 200 7";
    assert_eq!(faults(&[write, "read 5 1 250\ndone 0 260 0"]), (1, 0));
    assert_eq!(faults(&[write, "read 6 1 250\ndone 0 260 0"]), (0, 0), "that is another key");
}

#[test]
fn a_write_without_an_acknowledgement_may_be_done_later_or_never() {
    for write in ["write 5 0 100 7\nfailed 0 200", "write 5 0 100 7"] {
        let reads = "read 5 1 250\ndone 0 260 0\nread 5 1 350\ndone 1 360 7";
        assert_eq!(faults(&[write, reads]), (0, 0));
        assert_eq!(faults(&[write, "read 5 1 250\ndone 0 260 0"]), (0, 0));
        let there_and_gone = format!("{reads}\nread 5 1 450\ndone 2 460 0");
        assert_eq!(faults(&[write, &there_and_gone]), (0, 1));
    }
}

#[test]
fn a_pe_that_was_killed_meanwhile_has_not_survived_and_the_picture_shows_it() {
    let millis = 1_000_000;
    let survivor =
        format!("read 5 1 0\nfailed 0 {}\nread 5 1 {}\ndone 1 {} 0", millis, 2 * millis, 3 * millis);
    let killed = format!("read 5 2 {millis}\nfailed 0 {}\nkilled 2 {millis}", 40 * millis);
    let replacement = format!("filled 2 {} {}", 30 * millis, 60 * millis);
    let history = history(&[&survivor, &killed, &replacement]);
    let report = check(&history);
    assert_eq!((report.requests, report.failed, report.acknowledged), (3, 2, 0));
    assert_eq!((report.kills, report.replacements), (1, 1));
    assert_eq!(report.silence, 3 * millis);
    assert_eq!((report.filled, report.filled_from_start), (59 * millis, 30 * millis));
    let text = picture::svg(&history);
    for part in ["3 requests, 1 PEs killed", "PE 2 is killed", ">max<", ">p99<", ">1 ms<", "<polyline"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let empty = picture::svg(&History::default());
    assert!(!empty.contains("NaN") && !empty.contains("inf"), "{empty}");
}
