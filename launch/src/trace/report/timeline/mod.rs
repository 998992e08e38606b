//! The timeline of the page: the calls of each PE, packed as bytes that `packed.js` reads.
//!
//! There are three levels. The overview has, for each PE and each of up to [`MOST_BINS`] bins of
//! time, the share of each kind of call. The spans have each call with what the page says of it.
//! Where all of them would make the page too large, the longest calls of the job stay, and some of
//! each bin, and the page says how many do not. The others are in [`runs`]: those that follow each
//! other closely are one, with their number and the share of each kind. Where not even a run for
//! each bin finds room there are none, and the page shows what the overview has besides the spans.
//!
//! The overview counts all calls. The page draws it where more calls are in view than it can draw
//! quickly: with sums of it over PEs and bins, what a row has in a column of pixels takes four
//! numbers, however many PEs and bins that is.

mod pack;
mod phases;
mod runs;
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
pub(super) const BUDGET: usize = 20 << 20;
/// A timeline of calls that have this many bytes each has no need of an overview.
const AMPLE: usize = 500;
/// Bytes of a span or a run, about. Where not all spans find room, a third of it is for runs.
const TYPICAL: usize = 14;
/// Bins of the overview, at most.
const MOST_BINS: usize = 4096;
/// Kinds of call that have a colour of their own: puts, gets, atomic operations, waits and
/// collectives.
const COLOURS: usize = 5;

/// A timeline for the page.
pub(super) struct Timeline {
    /// What the page has to know to read the bytes: `{duration, bin, bins, calls: [[name, colour]],
    /// teams: [name], phases: [name], shortPhases, pes: [[PE, bytes of its spans, spans, its calls,
    /// bytes of its runs, runs, its phases]]}`. The phases of a PE are `[[begin, which of the
    /// names]]`, with null where phases end. `shortPhases` is how many are left out.
    pub(super) head: Value,
    /// The overview, PE by PE and bin by bin, then the spans of each PE, and then its runs.
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
    let room = budget.saturating_sub(bytes.len());
    // A run for each bin has to find room, as otherwise the overview is finer.
    let is_alone = events <= room / TYPICAL || room / 3 < bins * trace.pes.len() * TYPICAL;
    let spans = names.fitting(trace, bin, if is_alone { room } else { room / 3 * 2 });
    let taken: usize = spans.iter().map(|spans| spans.bytes.len()).sum();
    let runs = runs::fitting(&trace.pes, &spans, bin, room - taken);
    let (phases, short) = phases::within(trace, phases::MOST);
    let parts = spans.iter().zip(&runs).zip(phases);
    let head = |(pe, ((spans, runs), phases)): (&PeTrace, ((&Spans, &runs::Runs), phases::Changes))| {
        let (spans_bytes, runs_bytes) = (spans.bytes.len(), runs.bytes.len());
        json!([pe.pe, spans_bytes, spans.count, pe.events.len(), runs_bytes, runs.count, phases])
    };
    let pes: Vec<_> = trace.pes.iter().zip(parts).map(head).collect();
    for (spans, runs) in spans.iter().zip(&runs) {
        bytes.extend(&spans.bytes);
        bytes.extend(&runs.bytes);
    }
    let calls: Vec<_> = names.calls.keys().filter_map(|&code| Call::from_code(code)).collect();
    let head = json!({
        "duration": duration,
        "bin": bin,
        "bins": bins,
        "calls": calls.iter().map(|&call| json!([call.name(), colour(call)])).collect::<Vec<_>>(),
        "teams": names.teams.keys().map(team_name).collect::<Vec<_>>(),
        "phases": trace.phases,
        "shortPhases": short,
        "pes": pes,
    });
    Timeline { head, bytes }
}

/// Which of the [`COLOURS`] a call has.
pub(super) fn colour(call: Call) -> usize {
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
    bytes.extend(sums.iter().flatten().map(|&sum| share(sum, bin)));
}

/// Of 255, rounded up.
fn share(time: u64, of: u64) -> u8 {
    u8::try_from((time * 255).div_ceil(of)).unwrap_or(u8::MAX)
}

/// The spans of a PE.
#[derive(Default)]
struct Spans {
    bytes: Vec<u8>,
    count: usize,
    /// Which of the PE's calls have one.
    has_span: Vec<bool>,
}

/// What the span before ended at, and the number of the last collective.
#[derive(Default)]
struct Before {
    end: u64,
    number: u64,
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

    /// The spans of each PE, in `room` bytes. Where not all find room, two thirds are for the
    /// longest of the job, and a third for the longest of each bin.
    fn fitting(&self, trace: &'a Trace, bin: u64, room: usize) -> Vec<Spans> {
        let counts: Vec<_> = trace.pes.iter().flat_map(|pe| bins_of(pe, bin)).map(|it| it.len()).collect();
        let (events, most) = (counts.iter().sum::<usize>(), counts.iter().copied().max().unwrap_or(0));
        let lengths = lengths(trace);
        let mut all = lengths.concat();
        let mut wanted = (room / TYPICAL).min(events);
        let mut best = None;
        // How large a span is depends on the job: the first guess shows it.
        for _ in 0..4 {
            let least = match wanted / 3 * 2 {
                0 => u64::MAX,
                longest => *all.select_nth_unstable(events - longest).1,
            };
            let of_a_bin = if wanted == events { most } else { limit(&counts, most, wanted / 3) };
            let chosen = |pe: usize| chosen(&trace.pes[pe], &lengths[pe], bin, of_a_bin, least);
            let spans: Vec<_> = (0..trace.pes.len()).map(|pe| self.spans(trace, pe, chosen(pe))).collect();
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
            wanted = (wanted as u128 * room as u128 * margin / 100 / size.max(1) as u128) as usize;
            wanted = wanted.min(events);
        }
        best.unwrap_or_else(|| trace.pes.iter().map(|_| Spans::default()).collect())
    }

    /// The spans of those calls of a PE.
    fn spans(&self, trace: &'a Trace, place: usize, calls: Vec<usize>) -> Spans {
        let has_span = vec![false; trace.pes[place].events.len()];
        let mut spans = Spans { count: calls.len(), has_span, ..Spans::default() };
        let mut before = Before::default();
        for at in calls {
            self.put(&mut spans.bytes, trace, (place, at), &mut before);
            spans.has_span[at] = true;
        }
        spans
    }

    /// A span:
    ///
    /// - the number of its call, times 4, plus 2 where there is a number, plus 1 if it did not end;
    /// - how much later it began than the one before it ended, and how long it took;
    /// - of an operation how long it waited, the time until it was initiated, its target + 1 and
    ///   its bytes;
    /// - of a collective how much of it did not wait, its team and its bytes;
    /// - of a wait how much of it did not wait, and 0, or the place of the PE that ended it + 1,
    ///   with what call, and how long before the wait's end that began;
    /// - its number, where there is one. Of a collective: how much larger than that of the one
    ///   before.
    fn put(&self, to: &mut Vec<u8>, trace: &'a Trace, (place, at): (usize, usize), before: &mut Before) {
        let (pe, event) = (&trace.pes[place], &trace.pes[place].events[at]);
        let completed = event.completed.max(event.begin);
        let has_number = event.number > 0;
        let number_of = |call: Call| self.calls.get(&(call as u64)).copied().unwrap_or_default();
        put_varint(
            to,
            number_of(event.call) << 2 | u64::from(has_number) << 1 | u64::from(!event.is_complete),
        );
        put_signed(to, event.begin as i64 - before.end as i64);
        before.end = completed;
        let length = completed - event.begin;
        put_varint(to, length);
        let waited = event.waited.min(length);
        put_varint(to, if event.kind == Kind::Operation { waited } else { length - waited });
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
        if has_number && event.kind == Kind::Collective {
            put_signed(to, event.number as i64 - before.number as i64);
            before.number = event.number;
        } else if has_number {
            put_varint(to, event.number);
        }
    }
}

/// How long the calls of each PE took. The calls of a collective are as long as its longest: the PE
/// that came last, which was not in it for long, matters as much as those that waited for it.
fn lengths(trace: &Trace) -> Vec<Vec<u64>> {
    let mut collectives = HashMap::new();
    for pe in &trace.pes {
        for event in pe.events.iter().filter(|event| event.kind == Kind::Collective) {
            let longest = collectives.entry(key(pe, event)).or_insert(0);
            *longest = length(event).max(*longest);
        }
    }
    let length = |pe, event: &Event| match event.kind {
        Kind::Collective => collectives.get(&key(pe, event)).copied().unwrap_or_default(),
        Kind::Operation | Kind::Wait => length(event),
    };
    trace.pes.iter().map(|pe| pe.events.iter().map(|event| length(pe, event)).collect()).collect()
}

fn length(event: &Event) -> u64 {
    event.completed.saturating_sub(event.begin)
}

/// The `of_a_bin` longest calls of each bin, and all that are longer than `least`, in the order of
/// their begin.
fn chosen(pe: &PeTrace, lengths: &[u64], bin: u64, of_a_bin: usize, least: u64) -> Vec<usize> {
    let mut chosen = Vec::new();
    for range in bins_of(pe, bin) {
        let longer = lengths[range.clone()].iter().filter(|length| **length > least).count();
        chosen.extend(longest(lengths, range, of_a_bin.max(longer)));
    }
    chosen
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

/// The `count` longest calls of those, in the order of their begin.
fn longest(lengths: &[u64], range: Range<usize>, count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = range.collect();
    if count < all.len() {
        all.select_nth_unstable_by_key(count, |at| (Reverse(lengths[*at]), *at));
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
