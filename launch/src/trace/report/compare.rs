//! `compare.html`: two runs beside each other, and what got slower.
//!
//! The page is tables alone. Each line has a number of each run and the difference, as wide as it
//! is large; those that lost most time come first.

use std::{cmp::Reverse, collections::BTreeMap, fmt::Write};

use super::{
    ROWS,
    times::{self, Times},
    why,
};
use crate::{markup::escaped, trace::model::Trace};

const PAGE: &str = include_str!("compare.html");
/// Where the tables go.
const MARKER: &str = "<!--DATA-->";

/// The page. `names` are what the runs are called.
pub(in crate::trace) fn page(runs: [&Trace; 2], names: [&str; 2]) -> String {
    let [before, after] = runs.map(duration);
    let mut out = format!("<h1>{}</h1>\n", verdict(before, after));
    for (which, (run, name)) in ["Before", "After"].into_iter().zip(runs.into_iter().zip(names)) {
        let (program, pes) = (escaped(&run.program), run.pes.len());
        let _ = writeln!(
            out,
            "<p><b>{which}</b>: <code>{program}</code>, {pes} PEs, {}, recorded in {}</p>",
            shown(duration(run)),
            escaped(name)
        );
    }
    if runs[0].pes.len() != runs[1].pes.len() {
        out += "<p>The runs have different numbers of PEs: sums over PEs are of different amounts of them.</p>\n";
    }
    for run in runs {
        let lost: u64 = run.pes.iter().map(|pe| pe.lost).sum();
        if lost > 0 {
            let _ = writeln!(out, "<p>{lost} records of a run were overwritten, and are in no sum.</p>");
        }
    }
    out += &section("Time", "Of a PE on average.", "", &of_job(runs));
    let phases = of_phases(runs);
    if !phases.is_empty() {
        let note = "Time within each phase that the program marks, of a PE on average.";
        out += &section("Phases", note, "", &phases);
    }
    let note = "How long PEs had nothing to do, on all PEs together, by the reason.";
    out += &section("Wait states", note, "", &of_states(runs));
    out += &section("Calls", "Time in all calls of a kind, on all PEs together.", "calls", &of_calls(runs));
    out += &section(
        "PEs",
        "Time in which a PE computed or communicated: a PE that is busy for longer makes others wait.",
        "waits",
        &of_pes(runs),
    );
    PAGE.replacen(MARKER, &out, 1)
}

/// A line of a table: nanoseconds in each run, and what else there is to say of each.
#[derive(Debug, PartialEq)]
struct Compared {
    name: String,
    time: [u64; 2],
    more: [String; 2],
}

impl Compared {
    fn lost(&self) -> i64 {
        self.time[1] as i64 - self.time[0] as i64
    }
}

fn duration(run: &Trace) -> u64 {
    run.pes.iter().map(|pe| pe.ended).max().unwrap_or(0)
}

fn verdict(before: u64, after: u64) -> String {
    let by = after as f64 / before.max(1) as f64;
    match by {
        1.01.. => format!("{by:.2} times as long: {} instead of {}", shown(after), shown(before)),
        ..0.99 => format!("{:.2} times as fast: {} instead of {}", 1.0 / by, shown(after), shown(before)),
        _ => format!("As long as before: {}", shown(after)),
    }
}

fn of_job(runs: [&Trace; 2]) -> Vec<Compared> {
    let means = runs.map(|run| {
        let all: Vec<Times> = run.pes.iter().map(times::of).collect();
        let mean = |of: fn(&Times) -> u64| all.iter().map(of).sum::<u64>() / all.len().max(1) as u64;
        [
            mean(|times| times.computing),
            mean(|times| times.communicating),
            mean(|times| times.waiting),
            mean(|times| times.side_by_side),
        ]
    });
    let names = ["computing", "communicating", "waiting", "in several waits"];
    let line = |(i, name): (usize, &str)| Compared {
        name: name.to_owned(),
        time: means.map(|mean| mean[i]),
        more: Default::default(),
    };
    names.into_iter().enumerate().map(line).collect()
}

/// Those that lost most time first. None where no run has phases.
fn of_phases(runs: [&Trace; 2]) -> Vec<Compared> {
    let mut phases: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (i, run) in runs.into_iter().enumerate().filter(|(_, run)| !run.phases.is_empty()) {
        for times in run.pes.iter().map(|pe| times::by_phase(pe, run.phases.len())) {
            for (name, times) in run.phases.iter().zip(times) {
                phases.entry(name).or_default()[i] += times.all();
            }
        }
    }
    let of_a_pe = |sums: [u64; 2], i: usize| sums[i] / runs[i].pes.len().max(1) as u64;
    let line = |(name, sums): (&str, [u64; 2])| Compared {
        name: name.to_owned(),
        time: [of_a_pe(sums, 0), of_a_pe(sums, 1)],
        more: Default::default(),
    };
    let mut lines: Vec<_> = phases.into_iter().map(line).collect();
    lines.sort_by_key(|line| Reverse(line.lost()));
    lines
}

/// Those that lost most time first.
fn of_states(runs: [&Trace; 2]) -> Vec<Compared> {
    let mut states: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (i, run) in runs.into_iter().enumerate() {
        for (name, lost) in why::lost(run) {
            states.entry(name).or_default()[i] += lost;
        }
    }
    let line =
        |(name, time): (&str, [u64; 2])| Compared { name: name.to_owned(), time, more: Default::default() };
    let mut lines: Vec<_> = states.into_iter().filter(|(_, lost)| *lost != [0, 0]).map(line).collect();
    lines.sort_by_key(|line| Reverse(line.lost()));
    lines
}

/// Those that lost most time first.
fn of_calls(runs: [&Trace; 2]) -> Vec<Compared> {
    let mut calls: BTreeMap<&str, [(u64, u64); 2]> = BTreeMap::new();
    for (i, run) in runs.into_iter().enumerate() {
        for event in run.pes.iter().flat_map(|pe| &pe.events) {
            let (count, time) = &mut calls.entry(event.call.name()).or_default()[i];
            *count += 1;
            *time += event.completed.saturating_sub(event.begin);
        }
    }
    let line = |(name, totals): (&str, [(u64, u64); 2])| Compared {
        name: name.to_owned(),
        time: totals.map(|(_, time)| time),
        more: totals.map(|(count, _)| count.to_string()),
    };
    let mut lines: Vec<_> = calls.into_iter().map(line).collect();
    lines.sort_by_key(|line| Reverse(line.lost()));
    lines
}

/// Those that are busy for longest, compared with before, first.
fn of_pes(runs: [&Trace; 2]) -> Vec<Compared> {
    let mut pes: BTreeMap<usize, [Option<Times>; 2]> = BTreeMap::new();
    for (i, run) in runs.into_iter().enumerate() {
        run.pes.iter().for_each(|pe| pes.entry(pe.pe).or_default()[i] = Some(times::of(pe)));
    }
    let line = |(pe, times): (usize, [Option<Times>; 2])| Compared {
        name: format!("PE {pe}"),
        time: times.map(|times| times.map_or(0, |times| times.computing + times.communicating)),
        more: times.map(|times| times.map_or_else(|| "not there".to_owned(), |times| shown(times.waiting))),
    };
    let mut lines: Vec<_> = pes.into_iter().map(line).collect();
    lines.sort_by_key(|line| Reverse(line.lost()));
    lines
}

/// A table. `more` is what its lines say besides, if they do.
fn section(title: &str, note: &str, more: &str, lines: &[Compared]) -> String {
    let mut out = format!(
        "<h2>{title}</h2>\n<p class=\"note\">{note}</p>\n<div class=\"scroll\"><table><thead><tr><th></th>"
    );
    let more_head = |when: &str| match more {
        "" => String::new(),
        more => format!("<th>{more} {when}</th>"),
    };
    let _ = write!(
        out,
        "<th>before</th><th>after</th><th>lost</th>{}{}</tr></thead><tbody>",
        more_head("before"),
        more_head("after")
    );
    let largest = lines.iter().map(|line| line.lost().unsigned_abs()).max().unwrap_or(0).max(1);
    for line in lines.iter().take(ROWS) {
        let lost = line.lost();
        let (class, sign) = match lost {
            0 => ("", ""),
            1.. => ("slower", "+"),
            _ => ("faster", "−"),
        };
        let amount = lost.unsigned_abs();
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"change {class}\" style=\"background-size: {:.1}% 100%\">{sign}{}</td>",
            escaped(&line.name),
            shown(line.time[0]),
            shown(line.time[1]),
            100.0 * amount as f64 / largest as f64,
            shown(amount)
        );
        if !more.is_empty() {
            line.more.iter().for_each(|more| _ = write!(out, "<td>{}</td>", escaped(more)));
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

/// In three digits and a unit.
fn shown(nanos: u64) -> String {
    let (value, unit) = match nanos as f64 {
        value @ ..1e3 => return format!("{value} ns"),
        value @ ..1e6 => (value / 1e3, "µs"),
        value @ ..1e9 => (value / 1e6, "ms"),
        value => (value / 1e9, "s"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use oxshmem_progress::activity::Call;

    use super::*;
    use crate::trace::model::{Event, Kind, PeTrace};

    /// A run of two PEs that put and then wait for so long.
    fn run(waits: u64) -> Trace {
        let event = |call, begin, completed, waited| Event {
            call,
            kind: Kind::of(call),
            target: None,
            bytes: 8,
            team: 0,
            number: 0,
            begin,
            initiated: begin + 10,
            completed,
            is_complete: true,
            waited,
        };
        let pe = |pe| PeTrace {
            pe,
            ended: 1000 + waits,
            finalized: true,
            events: vec![event(Call::Put, 100, 200, 0), event(Call::WaitUntil, 500, 500 + waits, waits)],
            ..PeTrace::default()
        };
        Trace { program: "<solver>".to_owned(), pes: vec![pe(0), pe(1)], ..Trace::default() }
    }

    #[test]
    fn what_lost_most_time_comes_first() {
        let (before, after) = (run(100), run(700));
        let calls = of_calls([&before, &after]);
        assert_eq!(calls[0].lost(), 1200);
        assert_eq!((calls[0].time, calls[1].lost()), ([200, 1400], 0));
        assert_eq!(calls[1].more, ["2", "2"]);
        let states = of_states([&before, &after]);
        assert_eq!((states.len(), states[0].name.as_str(), states[0].time), (1, "not known", [200, 1400]));
        let job = of_job([&before, &after]);
        assert_eq!((job[2].name.as_str(), job[2].time), ("waiting", [100, 700]));
        // The other way round it gained.
        assert_eq!(of_calls([&after, &before]).last().map(Compared::lost), Some(-1200));
    }

    #[test]
    fn a_page_says_how_much_longer_it_took_and_is_harmless() {
        let page = page([&run(100), &run(1200)], ["a&b", "c"]);
        assert!(page.contains("<h1>2.00 times as long"), "{page}");
        assert!(
            page.contains("&lt;solver&gt;") && page.contains("a&amp;b") && !page.contains("<solver>"),
            "{page}"
        );
        let faster = super::page([&run(1200), &run(100)], ["a", "b"]);
        assert!(faster.contains("<h1>2.00 times as fast"), "{faster}");
    }

    #[test]
    fn phases_are_compared_where_there_are_any() {
        let (before, mut after) = (run(100), run(700));
        assert!(!page([&before, &before], ["a", "b"]).contains("Phases"));
        after.phases = vec!["set up".to_owned(), "solve".to_owned()];
        after.pes[1].phases = vec![(0, Some(0)), (500, Some(1))];
        let lines = of_phases([&before, &after]);
        let lines: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.time)).collect();
        assert_eq!(lines, [("solve", [0, 600]), ("set up", [0, 250])]);
        assert!(page([&before, &after], ["a", "b"]).contains("<td>set up</td>"));
        assert_eq!(of_phases([&after, &before])[0].lost(), -250);
    }

    #[test]
    fn times_have_three_digits() {
        let times = [0, 999, 1_500, 99_960, 123_456_789, 12_345_678_901].map(shown);
        assert_eq!(times, ["0 ns", "999 ns", "1.50 µs", "100 µs", "123 ms", "12.3 s"]);
    }

    #[test]
    fn runs_may_have_other_pes() {
        let (two, mut one) = (run(100), run(100));
        one.pes.truncate(1);
        let lines = of_pes([&two, &one]);
        assert_eq!((lines[1].name.as_str(), lines[1].more[1].as_str()), ("PE 1", "not there"));
        assert!(page([&two, &one], ["a", "b"]).contains("different numbers of PEs"));
    }
}
