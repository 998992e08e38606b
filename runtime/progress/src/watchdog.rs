//! The watchdog: says what a PE of this process is stuck in, once, after `SHMEM_HANG_TIMEOUT`.
//!
//! One thread for all PEs of a job in this process. It is started by the first entry on a board,
//! sleeps until the oldest entry would be old enough to speak of, and without limit while there is
//! none. So a PE that enters something only has to wake it when it sleeps without limit, and a
//! program that never waits has no such thread.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use oxshmem_base::{
    span::span,
    sync::{
        Mutex, has_ended, lock,
        thread::{self, JoinHandle},
    },
};
use oxshmem_job::Bootstrap;

use crate::{
    activity::{self, Boards, Call, PeBoard, Seen, Standing, Table, Watcher, subject, table_of},
    executor::Executor,
    fabric::Fabric,
};

/// There is no thread yet.
const NONE: u8 = 0;
/// It sleeps until somebody enters something.
const ASLEEP: u8 = 1;
/// It will look at the boards by itself.
const AWAKE: u8 = 2;

/// How often to look for the answer of a future that was woken to be polled, and how long to wait
/// for it.
const ANSWER: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches over the boards of some PEs.
#[derive(Debug)]
pub struct Watchdog {
    /// How long a wait may take before it is spoken of.
    limit: Duration,
    /// The PEs of this process.
    pes: Arc<[usize]>,
    /// Their blocks.
    blocks: Range<usize>,
    host: String,
    fabric: Weak<Fabric>,
    reporter: Reporter,
    /// Of these PEs.
    executors: Mutex<Vec<(usize, Weak<Executor>)>>,
    state: AtomicU8,
    thread: Mutex<Option<JoinHandle<()>>>,
    this: Weak<Self>,
}

/// Which process prints the table of all PEs.
struct Reporter(Weak<dyn Bootstrap>);

impl std::fmt::Debug for Reporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reporter")
    }
}

/// The watchdog of the PEs of a process, if there is one. It ends with this.
#[derive(Debug, Default)]
pub struct WatchdogSlot(OnceLock<Option<Arc<Watchdog>>>);

impl WatchdogSlot {
    /// The watchdog, as the first PE to join has made it.
    pub fn get_or_init(&self, make: impl FnOnce() -> Option<Arc<Watchdog>>) -> Option<&Arc<Watchdog>> {
        self.0.get_or_init(make).as_ref()
    }

    /// The watchdog, if there is one.
    pub fn get(&self) -> Option<Arc<Watchdog>> {
        self.0.get().cloned().flatten()
    }
}

impl Drop for WatchdogSlot {
    fn drop(&mut self) {
        if let Some(Some(watchdog)) = self.0.get() {
            watchdog.unpark();
        }
    }
}

impl Watcher for Watchdog {
    #[inline]
    fn entered(&self) {
        // SeqCst: see `Board::put`.
        if self.state.load(Ordering::SeqCst) != AWAKE {
            self.wake();
        }
    }

    fn left(&self) {
        self.unpark();
    }
}

impl Watchdog {
    /// For all PEs of a process that `bootstrap`, which is one of them, is in.
    pub fn new(limit: Duration, fabric: &Arc<Fabric>, bootstrap: &Arc<dyn Bootstrap>) -> Arc<Self> {
        let placement = bootstrap.placement();
        let block = placement.local.iter().position(|&pe| pe == placement.pe).unwrap_or_default();
        let (pes, blocks) = match bootstrap.in_process() {
            true => (Arc::clone(&placement.local), 0..placement.local.len()),
            false => (Arc::from([placement.pe]), block..block + 1),
        };
        Arc::new_cyclic(|this| Self {
            limit,
            pes,
            blocks,
            host: placement.host.clone(),
            fabric: Arc::downgrade(fabric),
            reporter: Reporter(Arc::downgrade(bootstrap)),
            executors: Mutex::default(),
            state: AtomicU8::new(NONE),
            thread: Mutex::default(),
            this: this.clone(),
        })
    }

    /// Names the executor of a PE of this process.
    pub fn attach(&self, pe: usize, executor: &Arc<Executor>) {
        lock(&self.executors).push((pe, Arc::downgrade(executor)));
    }

    #[cold]
    fn wake(&self) {
        match self.state.swap(AWAKE, Ordering::SeqCst) {
            NONE => {
                if let Some(watchdog) = self.this.upgrade() {
                    let mut thread = lock(&self.thread);
                    // Without a thread there is no diagnosis, which nothing else depends on.
                    *thread = thread::Builder::new()
                        .name("oxshmem-watchdog".into())
                        .spawn(move || watchdog.run())
                        .ok();
                }
            }
            ASLEEP => self.unpark(),
            _ => {}
        }
    }

    /// Ends the thread, once the PEs have left or the fabric is gone.
    pub fn unpark(&self) {
        if let Some(thread) = &*lock(&self.thread) {
            thread.thread().unpark();
        }
    }

    /// Whether there is no thread, or no more.
    pub fn has_ended(&self) -> bool {
        has_ended(&mut lock(&self.thread))
    }

    fn run(&self) {
        // Before the first look at the fabric: a thread that drops it later finds this one to wake.
        drop(lock(&self.thread));
        let mut reported = Reported::default();
        while let Some(fabric) = self.fabric.upgrade() {
            if self.has_nobody(&fabric) {
                return;
            }
            let look = self.look(&fabric, &mut reported);
            // Not held while printing or asleep, so that memory goes when the PEs go.
            drop(fabric);
            match look {
                Finding::Quiet => {
                    self.state.store(ASLEEP, Ordering::SeqCst);
                    let Some(fabric) = self.fabric.upgrade() else { return };
                    let entered = self.is_anything_entered(&fabric);
                    drop(fabric);
                    if entered {
                        self.state.store(AWAKE, Ordering::SeqCst);
                    } else {
                        thread::park();
                    }
                }
                Finding::Until(time) => thread::park_timeout(time.max(Duration::from_millis(10))),
                Finding::Stuck(stuck) => self.report(*stuck, &mut reported),
            }
        }
    }

    /// Whether all PEs of this process have left.
    fn has_nobody(&self, fabric: &Fabric) -> bool {
        !self.blocks.clone().any(|block| activity::is_joined(&fabric.control.page(block).shown))
    }

    fn is_anything_entered(&self, fabric: &Fabric) -> bool {
        self.blocks.clone().any(|block| activity::is_anything_entered(&fabric.control.page(block).shown))
    }

    /// Looks at all boards.
    fn look(&self, fabric: &Fabric, reported: &mut Reported) -> Finding {
        let (mut present, mut stuck, mut next) = (HashSet::new(), Vec::new(), None::<Duration>);
        // What is nearly due is reported along with what is due.
        let nearly = self.limit.saturating_sub((self.limit / 10).max(Duration::from_millis(250)));
        let mut due = false;
        let boards = Boards::of(&fabric.control, &fabric.heap);
        for PeBoard { pe, seen, .. } in self.blocks.clone().filter_map(|block| boards.read_one(block)) {
            for seen in seen {
                let id = (pe, seen.id);
                present.insert(id);
                if reported.entries.contains(&id) {
                    continue;
                }
                if let Some(again) = reported.silent.get(&id)
                    && seen.age < *again
                {
                    let left = *again - seen.age;
                    next = Some(next.map_or(left, |next| next.min(left)));
                    continue;
                }
                due |= seen.age >= self.limit;
                if seen.age >= nearly {
                    stuck.push((pe, seen));
                }
                let left = self.limit.saturating_sub(seen.age);
                next = Some(next.map_or(left, |next| next.min(left)));
            }
        }
        reported.entries.retain(|id| present.contains(id));
        reported.silent.retain(|id, _| present.contains(id));
        if due && !self.have_answered(&mut stuck, reported) {
            return Finding::Until(ANSWER);
        }
        if stuck.iter().any(|(_, seen)| seen.age >= self.limit) {
            reported.entries.extend(stuck.iter().map(|(pe, seen)| (*pe, seen.id)));
            return Finding::Stuck(Box::new(Stuck { entries: stuck, boards }));
        }
        // Beside what has been reported, something new is due no sooner than that.
        match next.or_else(|| self.is_anything_entered(fabric).then_some(self.limit)) {
            Some(time) => Finding::Until(time),
            None => Finding::Quiet,
        }
    }

    /// Leaves out what nobody waits for any more: a future that was forgotten is not polled when it
    /// is woken. False while an answer may yet come.
    fn have_answered(&self, stuck: &mut Vec<(usize, Seen)>, reported: &mut Reported) -> bool {
        let executors: HashMap<usize, Arc<Executor>> = lock(&self.executors)
            .iter()
            .filter_map(|(pe, executor)| Some((*pe, executor.upgrade()?)))
            .collect();
        let Some(asked) = reported.asked else {
            reported.asked = Some(Instant::now());
            let asked: HashSet<usize> = stuck.iter().map(|(pe, _)| *pe).collect();
            asked.iter().filter_map(|pe| executors.get(pe)).for_each(|executor| executor.ask());
            return false;
        };
        let is_silent = |(pe, seen): &(usize, Seen)| {
            executors.get(pe).is_some_and(|executor| executor.is_silent(seen.place()))
        };
        if stuck.iter().any(is_silent) && asked.elapsed() < PATIENCE.min(self.limit / 2) {
            return false;
        }
        reported.asked = None;
        stuck.retain(|entry| {
            let silent = is_silent(entry);
            if silent {
                let (pe, seen) = entry;
                reported.silent.insert((*pe, seen.id), seen.age + self.limit);
            }
            !silent
        });
        true
    }

    /// Says what is stuck, and sees to it that the table is printed.
    fn report(&self, stuck: Stuck, reported: &mut Reported) {
        let Stuck { entries, boards } = stuck;
        let mut lines: Vec<(String, Vec<usize>, Duration)> = Vec::new();
        let is_sync = |(_, seen): &(usize, Seen)| seen.activity.call == Call::Sync;
        let barriers = if entries.iter().any(is_sync) { barriers(&boards) } else { HashSet::new() };
        for (pe, Seen { mut activity, age, .. }) in entries {
            if activity.call == Call::Sync && barriers.contains(&(activity.team, activity.number)) {
                activity.call = Call::Barrier;
            }
            let sentence = activity.sentence(boards.value(pe, &activity));
            match lines.iter_mut().find(|(line, ..)| *line == sentence) {
                Some((_, pes, least)) => {
                    pes.push(pe);
                    *least = age.min(*least);
                }
                None => lines.push((sentence, vec![pe], age)),
            }
        }
        let mut text = String::new();
        for (sentence, pes, age) in &lines {
            let (who, host) = (subject(pes, "", ""), &self.host);
            let have = if pes.len() == 1 { "has" } else { "have" };
            text += &format!("oxshmem: {}on host {host} {have} waited {} in {sentence}\n", who, span(*age));
        }
        let bootstrap = self.reporter.0.upgrade();
        let launcher_tells = bootstrap.as_ref().is_some_and(|bootstrap| bootstrap.stuck());
        if !launcher_tells {
            text += &self.table(&boards, reported);
        }
        oxshmem_base::report(text.trim_end());
    }

    /// The table of all PEs and what is wrong with it, unless it would say the same as the last
    /// time.
    fn table(&self, boards: &Boards, reported: &mut Reported) -> String {
        let all = boards.read();
        let others_wait = |pe: &PeBoard| {
            pe.standing == Standing::Joined && pe.seen.iter().any(|seen| seen.age >= self.limit)
        };
        // Of several processes, the one of the first PE that is stuck prints it.
        let first = all.iter().find(|pe| others_wait(pe)).map(|pe| pe.pe);
        let table = table_of(&all, boards, &self.host);
        if all.len() < 2
            || first.is_none_or(|pe| !self.pes.contains(&pe))
            || table.says_the_same_as(&reported.table)
        {
            return String::new();
        }
        let mismatches: String = table.mismatches().iter().map(|line| format!("oxshmem: {line}\n")).collect();
        let text = format!("{mismatches}oxshmem: the PEs of this host:\n{table}");
        reported.table = table;
        text
    }
}

/// The barriers that PEs of this host are known to be in, by team and number: to others they are
/// syncs, as in [`Table::add`].
fn barriers(boards: &Boards) -> HashSet<(u64, u64)> {
    let seen = boards.read().into_iter().flat_map(|board| board.seen).map(|seen| seen.activity);
    seen.filter(|it| it.call == Call::Barrier).map(|it| (it.team, it.number)).collect()
}

/// What has been reported.
#[derive(Default)]
struct Reported {
    entries: HashSet<(usize, (usize, u64))>,
    /// Since when the futures of what may be stuck have been asked whether they still wait.
    asked: Option<Instant>,
    /// What has not answered then, and how old it is to be before it is asked again.
    silent: HashMap<(usize, (usize, u64)), Duration>,
    table: Table,
}

/// What a look at the boards comes to.
enum Finding {
    /// Nothing is entered.
    Quiet,
    /// There is nothing to report before so much time has passed.
    Until(Duration),
    /// Something is to be reported.
    Stuck(Box<Stuck>),
}

struct Stuck {
    entries: Vec<(usize, Seen)>,
    boards: Boards,
}
