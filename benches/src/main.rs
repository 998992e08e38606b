//! shmem-perf: what operations cost, beside what the machine can do.
//!
//! `oshrun -np 2 --bind-to core target/release/shmem-perf [--json FILE]`
//!
//! Every figure has a bound measured in the same run, in turns with it: the bare store, atomic,
//! copy or flag exchange on the same mapping. Two cores may be near each other or far, and that can
//! change by itself, so figures that depend on it are kept apart by the bound that was seen just
//! then. Times are medians in ns.

mod bare;
mod collectives;
mod growth;
mod jobs;
mod latency;
mod measured;
mod raw;
mod raw_socket;
mod raw_ucx;
mod remote;
mod report;
mod rows;
mod spaces;

use std::{fs::File, process::ExitCode};

use clap::Parser;
use oxshmem::World;
use tokio::runtime::{Builder, Runtime};

use crate::{collectives::Selection, report::Report, spaces::Interface};

/// Measures oxshmem on this machine.
#[derive(Parser)]
struct Options {
    /// Write one JSON object a line to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Measure only these parts: single, atomics, copies, pingpong, barrier, collectives, waiting,
    /// spaces, jobs, cluster.
    #[arg(long, value_name = "PART,…", default_value = "")]
    only: String,
    /// Measure barriers alone, with as many PEs as there are.
    #[arg(long)]
    barrier: bool,
    /// Measure these collectives alone, or all, with as many PEs as there are: barrier, sync, sum,
    /// broadcast, broadcast_rotating, fcollect, collect, alltoall, alltoalls, inscan.
    #[arg(long, value_name = "OP,…", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    collectives: Option<String>,
    /// Measure two PEs on different hosts, beside bare UCX and a bare socket.
    #[arg(long)]
    remote: bool,
    /// Measure how long a PE on another host that computes lets others wait.
    #[arg(long)]
    serving: bool,
    /// Measure what blocks, teams, waits and more cost when there are ten and a hundred times as
    /// many, with as many PEs as there are. The status is 1 if something grows faster than n log n.
    #[arg(long)]
    growth: bool,
    /// Await in tokio, in a runtime of one thread, and not in a thread that drives meanwhile.
    #[arg(long)]
    tokio: bool,
    /// Bytes of one PE's block in collectives, multiples of 8.
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = block)]
    sizes: Vec<usize>,
    /// Be a job of the part `spaces`: put words by this interface.
    #[arg(long, hide = true)]
    word_puts: Option<Interface>,
    /// Measure for a shorter time, with more noise.
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("shmem-perf: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a measurement returns.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Whether what was measured is as it should be.
fn run(options: &Options) -> Outcome<bool> {
    if let Some(interface) = options.word_puts {
        return spaces::word_puts(interface).map(|()| true);
    }
    let runtime = options.tokio.then(|| Builder::new_current_thread().enable_all().build()).transpose()?;
    let world: World = match &runtime {
        Some(runtime) => runtime.block_on(oxshmem::init())?,
        None => futures::executor::block_on(oxshmem::init())?,
    };
    let mut report = Report::new(options.only.clone(), options.quick);
    let selection = Selection::parse(options.collectives.as_deref().unwrap_or_default(), &options.sizes)?;
    let mut good = true;
    let measuring = async {
        if options.growth {
            good = growth::growth(&world, options.quick).await?;
            Ok(())
        } else if options.collectives.is_some() {
            collectives::collectives(&world, &mut report, &selection).await
        } else if options.remote && world.n_pes() == 2 {
            remote::remote(&world, &mut report).await
        } else if options.serving && world.n_pes() == 2 {
            remote::serving(&world, &mut report).await
        } else if options.barrier {
            jobs::barriers(&world, &mut report).await
        } else if world.n_pes() == 2 && world.team_shared().n_pes() < 2 {
            Err("the two PEs are on different hosts: ask for --remote, --serving or --collectives".into())
        } else if world.n_pes() == 2 {
            rows::all(&world, &mut report, &selection).await
        } else {
            Err("run it with 2 PEs: oshrun -np 2 shmem-perf (or any number with --barrier or --collectives)"
                .into())
        }
    };
    let measured = wait(&world, runtime.as_ref(), measuring);
    if let Err(error) = measured {
        eprintln!("shmem-perf: {error}");
        wait(&world, runtime.as_ref(), world.global_exit(1))?;
        return Ok(false);
    }
    if world.my_pe() == 0 && !options.growth {
        report.print();
        if let Some(path) = &options.json {
            report.write_json(File::create(path)?)?;
        }
    }
    wait(&world, runtime.as_ref(), world.finalize())?;
    Ok(good)
}

/// Waits for a future in the runtime, if there is one.
fn wait<F: Future>(world: &World, runtime: Option<&Runtime>, future: F) -> F::Output {
    match runtime {
        Some(runtime) => runtime.block_on(future),
        None => world.block_on(future),
    }
}

fn block(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if bytes > 0 && bytes % 8 == 0 => Ok(bytes),
        _ => Err("not a positive multiple of 8".into()),
    }
}
