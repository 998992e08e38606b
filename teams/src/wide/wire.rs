//! Messages between PEs of different hosts.
//!
//! Whatever is sent or received is in a [`Buffer`] that the operation owns until it is over: whoever drops the future of a
//! message, because PEs have called different things or the team is gone, leaves nothing behind that a network could write
//! to. What arrives is copied to symmetric memory by who has waited for it, in chunks of a size that stays in the caches, and goes
//! on to other hosts from the same buffer.
//!
//! Two PEs have one team with members on both at a time in a place of the scratch memory, so its number names the team.
//! Messages with equal tags arrive in their order: numbers may wrap, and what comes in a known order needs no steps. A
//! collective ends on a PE when all messages to that PE have arrived, so that none is left behind for the next team in the
//! place.

use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut, Range},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytemuck::{Pod, Zeroable};
use oxshmem_runtime::{Error, Result, flight::Flight, net::TAG_BITS};

use super::{Wide, hello::CARGO};
use crate::{group::Group, scratch::TEAMS};

/// Bytes of one message of a long vector: enough for the bandwidth of any network, and few enough for the caches.
pub(super) const CHUNK: usize = 128 << 10;
/// How many of these are under way from one PE to another at a time.
pub(super) const WINDOW: usize = 4;

/// Bytes of a vector that are taken at a time where they lie in buffers as a whole: so many that the messages which that costs
/// do not count.
pub(super) const PIECE: usize = 16 << 20;

const STEP_BITS: u32 = 6;
const DIGEST_BITS: u32 = 12;
const PLACE_BITS: u32 = TEAMS.ilog2();
const NUMBER_BITS: u32 = TAG_BITS - STEP_BITS - DIGEST_BITS - PLACE_BITS;
const _: () = assert!(TEAMS.is_power_of_two() && NUMBER_BITS >= 8);

/// The step in which leaders tell what they were called for.
pub(super) const HELLO: u64 = (1 << STEP_BITS) - 1;
/// Steps that are no rounds.
pub(super) const EXTRA: u64 = HELLO - 1;
pub(super) const RESULT: u64 = HELLO - 2;
/// The step of messages of which a PE expects several from another at a time.
pub(super) const FLOW: u64 = HELLO - 3;
/// The step where it expects one at a time. Rounds, which are of that kind, are counted from it on.
pub(super) const ONCE: u64 = 0;

/// Bytes in memory that suits every kernel.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Buffer {
    /// So many zeros.
    pub(crate) fn new(len: usize) -> Self {
        Self { lines: bytemuck::zeroed_vec(len.div_ceil(size_of::<Line>())), len }
    }

    /// A copy of bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut buffer = Self::new(bytes.len());
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// The same with its first `len` bytes only.
    fn cut(mut self, len: usize) -> Self {
        self.len = self.len.min(len);
        self
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

/// A message on its way. It goes on if this is dropped.
#[derive(Debug)]
#[must_use = "it has arrived once this is awaited"]
pub(super) struct Message<T>(Arc<Flight<Result<T>>>);

impl<T> Future for Message<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx)
    }
}

/// A message that a PE of the team sends to this one.
#[derive(Debug)]
#[must_use = "it has come once this is awaited"]
pub(super) enum Coming<'a> {
    /// By itself.
    Alone(Message<Buffer>),
    /// By itself or with the hello of the leader before, in the step that is given, so many bytes.
    OrWithHello { wire: Wire<'a>, pe: usize, step: u64, len: usize },
}

impl Future for Coming<'_> {
    type Output = Result<Buffer>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut *self {
                Self::Alone(message) => return Pin::new(message).poll(cx),
                &mut Self::OrWithHello { wire, pe, step, len } => {
                    match ready!(wire.wide.hello.poll_cargo(wire.tag | step, cx))? {
                        Some(bytes) if bytes.len() == len => return Poll::Ready(Ok(bytes)),
                        Some(_) => return Poll::Ready(Err(wrong_length(pe))),
                        None => *self = Self::Alone(wire.receive_alone(pe, step, len..len + 1)?),
                    }
                }
            }
        }
    }
}

/// One exchange of messages among PEs of a team.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire<'a> {
    pub(super) group: &'a Group,
    pub(super) wide: &'a Wide,
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

    /// The messages in which leaders tell what they were called for, in the collective with that number.
    pub(super) fn hellos(group: &'a Group, wide: &'a Wide, number: u64) -> Self {
        Self::new(group, wide, number, 0)
    }

    /// Sends to a PE of the team, on another host.
    pub(super) fn send(&self, pe: usize, step: u64, bytes: impl Into<Arc<Buffer>>) -> Result<Message<()>> {
        let bytes: Arc<Buffer> = bytes.into();
        let short = can_go_with_hello(step, bytes.len()).then_some(&bytes[..]);
        match self.wide.hello.take_along(self, pe, self.tag | step, short) {
            Some(with_hello) => with_hello,
            None => self.send_alone(pe, step, bytes),
        }
    }

    /// The same in a message of its own.
    pub(super) fn send_alone(
        &self,
        pe: usize,
        step: u64,
        bytes: impl Into<Arc<Buffer>>,
    ) -> Result<Message<()>> {
        debug_assert!(step <= HELLO);
        self.group.count_message();
        let bytes: Arc<Buffer> = bytes.into();
        let flight = Arc::new(Flight::default());
        let (landing, from, len) = (Arc::clone(&flight), bytes.as_ptr(), bytes.len());
        let done = Box::new(move |sent| {
            drop(bytes);
            landing.land(sent);
        });
        let to = self.wide.members.world_pe(pe);
        let net = self.group.pe().net().ok_or_else(unreachable_pe)?;
        // SAFETY: `done` owns the bytes, which nobody changes while they are shared.
        unsafe { net.send(to, self.tag | step, from, len, done) };
        Ok(Message(flight))
    }

    /// Receives exactly `len` bytes from a PE of the team, on another host.
    pub(super) fn receive(&self, pe: usize, step: u64, len: usize) -> Result<Coming<'a>> {
        if self.wide.hello.may_bring(pe) && can_go_with_hello(step, len) {
            return Ok(Coming::OrWithHello { wire: *self, pe, step, len });
        }
        self.receive_alone(pe, step, len..len + 1).map(Coming::Alone)
    }

    /// Receives a message of its own, of as many bytes as `lens` has.
    pub(super) fn receive_alone(&self, pe: usize, step: u64, lens: Range<usize>) -> Result<Message<Buffer>> {
        debug_assert!(step <= HELLO);
        let len = lens.end - 1;
        let mut bytes = Buffer::new(len);
        let flight = Arc::new(Flight::default());
        let (landing, to) = (Arc::clone(&flight), bytes.as_mut_ptr());
        let done = Box::new(move |came: Result<usize>| {
            let fits = |came| if lens.contains(&came) { Ok(bytes.cut(came)) } else { Err(wrong_length(pe)) };
            landing.land(came.and_then(fits));
        });
        let from = self.wide.members.world_pe(pe);
        let net = self.group.pe().net().ok_or_else(unreachable_pe)?;
        // SAFETY: `done` owns the buffer, whose bytes stay where they are when it moves.
        unsafe { net.receive(from, self.tag | step, to, len, done) };
        Ok(Message(flight))
    }

    /// Sends to one PE and receives from another at the same time.
    pub(super) async fn exchange(
        &self,
        to: usize,
        bytes: Buffer,
        from: usize,
        len: usize,
        step: u64,
    ) -> Result<Buffer> {
        let coming = self.receive(from, step, len)?;
        let going = self.send(to, step, bytes)?;
        let came = coming.await?;
        going.await?;
        Ok(came)
    }
}

/// Whether such a message may go with a hello, in which it may overtake others with its tag: where several of these are expected
/// at a time, that must not be.
fn can_go_with_hello(step: u64, len: usize) -> bool {
    step < FLOW && len <= CARGO
}

#[cold]
fn unreachable_pe() -> Error {
    Error::bootstrap("collective", "there is no way to the PEs of other hosts")
}

#[cold]
fn wrong_length(pe: usize) -> Error {
    Error::bootstrap(
        "collective",
        format!("a message of PE {pe} of the team has another length than this PE knows"),
    )
}

/// Messages under way, a few of them. Whoever adds one waits for the oldest.
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
