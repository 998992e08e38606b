//! Blocks of symmetric memory that come and go while PEs are lost: each is at the same place on all
//! PEs that have it, lies apart from the others, and keeps what was written to it.

use std::sync::PoisonError;

use oxshmem::{Rejected, prelude::*};

use crate::{
    plan::{Kind, Step},
    play::{Game, Played, wrong},
    replacing::UNKNOWN,
};

/// Those that a PE has.
pub(crate) struct Blocks {
    /// In the same order on all PEs.
    held: Vec<Held>,
    /// The step that has taken one of them, or all, last.
    taken_in: Option<(u64, usize)>,
    /// What is used beside them.
    used: usize,
}

struct Held {
    block: SymSlice<u64>,
    /// The view and the step in which it was allocated.
    of: (u64, usize),
    /// What each of its words is here.
    value: u64,
}

impl Blocks {
    /// None, beside which so much is used.
    pub(crate) fn none(used: usize) -> Self {
        Self { held: Vec::new(), taken_in: None, used }
    }

    /// Lets go of all, as a replacement has none of them.
    pub(crate) fn forget(&mut self) {
        (self.held, self.taken_in) = (Vec::new(), None);
    }

    /// Takes what that step frees or resizes.
    fn take(&mut self, of: (u64, usize), step: Option<Step>) -> Vec<Held> {
        self.taken_in = Some(of);
        match step {
            None => std::mem::take(&mut self.held),
            Some(Step { kind: Kind::Realloc | Kind::Free, shift, .. }) if !self.held.is_empty() => {
                vec![self.held.remove(shift % self.held.len())]
            }
            Some(_) => Vec::new(),
        }
    }

    /// What is wrong with them.
    fn check(&self) -> Played<()> {
        for Held { block, of, value } in &self.held {
            if let Some(at) = block.slice(..).to_vec().iter().position(|word| word != value) {
                return wrong(format!("the block of step {of:?} has changed at {at}"));
            }
        }
        Ok(())
    }
}

/// Where a block is, and behind it.
fn place_of(block: &SymSlice<u64>) -> [usize; 2] {
    let offset = block.allocation().block().map_or(0, |block| block.offset);
    [offset, offset + size_of::<u64>() * block.len()]
}

impl Game {
    pub(crate) fn with_blocks<T>(&self, look: impl FnOnce(&mut Blocks) -> T) -> T {
        look(&mut self.blocks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets go of what only some of those that are left may have, or have freed: they begin again
    /// with that step.
    pub(crate) fn drop_uncertain(&self, step: usize) -> Played<()> {
        let of = (self.view, step);
        self.with_blocks(|blocks| {
            if step == UNKNOWN {
                // It has none.
                return Ok(());
            }
            if blocks.taken_in.is_some_and(|taken| taken > of) {
                return wrong("a step had effects before all had come to it");
            }
            if blocks.taken_in != Some(of) {
                drop(blocks.take(of, self.plan_of(step)));
            }
            blocks.held.retain(|held| held.of != of);
            blocks.check()
        })
    }

    /// Allocates, resizes or frees.
    pub(crate) async fn memory(&self, number: usize, step: Step) -> Played<()> {
        let of = (self.view, number);
        self.with_blocks(|blocks| blocks.check())?;
        let taken = self.with_blocks(|blocks| blocks.take(of, Some(step))).pop();
        let may = |pe: usize| self.pes.contains(&pe);
        let without = |Rejected { error, .. }: Rejected<_>| error;
        match (step.kind, taken) {
            (Kind::Free, Some(held)) => {
                let freed = self.world.free(held.block).await.map_err(without);
                self.lost("free", freed, may)?;
            }
            (Kind::Realloc, Some(held)) => {
                let both = step.len.min(held.block.len());
                let resized = self.world.realloc(held.block, step.len).await.map_err(without);
                let block = self.lost("realloc", resized, may)?;
                if block.slice(..both).to_vec().iter().any(|&word| word != held.value) {
                    return wrong("realloc has lost what there was");
                }
                self.hold(number, block).await?;
            }
            (Kind::Alloc, _) => {
                let is_zeroed = step.shift.is_multiple_of(2);
                let block = match is_zeroed {
                    true => self.world.alloc_zeroed::<u64>(step.len).await,
                    false => self.world.alloc::<u64>(step.len).await,
                };
                let block = self.lost("alloc", block, may)?;
                if is_zeroed && block.slice(..).to_vec().iter().any(|&word| word != 0) {
                    return wrong("alloc_zeroed has something else");
                }
                self.hold(number, block).await?;
            }
            _ => {}
        }
        self.sync().await
    }

    /// A new block, which another PE fills.
    async fn hold(&self, number: usize, block: SymSlice<u64>) -> Played<()> {
        let (of, [offset, end]) = ((self.view, number), place_of(&block));
        let elsewhere = self.course.place_of_block(of, offset);
        if elsewhere != offset {
            return wrong(format!("a block is at {offset}, and elsewhere at {elsewhere}"));
        }
        // Not before all have looked at what they have of it.
        self.sync().await?;
        let at = self.pes.iter().position(|&pe| pe == self.me()).unwrap_or_default();
        let next = self.pes[(at + 1) % self.pes.len()];
        let given = vec![self.given(number, next, 0); block.len()];
        let ctx = self.world.context();
        let put = ctx.put(&block, given, next).await.map(drop).map_err(oxshmem::Error::from);
        self.lost("put", put, |pe| pe == next)?;
        self.lost("quiet", ctx.quiet().await, |pe| pe == next)?;
        self.sync().await?;
        let held = Held { block, of, value: self.given(number, self.me(), 0) };
        self.with_blocks(|blocks| {
            let is_apart = |[from, to]: [usize; 2]| to <= offset || end <= from;
            if !blocks.held.iter().all(|other| is_apart(place_of(&other.block))) {
                return wrong("blocks overlap");
            }
            blocks.held.push(held);
            blocks.check()
        })
    }

    /// In the end all is free that was allocated since the start.
    pub(crate) async fn free_all(&self, number: usize) -> Played<()> {
        self.sync().await?;
        let may = |pe: usize| self.pes.contains(&pe);
        for held in self.with_blocks(|blocks| blocks.take((self.view, number), None)) {
            let freed = self.world.free(held.block).await.map_err(|Rejected { error, .. }| error);
            self.lost("free", freed, may)?;
        }
        self.lost("reclaim", self.world.reclaim().await, may)?;
        let (used, before) = (self.world.heap_use().used, self.with_blocks(|blocks| blocks.used));
        if used != before {
            return wrong(format!("{used} bytes are in use in the end, and not {before}"));
        }
        self.sync().await
    }
}
