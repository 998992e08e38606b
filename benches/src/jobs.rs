//! Jobs of their own: barriers of more PEs than two, what starting costs, and a thousand PEs in one
//! process.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use oxshmem::{LocalCluster, World};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{
    Outcome,
    report::{Report, Row, in_turns, median},
};

/// barrier_all with as many PEs as there are: `--barrier`.
pub(crate) async fn barriers(world: &World, report: &mut Report) -> Outcome {
    let n = world.n_pes();
    let repeat = if n > 16 { 200 } else { 2000 };
    let mut samples = Vec::new();
    for round in 0..report.rounds + 2 {
        world.barrier_all().await?;
        let start = Instant::now();
        for _ in 0..repeat {
            world.barrier_all().await?;
        }
        if round >= 2 {
            samples.push(start.elapsed().as_nanos() as f64 / repeat as f64);
        }
    }
    let reference = match n {
        ..=4 => 3_000.0,
        5..=8 => 8_000.0,
        _ => 1_000_000.0,
    };
    let value = median(&mut samples);
    report.push(Row {
        name: "barrier_all".into(),
        bytes: 0,
        pes: n,
        value,
        unit: "ns",
        reference,
        placement: "",
    });
    Ok(())
}

/// This PE may be bound to one core, which its own jobs must not inherit.
pub(crate) fn leave_core() -> Outcome {
    let mut all = CpuSet::new();
    // The kernel leaves out what is not there.
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    Ok(sched_setaffinity(None, &all)?)
}

/// Jobs of their own: barriers of more PEs, and what starting costs.
pub(crate) fn jobs(report: &mut Report) -> Outcome {
    let own = std::env::current_exe()?;
    let oshrun = own.with_file_name("oshrun");
    let folder = tempfile()?;
    for n in [4, 8, 64] {
        let file = format!("{folder}-{n}");
        let status = Command::new(&oshrun)
            .args(["-np", &n.to_string(), "--timeout", "60", "--"])
            .arg(&own)
            .args(["--barrier", "--quick", "--json", &file])
            .stdout(Stdio::null())
            .status()?;
        let text = std::fs::read_to_string(&file);
        // It may not exist if the job failed, which the status says better.
        let _ = std::fs::remove_file(&file);
        if !status.success() {
            return Err(format!("barriers of {n} PEs ended with {status}").into());
        }
        let row: serde_json::Value = serde_json::from_str(&text?)?;
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        report.push(Row {
            name: "barrier_all".into(),
            bytes: 0,
            pes: n,
            value: number("value"),
            unit: "ns",
            reference: number("reference"),
            placement: "",
        });
    }
    let example = own.with_file_name("examples").join("hello");
    if !example.exists() {
        eprintln!("shmem-perf: no start_hello row: build it with cargo build --release --example hello");
        return Ok(());
    }
    let (alone, launched) = in_turns!(
        report.rounds,
        1,
        run(Command::new(&example).env_remove("OXSHMEM_JOB"))?,
        run(Command::new(&oshrun).args(["-np", "2", "--"]).arg(&example))?
    );
    let (value, reference) = ((launched - alone) / 1e6, 20.0);
    report.push(Row {
        name: "start_hello".into(),
        bytes: 0,
        pes: 2,
        value,
        unit: "ms",
        reference,
        placement: "",
    });
    Ok(())
}

/// A thousand PEs in this process.
pub(crate) fn cluster(report: &mut Report) -> Outcome {
    let before = peak_memory();
    let start = Instant::now();
    // On a thread of its own, as this one is busy in `block_on`.
    let run = std::thread::spawn(|| {
        LocalCluster::run(1000, |world| async move {
            for _ in 0..100 {
                world.barrier_all().await?;
            }
            world.finalize().await
        })
    });
    run.join().map_err(|_| "the cluster panicked")??;
    let seconds = start.elapsed().as_secs_f64();
    let mut row = |name: &str, value, unit, reference| {
        report.push(Row { name: name.into(), bytes: 0, pes: 1000, value, unit, reference, placement: "" });
    };
    row("cluster_100_barriers", seconds, "s", 10.0);
    row("cluster_memory", (peak_memory() - before) / 1e6, "MB", 2147.0);
    Ok(())
}

fn run(command: &mut Command) -> Outcome {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

/// A name for temporary files of this process.
fn tempfile() -> Outcome<String> {
    let name = format!("shmem-perf-{}", std::process::id());
    Ok(std::env::temp_dir().join(name).to_str().ok_or("the temporary folder is not UTF-8")?.to_owned())
}

/// The most memory this process has had, in bytes.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) * 1024.0
}
