//! A network that is not there: the way between PEs that are tasks of one process and are placed
//! on several hosts.
//!
//! Everything above is tested with it, as it keeps the promises of [`Net`] and no others: where a
//! [`Link`] is given, operations have their effect later, on a thread of their own, and in any
//! order that the promises allow. Without one the caller performs them at once. Long messages wait
//! for their receive, as they do on a real network.
//!
//! In [virtual time](Simulation) it shows what a job would take on a network of any size.

mod aloft;
mod clock;
mod delivery;
mod departures;
mod link;
mod lost;
mod mailbox;
mod port;
mod simulation;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock, Weak},
    time::Duration,
};

pub use link::Link;
pub use simulation::Simulation;

use oxshmem_base::{Error, Result};
use oxshmem_job::Bootstrap;
use oxshmem_memory::{
    copy::copy,
    op::{Address, Op, Spot, Verb},
};
use oxshmem_progress::{
    completion::complete,
    executor::Executor,
    fabric::Fabric,
    failure::Failure,
    source::{Armed, Source},
};

use self::{
    clock::{Clock, Moment},
    delivery::{Delivery, Step},
    link::Line,
    mailbox::{Message, Receive},
    port::Port,
};
use super::{Batch, Completion, Listener, Mail, Net, Way, Words};

/// Bytes up to which puts are eager, and messages do not wait for their receive.
const EAGER: usize = 8 << 10;

/// The model's network: what all PEs of a process that are on simulated hosts have in common.
pub struct Wires {
    /// A port for each PE that has joined: its own, or that of its last replacement.
    ports: Box<[RwLock<Option<Arc<Port>>>]>,
    delivery: Arc<Delivery>,
    link: Link,
}

/// What a PE has sent to PEs of other hosts. What it answers when others get or fetch counts as
/// sent, flushes do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Messages, each for an operation, a request or an answer.
    pub messages: u64,
    /// Bytes in them, with the heads of what is in batches.
    pub bytes: u64,
}

impl Wires {
    /// Between `n_pes` PEs.
    fn new(n_pes: usize, link: Link) -> Self {
        let ports = (0..n_pes).map(|_| RwLock::default()).collect();
        let clock = Arc::new(Clock::new(link.virtual_time));
        Self { ports, delivery: Arc::new(Delivery::new(&clock)), link }
    }

    /// The wires of the job of `bootstrap`, if its PEs are in one process. Their [`Link`] is the
    /// one that the PEs have in [common](Bootstrap::common), if they do so before the first of them
    /// joins.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxshmem_job::{Bootstrap, Local, Single};
    /// use oxshmem_net::{Link, Wires};
    /// use oxshmem_base::Hosts;
    ///
    /// let pes = Local::cluster_on(Hosts::even(4, 2));
    /// let link = Link { latency: Duration::from_micros(5), ..Link::default() };
    /// pes[0].common().unwrap().of(|| link);
    /// assert_eq!(Wires::of(&pes[3]).unwrap().link(), link);
    /// assert!(Wires::of(&Single::new()).is_none());
    /// ```
    pub fn of(bootstrap: &dyn Bootstrap) -> Option<Arc<Self>> {
        let common = bootstrap.common()?;
        let link = *common.of(Link::default);
        Some(common.of(|| Self::new(bootstrap.placement().n_pes, link)))
    }

    /// What they are made of.
    pub fn link(&self) -> Link {
        self.link
    }

    /// What a PE has sent.
    pub fn sent(&self, pe: usize) -> Sent {
        self.port(pe).map_or_else(|_| Sent::default(), |port| port.sent())
    }

    /// Sets the clock of [virtual time](Simulation) to when something happens next, and has that
    /// happen. To be called when no PE can go on; false if nothing will happen, or another thread
    /// is about to do this.
    pub fn advance(&self) -> bool {
        self.delivery.advance()
    }

    /// Ends all waiting of all PEs, on whichever host.
    pub fn fail(&self, failure: &Failure) {
        self.joined().for_each(|port| port.fail(failure));
    }

    /// Has PE `pe` get news of the job's launcher: as late as a message, and after those before.
    pub fn bring(&self, pe: usize, news: impl FnOnce() + Send + 'static) {
        let Ok(port) = self.port(pe) else { return news() };
        self.delivery.eager(port.news(), &port, news);
    }

    /// Ready when that much of the job's time is over.
    pub async fn pause(&self, time: Duration) {
        self.delivery.wait(self.delivery.clock().now() + time, None).await;
    }

    fn joined(&self) -> impl Iterator<Item = Arc<Port>> {
        (0..self.ports.len()).filter_map(|pe| self.port(pe).ok())
    }

    fn port(&self, pe: usize) -> Result<Arc<Port>> {
        let port = self.ports.get(pe);
        let port = port.and_then(|port| port.read().unwrap_or_else(PoisonError::into_inner).clone());
        port.ok_or_else(|| Error::PeLost { pe, view: 0, how: "it has not joined the job".into() })
    }
}

/// The wires of a job of a test elsewhere.
#[cfg(any(test, feature = "suite"))]
pub fn wires(n_pes: usize, link: Link) -> Arc<Wires> {
    Arc::new(Wires::new(n_pes, link))
}

impl Drop for Wires {
    fn drop(&mut self) {
        self.delivery.end();
    }
}

impl fmt::Debug for Wires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wires of {} PEs with {:?}", self.ports.len(), self.link)
    }
}

/// One PE's way over [`Wires`].
pub struct Model {
    here: Arc<Port>,
    wires: Arc<Wires>,
}

impl Model {
    /// Connects a PE, which is in `block` of its host's memory, or a replacement of one that is
    /// lost. It can be reached from now on; it can reach those that have joined.
    pub fn join(
        wires: Arc<Wires>,
        pe: usize,
        block: usize,
        fabric: &Arc<Fabric>,
        executor: &Arc<Executor>,
    ) -> Result<Self> {
        let refused = |why| Error::bootstrap("join", format!("PE {pe} of {} {why}", wires.ports.len()));
        let slot = wires.ports.get(pe).ok_or_else(|| refused("cannot be"))?;
        let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_some_and(|before| !before.is_closed()) {
            return Err(refused("has joined before"));
        }
        let coming = slot.as_ref().map_or(0, |before| before.coming() + 1);
        let (link, clock) = (wires.link, wires.delivery.clock());
        let here = Arc::new(Port::new((pe, coming), block, fabric, executor, link, clock));
        *slot = Some(Arc::clone(&here));
        drop(slot);
        Ok(Self { here, wires })
    }

    /// The PE that an operation is for, if both are there.
    fn reach(&self, call: &'static str, pe: usize) -> Result<Arc<Port>> {
        if self.here.is_closed() {
            return Err(Error::Finalized { call });
        }
        // Before anything that follows from it.
        self.here.check_failure()?;
        if let Some(error) = self.here.known_loss(self.here.pe()).or_else(|| self.here.known_loss(pe)) {
            return Err(error);
        }
        let port = self.wires.port(pe)?;
        // One that is lost gives no answer, until that is known.
        if port.is_closed() && !port.is_dead() { Err(port.lost()) } else { Ok(port) }
    }

    /// Has `step` happen when it is `due`, and even if this PE has left by then.
    fn send_off(&self, due: Option<Moment>, step: impl FnOnce() + Send + 'static) {
        self.wires.delivery.eager(due, &self.here, step);
    }

    /// The steps of an operation that is awaited.
    fn awaited(&self, call: &'static str) -> AwaitedOp {
        AwaitedOp { call, origin: Arc::clone(&self.here), delivery: Arc::clone(&self.wires.delivery) }
    }
}

impl Source for Model {
    fn poll(&self) -> bool {
        false
    }

    fn is_pending(&self) -> bool {
        true
    }

    fn arm(&self) -> Armed<'_> {
        Armed::IDLE
    }

    fn wants_polling(&self) -> bool {
        false
    }
}

// SAFETY: every operation goes through a `CheckedRange`, which has checked the bounds of the one
// side and keeps it mapped; the other is the caller's until `done` runs, which is the last step of
// each.
unsafe impl Way<Spot, Address> for Model {
    unsafe fn start(&self, op: Op, done: Completion<u64>) {
        let (bytes, pe, me) = (op.blocks.bytes(), op.there.pe, self.here.pe());
        let (call, align) = match op.verb {
            Verb::Put(_) => ("put", 1),
            Verb::Get(_) => ("get", 1),
            Verb::Atomic(..) => ("atomic", bytes),
        };
        let range = match self.reach(call, pe).and_then(|port| port.range(op.there, bytes, align)) {
            Ok(range) => range,
            Err(error) => return complete(done, Err(error)),
        };
        match op.verb {
            Verb::Put(from) => {
                let due = self.here.sends(bytes, |line| line.effect(pe, bytes));
                self.awaited(call).go(due, done, move |awaited, done| {
                    let Some(done) = awaited.origin.unless_lost(range.port(), done) else { return };
                    // SAFETY: `done` has not run, so `from` is readable for the range's length.
                    unsafe { range.put(from.get()) };
                    complete(done, Ok(0));
                });
            }
            Verb::Get(to) => {
                let asked = self.here.sends(0, |line| line.question(pe, 0));
                self.awaited(call).go(asked, done, move |awaited, done| {
                    let Some(done) = awaited.origin.unless_lost(range.port(), done) else { return };
                    let answered = range.port().sends(bytes, |line| line.effect(me, bytes));
                    awaited.go(answered, done, move |awaited, done| {
                        let Some(done) = awaited.origin.unless_known(range.port(), done) else { return };
                        // SAFETY: `done` has not run, so `to` is writable for the range's length.
                        unsafe { range.get(to.get(), &awaited.origin) };
                        complete(done, Ok(0));
                    });
                });
            }
            Verb::Atomic(operation, width) => {
                let asked = self.here.sends(bytes, |line| line.question(pe, bytes));
                self.awaited(call).go(asked, done, move |awaited, done| {
                    let Some(done) = awaited.origin.unless_lost(range.port(), done) else { return };
                    let before = range.atomic(width, operation);
                    let answered = range.port().sends(bytes, |line| line.effect(me, bytes));
                    awaited.go(answered, done, move |awaited, done| {
                        if let Some(done) = awaited.origin.unless_known(range.port(), done) {
                            complete(done, Ok(before));
                        }
                    });
                });
            }
        }
    }

    fn flush(&self, pe: Option<usize>, done: Completion) {
        if self.here.is_closed() {
            return complete(done, Err(Error::Finalized { call: "flush" }));
        }
        // Nothing is awaited of PEs that have left: what was started before is there all the same.
        let due = self.here.sent_until(|line| line.flushed(pe));
        let here = Arc::clone(&self.here);
        let target = pe.and_then(|pe| self.wires.port(pe).ok());
        self.awaited("flush").go(due, done, move |_, done| {
            let done = match target {
                Some(target) => here.unless_lost(&target, done),
                None => Some(done),
            };
            if let Some(done) = done {
                complete(done, here.take_spoilt());
            }
        });
    }
}

// SAFETY: it takes what every net takes.
unsafe impl Net for Model {
    fn eager_limit(&self) -> usize {
        EAGER
    }

    fn has_room(&self, _: usize) -> bool {
        self.here.has_room()
    }

    fn apply(&self, pe: usize, batch: Batch) -> Result<()> {
        let target = self.reach("apply", pe)?;
        let Some(due) = self.here.sends(batch.bytes(), |line| line.effect(pe, batch.bytes())) else {
            return if target.takes_of(&self.here) { target.apply(batch.words()) } else { Ok(()) };
        };
        let here = Arc::clone(&self.here);
        self.send_off(Some(due), move || {
            // What is not there is the next flush's to report.
            if target.takes_of(&here)
                && let Err(error) = target.apply(batch.words())
            {
                here.spoil(error);
            }
        });
        Ok(())
    }

    fn settle(&self, done: Completion) {
        let aloft = Arc::clone(&self.here.aloft);
        let settled = move |flushed| aloft.when_there(Box::new(move || complete(done, flushed)));
        self.flush(None, Box::new(settled));
    }

    fn forget(&self, is_stale: &dyn Fn(u64) -> bool) -> bool {
        let (receives, messages) = self.here.mailbox().take_stale(is_stale);
        for Receive { done, .. } in receives {
            complete(done, Err(Error::bootstrap("net", "the team is revoked")));
        }
        messages.into_iter().for_each(|message| message.tell_sender(Ok(())));
        false
    }

    fn lose(&self, pe: usize, view: u64, how: &str) {
        self.here.lose(pe, view, how, self.wires.joined());
    }

    fn let_in(&self, pe: usize, _: &[Vec<u8>]) -> Result<()> {
        self.here.let_in(&*self.wires.port(pe)?);
        Ok(())
    }

    fn close(&self) {
        if !self.here.close() {
            return;
        }
        self.wires.delivery.withdraw(&self.here);
        self.here.wait_no_more();
        if self.here.is_dead() {
            // The others know in time.
            return;
        }
        self.here.empty_mailbox();
        leave(&self.wires.delivery, Arc::clone(&self.here), None);
    }
}

// SAFETY: a message is copied before `done` runs, or keeps that until it is.
unsafe impl Mail for Model {
    unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion) {
        let target = match self.reach("send", pe) {
            Ok(target) => target,
            Err(error) => return complete(done, Err(error)),
        };
        let from = Address::from(from);
        let due = self.here.sends(len, |line| line.message(pe, len));
        if due.is_none() {
            return target.deliver(&self.here, tag, Message::Lent { from, len, done });
        }
        let here = Arc::clone(&self.here);
        let on_its_way = here.aloft.leaves();
        if len > EAGER {
            return self.awaited("send").go(due, done, move |awaited, done| {
                awaited.go(target.takes_in(&here), done, move |_, done| {
                    target.deliver(&here, tag, Message::Lent { from, len, done });
                    drop(on_its_way);
                });
            });
        }
        // SAFETY: `done` has not run, so `from` is readable for `len` bytes.
        let bytes = unsafe { copied(from.get(), len) };
        let delivery = Arc::clone(&self.wires.delivery);
        self.send_off(due, move || {
            let taken_in = target.takes_in(&here);
            let origin = Arc::clone(&here);
            delivery.eager(taken_in, &origin, move || {
                target.deliver(&here, tag, Message::Copied(bytes));
                drop(on_its_way);
            });
        });
        complete(done, Ok(()));
    }

    unsafe fn receive(&self, pe: usize, tag: u64, to: *mut u8, len: usize, done: Completion<usize>) {
        match self.wires.port(pe) {
            Ok(sender) => self.here.receive(&sender, tag, Receive { to: to.into(), room: len, done }),
            Err(error) => complete(done, Err(error)),
        }
    }

    unsafe fn notify(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Completion) {
        let target = match self.reach("notify", pe) {
            Ok(target) => target,
            Err(error) => return complete(done, Err(error)),
        };
        // SAFETY: `done` has not run, so `from` is readable for `len` bytes.
        let bytes = unsafe { copied(from, len) }.into_vec();
        let due = self.here.sends(len, |line| line.effect(pe, len));
        let here = Arc::clone(&self.here);
        self.send_off(due, move || target.notified(&here, words, bytes));
        complete(done, Ok(()));
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.here.listen(listener);
    }
}

/// Ends what waits for a PE that has closed, when its last message has arrived: what was eager is
/// still on its way, and a PE may wait for it. What was to be there `until` then has arrived, but
/// its receiver may be busy with it for longer.
fn leave(delivery: &Arc<Delivery>, port: Arc<Port>, until: Option<Moment>) {
    let last = port.sent_until(Line::all_sent);
    if last <= until {
        return port.farewell();
    }
    let (later, origin) = (Arc::clone(delivery), Arc::clone(&port));
    delivery.eager(last, &origin, move || leave(&later, port, last));
}

impl Drop for Model {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {} on {:?}", self.here.pe(), self.wires)
    }
}

/// What the steps of an operation need that is awaited.
struct AwaitedOp {
    call: &'static str,
    origin: Arc<Port>,
    delivery: Arc<Delivery>,
}

impl AwaitedOp {
    /// Has `step` happen when it is `due`, or completes `done` with the error that this PE has
    /// left.
    fn go<T: 'static>(
        self,
        due: Option<Moment>,
        done: Completion<T>,
        step: impl FnOnce(Self, Completion<T>) + Send + 'static,
    ) {
        let Some(due) = due else { return step(self, done) };
        let (origin, delivery) = (Arc::clone(&self.origin), Arc::clone(&self.delivery));
        let step = move |there: bool| {
            if there { step(self, done) } else { complete(done, Err(Error::Finalized { call: self.call })) }
        };
        delivery.at(due, &origin, Step::Awaited(Box::new(step)));
    }
}

/// A copy of what may be symmetric memory.
///
/// # Safety
/// `from` must be readable for `len` bytes.
unsafe fn copied(from: *const u8, len: usize) -> Box<[u8]> {
    let mut bytes = vec![0; len].into_boxed_slice();
    // SAFETY: the one side is the caller's word, the other is as long.
    unsafe { copy(bytes.as_mut_ptr(), from, len) };
    bytes
}
