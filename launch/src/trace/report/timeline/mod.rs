//! The timeline of the page: the calls of each PE, packed as bytes that `packed.js` reads.
//!
//! There are two levels. The overview has, for each PE and each of up to [`MOST_BINS`] bins of
//! time, the share of each kind of call. The spans have each call with what the page says of it.
//! Where all of them would make the page too large, the longest calls of each bin stay, and the
//! page says how many do not. The overview counts all of them.

mod pack;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use oxshmem_progress::activity::Call;
use serde_json::{Value, json};

use super::collectives::{TeamKey, key, team_name};
use crate::trace::model::{Event, Kind, PeTrace, Trace};
use pack::{put_signed, put_varint};

/// The bytes that the packed timeline may have in a page, where base64 makes four of three.
pub(super) const BUDGET: usize = 13 << 20;
/// A timeline of calls that have this many bytes each has no need of an overview.
const AMPLE: usize = 500;
/// Bins of the overview, at most.
const MOST_BINS: usize = 4096;
/// Kinds of call that have a colour of their own: puts, gets, atomic operations, waits and
/// collectives.
const COLOURS: usize = 5;

/// A timeline for the page.
pub(super) struct Timeline {
    /// What the page has to know to read the bytes: `{duration, bin, bins, calls: [[name, colour]],
    /// teams: [name], pes: [[PE, its bytes, its spans, its calls]]}`.
    pub(super) head: Value,
    /// The overview, PE by PE and bin by bin, and then the spans of each PE.
    pub(super) bytes: Vec<u8>,
}

/// The timeline of a job, of at most `budget` bytes.
pub(super) fn of(trace: &Trace, budget: usize) -> Timeline {
    let events: usize = trace.pes.iter().map(|pe| pe.events.len()).sum();
    let ends =
        trace.pes.iter().flat_map(|pe| pe.events.iter().map(|event| event.completed).chain([pe.ended]));
    let duration = ends.max().unwrap_or(0);
    let pes = trace.pes.len().max(1);
    let bins = match events {
        few if few <= budget / AMPLE => 0,
        events => MOST_BINS.min(budget / 4 / COLOURS / pes).min(events / pes).max(1),
    };
    let bin = duration / bins.max(1) as u64 + 1;
    let mut bytes = Vec::new();
    if bins > 0 {
        trace.pes.iter().for_each(|pe| put_overview(&mut bytes, pe, bins, bin));
    }
    let names = Names::of(trace);
    let spans = names.fitting(trace, bin, budget.saturating_sub(bytes.len()));
    let pes = trace.pes.iter().zip(&spans);
    let pes: Vec<_> = pes.map(|(pe, it)| json!([pe.pe, it.bytes.len(), it.count, pe.events.len()])).collect();
    spans.iter().for_each(|spans| bytes.extend(&spans.bytes));
    let calls: Vec<_> = names.calls.keys().filter_map(|&code| Call::from_code(code)).collect();
    let head = json!({
        "duration": duration,
        "bin": bin,
        "bins": bins,
        "calls": calls.iter().map(|&call| json!([call.name(), colour(call)])).collect::<Vec<_>>(),
        "teams": names.teams.keys().map(team_name).collect::<Vec<_>>(),
        "pes": pes,
    });
    Timeline { head, bytes }
}

/// Which of the [`COLOURS`] a call has.
fn colour(call: Call) -> usize {
    match Kind::of(call) {
        Kind::Collective => 4,
        Kind::Wait => 3,
        Kind::Operation => match call {
            Call::Put | Call::PutNbi | Call::P | Call::Iput | Call::Ibput | Call::PutOnStream => 0,
            Call::PutSignal | Call::PutSignalNbi | Call::PutSignalOnStream => 0,
            Call::SignalSet | Call::SignalAdd | Call::SignalOpOnStream | Call::SessionBatch => 0,
            Call::Get | Call::GetNbi | Call::G | Call::Iget | Call::Ibget | Call::GetOnStream => 1,
            _ => 2,
        },
    }
}

/// When the PE was in a call. An operation that is under way leaves the PE alone, until it waits
/// for its end.
fn parts(event: &Event) -> [Range<u64>; 2] {
    let completed = event.completed.max(event.begin);
    match event.kind {
        Kind::Operation => {
            let initiated = event.initiated.clamp(event.begin, completed);
            let waits = completed.saturating_sub(event.waited).max(initiated);
            [event.begin..initiated, waits..completed]
        }
        Kind::Wait | Kind::Collective => [event.begin..completed, completed..completed],
    }
}

/// The shares of a PE: a byte for each bin and colour, where 255 is the whole bin. What is not 0 is
/// at least 1.
fn put_overview(bytes: &mut Vec<u8>, pe: &PeTrace, bins: usize, bin: u64) {
    let mut sums = vec![[0_u64; COLOURS]; bins];
    for event in &pe.events {
        let colour = colour(event.call);
        for part in parts(event).into_iter().filter(|part| !part.is_empty()) {
            let places = (part.start / bin) as usize..((part.end - 1) / bin) as usize + 1;
            let firsts = (places.start as u64..).map(|place| place * bin);
            for (sum, begin) in sums[places].iter_mut().zip(firsts) {
                sum[colour] += part.end.min(begin + bin) - part.start.max(begin);
            }
        }
    }
    let share = |sum: &u64| u8::try_from((sum * 255).div_ceil(bin)).unwrap_or(u8::MAX);
    bytes.extend(sums.iter().flatten().map(share));
}

/// The spans of a PE.
#[derive(Default)]
struct Spans {
    bytes: Vec<u8>,
    count: usize,
}

/// What spans mention by number.
struct Names<'a> {
    /// The codes of the calls that the job made, and the number of each.
    calls: BTreeMap<u64, u64>,
    teams: BTreeMap<TeamKey<'a>, u64>,
    /// What ended each wait.
    ended: HashMap<(usize, usize), (usize, usize)>,
}

impl<'a> Names<'a> {
    fn of(trace: &'a Trace) -> Self {
        let (mut calls, mut teams) = (BTreeMap::new(), BTreeMap::new());
        for pe in &trace.pes {
            for event in &pe.events {
                calls.insert(event.call as u64, 0);
                if event.kind == Kind::Collective {
                    teams.insert(key(pe, event).0, 0);
                }
            }
        }
        calls.values_mut().zip(0..).for_each(|(number, next)| *number = next);
        teams.values_mut().zip(0..).for_each(|(number, next)| *number = next);
        let ended = trace.flows.iter().map(|flow| (flow.to, flow.from)).collect();
        Self { calls, teams, ended }
    }

    /// The spans of each PE, in `room` bytes. Of each bin the longest stay, where not all find
    /// room.
    fn fitting(&self, trace: &'a Trace, bin: u64, room: usize) -> Vec<Spans> {
        let counts: Vec<_> = trace.pes.iter().flat_map(|pe| bins_of(pe, bin)).map(|it| it.len()).collect();
        let (events, most) = (counts.iter().sum::<usize>(), counts.iter().copied().max().unwrap_or(0));
        let mut wanted = (room / 12).min(events);
        let mut best = None;
        // How large a span is depends on the job: the first guess shows it.
        for _ in 0..4 {
            let of_a_bin = if wanted == events { most } else { limit(&counts, most, wanted) };
            let spans: Vec<_> = (0..trace.pes.len()).map(|pe| self.spans(trace, pe, bin, of_a_bin)).collect();
            let size: usize = spans.iter().map(|spans| spans.bytes.len()).sum();
            let count: usize = spans.iter().map(|spans| spans.count).sum();
            if size <= room {
                best = Some(spans);
                if count == events || size >= room / 10 * 9 {
                    break;
                }
            }
            // With a margin, which is larger where it was too much.
            let margin = if size <= room { 98 } else { 93 };
            wanted = (count as u128 * room as u128 * margin / 100 / size.max(1) as u128) as usize;
            wanted = wanted.min(events);
        }
        best.unwrap_or_else(|| trace.pes.iter().map(|_| Spans::default()).collect())
    }

    /// The spans of a PE, at most `of_a_bin` of each bin.
    fn spans(&self, trace: &'a Trace, place: usize, bin: u64, of_a_bin: usize) -> Spans {
        let pe = &trace.pes[place];
        let (mut spans, mut before) = (Spans::default(), 0);
        for range in bins_of(pe, bin) {
            for at in longest(pe, range, of_a_bin) {
                let event = &pe.events[at];
                self.put(&mut spans.bytes, trace, (place, at), before);
                before = event.begin;
                spans.count += 1;
            }
        }
        spans
    }

    /// A span, behind one that began at `before`:
    ///
    /// - the number of its call, times 4, plus 2 where there is a number, plus 1 if it did not end;
    /// - how much later than the one before it began, how long it took, and how long it waited;
    /// - of an operation the time until it was initiated, its target + 1 and its bytes;
    /// - of a collective its team and its bytes;
    /// - of a wait 0, or the place of the PE that ended it + 1, with what call, and how long before
    ///   the wait's end that began;
    /// - its number, where there is one.
    fn put(&self, to: &mut Vec<u8>, trace: &'a Trace, (place, at): (usize, usize), before: u64) {
        let (pe, event) = (&trace.pes[place], &trace.pes[place].events[at]);
        let completed = event.completed.max(event.begin);
        let has_number = event.number > 0;
        let number_of = |call: Call| self.calls.get(&(call as u64)).copied().unwrap_or_default();
        put_varint(
            to,
            number_of(event.call) << 2 | u64::from(has_number) << 1 | u64::from(!event.is_complete),
        );
        put_varint(to, event.begin.saturating_sub(before));
        put_varint(to, completed - event.begin);
        put_varint(to, event.waited.min(completed - event.begin));
        match event.kind {
            Kind::Operation => {
                put_varint(to, event.initiated.clamp(event.begin, completed) - event.begin);
                put_varint(to, event.target.map_or(0, |target| target as u64 + 1));
                put_varint(to, event.bytes);
            }
            Kind::Collective => {
                put_varint(to, self.teams.get(&key(pe, event).0).copied().unwrap_or_default());
                put_varint(to, event.bytes);
            }
            Kind::Wait => match self.ended.get(&(place, at)) {
                Some(&(from, which)) => {
                    let signal = &trace.pes[from].events[which];
                    put_varint(to, from as u64 + 1);
                    put_varint(to, number_of(signal.call));
                    put_signed(to, completed as i64 - signal.begin as i64);
                }
                None => put_varint(to, 0),
            },
        }
        if has_number {
            put_varint(to, event.number);
        }
    }
}

/// The events of each bin in which any begins.
fn bins_of(pe: &PeTrace, bin: u64) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = pe.events.get(at)?;
        let end = (first.begin / bin + 1).saturating_mul(bin);
        let count = pe.events[at..].iter().take_while(|event| event.begin < end).count();
        let range = at..at + count;
        at = range.end;
        Some(range)
    })
}

/// The `count` longest events of those, in the order of their begin.
fn longest(pe: &PeTrace, range: Range<usize>, count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = range.collect();
    if count < all.len() {
        let length = |at: &usize| {
            let event = &pe.events[*at];
            (Reverse(event.completed.saturating_sub(event.begin)), *at)
        };
        all.select_nth_unstable_by_key(count, length);
        all.truncate(count);
        all.sort_unstable();
    }
    all
}

/// How many of each bin may stay, so that no more than `wanted` do in all.
fn limit(counts: &[usize], most: usize, wanted: usize) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        let kept: usize = counts.iter().map(|count| middle.min(*count)).sum();
        (low, high) = if kept <= wanted { (middle, high) } else { (low, middle - 1) };
    }
    low
}
