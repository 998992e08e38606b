//! What clients have asked for and what became of it, in files that outlive the PEs.
//!
//! Each process has a file in one folder, with a line for each event, which is written at once: a
//! PE that is killed leaves all that it has done. Times are nanoseconds of the machine's clock.

use std::{
    error::Error,
    fs::{self, File, OpenOptions},
    io::Write,
    path::Path,
    sync::{Mutex, PoisonError},
};

use rustix::time::{ClockId, clock_gettime};

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Read,
    /// The value, which no other write has.
    Write(u64),
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A write was acknowledged, or a read has returned this.
    Done(u64),
    /// It failed, and a write may have been done.
    Failed,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) key: usize,
    pub(crate) request: Request,
    /// The PE that was asked.
    pub(crate) pe: usize,
    pub(crate) begin: u64,
    /// When it ended, and how. None if its client was lost.
    pub(crate) end: Option<(u64, Outcome)>,
}

/// All that has happened.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// In the order in which they began.
    pub(crate) entries: Vec<Entry>,
    /// PEs that were killed, and when.
    pub(crate) kills: Vec<(usize, u64)>,
    /// Replacements: the PE, when its process began, and when it had all of its keys.
    pub(crate) replacements: Vec<(usize, u64, u64)>,
}

impl History {
    /// What all processes have left in `folder`.
    pub(crate) fn load(folder: &Path) -> Result<Self, Failure> {
        let mut all = Self::default();
        for file in fs::read_dir(folder)? {
            let file = file?.path();
            if file.extension().is_some_and(|it| it == "history") {
                let text = fs::read_to_string(&file)?;
                all.add(&text).ok_or_else(|| format!("{} is malformed", file.display()))?;
            }
        }
        all.entries.sort_by_key(|entry| entry.begin);
        all.kills.sort_by_key(|&(_, time)| time);
        Ok(all)
    }

    /// The events of one process. None if they are malformed.
    pub(crate) fn add(&mut self, text: &str) -> Option<()> {
        let first = self.entries.len();
        for line in text.lines() {
            let mut words = line.split(' ');
            let what = words.next()?;
            let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
            match (what, &numbers[..]) {
                ("read", &[key, pe, begin]) => self.begin(key, Request::Read, pe, begin),
                ("write", &[key, pe, begin, value]) => self.begin(key, Request::Write(value), pe, begin),
                ("done", &[number, end, value]) => {
                    let entry = self.entries.get_mut(first + number as usize)?;
                    entry.end = Some((end, Outcome::Done(value)));
                }
                ("failed", &[number, end]) => {
                    let entry = self.entries.get_mut(first + number as usize)?;
                    entry.end = Some((end, Outcome::Failed));
                }
                ("killed", &[pe, time]) => self.kills.push((pe as usize, time)),
                ("filled", &[pe, begin, end]) => self.replacements.push((pe as usize, begin, end)),
                _ => return None,
            }
        }
        Some(())
    }

    fn begin(&mut self, key: u64, request: Request, pe: u64, begin: u64) {
        self.entries.push(Entry { key: key as usize, request, pe: pe as usize, begin, end: None });
    }
}

/// The file of this process.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: File,
    /// How many requests it has.
    requests: Mutex<u64>,
    /// Makes values that no other process has.
    process: u64,
}

impl Recorder {
    /// A new file in `folder` for PE `pe`.
    pub(crate) fn new(folder: &Path, pe: usize) -> Result<Self, Failure> {
        let process = std::process::id();
        let path = folder.join(format!("{pe}-{process}.history"));
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Self { file, requests: Mutex::new(0), process: process.into() })
    }

    /// A line, which is there even if this process is killed next.
    fn write(&self, line: &str) -> Result<(), Failure> {
        Ok((&self.file).write_all(line.as_bytes())?)
    }

    /// A request to PE `pe` begins, a write of a new value if `writes`. Returns its number.
    pub(crate) fn begin(&self, key: usize, writes: bool, pe: usize) -> Result<(u64, Request), Failure> {
        // Under the lock, numbers and lines have the same order.
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, now) = (*requests, now());
        *requests += 1;
        if !writes {
            self.write(&format!("read {key} {pe} {now}\n"))?;
            return Ok((number, Request::Read));
        }
        let value = self.process << 32 | (number + 1);
        self.write(&format!("write {key} {pe} {now} {value}\n"))?;
        Ok((number, Request::Write(value)))
    }

    pub(crate) fn end(&self, number: u64, outcome: Outcome) -> Result<(), Failure> {
        let now = now();
        match outcome {
            Outcome::Done(value) => self.write(&format!("done {number} {now} {value}\n")),
            Outcome::Failed => self.write(&format!("failed {number} {now}\n")),
        }
    }

    /// PE `pe` is about to be killed.
    pub(crate) fn killed(&self, pe: usize) -> Result<(), Failure> {
        self.write(&format!("killed {pe} {}\n", now()))
    }

    /// The replacement `pe`, whose process began at `begin`, has all of its keys.
    pub(crate) fn filled(&self, pe: usize, begin: u64) -> Result<(), Failure> {
        self.write(&format!("filled {pe} {begin} {}\n", now()))
    }
}

/// Nanoseconds of the clock that all processes of the machine share.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
