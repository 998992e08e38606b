//! Broadcasts down a tree: messages from one PE to all, down a tree, through the slots that each PE
//! has for them. What a message carries goes with it, or straight to the destination of the PE
//! below.
//!
//! A root does not wait for other PEs: it may be as many messages ahead as there are slots. Then
//! the PEs sync, unless some other collective in between has shown that all PEs have taken what
//! came before.

use std::{
    future::poll_fn,
    task::{Poll, Waker},
};

use oxshmem_base::Result;
use oxshmem_memory::copy;

use crate::{
    algorithm::{sync::Sync, tree::Tree},
    check::NumberWait,
    group::{Awaited, Group},
    memory::{
        scratch::{self, INLINE, PAYLOAD_AT},
        span::Span,
    },
    signature::Signature,
};

/// One message under way: from `source` on the root to `dest` on every PE.
#[derive(Debug)]
pub(crate) struct TreeBroadcast {
    signature: Signature,
    root: usize,
    source: Span,
    dest: Span,
    /// Whether what it carries goes from destination to destination, and then whether the root's is
    /// one too.
    pushed: Option<ToRoot>,
    number: u64,
    step: TreeStep,
    wait: NumberWait,
}

/// Whether the root's destination gets what all others get.
pub(crate) type ToRoot = bool;

#[derive(Debug)]
enum TreeStep {
    Called,
    /// Making room.
    Sync(Sync),
    /// Waiting for the parent.
    Parent,
    Done,
}

impl TreeBroadcast {
    /// A broadcast of `source` on `root` to `dest`, of at most
    /// [`BROADCAST_BULK`](scratch::BROADCAST_BULK) bytes.
    #[inline(always)]
    pub(crate) fn new(signature: Signature, root: usize, [source, dest]: [Span; 2]) -> Self {
        let (step, wait) = (TreeStep::Called, NumberWait::default());
        Self { signature, root, source, dest, pushed: None, number: 0, step, wait }
    }

    /// A broadcast of any number of bytes, which go straight to the destinations, whether or not
    /// their PEs have come.
    #[inline(always)]
    pub(crate) fn pushed(signature: Signature, root: usize, spans: [Span; 2], to_root: ToRoot) -> Self {
        Self { pushed: Some(to_root), ..Self::new(signature, root, spans) }
    }

    /// A message without bytes: the root has come.
    pub(crate) fn root_ready(group: &Group, signature: Signature, root: usize) -> Self {
        let nothing = group.scratch(0, 0);
        Self::new(signature, root, [nothing; 2])
    }

    /// What was called.
    pub(crate) fn signature(&self) -> Signature {
        self.signature
    }

    /// What it waits for last, if that is all it does before it ends here.
    #[inline(always)]
    pub(crate) fn last_wait(&self, group: &Group) -> Option<Awaited> {
        let is_last = matches!(self.step, TreeStep::Parent) && !self.has_children(group);
        is_last.then(|| Awaited::one(self.slot(), self.number))
    }

    /// Whether nothing is left to do.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.step, TreeStep::Done)
    }

    #[inline(always)]
    fn has_children(&self, group: &Group) -> bool {
        self.tree(group).children().next().is_some()
    }

    #[inline(always)]
    fn tree(&self, group: &Group) -> Tree {
        Tree::new(group.me(), group.n(), self.root)
    }

    /// Begins: sends what can be sent without waiting.
    #[inline(always)]
    pub(crate) fn begin(&mut self, group: &Group) -> Result<()> {
        let Some(number) = group.state.slots.next(self.carried()) else {
            let mut sync = Sync::default();
            sync.begin(group)?;
            self.step = TreeStep::Sync(sync);
            return Ok(());
        };
        self.number = number;
        self.step = TreeStep::Parent;
        if group.me() == self.root {
            self.pass_on(group, self.source)?;
            self.step = TreeStep::Done;
        } else if group.has_come(self.slot(), number) {
            // A root that is ahead.
            self.take(group)?;
        }
        Ok(())
    }

    /// The message has come: compares the calls, and passes it on.
    #[inline(always)]
    fn take(&mut self, group: &Group) -> Result<()> {
        group.compare_slot(self.slot(), self.signature)?;
        let from = if self.pushed.is_some() { self.dest } else { self.payload(group) };
        self.pass_on(group, from)?;
        self.step = TreeStep::Done;
        Ok(())
    }

    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    pub(crate) fn poll(&mut self, group: &Group, waker: &dyn Fn() -> Waker) -> Poll<Result<()>> {
        loop {
            match &mut self.step {
                TreeStep::Done => return Poll::Ready(Ok(())),
                TreeStep::Called => self.begin(group)?,
                TreeStep::Sync(sync) => match sync.poll(group, waker) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(synced) => {
                        synced?;
                        self.begin(group)?;
                    }
                },
                TreeStep::Parent => {
                    let slot = self.slot();
                    match self.wait.poll(group, slot, self.number, waker) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(came) => came?,
                    }
                    self.take(group)?;
                }
            }
        }
    }

    /// All of it, inside of a task.
    #[inline(always)]
    pub(crate) fn run(mut self, group: &Group) -> impl Future<Output = Result<()>> {
        poll_fn(move |cx| self.poll(group, &|| cx.waker().clone()))
    }

    /// How many bytes go with the message.
    #[inline(always)]
    fn carried(&self) -> usize {
        if self.pushed.is_some() { 0 } else { self.source.len() }
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        scratch::broadcast(self.number, self.carried())
    }

    /// The place of the payload on every PE but the root.
    #[inline(always)]
    fn payload(&self, group: &Group) -> Span {
        let len = self.source.len();
        let place =
            if len > INLINE { scratch::broadcast_bulk(self.number) } else { self.slot() + PAYLOAD_AT };
        group.scratch(place, len)
    }

    /// Gives the children what is in `from`, and this PE too.
    #[inline(always)]
    fn pass_on(&self, group: &Group, from: Span) -> Result<()> {
        let me = group.here();
        if let Some(to_root) = self.pushed {
            push(group, self.tree(group), [from, self.dest], self.number, self.signature);
            if to_root && group.me() == self.root {
                group.memory.copy(self.dest, me, from, me);
            }
            return Ok(());
        }
        let (tree, slot) = (self.tree(group), self.slot());
        for child in tree.children() {
            group.memory.copy(self.payload(group), group.block(child), from, me);
            group.leave(group.words_of(child).0, slot, self.number, self.signature);
        }
        group.wake(tree.children().map(|child| (child, slot)));
        tree.children().for_each(|child| prepare(group, self.number, self.carried(), child));
        group.memory.copy(self.dest, me, from, me);
        Ok(())
    }
}

/// Fetches the line of a message of `bytes` that comes some messages after that with `number`,
/// while its reader is still at others. Those of several lines each are as well left alone.
#[inline(always)]
fn prepare(group: &Group, number: u64, bytes: usize, child: usize) {
    const AHEAD: u64 = 4;
    let place = scratch::broadcast(number + AHEAD, bytes);
    if scratch::shares_line(bytes) && place.is_multiple_of(copy::LINE) {
        group.prepare(place, child);
    }
}

/// What goes from destination to destination. Apart from what carries its message, which is
/// shorter, and handed over as words, so that the others can be kept in registers.
#[inline(never)]
fn push(group: &Group, tree: Tree, [from, to]: [Span; 2], number: u64, signature: Signature) {
    let (me, slot) = (group.here(), scratch::broadcast(number, 0));
    for child in tree.children() {
        group.memory.push(to, group.block(child), from, me);
        group.leave(group.words_of(child).0, slot, number, signature);
    }
    group.wake(tree.children().map(|child| (child, slot)));
    tree.children().for_each(|child| prepare(group, number, 0, child));
}
