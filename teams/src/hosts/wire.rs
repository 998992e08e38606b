//! Messages between PEs of different hosts.
//!
//! What is short, or is combined, is in a [`Buffer`] that the operation owns until it is over. What
//! is long goes from symmetric memory to symmetric memory, in chunks, and on to other hosts from
//! there. A task that drops the future of such a message, because PEs have called different things
//! or the team is gone, leaves the network something to write to. So messages are counted while
//! their memory is [lent](Lent), and a collective that fails meanwhile is
//! [kept](crate::message::kept).
//!
//! Two PEs have one team with members on both at a time in a place of the scratch memory, so its
//! number names the team. Messages with equal tags arrive in their order: numbers may wrap, and
//! what comes in a known order needs no steps. A collective ends on a PE when all messages to that
//! PE have arrived, so that none is left behind for the next team in the place.

use std::{
    collections::VecDeque,
    ops::Range,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use oxshmem_base::{Error, Result};
use oxshmem_net::{Net, TAG_BITS};
use oxshmem_progress::flight::Flight;

pub(super) use crate::tuning::{CHUNK, WINDOW};
use crate::{
    group::Group,
    memory::{scratch::TEAMS, span::Span},
    message::{Message, Wide, buffer::Buffer, call_check::CARGO, kept::Lent},
};

/// Bytes of a vector that are taken at a time where they lie in buffers as a whole: enough that the
/// additional messages do not count.
pub(super) const PIECE: usize = 16 << 20;

const STEP_BITS: u32 = 6;
const DIGEST_BITS: u32 = 12;
const PLACE_BITS: u32 = TEAMS.ilog2();
const NUMBER_BITS: u32 = TAG_BITS - STEP_BITS - DIGEST_BITS - PLACE_BITS;
const _: () = assert!(TEAMS.is_power_of_two() && NUMBER_BITS >= 8);

/// The step of call checks.
pub(super) const CALL_CHECK: u64 = (1 << STEP_BITS) - 1;
/// Steps that are no rounds.
pub(super) const EXTRA: u64 = CALL_CHECK - 1;
pub(super) const RESULT: u64 = CALL_CHECK - 2;
/// The step of messages of which a PE expects several from another at a time.
pub(super) const FLOW: u64 = CALL_CHECK - 3;
/// The step where it expects one at a time. Rounds, which are of that kind, are counted from it on.
pub(super) const ONCE: u64 = 0;

/// A message that a PE of the team sends to this one, for some place in its symmetric memory. What
/// is not there when it has come is the future's output.
#[derive(Debug)]
#[must_use = "it has come once this is awaited"]
pub(super) enum Delivery<'a> {
    There(Message<()>),
    Apart(Coming<'a>),
}

impl Future for Delivery<'_> {
    type Output = Result<Option<Buffer>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::There(message) => Pin::new(message).poll(cx).map_ok(|()| None),
            Self::Apart(coming) => Pin::new(coming).poll(cx).map_ok(Some),
        }
    }
}

/// A message that a PE of the team sends to this one.
#[derive(Debug)]
#[must_use = "it has come once this is awaited"]
pub(super) enum Coming<'a> {
    /// By itself.
    Alone(Message<Buffer>),
    /// By itself or with the call check of the leader before, in the step that is given, as many
    /// bytes as `lens` has.
    OrWithCallCheck { wire: Wire<'a>, pe: usize, step: u64, lens: Range<usize> },
}

impl Future for Coming<'_> {
    type Output = Result<Buffer>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut *self {
                Self::Alone(message) => return Pin::new(message).poll(cx),
                Self::OrWithCallCheck { wire, pe, step, lens } => {
                    match ready!(wire.wide.call_check.poll_cargo(wire, wire.tag | *step, cx))? {
                        Some(bytes) if lens.contains(&bytes.len()) => return Poll::Ready(Ok(bytes)),
                        Some(_) => return Poll::Ready(Err(wrong_length(*pe))),
                        None => *self = Self::Alone(wire.receive_alone(*pe, *step, lens.clone())?),
                    }
                }
            }
        }
    }
}

/// One exchange of messages among PEs of a team.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire<'a> {
    pub(crate) group: &'a Group,
    pub(crate) wide: &'a Wide,
    tag: u64,
}

impl<'a> Wire<'a> {
    /// The exchange with that number. Its messages arrive only at PEs that give the same `digest`.
    pub(super) fn new(group: &'a Group, wide: &'a Wide, number: u64, digest: u64) -> Self {
        let number = number % (1 << NUMBER_BITS);
        let digest = digest % (1 << DIGEST_BITS);
        let tag = ((wide.place as u64) << NUMBER_BITS | number) << DIGEST_BITS | digest;
        Self { group, wide, tag: tag << STEP_BITS }
    }

    /// The messages that are call checks, in their order.
    pub(super) fn call_checks(group: &'a Group, wide: &'a Wide) -> Self {
        Self::new(group, wide, 0, 0)
    }

    /// The place of the team whose message has that tag.
    pub(crate) fn place_of(tag: u64) -> usize {
        (tag >> (STEP_BITS + DIGEST_BITS + NUMBER_BITS)) as usize
    }

    /// `len` bytes, whatever they are.
    pub(crate) fn buffer(&self, len: usize) -> Buffer {
        self.wide.pool.buffer(len)
    }

    /// A copy of bytes.
    pub(crate) fn copy_of(&self, bytes: &[u8]) -> Buffer {
        self.wide.pool.copy_of(bytes)
    }

    /// Sends to a PE of the team, on another host.
    pub(super) fn send(&self, pe: usize, step: u64, bytes: Buffer) -> Result<Message<()>> {
        let fill = |to: &mut [u8]| to.copy_from_slice(&bytes);
        match self.send_with_call_check(pe, step, bytes.len(), fill) {
            Some(with_call_check) => with_call_check,
            None => self.send_alone(pe, step, bytes),
        }
    }

    /// [Sends](Self::send) with the call check, if it may go with that.
    fn send_with_call_check(
        &self,
        pe: usize,
        step: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<Result<Message<()>>> {
        if !can_go_with_call_check(step, len) {
            self.wide.call_check.speaks();
            return None;
        }
        let (next, call_check) = self.wide.call_check.take_along(pe, self.tag | step, len, fill)?;
        Some(Wire::call_checks(self.group, self.wide).send_alone(next, CALL_CHECK, call_check))
    }

    /// [Sends](Self::send) in a message of its own.
    pub(super) fn send_alone(&self, pe: usize, step: u64, bytes: Buffer) -> Result<Message<()>> {
        debug_assert!(step <= CALL_CHECK);
        self.group.count_message();
        let (to, net) = (self.wide.members.world_pe(pe), self.net()?);
        if let Some(sent) = net.send_short(to, self.tag | step, &bytes) {
            return Ok(Message::Left(sent));
        }
        let flight = Arc::new(Flight::default());
        let (landing, from, len) = (Arc::clone(&flight), bytes.as_ptr(), bytes.len());
        let done = Box::new(move |sent| {
            drop(bytes);
            landing.land(sent);
        });
        // SAFETY: `done` owns the bytes, which stay where they are when it moves.
        unsafe { net.send(to, self.tag | step, from, len, done) };
        Ok(Message::Aloft(flight))
    }

    /// Sends bytes of this PE's symmetric memory to a PE of the team, on another host. They must
    /// stay as they are until they have left.
    pub(super) fn send_from(&self, pe: usize, step: u64, from: Span) -> Result<Message<()>> {
        let fill = |to: &mut [u8]| self.group.memory.read(from, to);
        if let Some(with_call_check) = self.send_with_call_check(pe, step, from.len(), fill) {
            return with_call_check;
        }
        self.group.count_message();
        let flight = Arc::new(Flight::default());
        let (landing, lent) = (Arc::clone(&flight), Lent::new(&self.wide.loans));
        let done = Box::new(move |sent| {
            drop(lent);
            landing.land(sent);
        });
        let (to, net) = (self.wide.members.world_pe(pe), self.net()?);
        // SAFETY: a span is in bounds, and the memory stays mapped until the network has ended.
        unsafe { net.send(to, self.tag | step, self.group.memory.here(from), from.len(), done) };
        Ok(Message::Aloft(flight))
    }

    /// Receives bytes from a PE of the team, on another host, for that place in this PE's symmetric
    /// memory.
    pub(super) fn receive_to(&self, pe: usize, step: u64, to: Span) -> Result<Delivery<'a>> {
        let len = to.len();
        if can_go_with_call_check(step, len) && self.wide.call_check.may_bring(pe) {
            return self.receive(pe, step, len).map(Delivery::Apart);
        }
        self.wide.call_check.speaks();
        let flight = Arc::new(Flight::default());
        let (landing, lent) = (Arc::clone(&flight), Lent::new(&self.wide.loans));
        let done = Box::new(move |came: Result<usize>| {
            drop(lent);
            landing.land(came.and_then(|came| if came == len { Ok(()) } else { Err(wrong_length(pe)) }));
        });
        let (from, net) = (self.wide.members.world_pe(pe), self.net()?);
        // SAFETY: a span is in bounds, and the memory stays mapped until the network has ended.
        // No thread has a reference to it that the other PE might not write behind.
        unsafe { net.receive(from, self.tag | step, self.group.memory.here(to), len, done) };
        Ok(Delivery::There(Message::Aloft(flight)))
    }

    fn net(&self) -> Result<&'a dyn Net> {
        self.group.pe().net().map(|net| &**net).ok_or_else(unreachable_pe)
    }

    /// Receives exactly `len` bytes from a PE of the team, on another host.
    pub(super) fn receive(&self, pe: usize, step: u64, len: usize) -> Result<Coming<'a>> {
        self.receive_some(pe, step, len..len + 1)
    }

    /// Receives as many bytes as `lens` has.
    pub(super) fn receive_some(&self, pe: usize, step: u64, lens: Range<usize>) -> Result<Coming<'a>> {
        if self.wide.call_check.may_bring(pe) && can_go_with_call_check(step, lens.start) {
            self.wide.call_check.expect(self.group, self.wide)?;
            return Ok(Coming::OrWithCallCheck { wire: *self, pe, step, lens });
        }
        self.receive_alone(pe, step, lens).map(Coming::Alone)
    }

    /// Receives a message of its own, of as many bytes as `lens` has.
    pub(super) fn receive_alone(&self, pe: usize, step: u64, lens: Range<usize>) -> Result<Message<Buffer>> {
        debug_assert!(step <= CALL_CHECK);
        let mut bytes = self.buffer(lens.end - 1);
        let len = bytes.len();
        let flight = Arc::new(Flight::default());
        let (landing, to) = (Arc::clone(&flight), bytes.as_mut_ptr());
        let done = Box::new(move |came: Result<usize>| {
            let fits = |came| if lens.contains(&came) { Ok(bytes.cut(came)) } else { Err(wrong_length(pe)) };
            landing.land(came.and_then(fits));
        });
        let from = self.wide.members.world_pe(pe);
        let net = self.net()?;
        // SAFETY: `done` owns the buffer, whose bytes stay where they are when it moves.
        unsafe { net.receive(from, self.tag | step, to, len, done) };
        Ok(Message::Aloft(flight))
    }

    /// Sends to one PE and receives as many bytes as `lens` has from another at the same time.
    pub(super) async fn exchange(
        &self,
        [to, from]: [usize; 2],
        bytes: Buffer,
        lens: Range<usize>,
        step: u64,
    ) -> Result<Buffer> {
        let coming = self.receive_some(from, step, lens)?;
        let going = self.send(to, step, bytes)?;
        let came = coming.await?;
        going.await?;
        Ok(came)
    }
}

/// Whether such a message may go with a call check, in which it may overtake others with its tag:
/// where several of these are expected at a time, that must not be.
fn can_go_with_call_check(step: u64, len: usize) -> bool {
    step < FLOW && len <= CARGO
}

#[cold]
fn unreachable_pe() -> Error {
    Error::bootstrap("collective", "there is no way to the PEs of other hosts")
}

#[cold]
pub(super) fn wrong_length(pe: usize) -> Error {
    Error::bootstrap(
        "collective",
        format!("a message of PE {pe} of the team has another length than this PE knows"),
    )
}

/// Messages under way, a few of them. A task that adds one waits for the oldest.
#[derive(Debug, Default)]
pub(super) struct Window(VecDeque<Message<()>>);

impl Window {
    pub(super) async fn add(&mut self, message: Message<()>) -> Result<()> {
        self.0.push_back(message);
        if self.0.len() > WINDOW
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.await?;
        }
        Ok(())
    }

    /// All have left.
    pub(super) async fn empty(self) -> Result<()> {
        for message in self.0 {
            message.await?;
        }
        Ok(())
    }
}

/// What is passed on around a ring: where it lies, or what it is.
pub(super) enum Going {
    Lies(Span),
    Is(Buffer),
}

/// Passes messages around a ring: first this PE's `own`, then what `take` gives back of those that
/// are `coming`, each to a target. Several are under way at a time, both ways.
pub(super) async fn relay<'a, I>(
    wire: &Wire<'a>,
    [right, left]: [usize; 2],
    mut own: impl Iterator<Item = Going>,
    mut coming: impl Iterator<Item = (I, Target)>,
    mut take: impl FnMut(I, Option<Buffer>) -> Option<Going>,
) -> Result<()> {
    let (mut sends, mut receives, mut passed) = (Window::default(), VecDeque::new(), VecDeque::new());
    let (mut sent, mut received) = (0, 0);
    loop {
        while receives.len() < WINDOW
            && let Some((item, target)) = coming.next()
        {
            let delivery = match target {
                Target::There(span) => wire.receive_to(left, FLOW, span)?,
                Target::Apart(len) => Delivery::Apart(wire.receive(left, FLOW, len)?),
            };
            receives.push_back((delivery, item));
        }
        // Not more, so that a neighbour that is late need not keep what comes too early.
        while (sent < received + WINDOW || receives.is_empty())
            && let Some(going) = own.next().or_else(|| passed.pop_front())
        {
            let message = match going {
                Going::Lies(span) => wire.send_from(right, FLOW, span)?,
                Going::Is(bytes) => wire.send(right, FLOW, bytes)?,
            };
            sends.add(message).await?;
            sent += 1;
        }
        let Some((delivery, item)) = receives.pop_front() else { return sends.empty().await };
        passed.extend(take(item, delivery.await?));
        received += 1;
    }
}

/// Where what comes goes: to that place, or to a buffer.
pub(super) enum Target {
    There(Span),
    Apart(usize),
}
