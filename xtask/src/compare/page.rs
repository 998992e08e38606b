//! The chapter of the book.

use std::{collections::BTreeSet, fmt::Write, fs};

use super::{
    chart,
    figures::{HEAD, Row, met},
    peer,
};
use crate::run::{Failure, Job};

const PAGE: &str = "book/src/compare.md";
const CHARTS: &str = "book/src/charts";

const METHOD: &str = "\
Both sides run the same loops of one collective on `double` (`broadcast_rotating`: each call from another root; neither side's
broadcasts write the root's own destination, as the peer has none that do), ours awaited in Rust, the peer's called in C
(`benches/src/collectives.rs`, `benches/peer/collectives.c`), in turns with each other. A time is that of a batch of calls,
from when all PEs have come to when all are done, divided by their number; a batch takes 2 ms, or 8 calls. A program
gives the median of its batches, and the best of its rounds counts, on both sides. The peer runs with `--mca spml ucx
--mca opal_common_ucx_opal_mem_hooks 0`, with and without `--mca scoll basic`; where there are more PEs than cores also with
`--mca mpi_yield_when_idle 1`, without which `basic` takes forever. The best of these counts, and the table names it. What takes
the peer longer than 4 ms (20 ms for 1 MiB) is left out. Bytes are those of one PE's block.

PEs are bound to cores in turn, so two have a core each; the peer's, where there are more, also run unbound, and the best counts. In a virtual machine two cores can be near each other or far, and that can change at any time:
a flag sent to and fro before and after each batch says which it was (near is below 130 ns one way), and figures of the two
are kept apart. A placement that did not occur on both sides has no rows.

The bound is what the shares of the bytes take of the PEs that have one core, if they need no agreement: for broadcast to copy S bytes, for fcollect,
collect and alltoall to copy n blocks of S bytes, for sum to add an n-th of n sources and to store it n times, by `memcpy` and a loop
over vector registers, on the same memory, in turns with the collectives, the median of five attempts. For barrier
and sync it is the time of a flag one way, or, where PEs share cores, that of a bare synchronisation: a loop in which each sets a word of each
other one, and calls `sched_yield` until all have set its own. *Least* is the bound of the bytes and, but for a broadcast with a
fixed root, that of a barrier.

Targets: sync, sum, broadcast, fcollect and alltoall of 8 bytes take at most 0.6 of the peer's time, everything at most 0.9, and
sum, broadcast and fcollect from 64 KiB up at most 1.4 times the bound.
";

/// Writes the page and its charts.
pub(super) fn write(rows: &[Row], rounds: usize) -> Result<(), Failure> {
    fs::create_dir_all(CHARTS)?;
    let mut page = head("Compared with Open MPI", &peer::version(), rounds, METHOD);
    let (met, all) = met(rows);
    let _ = writeln!(page, "{met} of {all} rows meet their target.\n");

    let jobs: BTreeSet<_> = rows.iter().map(|row| (row.pes, row.placement.as_str())).collect();
    for (pes, placement) in jobs {
        let rows: Vec<_> = rows.iter().filter(|row| row.pes == pes && row.placement == placement).collect();
        let title = match placement {
            "" => format!("{pes} PEs"),
            _ => format!("{pes} PEs, cores {placement}"),
        };
        let name = title.to_lowercase().replace(", ", "-").replace(' ', "-") + ".svg";
        fs::write(format!("{CHARTS}/{name}"), chart::draw(&title, &rows))?;
        let _ = write!(page, "## {title}\n\n![{title}: time by bytes](charts/{name})\n\n");
        let _ = writeln!(page, "| {} | variant |", HEAD.join(" | "));
        let _ = writeln!(page, "|---|{}---|---|", "---:|".repeat(HEAD.len() - 2));
        for row in rows {
            let _ = writeln!(page, "| {} | {} |", row.cells().join(" | "), row.variant);
        }
        page.push('\n');
    }
    fs::write(PAGE, page.trim_end().to_owned() + "\n")?;
    println!("{PAGE}");
    Ok(())
}

/// The beginning of a chapter: what was measured, when, on what and how.
pub(super) fn head(title: &str, beside: &str, rounds: usize, method: &str) -> String {
    format!(
        "# {title}\n\n<!-- Written by `cargo xtask compare`. Do not edit. -->\n\n\
         What `cargo xtask compare` measured on {}, on {}: oxshmem {} ({}) beside {}, {rounds} rounds.\n\n{method}\n",
        output("date", &["+%F"]),
        machine(),
        env!("CARGO_PKG_VERSION"),
        output("rustc", &["--version"]),
        beside,
    )
}

fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{cores} cores of {} under Linux {}",
        model.unwrap_or("an unknown processor"),
        // The version without what its builder has added.
        output("uname", &["-r"]).split(['-', '+']).next().unwrap_or_default()
    )
}

/// The first line that a program prints.
fn output(program: &str, args: &[&str]) -> String {
    let output = Job::new(program, args).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}
