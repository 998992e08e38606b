//! Reductions: the PEs of a host combine what they have in the destination of their leader, the leaders combine that, and
//! tell their hosts. What is short goes by recursive doubling, what is long around a ring, in parts. Every element
//! is combined in one order only, so that all PEs get the same bits.

use oxshmem_runtime::Result;

use super::{
    Wide, read, spread,
    wire::{Buffer, CHUNK, EXTRA, FLOW, RESULT, Wire},
};
use crate::{
    choice::{Plan, Relay},
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
                Relay::Rounds => {
                    let merge = |a: &mut Buffer, b: &Buffer| combine_bytes(kernel, a, b);
                    let all = doubling(&wire, read(group, dest), merge).await?;
                    group.memory.write(dest, &all);
                }
                Relay::Ring => {
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
    mut mine: Buffer,
    merge: impl Fn(&mut Buffer, &Buffer),
) -> Result<Buffer> {
    let (me, k, len) = (wire.wide.party, wire.wide.n_hosts(), mine.len());
    let leader = |party: usize| wire.wide.leader(party);
    // The first ones in pairs, so that a power of two is left.
    let pairs = k - (1 << k.ilog2());
    if me < 2 * pairs {
        if me % 2 == 1 {
            wire.send(leader(me - 1), EXTRA, mine)?.await?;
            return wire.receive(leader(me - 1), RESULT, len)?.await;
        }
        merge(&mut mine, &wire.receive(leader(me + 1), EXTRA, len)?.await?);
    }
    let place = if me < 2 * pairs { me / 2 } else { me - pairs };
    for round in 0..k.ilog2() {
        let other = place ^ 1 << round;
        let pe = leader(if other < pairs { 2 * other } else { other + pairs });
        let mut came = wire.exchange(pe, mine.clone(), pe, len, round.into()).await?;
        if other < place {
            merge(&mut came, &mine);
            mine = came;
        } else {
            merge(&mut mine, &came);
        }
    }
    if me < 2 * pairs {
        wire.send(leader(me + 1), RESULT, mine.clone())?.await?;
    }
    Ok(mine)
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
