//! The report, which is printed as it comes about.

use std::{
    io::{Read, Write},
    process::ExitCode,
    thread::JoinHandle,
    time::{Duration, SystemTime},
};

use super::{Ended, Part};

/// Lines of a failed test's output that are shown.
const LINES: usize = 40;

/// What came of the tests so far.
pub(crate) struct Report {
    passed: usize,
    failed: Vec<String>,
    skipped: usize,
}

impl Report {
    /// Prints what the machine is.
    pub(crate) fn begin(emulated: bool) -> Self {
        let mut report = Self { passed: 0, failed: Vec::new(), skipped: 0 };
        report.line("# Device verification\n");
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
        report.item("date", &date(SystemTime::now()));
        report.item("oxshmem", &oxshmem_base::version::version_line());
        report.item("commit", option_env!("OXSHMEM_COMMIT").unwrap_or("unknown"));
        report.item("kernel", &first(read("/proc/sys/kernel/osrelease")));
        report.item("processors", &oxshmem_base::processors::allowed().to_string());
        report.item("NVIDIA driver", &first(read("/proc/driver/nvidia/version")));
        let devices = devices().unwrap_or_else(|why| format!("none: {why}"));
        report.item("devices", if emulated { "the emulated one, whatever else there is" } else { &devices });
        for (name, value) in std::env::vars() {
            if ["CUDA_", "SHMEM_", "OXSHMEM_", "NVIDIA_"].iter().any(|start| name.starts_with(start)) {
                report.item(&name, &value);
            }
        }
        report
    }

    fn item(&mut self, name: &str, value: &str) {
        self.line(&format!("- {name}: {value}"));
    }

    pub(crate) fn line(&mut self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        // There is nobody to tell that standard output is closed.
        let _ = writeln!(stdout, "{text}");
        let _ = stdout.flush();
    }

    pub(crate) fn title(&mut self, text: &str) {
        self.line(&format!("\n## {text}\n"));
    }

    pub(crate) fn head(&mut self) {
        self.line("| test | memory | PEs | outcome | s |\n|---|---|---|---|---|");
    }

    fn row(&mut self, part: &Part, outcome: &str, took: Duration) {
        let pes = pes(part);
        let (name, sharing, took) = (&part.name, part.sharing, took.as_secs_f64());
        self.line(&format!("| {name} | {sharing} | {pes} | {outcome} | {took:.1} |"));
    }

    pub(crate) fn test(&mut self, part: &Part, ended: Ended) {
        match &ended.failed {
            None => {
                self.passed += 1;
                self.row(part, "ok", ended.took);
            }
            Some(why) => {
                self.failed.push(format!("{} ({}, {})", part.name, pes(part), part.sharing));
                self.row(part, &format!("**FAILED**: {why}"), ended.took);
                self.output(&ended);
                // The table goes on.
                self.head();
            }
        }
    }

    /// The last lines of what it printed.
    fn output(&mut self, ended: &Ended) {
        for (name, text) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
            let lines: Vec<&str> = text.lines().collect();
            if !lines.is_empty() {
                let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
                self.line(&format!("\n{name}:\n\n```text\n{last}\n```\n"));
            }
        }
    }

    pub(crate) fn skipped(&mut self, part: &Part) {
        self.skipped += 1;
        self.row(part, "not run: no time was left", Duration::ZERO);
    }

    /// A table of measurements, which the part has printed.
    pub(crate) fn speed(&mut self, part: &Part, ended: Ended) {
        self.line(ended.stdout.trim_end());
        if let Some(why) = &ended.failed {
            self.failed.push(part.name.clone());
            self.line(&format!("\n**FAILED**: {why}"));
            self.output(&Ended { stdout: String::new(), ..ended });
        }
    }

    pub(crate) fn end(&mut self, took: Duration) -> ExitCode {
        self.title("Summary");
        let (passed, failed, skipped) = (self.passed, self.failed.len(), self.skipped);
        let took = took.as_secs();
        self.line(&format!("{passed} tests passed, {failed} failed, {skipped} were not run, in {took} s."));
        for name in std::mem::take(&mut self.failed) {
            self.line(&format!("- failed: {name}"));
        }
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// The devices of this machine, for people.
pub(crate) fn devices() -> Result<String, String> {
    #[cfg(feature = "cuda")]
    let devices = oxshmem_spaces::device::cuda::describe();
    #[cfg(not(feature = "cuda"))]
    let devices = oxshmem_spaces::device::found();
    devices.map(|devices| devices.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Reads until the end, in a thread of its own.
pub(crate) fn collect(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A date and time of day, in UTC.
fn date(at: SystemTime) -> String {
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", days + 1, of_day / 3600, of_day % 3600 / 60)
}

/// What the PEs of a part are, and where.
fn pes(part: &Part) -> String {
    let pes = part.processes.map_or("in one process".to_owned(), |n| format!("{n} processes"));
    match part.hosts {
        1 => pes,
        hosts => format!("{pes} on {hosts} simulated hosts"),
    }
}
