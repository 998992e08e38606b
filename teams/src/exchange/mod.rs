//! Exchange: every PE gives a few bytes, and takes from what all have given.
//!
//! Small reductions, scans, collects and all-to-alls are one exchange each; what is larger begins with one, by which
//! PEs learn that the others have come, or is cut into several. No PE's exchange ends before all have begun it.
//!
//! What a PE sends goes into a *slot* of the receiver's scratch memory: a number, by which the receiver sees
//! that it has come, the signature of the call, and the payload, which lies elsewhere if it is longer than a slot.
//! Slots come in two sets that exchanges use in turn. Who writes into a set has ended the exchange before, so
//! everybody has begun that one, and ended the one before it, which used the same set. Those of central exchanges, which are counted instead
//! of numbered, come in four, so that nobody reads any more what a PE gets hold of for the next exchange when it has come to one.
//!
//! - *flat*: everybody sends to everybody. One message's time.
//! - *central*: everybody writes to the first PE, and the last one to come releases the others: two turns on the
//!   processor a PE, which counts where PEs share processors.
//! - *doubling*: in round r PE i exchanges with PE i ± 2ʳ what it has so far. log₂ n messages a PE.
//! - *tree*: up and down a tree of radix 4. No PE sends more than five messages.

mod all;
mod doubling;
mod quick;
mod tree;

use std::{
    future::poll_fn,
    task::{Poll, Waker},
};

use oxshmem_base::Result;

pub(crate) use self::quick::{Begun as QuickBegun, Quick};

use crate::{
    choice::{Mode, rounds},
    group::{Awaited, Flag, Group, NumberWait},
    processors::For,
    reduction::Kernel,
    scratch::{self, INLINE, PAYLOAD_AT},
    signature::Signature,
    span::Span,
    tree::RADIX,
};

/// What the PEs do with each other's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deal {
    /// Nothing: they only meet.
    Meet,
    /// Each gets the combination of all.
    Reduce(&'static Kernel),
    /// Each gets the combination of those up to it, or before it.
    Scan { kernel: &'static Kernel, inclusive: bool },
    /// Each gets all, one behind the other.
    Fcollect,
    /// The same, where they may differ in length: the signatures say by how much.
    Collect { size: usize },
    /// Each gets its block of everybody's, one behind the other, of so many bytes.
    Alltoall { block: usize },
    /// The same with strides, in elements of `size` bytes.
    Alltoalls { size: usize, dst: usize, sst: usize },
}

/// One exchange under way, from its first message to its last wait.
#[derive(Debug)]
pub(crate) struct Exchange {
    mode: Mode,
    deal: Deal,
    signature: Signature,
    source: Span,
    dest: Span,
    number: u64,
    step: Step,
    wait: NumberWait,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// It has not begun.
    Called,
    /// Flat: waiting for the PE that comes so many places behind this one.
    From(usize),
    /// Central: waiting for the release.
    Release,
    /// Tree: waiting for that child.
    Child(usize),
    /// Tree: waiting for the parent.
    Parent,
    /// Doubling: waiting for the PE that has no partner.
    Extra,
    /// Doubling: waiting for the partner of that round.
    Round(u32),
    /// Doubling: waiting, without a partner, for the result.
    Result,
    Done,
}

/// Room for vectors that are being combined, private to this PE.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Option<Box<[Page; 4]>>);

#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Page([u8; scratch::STREAM_BULK]);

/// What fits into a slot, aligned for every kernel.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Small([u8; 128]);

/// An element of any type.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Single([u8; 16]);

impl Buffers {
    /// Four buffers of `len` bytes. The last two keep what is in them from one step of an exchange to the next.
    pub(crate) fn get(&mut self, len: usize) -> [&mut [u8]; 4] {
        let pages = self.0.get_or_insert_with(bytemuck::zeroed_box);
        pages.each_mut().map(|page| &mut page.0[..len])
    }
}

impl Exchange {
    /// An exchange of `source` into `dest`. At most the mode's capacity in bytes.
    #[inline(always)]
    pub(crate) fn new(mode: Mode, deal: Deal, signature: Signature, source: Span, dest: Span) -> Self {
        Self {
            mode,
            deal,
            signature,
            source,
            dest,
            number: 0,
            step: Step::Called,
            wait: NumberWait::default(),
        }
    }

    /// A meeting before or after `signature`'s PEs reach into each other's memory.
    pub(crate) fn meeting(group: &Group, signature: Signature) -> Self {
        let nothing = group.scratch(0, 0);
        Self::new(group.choices.meeting, Deal::Meet, signature, nothing, nothing)
    }

    /// What was called.
    pub(crate) fn signature(&self) -> Signature {
        self.signature
    }

    /// What it waits for last, if that is all it does before it ends here.
    #[inline(always)]
    pub(crate) fn last_wait(&self, group: &Group) -> Option<Awaited> {
        match self.step {
            // It may go on with what is too long for an exchange.
            _ if self.is_collect() => None,
            Step::From(_) => Some(self::quick::messages(group, self.number)),
            Step::Release => Some(Awaited::one(group.released(Flag::Scattered), self.number)),
            _ => None,
        }
    }

    /// Whether it is one that may have to [go on](Self::follow_up).
    #[inline(always)]
    pub(crate) fn is_collect(&self) -> bool {
        matches!(self.deal, Deal::Collect { .. })
    }

    #[inline(always)]
    fn behind(&self, group: &Group, distance: usize) -> usize {
        let pe = group.me() + group.n() - distance;
        if pe >= group.n() { pe - group.n() } else { pe }
    }

    /// Begins: sends what can be sent without waiting.
    #[inline(always)]
    pub(crate) fn begin(&mut self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        self.number = group.next_exchange(self.mode == Mode::Central);
        self.step = match self.mode {
            _ if group.n() == 1 => {
                self.take_all(group, buffers)?;
                Step::Done
            }
            Mode::Flat => {
                self.send_to_all(group, buffers)?;
                group.settle();
                let only = scratch::slot(self.number, self.behind(group, 1));
                if group.n() == 2 && !self.is_collect() && group.has_come(only, self.number) {
                    // The other one was first.
                    self.take_last(group, buffers, 1)?
                } else {
                    Step::From(1)
                }
            }
            Mode::Central => self.gather(group, buffers)?,
            Mode::Tree => self.begin_tree(group, buffers)?,
            Mode::Doubling => self.begin_doubling(group, buffers)?,
        };
        Ok(())
    }

    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        group: &Group,
        buffers: &mut Buffers,
        waker: impl Fn() -> Waker,
    ) -> Poll<Result<()>> {
        loop {
            let place = match self.step {
                Step::Done => return Poll::Ready(Ok(())),
                Step::Called => {
                    self.begin(group, buffers)?;
                    continue;
                }
                Step::Release => group.released(Flag::Scattered),
                Step::From(distance) => scratch::slot(self.number, self.behind(group, distance)),
                Step::Child(place) => scratch::slot(self.number, place),
                Step::Parent => scratch::slot(self.number, RADIX),
                Step::Extra => scratch::slot(self.number, rounds(group.n()) as usize),
                Step::Round(round) => scratch::slot(self.number, round as usize),
                Step::Result => scratch::slot(self.number, rounds(group.n()) as usize + 1),
            };
            match self.wait.poll_for(For::All, group, place, self.number, &waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(came) => came?,
            }
            self.step = match self.step {
                Step::From(distance) if distance + 1 == group.n() => {
                    self.take_last(group, buffers, distance)?
                }
                Step::From(distance) => {
                    self.check(group, group.me(), self.behind(group, distance))?;
                    Step::From(distance + 1)
                }
                Step::Release => {
                    self.take_all(group, buffers)?;
                    Step::Done
                }
                Step::Child(_) | Step::Parent => self.next_in_tree(group, buffers)?,
                _ => self.next_in_doubling(group, buffers)?,
            };
        }
    }

    /// Flat: the last message has come, from the PE that comes so many places behind this one.
    #[inline(always)]
    fn take_last(&self, group: &Group, buffers: &mut Buffers, distance: usize) -> Result<Step> {
        self.check(group, group.me(), self.behind(group, distance))?;
        self.take_all(group, buffers)?;
        Ok(Step::Done)
    }

    /// Whether nothing is left to do.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.step, Step::Done)
    }

    /// Bytes that each PE gives. Those of a `collect` may differ.
    fn bytes(&self) -> usize {
        self.source.len()
    }

    /// The place of slot `index` of the exchange with that number.
    #[inline(always)]
    fn slot(&self, group: &Group, number: u64, index: usize) -> usize {
        self.mode.slot(number, index, group.n())
    }

    /// The place of the payload in slot `index`, for so many bytes.
    #[inline(always)]
    fn payload(&self, group: &Group, index: usize, len: usize) -> Span {
        let place = if len > INLINE {
            scratch::bulk(self.number, index, self.mode.slots(group.n()))
        } else {
            self.slot(group, self.number, index) + PAYLOAD_AT
        };
        group.scratch(place, len)
    }

    /// Sends `bytes` to slot `index` of a PE.
    #[inline(always)]
    fn send(&self, group: &Group, index: usize, bytes: &[u8], pe: usize) {
        self.leave(group, index, bytes, pe);
        group.wake([(pe, scratch::slot(self.number, index))].into_iter());
    }

    /// The same to a PE that is to be [woken](Group::wake) then.
    #[inline(always)]
    fn leave(&self, group: &Group, index: usize, bytes: &[u8], pe: usize) {
        group.memory.write_to(self.payload(group, index, bytes.len()), group.block(pe), bytes);
        group.leave(group.words_of(pe).0, scratch::slot(self.number, index), self.number, self.signature);
    }

    /// The same of a span of this PE.
    #[inline(always)]
    fn leave_span(&self, group: &Group, index: usize, span: Span, pe: usize) {
        let to = self.payload(group, index, span.len());
        group.memory.copy(to, group.block(pe), span, group.here());
        group.leave(group.words_of(pe).0, scratch::slot(self.number, index), self.number, self.signature);
    }

    /// Compares the signature in slot `index` of PE `at` with this PE's.
    #[inline(always)]
    fn check(&self, group: &Group, at: usize, index: usize) -> Result<()> {
        let (signature, from) = self.signature_in(group, at, index);
        if signature.agrees(self.signature) {
            return Ok(());
        }
        Err(group.differ(from, signature, self.signature))
    }

    #[inline(always)]
    fn signature_in(&self, group: &Group, at: usize, index: usize) -> (Signature, usize) {
        let slot = self.slot(group, self.number, index);
        if self.mode != Mode::Central {
            return group.received(slot);
        }
        let mut words = [0u64; 2];
        let span = group.scratch(slot + size_of::<u64>(), size_of_val(&words));
        group.memory.read_from(span, group.block(at), bytemuck::bytes_of_mut(&mut words));
        Signature::received(words)
    }
}

/// One exchange inside of a task.
async fn whole(group: &Group, mut exchange: Exchange) -> Result<()> {
    let mut buffers = Buffers::default();
    poll_fn(|cx| exchange.poll(group, &mut buffers, || cx.waker().clone())).await
}

/// A reduction or scan in exchanges of at most `capacity` bytes.
pub(crate) async fn in_parts(
    group: &Group,
    mode: Mode,
    deal: Deal,
    signature: Signature,
    [source, dest]: [Span; 2],
    capacity: usize,
) -> Result<()> {
    // Whole elements: their sizes divide it.
    let step = capacity / 64 * 64;
    for start in (0..source.len()).step_by(step) {
        let part = start..(start + step).min(source.len());
        let (source, dest) = (source.part(part.clone()), dest.part(part));
        whole(group, Exchange::new(mode, deal, signature, source, dest)).await?;
    }
    Ok(())
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
