//! Exchange: every PE gives a few bytes, and takes from what all have given.
//!
//! Small reductions, scans, collects and all-to-alls are one exchange each; what is larger begins
//! with one, by which PEs learn that the others have come, or is cut into several. No PE's exchange
//! ends before all have begun it.
//!
//! What a PE sends goes into a *slot* of the receiver's scratch memory: a number, by which the
//! receiver sees that it has come, the signature of the call, and the payload, which lies elsewhere
//! if it is longer than a slot. Slots come in two sets that exchanges use in turn. A PE that writes
//! into a set has ended the exchange before, so all PEs have begun that one, and ended the one
//! before it, which used the same set.
//!
//! - *flat*: each PE sends to each other one. One message's time.
//! - *tree*: up and down a tree of radix 4. No PE sends more than five messages.

mod all;
mod quick;
mod tree;

use std::{
    future::poll_fn,
    task::{Poll, Waker},
};

use oxshmem_base::Result;

pub(crate) use self::quick::Quick;

use crate::{
    algorithm::called::Called,
    check::NumberWait,
    group::{Awaited, Group},
    memory::{
        scratch::{self, INLINE, PAYLOAD_AT},
        span::Span,
    },
    operation::Operation,
    reduction::Kernel,
    signature::Signature,
    tuning::{Mode, RADIX},
};

/// One exchange under way, from its first message to its last wait.
#[derive(Debug)]
pub(crate) struct Exchange {
    mode: Mode,
    call: Called,
    number: u64,
    step: ExchangeStep,
    wait: NumberWait,
}

#[derive(Clone, Copy, Debug)]
enum ExchangeStep {
    /// It has not begun.
    Called,
    /// Flat: waiting for the PE that comes this many places behind this one.
    From(usize),
    /// Tree: waiting for that child.
    Child(usize),
    /// Tree: waiting for the parent.
    Parent,
    Done,
}

/// Room for vectors that are being combined, private to this PE.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Option<Box<[Page; 2]>>);

#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Page([u8; scratch::BROADCAST_BULK]);

/// What fits into a slot, aligned for every kernel.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Small([u8; 128]);

/// An element of any type.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Single([u8; 16]);

impl Buffers {
    /// Two buffers of `len` bytes.
    pub(crate) fn get(&mut self, len: usize) -> [&mut [u8]; 2] {
        let pages = self.0.get_or_insert_with(bytemuck::zeroed_box);
        pages.each_mut().map(|page| &mut page.0[..len])
    }
}

impl Exchange {
    /// The exchange that a collective is which goes [through
    /// slots](crate::tuning::Choices::in_slots).
    #[inline(always)]
    pub(crate) fn new(group: &Group, call: Called) -> Self {
        Self {
            mode: group.choices.mode,
            call,
            number: 0,
            step: ExchangeStep::Called,
            wait: NumberWait::default(),
        }
    }

    /// One without data, before or after `signature`'s PEs reach into each other's memory.
    fn meet(group: &Group, signature: Signature) -> Self {
        let nothing = group.scratch(0, 0);
        let operation = Operation::Meet;
        Self::new(group, Called { operation, signature, size: 0, source: nothing, dest: nothing })
    }

    /// What was called.
    pub(crate) fn signature(&self) -> Signature {
        self.call.signature
    }

    /// What it waits for last, if that is all it does before it ends here.
    #[inline(always)]
    pub(crate) fn last_wait(&self, group: &Group) -> Option<Awaited> {
        match self.step {
            // It may go on with what is too long for an exchange.
            _ if self.is_collect() => None,
            ExchangeStep::From(_) => Some(self::quick::messages(group, self.number)),
            _ => None,
        }
    }

    /// Whether it is one that may have to [go on](Self::follow_up).
    #[inline(always)]
    pub(crate) fn is_collect(&self) -> bool {
        matches!(self.call.operation, Operation::Collect)
    }

    #[inline(always)]
    fn behind(&self, group: &Group, distance: usize) -> usize {
        let pe = group.me() + group.n() - distance;
        if pe >= group.n() { pe - group.n() } else { pe }
    }

    /// Begins: sends what can be sent without waiting.
    #[inline(always)]
    pub(crate) fn begin(&mut self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        self.number = group.state.next_exchange();
        self.step = match self.mode {
            _ if group.n() == 1 => {
                self.take_all(group, buffers)?;
                ExchangeStep::Done
            }
            Mode::Flat => {
                self.send_to_all(group, buffers)?;
                group.settle();
                let only = scratch::slot(self.number, self.behind(group, 1));
                if group.n() == 2 && !self.is_collect() && group.has_come(only, self.number) {
                    // The other one was first.
                    self.take_last(group, buffers, 1)?
                } else {
                    ExchangeStep::From(1)
                }
            }
            Mode::Tree => self.begin_tree(group, buffers)?,
        };
        Ok(())
    }

    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    pub(crate) fn poll(
        &mut self,
        group: &Group,
        buffers: &mut Buffers,
        waker: &dyn Fn() -> Waker,
    ) -> Poll<Result<()>> {
        loop {
            let place = match self.step {
                ExchangeStep::Done => return Poll::Ready(Ok(())),
                ExchangeStep::Called => {
                    self.begin(group, buffers)?;
                    continue;
                }
                ExchangeStep::From(distance) => scratch::slot(self.number, self.behind(group, distance)),
                ExchangeStep::Child(place) => scratch::slot(self.number, place),
                ExchangeStep::Parent => scratch::slot(self.number, RADIX),
            };
            match self.wait.poll(group, place, self.number, waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(came) => came?,
            }
            self.step = match self.step {
                ExchangeStep::From(distance) if distance + 1 == group.n() => {
                    self.take_last(group, buffers, distance)?
                }
                ExchangeStep::From(distance) => {
                    self.check(group, self.behind(group, distance))?;
                    ExchangeStep::From(distance + 1)
                }
                _ => self.next_in_tree(group, buffers)?,
            };
        }
    }

    /// Flat: the last message has come, from the PE that comes `distance` places behind this one.
    #[inline(always)]
    fn take_last(&self, group: &Group, buffers: &mut Buffers, distance: usize) -> Result<ExchangeStep> {
        self.check(group, self.behind(group, distance))?;
        self.take_all(group, buffers)?;
        Ok(ExchangeStep::Done)
    }

    /// Whether nothing is left to do.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.step, ExchangeStep::Done)
    }

    /// Bytes that each PE gives. Those of a `collect` may differ.
    fn bytes(&self) -> usize {
        self.call.source.len()
    }

    /// The place of the payload of `len` bytes in slot `index`.
    #[inline(always)]
    fn payload(&self, group: &Group, index: usize, len: usize) -> Span {
        let place = if len > INLINE {
            scratch::bulk(self.number, index, self.mode.slots(group.n()))
        } else {
            scratch::slot(self.number, index) + PAYLOAD_AT
        };
        group.scratch(place, len)
    }

    /// Sends `bytes` to slot `index` of a PE.
    #[inline(always)]
    fn send(&self, group: &Group, index: usize, bytes: &[u8], pe: usize) {
        self.leave(group, index, bytes, pe);
        group.wake([(pe, scratch::slot(self.number, index))].into_iter());
    }

    /// [Sends](Self::send) to a PE that is to be [woken](Group::wake) then.
    #[inline(always)]
    fn leave(&self, group: &Group, index: usize, bytes: &[u8], pe: usize) {
        group.memory.write_to(self.payload(group, index, bytes.len()), group.block(pe), bytes);
        group.leave(
            group.words_of(pe).0,
            scratch::slot(self.number, index),
            self.number,
            self.call.signature,
        );
    }

    /// [Leaves](Self::leave) a span of this PE.
    #[inline(always)]
    fn leave_span(&self, group: &Group, index: usize, span: Span, pe: usize) {
        let to = self.payload(group, index, span.len());
        group.memory.copy(to, group.block(pe), span, group.here());
        group.leave(
            group.words_of(pe).0,
            scratch::slot(self.number, index),
            self.number,
            self.call.signature,
        );
    }

    /// Compares the signature in slot `index` with this PE's.
    #[inline(always)]
    fn check(&self, group: &Group, index: usize) -> Result<()> {
        group.compare_slot(scratch::slot(self.number, index), self.call.signature)
    }
}

/// All of one, inside of a task.
#[inline(always)]
pub(crate) fn exchange(group: &Group, mut exchange: Exchange) -> impl Future<Output = Result<()>> {
    let mut buffers = Buffers::default();
    poll_fn(move |cx| exchange.poll(group, &mut buffers, &|| cx.waker().clone()))
}

/// Waits for every PE to come here, and compares what they call.
#[inline(always)]
pub(crate) fn meet(group: &Group, signature: Signature) -> impl Future<Output = Result<()>> {
    exchange(group, Exchange::meet(group, signature))
}

/// `acc = acc op x`, in buffers that are aligned for every kernel.
#[inline(always)]
pub(crate) fn combine_bytes(kernel: &Kernel, acc: &mut [u8], x: &[u8]) {
    let align = kernel.element().align();
    assert!(
        acc.len() == x.len()
            && acc.as_ptr().addr().is_multiple_of(align)
            && x.as_ptr().addr().is_multiple_of(align)
    );
    // SAFETY: both are as long, aligned for the elements, and borrowed; any bytes are a value.
    unsafe { kernel.combine(acc.as_mut_ptr(), x.as_ptr(), acc.len() / kernel.size()) }
}
