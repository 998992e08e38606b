//! Teams with members on several hosts.
//!
//! On each host the first member, in the order of the team, is the *leader*. The members of a host
//! do among themselves what they would do if they were the team; leaders exchange [messages](wire),
//! and then release their host. So a host sends and receives what it must once, not once a PE.
//!
//! Every such collective is a task in the queue of its team, [guarded] while it runs: each leader
//! [sends the next one](call_check), around the ring of hosts, the signature of its call, and no
//! leader ends before it has compared, but some broadcasts. So where PEs of two hosts call
//! different things, two neighbours in the ring find it, whatever else they wait for. Messages
//! carry a digest of the call in their tags, so that none is taken for one of another call
//! meanwhile. A PE that finds a difference, between hosts or within one, [records it](crate::check)
//! in the scratch memory of all PEs.

mod alltoall;
mod broadcast;
mod call_check;
mod collect;
mod reduce;
mod scan;
pub mod sync;
mod wire;

use std::{future::poll_fn, ops::Range, pin::Pin, sync::atomic::Ordering, task::Poll};

use oxshmem_base::Result;
use oxshmem_ops::{Cmp, wait::WordWatch};

pub(crate) use self::{reduce::doubling, wire::Wire};
use crate::{
    algorithm::{
        called::Called,
        direct::broadcast,
        exchange::meet,
        tree_broadcast::{ToRoot, TreeBroadcast},
    },
    group::{Flag, Group, POISON},
    memory::{scratch::BROADCAST_BULK, span::Span},
    message::{Wide, buffer::Buffer, kept::Kept},
    signature::Signature,
};

/// By how much the numbers of the first exchanges of two collectives differ. They may have more.
const EXCHANGES: u64 = 16;

impl Wide {
    /// The host of a PE of the team.
    fn node_of(&self, group: &Group, pe: usize) -> usize {
        let host = group.pe().placement().hosts.host_of(self.members.world_pe(pe));
        self.nodes.on_host(host)
    }

    /// For the next exchange of messages. All PEs of the team begin the same ones in the same
    /// order, those without messages too.
    pub(crate) fn wire<'a>(&'a self, group: &'a Group) -> Wire<'a> {
        // One collective runs at a time.
        let number = self.exchanges.load(Ordering::Relaxed) + 1;
        self.exchanges.store(number, Ordering::Relaxed);
        Wire::new(group, self, number, self.digest.load(Ordering::Relaxed))
    }

    /// Begins a collective. If this is a leader, its call check for the next one is due, and that
    /// of the one before is on its way.
    fn begin(&self, group: &Group, signature: Signature) {
        let number = self.collectives.load(Ordering::Relaxed) + 1;
        self.collectives.store(number, Ordering::Relaxed);
        // So that all give them the same numbers even after a call that failed on some PEs only.
        self.exchanges.store(number * EXCHANGES, Ordering::Relaxed);
        self.digest.store(signature.digest(), Ordering::Relaxed);
        if group.me() == 0 {
            let k = self.n_hosts();
            let neighbours = [k - 1, 1].map(|distance| self.leader((self.node + distance) % k));
            self.call_check.begin(neighbours, signature);
        }
    }

    /// Compares what this leader and the one before were called for.
    fn compare(&self, group: &Group, signature: Signature, theirs: Signature) -> Result<()> {
        if theirs.agrees(signature) {
            return Ok(());
        }
        let k = self.n_hosts();
        Err(group.differ(self.leader((self.node + k - 1) % k), theirs, signature))
    }
}

/// Runs the part of a collective that is this PE's, on a team with members on several hosts: see
/// the [module](self). It [checks](Group::check) by itself whether it may begin.
pub(crate) async fn guarded<T>(
    group: &Group,
    signature: Signature,
    collective: Pin<Box<impl Future<Output = Result<T>> + Send + 'static>>,
) -> Result<T> {
    let Some(wide) = group.wide() else { return collective.await };
    let word = group.word(Flag::Broken.place());
    if word.load() >= POISON {
        // It comes to that by itself; what it has to do all the same, it does.
        drop(group.poisoned());
        wide.call_check.clear();
        return collective.await;
    }
    wide.begin(group, signature);
    let mut collective = Kept { task: Some(collective), loans: &wide.loans };
    let mut outcome = None;
    let mut broken = WordWatch::new(group.pe());
    let ended = poll_fn(|cx| {
        wide.call_check.asks();
        if outcome.is_none()
            && let Some(task) = &mut collective.task
            && let Poll::Ready(ended) = task.as_mut().poll(cx)
        {
            outcome = Some(ended);
        }
        // What it could send has gone with that.
        wide.call_check.send(group, wide, outcome.is_some())?;
        while let Poll::Ready(Some([mine, theirs])) = wide.call_check.poll_pair(group, wide, cx)? {
            wide.compare(group, mine, theirs)?;
        }
        if let Some(Err(error)) = outcome.take_if(|outcome| outcome.is_err()) {
            return Poll::Ready(Err(error));
        }
        if outcome.is_some()
            && wide.call_check.may_end()
            && let Some(outcome) = outcome.take()
        {
            return Poll::Ready(outcome);
        }
        match broken.wait.watch(word, Cmp::Ge, 1, cx.waker()) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(seen) => Poll::Ready(seen.and_then(|_| Err(group.poisoned()))),
        }
    });
    ended.await
}

/// Bytes that are on the network while others are copied from and to a device.
const COPIED: usize = 2 << 20;

/// What leaders combine or pass on at a time, of `len` bytes: all of it in host memory, and in
/// device memory pieces, also on hosts where these are copied at once.
pub(crate) fn pieces(signature: Signature, len: usize) -> impl Iterator<Item = Range<usize>> {
    let each = if signature.is_on_device() { COPIED } else { len.max(1) };
    (0..len).step_by(each).map(move |start| start..(start + each).min(len))
}

/// Both, at the same time.
pub(crate) async fn both(
    mut a: Pin<&mut impl Future<Output = Result<()>>>,
    mut b: Pin<&mut impl Future<Output = Result<()>>>,
) -> Result<()> {
    let mut left = [true; 2];
    poll_fn(|cx| {
        if left[0]
            && let Poll::Ready(ended) = a.as_mut().poll(cx)
        {
            left[0] = false;
            ended?;
        }
        if left[1]
            && let Poll::Ready(ended) = b.as_mut().poll(cx)
        {
            left[1] = false;
            ended?;
        }
        if left == [false; 2] { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

/// Gives what is in `source` on PE `root` of this host to the `dest` of all its PEs, or of all
/// others.
async fn spread(
    group: &Group,
    call: &Called,
    root: usize,
    [source, dest]: [Span; 2],
    to_root: ToRoot,
) -> Result<()> {
    if group.n() == 1 {
        if to_root {
            group.memory.copy_here(dest, source);
        }
        return Ok(());
    }
    if source.len() > BROADCAST_BULK {
        let call = Called { source, dest, ..*call };
        return Box::pin(async move { broadcast(group, &call, root, to_root).await }).await;
    }
    let dest = if to_root || group.me() != root { dest } else { source };
    // Apart, so that a PE that is alone here does not carry it along.
    Box::pin(TreeBroadcast::new(call.signature, root, [source, dest]).run(group)).await
}

/// Gives what the leader has in its destination to all PEs of this host.
fn hand_out<'a>(group: &'a Group, call: &'a Called) -> impl Future<Output = Result<()>> {
    spread(group, call, 0, [call.dest; 2], true)
}

/// Waits until all PEs of this host have come.
async fn gathered(group: &Group, signature: Signature) -> Result<()> {
    if group.n() == 1 { Ok(()) } else { Box::pin(meet(group, signature)).await }
}

/// Lets the PEs of this host go on, as the leader has done its part.
async fn release(group: &Group, signature: Signature) -> Result<()> {
    if group.n() == 1 {
        return Ok(());
    }
    Box::pin(TreeBroadcast::root_ready(group, signature, 0).run(group)).await
}

/// A copy of bytes of this PE.
fn read(wire: &Wire<'_>, span: Span) -> Buffer {
    let mut bytes = wire.buffer(span.len());
    wire.group.memory.read(span, &mut bytes);
    bytes
}
