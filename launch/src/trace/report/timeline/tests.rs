use super::*;
use crate::trace::{
    model::Flow,
    report::synthetic::{self, event},
};

/// The number of its call, its begin, its length, and all of what else it has.
type Span = (usize, u64, u64, Vec<u64>);

/// Reads what the page reads.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = self.0.split_first().expect("there is more");
            self.0 = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }

    fn signed(&mut self) -> i64 {
        let value = self.number();
        (value >> 1) as i64 ^ -((value & 1) as i64)
    }

    /// A span behind one that ended at `before`.
    fn span(&mut self, before: u64, colours: &[u64]) -> Span {
        let head = self.number();
        let call = (head >> 2) as usize;
        let (begin, length, waited) =
            (before.wrapping_add_signed(self.signed()), self.number(), self.number());
        let mut more = vec![waited];
        match colours[call] {
            3 => {
                more.push(self.number());
                if more[1] > 0 {
                    more.extend([self.number(), self.number()]);
                }
            }
            4 => more.extend([self.number(), self.number()]),
            _ => more.extend([self.number(), self.number(), self.number()]),
        }
        if head & 2 > 0 {
            more.push(self.number());
        }
        (call, begin, length, more)
    }
}

/// The spans of each PE.
fn spans(timeline: &Timeline) -> Vec<Vec<Span>> {
    let (head, mut at) = (&timeline.head, overview_size(timeline));
    let calls = head["calls"].as_array().expect("it is a list");
    let colours: Vec<_> = calls.iter().map(|call| call[1].as_u64().expect("it is a number")).collect();
    let mut all = Vec::new();
    for pe in head["pes"].as_array().expect("it is a list") {
        let [size, count, of_runs] = [1, 2, 4].map(|place| pe[place].as_u64().expect("it is a number"));
        let mut reader = Reader(&timeline.bytes[at..at + size as usize]);
        let (mut spans, mut before) = (Vec::new(), 0);
        for _ in 0..count {
            let span = reader.span(before, &colours);
            before = span.1 + span.2;
            spans.push(span);
        }
        assert!(reader.0.is_empty(), "a PE has no other bytes");
        at += (size + of_runs) as usize;
        all.push(spans);
    }
    assert_eq!(at, timeline.bytes.len());
    all
}

fn overview_size(timeline: &Timeline) -> usize {
    let (bins, pes) = (&timeline.head["bins"], &timeline.head["pes"]);
    bins.as_u64().expect("it is a number") as usize * COLOURS * pes.as_array().map_or(0, Vec::len)
}

fn sum(head: &Value, place: usize) -> usize {
    let pes = head["pes"].as_array().expect("it is a list");
    pes.iter().map(|pe| pe[place].as_u64().expect("it is a number") as usize).sum()
}

#[test]
fn a_span_has_all_that_the_page_says_of_its_call() {
    let put = Event { target: Some(1), bytes: 300, ..event(Call::PutSignal, 1000, 1010, 2000, 40) };
    let barrier = Event { number: 7, bytes: 8, ..event(Call::Barrier, 3000, 3001, 3500, 450) };
    let wait = Event { is_complete: false, ..event(Call::WaitUntil, 900, 900, 1900, 1000) };
    let pe = |pe, events| PeTrace { pe, ended: 4000, events, ..PeTrace::default() };
    let pes = vec![pe(0, vec![put, barrier]), pe(1, vec![wait])];
    let trace = Trace { pes, flows: vec![Flow { from: (0, 0), to: (1, 0) }], ..Trace::default() };
    let timeline = of(&trace, BUDGET);
    let names = json!([["wait_until", 3], ["barrier", 4], ["put_signal", 0]]);
    assert_eq!(timeline.head["calls"], names);
    assert_eq!((&timeline.head["duration"], &timeline.head["bins"]), (&json!(4000), &json!(0)));
    assert_eq!(timeline.head["teams"], json!(["the world team"]));
    let expected = vec![
        // Of the barrier, 50 were not waiting, and its number is signed: 14 is 7.
        vec![(2, 1000, 1000, vec![40, 10, 2, 300]), (1, 3000, 500, vec![50, 0, 8, 14])],
        // PE 0 ended it by the third call, 900 before: as a signed number that is 1800.
        vec![(0, 900, 1000, vec![0, 1, 2, 1800])],
    ];
    assert_eq!(spans(&timeline), expected);
    // 4 × the number of the call, and that it did not end.
    assert_eq!(timeline.bytes[timeline.head["pes"][0][1].as_u64().map_or(0, |it| it as usize)], 1);
}

#[test]
fn the_overview_adds_up_to_the_time_in_calls() {
    let trace = synthetic::job(8, 60);
    let timeline = of(&trace, 200_000);
    let [bins, bin] = ["bins", "bin"].map(|name| timeline.head[name].as_u64().expect("it is a number"));
    assert!(bins > 100, "{bins}");
    for (i, pe) in trace.pes.iter().enumerate() {
        let mut times = [0; COLOURS];
        for event in &pe.events {
            times[colour(event.call)] += parts(event).iter().map(|part| part.end - part.start).sum::<u64>();
        }
        let shares = timeline.bytes.chunks(COLOURS).skip(i * bins as usize).take(bins as usize);
        let mut sums = [0; COLOURS];
        for bin in shares {
            sums.iter_mut().zip(bin).for_each(|(sum, share)| *sum += u64::from(*share));
        }
        for (time, sum) in times.into_iter().zip(sums) {
            // A share is rounded up.
            let shown = sum * bin / 255;
            assert!(time.saturating_sub(1) <= shown && shown <= time + bins * bin / 255, "{time} {shown}");
        }
    }
}

#[test]
fn where_all_fit_all_are_there() {
    let trace = synthetic::job(5, 30);
    let timeline = of(&trace, BUDGET);
    let all: Vec<Vec<_>> = trace
        .pes
        .iter()
        .map(|pe| pe.events.iter().map(|event| (event.begin, event.completed - event.begin)).collect())
        .collect();
    let found: Vec<Vec<_>> =
        spans(&timeline).iter().map(|pe| pe.iter().map(|span| (span.1, span.2)).collect()).collect();
    assert_eq!(found, all);
}

#[test]
fn where_they_do_not_fit_the_longest_stay_and_the_others_are_counted() {
    let (trace, budget) = (synthetic::job(16, 400), 100_000);
    let timeline = of(&trace, budget);
    assert!(timeline.bytes.len() <= budget);
    assert!(timeline.bytes.len() > budget / 2, "{}", timeline.bytes.len());
    let (kept, events) = (sum(&timeline.head, 2), sum(&timeline.head, 3));
    assert_eq!(events, 16 * 400 * 5);
    assert_eq!(spans(&timeline).iter().map(Vec::len).sum::<usize>(), kept);
    assert!(kept < events);
    // No call that is left out is longer than one of its bin that stayed.
    let bin = timeline.head["bin"].as_u64().expect("it is a number");
    let lengths = lengths(&trace);
    for (i, (pe, spans)) in trace.pes.iter().zip(spans(&timeline)).enumerate() {
        let stays = |at: &usize| {
            let event = &pe.events[*at];
            let found = spans.partition_point(|span| span.1 < event.begin);
            spans.get(found).is_some_and(|span| span.1 == event.begin)
        };
        for range in bins_of(pe, bin) {
            let (stayed, left): (Vec<_>, Vec<_>) = range.partition(stays);
            let shortest = stayed.iter().map(|at| lengths[i][*at]).min().unwrap_or(u64::MAX);
            assert!(left.iter().all(|at| lengths[i][*at] <= shortest));
        }
    }
    // A collective that is there is there on all PEs, but where it was the longest of a bin.
    let late = (3, "sum_reduce");
    let pe = &trace.pes[late.0];
    let names = timeline.head["calls"].as_array().expect("it is a list");
    let reduces = spans(&timeline)[late.0].iter().filter(|span| names[span.0][0] == late.1).count();
    assert!(reduces * 10 > pe.events.len() / 5, "{reduces}");
    let again = of(&trace, budget);
    assert_eq!((again.head, again.bytes), (timeline.head, timeline.bytes), "nothing is left to chance");
}

#[test]
fn the_budget_is_kept_however_small_it_is() {
    let trace = synthetic::job(64, 20);
    for budget in [1_000, 3_000, 10_000, 50_000] {
        let timeline = of(&trace, budget);
        assert!(timeline.bytes.len() <= budget.max(64 * COLOURS), "{budget}: {}", timeline.bytes.len());
        assert_eq!(sum(&timeline.head, 3), 64 * 20 * 5);
        spans(&timeline);
    }
}

#[test]
fn runs_have_the_calls_that_have_no_span_and_their_times() {
    let trace = synthetic::job(2, 10_000);
    let timeline = of(&trace, 600_000);
    let (head, mut at) = (&timeline.head, overview_size(&timeline));
    let bin = head["bin"].as_u64().expect("it is a number");
    for (i, pe) in head["pes"].as_array().expect("it is a list").iter().enumerate() {
        let [size, kept, calls, of_runs, count] =
            [1, 2, 3, 4, 5].map(|place| pe[place].as_u64().expect("it is a number"));
        let end = at + (size + of_runs) as usize;
        let mut reader = Reader(&timeline.bytes[at + size as usize..end]);
        let (mut before, mut left_out, mut busy) = (0_u64, 0, 0);
        for _ in 0..count {
            let begin = before.wrapping_add_signed(reader.signed());
            let length = reader.number();
            assert!(length < 2 * bin, "{length} {bin}");
            left_out += reader.number();
            let kinds = reader.0[0];
            reader.0 = &reader.0[1..];
            for _ in 0..kinds.count_ones() {
                busy += u64::from(reader.0[0]) * length / 255;
                reader.0 = &reader.0[1..];
            }
            before = begin + length;
        }
        assert!(reader.0.is_empty(), "a PE has no other bytes");
        assert_eq!(left_out, calls - kept);
        let all: u64 = trace.pes[i].events.iter().flat_map(parts).map(|part| part.end - part.start).sum();
        assert!(0 < busy && busy < all, "{busy} {all}");
        at = end;
    }
    assert_eq!(at, timeline.bytes.len());
}
