//! shmem-scale: what collectives would take on many hosts, by simulation and by formula.
//!
//! `target/release/shmem-scale [--network rdma|tcp] [--pes N,…] [--per-host N,…] [--json FILE]`
//!
//! Each job is a [`LocalCluster`](oxshmem::LocalCluster) in virtual time, in a process of its own,
//! so that its memory can be measured. Where there are several PEs on a host, what they do among
//! themselves takes no time: the simulation has the network's part.
//!
//! | module | what it offers |
//! |---|---|
//! | [`formula`] | the same by arithmetic, for any number of PEs |
//! | [`job`] | one simulated job |
//! | [`variants`] | each algorithm between hosts beside the next simpler one |

mod formula;
mod job;
mod variants;

use std::{
    error::Error,
    fs::File,
    io::{BufRead, BufReader, Write},
    process::{Command, ExitCode, Stdio},
};

use clap::Parser;
use serde_json::{Value, json};

use crate::formula::{Call, Network, Shape};

/// Simulates collectives on many hosts.
#[derive(Parser)]
struct ScaleOptions {
    /// The network: rdma or tcp, or L,o,r,B: latency, overhead and receipt in ns, bandwidth in
    /// bytes a second.
    #[arg(long, default_value = "rdma")]
    network: Network,
    /// How many PEs.
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096])]
    pes: Vec<usize>,
    /// How many of them are on each host.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64])]
    per_host: Vec<usize>,
    /// Simulates nothing: only what the formulas say.
    #[arg(long)]
    paper: bool,
    /// Write one JSON object a line to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Only what each algorithm takes beside the next simpler one.
    #[arg(long)]
    variants: bool,
    /// Simulate one job in this process, and print its lines.
    #[arg(long, hide = true)]
    one: bool,
}

type MainResult<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let options = ScaleOptions::parse();
    let outcome = match () {
        () if options.one => one(&options),
        () if options.variants => variants::variants(options.network)
            .map(|lines| lines.iter().for_each(|line| println!("{line}")))
            .map_err(Into::into),
        () => all(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shmem-scale: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Simulates the job that was asked for.
fn one(options: &ScaleOptions) -> MainResult {
    let (Some(&pes), Some(&per_host)) = (options.pes.first(), options.per_host.first()) else {
        return Ok(());
    };
    for line in job::simulate(options.network, Shape { pes, per_host })? {
        println!("{line}");
    }
    Ok(())
}

/// Simulates all jobs, each in a process of its own, and prints what they took.
fn all(options: &ScaleOptions) -> MainResult {
    let mut file = options.json.as_ref().map(File::create).transpose()?;
    println!(
        "{:>7} {:>8} {:<10} {:>8} {:>14} {:>14} {:>9}",
        "PEs", "per host", "call", "bytes", "simulated µs", "formula µs", "messages"
    );
    for &per_host in &options.per_host {
        // On one host there is no network.
        for &pes in options.pes.iter().filter(|&&pes| pes > per_host) {
            let shape = Shape { pes, per_host };
            let lines =
                if options.paper { paper(options.network, shape) } else { simulated(options, shape)? };
            for line in lines {
                print(&line);
                if let Some(file) = &mut file {
                    writeln!(file, "{line}")?;
                }
            }
        }
    }
    Ok(())
}

/// What the formulas say.
fn paper(network: Network, shape: Shape) -> Vec<Value> {
    let lines = Call::ALL.into_iter().map(|call| call.line(network, shape));
    lines.collect()
}

/// What a process of its own says.
fn simulated(options: &ScaleOptions, shape: Shape) -> MainResult<Vec<Value>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--one", "--network", &options.network.to_string()])
        .args(["--pes", &shape.pes.to_string(), "--per-host", &shape.per_host.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or("no output")?;
    let lines = BufReader::new(output).lines().map(|line| Ok(serde_json::from_str(&line?)?));
    let lines = lines.collect::<MainResult<Vec<_>>>();
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("{} PEs, {} on a host: {status}", shape.pes, shape.per_host).into());
    }
    lines
}

fn print(line: &Value) {
    let number = |key: &str| line[key].as_f64();
    let cell = |key, digits| number(key).map_or(String::new(), |value| format!("{value:.digits$}"));
    if let Some(call) = line["call"].as_str() {
        println!(
            "{:>7} {:>8} {call:<10} {:>8} {:>14} {:>14} {:>9}",
            cell("pes", 0),
            cell("per_host", 0),
            cell("bytes", 0),
            cell("simulated", 3),
            cell("formula", 3),
            cell("messages", 0)
        );
    } else {
        println!(
            "{:>7} {:>8} init {} ms; resident KiB a PE: {} after init, {} after short collectives",
            cell("pes", 0),
            cell("per_host", 0),
            cell("init_ms", 0),
            cell("after_init", 1),
            cell("after_short", 1)
        );
    }
}

/// A line of JSON of a job.
fn line(network: Network, shape: Shape, what: Value) -> Value {
    let mut line = json!({ "network": network.to_string(), "pes": shape.pes, "per_host": shape.per_host });
    if let (Some(line), Value::Object(what)) = (line.as_object_mut(), what) {
        line.extend(what);
    }
    line
}
