//! Collects: the PEs of a host write their blocks to each other's destinations, and the leaders
//! pass the blocks of their hosts to each other: what is short in log₂ k rounds, what is long
//! around a ring. Then their hosts copy from them.

use std::ops::Range;

use oxshmem_base::Result;
use smallvec::{SmallVec, smallvec};

use super::{
    hand_out, read,
    wire::{CHUNK, Going, Target, Wire, relay, wrong_length},
};
use crate::{
    algorithm::{
        called::{Called, Lengths},
        chunks::broadcast_here,
        direct,
        lengths::{self, CARRIED},
    },
    group::Group,
    memory::span::Span,
    message::{Wide, buffer::Buffer, call_check::CARGO},
    tuning::{Gather, rounds},
};

impl Wide {
    /// All PEs' `source`, which are equally long.
    pub(crate) fn fcollect(&self, group: &Group, call: &Called) -> impl Future<Output = Result<()>> {
        let len = call.source.len();
        let starts = (0..=self.members.n()).map(|pe| pe * len).collect();
        self.gather(group, call, starts)
    }

    /// All PEs' `source`. What a host gives goes with the lengths of it if it is short, and if that
    /// is so of all hosts, nothing more is sent.
    pub(crate) async fn collect(&self, group: &Group, call: &Called) -> Result<()> {
        let carried = match group.choices.collect_between(self.n_hosts(), 0) {
            Gather::Bruck => (CARGO / self.n_hosts()).min(CARRIED),
            Gather::Ring => 0,
        };
        let Given { lengths, blocks: given } = Box::pin(self.exchange_lengths(group, call, carried)).await?;
        let dest = call.dest.part(0..call.check_room(group, &lengths)?);
        let call = &Called { dest, ..*call };
        let mut starts = vec![0];
        for len in lengths.iter().map(|&[len, _]| len as usize) {
            starts.push(starts[starts.len() - 1] + len);
        }
        let blocks = NodeBlocks { wide: self, starts: &starts, dest };
        if (0..self.n_hosts()).any(|node| blocks.len(node) > carried) {
            return Box::pin(self.gather(group, call, starts)).await;
        }
        for (node, bytes) in given.iter().enumerate() {
            blocks.write(group, node, 0..blocks.len(node), self.given(node, bytes));
        }
        if dest.is_empty() {
            // Each has a message of all.
            return Ok(());
        }
        hand_out(group, call).await
    }

    /// Gives all PEs of the team the [lengths](Lengths) of each of them, and the leaders what hosts
    /// give that give up to `carried` bytes.
    async fn exchange_lengths(&self, group: &Group, call: &Called, carried: usize) -> Result<Given> {
        let wire = self.wire(group);
        let (here, mine) = lengths::lengths(group, call, carried).await?;
        if group.me() > 0 {
            let all = broadcast_here(group, None, 0).await?;
            return Ok(Given { lengths: lengths_in(&all).collect(), blocks: Vec::new() });
        }
        let head = bytemuck::cast_slice(&here);
        let mut block = self.pool.buffer(head.len() + mine.as_ref().map_or(0, Vec::len));
        let (to, given) = block.split_at_mut(head.len());
        to.copy_from_slice(head);
        given.copy_from_slice(&mine.unwrap_or_default());
        let head = |node: usize| self.nodes.of(node).n() * LENGTHS;
        let sizes = Sizes {
            of: |node: usize| head(node)..head(node) + carried + 1,
            first: |node: usize, bytes: &[u8]| {
                let lengths = lengths_in(bytes.get(..head(node))?).map(|[len, _]| len as usize);
                let total = lengths.fold(0, usize::saturating_add);
                Some(head(node) + if total <= carried { total } else { 0 })
            },
        };
        let blocks = bruck_of(&wire, block, sizes, |node| self.leader(node)).await?;
        let mut all: Vec<Lengths> = vec![[0; 2]; self.members.n()];
        for (pes, block) in self.nodes.iter().zip(&blocks) {
            for (pe, lengths) in pes.iter().zip(lengths_in(block)) {
                all[pe] = lengths;
            }
        }
        if group.n() > 1 {
            broadcast_here(group, Some(bytemuck::cast_slice(&all).to_vec()), 0).await?;
        }
        Ok(Given { lengths: all, blocks })
    }

    /// What a host gives, behind its lengths.
    fn given<'a>(&self, node: usize, block: &'a [u8]) -> &'a [u8] {
        &block[self.nodes.of(node).n() * LENGTHS..]
    }

    /// PE i's `source` comes to `dest` of all PEs, from `starts[i]` to `starts[i + 1]`.
    async fn gather(&self, group: &Group, call: &Called, starts: Vec<usize>) -> Result<()> {
        let Called { signature, source, dest, .. } = *call;
        if dest.is_empty() {
            return self.sync_for(group, signature).await;
        }
        let wire = self.wire(group);
        let start = starts[self.my_pe];
        // A PE that is alone on its host has its block to itself until it is sent.
        let alone = (group.n() == 1).then_some(source);
        if alone.is_none() {
            Box::pin(direct::collect(group, call, start)).await?;
        }
        if group.me() == 0 {
            let blocks = NodeBlocks { wide: self, starts: &starts, dest };
            match group.choices.collect_between(self.n_hosts(), dest.len()) {
                Gather::Bruck => {
                    let mine = match alone {
                        Some(source) => read(&wire, source),
                        None => blocks.read(group, self.node, 0..blocks.len(self.node)),
                    };
                    let all = bruck(&wire, mine, |node| blocks.len(node), |node| self.leader(node));
                    for (node, bytes) in Box::pin(all).await?.iter().enumerate() {
                        if alone.is_some() || node != self.node {
                            blocks.write(group, node, 0..bytes.len(), bytes);
                        }
                    }
                }
                Gather::Ring => Box::pin(ring(&wire, &blocks, alone)).await?,
            }
        }
        hand_out(group, call).await
    }
}

/// What the hosts give, where it belongs in the destination of the leader.
struct NodeBlocks<'a> {
    wide: &'a Wide,
    starts: &'a [usize],
    dest: Span,
}

impl NodeBlocks<'_> {
    /// Bytes of all PEs of a host.
    fn len(&self, node: usize) -> usize {
        match self.of_one(node) {
            Some(block) => block.len(),
            None => self.wide.nodes.of(node).iter().map(|pe| self.starts[pe + 1] - self.starts[pe]).sum(),
        }
    }

    /// Where the block of a host with one PE belongs, if that is known to be so.
    fn of_one(&self, node: usize) -> Option<Range<usize>> {
        let pe = (self.wide.most == 1).then(|| self.wide.leader(node))?;
        Some(self.starts[pe]..self.starts[pe + 1])
    }

    /// Where a part of what a host gives belongs.
    fn places(&self, node: usize, part: Range<usize>) -> SmallVec<[Span; 2]> {
        if let Some(block) = self.of_one(node) {
            return smallvec![self.dest.part(block.start + part.start..block.start + part.end)];
        }
        let pes = self.wide.nodes.of(node);
        if self.wide.is_block(node) {
            let start = self.starts[pes.world_pe(0)];
            return smallvec![self.dest.part(start + part.start..start + part.end)];
        }
        let (mut places, mut before) = (SmallVec::new(), 0);
        for pe in pes.iter() {
            let block = self.starts[pe]..self.starts[pe + 1];
            let from = part.start.clamp(before, before + block.len()) - before;
            let to = part.end.clamp(before, before + block.len()) - before;
            if from < to {
                places.push(self.dest.part(block.start + from..block.start + to));
            }
            before += block.len();
        }
        places
    }

    fn read(&self, group: &Group, node: usize, part: Range<usize>) -> Buffer {
        let mut bytes = self.wide.pool.buffer(part.len());
        let mut rest = &mut bytes[..];
        for place in self.places(node, part) {
            let (to, behind) = rest.split_at_mut(place.len());
            group.memory.read(place, to);
            rest = behind;
        }
        bytes
    }

    fn write(&self, group: &Group, node: usize, part: Range<usize>, bytes: &[u8]) {
        let mut rest = bytes;
        for place in self.places(node, part) {
            let (from, behind) = rest.split_at(place.len());
            group.memory.write(place, from);
            rest = behind;
        }
    }
}

/// What PEs have sent each other.
struct Given {
    /// The lengths of every PE of the team, in its order.
    lengths: Vec<Lengths>,
    /// The lengths of every host, in its order, and what it gives, if that is little. For leaders
    /// only.
    blocks: Vec<Buffer>,
}

/// Bytes of the lengths of a PE.
const LENGTHS: usize = size_of::<Lengths>();

/// The lengths of PEs, in bytes that may not be aligned.
fn lengths_in(bytes: &[u8]) -> impl Iterator<Item = Lengths> {
    bytes.as_chunks::<LENGTHS>().0.iter().map(|lengths| bytemuck::pod_read_unaligned(lengths))
}

/// How long the blocks of hosts are.
struct Sizes<F, G> {
    /// As much as is known of a host's before it comes.
    of: F,
    /// Bytes of a host's where it begins what has come, if that makes sense.
    first: G,
}

/// The blocks of all hosts, in their order, in log₂ k rounds. In each a host's PE, which `pe`
/// names, passes on all that it has, of which the others know by `len` how much it is.
pub(super) fn bruck(
    wire: &Wire<'_>,
    mine: Buffer,
    len: impl Fn(usize) -> usize + Copy,
    pe: impl Fn(usize) -> usize,
) -> impl Future<Output = Result<Vec<Buffer>>> {
    let of = move |node| len(node)..len(node) + 1;
    bruck_of(wire, mine, Sizes { of, first: move |node, _: &[u8]| Some(len(node)) }, pe)
}

/// [`bruck`] where the others do not know the lengths before.
async fn bruck_of(
    wire: &Wire<'_>,
    mine: Buffer,
    sizes: Sizes<impl Fn(usize) -> Range<usize>, impl Fn(usize, &[u8]) -> Option<usize>>,
    pe: impl Fn(usize) -> usize,
) -> Result<Vec<Buffer>> {
    let (me, k) = (wire.wide.node, wire.wide.n_hosts());
    // Beginning with this host's, and then of those before it: so what goes first goes with the
    // call check.
    let mut blocks = vec![mine];
    for round in 0..rounds(k) {
        let have = blocks.len();
        let count = have.min(k - have);
        let mut packed = wire.buffer(blocks[..count].iter().map(|block| block.len()).sum());
        let mut rest = &mut packed[..];
        for block in &blocks[..count] {
            let (to, behind) = rest.split_at_mut(block.len());
            to.copy_from_slice(block);
            rest = behind;
        }
        let nodes = || (have..have + count).map(|before| (me + k - before) % k);
        let (to, from) = (pe((me + have) % k), pe((me + k - have) % k));
        let (mut least, mut most) = (0, 0);
        for Range { start, end } in nodes().map(&sizes.of) {
            (least, most) = (least + start, most + end - 1);
        }
        let came = wire.exchange([to, from], packed, least..most + 1, round.into()).await?;
        let mut rest = &came[..];
        for node in nodes() {
            let block = (sizes.first)(node, rest).and_then(|len| rest.split_at_checked(len));
            let (block, behind) = block.ok_or_else(|| wrong_length(from))?;
            blocks.push(wire.copy_of(block));
            rest = behind;
        }
    }
    blocks.reverse();
    blocks.rotate_right((me + 1) % k);
    Ok(blocks)
}

/// Passes the blocks of the hosts around a ring, in chunks. A leader that is `alone` copies its own
/// block as it sends it.
async fn ring(wire: &Wire<'_>, blocks: &NodeBlocks<'_>, alone: Option<Span>) -> Result<()> {
    let (group, me, k) = (wire.group, wire.wide.node, wire.wide.n_hosts());
    let chunks = |node: usize| {
        let len = blocks.len(node);
        (0..len).step_by(CHUNK).map(move |start| (node, start..(start + CHUNK).min(len)))
    };
    let going = |(node, part): (usize, Range<usize>)| match blocks.places(node, part.clone())[..] {
        [span] => Going::Lies(span),
        _ => Going::Is(blocks.read(group, node, part)),
    };
    let target = |node: usize, part: &Range<usize>| match blocks.places(node, part.clone())[..] {
        [span] => Target::There(span),
        _ => Target::Apart(part.len()),
    };
    let take = |(node, part): (usize, Range<usize>), came: Option<Buffer>| {
        if let Some(bytes) = &came {
            blocks.write(group, node, part.clone(), bytes);
        }
        // The right neighbour's own block ends there.
        (node != (me + 1) % k).then(|| came.map_or_else(|| going((node, part)), Going::Is))
    };
    let neighbours = [1, k - 1].map(|distance| wire.wide.leader((me + distance) % k));
    let coming = (1..k).flat_map(|step| chunks((me + k - step) % k));
    let coming = coming.map(|(node, part)| ((node, part.clone()), target(node, &part)));
    let own = chunks(me).map(|(node, part)| {
        if let Some(source) = alone {
            for place in blocks.places(node, part.clone()) {
                group.memory.copy_here(place, source.part(part.clone()));
            }
        }
        going((node, part))
    });
    relay(wire, neighbours, own, coming, take).await
}
