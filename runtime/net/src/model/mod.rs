//! A network that is not there: the way between PEs that are tasks of one process and are said to
//! be on several hosts.
//!
//! Everything above is tested with it, as it keeps the promises of [`Net`] and no others: where a
//! [`Link`] is given, operations have their effect later, on a thread of their own, and in any
//! order that the promises allow. Without one the caller performs them at once. Long messages wait
//! for their receive, as they do on a real network.
//!
//! In [virtual time](Simulation) it shows what a job would take on a network of any size.

mod clock;
mod delivery;
mod link;
mod mailbox;
mod port;
mod simulation;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, OnceLock, Weak},
};

pub use link::Link;
pub use simulation::Simulation;

use oxshmem_base::{Error, Result};
use oxshmem_job::Bootstrap;
use oxshmem_memory::{
    copy::copy,
    word::{Atomic, Width},
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
    port::{Landing, Port},
};
use super::{Batch, Completion, Listener, Net, Spot, Words};

/// Bytes up to which puts are eager, and messages do not wait for their receive.
const EAGER: usize = 8 << 10;

/// The model's network: what all PEs of a process that are on simulated hosts have in common.
pub struct Wires {
    ports: Box<[OnceLock<Arc<Port>>]>,
    delivery: Arc<Delivery>,
    link: Link,
}

/// What a PE has sent to PEs of other hosts. What it answers when others get or fetch counts as
/// sent, flushes do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Messages, each for an operation, a request or an answer.
    pub messages: u64,
    /// Bytes in them, without heads.
    pub bytes: u64,
}

impl Wires {
    /// Between `n_pes` PEs.
    fn new(n_pes: usize, link: Link) -> Self {
        let ports = (0..n_pes).map(|_| OnceLock::new()).collect();
        let clock = Arc::new(Clock::new(link.virtual_time));
        Self { ports, delivery: Arc::new(Delivery::new(&clock)), link }
    }

    /// Those of the job of `bootstrap`, if its PEs are in one process. Their [`Link`] is the one
    /// that the PEs have in [common](Bootstrap::common), if they do so before the first of them
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
        self.ports.iter().filter_map(OnceLock::get).for_each(|port| port.fail(failure));
    }

    fn port(&self, pe: usize) -> Result<&Arc<Port>> {
        let port = self.ports.get(pe).and_then(OnceLock::get);
        port.ok_or_else(|| Error::PeLost { pe, how: "it has not joined the job".into() })
    }
}

/// Those of a job of a test elsewhere.
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
    /// Connects a PE, which is in `block` of its host's memory. It can be reached from now on; it
    /// can reach those that have joined.
    pub fn join(
        wires: Arc<Wires>,
        pe: usize,
        block: usize,
        fabric: &Arc<Fabric>,
        executor: &Arc<Executor>,
    ) -> Result<Self> {
        let here = Arc::new(Port::new(pe, block, fabric, executor, wires.link, wires.delivery.clock()));
        match wires.ports.get(pe).map(|port| port.set(Arc::clone(&here))) {
            Some(Ok(())) => Ok(Self { here, wires }),
            _ => Err(Error::bootstrap("join", format!("PE {pe} of {} has joined before", wires.ports.len()))),
        }
    }

    /// The PE that an operation is for, if both are there.
    fn reach(&self, call: &'static str, pe: usize) -> Result<&Arc<Port>> {
        if self.here.is_closed() {
            return Err(Error::Finalized { call });
        }
        // Before anything that follows from it.
        self.here.check_failure()?;
        let port = self.wires.port(pe)?;
        if port.is_closed() { Err(port.lost()) } else { Ok(port) }
    }

    fn landing(&self, call: &'static str, spot: Spot, len: usize, align: usize) -> Result<Landing> {
        self.reach(call, spot.pe)?.landing(spot, len, align)
    }

    /// Has `step` happen when it is `due`, and even if this PE has left by then.
    fn send_off(&self, due: Option<Moment>, step: impl FnOnce() + Send + 'static) {
        self.wires.delivery.eager(due, &self.here, step);
    }

    /// The way of an operation that is awaited.
    fn way(&self, call: &'static str) -> Way {
        Way { call, origin: Arc::clone(&self.here), delivery: Arc::clone(&self.wires.delivery) }
    }

    fn flush_until(&self, pe: Option<usize>, done: Completion) {
        if self.here.is_closed() {
            return complete(done, Err(Error::Finalized { call: "flush" }));
        }
        // Nothing is awaited of PEs that have left: what was started before is there all the same.
        let due = self.here.sent_until(|line| line.flushed(pe));
        let here = Arc::clone(&self.here);
        self.way("flush").go(due, done, move |_, done| complete(done, here.take_spoilt()));
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

// SAFETY: every operation goes through a `Landing`, which has checked the bounds of the one side
// and keeps it mapped; the other is the caller's until `done` runs, which is the last step of each.
unsafe impl Net for Model {
    fn eager_limit(&self) -> usize {
        EAGER
    }

    unsafe fn put_eager(&self, to: Spot, from: *const u8, len: usize) -> Result<()> {
        let landing = self.landing("put", to, len, 1)?;
        let Some(due) = self.here.sends(len, |line| line.effect(to.pe, len)) else {
            // SAFETY: `from` is readable for `len` bytes by the caller's word, and the landing is
            // as long.
            unsafe { landing.put(from) };
            return Ok(());
        };
        // SAFETY: as above.
        let bytes = unsafe { copied(from, len) };
        // SAFETY: the landing is as long as `bytes`.
        self.send_off(Some(due), move || unsafe { landing.put(bytes.as_ptr()) });
        Ok(())
    }

    unsafe fn put(&self, to: Spot, from: *const u8, len: usize, done: Completion) {
        let landing = match self.landing("put", to, len, 1) {
            Ok(landing) => landing,
            Err(error) => return complete(done, Err(error)),
        };
        let from = Address(from.cast_mut());
        let due = self.here.sends(len, |line| line.effect(to.pe, len));
        self.way("put").go(due, done, move |_, done| {
            // SAFETY: `done` has not run, so `from` is readable for `len` bytes, the landing's
            // length.
            unsafe { landing.put(from.get()) };
            complete(done, Ok(()));
        });
    }

    unsafe fn get(&self, from: Spot, to: *mut u8, len: usize, done: Completion) {
        let landing = match self.landing("get", from, len, 1) {
            Ok(landing) => landing,
            Err(error) => return complete(done, Err(error)),
        };
        let (to, me) = (Address(to), self.here.pe());
        let asked = self.here.sends(0, |line| line.question(from.pe, 0));
        self.way("get").go(asked, done, move |way, done| {
            let answered = landing.port().sends(len, |line| line.effect(me, len));
            way.go(answered, done, move |way, done| {
                // SAFETY: `done` has not run, so `to` is writable for `len` bytes, the landing's
                // length.
                unsafe { landing.get(to.get(), &way.origin) };
                complete(done, Ok(()));
            });
        });
    }

    fn update(&self, at: Spot, width: Width, operation: Atomic<u64>) -> Result<()> {
        let landing = self.landing("update", at, width as usize, width as usize)?;
        let due = self.here.sends(width as usize, |line| line.effect(at.pe, width as usize));
        self.send_off(due, move || {
            landing.atomic(width, operation);
        });
        Ok(())
    }

    fn fetch(&self, at: Spot, width: Width, operation: Atomic<u64>, done: Completion<u64>) {
        let bytes = width as usize;
        let landing = match self.landing("fetch", at, bytes, bytes) {
            Ok(landing) => landing,
            Err(error) => return complete(done, Err(error)),
        };
        let me = self.here.pe();
        let asked = self.here.sends(bytes, |line| line.question(at.pe, bytes));
        self.way("fetch").go(asked, done, move |way, done| {
            let before = landing.atomic(width, operation);
            let answered = landing.port().sends(bytes, |line| line.effect(me, bytes));
            way.go(answered, done, move |_, done| complete(done, Ok(before)));
        });
    }

    fn apply(&self, pe: usize, batch: Batch) -> Result<()> {
        let target = Arc::clone(self.reach("apply", pe)?);
        let Some(due) = self.here.sends(batch.bytes(), |line| line.effect(pe, batch.bytes())) else {
            return target.apply(batch.words());
        };
        let here = Arc::clone(&self.here);
        self.send_off(Some(due), move || {
            if let Err(error) = target.apply(batch.words()) {
                here.spoil(error);
            }
        });
        Ok(())
    }

    fn flush(&self, pe: usize, done: Completion) {
        self.flush_until(Some(pe), done);
    }

    fn flush_all(&self, done: Completion) {
        self.flush_until(None, done);
    }

    unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion) {
        let target = match self.reach("send", pe) {
            Ok(target) => Arc::clone(target),
            Err(error) => return complete(done, Err(error)),
        };
        let from = Address(from.cast_mut());
        let due = self.here.sends(len, |line| line.message(pe, len));
        if due.is_none() {
            return target.deliver(&self.here, tag, Message::Lent { from, len, done });
        }
        let here = Arc::clone(&self.here);
        if len > EAGER {
            return self.way("send").go(due, done, move |way, done| {
                way.go(target.takes_in(&here), done, move |_, done| {
                    target.deliver(&here, tag, Message::Lent { from, len, done });
                });
            });
        }
        // SAFETY: `done` has not run, so `from` is readable for `len` bytes.
        let bytes = unsafe { copied(from.get(), len) };
        let delivery = Arc::clone(&self.wires.delivery);
        self.send_off(due, move || {
            let taken_in = target.takes_in(&here);
            let origin = Arc::clone(&here);
            delivery.eager(taken_in, &origin, move || target.deliver(&here, tag, Message::Copied(bytes)));
        });
        complete(done, Ok(()));
    }

    unsafe fn receive(&self, pe: usize, tag: u64, to: *mut u8, len: usize, done: Completion<usize>) {
        match self.wires.port(pe) {
            Ok(sender) => self.here.receive(sender, tag, Receive { to: Address(to), room: len, done }),
            Err(error) => complete(done, Err(error)),
        }
    }

    unsafe fn notify(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Completion) {
        let target = match self.reach("notify", pe) {
            Ok(target) => Arc::clone(target),
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

    fn close(&self) {
        if !self.here.close() {
            return;
        }
        self.wires.delivery.withdraw(self.here.pe());
        self.here.empty_mailbox();
        leave(&self.wires.delivery, Arc::clone(&self.here), None);
    }
}

/// Ends what waits for a PE that has closed, when its last message has arrived: what was eager is
/// still on its way, and a PE may wait for it. What was to be there `until` then has arrived, but
/// its receiver may be busy with it for longer.
fn leave(delivery: &Arc<Delivery>, port: Arc<Port>, until: Option<Moment>) {
    let said = port.sent_until(Line::all_said);
    if said <= until {
        return port.farewell();
    }
    let (later, origin) = (Arc::clone(delivery), Arc::clone(&port));
    delivery.eager(said, &origin, move || leave(&later, port, said));
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

/// The way of an operation that is awaited.
struct Way {
    call: &'static str,
    origin: Arc<Port>,
    delivery: Arc<Delivery>,
}

impl Way {
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

/// An address on its way to another thread.
#[derive(Clone, Copy)]
struct Address(*mut u8);

impl Address {
    fn get(self) -> *mut u8 {
        self.0
    }
}

// SAFETY: it is only a number. Each use has its own reason that this is allowed.
unsafe impl Send for Address {}

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
