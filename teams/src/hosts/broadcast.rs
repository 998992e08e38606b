//! Broadcast: the root itself stands for its host, leaders for the others. What is short goes down
//! a binomial tree of them, what is longer in parts, one for each down that tree and then all of
//! them to all, what is long down a chain: in chunks, each of which goes on when it has come.

use std::{collections::VecDeque, ops::Range, pin::pin};

use oxshmem_base::{Error, Result};

use super::{
    both,
    collect::bruck,
    hand_out, pieces, read, spread,
    wire::{CHUNK, Delivery, FLOW, ONCE, PIECE, WINDOW, Window, Wire},
};
use crate::{
    algorithm::{
        called::{Called, chunk},
        chunks::broadcast_here,
        tree_broadcast::ToRoot,
    },
    group::Group,
    memory::span::Span,
    message::{Message, Wide, buffer::Buffer},
    signature::Signature,
    tuning::Spread,
};

/// The PE that this one receives from, and those that it sends to.
struct Links {
    parent: Option<usize>,
    children: Vec<usize>,
}

impl Wide {
    /// What PE `root` has comes to all, or to all others.
    pub(crate) async fn broadcast(
        &self,
        group: &Group,
        call: &Called,
        root: usize,
        to_root: ToRoot,
    ) -> Result<()> {
        let (wire, Called { signature, source, dest, .. }) = (self.wire(group), *call);
        let stands = self.begin_broadcast(group, root);
        let node = stands[1];
        if node != self.node {
            if group.me() == 0 {
                self.across_in_pieces(&wire, signature, stands, dest).await?;
            }
            return hand_out(group, call).await;
        }
        if group.n() == 1 {
            if to_root {
                group.memory.copy_here(dest, source);
            }
            return self.across_in_pieces(&wire, signature, stands, source).await;
        }
        // Every member is on its host.
        let at = self.nodes.of(node).pe_of(root).unwrap_or_default();
        let here = spread(group, call, at, [source, dest], to_root);
        if self.my_pe != root {
            return here.await;
        }
        // Apart, so that others do not carry it along.
        let across = self.across_in_pieces(&wire, signature, stands, source);
        Box::pin(async move { both(pin!(across), pin!(here)).await }).await
    }

    /// Begins a broadcast. Returns the root, and the node that it is on.
    pub(crate) fn begin_broadcast(&self, group: &Group, root: usize) -> [usize; 2] {
        let node = self.node_of(group, root);
        self.call_check.run_ahead();
        // Not both, or two leaders that take each other for the root would wait for each other and
        // send nothing.
        if self.n_hosts() == 2 && [node, self.node] == [0, 1] {
            self.call_check.follow();
        }
        [root, node]
    }

    /// The number of a PE among those of this host, if it is one of them.
    pub(crate) fn number_here(&self, pe: usize) -> Option<usize> {
        self.nodes.of(self.node).pe_of(pe)
    }

    /// [`across`](Self::across), in pieces if the call is one on device memory.
    async fn across_in_pieces(
        &self,
        wire: &Wire<'_>,
        signature: Signature,
        stands: [usize; 2],
        data: Span,
    ) -> Result<()> {
        for piece in pieces(signature, data.len()) {
            self.across(wire, stands, data.part(piece)).await?;
        }
        Ok(())
    }

    /// Brings `data` of the root, whose host is the second, to those that stand for the others.
    pub(crate) async fn across(&self, wire: &Wire<'_>, stands: [usize; 2], data: Span) -> Result<()> {
        let [root, root_node] = stands;
        match wire.group.choices.broadcast_between(self.n_hosts(), data.len()) {
            Spread::Scatter => {
                for start in (0..data.len()).step_by(PIECE) {
                    let piece = data.part(start..(start + PIECE).min(data.len()));
                    Box::pin(self.scatter(wire, stands, piece)).await?;
                }
                Ok(())
            }
            shape => {
                pass_on(&self.place(root, root_node, shape), data.len(), &mut InPlace { wire, data }).await
            }
        }
    }

    /// Brings it in parts: one to each host, and then all of them to all.
    async fn scatter(&self, wire: &Wire<'_>, [root, root_node]: [usize; 2], data: Span) -> Result<()> {
        let (memory, len) = (&wire.group.memory, data.len());
        let k = self.n_hosts();
        let place = |node: usize| (node + k - root_node) % k;
        let pe = |node: usize| if node == root_node { root } else { self.leader(node) };
        let me = place(self.node);
        let (parent, children) = relatives(me, k, Spread::Scatter);
        let at = |place: usize| pe((place + root_node) % k);

        let mine = parts(len, below(me, k), k);
        let came = match parent {
            Some(parent) if !mine.is_empty() => wire.receive(at(parent), FLOW, mine.len())?.await?,
            _ => Buffer::zeros(0),
        };
        let read = |part: Range<usize>| match parent {
            None => read(wire, data.part(part)),
            Some(_) => wire.copy_of(&came[part.start - mine.start..part.end - mine.start]),
        };
        let mut sends = Vec::new();
        for child in children {
            let theirs = parts(len, below(child, k), k);
            if !theirs.is_empty() {
                sends.push(wire.send(at(child), FLOW, read(theirs))?);
            }
        }
        let all = bruck(wire, read(chunk(len, me, k)), |node| chunk(len, place(node), k).len(), pe).await?;
        if parent.is_some() {
            for (node, bytes) in all.iter().enumerate() {
                memory.write(data.part(chunk(len, place(node), k)), bytes);
            }
        }
        for sent in sends {
            sent.await?;
        }
        Ok(())
    }

    /// Bytes of the root, of a length that only that knows.
    pub(crate) async fn broadcast_bytes(
        &self,
        group: &Group,
        bytes: Option<Vec<u8>>,
        root: usize,
    ) -> Result<Vec<u8>> {
        let wire = self.wire(group);
        let node = self.node_of(group, root);
        let place = self.place(root, node, Spread::Binomial);
        let mut at = 0;
        let mut whole = (self.my_pe == root).then(|| bytes.unwrap_or_default());
        if node == self.node {
            at = self.nodes.of(node).pe_of(root).unwrap_or_default();
        } else if group.me() == 0 {
            whole = Some(Vec::new());
        }
        if let Some(whole) = &mut whole {
            let mut len = (whole.len() as u64).to_ne_bytes();
            pass_on(&place, size_of_val(&len), &mut Apart { wire: &wire, bytes: &mut len }).await?;
            let len = u64::from_ne_bytes(len) as usize;
            let no_room = |_| Error::LengthMismatch { call: "broadcast_bytes", source_len: len, dest_len: 0 };
            whole.try_reserve_exact(len.saturating_sub(whole.len())).map_err(no_room)?;
            whole.resize(len, 0);
            pass_on(&place, len, &mut Apart { wire: &wire, bytes: whole }).await?;
        }
        broadcast_here(group, whole, at).await
    }

    /// Where this PE is among those that stand for their hosts, if it is one of them.
    fn place(&self, root: usize, root_node: usize, shape: Spread) -> Links {
        let k = self.n_hosts();
        let me = (self.node + k - root_node) % k;
        let pe = |place: usize| if place == 0 { root } else { self.leader((place + root_node) % k) };
        let (parent, children) = relatives(me, k, shape);
        Links { parent: parent.map(pe), children: children.into_iter().map(pe).collect() }
    }
}

/// The parent and the children of place `me` of `k`, with place 0 on top: the child that has most
/// below it first.
fn relatives(me: usize, k: usize, shape: Spread) -> (Option<usize>, Vec<usize>) {
    let parent = |parent: usize| (me > 0).then_some(parent);
    match shape {
        Spread::Chain => (parent(me.wrapping_sub(1)), (me + 1..k).take(1).collect()),
        Spread::Binomial | Spread::Scatter => {
            let below = if me == 0 { k.next_power_of_two() } else { me }.trailing_zeros();
            let children = (0..below).rev().map(|bit| me | 1 << bit).filter(|&child| child < k);
            (parent(me & me.wrapping_sub(1)), children.collect())
        }
    }
}

/// The places of the binomial tree from `place` down: it, and those behind it.
fn below(place: usize, k: usize) -> Range<usize> {
    match place {
        0 => 0..k,
        _ => place..(place + (1 << place.trailing_zeros())).min(k),
    }
}

/// The bytes of `len` that are the parts of these places, of which there is one at least.
fn parts(len: usize, places: Range<usize>, k: usize) -> Range<usize> {
    chunk(len, places.start, k).start..chunk(len, places.end - 1, k).end
}

/// What goes down a tree, on a PE that has it or is given it.
trait Data<'a> {
    fn send(&self, child: usize, step: u64, part: Range<usize>) -> Result<Message<()>>;

    fn receive(&self, parent: usize, step: u64, part: Range<usize>) -> Result<Delivery<'a>>;

    /// What has come, and is not there.
    fn take(&mut self, part: Range<usize>, bytes: &[u8]);
}

/// In symmetric memory, where it stays.
struct InPlace<'a, 'w> {
    wire: &'w Wire<'a>,
    data: Span,
}

impl<'a> Data<'a> for InPlace<'a, '_> {
    fn send(&self, child: usize, step: u64, part: Range<usize>) -> Result<Message<()>> {
        self.wire.send_from(child, step, self.data.part(part))
    }

    fn receive(&self, parent: usize, step: u64, part: Range<usize>) -> Result<Delivery<'a>> {
        self.wire.receive_to(parent, step, self.data.part(part))
    }

    fn take(&mut self, part: Range<usize>, bytes: &[u8]) {
        self.wire.group.memory.write(self.data.part(part), bytes);
    }
}

/// In memory of this PE alone.
struct Apart<'a, 'w> {
    wire: &'w Wire<'a>,
    bytes: &'w mut [u8],
}

impl<'a> Data<'a> for Apart<'a, '_> {
    fn send(&self, child: usize, step: u64, part: Range<usize>) -> Result<Message<()>> {
        self.wire.send(child, step, self.wire.copy_of(&self.bytes[part]))
    }

    fn receive(&self, parent: usize, step: u64, part: Range<usize>) -> Result<Delivery<'a>> {
        self.wire.receive(parent, step, part.len()).map(Delivery::Apart)
    }

    fn take(&mut self, part: Range<usize>, bytes: &[u8]) {
        self.bytes[part].copy_from_slice(bytes);
    }
}

/// Passes `len` bytes down the tree. The root has them; the others are given them.
async fn pass_on<'a>(place: &Links, len: usize, data: &mut impl Data<'a>) -> Result<()> {
    if len > CHUNK {
        return Box::pin(pass_on_in_chunks(place, len, data)).await;
    }
    if len == 0 {
        return Ok(());
    }
    if let Some(parent) = place.parent
        && let Some(bytes) = data.receive(parent, ONCE, 0..len)?.await?
    {
        data.take(0..len, &bytes);
    }
    let sends: Result<Vec<_>> = place.children.iter().map(|&child| data.send(child, ONCE, 0..len)).collect();
    for sent in sends? {
        sent.await?;
    }
    Ok(())
}

async fn pass_on_in_chunks<'a>(place: &Links, len: usize, data: &mut impl Data<'a>) -> Result<()> {
    let chunks = || (0..len).step_by(CHUNK).map(|start| start..(start + CHUNK).min(len));
    let mut sends: Vec<Window> = place.children.iter().map(|_| Window::default()).collect();
    let mut coming = VecDeque::new();
    let mut ahead = chunks();
    for chunk in chunks() {
        if let Some(parent) = place.parent {
            while coming.len() < WINDOW
                && let Some(chunk) = ahead.next()
            {
                coming.push_back(data.receive(parent, FLOW, chunk)?);
            }
            // There is one for every chunk.
            let Some(came) = coming.pop_front() else { break };
            if let Some(bytes) = came.await? {
                data.take(chunk.clone(), &bytes);
            }
        }
        for (&child, sends) in place.children.iter().zip(&mut sends) {
            sends.add(data.send(child, FLOW, chunk.clone())?).await?;
        }
    }
    for sends in sends {
        sends.empty().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_its_own_part_and_those_of_its_children() {
        for k in 1..70 {
            for len in [1, 64, 1000, 70_000] {
                for me in 0..k {
                    let children = relatives(me, k, Spread::Scatter).1;
                    let mut own = vec![chunk(len, me, k)];
                    own.extend(children.into_iter().rev().map(|child| parts(len, below(child, k), k)));
                    assert!(own.windows(2).all(|two| two[0].end == two[1].start), "{me} of {k}");
                    assert_eq!(own[0].start..own[own.len() - 1].end, parts(len, below(me, k), k));
                }
                assert_eq!(parts(len, below(0, k), k), 0..len);
            }
        }
    }

    #[test]
    fn every_place_but_the_first_is_a_child_of_its_parent_once() {
        for shape in [Spread::Binomial, Spread::Chain] {
            for k in 1..70 {
                let mut received = vec![0; k];
                for me in 0..k {
                    let (parent, children) = relatives(me, k, shape);
                    assert_eq!(parent.is_none(), me == 0);
                    for child in children {
                        received[child] += 1;
                        assert_eq!(relatives(child, k, shape).0, Some(me));
                    }
                }
                assert!(received[0] == 0 && received[1..].iter().all(|&times| times == 1));
            }
        }
    }
}
