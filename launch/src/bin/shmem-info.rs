//! `shmem-info`: which oxshmem this is, what it finds on this machine, and which settings are in
//! force.
//!
//! It reads the environment as a PE would and starts no job, so that a setting can be tried out
//! before a job depends on it; `--jobs` shows those that run. A setting that cannot be used is one
//! line on standard error and status 2.

use std::{
    io::{self, Write},
    process::ExitCode,
    thread,
};

use oxshmem_base::{
    Result,
    printable::printable,
    report,
    settings::{FenceSide, Settings, markdown, unknown},
    span::span,
    version::{VENDOR_NAME, VERSION_MAJOR, VERSION_MINOR, version_line},
};
use oxshmem_launch::{
    live::find::{LiveJob, jobs},
    options,
    shmem_info::InfoOptions,
};
use oxshmem_net::{ATOMICS, UcxFound};
use oxshmem_spaces::{
    device::Description,
    kinds::{HugePages, Topology, forecast, host_memory},
};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let options: InfoOptions = options();
    let render = if options.json { Report::json } else { Report::text };
    let text = match options.settings_markdown {
        true => Ok(markdown().into_bytes()),
        false if options.jobs => Ok(show_jobs(options.json).into_bytes()),
        false => Report::gather(options.local_pes).map(|report| render(&report)),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            report(format_args!("shmem-info: {error}"));
            return ExitCode::from(2);
        }
    };
    match io::stdout().write_all(&text) {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            report(format_args!("shmem-info: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// The jobs of this user on this host, a line each.
fn show_jobs(as_json: bool) -> String {
    let jobs = jobs();
    if as_json {
        return format!("{:#}\n", jobs.iter().map(LiveJob::json).collect::<Value>());
    }
    if jobs.is_empty() {
        return "no jobs of this user on this host\n".to_owned();
    }
    let mut lines = vec![["job", "launcher", "PEs", "for", "hosts", "program"].map(str::to_owned)];
    lines.extend(jobs.iter().map(|job| {
        let hosts: Vec<&str> = job.hosts.iter().map(|host| host.name.as_str()).collect();
        let (id, pes) = (job.id.to_string(), job.n_pes().to_string());
        let hosts = hosts.join(",");
        [
            id,
            printable(&job.launcher).into_owned(),
            pes,
            span(job.age),
            hosts,
            printable(&job.program).into_owned(),
        ]
    }));
    let widths: [usize; 6] = std::array::from_fn(|column| {
        lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default()
    });
    let line = |cells: &[String; 6]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

/// What there is to show.
struct Report {
    settings: Settings,
    cpus: usize,
    page_size: usize,
    membarrier: bool,
    ucx: UcxFound,
    /// Or why there are none.
    devices: std::result::Result<Vec<Description>, String>,
    waiting: Vec<Waiting>,
    topology: Topology,
    huge_pages: Vec<HugePages>,
    /// For each partition: what is asked, and what would come of it for this many PEs.
    partitions: Vec<(String, String)>,
    unknown: Vec<String>,
}

/// How PEs wait where a given number of them share a host.
struct Waiting {
    local_pes: usize,
    spin_ns: u64,
    fence: &'static str,
}

impl Report {
    fn gather(local_pes: Option<usize>) -> Result<Self> {
        let settings = Settings::from_env()?;
        // Where this cannot be found out, one CPU is the safe answer: no thread spins.
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let membarrier = rustix::thread::membarrier_query()
            .contains_command(rustix::thread::MembarrierCommand::GlobalExpedited);
        let cases = local_pes.map_or(vec![cpus, cpus + 1], |pes| vec![pes]);
        let waiting = cases.into_iter().map(|pes| Waiting::decide(&settings, pes, cpus, membarrier));
        let (topology, huge_pages) = (Topology::read(&settings.numa_topology), HugePages::read());
        Ok(Self {
            partitions: forecast(&settings, local_pes.unwrap_or(cpus), &topology, &huge_pages)?,
            topology,
            huge_pages,
            waiting: waiting.collect::<Result<_>>()?,
            cpus,
            page_size: rustix::param::page_size(),
            membarrier,
            ucx: UcxFound::look(),
            devices: oxshmem_spaces::device::found(),
            unknown: unknown(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())),
            settings,
        })
    }

    fn text(&self) -> Vec<u8> {
        let membarrier = if self.membarrier { "GLOBAL_EXPEDITED is supported" } else { "not supported" };
        let mut facts = vec![
            ("CPUs", format!("{} that this process may use", self.cpus)),
            ("page size", format!("{} bytes", self.page_size)),
            ("membarrier", membarrier.to_owned()),
        ];
        let ucx = match &self.ucx {
            UcxFound::Loaded { version, file } => format!("{version}, {file}"),
            UcxFound::Missing(reason) => format!("none: {reason}"),
        };
        facts.push(("shm", "to PEs of this host: loads and stores of their memory".to_owned()));
        facts.push(("net", oxshmem_net::describe(&self.settings)));
        facts.push(("ucx", ucx));
        facts.push(("atomics", ATOMICS.to_owned()));
        match &self.devices {
            Ok(devices) => {
                let numbered = devices.iter().enumerate();
                facts.extend(numbered.map(|(i, device)| ("device", format!("{i}: {device}"))));
            }
            Err(why) => facts.push(("device", format!("none: {why}"))),
        }
        for waiting in &self.waiting {
            facts.push(("waiting", waiting.sentence(self.settings.yield_rounds)));
        }
        facts.extend(host_memory(&self.topology, &self.huge_pages).into_iter().map(|fact| ("memory", fact)));
        for (asked, outcome) in &self.partitions {
            facts.push(("partition", format!("{asked}: {outcome}")));
        }
        let mut text = version_line() + "\n\n";
        for (what, fact) in facts {
            text += &format!("{what:10}  {fact}\n");
        }
        for name in &self.unknown {
            text += &format!("note        {name}\n");
        }
        text.push('\n');
        let mut text = text.into_bytes();
        // Writing to memory does not fail.
        let _ = self.settings.print_info(&mut text);
        text
    }

    fn json(&self) -> Vec<u8> {
        let waiting = self.waiting.iter().map(|waiting| {
            json!({
                "local_pes": waiting.local_pes,
                "spin_ns": waiting.spin_ns,
                "yield_rounds": self.settings.yield_rounds,
                "fence": waiting.fence,
            })
        });
        let settings = self.settings.entries().map(|entry| {
            json!({
                "name": entry.setting.name,
                "value": entry.value,
                "origin": entry.origin.to_string(),
                "default": entry.setting.default,
                "takes": entry.setting.values,
                "unit": entry.setting.unit,
                "effect": entry.setting.effect,
                "deprecated": entry.setting.deprecated,
                "same_on_all_pes": entry.setting.same_on_all_pes,
            })
        });
        let (fast, normal) = (self.topology.fast(), self.topology.normal());
        let nodes = self.topology.nodes.iter().map(|node| {
            json!({
                "node": node.id,
                "fastmem": fast.contains(&node.id),
                "normalmem": normal.contains(&node.id),
                "total": node.total,
                "available": node.available,
                "has_cpus": node.has_cpus,
                "read_bandwidth": node.bandwidth,
            })
        });
        let pages = self
            .huge_pages
            .iter()
            .map(|pool| json!({ "size": pool.size, "total": pool.total, "free": pool.free }));
        let partitions =
            self.partitions.iter().map(|(asked, outcome)| json!({ "asked": asked, "outcome": outcome }));
        let (ucx, ucx_missing) = match &self.ucx {
            UcxFound::Loaded { version, file } => (json!({ "version": version, "file": file }), Value::Null),
            UcxFound::Missing(reason) => (Value::Null, json!(reason)),
        };
        let devices = self.devices.iter().flatten().map(|device| {
            json!({
                "model": device.model,
                "uuid": device.uuid,
                "memory": device.memory,
                "compute_capability": format!("{}.{}", device.capability.0, device.capability.1),
                "driver_cuda": device.cuda(),
                "sharing": device.sharing(),
                "unfit": device.unfit(),
            })
        });
        let report = json!({
            "vendor": VENDOR_NAME,
            "version": env!("CARGO_PKG_VERSION"),
            "openshmem": format!("{VERSION_MAJOR}.{VERSION_MINOR}"),
            "cpus": self.cpus,
            "page_size": self.page_size,
            "membarrier": self.membarrier,
            "net": oxshmem_net::describe(&self.settings),
            "ucx": ucx,
            "ucx_missing": ucx_missing,
            "atomics": ATOMICS,
            "devices": devices.collect::<Value>(),
            "devices_missing": self.devices.as_ref().err(),
            "waiting": waiting.collect::<Value>(),
            "nodes": nodes.collect::<Value>(),
            "huge_pages": pages.collect::<Value>(),
            "partitions": partitions.collect::<Value>(),
            "unknown": self.unknown,
            "settings": settings.collect::<Value>(),
        });
        format!("{report:#}\n").into_bytes()
    }
}

impl Waiting {
    fn decide(settings: &Settings, local_pes: usize, cpus: usize, membarrier: bool) -> Result<Self> {
        let fence = match settings.fence_for(local_pes, cpus, membarrier)? {
            FenceSide::Writer => "writer",
            FenceSide::Sleeper => "membarrier",
        };
        let spin = settings.spin_for(local_pes, cpus).as_nanos();
        Ok(Self { local_pes, spin_ns: u64::try_from(spin).unwrap_or(u64::MAX), fence })
    }

    fn sentence(&self, yield_rounds: u32) -> String {
        let payer = match self.fence {
            "writer" => "each writer pays for the fence",
            _ => "a PE that goes to sleep pays for the fence, by membarrier",
        };
        let (pes, spin) = (self.local_pes, self.spin_ns);
        format!(
            "with {pes} PEs on this host: spin {spin} ns, yield {yield_rounds} times, then sleep; {payer}"
        )
    }
}
