//! The helper: the one thread of a process that completes operations, watches words and wakes
//! tasks while no other thread does.
//!
//! It polls the [sources](crate::source) of all PEs of the process, and works for their engines,
//! its clients. Where it has found nothing for a while, it sleeps on the descriptors of all of
//! these at once. While other threads are at work, it backs off, and only polls now and then.

use std::{
    fmt,
    num::NonZero,
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem_base::{
    Result,
    panics::survive,
    sync::{
        AtomicU64, AtomicUsize, Mutex, Ordering, has_ended, lock,
        thread::{self, JoinHandle},
    },
};

use crate::{
    event::PollSet,
    helper_waker::{self, HelperWaker},
    source::{Armed, Source},
    wait::BACKOFF,
};

/// The engine of a PE, as the helper works for it.
pub(crate) trait Client: Send {
    /// What it polls.
    fn sources(&self) -> &[Arc<dyn Source>];

    /// Does what there is to do. `found` says whether the sources have just completed something.
    /// True if there may be more at once; else `sleep` gets what the helper sleeps on.
    fn help<'a>(&'a mut self, found: bool, sleep: &mut PollSet<'a>) -> bool;

    /// How long the helper goes on looking after it has found something.
    fn after_work(&self) -> Duration;

    /// Whether the PE is gone.
    fn is_over(&self) -> bool;
}

/// The helper of a process.
pub struct Helper {
    waker: Arc<HelperWaker>,
    /// The rounds that the thread has begun.
    rounds: AtomicU64,
    /// Clients that are not over.
    clients: AtomicUsize,
    staff: Mutex<Staff>,
}

#[derive(Default)]
struct Staff {
    /// Clients that the thread does not know yet.
    new: Vec<Box<dyn Client>>,
    /// Whether the thread takes them up.
    works: bool,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// A helper without clients.
    ///
    /// # Errors
    /// The system's, if there are no descriptors left.
    pub fn new() -> Result<Arc<Self>> {
        let waker = Arc::new(HelperWaker::new()?);
        Ok(Arc::new(Self {
            waker,
            rounds: AtomicU64::new(0),
            clients: AtomicUsize::new(0),
            staff: Mutex::default(),
        }))
    }

    /// What wakes it.
    pub fn helper_waker(&self) -> &Arc<HelperWaker> {
        &self.waker
    }

    /// Works for `client` until that is over. Starts the thread, if there is none.
    pub(crate) fn work_for(self: &Arc<Self>, client: Box<dyn Client>) -> std::io::Result<()> {
        // Relaxed: it orders nothing.
        self.clients.fetch_add(1, Ordering::Relaxed);
        let mut staff = lock(&self.staff);
        staff.new.push(client);
        if !staff.works {
            let helper = Arc::clone(self);
            let run = move || helper.run();
            match thread::Builder::new().name("oxshmem-engine".into()).spawn(run) {
                Ok(thread) => (staff.works, staff.thread) = (true, Some(thread)),
                Err(error) => {
                    self.one_leaves();
                    let client = staff.new.pop();
                    drop(staff);
                    drop(client);
                    return Err(error);
                }
            }
        }
        drop(staff);
        self.waker.wake();
        Ok(())
    }

    /// Returns when the thread does nothing any more for a source that is closed.
    /// On the thread itself it returns at once.
    pub fn leave_source(&self) {
        let this = thread::current().id();
        let is_this = lock(&self.staff).thread.as_ref().is_some_and(|thread| thread.thread().id() == this);
        let begun = self.rounds.load(Ordering::SeqCst);
        self.waker.wake();
        while !is_this && self.rounds.load(Ordering::SeqCst) == begun && !self.has_ended() {
            thread::sleep(Duration::from_micros(20));
        }
    }

    /// A client is over.
    pub(crate) fn one_leaves(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there are clients that are not over.
    pub(crate) fn is_needed(&self) -> bool {
        self.clients.load(Ordering::Relaxed) > 0
    }

    /// Whether there is no thread.
    pub fn has_ended(&self) -> bool {
        has_ended(&mut lock(&self.staff).thread)
    }

    /// What the thread does.
    fn run(&self) {
        // So that short sleeps are as short as they are meant to be.
        let _ = rustix::thread::set_current_timer_slack(NonZero::new(1000));
        let mut clients: Vec<Box<dyn Client>> = Vec::new();
        let mut sources = Sources::new();
        // Whether it has announced its sleep, and looks once more, and whether that is short: one
        // that is over by then becomes a sleep, from which a notification wakes.
        let mut announced = None;
        loop {
            self.rounds.fetch_add(1, Ordering::SeqCst);
            if !self.update(&mut clients, &mut sources) {
                return;
            }
            let mut sleep = PollSet::default();
            let list = std::mem::take(&mut sources.list);
            let (mut found, mut ready) = (false, false);
            survive(|| match sources.serve(&list, &self.waker, &clients, &mut sleep) {
                Polled::Found => (found, ready) = (true, true),
                Polled::Looks => ready = true,
                Polled::Nothing => {}
            });
            for client in &mut clients {
                survive(|| ready |= client.help(found, &mut sleep));
            }
            let short = sources.pauses_until.is_some();
            if ready || announced != Some(short) {
                drop(sleep);
                sources.list = list;
                if ready && announced.is_some() {
                    self.waker.announce_awake();
                } else if !ready {
                    self.waker.announce_sleep(short);
                }
                announced = (!ready).then_some(short);
                std::hint::spin_loop();
                continue;
            }
            sleep.on_event(self.waker.event());
            sleep.sleep();
            drop(sleep);
            sources.list = list;
            self.waker.announce_awake();
            announced = None;
        }
    }

    /// Takes up new clients, and lets go of those that are over. False if there are none left, and
    /// the thread ends.
    fn update(&self, clients: &mut Vec<Box<dyn Client>>, sources: &mut Sources) -> bool {
        let over: Vec<_> = clients.extract_if(.., |client| client.is_over()).collect();
        let mut unused = Vec::new();
        let mut staff = lock(&self.staff);
        if !over.is_empty() || !staff.new.is_empty() {
            clients.append(&mut staff.new);
            unused = std::mem::take(&mut sources.list);
            for source in clients.iter().flat_map(|client| client.sources()) {
                if !sources.list.iter().any(|known| Arc::ptr_eq(known, source)) {
                    sources.list.push(Arc::clone(source));
                }
            }
        }
        // Under the lock: a client that comes later starts another thread.
        staff.works = !clients.is_empty();
        drop(staff);
        // Without the lock: these may be the last handles.
        survive(|| drop((unused, over)));
        !clients.is_empty()
    }
}

impl fmt::Debug for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Helper")
    }
}

/// The sources of all clients, and what other threads were seen to do with them.
struct Sources {
    list: Vec<Arc<dyn Source>>,
    /// The signs of life of other threads when it last looked.
    life: u64,
    /// How long the next pause is, and when the present one ends.
    pause: Duration,
    pauses_until: Option<Instant>,
    /// When it last found something.
    busy: Option<Instant>,
}

/// How a look at the sources ended.
enum Polled {
    /// Something was over.
    Found,
    /// Nothing was, and it is worth to look again at once.
    Looks,
    /// Nothing was.
    Nothing,
}

impl Sources {
    fn new() -> Self {
        Self { list: Vec::new(), life: 0, pause: BACKOFF[0], pauses_until: None, busy: Some(Instant::now()) }
    }

    /// Polls, and says what the helper sleeps on.
    ///
    /// While other threads poll and start operations it is in their way: it pauses between two
    /// polls, for longer each time that they leave it nothing to find.
    fn serve<'a>(
        &mut self,
        list: &'a [Arc<dyn Source>],
        waker: &HelperWaker,
        clients: &[Box<dyn Client>],
        sleep: &mut PollSet<'a>,
    ) -> Polled {
        if list.is_empty() {
            return Polled::Nothing;
        }
        if let Some(left) = self.left_of_pause(waker) {
            sleep.at_most(left);
            return Polled::Nothing;
        }
        let others_work = waker.life() != self.life;
        let woken = helper_waker::woken();
        let mut found = false;
        for source in list {
            survive(|| found |= source.poll());
        }
        // What completions have just started is no sign of life of another thread.
        self.life = waker.life();
        self.pause = if found || !others_work { BACKOFF[0] } else { self.pause };
        if !waker.takes_over() && others_work {
            sleep.at_most(self.pause);
            self.pauses_until = Some(Instant::now() + self.pause);
            self.pause = (2 * self.pause).min(BACKOFF[1]);
            return Polled::Nothing;
        }
        if found {
            // The thread that was woken may need this processor, and polls itself if it waits
            // again.
            self.busy = (helper_waker::woken() == woken).then(Instant::now);
            return Polled::Found;
        }
        let patience = clients.iter().map(|client| client.after_work()).max().unwrap_or_default();
        if self.busy.is_some_and(|busy| busy.elapsed() < patience) {
            return Polled::Looks;
        }
        for source in list {
            match source.arm() {
                Armed::Ready => return Polled::Looks,
                Armed::Asleep { descriptor, limit } => {
                    descriptor.into_iter().for_each(|descriptor| sleep.on_readable(descriptor));
                    limit.into_iter().for_each(|limit| sleep.at_most(limit));
                }
            }
        }
        // Nor is what sources have just sent.
        self.life = waker.life();
        Polled::Nothing
    }

    /// What is left of the present pause, if it goes on.
    fn left_of_pause(&mut self, waker: &HelperWaker) -> Option<Duration> {
        let left = self.pauses_until?.saturating_duration_since(Instant::now());
        if left.is_zero() || waker.rests() {
            self.pauses_until = None;
            return None;
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something that is under way until it is polled, and how often it was.
    #[derive(Debug, Default)]
    struct Counted {
        polls: AtomicU64,
        started: AtomicU64,
        over: AtomicU64,
    }

    impl Source for Counted {
        fn poll(&self) -> bool {
            self.polls.fetch_add(1, Ordering::Relaxed);
            let started = self.started.load(Ordering::SeqCst);
            self.over.swap(started, Ordering::SeqCst) != started
        }

        fn is_pending(&self) -> bool {
            self.started.load(Ordering::SeqCst) != self.over.load(Ordering::SeqCst)
        }

        fn arm(&self) -> Armed<'_> {
            if self.is_pending() { Armed::Ready } else { Armed::IDLE }
        }
    }

    /// A PE whose threads do not wait.
    struct Busy([Arc<dyn Source>; 1], Arc<AtomicU64>);

    impl Client for Busy {
        fn sources(&self) -> &[Arc<dyn Source>] {
            &self.0
        }

        fn help<'a>(&'a mut self, _: bool, _: &mut PollSet<'a>) -> bool {
            false
        }

        fn after_work(&self) -> Duration {
            Duration::from_micros(20)
        }

        fn is_over(&self) -> bool {
            self.1.load(Ordering::SeqCst) != 0
        }
    }

    #[test]
    fn a_thread_that_starts_operations_is_left_alone_and_what_it_started_ends() {
        let (helper, counted) = (Helper::new().unwrap(), Arc::new(Counted::default()));
        let over = Arc::new(AtomicU64::new(0));
        helper
            .work_for(Box::new(Busy([Arc::clone(&counted) as Arc<dyn Source>], Arc::clone(&over))))
            .unwrap();
        let begin = Instant::now();
        let lasts = Duration::from_millis(50);
        while begin.elapsed() < lasts {
            counted.started.fetch_add(1, Ordering::SeqCst);
            helper.helper_waker().issue();
            let next = Instant::now() + Duration::from_micros(3);
            while Instant::now() < next {
                std::hint::spin_loop();
            }
        }
        let polls = counted.polls.load(Ordering::Relaxed);
        let most = (2 * begin.elapsed().as_micros() / BACKOFF[0].as_micros()) as u64 + 100;
        assert!(polls <= most, "{polls} polls, not {most}, while operations were started");
        while counted.is_pending() {
            assert!(begin.elapsed() < Duration::from_secs(30), "nothing has seen the end");
            thread::yield_now();
        }
        over.store(1, Ordering::SeqCst);
        helper.one_leaves();
        helper.helper_waker().wake();
    }
}
