//! What the PEs of a job do: what each is in, and what it has done since it was looked at before.

use std::{
    collections::HashMap,
    thread,
    time::{Duration, Instant},
};

use oxshmem_progress::activity::{Count, Counts, PeBoard, Standing, Table};
use serde_json::{Value, json};

use super::find::LiveJob;

/// How often it is looked whether a PE waits.
const LOOK: Duration = Duration::from_millis(20);
/// How long PEs go on counting after the last look.
const GRACE: Duration = Duration::from_secs(3);

/// What all PEs of a job do.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Those that have joined and not left, in order.
    pub pes: Vec<PeView>,
    /// What is wrong, if PEs are in collectives that do not go together.
    pub mismatches: Vec<String>,
}

/// What one PE does. Rates are by second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeView {
    /// Its number.
    pub pe: usize,
    /// Its host.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// The phase of the program that it is in; empty if it is in none.
    pub phase: String,
    /// The call that it is in, or `computing`. Of several, that which takes longest.
    pub call: String,
    /// Where and with what the call was made.
    pub arguments: String,
    /// How many other calls it is in.
    pub more: usize,
    /// For how long it has been in the call.
    pub age: Option<Duration>,
    /// Operations that it began.
    pub out_ops: f64,
    /// Their bytes.
    pub out_bytes: f64,
    /// Operations of PEs of its host on its memory.
    pub in_ops: f64,
    /// Their bytes.
    pub in_bytes: f64,
    /// Collectives that it called.
    pub collectives: f64,
    /// Waits that ended, of those that did not end while the PE was spinning.
    pub waits: f64,
    /// The share of the time in which it was in such a wait, from 0 to 1.
    pub waiting: f64,
    /// Bytes of its symmetric heap that are allocated, and how many there are.
    pub heap_used: u64,
    /// The most that ever were.
    pub heap_peak: u64,
    /// Bytes of its symmetric heap.
    pub heap_size: u64,
    /// Teams that it is in.
    pub teams: u64,
}

/// Looks at a job again and again.
#[derive(Debug)]
pub struct Sampler<'a> {
    job: &'a LiveJob,
    before: HashMap<usize, Counts>,
    since: Instant,
    /// Looks since then, and by PE those that have seen it wait.
    looks: u32,
    waiting: HashMap<usize, u32>,
}

impl<'a> Sampler<'a> {
    /// Begins to look.
    pub fn new(job: &'a LiveJob) -> Self {
        let mut sampler =
            Self { job, before: HashMap::new(), since: Instant::now(), looks: 0, waiting: HashMap::new() };
        sampler.begin();
        sampler
    }

    /// Looks for so long, unless `is_enough` says that this is enough, and returns what it saw.
    pub fn sample(&mut self, time: Duration, mut is_enough: impl FnMut(Duration) -> bool) -> View {
        self.job.hosts.iter().for_each(|host| host.boards.watch_for(time + GRACE));
        let end = Instant::now() + time;
        loop {
            self.look();
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || is_enough(left.min(LOOK)) {
                break;
            }
        }
        let view = self.view();
        self.begin();
        view
    }

    /// Samples for all of `time`: without a reason to end earlier.
    pub fn sample_for(&mut self, time: Duration) -> View {
        self.sample(time, |pause| {
            thread::sleep(pause);
            false
        })
    }

    fn begin(&mut self) {
        (self.since, self.looks) = (Instant::now(), 0);
        self.waiting.clear();
        self.before.clear();
        for host in &self.job.hosts {
            host.boards.watch_for(GRACE);
            self.before.extend(host.boards.read().into_iter().map(|it| (it.pe, it.counts)));
        }
    }

    fn look(&mut self) {
        self.looks += 1;
        for board in self.job.hosts.iter().flat_map(|host| host.boards.read()) {
            if !board.seen.is_empty() || board.more > 0 {
                *self.waiting.entry(board.pe).or_default() += 1;
            }
        }
    }

    fn view(&self) -> View {
        let mut view = View::default();
        let mut table = Table::default();
        let seconds = self.since.elapsed().as_secs_f64().max(1e-3);
        for host in &self.job.hosts {
            for board in host.boards.read() {
                // A process that was killed leaves its board as it was.
                if board.standing == Standing::Finalized || !is_alive(board.pid) {
                    continue;
                }
                table.add(&host.name, &board, None);
                let mut pe = of_board(&host.name, &board);
                if let Some(before) = self.before.get(&board.pe) {
                    pe.count(before, &board.counts, seconds);
                }
                let waiting = self.waiting.get(&board.pe).copied().unwrap_or_default();
                pe.waiting = f64::from(waiting) / f64::from(self.looks.max(1));
                view.pes.push(pe);
            }
        }
        view.pes.sort_by_key(|pe| pe.pe);
        view.mismatches = table.mismatches();
        view
    }
}

fn is_alive(pid: u32) -> bool {
    super::process::Process(pid).age().is_some()
}

fn of_board(host: &str, board: &PeBoard) -> PeView {
    let (host, pid, pe, phase) = (host.to_owned(), board.pid, board.pe, board.phase.clone());
    let others = board.seen.len() + board.more as usize;
    let base = PeView { pe, host, pid, phase, more: others.saturating_sub(1), ..PeView::default() };
    match board.seen.first() {
        Some(seen) => {
            let parts = [seen.activity.place(), seen.activity.arguments(None)];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            PeView { call: seen.activity.name(), arguments: parts.join(", "), age: Some(seen.age), ..base }
        }
        None => PeView { call: "computing".to_owned(), ..base },
    }
}

impl PeView {
    fn count(&mut self, before: &Counts, now: &Counts, seconds: f64) {
        let rate = |of: &dyn Fn(&Counts) -> u64| of(now).saturating_sub(of(before)) as f64 / seconds;
        let one = |count: Count| rate(&|counts: &Counts| counts.of(count));
        self.out_ops = rate(&Counts::operations);
        self.out_bytes = rate(&Counts::bytes);
        self.in_ops = one(Count::Received);
        self.in_bytes = one(Count::ReceivedBytes);
        self.collectives = one(Count::Collectives);
        self.waits = one(Count::Waits);
        self.heap_used = now.of(Count::HeapUsed);
        self.heap_peak = now.of(Count::HeapPeak);
        self.heap_size = now.of(Count::HeapSize);
        self.teams = now.of(Count::Teams);
    }

    fn json(&self) -> Value {
        json!({
            "pe": self.pe,
            "host": self.host,
            "pid": self.pid,
            "phase": self.phase,
            "in": self.call,
            "arguments": self.arguments,
            "more": self.more,
            "seconds": self.age.map(|age| age.as_secs_f64()),
            "out_operations_per_s": self.out_ops,
            "out_bytes_per_s": self.out_bytes,
            "in_operations_per_s": self.in_ops,
            "in_bytes_per_s": self.in_bytes,
            "collectives_per_s": self.collectives,
            "waits_per_s": self.waits,
            "waiting": self.waiting,
            "heap_used": self.heap_used,
            "heap_peak": self.heap_peak,
            "heap_size": self.heap_size,
            "teams": self.teams,
        })
    }
}

impl View {
    /// How much longer the PE that waits least is busy than PEs are on average: 1 if all are
    /// equally. Nothing where all wait.
    pub fn imbalance(&self) -> Option<f64> {
        let busy = || self.pes.iter().map(|pe| 1.0 - pe.waiting);
        let mean = busy().sum::<f64>() / self.pes.len().max(1) as f64;
        (mean > 0.0).then(|| busy().fold(0.0, f64::max) / mean)
    }

    /// What scripts read.
    pub fn json(&self, job: &LiveJob) -> Value {
        let mut all = job.json();
        all["imbalance"] = json!(self.imbalance());
        all["mismatches"] = json!(self.mismatches);
        all["table"] = self.pes.iter().map(PeView::json).collect();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imbalance_is_how_much_the_busiest_pe_is_above_the_average() {
        let view = |waiting: &[f64]| {
            let pe = |(pe, &waiting): (usize, &f64)| PeView { pe, waiting, ..PeView::default() };
            View { pes: waiting.iter().enumerate().map(pe).collect(), mismatches: Vec::new() }
        };
        assert_eq!(view(&[0.25, 0.25]).imbalance(), Some(1.0));
        assert_eq!(view(&[0.0, 1.0]).imbalance(), Some(2.0));
        assert_eq!(view(&[1.0, 1.0]).imbalance(), None);
        assert_eq!(View::default().imbalance(), None);
    }
}
