//! The tree: what children have comes up, combined; the result comes down.

use oxshmem_base::Result;

use super::{Buffers, Exchange, ExchangeStep, combine_bytes};
use crate::{
    algorithm::tree::Tree,
    group::Group,
    memory::{scratch, span::Span},
    operation::Operation,
    tuning::RADIX,
};

impl Exchange {
    pub(super) fn begin_tree(&self, group: &Group, buffers: &mut Buffers) -> Result<ExchangeStep> {
        let tree = Tree::new(group.me(), group.n(), 0);
        if tree.children().next().is_some() {
            return Ok(ExchangeStep::Child(0));
        }
        self.rise(group, tree, buffers)
    }

    pub(super) fn next_in_tree(&mut self, group: &Group, buffers: &mut Buffers) -> Result<ExchangeStep> {
        let tree = Tree::new(group.me(), group.n(), 0);
        match self.step {
            ExchangeStep::Child(place) => {
                self.check(group, place)?;
                match tree.children().nth(place + 1) {
                    Some(_) => Ok(ExchangeStep::Child(place + 1)),
                    None => self.rise(group, tree, buffers),
                }
            }
            _ => {
                self.check(group, RADIX)?;
                let result = self.payload(group, RADIX, self.bytes());
                self.fall(group, tree, result)?;
                Ok(ExchangeStep::Done)
            }
        }
    }

    /// All children have come: combines what they have, and passes it on.
    pub(super) fn rise(&self, group: &Group, tree: Tree, buffers: &mut Buffers) -> Result<ExchangeStep> {
        let len = self.bytes();
        // Those that carry nothing need no memory.
        let [total, next] = if len > 0 { buffers.get(len) } else { Default::default() };
        group.memory.read(self.call.source, total);
        if let Operation::Reduce(kernel) = self.call.operation
            && len > 0
        {
            for place in 0..tree.children().count() {
                group.memory.read(self.payload(group, place, len), next);
                combine_bytes(kernel, total, next);
            }
        }
        match tree.parent() {
            Some((parent, place)) => {
                self.send(group, place, total, parent);
                Ok(ExchangeStep::Parent)
            }
            None => {
                let result = self.payload(group, RADIX, len);
                group.memory.write(result, total);
                self.fall(group, tree, result)?;
                Ok(ExchangeStep::Done)
            }
        }
    }

    pub(super) fn fall(&self, group: &Group, tree: Tree, result: Span) -> Result<()> {
        for child in tree.children() {
            self.leave_span(group, RADIX, result, child);
        }
        let slot = scratch::slot(self.number, RADIX);
        group.wake(tree.children().map(|child| (child, slot)));
        let me = group.here();
        group.memory.copy(self.call.dest, me, result, me);
        Ok(())
    }
}
