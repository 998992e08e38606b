//! Large collectives among PEs that can load and store each other's memory.
//!
//! Where PEs read each other's source they meet before, so that it is there, and sync after, so
//! that it may be changed again. Destinations are ready before any PE calls
//! (`OpenSHMEM 1.6 §9.10`), so that blocks that only their owner knows are written straight to
//! where they belong, and one exchange ends it.

use std::{
    future::poll_fn,
    ops::Range,
    task::{Poll, Waker},
};

use oxshmem_base::Result;
use smallvec::SmallVec;

use crate::{
    algorithm::{
        called::{Called, chunk},
        exchange::{Buffers, Exchange, combine_bytes},
        share::Share,
        sync::Sync,
        tree_broadcast::TreeBroadcast,
    },
    check::NumberWait,
    group::{Flag, Group},
    memory::{scratch::BROADCAST_BULK, span::Span},
    operation::Operation,
    reduction::Kernel,
    signature::Signature,
};

/// One collective under way.
#[derive(Debug)]
pub(crate) struct Direct {
    call: Called,
    /// How the copies of a broadcast are shared out, if they are.
    share: Option<Share>,
    step: DirectStep,
}

#[derive(Debug)]
enum DirectStep {
    Called,
    /// Waiting for the root to say that its source is there.
    RootReady(TreeBroadcast),
    /// Waiting for all PEs, before or after the work.
    Meet(Exchange),
    /// The root waits until the others have copied what they took.
    Taken(NumberWait, u64),
    /// One of them, until the root has.
    Given(NumberWait, u64),
    /// Waiting until all have done their work.
    Sync(Sync),
    Done,
}

impl Direct {
    pub(crate) fn new(call: Called) -> Self {
        Self { call, share: None, step: DirectStep::Called }
    }

    /// Puts a new one in the place of one that is over: nothing is moved that is not used.
    #[inline(always)]
    pub(crate) fn renew(&mut self, call: Called) {
        (self.call, self.share, self.step) = (call, None, DirectStep::Called);
    }

    /// What was called.
    pub(crate) fn signature(&self) -> Signature {
        self.call.signature
    }

    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    pub(crate) fn poll(
        &mut self,
        group: &Group,
        buffers: &mut Buffers,
        waker: &dyn Fn() -> Waker,
    ) -> Poll<Result<()>> {
        loop {
            let came = match &mut self.step {
                DirectStep::Done => return Poll::Ready(Ok(())),
                DirectStep::Called => Poll::Ready(Ok(())),
                DirectStep::RootReady(message) => message.poll(group, waker),
                DirectStep::Meet(exchange) => exchange.poll(group, buffers, waker),
                DirectStep::Taken(wait, taken) => wait.poll(group, Flag::Taken.place(), *taken, waker),
                DirectStep::Given(wait, given) => wait.poll(group, Flag::Given.place(), *given, waker),
                DirectStep::Sync(sync) => sync.poll(group, waker),
            };
            match came {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(came) => came?,
            }
            self.next(group, buffers)?;
        }
    }

    /// Goes on to what follows the step that has just ended.
    #[inline]
    fn next(&mut self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        match (&self.step, self.call.operation) {
            (DirectStep::Called, Operation::Broadcast { root, .. }) => {
                self.step = self.begin_broadcast(group, root);
            }
            (DirectStep::Called, _) => {
                self.hand_out(group);
                // In place, as it is large.
                self.step = DirectStep::Meet(Exchange::meet(group, self.call.signature));
            }
            (DirectStep::Meet(_), Operation::Reduce(kernel)) => {
                self.reduce(group, kernel);
                self.step = DirectStep::Sync(Sync::default());
            }
            (DirectStep::Meet(_), Operation::Scan { kernel, inclusive }) => {
                self.scan(group, kernel, inclusive, buffers);
                self.step = DirectStep::Sync(Sync::default());
            }
            (_, Operation::Broadcast { .. }) => self.step = self.go_on_broadcasting(group),
            _ => self.step = DirectStep::Done,
        }
        Ok(())
    }

    #[inline(never)]
    fn begin_broadcast(&mut self, group: &Group, root: usize) -> DirectStep {
        self.share = Share::new(group, self.call.source.len());
        if let Some(share) = self.share.filter(|_| group.me() == root) {
            share.begin(group);
        }
        DirectStep::RootReady(TreeBroadcast::root_ready(group, self.call.signature, root))
    }

    /// What follows in a broadcast.
    #[inline(never)]
    fn go_on_broadcasting(&self, group: &Group) -> DirectStep {
        let (DirectStep::RootReady(_), Operation::Broadcast { root, to_root }) =
            (&self.step, self.call.operation)
        else {
            return DirectStep::Done;
        };
        let is_root = group.me() == root;
        match self.share {
            Some(share) if is_root => {
                if to_root {
                    group.memory.copy_here(self.call.dest, self.call.source);
                }
                self.help(group, share)
            }
            Some(share) => self.serve(group, share, root),
            None => {
                if to_root || !is_root {
                    group.memory.copy(self.call.dest, group.here(), self.call.source, group.block(root));
                }
                DirectStep::Sync(Sync::default())
            }
        }
    }

    /// The root copies what the others have not taken yet, for each in turn, if their destinations
    /// are ready: on several hosts what was done before may still be at work on them.
    fn help(&self, group: &Group, share: Share) -> DirectStep {
        let me = group.me();
        let mut given = 0;
        let helped = if group.wide().is_none() { group.n() } else { 1 };
        for distance in 1..helped {
            let pe = (me + distance) % group.n();
            let taken = |units| group.add(Flag::Given, units, pe);
            given += share.copy(group, [me, pe], [self.call.source, self.call.dest], taken);
        }
        let others = group.n() as u64 - 1;
        let taken = group.state.shares.taken.add(share.units() * others - given);
        DirectStep::Taken(NumberWait::default(), taken)
    }

    /// Another copies what comes to itself.
    fn serve(&self, group: &Group, share: Share, root: usize) -> DirectStep {
        let taken = share.copy(group, [root, group.me()], [self.call.source, self.call.dest], |_| {});
        if taken > 0 {
            group.add(Flag::Taken, taken, root);
        }
        let given = group.state.shares.given.add(share.units() - taken);
        DirectStep::Given(NumberWait::default(), given)
    }

    /// Combines this PE's chunk, and hands it to all PEs; on several hosts to the first alone,
    /// which goes on with it. What the others have in their destinations is unspecified then.
    fn reduce(&self, group: &Group, kernel: &'static Kernel) {
        let to_first = if group.wide().is_none() { group.n() } else { 1 };
        let all: SmallVec<[usize; 16]> = group.blocks().collect();
        let here = group.here();
        self.blocks(group, group.choices.block(), |block| {
            let (from, to) = (self.call.source.part(block.clone()), self.call.dest.part(block));
            // In place, this overwrites this PE's part of the sources after it has been read,
            // element by element.
            group.memory.fold(kernel, to, from, &all);
            for pe in group.others().filter(|&pe| pe < to_first) {
                group.memory.copy(to, group.block(pe), to, here);
            }
        });
    }

    /// Computes this PE's chunk of all PEs' sums.
    fn scan(&self, group: &Group, kernel: &'static Kernel, inclusive: bool, buffers: &mut Buffers) {
        // In place, an exclusive scan writes where it has yet to read.
        let is_fused = kernel.fused().is_some() && (inclusive || !self.call.dest.overlaps(self.call.source));
        // Private memory is a page for each buffer.
        let step = if is_fused { group.choices.block() } else { BROADCAST_BULK };
        self.blocks(group, step, |block| {
            let spans = [self.call.source.part(block.clone()), self.call.dest.part(block)];
            match is_fused {
                true => scan_in_destinations(group, kernel, inclusive, spans),
                false => scan_in_private(group, kernel, inclusive, spans, buffers),
            }
        });
    }

    /// Calls `work` with what to do at a time of this PE's chunk.
    #[inline(always)]
    fn blocks(&self, group: &Group, step: usize, mut work: impl FnMut(Range<usize>)) {
        let chunk = chunk(self.call.source.len(), group.me(), group.n());
        let blocks = (chunk.start..chunk.end).step_by(step);
        blocks.for_each(|start| work(start..(start + step).min(chunk.end)));
    }

    /// Writes what others get of this PE's source to where it belongs.
    fn hand_out(&self, group: &Group) {
        let (me, here) = (group.me(), group.here());
        // Each PE begins with the next one, so that they do not all write to the same.
        let pes = || group.others().chain([me]);
        let Called { operation, size, source, dest, .. } = self.call;
        let collect = |start: usize| {
            let to = dest.part(start..start + source.len());
            pes().for_each(|pe| group.memory.copy(to, group.block(pe), source, here));
        };
        match operation {
            Operation::Fcollect => collect(me * source.len()),
            Operation::Collect { start } => collect(start),
            Operation::Alltoall => {
                let block = self.call.given();
                let range = |pe: usize| pe * block..(pe + 1) * block;
                let to = dest.part(range(me));
                pes().for_each(|pe| group.memory.copy(to, group.block(pe), source.part(range(pe)), here));
            }
            Operation::Alltoalls { dst, sst, nelems } => {
                let Some(last) = nelems.checked_sub(1) else { return };
                let part = |span: Span, pe: usize, step: usize| {
                    let first = pe * nelems * step;
                    span.part(first..first + last * step + size)
                };
                let steps = [dst * size, sst * size];
                for pe in pes() {
                    let spans = [part(dest, me, steps[0]), part(source, pe, steps[1])];
                    group.memory.copy_strided(spans, [group.block(pe), here], steps, size);
                }
            }
            Operation::Meet | Operation::Broadcast { .. } | Operation::Reduce(_) | Operation::Scan { .. } => {
            }
        }
    }
}

/// Sums where they belong: that of each PE from that of the one before, where it still is in the
/// innermost cache.
fn scan_in_destinations(group: &Group, kernel: &Kernel, inclusive: bool, [from, to]: [Span; 2]) {
    match inclusive {
        true => group.memory.copy(to, group.block(0), from, group.block(0)),
        false => group.memory.clear_of(to, group.block(0)),
    }
    for pe in 1..group.n() {
        let (before, here) = (group.block(pe - 1), group.block(pe));
        match (inclusive, pe) {
            (true, _) => group.memory.combine_of(kernel, (to, here), [(to, before), (from, here)]),
            (false, 1) => group.memory.copy(to, here, from, before),
            (false, _) => group.memory.combine_of(kernel, (to, here), [(to, before), (from, before)]),
        }
    }
}

/// Sums by way of private memory, for what cannot be computed in place.
fn scan_in_private(
    group: &Group,
    kernel: &'static Kernel,
    inclusive: bool,
    [from, to]: [Span; 2],
    buffers: &mut Buffers,
) {
    let [total, next] = buffers.get(from.len());
    total.fill(0);
    for pe in 0..group.n() {
        let at = group.block(pe);
        // Before the destination is written: it may be the source.
        group.memory.read_from(from, at, next);
        if !inclusive {
            group.memory.write_to(to, at, total);
        }
        if pe == 0 {
            total.copy_from_slice(next);
        } else {
            combine_bytes(kernel, total, next);
        }
        if inclusive {
            group.memory.write_to(to, at, total);
        }
    }
}

/// All of a collective, inside of a task.
pub(crate) async fn run(group: &Group, call: Called) -> Result<()> {
    let (mut direct, mut buffers) = (Direct::new(call), Buffers::default());
    poll_fn(|cx| direct.poll(group, &mut buffers, &|| cx.waker().clone())).await
}
