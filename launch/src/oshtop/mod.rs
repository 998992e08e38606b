//! `oshtop`: what the PEs of a job do, live in the terminal, once as text or JSON, or over time in
//! a file and as a picture.

mod columns;
mod picture;
mod record;
mod screen;

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::{CommandFactory, Parser};
use oxshmem_base::{printable::printable, report, span::span};

use crate::{
    live::{
        find::{LiveJob, jobs},
        sample::{Sampler, View},
    },
    options,
};
use columns::SortBy;

/// Shows what the PEs of a job on this host do, live in the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "oshtop",
    version,
    after_help = "Keys: q ends it; p, w, o and i sort by PE, waiting, operations out and in; arrows and page keys \
                  scroll; space holds the picture. Operations are counted while it looks, and for 3 s afterwards. The \
                  exit status is 0, also when the job ends, and 2 if there is no such job."
)]
pub struct TopOptions {
    /// The job: the number of its oshrun, or of any of its processes. It can be left out if this
    /// user has one job on this host
    pub job: Option<u32>,

    /// Prints it once, as text
    #[arg(long)]
    pub once: bool,

    /// With --once: prints it as JSON
    #[arg(long, requires = "once")]
    pub json: bool,

    /// Writes it to this file, a line of JSON each time, until the job ends
    #[arg(long, value_name = "FILE", conflicts_with = "once")]
    pub record: Option<PathBuf>,

    /// Prints a picture (SVG) of what --record has written to this file: operations, bytes, waits
    /// and memory over time
    #[arg(long, value_name = "FILE", conflicts_with_all = ["job", "once", "record"])]
    pub picture: Option<PathBuf>,

    /// Looks for this many seconds each time
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    match seconds {
        0.05..=3600.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("it must be from 0.05 to 3600".to_owned()),
    }
}

/// The options as clap knows them, for the man page.
pub fn command() -> clap::Command {
    TopOptions::command()
}

/// The whole program, from its arguments to its exit status.
pub fn main() -> ExitCode {
    let options: TopOptions = options();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            report(format_args!("oshtop: {why}"));
            ExitCode::from(2)
        }
    }
}

fn run(options: &TopOptions) -> Result<(), String> {
    let failed = |error| format!("cannot write to the terminal: {error}");
    if let Some(file) = &options.picture {
        return print(&record::picture(file)?).map_err(failed);
    }
    let job = choose(jobs(), options.job)?;
    match &options.record {
        Some(file) => record::record(&job, file, options.interval)
            .map_err(|error| format!("cannot write to {}: {error}", file.display())),
        None if options.once => once(&job, options).map_err(failed),
        None => screen::run(&job, options.interval).map_err(failed),
    }
}

/// The job that is asked for; an error says in one line which there are.
fn choose(mut jobs: Vec<LiveJob>, asked: Option<u32>) -> Result<LiveJob, String> {
    if let Some(number) = asked {
        let found = jobs.into_iter().find(|job| job.is(number));
        return found.ok_or(format!("{number} is no job of this user on this host; see shmem-info --jobs"));
    }
    match jobs.len() {
        0 => Err("this user has no job on this host".to_owned()),
        1 => Ok(jobs.remove(0)),
        _ => {
            let numbers: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
            Err(format!("there are several jobs, say which: {}", numbers.join(", ")))
        }
    }
}

fn once(job: &LiveJob, options: &TopOptions) -> io::Result<()> {
    let view = Sampler::new(job).sample_for(options.interval);
    let text = if options.json { format!("{:#}\n", view.json(job)) } else { text(job, &view) };
    print(&text)
}

fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// What `--once` prints.
fn text(job: &LiveJob, view: &View) -> String {
    let (columns, rows) = columns::table(&view.pes);
    let head = columns.iter().map(|column| column.title.to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let mut text = title(job, Duration::ZERO) + "\n" + &summary(view) + "\n";
    text.extend(view.mismatches.iter().map(|line| line.clone() + "\n"));
    let width = |at: usize| lines.iter().map(|cells| cells[at].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    for cells in &lines {
        let padded = cells.iter().zip(&columns).zip(&widths).map(|((cell, column), &width)| {
            if column.is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        text += &format!("  {}\n", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// What job it is.
fn title(job: &LiveJob, since: Duration) -> String {
    let (pes, hosts) = (job.n_pes(), &job.hosts);
    let hosts = match &hosts[..] {
        [host] => host.name.clone(),
        hosts => format!("{} hosts", hosts.len()),
    };
    let s = if pes == 1 { "" } else { "s" };
    let (age, launcher) = (span(job.age + since), &job.launcher);
    let (launcher, program) = (printable(launcher), printable(&job.program));
    format!("job {} of {launcher}: {pes} PE{s} on {hosts} for {age}: {program}", job.id)
}

/// What all PEs come to.
fn summary(view: &View) -> String {
    if view.pes.is_empty() {
        return "no PEs".to_owned();
    }
    let sum = |of: fn(&crate::live::sample::PeView) -> f64| view.pes.iter().map(of).sum::<f64>();
    let (ops, bytes) = (sum(|pe| pe.out_ops), sum(|pe| pe.out_bytes));
    let waiting = sum(|pe| pe.waiting) / view.pes.len() as f64;
    let imbalance = match view.imbalance() {
        Some(imbalance) => format!("imbalance {imbalance:.2}"),
        None => "all PEs wait".to_owned(),
    };
    format!(
        "{} operations/s, {}B/s, waiting {:.0} %, {imbalance}",
        columns::short(ops),
        columns::short(bytes),
        100.0 * waiting
    )
}

/// The PEs of a view, sorted.
fn sort(view: &mut View, order: SortBy) {
    view.pes.sort_by(|a, b| order.compare(a, b));
}
