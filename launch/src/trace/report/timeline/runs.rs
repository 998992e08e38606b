//! Runs: calls that have no span, those together that follow each other closely.
//!
//! Two calls are in one run if the time between them is less than a gap, which is as small as the
//! room allows. A run is about as long as a bin at most, so that it is never coarser than the
//! overview.

use super::{COLOURS, Spans, colour, pack::put_signed, pack::put_varint, parts, share};
use crate::trace::model::PeTrace;

/// The runs of a PE.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) bytes: Vec<u8>,
    pub(super) count: usize,
}

/// A run that others may still become part of.
#[derive(Clone)]
struct Run {
    begin: u64,
    end: u64,
    calls: u64,
    sums: [u64; COLOURS],
}

/// When a PE was in a call, or in its second part.
struct Part {
    begin: u64,
    end: u64,
    colour: usize,
    calls: u64,
}

/// The runs of each PE, in `room` bytes. None has any if there is no room for those of the largest
/// gap.
pub(super) fn fitting(pes: &[PeTrace], spans: &[Spans], bin: u64, room: usize) -> Vec<Runs> {
    [256, 64, 16, 4, 1]
        .into_iter()
        .find_map(|part| {
            let mut left = room;
            let all = pes.iter().zip(spans).map(|(pe, spans)| {
                let runs = of(pe, spans, bin / part, bin);
                left = left.checked_sub(runs.bytes.len())?;
                Some(runs)
            });
            all.collect()
        })
        .unwrap_or_else(|| pes.iter().map(|_| Runs::default()).collect())
}

fn of(pe: &PeTrace, spans: &Spans, gap: u64, most: u64) -> Runs {
    let (mut runs, mut before) = (Runs::default(), 0);
    let mut open: Option<Run> = None;
    for part in left_out(pe, spans) {
        if let Some(run) = &open
            && (part.begin > run.end + gap || part.begin - run.begin >= most)
        {
            runs.put(run, &mut before);
            open = None;
        }
        let new = Run { begin: part.begin, end: part.end, calls: 0, sums: [0; COLOURS] };
        let run = open.get_or_insert(new);
        run.end = run.end.max(part.end);
        run.calls += part.calls;
        run.sums[part.colour] += part.end - part.begin;
    }
    open.iter().for_each(|run| runs.put(run, &mut before));
    runs
}

/// In the order of their begin.
fn left_out(pe: &PeTrace, spans: &Spans) -> Vec<Part> {
    let mut all = Vec::new();
    for (event, _) in pe.events.iter().zip(&spans.has_span).filter(|(_, has_span)| !**has_span) {
        let [first, second] = parts(event);
        let colour = colour(event.call);
        all.push(Part { begin: first.start, end: first.end, colour, calls: 1 });
        if !second.is_empty() {
            all.push(Part { begin: second.start, end: second.end, colour, calls: 0 });
        }
    }
    all.sort_by_key(|part| part.begin);
    all
}

impl Runs {
    /// How much later it began than the one before ended, how long it took, how many calls it has,
    /// a bit for each kind that it has any of, and the share of each of those, of 255.
    fn put(&mut self, run: &Run, before: &mut u64) {
        let to = &mut self.bytes;
        put_signed(to, run.begin as i64 - *before as i64);
        put_varint(to, run.end - run.begin);
        put_varint(to, run.calls);
        let shares = run.sums.map(|sum| share(sum, (run.end - run.begin).max(1)));
        let kinds = shares.iter().zip(0..).map(|(share, bit)| u8::from(*share > 0) << bit);
        to.push(kinds.sum());
        to.extend(shares.into_iter().filter(|share| *share > 0));
        self.count += 1;
        *before = run.end;
    }
}
