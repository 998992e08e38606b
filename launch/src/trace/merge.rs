//! The recordings of all PEs, put on one clock, and what ended which wait.
//!
//! PEs of one host have one clock. Hosts are put together by the time of day, which differs between
//! them; then collectives correct that, as no PE leaves one before all have come: if one seems to,
//! its host's clock is moved just so far that it does not.

use std::collections::{BTreeMap, HashMap};

use oxshmem_progress::{
    activity::Call,
    record::form::{NO_TARGET, Pair, Record},
};

use super::{
    model::{Event, Flow, Kind, PeTrace, Trace},
    phases::{Marks, named},
    read::Recording,
};

/// The team of all PEs of a host: another one on each.
const SHARED: u64 = 1;

/// A host's clock: nanoseconds of the time of day, from ticks.
#[derive(Clone, Copy, Debug)]
struct Clock {
    first: Pair,
    last: Pair,
    /// Nanoseconds that are added.
    shift: i128,
}

impl Clock {
    fn of(recording: &Recording) -> Self {
        Self { first: recording.first, last: recording.last, shift: 0 }
    }

    /// This clock, with what another PE found when it compared it.
    fn with(self, other: Self) -> Self {
        let first = if other.first.ticks < self.first.ticks { other.first } else { self.first };
        let last = if other.last.ticks > self.last.ticks { other.last } else { self.last };
        Self { first, last, ..self }
    }

    fn at(&self, ticks: u64) -> i128 {
        let Self { first, last, shift } = self;
        let took = |from: u64, to: u64| i128::from(to) - i128::from(from);
        let (elapsed, counted) = (took(first.monotonic, last.monotonic), took(first.ticks, last.ticks));
        let rate = if elapsed > 0 && counted > 0 { elapsed as f64 / counted as f64 } else { 1.0 };
        // Exact to a nanosecond for the months that 53 bits hold.
        let since = (took(first.ticks, ticks) as f64 * rate).round() as i128;
        i128::from(first.of_day) + since + shift
    }
}

/// What the PEs have recorded, as one.
pub(super) fn merged(mut recordings: Vec<Recording>) -> Trace {
    recordings.sort_by_key(|recording| recording.pe);
    recordings.dedup_by_key(|recording| recording.pe);
    let program = recordings.first().map(|first| first.program.clone()).unwrap_or_default();
    let clocks = clocks(&recordings);
    let clock = |recording: &Recording| clocks[&recording.host];
    let start = recordings.iter().map(|recording| clock(recording).at(recording.first.ticks)).min();
    let start = start.unwrap_or_default();
    let (mut pes, mut places, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    for recording in recordings {
        let clock = clock(&recording);
        let time = |ticks| nanoseconds(clock.at(ticks) - start);
        marks.push(Marks::of(&recording, time));
        let (pe, words) = pe_trace(recording, time);
        pes.push(pe);
        places.push(words);
    }
    let phases = named(&mut pes, &marks);
    name_barriers(&mut pes);
    let flows = flows(&pes, &places);
    Trace { program, pes, flows, phases }
}

fn nanoseconds(time: i128) -> u64 {
    time.clamp(0, i128::from(u64::MAX)) as u64
}

/// The words that an event changes or waits for: their place, and how many bytes.
type Words = (u64, u64);

/// What one PE did, and the words of each of its events.
fn pe_trace(recording: Recording, time: impl Fn(u64) -> u64) -> (PeTrace, Vec<Words>) {
    let Recording { pe, pid, host, first, last, finalized, lost, traffic, records, .. } = recording;
    let began = time(first.ticks);
    let latest = |record: &Record| record.begin.max(record.initiated).max(record.completed);
    let ended = match finalized {
        true => time(last.ticks),
        false => time(records.iter().map(latest).max().unwrap_or(0).max(last.ticks)),
    };
    let ended = ended.max(began);
    let calls = records.iter().filter(|record| record.call != Call::Phase);
    let mut events: Vec<(Event, Words)> = calls.map(|record| event(record, ended, &time)).collect();
    drop(records);
    events.sort_by_key(|(event, _)| event.begin);
    let (events, words) = events.into_iter().unzip();
    let phases = Vec::new();
    (PeTrace { pe, host, pid, began, ended, finalized, lost, traffic, events, phases }, words)
}

fn event(record: &Record, ended: u64, time: impl Fn(u64) -> u64) -> (Event, Words) {
    let Record { call, target, bytes, team, number, .. } = *record;
    let kind = Kind::of(call);
    let is_complete = record.completed != 0;
    let begin = time(record.begin);
    let completed = if is_complete { time(record.completed) } else { ended }.max(begin);
    let initiated = time(record.initiated).clamp(begin, completed);
    let waited = match kind {
        Kind::Wait | Kind::Collective => completed - initiated,
        Kind::Operation if blocks(call) => completed - initiated,
        Kind::Operation => 0,
    };
    let words = match kind {
        Kind::Collective => (0, 0),
        _ if call == Call::SessionBatch => (0, 0),
        _ => (number, bytes),
    };
    let event = Event {
        call,
        kind,
        target: (target != NO_TARGET).then_some(target as usize),
        bytes: if kind == Kind::Wait { 0 } else { bytes },
        team,
        number: if words == (0, 0) { number } else { 0 },
        begin,
        initiated,
        completed,
        is_complete,
        waited,
    };
    (event, words)
}

/// Whether a PE that calls it goes on when it is complete.
fn blocks(call: Call) -> bool {
    matches!(
        call,
        Call::Get
            | Call::G
            | Call::Iget
            | Call::Ibget
            | Call::Fetch
            | Call::Swap
            | Call::CompareSwap
            | Call::FetchInc
            | Call::FetchAdd
            | Call::FetchAnd
            | Call::FetchOr
            | Call::FetchXor
    )
}

/// The clock of each host.
fn clocks(recordings: &[Recording]) -> HashMap<String, Clock> {
    let mut clocks: HashMap<String, Clock> = HashMap::new();
    for recording in recordings {
        let clock = Clock::of(recording);
        clocks.entry(recording.host.clone()).and_modify(|all| *all = all.with(clock)).or_insert(clock);
    }
    let Some(first) = recordings.first().map(|recording| recording.host.clone()) else { return clocks };
    if clocks.len() > 1 {
        let bounds = bounds(recordings, &clocks, &first);
        for (host, (least, most)) in bounds {
            if let Some(clock) = clocks.get_mut(&host) {
                clock.shift = shift(least, most);
            }
        }
    }
    clocks
}

/// What to add to a clock that must be moved by at least so much, and by no more than that.
fn shift(least: i128, most: i128) -> i128 {
    if least <= 0 && most >= 0 {
        0
    } else if least > most {
        // They contradict each other, as clocks that drift do: between them.
        least.midpoint(most)
    } else if least > 0 {
        least
    } else {
        most
    }
}

/// By host: how far its clock must be moved at least, and may be at most, so that no PE leaves a
/// collective before those of the `first` host have come, and the other way round.
fn bounds(
    recordings: &[Recording],
    clocks: &HashMap<String, Clock>,
    first: &str,
) -> HashMap<String, (i128, i128)> {
    /// Of the PEs of a host in one collective: when the last has come, and the first has left.
    #[derive(Clone, Copy)]
    struct Stay {
        came: i128,
        left: i128,
    }
    let mut stays: HashMap<(u64, u64), BTreeMap<&str, Stay>> = HashMap::new();
    for recording in recordings {
        let clock = clocks[&recording.host];
        let together = recording.records.iter().filter(|record| {
            meets(record.call) && record.team != SHARED && record.number > 0 && record.completed > 0
        });
        for record in together {
            let stay = Stay { came: clock.at(record.begin), left: clock.at(record.completed) };
            let hosts = stays.entry((record.team, record.number)).or_default();
            hosts
                .entry(&recording.host)
                .and_modify(|all| {
                    *all = Stay { came: all.came.max(stay.came), left: all.left.min(stay.left) };
                })
                .or_insert(stay);
        }
    }
    let mut bounds: HashMap<String, (i128, i128)> = HashMap::new();
    for hosts in stays.values() {
        let Some(there) = hosts.get(first) else { continue };
        for (&host, here) in hosts.iter().filter(|(host, _)| **host != first) {
            let (least, most) = bounds.entry(host.to_owned()).or_insert((i128::MIN / 4, i128::MAX / 4));
            *least = (*least).max(there.came - here.left);
            *most = (*most).min(there.left - here.came);
        }
    }
    bounds
}

/// Whether no PE leaves it before all have come.
fn meets(call: Call) -> bool {
    matches!(
        call,
        Call::Sync
            | Call::Barrier
            | Call::Alltoall
            | Call::Fcollect
            | Call::AndReduce
            | Call::OrReduce
            | Call::XorReduce
            | Call::MinReduce
            | Call::MaxReduce
            | Call::SumReduce
            | Call::ProdReduce
    )
}

/// A barrier is a sync to a PE that has nothing to complete. One that is a barrier to any is one to
/// all.
fn name_barriers(pes: &mut [PeTrace]) {
    let key = |event: &Event| (event.team, event.number);
    let is = |call: Call| move |event: &&Event| event.call == call && event.team != SHARED;
    let all = pes.iter().flat_map(|pe| &pe.events);
    let barriers: std::collections::HashSet<_> = all.filter(is(Call::Barrier)).map(key).collect();
    for event in pes.iter_mut().flat_map(|pe| &mut pe.events) {
        if event.call == Call::Sync && barriers.contains(&key(event)) {
            event.call = Call::Barrier;
        }
    }
}

/// For each wait for words: what other PE, or this one, changed one of them last before it ended;
/// and for each wait for a lock which PE let go of it last, while it was waited for.
fn flows(pes: &[PeTrace], places: &[Vec<Words>]) -> Vec<Flow> {
    let number: HashMap<usize, usize> = pes.iter().enumerate().map(|(i, pe)| (pe.pe, i)).collect();
    let waited: Vec<_> = pes.iter().zip(places).map(|(pe, places)| waited(pe, places)).collect();
    // By the PE whose words they are: by word and time, the changes of those that are waited for.
    let mut changes: Vec<BTreeMap<(u64, u64), (usize, usize)>> = vec![BTreeMap::new(); pes.len()];
    for (i, pe) in pes.iter().enumerate() {
        for (j, event) in pe.events.iter().enumerate() {
            let (word, _) = places[i][j];
            let target = event.target.and_then(|target| number.get(&target));
            if let (Kind::Operation, Some(&target), true) = (event.kind, target, word != 0)
                && is_in(&waited[target], word)
            {
                changes[target].insert((word, event.begin), (i, j));
            }
        }
    }
    let releases = releases(pes, places);
    let mut flows = Vec::new();
    for (i, pe) in pes.iter().enumerate() {
        for (j, event) in pe.events.iter().enumerate() {
            let (word, bytes) = places[i][j];
            if event.kind != Kind::Wait || word == 0 || !event.is_complete {
                continue;
            }
            if is_of_lock(event) {
                let meanwhile = (word, event.begin, 0)..=(word, event.completed, usize::MAX);
                let others = |(_, from): &(_, &(usize, usize))| from.0 != i;
                if let (Call::SetLock, Some((_, &from))) =
                    (event.call, releases.range(meanwhile).rev().find(others))
                {
                    flows.push(Flow { from, to: (i, j) });
                }
                continue;
            }
            let until = (word.saturating_add(bytes.max(1)), 0);
            let in_time = |((_, begin), _): &(&(u64, u64), &(usize, usize))| *begin <= event.completed;
            let last =
                changes[i].range((word, 0)..until).filter(in_time).max_by_key(|((_, begin), _)| *begin);
            if let Some((_, &from)) = last {
                flows.push(Flow { from, to: (i, j) });
            }
        }
    }
    flows
}

/// By lock, which has one place on all PEs, time, and PE: when it was let go.
fn releases(pes: &[PeTrace], places: &[Vec<Words>]) -> BTreeMap<(u64, u64, usize), (usize, usize)> {
    let all = pes.iter().zip(places).enumerate().flat_map(|(i, (pe, places))| {
        pe.events.iter().zip(places).enumerate().map(move |(j, (event, words))| ((i, j), event, words.0))
    });
    all.filter(|(_, event, word)| event.call == Call::ClearLock && *word != 0)
        .map(|(from, event, word)| ((word, event.begin, from.0), from))
        .collect()
}

fn is_of_lock(event: &Event) -> bool {
    matches!(event.call, Call::SetLock | Call::ClearLock)
}

/// The words that a PE waits for, as ranges that do not touch.
fn waited(pe: &PeTrace, places: &[Words]) -> Vec<Words> {
    let waits = pe.events.iter().zip(places);
    let waits =
        waits.filter(|(event, (word, _))| event.kind == Kind::Wait && *word != 0 && !is_of_lock(event));
    let mut ranges: Vec<Words> =
        waits.map(|(_, &(word, bytes))| (word, word.saturating_add(bytes.max(1)))).collect();
    ranges.sort_unstable();
    ranges.dedup_by(|(from, to), (_, before)| {
        let touches = *from <= *before;
        if touches {
            *before = (*before).max(*to);
        }
        touches
    });
    ranges
}

fn is_in(ranges: &[Words], word: u64) -> bool {
    let behind = ranges.partition_point(|&(from, _)| from <= word);
    behind > 0 && word < ranges[behind - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(pe: usize, host: &str, of_day: u64, records: Vec<Record>) -> Recording {
        let first = Pair { ticks: 1000, monotonic: 500, of_day };
        // Two ticks a nanosecond.
        let last = Pair { ticks: 21_000, monotonic: 10_500, of_day: of_day + 10_000 };
        Recording {
            pe,
            n_pes: 2,
            pid: 7,
            host: host.to_owned(),
            program: "program".to_owned(),
            first,
            last,
            finalized: true,
            lost: 0,
            traffic: Vec::new(),
            phases: Vec::new(),
            records,
        }
    }

    fn record(call: Call, target: u32, number: u64, times: [u64; 3]) -> Record {
        let [begin, initiated, completed] = times;
        Record { call, target, bytes: 8, team: 0, number, begin, initiated, completed }
    }

    #[test]
    fn times_are_nanoseconds_since_the_first_record_and_what_is_open_ends_with_its_pe() {
        let put = record(Call::Get, 1, 0, [3000, 3200, 4000]);
        let quiet = record(Call::Quiet, NO_TARGET, 0, [5000, 5000, 0]);
        let trace = merged(vec![recording(0, "a", 10_000, vec![quiet, put])]);
        let [get, quiet] = &trace.pes[0].events[..] else { panic!("{trace:?}") };
        assert_eq!((get.begin, get.initiated, get.completed, get.waited), (1000, 1100, 1500, 400));
        assert_eq!((get.target, get.bytes, get.kind, get.is_complete), (Some(1), 8, Kind::Operation, true));
        assert_eq!((quiet.begin, quiet.completed, quiet.is_complete), (2000, 10_000, false));
        assert_eq!((trace.pes[0].began, trace.pes[0].ended), (0, 10_000));
    }

    #[test]
    fn a_wait_is_ended_by_the_last_change_of_its_word_before() {
        let (word, other) = (1 << 63 | 64, 1 << 63 | 72);
        let changes = vec![
            record(Call::SignalSet, 1, word, [2000, 2000, 2000]),
            record(Call::PutSignal, 1, word, [3000, 3000, 3010]),
            record(Call::P, 1, other, [3500, 3500, 3500]),
            record(Call::P, 1, word, [9000, 9000, 9000]),
        ];
        let wait = record(Call::WaitUntil, NO_TARGET, word, [1500, 1500, 4000]);
        let trace = merged(vec![recording(1, "a", 0, vec![wait]), recording(0, "a", 0, changes)]);
        assert_eq!(trace.flows, [Flow { from: (0, 1), to: (1, 0) }]);
    }

    #[test]
    fn a_wait_for_a_lock_is_ended_by_the_pe_that_let_go_of_it_meanwhile() {
        let (word, other) = (1 << 63 | 64, 1 << 63 | 72);
        let release = |word, begin| record(Call::ClearLock, NO_TARGET, word, [begin, begin, begin + 10]);
        let holder = vec![release(word, 1200), release(word, 3000), release(other, 3500)];
        let request = |begin, end| record(Call::SetLock, NO_TARGET, word, [begin, begin, end]);
        // The second one waits for the network alone.
        let waits = vec![request(1500, 3100), release(word, 3200), request(3300, 3400)];
        let trace = merged(vec![recording(0, "a", 0, holder), recording(1, "a", 0, waits)]);
        assert_eq!(trace.flows, [Flow { from: (0, 1), to: (1, 0) }]);
    }

    #[test]
    fn clocks_that_contradict_a_barrier_are_moved_and_others_are_left_alone() {
        let barrier = |came, left| vec![record(Call::Barrier, NO_TARGET, 5, [came, came, left])];
        // The second host's clock is 5 µs behind: its PE seems to leave before the other one comes.
        let trace = |behind: u64| {
            let late = recording(0, "a", 100_000, barrier(6000, 7000));
            merged(vec![late, recording(1, "b", 100_000 - behind, barrier(2000, 7000))])
        };
        let of = |trace: &Trace, pe: usize| trace.pes[pe].events[0];
        let moved = trace(5000);
        assert_eq!(of(&moved, 1).completed, of(&moved, 0).begin);
        let left = trace(100);
        assert_eq!(of(&left, 1).completed + 100, of(&left, 0).completed);
    }

    #[test]
    fn a_sync_that_is_a_barrier_to_another_pe_is_one() {
        let call = |call| vec![record(call, NO_TARGET, 5, [2000, 2000, 3000])];
        let all = vec![recording(0, "a", 0, call(Call::Sync)), recording(1, "a", 0, call(Call::Barrier))];
        assert!(merged(all).pes.iter().all(|pe| pe.events[0].call == Call::Barrier));
    }
}
