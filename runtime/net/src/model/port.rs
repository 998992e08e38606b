//! A PE as the others reach it: its memory, its mailbox, and what it has sent.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use oxshmem_base::{
    Error, Result,
    settings::FenceSide,
    sync::{Mutex, MutexGuard, lock},
};
use oxshmem_memory::{
    Extent, Segment, SegmentId,
    copy::copy,
    op::{Address, Spot},
    word::{Atomic, Width},
};
use oxshmem_progress::{
    completion::{self, complete},
    doorbell::must_ring,
    executor::Executor,
    fabric::Fabric,
    failure::Failure,
};

use super::{
    EAGER, Sent,
    aloft::Aloft,
    clock::{Clock, Moment},
    copied,
    departures::Departures,
    link::{Line, Link},
    mailbox::{Mailbox, Message, Receive},
};
use crate::{Listener, Words, batch};

/// One PE. It keeps its memory mapped.
pub(super) struct Port {
    pe: usize,
    /// How many ports of this PE were there before, which is lost.
    coming: u64,
    block: usize,
    fabric: Arc<Fabric>,
    segments: [Segment; 2],
    executor: Weak<Executor>,
    /// None where operations have their effect at once.
    line: Option<Mutex<Line>>,
    mailbox: Mutex<Mailbox>,
    /// Gets the notifications of other PEs.
    listener: OnceLock<Weak<dyn Listener>>,
    /// Whose mailboxes have something that this PE's leave must end. May be locked with a mailbox
    /// locked.
    awaited_in: Mutex<BTreeMap<usize, Weak<Port>>>,
    /// Set before this PE's own mailbox is emptied.
    closed: AtomicBool,
    /// Set before `awaited_in` is emptied, when the last message is there.
    gone: AtomicBool,
    /// Set before the mailbox is emptied.
    failure: OnceLock<Failure>,
    /// What went wrong with an operation that is not awaited.
    spoilt: Mutex<Option<Error>>,
    pub(super) departures: Departures,
    pub(super) aloft: Arc<Aloft>,
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Port {
    pub(super) fn new(
        (pe, coming): (usize, u64),
        block: usize,
        fabric: &Arc<Fabric>,
        executor: &Arc<Executor>,
        link: Link,
        clock: &Arc<Clock>,
    ) -> Self {
        let heap = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 0, fabric.heap.stride());
        Self {
            pe,
            coming,
            block,
            segments: [heap, fabric.control.scratch()],
            fabric: Arc::clone(fabric),
            executor: Arc::downgrade(executor),
            line: (!link.is_immediate()).then(|| Mutex::new(Line::new(link, clock, pe))),
            mailbox: Mutex::default(),
            listener: OnceLock::new(),
            awaited_in: Mutex::default(),
            closed: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            failure: OnceLock::new(),
            spoilt: Mutex::default(),
            departures: Departures::default(),
            aloft: Arc::default(),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub(super) fn pe(&self) -> usize {
        self.pe
    }

    pub(super) fn coming(&self) -> u64 {
        self.coming
    }

    /// Sends something with `bytes`: counts it, and asks `when` for the time that it is there. None
    /// if that is now.
    pub(super) fn sends(&self, bytes: usize, when: impl FnOnce(&mut Line) -> Moment) -> Option<Moment> {
        // Relaxed: these are only counted.
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.line.as_ref().map(|line| when(&mut lock(line)))
    }

    /// Whether more may be copied for others.
    pub(super) fn has_room(&self) -> bool {
        self.line.as_ref().is_none_or(|line| !lock(line).is_full())
    }

    /// Looks at what was sent. None if everything was there at once.
    pub(super) fn sent_until(&self, when: impl FnOnce(&Line) -> Option<Moment>) -> Option<Moment> {
        self.line.as_ref().and_then(|line| when(&lock(line)))
    }

    /// Takes in a message of `sender` that is there; when this PE has it. None if that is now.
    pub(super) fn takes_in(&self, sender: &Self) -> Option<Moment> {
        let until = lock(self.line.as_ref()?).take_in()?;
        if let Some(line) = &sender.line {
            lock(line).delay(self.pe, until);
        }
        Some(until)
    }

    /// Keeps the processor for `time`; until when. None if operations have their effect at once.
    pub(super) fn works(&self, time: Duration) -> Option<Moment> {
        self.line.as_ref().map(|line| lock(line).work(time))
    }

    /// When this PE has news of the launcher. None if that is now.
    pub(super) fn news(&self) -> Option<Moment> {
        self.line.as_ref().map(|line| lock(line).news())
    }

    pub(super) fn sent(&self) -> Sent {
        Sent { messages: self.messages.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    pub(super) fn is_closed(&self) -> bool {
        // Acquire: with `close`.
        self.closed.load(Ordering::Acquire)
    }

    /// Says that the PE leaves; true if it had not before.
    pub(super) fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    /// What those that wait for this PE get.
    pub(super) fn lost(&self) -> Error {
        // If it has left because of another, that is the one to name.
        let left = || Error::PeLost { pe: self.pe, view: 0, how: "it has left the job".into() };
        self.check_failure().err().unwrap_or_else(left)
    }

    pub(super) fn spoil(&self, error: Error) {
        lock(&self.spoilt).get_or_insert(error);
    }

    pub(super) fn take_spoilt(&self) -> Result<()> {
        lock(&self.spoilt).take().map_or(Ok(()), Err)
    }

    /// `len` bytes at `spot`, which is on this PE, aligned to `align`.
    pub(super) fn range(self: &Arc<Self>, spot: Spot, len: usize, align: usize) -> Result<CheckedRange> {
        let segment = self.segments.iter().find(|segment| segment.id() == spot.segment);
        let address = segment.and_then(|segment| segment.address(self.block, spot.offset, len));
        match address.filter(|address| address.addr().is_multiple_of(align)) {
            Some(address) => Ok(CheckedRange { port: Arc::clone(self), address: address.into(), len }),
            None => Err(Error::bootstrap(
                "net",
                format!(
                    "{len} bytes aligned to {align} at offset {} are no memory of PE {}",
                    spot.offset, spot.pe
                ),
            )),
        }
    }

    /// Performs a batch that was sent to this PE.
    pub(super) fn apply(&self, words: &[u64]) -> Result<()> {
        // SAFETY: they are this PE's memory, which is mapped for as long as its port is there.
        let applied = unsafe { batch::apply(words, self.block, &self.segments.each_ref()) };
        self.ring();
        applied
    }

    /// Wakes the PE if it waits for words: some were just stored.
    fn ring(&self) {
        let sleeping = &self.fabric.control.page(self.block).sleep.0.sleeping;
        // With the fence here the sleeper may have either side's.
        if must_ring(sleeping, SegmentId::ALL, FenceSide::Writer) {
            // It was not kept where.
            self.fabric.wake(self.block, Extent { segment: SegmentId::Scratch, offset: 0, len: usize::MAX });
        }
    }

    /// A message from `sender` is there.
    pub(super) fn deliver(self: &Arc<Self>, sender: &Port, tag: u64, message: Message) {
        let mut mailbox = lock(&self.mailbox);
        if let Some(error) = self.knows_lost(sender).or_else(|| sender.knows_lost(self)) {
            drop(mailbox);
            return message.tell_sender(Err(error));
        }
        if let Some(receive) = mailbox.take_receive(sender.pe, tag) {
            drop(mailbox);
            message.give_to(receive);
            return self.ring();
        }
        let ended = match &message {
            Message::Copied(_) => None,
            Message::Lent { .. } => self.ended(sender).or_else(|| {
                // From here on the sender sees to it when it leaves; it may be leaving now.
                lock(&sender.awaited_in).insert(self.pe, Arc::downgrade(self));
                sender.is_closed().then_some(Error::Finalized { call: "send" })
            }),
        };
        if let Some(error) = ended {
            drop(mailbox);
            return message.tell_sender(Err(error));
        }
        match message {
            // As on a real network, short messages are on their way whether or not they are
            // expected.
            Message::Lent { from, len, done } if len <= EAGER => {
                // SAFETY: the sender keeps `len` bytes until it runs.
                let bytes = unsafe { copied(from.get(), len) };
                mailbox.keep_message(sender.pe, tag, Message::Copied(bytes));
                drop(mailbox);
                complete(done, Ok(()));
            }
            message => mailbox.keep_message(sender.pe, tag, message),
        }
    }

    /// Notifications go to this from now on.
    pub(super) fn listen(&self, listener: Weak<dyn Listener>) {
        // A PE joins once, so there is no other.
        let _ = self.listener.set(listener);
    }

    pub(super) fn listener(&self) -> Option<Arc<dyn Listener>> {
        self.listener.get().and_then(Weak::upgrade)
    }

    /// A notification of `sender` has come.
    pub(super) fn notified(&self, sender: &Port, words: Words, bytes: Vec<u8>) {
        if !self.takes_of(sender) {
            return;
        }
        match (self.listener(), sender.listener()) {
            (Some(listener), _) => {
                // It may answer at once, and be answered.
                let from = sender.pe;
                completion::run(move || listener.notified(from, words, bytes));
            }
            (None, Some(waiting)) => waiting.lost(Some(self.pe), &|| self.lost()),
            (None, None) => {}
        }
    }

    /// Receives a message from `sender`, now or when it is there.
    pub(super) fn receive(self: &Arc<Self>, sender: &Port, tag: u64, receive: Receive) {
        let mut mailbox = lock(&self.mailbox);
        if let Some(message) = mailbox.take_message(sender.pe, tag) {
            drop(mailbox);
            message.give_to(receive);
            return self.ring();
        }
        let known = || self.knows_lost(self).or_else(|| self.knows_lost(sender));
        let ended = if let Some(error) = known() {
            Some(error)
        } else if self.is_closed() {
            Some(Error::Finalized { call: "receive" })
        } else if let Err(error) = self.check_failure() {
            Some(error)
        } else {
            // From here on the sender sees to it when it leaves; it may have left before.
            lock(&sender.awaited_in).insert(self.pe, Arc::downgrade(self));
            // Acquire: as in `farewell`.
            sender.gone.load(Ordering::Acquire).then(|| sender.lost())
        };
        match ended {
            None => mailbox.keep_receive(sender.pe, tag, receive),
            Some(error) => {
                drop(mailbox);
                complete(receive.done, Err(error));
            }
        }
    }

    /// Why a message from `sender` will not be received.
    fn ended(&self, sender: &Port) -> Option<Error> {
        if self.is_dead() {
            // Its sender knows in time.
            return None;
        }
        let failed = sender.check_failure().and_then(|()| self.check_failure());
        failed.err().or_else(|| self.is_closed().then(|| self.lost()))
    }

    /// An error if the job cannot go on.
    pub(super) fn check_failure(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |failure| Err(failure.clone().into()))
    }

    pub(super) fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        lock(&self.mailbox)
    }

    /// Ends what waits in this PE's mailbox. To be called when it has [closed](Self::close).
    pub(super) fn empty_mailbox(&self) {
        let (receives, messages) = lock(&self.mailbox).take_awaited(None);
        for Receive { done, .. } in receives {
            complete(done, Err(Error::Finalized { call: "receive" }));
        }
        messages.into_iter().for_each(|message| message.tell_sender(Err(self.lost())));
    }

    /// Ends what waits for this PE in the mailboxes of others. To be called when it has
    /// [closed](Self::close) and its last message has arrived.
    pub(super) fn farewell(&self) {
        // Release: a thread that sees it also sees the messages that came before.
        self.gone.store(true, Ordering::Release);
        let mailboxes = std::mem::take(&mut *lock(&self.awaited_in));
        for port in mailboxes.into_values().filter_map(|port| port.upgrade()) {
            let (receives, messages) = lock(&port.mailbox).take_awaited(Some(self.pe));
            for Receive { done, .. } in receives {
                complete(done, Err(self.lost()));
            }
            for message in messages {
                message.tell_sender(Err(Error::Finalized { call: "send" }));
            }
        }
    }

    /// Ends all waiting of this PE.
    pub(super) fn fail(&self, failure: &Failure) {
        // The first failure counts.
        if self.failure.set(failure.clone()).is_err() {
            return;
        }
        let (receives, messages) = lock(&self.mailbox).take_awaited(None);
        for Receive { done, .. } in receives {
            complete(done, Err(failure.clone().into()));
        }
        messages.into_iter().for_each(|message| message.tell_sender(Err(failure.clone().into())));
        if let Some(listener) = self.listener() {
            listener.lost(None, &|| failure.clone().into());
        }
        if let Some(executor) = self.executor.upgrade() {
            executor.fail(failure.clone());
        }
    }
}

/// Some bytes of a PE's memory: in bounds, aligned and mapped for as long as this exists.
pub(super) struct CheckedRange {
    port: Arc<Port>,
    address: Address,
    len: usize,
}

impl CheckedRange {
    /// Whose memory it is.
    pub(super) fn port(&self) -> &Arc<Port> {
        &self.port
    }

    /// Fills it.
    ///
    /// # Safety
    /// `from` must be readable for as many bytes.
    pub(super) unsafe fn put(&self, from: *const u8) {
        // SAFETY: the range is mapped and as long; the other side is the caller's word.
        unsafe { copy(self.address.get(), from, self.len) };
        self.port.ring();
    }

    /// Copies it to `to`, in the memory of `origin` or private.
    ///
    /// # Safety
    /// `to` must be writable for as many bytes.
    pub(super) unsafe fn get(&self, to: *mut u8, origin: &Port) {
        // SAFETY: as in `put`.
        unsafe { copy(to, self.address.get(), self.len) };
        origin.ring();
    }

    /// Performs an atomic operation on it, which is a word of this width; what was there before.
    pub(super) fn atomic(&self, width: Width, operation: Atomic<u64>) -> u64 {
        assert_eq!((self.len, self.address.get().addr() % self.len), (width as usize, 0));
        // SAFETY: the range is mapped, and as long and as aligned as the word, as just checked.
        let before = unsafe { operation.apply(self.address.get(), width) };
        if operation != Atomic::Fetch {
            self.port.ring();
        }
        before
    }
}
