//! Reductions: the PEs of a host combine what they have in the destination of their leader, the
//! leaders combine that, and spread it on their hosts. What is short goes by recursive doubling,
//! what is longer by halving and doubling, what is long around a ring, in parts. Every element is
//! combined in one order only, so that all PEs get the same bits.

use std::ops::Range;

use oxshmem_base::Result;

use super::{
    hand_out, pieces,
    wire::{CHUNK, Delivery, EXTRA, Going, PIECE, RESULT, Target, Wire, relay},
};
use crate::{
    algorithm::{
        called::{Called, chunk},
        direct,
        exchange::{Exchange, exchange},
    },
    group::Group,
    memory::span::{Side, Span},
    message::{Wide, buffer::Buffer},
    reduction::Kernel,
    tuning::{CHUNKS_IN_RING, Fold},
};

impl Wide {
    pub(crate) async fn reduce(&self, group: &Group, call: &Called, kernel: &'static Kernel) -> Result<()> {
        let Called { signature, dest, .. } = *call;
        if dest.is_empty() {
            return self.sync_for(group, signature).await;
        }
        let wire = self.wire(group);
        let mine = reduce_here(group, call, kernel).await?;
        if group.me() == 0 {
            for piece in pieces(signature, dest.len()) {
                let spans = [mine, dest].map(|span| span.part(piece.clone()));
                self.reduce_between(&wire, kernel, spans).await?;
            }
        }
        hand_out(group, call).await
    }

    /// The leaders' part: what each of them has in `mine` is combined, and comes to the `dest` of
    /// each.
    pub(crate) async fn reduce_between(
        &self,
        wire: &Wire<'_>,
        kernel: &'static Kernel,
        [mine, dest]: [Span; 2],
    ) -> Result<()> {
        let spans = |range: Range<usize>| [mine, dest].map(|span| span.part(range.clone()));
        match wire.group.choices.reduce_between(self.n_hosts(), dest.len()) {
            Fold::Doubling => Box::pin(in_rounds(wire, kernel, [mine, dest], false)).await?,
            Fold::Halving => {
                for start in (0..dest.len()).step_by(PIECE) {
                    let piece = spans(start..(start + PIECE).min(dest.len()));
                    Box::pin(in_rounds(wire, kernel, piece, true)).await?;
                }
            }
            Fold::Ring => {
                // Some at a time, since what comes is kept until this leader's own has gone.
                let step = CHUNKS_IN_RING * CHUNK * self.n_hosts();
                for start in (0..dest.len()).step_by(step) {
                    let part = spans(start..(start + step).min(dest.len()));
                    Box::pin(ring(wire, kernel, part)).await?;
                }
            }
        }
        Ok(())
    }
}

/// Combines the sources of this host's PEs, in the destination of the first. What the others have
/// in theirs is unspecified. Where it is then: a PE that is alone on its host has it in its source,
/// from which it need not be copied.
async fn reduce_here(group: &Group, call: &Called, kernel: &'static Kernel) -> Result<Span> {
    if group.n() == 1 {
        return Ok(call.source);
    }
    match group.choices.in_slots(call.operation, call.given()) {
        true => Box::pin(exchange(group, Exchange::new(group, *call))).await?,
        false => Box::pin(direct::reduce(group, call, kernel)).await?,
    }
    Ok(call.dest)
}

/// Recursive doubling between the leaders: log₂ k rounds, in each of which one merges what it has
/// with what another has, in the order of their hosts. All get the same.
pub(crate) async fn doubling(
    wire: &Wire<'_>,
    mut mine: Buffer,
    merge: impl Fn(&mut Buffer, &Buffer),
) -> Result<Buffer> {
    let (pairs, len) = (Pairing::new(wire), mine.len());
    match pairs.folded(wire) {
        Some(Folded::Over(with)) => {
            wire.send(with, EXTRA, mine)?.await?;
            return wire.receive(with, RESULT, len)?.await;
        }
        Some(Folded::Into(with)) => merge(&mut mine, &wire.receive(with, EXTRA, len)?.await?),
        None => {}
    }
    for round in 0..pairs.rounds {
        let other = pairs.with(wire, round);
        let mut came = wire.exchange([other; 2], mine.clone(), len..len + 1, round.into()).await?;
        if pairs.is_first(round) {
            merge(&mut mine, &came);
        } else {
            merge(&mut came, &mine);
            mine = came;
        }
    }
    if let Some(Folded::Into(with)) = pairs.folded(wire) {
        wire.send(with, RESULT, mine.clone())?.await?;
    }
    Ok(mine)
}

/// Reduction of what the leaders have to `dest` by recursive doubling, where that lies. For what is
/// longer by halves: in each of log₂ k rounds leaders give each other the half of what they still
/// combine that the other is to go on with, and in as many more what has come of it. So every byte
/// travels twice, however many hosts there are.
async fn in_rounds(
    wire: &Wire<'_>,
    kernel: &Kernel,
    [mut mine, dest]: [Span; 2],
    by_halves: bool,
) -> Result<()> {
    let (pairs, memory) = (Pairing::new(wire), &wire.group.memory);
    match pairs.folded(wire) {
        Some(Folded::Over(with)) => {
            wire.send_from(with, EXTRA, mine)?.await?;
            return take(wire, wire.receive_to(with, RESULT, dest)?, dest).await;
        }
        Some(Folded::Into(with)) => {
            let came = wire.receive(with, EXTRA, dest.len())?.await?;
            memory.combine(kernel, Side::Behind, &came, [mine, dest]);
            mine = dest;
        }
        None => {}
    }
    let side = |round| if pairs.is_first(round) { Side::Behind } else { Side::Before };
    if by_halves {
        // What this leader goes on with, where that is and where it comes, and where comes what it
        // has given away in each round.
        let (mut keeps, mut given) = (dest, Vec::new());
        for round in (0..pairs.rounds).rev() {
            let (keep, give) = if pairs.is_first(round) { (0, 1) } else { (1, 0) };
            let [has, comes] = [mine, keeps].map(halves);
            let came = swap(wire, pairs.with(wire, round), has[give], has[keep].len(), round.into()).await?;
            memory.combine(kernel, side(round), &came, [has[keep], comes[keep]]);
            given.push(comes[give]);
            (keeps, mine) = (comes[keep], comes[keep]);
        }
        for (round, give) in (0..pairs.rounds).zip(given.into_iter().rev()) {
            let (other, step) = (pairs.with(wire, round), u64::from(pairs.rounds + round));
            let coming = if give.is_empty() { None } else { Some(wire.receive_to(other, step, give)?) };
            if !keeps.is_empty() {
                wire.send_from(other, step, keeps)?.await?;
            }
            if let Some(coming) = coming {
                take(wire, coming, give).await?;
            }
            keeps = keeps.with(give);
        }
    } else {
        for round in 0..pairs.rounds {
            let came = swap(wire, pairs.with(wire, round), mine, dest.len(), round.into()).await?;
            memory.combine(kernel, side(round), &came, [mine, dest]);
            mine = dest;
        }
    }
    match pairs.folded(wire) {
        Some(Folded::Into(with)) => wire.send_from(with, RESULT, dest)?.await,
        _ => Ok(()),
    }
}

/// Waits for what comes to a place.
async fn take(wire: &Wire<'_>, coming: Delivery<'_>, to: Span) -> Result<()> {
    if let Some(bytes) = coming.await? {
        wire.group.memory.write(to, &bytes);
    }
    Ok(())
}

/// Gives a leader some bytes and gets `len` of it. What is empty is not sent.
async fn swap(wire: &Wire<'_>, pe: usize, give: Span, len: usize, step: u64) -> Result<Buffer> {
    let coming = if len > 0 { Some(wire.receive(pe, step, len)?) } else { None };
    let going = if give.is_empty() { None } else { Some(wire.send_from(pe, step, give)?) };
    let came = match coming {
        Some(coming) => coming.await?,
        None => Buffer::zeros(0),
    };
    if let Some(going) = going {
        going.await?;
    }
    Ok(came)
}

/// Both halves of bytes that begin at a cache line, of which the first is the longer one.
fn halves(span: Span) -> [Span; 2] {
    let middle = chunk(span.len(), 0, 2).end;
    [span.part(0..middle), span.part(middle..span.len())]
}

/// Leaders in pairs, in rounds: all of them, if they are a power of two. Otherwise the first ones
/// are paired before, so that one of two takes part for both.
struct Pairing {
    me: usize,
    /// How many of these first pairs there are.
    folded: usize,
    rounds: u32,
}

/// One of the first pairs, with the number of the other PE.
enum Folded {
    /// The other one takes part for both.
    Over(usize),
    /// This one does.
    Into(usize),
}

impl Pairing {
    fn new(wire: &Wire<'_>) -> Self {
        let k = wire.wide.n_hosts();
        let rounds = k.ilog2();
        Self { me: wire.wide.node, folded: k - (1 << rounds), rounds }
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

    /// Which of the first pairs this leader is in, if there are any.
    fn folded(&self, wire: &Wire<'_>) -> Option<Folded> {
        (self.me < 2 * self.folded).then(|| match self.me % 2 {
            0 => Folded::Into(wire.wide.leader(self.me + 1)),
            _ => Folded::Over(wire.wide.leader(self.me - 1)),
        })
    }
}

/// Reduction of what the leaders have to `dest` by a ring: parts go around once to be combined, and
/// once to be handed out, in chunks.
async fn ring(wire: &Wire<'_>, kernel: &Kernel, [mine, dest]: [Span; 2]) -> Result<()> {
    let (memory, me, k) = (&wire.group.memory, wire.wide.node, wire.wide.n_hosts());
    let chunks = |index: usize| {
        let part = chunk(dest.len(), index % k, k);
        part.clone().step_by(CHUNK).map(move |start| start..(start + CHUNK).min(part.end))
    };
    // What comes in the last of the first k - 1 rounds is complete with this host's: it began at
    // the right neighbour.
    let coming = (1..2 * k - 1).flat_map(|round| chunks(me + 2 * k - round).map(move |part| (round, part)));
    let coming = coming.map(|(round, part)| match round < k {
        true => ((round, part.clone()), Target::Apart(part.len())),
        false => ((round, part.clone()), Target::There(dest.part(part))),
    });
    let take = |(round, part): (usize, Range<usize>), came: Option<Buffer>| {
        let [mine, dest] = [mine, dest].map(|span| span.part(part.clone()));
        match came {
            Some(mut came) if round + 1 < k => {
                memory.combine_to(kernel, &mut came, mine);
                return Some(Going::Is(came));
            }
            Some(came) if round < k => memory.combine(kernel, Side::Before, &came, [mine, dest]),
            Some(came) => memory.write(dest, &came),
            None => {}
        }
        (round + 2 < 2 * k).then_some(Going::Lies(dest))
    };
    let neighbours = [1, k - 1].map(|distance| wire.wide.leader((me + distance) % k));
    let own = chunks(me).map(|part| Going::Lies(mine.part(part)));
    relay(wire, neighbours, own, coming, take).await
}
