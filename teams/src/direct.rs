//! Large collectives among PEs that can load and store each other's memory.
//!
//! Where PEs read each other's source they meet before, so that it is there, and sync after, so that it may be
//! changed again. Destinations are ready before any PE calls (`OpenSHMEM 1.6 §9.10`), so that blocks that only
//! their owner knows are written straight to where they belong, and one meeting ends it.

use std::{
    future::poll_fn,
    ops::Range,
    task::{Poll, Waker},
};

use oxshmem_base::{Error, Result};
use smallvec::SmallVec;

use crate::{
    exchange::{Buffers, Exchange, combine_bytes},
    group::{Flag, Group, NumberWait},
    notice::Notice,
    parts::{Parts, Waiting},
    processors::Set,
    reduction::Kernel,
    scratch::GENERAL,
    share::{Halves, Share},
    signature::Signature,
    span::{Span, pieces},
    stream::{Stream, ToRoot},
    sweep::Sweep,
    sync::{Sync, sync_here},
};

/// Where in the general scratch memory the length of a block is.
const LENGTH_AT: usize = 16 << 10;
/// Where the block itself is, if it is short.
const BLOCK_AT: usize = LENGTH_AT + ALIGN;
/// Bytes of blocks that may come with their lengths.
pub(crate) const CARRIED: usize = 8 << 10;
const _: () = assert!(size_of::<Said>() <= ALIGN && BLOCK_AT + CARRIED <= GENERAL);
/// Bytes that are combined at a time: small enough for the innermost cache.
const BLOCK: usize = 4 << 10;
/// What is gone through [upwards](Sweep) even on the way back, so that processors fetch ahead: in blocks, and in scans.
const STRETCH: usize = 16 << 10;
const LONG_STRETCH: usize = 32 << 10;
/// Bytes of an all-to-all that are copied at a time, if they are to stay in caches.
const DEALT: usize = 256 << 10;
/// What chunks of PEs are aligned to, so that two PEs do not write the same cache line.
const ALIGN: usize = 64;

/// What is to be done in the memory of the PEs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Everybody copies from the root. Its own destination may be left as it is. It helps if the destinations are ready
    /// before their PEs come to this.
    Broadcast { root: usize, to_root: ToRoot, are_ready: bool },
    /// Each PE combines its chunk of all sources, and writes it to all destinations.
    Reduce(&'static Kernel),
    /// The same, to the destination of the first PE. What others have in theirs is then unspecified.
    ReduceToFirst(&'static Kernel),
    /// Each PE computes its chunk of everybody's sums, and writes it to them.
    Scan { kernel: &'static Kernel, inclusive: bool },
    /// Everybody writes its block to everybody, `start` bytes behind the beginning.
    Collect { start: usize },
    /// Everybody writes each block to its PE.
    Alltoall,
    /// The same with strides, of elements of `size` bytes.
    Alltoalls { size: usize, dst: usize, sst: usize },
}

/// One that was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) work: Work,
    pub(crate) signature: Signature,
    pub(crate) source: Span,
    pub(crate) dest: Span,
}

/// One collective under way.
#[derive(Debug)]
pub(crate) struct Direct {
    call: Called,
    share: Shared,
    sweep: Sweep,
    step: Step,
}

/// How the copies of a broadcast are shared out, if they are.
#[derive(Clone, Copy, Debug)]
enum Shared {
    No,
    Out(Share),
    Halves(Halves),
}

#[derive(Debug)]
enum Step {
    Called,
    /// Waiting for the root's notice that its source is there.
    Notice(Stream),
    /// The same of one that is given in parts.
    NoticeOfParts(Notice, Parts),
    /// Waiting for everybody, before or after the work.
    Meet(Exchange),
    /// The root waits until the others have copied what they took.
    Taken(NumberWait, u64),
    /// One of them, until the root has.
    Given(NumberWait, u64),
    /// One of two waits until the other has copied its half.
    Half(NumberWait, Flag, u64),
    /// Waiting until all have done their work.
    Sync(Sync),
    /// Waiting until all of it is done, by whomever.
    Parts(Waiting),
    Done,
}

impl Called {
    /// A `collect` of which PEs have `said` so much, and for which `dest` has room.
    pub(crate) fn collect(
        group: &Group,
        signature: Signature,
        source: Span,
        dest: Span,
        said: &[Said],
    ) -> Self {
        let start = total_of(&said[..group.me()]);
        // Those who give it all memory that there is, as C programs do, mean so much of it.
        let dest = dest.part(0..total_of(said));
        Self { work: Work::Collect { start }, signature, source, dest }
    }

    /// All of it, inside of a task.
    pub(crate) async fn run(self, group: &Group) -> Result<()> {
        let (mut direct, mut buffers) = (Direct::new(self), Buffers::default());
        poll_fn(|cx| direct.poll(group, &mut buffers, || cx.waker().clone())).await
    }
}

impl Direct {
    pub(crate) fn new(call: Called) -> Self {
        Self { call, share: Shared::No, sweep: Sweep::Up, step: Step::Called }
    }

    /// The same in the place of one that is over: nothing is moved that is not used.
    #[inline(always)]
    pub(crate) fn renew(&mut self, call: Called) {
        (self.call, self.share, self.step) = (call, Shared::No, Step::Called);
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
        waker: impl Fn() -> Waker,
    ) -> Poll<Result<()>> {
        loop {
            let came = match &mut self.step {
                Step::Done => return Poll::Ready(Ok(())),
                Step::Called => Poll::Ready(Ok(())),
                Step::Notice(notice) => notice.poll(group, &waker),
                Step::NoticeOfParts(notice, _) => notice.poll(group, &waker),
                Step::Meet(meeting) => meeting.poll(group, buffers, &waker),
                Step::Taken(wait, taken) => wait.poll(group, Flag::Taken.place(), *taken, &waker),
                Step::Given(wait, given) => wait.poll(group, Flag::Given.place(), *given, &waker),
                Step::Half(wait, flag, number) => wait.poll(group, flag.place(), *number, &waker),
                Step::Sync(sync) => sync.poll(group, &waker),
                Step::Parts(waiting) => waiting.poll(group, &waker),
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
        match (&self.step, self.call.work) {
            (Step::Called, Work::Broadcast { root, are_ready, .. }) => {
                self.sweep = group.next_sweep();
                self.step = self.begin_broadcast(group, root, are_ready);
            }
            (Step::Called, work) => {
                self.sweep = group.next_sweep();
                if !matches!(work, Work::Reduce(_) | Work::ReduceToFirst(_) | Work::Scan { .. }) {
                    self.hand_out(group);
                }
                // In place, as it is large.
                self.step = Step::Meet(Exchange::meeting(group, self.call.signature));
            }
            (Step::Meet(_), Work::Reduce(kernel)) => {
                self.step = self.in_parts(group, |pe| self.reduce(group, kernel, pe, group.n()))?;
            }
            (Step::Meet(_), Work::ReduceToFirst(kernel)) => {
                self.step = self.in_parts(group, |pe| self.reduce(group, kernel, pe, 1))?;
            }
            (Step::Meet(_), Work::Scan { kernel, inclusive }) => {
                self.step = self.in_parts(group, |pe| self.scan(group, kernel, inclusive, pe, buffers))?;
            }
            (_, Work::Broadcast { .. }) => self.step = self.go_on_broadcasting(group)?,
            _ => self.step = Step::Done,
        }
        Ok(())
    }

    #[inline(never)]
    fn begin_broadcast(&mut self, group: &Group, root: usize, are_ready: bool) -> Step {
        match parts(group, are_ready) {
            Some(parts) => Step::NoticeOfParts(Notice::new(self.call.signature, root), parts),
            None => {
                self.share = self.share_out(group, root, are_ready);
                Step::Notice(Stream::notice(group, self.call.signature, root))
            }
        }
    }

    /// What follows in a broadcast.
    #[inline(never)]
    fn go_on_broadcasting(&self, group: &Group) -> Result<Step> {
        Ok(match (&self.step, self.call.work) {
            (&Step::NoticeOfParts(_, parts), Work::Broadcast { root, to_root, .. }) => {
                self.give_parts(group, parts, root, to_root)?
            }
            (Step::Notice(_), Work::Broadcast { root, to_root, are_ready }) => match self.share {
                Shared::Halves(halves) => {
                    let (flag, number) = halves.copy(group);
                    if to_root && group.me() == root {
                        group.memory.copy(self.call.dest, group.here(), self.call.source, group.here());
                    }
                    let has_come = || group.has_come(flag.place(), number);
                    match group.pe().executor().spin_until(has_come) || halves.take_over(group) {
                        true => Step::Done,
                        false => Step::Half(NumberWait::default(), flag, number),
                    }
                }
                Shared::Out(share) if group.me() == root => {
                    if to_root {
                        group.memory.copy(self.call.dest, group.here(), self.call.source, group.here());
                    }
                    self.help(group, share, are_ready)
                }
                Shared::Out(share) => self.serve(group, share, root),
                Shared::No => {
                    if to_root || group.me() != root {
                        group.memory.copy(self.call.dest, group.here(), self.call.source, group.block(root));
                    }
                    Step::Sync(Sync::default())
                }
            },
            _ => Step::Done,
        })
    }

    /// How a broadcast is shared out, which its root begins: in halves only if it may write to the other's destination.
    fn share_out(&self, group: &Group, root: usize, may_halve: bool) -> Shared {
        let spans = [self.call.source, self.call.dest];
        if let Some(halves) = may_halve.then(|| Halves::new(group, root, spans)).flatten() {
            return Shared::Halves(halves);
        }
        match Share::new(group, self.call.source.len()) {
            Some(share) => {
                if group.me() == root {
                    share.begin(group);
                }
                Shared::Out(share)
            }
            None => Shared::No,
        }
    }

    /// Copies what comes to the PEs of this processor, as far as nobody else does. Then the root does not wait for processors on which nobody
    /// has come.
    fn give_parts(&self, group: &Group, parts: Parts, root: usize, to_root: bool) -> Result<Step> {
        let give = |pes: Set| {
            for piece in pieces(self.call.source.len(), false, self.sweep) {
                let (from, to) = (self.call.source.part(piece.clone()), self.call.dest.part(piece));
                let blocks = pes.filter(|&pe| to_root || pe != root).map(|pe| group.block(pe));
                group.memory.copy_to(to, blocks, from, group.block(root));
            }
        };
        let Some(waiting) = parts.work(group, give)? else { return Ok(Step::Done) };
        let is_root = group.me() == root;
        // If another PE begins the next one, others of this processor had better come to that meanwhile.
        let is_over = match is_root && group.processors.next_is_another(group) {
            true => waiting.give_way(group),
            false => waiting.hold(group, self.call.source.len()),
        };
        if !is_root || is_over {
            return Ok(Step::Parts(waiting));
        }
        Ok(parts.take_over(group, give)?.map_or(Step::Done, Step::Parts))
    }

    /// The root copies what the others have not taken yet: for each in turn, as whoever has come is at it too. Or it leaves
    /// everything to them.
    fn help(&self, group: &Group, share: Share, are_ready: bool) -> Step {
        let me = group.me();
        let mut given = 0;
        let helped = if are_ready && self.call.source.len() < group.choices.unhelped { group.n() } else { 1 };
        for distance in 1..helped {
            let pe = (me + distance) % group.n();
            let tell = |units| group.add(Flag::Given, units, pe);
            given += share.copy(group, me, pe, [self.call.source, self.call.dest], tell);
        }
        let others = group.n() as u64 - 1;
        let taken = group.expect_taken(share.units() * others - given);
        Step::Taken(NumberWait::default(), taken)
    }

    /// Another copies what comes to itself.
    fn serve(&self, group: &Group, share: Share, root: usize) -> Step {
        let taken = share.copy(group, root, group.me(), [self.call.source, self.call.dest], |_| {});
        if taken > 0 {
            group.add(Flag::Taken, taken, root);
        }
        let given = group.expect_given(share.units() - taken);
        Step::Given(NumberWait::default(), given)
    }

    /// Does the work of this PE's chunk, and, where PEs share processors, of chunks whose PEs have to wait for theirs.
    fn in_parts(&self, group: &Group, mut work: impl FnMut(usize)) -> Result<Step> {
        match Parts::next(group) {
            Some(parts) => Ok(parts
                .work(group, |pes| self.sweep.through(pes).for_each(&mut work))?
                .map_or(Step::Done, Step::Parts)),
            None => {
                work(group.me());
                Ok(Step::Sync(Sync::default()))
            }
        }
    }

    /// Combines PE `chunk_of`'s chunk, and hands it to the first so many PEs.
    fn reduce(&self, group: &Group, kernel: &'static Kernel, chunk_of: usize, to_first: usize) {
        let all: SmallVec<[usize; 16]> = group.blocks.iter().collect();
        let here = group.here();
        self.blocks(group, chunk_of, [STRETCH, BLOCK], |block| {
            let (from, to) = (self.call.source.part(block.clone()), self.call.dest.part(block));
            // In place, this overwrites this PE's part of the sources after it has been read, element by element.
            group.memory.fold(kernel, to, from, &all);
            for pe in group.others().filter(|&pe| pe < to_first) {
                group.memory.copy(to, group.block(pe), to, here);
            }
        });
    }

    /// Computes PE `chunk_of`'s chunk of everybody's sums.
    fn scan(
        &self,
        group: &Group,
        kernel: &'static Kernel,
        inclusive: bool,
        chunk_of: usize,
        buffers: &mut Buffers,
    ) {
        // In place, an exclusive scan writes where it has yet to read.
        let is_fused = kernel.fused().is_some() && (inclusive || !self.call.dest.overlaps(self.call.source));
        self.blocks(group, chunk_of, [LONG_STRETCH, BLOCK], |block| {
            let spans = [self.call.source.part(block.clone()), self.call.dest.part(block)];
            match is_fused {
                true => scan_in_destinations(group, kernel, inclusive, spans),
                false => scan_in_private(group, kernel, inclusive, spans, buffers),
            }
        });
    }

    /// Calls `work` with what to do at a time of PE `chunk_of`'s chunk.
    #[inline(always)]
    fn blocks(
        &self,
        group: &Group,
        chunk_of: usize,
        [stretch, block]: [usize; 2],
        mut work: impl FnMut(Range<usize>),
    ) {
        let chunk = chunk(self.call.source.len(), chunk_of, group.n());
        for stretch in self.sweep.pieces(chunk, stretch) {
            Sweep::Up.pieces(stretch, block).for_each(&mut work);
        }
    }

    /// Writes what others get of this PE's source to where it belongs.
    fn hand_out(&self, group: &Group) {
        let (me, n, here) = (group.me(), group.n(), group.here());
        // Each PE begins with itself, so that they do not all write to the same one.
        let pes = || (0..n).map(|distance| (me + distance) % n);
        match self.call.work {
            Work::Collect { start } => {
                let to = self.call.dest.part(start..start + self.call.source.len());
                for piece in pieces(self.call.source.len(), false, self.sweep) {
                    let (from, to) = (self.call.source.part(piece.clone()), to.part(piece));
                    group.memory.copy_to(to, pes().map(|pe| group.block(pe)), from, here);
                }
            }
            Work::Alltoall => {
                let block = self.call.source.len() / n;
                let range = |pe: usize| pe * block..(pe + 1) * block;
                let to = self.call.dest.part(range(me));
                for pe in self.sweep.over(n).map(|distance| (me + distance) % n) {
                    let from = self.call.source.part(range(pe));
                    for piece in self.sweep.pieces(0..block, DEALT) {
                        group.memory.copy(to.part(piece.clone()), group.block(pe), from.part(piece), here);
                    }
                }
            }
            Work::Alltoalls { size, dst, sst } => {
                let elements = self.call.signature.len();
                let Some(last) = elements.checked_sub(1) else { return };
                let part = |span: Span, pe: usize, step: usize| {
                    let first = pe * elements * step;
                    span.part(first..first + last * step + size)
                };
                let steps = [dst * size, sst * size];
                for pe in pes() {
                    let spans = [part(self.call.dest, me, steps[0]), part(self.call.source, pe, steps[1])];
                    group.memory.copy_strided(spans, [group.block(pe), here], steps, size);
                }
            }
            Work::Broadcast { .. } | Work::Reduce(_) | Work::ReduceToFirst(_) | Work::Scan { .. } => {}
        }
    }
}

/// Sums where they belong: that of each PE from that of the one before, where it still is in the innermost cache.
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

/// The same by way of private memory, for what cannot be computed in place.
fn scan_in_private(
    group: &Group,
    kernel: &'static Kernel,
    inclusive: bool,
    [from, to]: [Span; 2],
    buffers: &mut Buffers,
) {
    let [total, next, ..] = buffers.get(from.len());
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

/// The parts of a broadcast, if it is given in parts: only if all destinations are ready, as some PEs then write those of others.
fn parts(group: &Group, are_ready: bool) -> Option<Parts> {
    are_ready.then(|| Parts::next(group)).flatten()
}

/// Waits for every PE to come here, and compares what they call.
pub(crate) async fn meet(group: &Group, signature: Signature) -> Result<()> {
    let mut meeting = Exchange::meeting(group, signature);
    let mut buffers = Buffers::default();
    poll_fn(|cx| meeting.poll(group, &mut buffers, || cx.waker().clone())).await
}

/// What a PE says of its `collect`: how many bytes it gives, and for how many it has room.
pub(crate) type Said = [u64; 2];

/// How many bytes these give together: the greatest number if it is more than that, as others have said it.
fn total_of(said: &[Said]) -> usize {
    said.iter().fold(0, |sum, &[len, _]| sum.saturating_add(len as usize))
}

/// How many bytes the PEs of a team, which have `said` so much, collect.
///
/// # Errors
/// One of them has no room for them: its own error on that one, and on the others, who have found nothing wrong, that it was that one.
pub(crate) fn check_room(
    group: &Group,
    signature: Signature,
    dest: Span,
    size: usize,
    said: &[Said],
) -> Result<usize> {
    let total = total_of(said);
    if total > dest.len() {
        return Err(too_short(signature, total, dest, size));
    }
    match said.iter().position(|&[_, room]| (room as usize) < total) {
        Some(pe) => Err(group.differ_from(pe, Signature::refused(signature.name()), signature)),
        None => Ok(total),
    }
}

/// The error of a `collect` of `total` bytes for which `dest` is too short.
#[cold]
pub(crate) fn too_short(signature: Signature, total: usize, dest: Span, size: usize) -> Error {
    let (source_len, dest_len) = (total / size.max(1), dest.len() / size.max(1));
    Error::LengthMismatch { call: signature.name(), source_len, dest_len }
}

/// The bytes of `len` that are PE `pe`'s part, of `n`: whole elements, as `ALIGN` is a multiple of all sizes.
pub(crate) fn chunk(len: usize, pe: usize, n: usize) -> Range<usize> {
    let each = len.div_ceil(n).next_multiple_of(ALIGN);
    (pe * each).min(len)..((pe + 1) * each).min(len)
}

/// What everybody says of its `collect`, where there are too many PEs for an exchange of that, and, on the first PE, everybody's source,
/// one behind the other, if these have no more than `carried` bytes together. Each PE leaves its own in its general scratch memory, where
/// others read it before they meet again.
pub(crate) async fn lengths(
    group: &Group,
    signature: Signature,
    [source, dest]: [Span; 2],
    carried: usize,
) -> Result<(Vec<Said>, Option<Vec<u8>>)> {
    debug_assert!(carried <= CARRIED);
    let words = group.general(LENGTH_AT, size_of::<Said>());
    let block = |len: usize| group.general(BLOCK_AT, len);
    group.memory.write(words, bytemuck::bytes_of(&[source.len() as u64, dest.len() as u64]));
    if source.len() <= carried {
        group.memory.copy_here(block(source.len()), source);
    }
    meet(group, signature).await?;
    let said = (0..group.n()).map(|pe| {
        let mut said: Said = [0; 2];
        group.memory.read_from(words, group.block(pe), bytemuck::bytes_of_mut(&mut said));
        said
    });
    let said: Vec<Said> = said.collect();
    let total = total_of(&said);
    let blocks = (group.me() == 0 && total <= carried).then(|| {
        let mut blocks = vec![0; total];
        let mut rest = &mut blocks[..];
        for (pe, &[len, _]) in said.iter().enumerate() {
            let (to, behind) = rest.split_at_mut(len as usize);
            group.memory.read_from(block(len as usize), group.block(pe), to);
            rest = behind;
        }
        blocks
    });
    // Nobody writes the next ones before all have read these.
    sync_here(group).await?;
    Ok((said, blocks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Sweep;

    #[test]
    fn chunks_and_blocks_cover_everything_once_in_whole_elements() {
        for len in [0, 1, 63, 64, 65, 4096, 70_001, 70_000 * 16] {
            for n in 1..20 {
                let chunks: Vec<_> = (0..n).map(|pe| chunk(len, pe, n)).collect();
                assert!(chunks[0].start == 0 && chunks[n - 1].end == len);
                assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(chunks.iter().all(|chunk| chunk.start % ALIGN == 0 || chunk.start == len));
                let covered: usize = chunks
                    .into_iter()
                    .flat_map(|chunk| Sweep::Down.pieces(chunk, BLOCK))
                    .map(|block| block.len())
                    .sum();
                assert_eq!(covered, len);
            }
        }
    }
}
