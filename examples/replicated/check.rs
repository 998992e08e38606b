//! Whether a history is that of numbers which each change at one instant, and what else it shows.
//!
//! A write and the reads that have returned its value are a *cluster*. As no two writes have the
//! same value, a history of one key is linearizable if and only if (Gibbons and Korach, Testing
//! shared memories, 1997): no read ends before its write begins; the times in which values must
//! have been there, from the first end to the last begin of a cluster, do not overlap; and none of
//! them has a cluster inside, from the last begin to the first end, of which all might be at one
//! instant.
//!
//! A write without an acknowledgement may be done at any later time, or never: if no read has
//! returned its value, it counts as never done.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use super::history::{Entry, History, Outcome, Request};

/// What a history shows. Times are in nanoseconds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) requests: usize,
    pub(crate) acknowledged: usize,
    /// Requests that failed, at PEs that were lost and at others.
    pub(crate) failed: usize,
    pub(crate) kills: usize,
    /// Acknowledged writes that no read has seen which had to.
    pub(crate) lost: usize,
    /// Values that were read after others had taken their place, and values never written.
    pub(crate) stale: usize,
    /// The longest time for which a PE that was not lost meanwhile has not answered a request.
    pub(crate) silence: u64,
    /// The longest time from a kill until the replacement had its keys, and the part of it from the
    /// beginning of its process.
    pub(crate) filled: u64,
    pub(crate) filled_from_start: u64,
    pub(crate) replacements: usize,
}

impl Report {
    #[allow(dead_code, reason = "tests look at the numbers")]
    pub(crate) fn is_right(&self) -> bool {
        (self.lost, self.stale) == (0, 0)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |nanos: u64| nanos as f64 / 1e6;
        writeln!(f, "{} requests, {} of which failed", self.requests, self.failed)?;
        writeln!(f, "{} acknowledged writes, {} lost", self.acknowledged, self.lost)?;
        writeln!(f, "{} stale reads", self.stale)?;
        writeln!(f, "{} kills, {} replacements", self.kills, self.replacements)?;
        writeln!(f, "{:.0} ms without an answer of a PE that survived, at most", millis(self.silence))?;
        write!(
            f,
            "{:.0} ms from a kill until its replacement was filled, at most; {:.0} ms of its process",
            millis(self.filled),
            millis(self.filled_from_start)
        )
    }
}

/// What the history shows.
pub(crate) fn check(history: &History) -> Report {
    let mut report = Report {
        requests: history.entries.len(),
        kills: history.kills.len(),
        replacements: history.replacements.len(),
        ..Report::default()
    };
    let mut keys: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in &history.entries {
        match (entry.request, entry.end) {
            (Request::Write(_), Some((_, Outcome::Done(_)))) => report.acknowledged += 1,
            (_, Some((_, Outcome::Failed))) => report.failed += 1,
            _ => {}
        }
        keys.entry(entry.key).or_default().push(entry);
    }
    for entries in keys.values() {
        let (lost, stale) = check_key(entries);
        report.lost += lost;
        report.stale += stale;
    }
    let mut absences = Vec::new();
    for &(pe, killed) in &history.kills {
        let replacements = history.replacements.iter().filter(|&&(of, _, end)| of == pe && end > killed);
        let next = replacements.min_by_key(|&&(.., end)| end);
        if let Some(&(_, begin, end)) = next {
            report.filled = report.filled.max(end - killed);
            report.filled_from_start = report.filled_from_start.max(end - begin);
        }
        absences.push((pe, killed, next.map_or(u64::MAX, |&(.., end)| end)));
    }
    report.silence = silence(&history.entries, &absences);
    report
}

/// The longest time without an answer to a request, of PEs while they are there.
fn silence(entries: &[Entry], absences: &[(usize, u64, u64)]) -> u64 {
    let (mut longest, mut since) = (0, HashMap::new());
    for entry in entries {
        let Some((end, outcome)) = entry.end else { continue };
        let is_absent = |&(pe, from, to): &_| pe == entry.pe && from <= end && entry.begin <= to;
        if absences.iter().any(is_absent) {
            since.remove(&entry.pe);
            continue;
        }
        let begin = *since.entry(entry.pe).or_insert(entry.begin);
        longest = longest.max(end - begin);
        if outcome != Outcome::Failed {
            since.remove(&entry.pe);
        }
    }
    longest
}

/// A write and what has read it.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    write_begin: u64,
    first_end: u64,
    last_begin: u64,
    reads: usize,
    is_acknowledged: bool,
}

/// How many acknowledged writes of one key are lost, and how many reads are stale.
fn check_key(entries: &[&Entry]) -> (usize, usize) {
    let (mut clusters, mut lost, mut stale) = (HashMap::new(), 0, 0);
    // The value at first.
    let first = Cluster { write_begin: 0, first_end: 0, last_begin: 0, reads: 0, is_acknowledged: true };
    clusters.insert(0, first);
    for entry in entries {
        let Request::Write(value) = entry.request else { continue };
        let acknowledged = match entry.end {
            Some((end, Outcome::Done(_))) => Some(end),
            _ => None,
        };
        let cluster = Cluster {
            write_begin: entry.begin,
            first_end: acknowledged.unwrap_or(u64::MAX),
            last_begin: entry.begin,
            reads: 0,
            is_acknowledged: acknowledged.is_some(),
        };
        clusters.insert(value, cluster);
    }
    for entry in entries {
        let (Request::Read, Some((end, Outcome::Done(value)))) = (entry.request, entry.end) else { continue };
        match clusters.get_mut(&value) {
            Some(cluster) if cluster.write_begin <= end => {
                cluster.first_end = cluster.first_end.min(end);
                cluster.last_begin = cluster.last_begin.max(entry.begin);
                cluster.reads += 1;
            }
            _ => stale += 1,
        }
    }
    let clusters = clusters.into_values().filter(|cluster| cluster.is_acknowledged || cluster.reads > 0);
    let (mut there, instants): (Vec<Cluster>, Vec<Cluster>) =
        clusters.partition(|cluster| cluster.first_end < cluster.last_begin);
    there.sort_by_key(|cluster| cluster.first_end);
    stale += there.windows(2).filter(|pair| pair[1].first_end < pair[0].last_begin).count();
    for instant in &instants {
        let before = there.partition_point(|cluster| cluster.first_end < instant.last_begin);
        let around = before.checked_sub(1).map(|i| &there[i]);
        if around.is_some_and(|cluster| instant.first_end < cluster.last_begin) {
            if instant.reads == 0 { lost += 1 } else { stale += 1 }
        }
    }
    (lost, stale)
}
