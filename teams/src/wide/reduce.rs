//! Reductions: the PEs of a host combine what they have in the destination of their leader, the leaders combine that, and
//! tell their hosts. What is short goes by recursive doubling, what is longer by halving and doubling, what is long around a ring,
//! in parts. Every element is combined in one order only, so that all PEs get the same bits.

use std::ops::Range;

use oxshmem_runtime::Result;

use super::{
    Wide, read, spread,
    wire::{Buffer, CHUNK, EXTRA, FLOW, PIECE, RESULT, Wire},
};
use crate::{
    choice::{Fold, Plan},
    direct::{Direct, Work, chunk},
    exchange::{Deal, combine_bytes, in_parts},
    group::Group,
    reduction::Kernel,
    signature::Signature,
    span::Span,
};

impl Wide {
    pub(crate) async fn reduce(
        &self,
        group: &Group,
        signature: Signature,
        kernel: &'static Kernel,
        [source, dest]: [Span; 2],
    ) -> Result<()> {
        if dest.is_empty() {
            return self.sync_for(group, signature).await;
        }
        let wire = self.wire(group);
        reduce_here(group, signature, kernel, [source, dest]).await?;
        if group.me() == 0 {
            match group.choices.reduce_across(dest.len(), self.n_hosts()) {
                Fold::Doubling => {
                    let merge = |a: &mut Buffer, b: &Buffer| combine_bytes(kernel, a, b);
                    let all = doubling(&wire, read(group, dest), merge).await?;
                    group.memory.write(dest, &all);
                }
                Fold::Halving => {
                    let merge = |a: &mut Buffer, b: &Buffer| combine_bytes(kernel, a, b);
                    for start in (0..dest.len()).step_by(PIECE) {
                        let piece = dest.part(start..(start + PIECE).min(dest.len()));
                        let all = halving(&wire, read(group, piece), merge).await?;
                        group.memory.write(piece, &all);
                    }
                }
                Fold::Ring => {
                    // Parts of a ring at a time.
                    let step = CHUNK * self.n_hosts();
                    for start in (0..dest.len()).step_by(step) {
                        let part = dest.part(start..(start + step).min(dest.len()));
                        ring(&wire, kernel, part).await?;
                    }
                }
            }
        }
        spread(group, signature, 0, [dest, dest], true).await
    }
}

/// Combines the sources of this host's PEs in the destination of the first. What the others have in theirs is unspecified.
async fn reduce_here(
    group: &Group,
    signature: Signature,
    kernel: &'static Kernel,
    [source, dest]: [Span; 2],
) -> Result<()> {
    match group.choices.reduce(source.len()) {
        _ if group.n() == 1 => {
            group.memory.copy(dest, group.here(), source, group.here());
            Ok(())
        }
        Plan::Exchange(mode, capacity) => {
            in_parts(group, mode, Deal::Reduce(kernel), signature, [source, dest], capacity).await
        }
        _ => Direct::new(Work::ReduceToFirst(kernel), signature, source, dest).run(group).await,
    }
}

/// Recursive doubling between the leaders: log₂ k rounds, in each of which one merges what it has with what another has,
/// in the order of their hosts. All get the same.
pub(crate) async fn doubling(
    wire: &Wire<'_>,
    mine: Buffer,
    merge: impl Fn(&mut Buffer, &Buffer),
) -> Result<Buffer> {
    let pairs = Pairing::new(wire);
    let mut mine = match pairs.fold(wire, mine, &merge).await? {
        Folded::Over(all) => return Ok(all),
        Folded::In(mine) => mine,
    };
    for round in 0..pairs.rounds {
        let came = {
            let other = pairs.with(wire, round);
            wire.exchange(other, mine.clone(), other, mine.len(), round.into()).await?
        };
        mine = pairs.merged(round, mine, came, &merge);
    }
    pairs.unfold(wire, &mine).await?;
    Ok(mine)
}

/// The same for what is longer: in each of log₂ k rounds leaders give each other the half of what they still combine that the
/// other is to go on with, and in as many more what has come of it. So every byte travels twice, however many hosts there are.
async fn halving(wire: &Wire<'_>, mine: Buffer, merge: impl Fn(&mut Buffer, &Buffer)) -> Result<Buffer> {
    let pairs = Pairing::new(wire);
    let mut mine = match pairs.fold(wire, mine, &merge).await? {
        Folded::Over(all) => return Ok(all),
        Folded::In(mine) => mine,
    };
    // What this leader goes on with, and what it has given away in each round.
    let (mut keeps, mut given) = (0..mine.len(), Vec::new());
    for round in (0..pairs.rounds).rev() {
        let halves = halves(keeps);
        let (keep, give) = if pairs.is_first(round) { (0, 1) } else { (1, 0) };
        let [keep, give] = [keep, give].map(|half| halves[half].clone());
        let came = swap(wire, pairs.with(wire, round), &mine[give.clone()], keep.len(), round).await?;
        let part = pairs.merged(round, Buffer::of(&mine[keep.clone()]), came, &merge);
        mine[keep.clone()].copy_from_slice(&part);
        given.push(give);
        keeps = keep;
    }
    for (round, give) in (0..pairs.rounds).zip(given.into_iter().rev()) {
        let step = pairs.rounds + round;
        let came = swap(wire, pairs.with(wire, round), &mine[keeps.clone()], give.len(), step).await?;
        mine[give.clone()].copy_from_slice(&came);
        keeps = keeps.start.min(give.start)..keeps.end.max(give.end);
    }
    pairs.unfold(wire, &mine).await?;
    Ok(mine)
}

/// Gives a leader some bytes and gets `len` of it. What is empty is not sent.
async fn swap(wire: &Wire<'_>, pe: usize, bytes: &[u8], len: usize, step: u32) -> Result<Buffer> {
    let coming = if len > 0 { Some(wire.receive(pe, step.into(), len)?) } else { None };
    if !bytes.is_empty() {
        wire.send(pe, step.into(), Buffer::of(bytes))?.await?;
    }
    match coming {
        Some(coming) => coming.await,
        None => Ok(Buffer::new(0)),
    }
}

/// Both halves of a range that begins at a cache line, of which the first is the longer one.
fn halves(range: Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + chunk(range.len(), 0, 2).end;
    [range.start..middle, middle..range.end]
}

/// Leaders in pairs, in rounds: all of them, if they are a power of two. Otherwise the first ones are paired before, so that one
/// of two takes part for both.
struct Pairing {
    me: usize,
    /// How many of these first pairs there are.
    folded: usize,
    rounds: u32,
}

/// Whether this leader takes part.
enum Folded {
    In(Buffer),
    /// No: this is what the others have come to.
    Over(Buffer),
}

impl Pairing {
    fn new(wire: &Wire<'_>) -> Self {
        let k = wire.wide.n_hosts();
        let rounds = k.ilog2();
        Self { me: wire.wide.party, folded: k - (1 << rounds), rounds }
    }

    /// Where this leader is among those that take part.
    fn place(&self) -> usize {
        if self.me < 2 * self.folded { self.me / 2 } else { self.me - self.folded }
    }

    /// The other one of a round.
    fn with(&self, wire: &Wire<'_>, round: u32) -> usize {
        let other = self.place() ^ 1 << round;
        wire.wide.leader(if other < self.folded { 2 * other } else { other + self.folded })
    }

    /// Whether this is the first one of its pair in a round.
    fn is_first(&self, round: u32) -> bool {
        self.place() & 1 << round == 0
    }

    /// What a leader of a round and the other have, in the order of their hosts.
    fn merged(
        &self,
        round: u32,
        mut mine: Buffer,
        mut came: Buffer,
        merge: impl Fn(&mut Buffer, &Buffer),
    ) -> Buffer {
        if self.is_first(round) {
            merge(&mut mine, &came);
            mine
        } else {
            merge(&mut came, &mine);
            came
        }
    }

    /// The first pairs come together.
    async fn fold(
        &self,
        wire: &Wire<'_>,
        mut mine: Buffer,
        merge: impl Fn(&mut Buffer, &Buffer),
    ) -> Result<Folded> {
        let (me, len) = (self.me, mine.len());
        if me >= 2 * self.folded {
            return Ok(Folded::In(mine));
        }
        if me % 2 == 1 {
            let before = wire.wide.leader(me - 1);
            wire.send(before, EXTRA, mine)?.await?;
            return Ok(Folded::Over(wire.receive(before, RESULT, len)?.await?));
        }
        merge(&mut mine, &wire.receive(wire.wide.leader(me + 1), EXTRA, len)?.await?);
        Ok(Folded::In(mine))
    }

    /// Who did not take part is told.
    async fn unfold(&self, wire: &Wire<'_>, all: &Buffer) -> Result<()> {
        match self.me < 2 * self.folded {
            true => wire.send(wire.wide.leader(self.me + 1), RESULT, all.clone())?.await,
            false => Ok(()),
        }
    }
}

/// Reduction of the leaders' `dest` by a ring: parts go around once to be combined, and once to be handed out.
async fn ring(wire: &Wire<'_>, kernel: &Kernel, dest: Span) -> Result<()> {
    let (group, me, k) = (wire.group, wire.wide.party, wire.wide.n_hosts());
    let part = |index: usize| dest.part(chunk(dest.len(), index % k, k));
    let (right, left) = (wire.wide.leader((me + 1) % k), wire.wide.leader((me + k - 1) % k));
    let mut has = read(group, part(me));
    for step in 1..k {
        let own = part(me + k - step);
        let mut came = wire.exchange(right, has, left, own.len(), FLOW).await?;
        combine_bytes(kernel, &mut came, &read(group, own));
        has = came;
    }
    // What came last is complete: it began at the right neighbour.
    group.memory.write(part(me + 1), &has);
    for step in 0..k - 1 {
        let to = part(me + k - step);
        has = wire.exchange(right, has, left, to.len(), FLOW).await?;
        group.memory.write(to, &has);
    }
    Ok(())
}
