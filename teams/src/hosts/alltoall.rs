//! All-to-all: PEs of one host write to each other's destinations. Small blocks go from leader to
//! leader, all that is from one host to another in one message, which the leaders pack and unpack
//! in the memory of their hosts' PEs; large ones go from each PE to each.

use std::{collections::VecDeque, ops::Range};

use oxshmem_base::Result;
use oxshmem_ops::Members;

use super::{
    gathered, release,
    wire::{CHUNK, Coming, Going, ONCE, Target, WINDOW, Window, Wire, relay},
};
use crate::{
    algorithm::called::Called,
    group::Group,
    memory::span::Span,
    message::{Wide, buffer::Buffer},
    operation::Operation,
    tuning::Pairs,
};

/// How many messages of other leaders a leader awaits at a time: enough that it need not wait for
/// each to cross a slow network.
const AHEAD: usize = 64;

/// What each PE has for each other one: `count` pieces of `size` bytes, which lie `dst` of them
/// apart in the destination, and `sst` in the source.
#[derive(Clone, Copy, Debug)]
struct Layout {
    count: usize,
    size: usize,
    dst: usize,
    sst: usize,
}

impl Layout {
    fn of(call: &Called) -> Self {
        match call.operation {
            Operation::Alltoalls { dst, sst, nelems } => Self { count: nelems, size: call.size, dst, sst },
            // Blocks, one behind the other.
            _ => Self { count: 1, size: call.given(), dst: 1, sst: 1 },
        }
    }

    fn bytes(self) -> usize {
        self.count * self.size
    }

    /// Where `part` of what is for or from PE `pe` lies in a span.
    fn pieces(self, span: Span, stride: usize, pe: usize, part: Range<usize>) -> impl Iterator<Item = Span> {
        let size = self.size.max(1);
        (part.start / size..part.end.div_ceil(size)).map(move |i| {
            let at = (pe * self.count + i) * stride * size;
            let from = part.start.max(i * size) - i * size;
            let to = part.end.min((i + 1) * size) - i * size;
            span.part(at + from..at + to)
        })
    }
}

/// One call.
struct PairBlocks<'a> {
    group: &'a Group,
    layout: Layout,
    source: Span,
    dest: Span,
}

impl PairBlocks<'_> {
    /// Where a part of what this PE has for PE `to` of the team lies, if that is one place.
    fn going(&self, to: usize, part: Range<usize>) -> Option<Span> {
        (self.layout.sst == 1).then(|| self.source.part(self.block(to, part)))
    }

    /// Where a part of what PE `from` has for this PE goes, if that is one place.
    fn coming(&self, from: usize, part: Range<usize>) -> Option<Span> {
        (self.layout.dst == 1).then(|| self.dest.part(self.block(from, part)))
    }

    /// A part of the block of a PE, where blocks lie one behind the other.
    fn block(&self, pe: usize, part: Range<usize>) -> Range<usize> {
        let start = pe * self.layout.bytes();
        start + part.start..start + part.end
    }

    /// Reads a part of what a PE of this host, in that block of memory, has for PE `to` of the
    /// team.
    fn read(&self, block: usize, to: usize, part: Range<usize>, bytes: &mut [u8]) {
        let mut rest = bytes;
        for piece in self.layout.pieces(self.source, self.layout.sst, to, part) {
            let (bytes, behind) = rest.split_at_mut(piece.len());
            self.group.memory.read_from(piece, block, bytes);
            rest = behind;
        }
    }

    /// Writes a part of what PE `from` of the team had for a PE of this host, in that block of
    /// memory.
    fn write(&self, block: usize, from: usize, part: Range<usize>, bytes: &[u8]) {
        let mut rest = bytes;
        for piece in self.layout.pieces(self.dest, self.layout.dst, from, part) {
            let (bytes, behind) = rest.split_at(piece.len());
            self.group.memory.write_to(piece, block, bytes);
            rest = behind;
        }
    }
}

impl Wide {
    pub(crate) async fn alltoall(&self, group: &Group, call: &Called) -> Result<()> {
        let (wire, layout) = (self.wire(group), Layout::of(call));
        let Called { signature, source, dest, .. } = *call;
        if layout.bytes() == 0 {
            return self.sync_for(group, signature).await;
        }
        let (blocks, all) = (PairBlocks { group, layout, source, dest }, 0..layout.bytes());
        let (me, n) = (group.me(), group.n());
        for pe in (0..n).map(|distance| (me + distance) % n) {
            let from = layout.pieces(source, layout.sst, self.number(pe), all.clone());
            for (from, to) in from.zip(layout.pieces(dest, layout.dst, self.my_pe, all.clone())) {
                group.memory.copy(to, group.block(pe), from, group.here());
            }
        }
        match group.choices.alltoall_between(self.most, layout.bytes()) {
            Pairs::Leaders => {
                gathered(group, signature).await?;
                if me == 0 {
                    Box::pin(self.between_leaders(&wire, &blocks)).await?;
                }
                release(group, signature).await
            }
            Pairs::All => {
                match layout.bytes() <= CHUNK {
                    true => Box::pin(self.short_between_all(&wire, &blocks)).await?,
                    false => Box::pin(self.long_between_all(&wire, &blocks)).await?,
                }
                gathered(group, signature).await
            }
        }
    }

    /// One message from each host to each: in round r to the r-th behind it, while those of the
    /// r-th and the next ones before it may come. So a leader has messages of a few hosts in its
    /// memory, however many there are.
    async fn between_leaders(&self, wire: &Wire<'_>, blocks: &PairBlocks<'_>) -> Result<()> {
        let (group, k, each) = (wire.group, self.n_hosts(), blocks.layout.bytes());
        let here = &self.here;
        let (mut sends, mut coming, mut ahead) = (VecDeque::new(), VecDeque::new(), 1..k);
        for round in 1..k {
            {
                // Gone before this waits, so that a future that is made for each call has no room
                // for it.
                let there = self.nodes.of((self.node + round) % k);
                let mut packed = wire.buffer(here.n() * there.n() * each);
                let mut rest = &mut packed[..];
                for pe in 0..here.n() {
                    for to in there.iter() {
                        let (block, behind) = rest.split_at_mut(each);
                        blocks.read(group.block(pe), to, 0..each, block);
                        rest = behind;
                    }
                }
                sends.push_back(wire.send(there.world_pe(0), ONCE, packed)?);
            }
            while coming.len() < AHEAD
                && let Some(round) = ahead.next()
            {
                let there = self.nodes.of((self.node + k - round) % k);
                let packed = wire.receive(there.world_pe(0), ONCE, there.n() * here.n() * each)?;
                coming.push_back((there, packed));
            }
            // The first messages are on their way before any is waited for.
            if round >= AHEAD {
                self.unpack(wire, blocks, &mut coming).await?;
                if let Some(sent) = sends.pop_front() {
                    sent.await?;
                }
            }
        }
        while !coming.is_empty() {
            self.unpack(wire, blocks, &mut coming).await?;
        }
        for sent in sends {
            sent.await?;
        }
        Ok(())
    }

    /// Waits for the first of the messages that come from other hosts, and gives its blocks to the
    /// PEs of this one.
    async fn unpack(
        &self,
        wire: &Wire<'_>,
        blocks: &PairBlocks<'_>,
        coming: &mut VecDeque<(Members, Coming<'_>)>,
    ) -> Result<()> {
        let Some((there, packed)) = coming.pop_front() else { return Ok(()) };
        let (group, each, packed) = (wire.group, blocks.layout.bytes(), packed.await?);
        let mut block = packed.chunks_exact(each);
        for from in there.iter() {
            for (pe, block) in (0..group.n()).zip(&mut block) {
                blocks.write(group.block(pe), from, 0..each, block);
            }
        }
        Ok(())
    }

    /// In round r each PE sends to the r-th behind it, and receives from the r-th before it. It
    /// waits for that some rounds later.
    async fn short_between_all(&self, wire: &Wire<'_>, blocks: &PairBlocks<'_>) -> Result<()> {
        let (group, n, each) = (wire.group, self.members.n(), blocks.layout.bytes());
        let local = &self.here;
        let is_far = |pe: &usize| local.pe_of(*pe).is_none();
        let later = (WINDOW * CHUNK / each).min(AHEAD);
        let (mut sends, mut coming) = (Window::default(), VecDeque::new());
        for round in 1..n + later {
            if round < n {
                if let Some(from) = Some((self.my_pe + n - round) % n).filter(is_far) {
                    coming.push_back((round + later, from, wire.receive(from, ONCE, each)?));
                }
                if let Some(to) = Some((self.my_pe + round) % n).filter(is_far) {
                    let mut bytes = wire.buffer(each);
                    blocks.read(group.here(), to, 0..each, &mut bytes);
                    sends.add(wire.send(to, ONCE, bytes)?).await?;
                }
            }
            let is_due = coming.front().is_some_and(|&(due, ..)| due <= round);
            if is_due && let Some((_, from, came)) = coming.pop_front() {
                blocks.write(group.here(), from, 0..each, &came.await?);
            }
        }
        sends.empty().await
    }

    /// Exchanges long blocks in chunks, each round by itself.
    async fn long_between_all(&self, wire: &Wire<'_>, blocks: &PairBlocks<'_>) -> Result<()> {
        let (group, n, each) = (wire.group, self.members.n(), blocks.layout.bytes());
        let is_far = |pe: &usize| self.here.pe_of(*pe).is_none();
        let chunks = || (0..each).step_by(CHUNK).map(|start| start..(start + CHUNK).min(each));
        for round in 1..n {
            let [to, from] = [round, n - round].map(|distance| (self.my_pe + distance) % n);
            let going = chunks().filter(|_| is_far(&to)).map(|part| match blocks.going(to, part.clone()) {
                Some(span) => Going::Lies(span),
                None => {
                    let mut bytes = wire.buffer(part.len());
                    blocks.read(group.here(), to, part, &mut bytes);
                    Going::Is(bytes)
                }
            });
            let coming = chunks().filter(|_| is_far(&from)).map(|part| {
                let target = match blocks.coming(from, part.clone()) {
                    Some(span) => Target::There(span),
                    None => Target::Apart(part.len()),
                };
                (part, target)
            });
            let take = |part, came: Option<Buffer>| {
                if let Some(bytes) = came {
                    blocks.write(group.here(), from, part, &bytes);
                }
                None
            };
            relay(wire, [to, from], going, coming, take).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_blocks_with_strides_cover_every_element_once() {
        let whole = Span::for_test(10_000);
        for (layout, stride) in [
            (Layout { count: 7, size: 4, dst: 3, sst: 1 }, 3),
            (Layout { count: 7, size: 4, dst: 3, sst: 1 }, 1),
            (Layout { count: 1, size: 100, dst: 1, sst: 1 }, 1),
        ] {
            for step in [1, 3, 16, 1000] {
                for pe in 0..3 {
                    let bytes = layout.bytes();
                    let parts = (0..bytes).step_by(step).map(|start| start..(start + step).min(bytes));
                    let covered = parts.flat_map(|part| layout.pieces(whole, stride, pe, part));
                    let covered = covered.flat_map(|piece| piece.offset()..piece.offset() + piece.len());
                    let elements = (0..layout.count).map(|i| (pe * layout.count + i) * stride * layout.size);
                    assert!(covered.eq(elements.flat_map(|at| at..at + layout.size)));
                }
            }
        }
    }
}
