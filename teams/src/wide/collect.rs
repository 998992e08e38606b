//! Collects: the PEs of a host write their blocks to each other's destinations, and the leaders pass the blocks of their
//! hosts to each other: what is short in log₂ k rounds, what is long around a ring. Then their hosts copy from them.

use std::ops::Range;

use oxshmem_runtime::Result;

use super::{
    Wide, spread,
    wire::{Buffer, CHUNK, Going, Place, Wire, relay},
};
use crate::{
    broadcast::broadcast_here,
    choice::{Relay, rounds},
    direct::{self, Direct, Work},
    group::Group,
    signature::Signature,
    span::Span,
};

impl Wide {
    /// Everybody's `source`, which are equally long.
    pub(crate) async fn fcollect(
        &self,
        group: &Group,
        signature: Signature,
        [source, dest]: [Span; 2],
    ) -> Result<()> {
        let len = source.len();
        let starts: Vec<usize> = (0..=self.members.n()).map(|pe| pe * len).collect();
        self.gather(group, signature, [source, dest], &starts).await
    }

    /// Everybody's `source`, of elements of `size` bytes.
    pub(crate) async fn collect(
        &self,
        group: &Group,
        signature: Signature,
        [source, dest]: [Span; 2],
        size: usize,
    ) -> Result<()> {
        let mut starts = vec![0];
        for len in self.lengths(group, signature, source.len()).await? {
            starts.push(starts[starts.len() - 1] + len);
        }
        let total = starts[starts.len() - 1];
        if total > dest.len() {
            return Err(Direct::too_short(signature, total, dest, size));
        }
        self.gather(group, signature, [source, dest.part(0..total)], &starts).await
    }

    /// What every PE of the team gives, in its order.
    async fn lengths(&self, group: &Group, signature: Signature, len: usize) -> Result<Vec<usize>> {
        let wire = self.wire(group);
        let here = direct::lengths(group, signature, len).await?;
        let mut all = None;
        if group.me() == 0 {
            let words: Vec<u64> = here.into_iter().map(|len| len as u64).collect();
            let each = |party: usize| self.parties.of(party).n() * size_of::<u64>();
            let mine = Buffer::of(bytemuck::cast_slice(&words));
            let blocks = bruck(&wire, mine, each, |party| self.leader(party)).await?;
            let mut lens = vec![0; self.members.n()];
            for (pes, block) in self.parties.iter().zip(&blocks) {
                for (pe, len) in pes.iter().zip(block.chunks_exact(size_of::<u64>())) {
                    lens[pe] = bytemuck::pod_read_unaligned::<u64>(len);
                }
            }
            all = Some(bytemuck::cast_slice(&lens).to_vec());
        }
        let all = broadcast_here(group, all, 0).await?;
        let lens = all.chunks_exact(size_of::<u64>()).map(bytemuck::pod_read_unaligned::<u64>);
        Ok(lens.map(|len| len as usize).collect())
    }

    /// PE i's `source` comes to `dest` of all PEs, from `starts[i]` to `starts[i + 1]`.
    async fn gather(
        &self,
        group: &Group,
        signature: Signature,
        [source, dest]: [Span; 2],
        starts: &[usize],
    ) -> Result<()> {
        if dest.is_empty() {
            return self.sync_for(group, signature).await;
        }
        let wire = self.wire(group);
        let start = starts[self.my_pe];
        // A PE that is alone on its host has its block to itself until it is sent.
        let alone = (group.n() == 1).then_some(source);
        if alone.is_none() {
            Box::pin(Direct::new(Work::Collect { start }, signature, source, dest).run(group)).await?;
        }
        if group.me() == 0 {
            let blocks = Blocks { wide: self, starts, dest };
            match group.choices.collect_across(dest.len(), self.n_hosts()) {
                Relay::Rounds => {
                    if let Some(source) = alone {
                        group.memory.copy_here(dest.part(start..start + source.len()), source);
                    }
                    let mine = blocks.read(group, self.party, 0..blocks.len(self.party));
                    let all =
                        bruck(&wire, mine, |party| blocks.len(party), |party| self.leader(party)).await?;
                    for (party, bytes) in all.iter().enumerate().filter(|&(party, _)| party != self.party) {
                        blocks.write(group, party, 0..bytes.len(), bytes);
                    }
                }
                Relay::Ring => Box::pin(ring(&wire, &blocks, alone)).await?,
            }
        }
        spread(group, signature, 0, [dest, dest], true).await
    }
}

/// What the hosts give, where it belongs in the destination of the leader.
struct Blocks<'a> {
    wide: &'a Wide,
    starts: &'a [usize],
    dest: Span,
}

impl Blocks<'_> {
    /// Bytes of all PEs of a host.
    fn len(&self, party: usize) -> usize {
        self.wide.parties.of(party).iter().map(|pe| self.starts[pe + 1] - self.starts[pe]).sum()
    }

    /// Where a part of what a host gives belongs.
    fn places(&self, party: usize, part: Range<usize>) -> Vec<Span> {
        let pes = self.wide.parties.of(party);
        if self.wide.is_block(party) {
            let start = self.starts[pes.world_pe(0)];
            return vec![self.dest.part(start + part.start..start + part.end)];
        }
        let (mut places, mut before) = (Vec::new(), 0);
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

    fn read(&self, group: &Group, party: usize, part: Range<usize>) -> Buffer {
        let mut bytes = Buffer::any(part.len());
        let mut rest = &mut bytes[..];
        for place in self.places(party, part) {
            let (to, behind) = rest.split_at_mut(place.len());
            group.memory.read(place, to);
            rest = behind;
        }
        bytes
    }

    fn write(&self, group: &Group, party: usize, part: Range<usize>, bytes: &[u8]) {
        let mut rest = bytes;
        for place in self.places(party, part) {
            let (from, behind) = rest.split_at(place.len());
            group.memory.write(place, from);
            rest = behind;
        }
    }
}

/// The blocks of all hosts, in their order, in log₂ k rounds. In each a host's PE, which `pe` names, passes on all that it has, of
/// which the others know by `len` how much it is.
pub(super) async fn bruck(
    wire: &Wire<'_>,
    mine: Buffer,
    len: impl Fn(usize) -> usize,
    pe: impl Fn(usize) -> usize,
) -> Result<Vec<Buffer>> {
    let (me, k) = (wire.wide.party, wire.wide.n_hosts());
    // Beginning with this host's, and then of those before it: so what goes first goes with the hello.
    let mut blocks = vec![mine];
    for round in 0..rounds(k) {
        let have = blocks.len();
        let count = have.min(k - have);
        let mut packed = Buffer::any(blocks[..count].iter().map(|block| block.len()).sum());
        let mut rest = &mut packed[..];
        for block in &blocks[..count] {
            let (to, behind) = rest.split_at_mut(block.len());
            to.copy_from_slice(block);
            rest = behind;
        }
        let lens: Vec<usize> = (have..have + count).map(|before| len((me + k - before) % k)).collect();
        let (to, from) = (pe((me + have) % k), pe((me + k - have) % k));
        let came = wire.exchange(to, packed, from, lens.iter().sum(), round.into()).await?;
        let mut rest = &came[..];
        for len in lens {
            let (block, behind) = rest.split_at(len);
            blocks.push(Buffer::of(block));
            rest = behind;
        }
    }
    blocks.reverse();
    blocks.rotate_right((me + 1) % k);
    Ok(blocks)
}

/// Passes the blocks of the hosts around a ring, in chunks. A leader that is `alone` copies its own block as it sends it.
async fn ring(wire: &Wire<'_>, blocks: &Blocks<'_>, alone: Option<Span>) -> Result<()> {
    let (group, me, k) = (wire.group, wire.wide.party, wire.wide.n_hosts());
    let chunks = |party: usize| {
        let len = blocks.len(party);
        (0..len).step_by(CHUNK).map(move |start| (party, start..(start + CHUNK).min(len)))
    };
    let going = |(party, part): (usize, Range<usize>)| match blocks.places(party, part.clone())[..] {
        [span] => Going::Lies(span),
        _ => Going::Is(blocks.read(group, party, part)),
    };
    let place = |(party, part): &(usize, Range<usize>)| match blocks.places(*party, part.clone())[..] {
        [span] => Place::There(span),
        _ => Place::Apart(part.len()),
    };
    let take = |(party, part): (usize, Range<usize>), came: Option<Buffer>| {
        if let Some(bytes) = &came {
            blocks.write(group, party, part.clone(), bytes);
        }
        // The right neighbour's own block ends there.
        (party != (me + 1) % k).then(|| came.map_or_else(|| going((party, part)), Going::Is))
    };
    let neighbours = [1, k - 1].map(|distance| wire.wide.leader((me + distance) % k));
    let coming = (1..k).flat_map(|step| chunks((me + k - step) % k));
    let own = chunks(me).map(|(party, part)| {
        if let Some(source) = alone {
            for place in blocks.places(party, part.clone()) {
                group.memory.copy_here(place, source.part(part.clone()));
            }
        }
        going((party, part))
    });
    relay(wire, neighbours, own, coming, place, take).await
}
