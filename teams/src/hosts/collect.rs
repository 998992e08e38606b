//! Collects: the PEs of a host write their blocks to each other's destinations, and the leaders
//! pass the blocks of their hosts to each other: what is short in log₂ k rounds, what is long
//! around a ring. Then their hosts copy from them.

use std::ops::Range;

use oxshmem_base::Result;
use smallvec::{SmallVec, smallvec};

use super::{
    read, spread,
    wire::{CHUNK, Going, Place, Wire, relay, wrong_length},
};
use crate::{
    algorithm::{
        chunks::broadcast_here,
        direct,
        lengths::{self, CARRIED},
        room::{Said, check_room},
        work::{Called, Work},
    },
    group::Group,
    memory::span::Span,
    message::{Wide, buffer::Buffer, call_check::CARGO},
    signature::Signature,
    tuning::{Gather, rounds},
};

impl Wide {
    /// All PEs' `source`, which are equally long.
    pub(crate) fn fcollect(
        &self,
        group: &Group,
        signature: Signature,
        [source, dest]: [Span; 2],
    ) -> impl Future<Output = Result<()>> {
        let len = source.len();
        let starts = (0..=self.members.n()).map(|pe| pe * len).collect();
        self.gather(group, signature, [source, dest], starts)
    }

    /// All PEs' `source`, of elements of `size` bytes. What a host gives goes with the lengths
    /// of it if it is short, and if that is so of all hosts, nothing more is to be said.
    pub(crate) async fn collect(
        &self,
        group: &Group,
        signature: Signature,
        [source, dest]: [Span; 2],
        size: usize,
    ) -> Result<()> {
        let carried = match group.choices.collect_between(self.n_hosts(), 0) {
            Gather::Bruck => (CARGO / self.n_hosts()).min(CARRIED),
            Gather::Ring => 0,
        };
        let Given { said, blocks: told } =
            Box::pin(self.tell(group, signature, [source, dest], carried)).await?;
        let dest = dest.part(0..check_room(group, signature, dest, size, &said)?);
        let mut starts = vec![0];
        for len in said.iter().map(|&[len, _]| len as usize) {
            starts.push(starts[starts.len() - 1] + len);
        }
        let blocks = Blocks { wide: self, starts: &starts, dest };
        if (0..self.n_hosts()).any(|party| blocks.len(party) > carried) {
            return Box::pin(self.gather(group, signature, [source, dest], starts)).await;
        }
        for (party, bytes) in told.iter().enumerate() {
            blocks.write(group, party, 0..blocks.len(party), self.given(party, bytes));
        }
        if dest.is_empty() {
            // Each has heard of all.
            return Ok(());
        }
        spread(group, signature, 0, [dest, dest], true).await
    }

    /// Tells all PEs of the team what each of them [says](Said), and the leaders what hosts give
    /// that give up to `carried` bytes.
    async fn tell(
        &self,
        group: &Group,
        signature: Signature,
        spans: [Span; 2],
        carried: usize,
    ) -> Result<Given> {
        let wire = self.wire(group);
        let (here, mine) = lengths::lengths(group, signature, spans, carried).await?;
        if group.me() > 0 {
            let all = broadcast_here(group, None, 0).await?;
            return Ok(Given { said: said_in(&all).collect(), blocks: Vec::new() });
        }
        let head = bytemuck::cast_slice(&here);
        let mut block = self.pool.buffer(head.len() + mine.as_ref().map_or(0, Vec::len));
        let (to, given) = block.split_at_mut(head.len());
        to.copy_from_slice(head);
        given.copy_from_slice(&mine.unwrap_or_default());
        let head = |party: usize| self.parties.of(party).n() * SAID;
        let sizes = Sizes {
            of: |party: usize| head(party)..head(party) + carried + 1,
            first: |party: usize, bytes: &[u8]| {
                let lengths = said_in(bytes.get(..head(party))?).map(|[len, _]| len as usize);
                let total = lengths.fold(0, usize::saturating_add);
                Some(head(party) + if total <= carried { total } else { 0 })
            },
        };
        let blocks = bruck_of(&wire, block, sizes, |party| self.leader(party)).await?;
        let mut all: Vec<Said> = vec![[0; 2]; self.members.n()];
        for (pes, block) in self.parties.iter().zip(&blocks) {
            for (pe, said) in pes.iter().zip(said_in(block)) {
                all[pe] = said;
            }
        }
        if group.n() > 1 {
            broadcast_here(group, Some(bytemuck::cast_slice(&all).to_vec()), 0).await?;
        }
        Ok(Given { said: all, blocks })
    }

    /// What a host gives, behind its lengths.
    fn given<'a>(&self, party: usize, block: &'a [u8]) -> &'a [u8] {
        &block[self.parties.of(party).n() * SAID..]
    }

    /// PE i's `source` comes to `dest` of all PEs, from `starts[i]` to `starts[i + 1]`.
    async fn gather(
        &self,
        group: &Group,
        signature: Signature,
        [source, dest]: [Span; 2],
        starts: Vec<usize>,
    ) -> Result<()> {
        if dest.is_empty() {
            return self.sync_for(group, signature).await;
        }
        let wire = self.wire(group);
        let start = starts[self.my_pe];
        // A PE that is alone on its host has its block to itself until it is sent.
        let alone = (group.n() == 1).then_some(source);
        if alone.is_none() {
            let work = Work::Collect { start };
            Box::pin(direct::run(group, Called { work, signature, source, dest })).await?;
        }
        if group.me() == 0 {
            let blocks = Blocks { wide: self, starts: &starts, dest };
            match group.choices.collect_between(self.n_hosts(), dest.len()) {
                Gather::Bruck => {
                    let mine = match alone {
                        Some(source) => read(&wire, source),
                        None => blocks.read(group, self.party, 0..blocks.len(self.party)),
                    };
                    let all = bruck(&wire, mine, |party| blocks.len(party), |party| self.leader(party));
                    for (party, bytes) in Box::pin(all).await?.iter().enumerate() {
                        if alone.is_some() || party != self.party {
                            blocks.write(group, party, 0..bytes.len(), bytes);
                        }
                    }
                }
                Gather::Ring => Box::pin(ring(&wire, &blocks, alone)).await?,
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
        match self.of_one(party) {
            Some(block) => block.len(),
            None => self.wide.parties.of(party).iter().map(|pe| self.starts[pe + 1] - self.starts[pe]).sum(),
        }
    }

    /// Where the block of a host with one PE belongs, if that is known to be so.
    fn of_one(&self, party: usize) -> Option<Range<usize>> {
        let pe = (self.wide.most == 1).then(|| self.wide.leader(party))?;
        Some(self.starts[pe]..self.starts[pe + 1])
    }

    /// Where a part of what a host gives belongs.
    fn places(&self, party: usize, part: Range<usize>) -> SmallVec<[Span; 2]> {
        if let Some(block) = self.of_one(party) {
            return smallvec![self.dest.part(block.start + part.start..block.start + part.end)];
        }
        let pes = self.wide.parties.of(party);
        if self.wide.is_block(party) {
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

    fn read(&self, group: &Group, party: usize, part: Range<usize>) -> Buffer {
        let mut bytes = self.wide.pool.buffer(part.len());
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

/// What PEs have told each other.
struct Given {
    /// What every PE of the team says, in its order.
    said: Vec<Said>,
    /// Of every host the same, in its order, and what it gives, if that is little. For leaders
    /// only.
    blocks: Vec<Buffer>,
}

/// Bytes of what a PE says.
const SAID: usize = size_of::<Said>();

/// What PEs say, in bytes that may not be aligned.
fn said_in(bytes: &[u8]) -> impl Iterator<Item = Said> {
    bytes.as_chunks::<SAID>().0.iter().map(|said| bytemuck::pod_read_unaligned(said))
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
    let of = move |party| len(party)..len(party) + 1;
    bruck_of(wire, mine, Sizes { of, first: move |party, _: &[u8]| Some(len(party)) }, pe)
}

/// The same where the others do not know that before.
async fn bruck_of(
    wire: &Wire<'_>,
    mine: Buffer,
    sizes: Sizes<impl Fn(usize) -> Range<usize>, impl Fn(usize, &[u8]) -> Option<usize>>,
    pe: impl Fn(usize) -> usize,
) -> Result<Vec<Buffer>> {
    let (me, k) = (wire.wide.party, wire.wide.n_hosts());
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
        let parties = || (have..have + count).map(|before| (me + k - before) % k);
        let (to, from) = (pe((me + have) % k), pe((me + k - have) % k));
        let (mut least, mut most) = (0, 0);
        for Range { start, end } in parties().map(&sizes.of) {
            (least, most) = (least + start, most + end - 1);
        }
        let came = wire.exchange_some(to, packed, from, least..most + 1, round.into()).await?;
        let mut rest = &came[..];
        for party in parties() {
            let block = (sizes.first)(party, rest).and_then(|len| rest.split_at_checked(len));
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
