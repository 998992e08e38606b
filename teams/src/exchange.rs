//! Exchange: every PE gives a few bytes, and takes from what all have given.
//!
//! Small reductions, scans, collects and all-to-alls are one exchange each; what is larger begins with one, by which
//! PEs learn that the others have come, or is cut into several. No PE's exchange ends before all have begun it.
//!
//! What a PE sends goes into a *slot* of the receiver's scratch memory: a number, by which the receiver sees
//! that it has come, the signature of the call, and the payload, which lies elsewhere if it is longer than a slot.
//! Slots come in two sets that exchanges use in turn. Who writes into a set has ended the exchange before, so
//! everybody has begun that one, and ended the one before it, which used the same set.
//!
//! - *flat*: everybody sends to everybody. One message's time.
//! - *central*: everybody writes to the first PE, and the last one to come releases the others: two turns on the
//!   processor a PE, which counts where PEs share processors.
//! - *doubling*: in round r PE i exchanges with PE i ± 2ʳ what it has so far. log₂ n messages a PE.
//! - *tree*: up and down a tree of radix 4. No PE sends more than five messages.

use std::task::{Poll, Waker};

use oxshmem_runtime::{Error, Result};

use crate::{
    choice::{Mode, rounds},
    group::{Flag, Group, NumberWait},
    reduction::Kernel,
    scratch::{self, INLINE, PAYLOAD_AT, SHORT_PAYLOAD_AT},
    signature::Signature,
    span::Span,
    tree::{RADIX, Tree},
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
    /// Each gets its block of everybody's, one behind the other.
    Alltoall,
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

    /// The number that it waits for last, if that is all it does before it ends here: the place of the word.
    #[inline(always)]
    pub(crate) fn last_wait(&self, group: &Group) -> Option<(usize, u64)> {
        match self.step {
            Step::From(distance) if distance + 1 == group.n() => {
                Some((scratch::slot(self.number, self.behind(group, distance)), self.number))
            }
            Step::Release => Some((Flag::Scattered.word() * size_of::<u64>(), self.number)),
            _ => None,
        }
    }

    /// Whether others wait for what this PE sends after its next wait.
    pub(crate) fn owes(&self) -> bool {
        !matches!(self.step, Step::From(_) | Step::Release | Step::Result | Step::Done)
    }

    #[inline(always)]
    fn behind(&self, group: &Group, distance: usize) -> usize {
        let pe = group.me() + group.n() - distance;
        if pe >= group.n() { pe - group.n() } else { pe }
    }

    /// Begins: sends what can be sent without waiting.
    #[inline(always)]
    pub(crate) fn begin(&mut self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        self.number = group.next_exchange();
        self.step = match self.mode {
            _ if group.n() == 1 => {
                self.take_all(group, buffers)?;
                Step::Done
            }
            Mode::Flat => {
                self.send_to_all(group, buffers)?;
                Step::From(1)
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
                Step::Release => Flag::Scattered.word() * size_of::<u64>(),
                Step::From(distance) => scratch::slot(self.number, self.behind(group, distance)),
                Step::Child(place) => scratch::slot(self.number, place),
                Step::Parent => scratch::slot(self.number, RADIX),
                Step::Extra => scratch::slot(self.number, rounds(group.n()) as usize),
                Step::Round(round) => scratch::slot(self.number, round as usize),
                Step::Result => scratch::slot(self.number, rounds(group.n()) as usize + 1),
            };
            match self.wait.poll(group, group.word(place), self.number, &waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(came) => came?,
            }
            self.step = match self.step {
                Step::From(distance) => {
                    let pe = self.behind(group, distance);
                    self.check(group, group.me(), pe)?;
                    if distance + 1 < group.n() {
                        Step::From(distance + 1)
                    } else {
                        self.take_all(group, buffers)?;
                        Step::Done
                    }
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

    /// Bytes that each PE gives. Those of a `collect` may differ.
    fn bytes(&self) -> usize {
        self.source.len()
    }

    /// The place of the payload in slot `index`, for so many bytes.
    #[inline(always)]
    fn payload(&self, group: &Group, index: usize, len: usize) -> Span {
        let slot = scratch::slot(self.number, index);
        // Of a collect the sender's length counts, which may not be this PE's.
        let signature = match self.deal {
            Deal::Collect { size } => self.signature.with_len(len / size.max(1)),
            _ => self.signature,
        };
        let place = if len > INLINE {
            scratch::bulk(self.number, index, self.mode.slots(group.n()))
        } else if self.mode != Mode::Central && signature.is_short(len) {
            slot + SHORT_PAYLOAD_AT
        } else {
            slot + PAYLOAD_AT
        };
        group.scratch(place, len)
    }

    /// Sends `bytes` to slot `index` of a PE.
    #[inline(always)]
    fn send(&self, group: &Group, index: usize, bytes: &[u8], pe: usize) -> Result<()> {
        let mut payload = bytes;
        if bytes.len() > INLINE {
            group.memory.write_to(self.payload(group, index, bytes.len()), group.world_pe(pe), bytes);
            payload = &[];
        }
        group.send(scratch::slot(self.number, index), self.number, self.signature, payload, pe)
    }

    /// Sends a span of this PE to slot `index` of a PE.
    #[inline(always)]
    fn send_span(&self, group: &Group, index: usize, span: Span, pe: usize) -> Result<()> {
        let mut bytes = [0; INLINE];
        let mut payload: &[u8] = &[];
        if span.len() > INLINE {
            let to = self.payload(group, index, span.len());
            group.memory.copy(to, group.world_pe(pe), span, group.pe().me());
        } else {
            group.memory.read(span, &mut bytes[..span.len()]);
            payload = &bytes[..span.len()];
        }
        group.send(scratch::slot(self.number, index), self.number, self.signature, payload, pe)
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
        let slot = scratch::slot(self.number, index);
        if self.mode != Mode::Central {
            return group.received(slot, self.number);
        }
        let mut words = [0u64; 2];
        let span = group.scratch(slot + size_of::<u64>(), size_of_val(&words));
        group.memory.read_from(span, group.world_pe(at), bytemuck::bytes_of_mut(&mut words));
        Signature::received(words)
    }

    // Flat and central.

    #[inline(always)]
    fn send_to_all(&self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        let (me, n) = (group.me(), group.n());
        for pe in (me + 1..n).chain(0..me) {
            match self.deal {
                Deal::Alltoalls { .. } => {
                    let [block, ..] = buffers.get(self.block(group).1);
                    self.pack(group, pe, block);
                    self.send(group, me, block, pe)?;
                }
                Deal::Collect { .. } if self.bytes() > self.mode.capacity(n) => {
                    // Its length is in the signature; the rest goes another way.
                    self.send(group, me, &[], pe)?;
                }
                _ => self.send_span(group, me, self.given(group, pe), pe)?,
            }
        }
        for pe in (me + 1..n).chain(0..me) {
            group.prepare(scratch::slot(self.number + 1, me), pe);
        }
        Ok(())
    }

    /// What of the source goes to `pe`.
    #[inline(always)]
    fn given(&self, group: &Group, pe: usize) -> Span {
        match self.deal {
            Deal::Alltoall => {
                let block = self.bytes() / group.n();
                self.source.part(pe * block..(pe + 1) * block)
            }
            _ => self.source,
        }
    }

    /// Writes to the first PE. The last one to come does what is to be done once, and releases the others.
    fn gather(&mut self, group: &Group, buffers: &mut Buffers) -> Result<Step> {
        let (me, n) = (group.me(), group.n());
        let first = group.world_pe(0);
        let words = self.signature.words_of(group.me());
        let slot = scratch::slot(self.number, me);
        let header = group.scratch(slot + size_of::<u64>(), size_of_val(&words));
        group.memory.write_to(header, first, bytemuck::cast_slice(&words));
        match self.deal {
            Deal::Alltoalls { .. } => {
                let block = self.block(group).1;
                let [packed, ..] = buffers.get(block);
                for pe in 0..n {
                    self.pack(group, pe, packed);
                    let payload = self.payload(group, me, block * n);
                    group.memory.write_to(payload.part(pe * block..(pe + 1) * block), first, packed);
                }
            }
            _ if self.bytes() > self.mode.capacity(n) => {}
            _ => {
                let payload = self.payload(group, me, self.bytes());
                group.memory.copy(payload, first, self.source, group.pe().me());
            }
        }
        let before = group.fetch_add(Flag::Gathered, 1, 0)?;
        if before >= crate::group::POISON {
            return Err(group.poisoned());
        }
        // A PE does not come to the next one before this has ended, so the counter says which of them it is.
        if (before + 1) % n as u64 != 0 {
            return Ok(Step::Release);
        }
        for pe in (0..n).filter(|&pe| pe != me) {
            self.check(group, 0, pe)?;
        }
        if let Deal::Reduce(kernel) = self.deal {
            let [total, next, ..] = buffers.get(self.bytes());
            self.combine(group, kernel, 0..n, total, next);
            group.memory.write_to(self.payload(group, n, self.bytes()), first, total);
        }
        for pe in (0..n).filter(|&pe| pe != me) {
            group.set(Flag::Scattered, self.number, pe)?;
        }
        self.take_all(group, buffers)?;
        Ok(Step::Done)
    }

    /// Where what PE `from` has given this one lies: the bytes, and whose memory, in numbers of the world.
    #[inline(always)]
    fn received(&self, group: &Group, from: usize, len: usize) -> (Span, usize) {
        let me = group.me();
        match self.mode {
            Mode::Central if group.n() > 1 => {
                if matches!(self.deal, Deal::Alltoall | Deal::Alltoalls { .. }) {
                    let all = self.payload(group, from, len * group.n());
                    return (all.part(me * len..(me + 1) * len), group.world_pe(0));
                }
                (self.payload(group, from, len), group.world_pe(0))
            }
            _ if from == me => (self.given(group, me), group.pe().me()),
            _ => (self.payload(group, from, len), group.pe().me()),
        }
    }

    /// Combines what `pes` have given, in their order.
    #[inline(always)]
    fn combine(
        &self,
        group: &Group,
        kernel: &Kernel,
        mut pes: std::ops::Range<usize>,
        total: &mut [u8],
        next: &mut [u8],
    ) {
        let len = total.len();
        let read = |pe: usize, to: &mut [u8]| {
            let (span, at) = self.received(group, pe, len);
            group.memory.read_from(span, at, to);
        };
        match pes.next() {
            Some(first) => read(first, total),
            // The sum of nothing.
            None => return total.fill(0),
        }
        for pe in pes {
            read(pe, next);
            combine_bytes(kernel, total, next);
        }
    }

    /// Everything has come: takes what is for this PE.
    #[inline(always)]
    fn take_all(&self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        let (me, n) = (group.me(), group.n());
        match self.deal {
            Deal::Meet => {}
            Deal::Reduce(_) if self.mode == Mode::Central && n > 1 => {
                let result = self.payload(group, n, self.bytes());
                group.memory.copy(self.dest, group.pe().me(), result, group.world_pe(0));
            }
            Deal::Reduce(kernel) => self.take_combined(group, kernel, 0..n, buffers),
            Deal::Scan { kernel, inclusive } => {
                self.take_combined(group, kernel, 0..me + usize::from(inclusive), buffers);
            }
            Deal::Fcollect => {
                let (here, len) = (group.pe().me(), self.bytes());
                for pe in 0..n {
                    let (span, at) = self.received(group, pe, len);
                    group.memory.copy(self.dest.part(pe * len..(pe + 1) * len), here, span, at);
                }
            }
            Deal::Collect { size } => self.take_collected(group, size)?,
            Deal::Alltoall => {
                let block = self.bytes() / n;
                for pe in 0..n {
                    let (span, at) = self.received(group, pe, block);
                    let dest = self.dest.part(pe * block..(pe + 1) * block);
                    group.memory.copy(dest, group.pe().me(), span, at);
                }
            }
            Deal::Alltoalls { size, dst, .. } => {
                let (elements, block) = self.block(group);
                let [packed, ..] = buffers.get(block);
                for pe in 0..n {
                    if pe == me && (self.mode != Mode::Central || n == 1) {
                        self.pack(group, me, packed);
                    } else {
                        let (span, at) = self.received(group, pe, block);
                        group.memory.read_from(span, at, packed);
                    }
                    for (i, element) in packed.chunks_exact(size).enumerate() {
                        let start = (pe * elements + i) * dst * size;
                        group.memory.write(self.dest.part(start..start + size), element);
                    }
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn take_combined(
        &self,
        group: &Group,
        kernel: &Kernel,
        pes: std::ops::Range<usize>,
        buffers: &mut Buffers,
    ) {
        let len = self.bytes();
        if len <= INLINE {
            let [mut total, mut next] = [Small([0; 128]); 2];
            self.combine(group, kernel, pes, &mut total.0[..len], &mut next.0[..len]);
            group.memory.write(self.dest, &total.0[..len]);
        } else {
            let [total, next, ..] = buffers.get(len);
            self.combine(group, kernel, pes, total, next);
            group.memory.write(self.dest, total);
        }
    }

    /// How many bytes each PE gives to a `collect`, once all have come.
    pub(crate) fn lengths(&self, group: &Group, size: usize) -> Vec<usize> {
        let at = if self.mode == Mode::Central { 0 } else { group.me() };
        let len = |pe: usize| match pe == group.me() {
            true => self.bytes(),
            false => self.signature_in(group, at, pe).0.len() * size,
        };
        (0..group.n()).map(len).collect()
    }

    /// Whether what PEs give to a `collect` was too long for the slots, so that only the lengths are known.
    pub(crate) fn is_too_long(&self, group: &Group, lengths: &[usize]) -> bool {
        lengths.iter().any(|&len| len > self.mode.capacity(group.n()))
    }

    fn take_collected(&self, group: &Group, size: usize) -> Result<()> {
        let lengths = self.lengths(group, size);
        let total: usize = lengths.iter().sum();
        if total > self.dest.len() {
            let (source_len, dest_len) = (total / size.max(1), self.dest.len() / size.max(1));
            return Err(Error::LengthMismatch { call: self.signature.name(), source_len, dest_len });
        }
        if self.is_too_long(group, &lengths) {
            return Ok(());
        }
        let mut start = 0;
        for (pe, len) in lengths.into_iter().enumerate() {
            let (span, at) = self.received(group, pe, len);
            group.memory.copy(self.dest.part(start..start + len), group.pe().me(), span, at);
            start += len;
        }
        Ok(())
    }

    /// Elements and bytes of one block of a strided exchange.
    fn block(&self, group: &Group) -> (usize, usize) {
        let Deal::Alltoalls { size, .. } = self.deal else { return (0, 0) };
        let elements = self.signature.len();
        debug_assert!(group.n() > 0);
        (elements, elements * size)
    }

    /// Brings the strided elements for `pe` together.
    fn pack(&self, group: &Group, pe: usize, to: &mut [u8]) {
        let Deal::Alltoalls { size, sst, .. } = self.deal else { return };
        let elements = self.signature.len();
        for (i, element) in to.chunks_exact_mut(size).enumerate() {
            let start = (pe * elements + i) * sst * size;
            group.memory.read(self.source.part(start..start + size), element);
        }
    }

    // Tree: what children have comes up, combined; the result comes down.

    fn begin_tree(&self, group: &Group, buffers: &mut Buffers) -> Result<Step> {
        let tree = Tree::new(group.me(), group.n(), 0);
        if tree.children().next().is_some() {
            return Ok(Step::Child(0));
        }
        self.rise(group, tree, buffers)
    }

    fn next_in_tree(&mut self, group: &Group, buffers: &mut Buffers) -> Result<Step> {
        let tree = Tree::new(group.me(), group.n(), 0);
        match self.step {
            Step::Child(place) => {
                self.check(group, group.me(), place)?;
                match tree.children().nth(place + 1) {
                    Some(_) => Ok(Step::Child(place + 1)),
                    None => self.rise(group, tree, buffers),
                }
            }
            _ => {
                self.check(group, group.me(), RADIX)?;
                let result = self.payload(group, RADIX, self.bytes());
                self.fall(group, tree, result)?;
                Ok(Step::Done)
            }
        }
    }

    /// All children have come: combines what they have, and passes it on.
    fn rise(&self, group: &Group, tree: Tree, buffers: &mut Buffers) -> Result<Step> {
        let len = self.bytes();
        let [total, next, ..] = buffers.get(len);
        group.memory.read(self.source, total);
        if let Deal::Reduce(kernel) = self.deal {
            for place in 0..tree.children().count() {
                group.memory.read(self.payload(group, place, len), next);
                combine_bytes(kernel, total, next);
            }
        }
        match tree.parent() {
            Some((parent, place)) => {
                self.send(group, place, total, parent)?;
                Ok(Step::Parent)
            }
            None => {
                let result = self.payload(group, RADIX, len);
                group.memory.write(result, total);
                self.fall(group, tree, result)?;
                Ok(Step::Done)
            }
        }
    }

    fn fall(&self, group: &Group, tree: Tree, result: Span) -> Result<()> {
        for child in tree.children() {
            self.send_span(group, RADIX, result, child)?;
        }
        let me = group.pe().me();
        group.memory.copy(self.dest, me, result, me);
        Ok(())
    }

    // Doubling. Where n is no power of two, the PEs beyond the largest one hand what they have to a partner, and get
    // the result from it. A scan needs no partners of equal rank, so all PEs go through all rounds.

    /// The largest power of two that is not above n.
    fn core(group: &Group) -> usize {
        1 << group.n().ilog2()
    }

    fn is_scan(&self) -> bool {
        matches!(self.deal, Deal::Scan { .. })
    }

    fn begin_doubling(&mut self, group: &Group, buffers: &mut Buffers) -> Result<Step> {
        let [.., total, before] = buffers.get(self.bytes());
        group.memory.read(self.source, total);
        before.fill(0);
        let core = Self::core(group);
        if !self.is_scan() {
            if group.me() >= core {
                self.send(group, rounds(group.n()) as usize, total, group.me() - core)?;
                return Ok(Step::Result);
            }
            if group.me() + core < group.n() {
                return Ok(Step::Extra);
            }
        }
        self.begin_round(group, 0, buffers)
    }

    fn begin_round(&mut self, group: &Group, round: u32, buffers: &mut Buffers) -> Result<Step> {
        let (me, n) = (group.me(), group.n());
        let [.., total, before] = buffers.get(self.bytes());
        let last = if self.is_scan() { rounds(n) } else { Self::core(group).ilog2() };
        if round < last {
            let partner = if self.is_scan() { (me + (1 << round)) % n } else { me ^ (1 << round) };
            self.send(group, round as usize, total, partner)?;
            return Ok(Step::Round(round));
        }
        let extra = me + Self::core(group);
        if !self.is_scan() && extra < n {
            self.send(group, rounds(n) as usize + 1, total, extra)?;
        }
        let exclusive = matches!(self.deal, Deal::Scan { inclusive: false, .. });
        group.memory.write(self.dest, if exclusive { before } else { total });
        Ok(Step::Done)
    }

    fn next_in_doubling(&mut self, group: &Group, buffers: &mut Buffers) -> Result<Step> {
        let (me, n) = (group.me(), group.n());
        let [came, spare, total, before] = buffers.get(self.bytes());
        match self.step {
            Step::Round(round) => {
                let distance = 1usize << round;
                let partner = if self.is_scan() { (me + n - distance) % n } else { me ^ distance };
                self.check(group, me, round as usize)?;
                group.memory.read(self.payload(group, round as usize, self.bytes()), came);
                match self.deal {
                    // What came is from lower PEs, so it is the left operand of both.
                    Deal::Scan { kernel, .. } if me >= distance => {
                        spare.copy_from_slice(came);
                        combine_bytes(kernel, spare, total);
                        total.copy_from_slice(spare);
                        // In the first round nobody before has been heard of: what came is all there is.
                        if round > 0 {
                            combine_bytes(kernel, came, before);
                        }
                        before.copy_from_slice(came);
                    }
                    // The left operand is the lower PEs', so that all come to the same.
                    Deal::Reduce(kernel) if partner < me => {
                        combine_bytes(kernel, came, total);
                        total.copy_from_slice(came);
                    }
                    Deal::Reduce(kernel) => combine_bytes(kernel, total, came),
                    _ => {}
                }
                self.begin_round(group, round + 1, buffers)
            }
            Step::Extra => {
                let index = rounds(n) as usize;
                self.check(group, me, index)?;
                if let Deal::Reduce(kernel) = self.deal {
                    group.memory.read(self.payload(group, index, self.bytes()), came);
                    combine_bytes(kernel, total, came);
                }
                self.begin_round(group, 0, buffers)
            }
            _ => {
                let index = rounds(n) as usize + 1;
                self.check(group, me, index)?;
                let (here, result) = (group.pe().me(), self.payload(group, index, self.bytes()));
                group.memory.copy(self.dest, here, result, here);
                Ok(Step::Done)
            }
        }
    }
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
