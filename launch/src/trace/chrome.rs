//! `trace.json`: the format of Chrome's tracing, which Perfetto opens. Each host is a process in it
//! and each PE a thread, with rows of their own for calls that overlap without being one within the
//! other, as complete events have to be, and for the phases that the program marks.

use std::{
    collections::HashMap,
    io::{Result, Write},
};

use super::model::{Event, Flow, Kind, PeTrace, Trace};

/// The most rows of a PE. What finds no room ends, in the picture, when it had been initiated.
const ROWS: usize = 8;

/// Writes the file to `to`.
pub(super) fn write(trace: &Trace, to: &mut impl Write) -> Result<()> {
    let mut hosts: HashMap<&str, usize> = HashMap::new();
    write!(to, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"program\":{}}},", quoted(&trace.program))?;
    write!(to, "\"traceEvents\":[")?;
    let mut first = true;
    let mut next = |to: &mut dyn Write| -> Result<()> {
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        writeln!(to, "{comma}")
    };
    let mut rows_of_pes = Vec::with_capacity(trace.pes.len());
    for pe in &trace.pes {
        let number = hosts.len();
        let process = *hosts.entry(&pe.host).or_insert(number);
        if process == number {
            next(to)?;
            write!(
                to,
                r#"{{"ph":"M","name":"process_name","pid":{process},"args":{{"name":{}}}}}"#,
                quoted(&pe.host)
            )?;
        }
        let rows = rows(pe);
        let used = rows.iter().map(|(row, _)| *row).max().unwrap_or(0);
        let phases = (!pe.phases.is_empty()).then_some((phases_of(pe), ", phases"));
        let rows_of_calls = (0..=used).map(|row| (thread(pe, row), if row > 0 { ", under way" } else { "" }));
        for (tid, more) in phases.into_iter().chain(rows_of_calls) {
            next(to)?;
            write!(
                to,
                r#"{{"ph":"M","name":"thread_name","pid":{process},"tid":{tid},"args":{{"name":"PE {}{more}"}}}}"#,
                pe.pe
            )?;
            next(to)?;
            write!(
                to,
                r#"{{"ph":"M","name":"thread_sort_index","pid":{process},"tid":{tid},"args":{{"sort_index":{tid}}}}}"#
            )?;
        }
        for (phase, begin, end) in pe.stays() {
            next(to)?;
            write!(
                to,
                r#"{{"ph":"X","name":{},"cat":"phase","pid":{process},"tid":{},"ts":{},"dur":{}}}"#,
                quoted(&trace.phases[phase]),
                phases_of(pe),
                Micros(begin),
                Micros(end - begin)
            )?;
        }
        for (event, &(row, end)) in pe.events.iter().zip(&rows) {
            next(to)?;
            write_event(to, event, (process, thread(pe, row)), end)?;
        }
        rows_of_pes.push((process, rows));
    }
    for (id, Flow { from, to: wait }) in trace.flows.iter().enumerate() {
        let ends = [("s", *from, ""), ("f", *wait, r#","bp":"e""#)];
        for (phase, (pe, event), bind) in ends {
            let (process, rows) = &rows_of_pes[pe];
            let (pe, (row, end)) = (&trace.pes[pe], rows[event]);
            let event = &pe.events[event];
            // Within the event, of which the end is not a part.
            let at = if phase == "s" { event.begin } else { end.saturating_sub(1).max(event.begin) };
            next(to)?;
            write!(
                to,
                r#"{{"ph":"{phase}","id":{id},"name":"signal","cat":"signal","pid":{process},"tid":{},"ts":{}{bind}}}"#,
                thread(pe, row),
                Micros(at)
            )?;
        }
    }
    write!(to, "\n]}}\n")?;
    to.flush()
}

/// A number of its own for each row, behind that of the phases.
fn thread(pe: &PeTrace, row: usize) -> usize {
    phases_of(pe) + 1 + row
}

/// The number of the row of phases, which is above the calls.
fn phases_of(pe: &PeTrace) -> usize {
    pe.pe * (ROWS + 1)
}

fn write_event(
    to: &mut impl Write,
    event: &Event,
    (process, thread): (usize, usize),
    end: u64,
) -> Result<()> {
    let category = match event.kind {
        Kind::Operation => "operation",
        Kind::Wait => "wait",
        Kind::Collective => "collective",
    };
    write!(
        to,
        r#"{{"ph":"X","name":"{}","cat":"{category}","pid":{process},"tid":{thread},"ts":{},"dur":{},"args":{{"#,
        event.call.name(),
        Micros(event.begin),
        Micros(end - event.begin)
    )?;
    if let Some(target) = event.target {
        write!(to, r#""target":{target},"#)?;
    }
    if event.kind != Kind::Wait {
        write!(to, r#""bytes":{},"#, event.bytes)?;
    }
    if event.kind == Kind::Collective {
        write!(to, r#""team":{},"number":{},"#, event.team, event.number)?;
    } else if event.number > 0 {
        write!(to, r#""operations":{},"#, event.number)?;
    }
    if event.initiated < event.completed {
        write!(to, r#""initiated_us":{},"#, Micros(event.initiated - event.begin))?;
    }
    if !event.is_complete {
        write!(to, r#""incomplete":true,"#)?;
    }
    write!(to, r#""waited_us":{}}}}}"#, Micros(event.waited))
}

/// The row of each event of a PE, and when it ends in the picture: the first row where it is within
/// what is under way there, or nothing is.
fn rows(pe: &PeTrace) -> Vec<(usize, u64)> {
    let mut open: Vec<Vec<u64>> = vec![Vec::new(); ROWS];
    let mut fits = |begin: u64, end: u64| {
        let row = open.iter_mut().position(|ends| {
            while ends.last().is_some_and(|&last| last <= begin) {
                ends.pop();
            }
            ends.last().is_none_or(|&last| last >= end)
        })?;
        open[row].push(end);
        Some(row)
    };
    let place = |event: &Event| {
        let row = fits(event.begin, event.completed).map(|row| (row, event.completed));
        row.unwrap_or_else(|| (fits(event.begin, event.initiated).unwrap_or(0), event.initiated))
    };
    pe.events.iter().map(place).collect()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Nanoseconds, shown as the microseconds that the format has.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_progress::activity::Call;

    use super::*;

    fn event(begin: u64, initiated: u64, completed: u64) -> Event {
        Event {
            call: Call::GetNbi,
            kind: Kind::Operation,
            target: Some(1),
            bytes: 8,
            team: 0,
            number: 0,
            begin,
            initiated,
            completed,
            is_complete: true,
            waited: 0,
        }
    }

    #[test]
    fn calls_that_overlap_have_rows_of_their_own_and_those_within_others_do_not() {
        let events = vec![event(0, 1, 100), event(10, 11, 50), event(20, 21, 60), event(120, 121, 130)];
        let pe = PeTrace { events, ..PeTrace::default() };
        assert_eq!(rows(&pe), [(0, 100), (0, 50), (1, 60), (0, 130)]);
    }

    #[test]
    fn the_file_is_json_with_an_event_for_each_call_and_both_ends_of_each_flow() {
        let pe = |pe, host: &str, events| PeTrace {
            pe,
            host: host.to_owned(),
            events,
            ended: 3000,
            ..PeTrace::default()
        };
        let wait = Event { call: Call::WaitUntil, kind: Kind::Wait, target: None, ..event(5, 5, 2005) };
        let mut pes = vec![pe(0, "a \"b\"", vec![event(1500, 1501, 1502)]), pe(1, "c", vec![wait])];
        pes[1].phases = vec![(500, Some(0)), (1500, None), (2500, Some(0))];
        let flows = vec![Flow { from: (0, 0), to: (1, 0) }];
        let trace = Trace { program: "a\\b".to_owned(), pes, flows, phases: vec!["a \"b\"".to_owned()] };
        let mut text = Vec::new();
        write(&trace, &mut text).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        let of = |ph: &str| {
            let events = events.iter().filter(|event| event["ph"] == ph && event["cat"] != "phase");
            events.collect::<Vec<_>>()
        };
        assert_eq!(
            (of("X").len(), of("M").len(), json["otherData"]["program"].as_str()),
            (2, 8, Some("a\\b"))
        );
        let phases = events.iter().filter(|event| event["cat"] == "phase");
        let phases =
            phases.map(|it| (it["name"].as_str(), it["tid"].as_u64(), it["ts"].as_f64(), it["dur"].as_f64()));
        let phase = |begin, time| (Some("a \"b\""), Some(9), Some(begin), Some(time));
        assert_eq!(phases.collect::<Vec<_>>(), [phase(0.5, 1.0), phase(2.5, 0.5)]);
        assert_eq!((of("X")[0]["ts"].as_f64(), of("X")[1]["dur"].as_f64()), (Some(1.5), Some(2.0)));
        assert_eq!((of("s")[0]["tid"].as_u64(), of("f")[0]["tid"].as_u64()), (Some(1), Some(10)));
        assert_eq!(of("f")[0]["ts"].as_f64(), Some(2.004));
    }
}
