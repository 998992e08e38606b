//! Collective calls on the symmetric heap: what PEs compare, and how they come to free what all have dropped.
//!
//! Every such call begins with an agreement ([`agree`]): the arguments go up a tree, with a vote on blocks that each PE
//! has given up; the verdict comes down. What follows is local, and the same everywhere.

use std::sync::Arc;

use oxshmem_runtime::{
    Error, Result,
    settings::{CheckAlloc, SpaceKind},
};
use oxshmem_spaces::{
    Hints,
    allocation::{Allocation, WINDOW_BITS, Window},
};
use oxshmem_teams::{
    Group,
    agree::{Call, Verdict, Votes, agree},
    sync::sync_in,
};

use crate::space::Arena;

/// A collective call on the heap, as PEs compare it.
#[derive(Clone, Copy)]
pub(crate) struct MemoryCall {
    pub(crate) name: &'static str,
    pub(crate) bytes: usize,
    pub(crate) align: usize,
    pub(crate) hints: Hints,
    /// Which call, one bit each.
    pub(crate) flags: u64,
    /// Whose heap it is about.
    pub(crate) space: SpaceKind,
}

/// Set in what is compared where that is the GPU space's.
const GPU_BIT: u32 = 48;

/// Votes behind the window: one bit for the caller's own question.
const OWN_VOTE: usize = WINDOW_BITS / 64;

impl MemoryCall {
    /// Compares the call among all PEs, frees what all have given up, and returns whether all said `yes`.
    pub(crate) async fn agree(&self, group: &Group, arena: &Arena, yes: bool) -> Result<bool> {
        let verdict = self.exchange(group, arena, yes).await?;
        arena.heap.reclaim(&window(&verdict.votes));
        Ok(verdict.votes[OWN_VOTE] != 0)
    }

    /// Frees one window of what all have given up; whether it was the last.
    pub(crate) async fn reclaim_some(&self, group: &Group, arena: &Arena) -> Result<bool> {
        let verdict = self.exchange(group, arena, true).await?;
        Ok(arena.heap.reclaim(&window(&verdict.votes)).1)
    }

    /// Frees all that all have given up.
    pub(crate) async fn reclaim_all(&self, group: &Group, arena: &Arena) -> Result<()> {
        // Twice, as the first pass may begin behind the first block.
        for _ in 0..2 {
            while !self.reclaim_some(group, arena).await? {}
        }
        Ok(())
    }

    /// Allocates after an agreement. If there is no room, everything that can be reclaimed is, and then it is
    /// tried again. The PEs are in sync at the end.
    pub(crate) async fn reclaiming(
        &self,
        group: &Group,
        arena: &Arena,
        alloc: impl Fn() -> Result<Arc<Allocation>>,
    ) -> Result<Arc<Allocation>> {
        self.agree(group, arena, true).await?;
        let mut allocation = alloc();
        let exhausted = matches!(allocation, Err(Error::HeapExhausted { .. }));
        let any_exhausted = match arena.pe().settings().check_alloc {
            // The same call on the same heap has the same outcome everywhere.
            CheckAlloc::Error => exhausted,
            CheckAlloc::Warn | CheckAlloc::Off => {
                let verdict = self.vote(group, arena, !exhausted).await?;
                arena.heap.reclaim(&window(&verdict.votes));
                verdict.votes[OWN_VOTE] == 0
            }
        };
        if any_exhausted {
            self.reclaim_all(group, arena).await?;
            if exhausted {
                allocation = alloc();
            }
        }
        sync_in(group).await?;
        allocation
    }

    async fn exchange(&self, group: &Group, arena: &Arena, yes: bool) -> Result<Verdict> {
        let verdict = self.vote(group, arena, yes).await?;
        match (verdict.differing, arena.pe().settings().check_alloc) {
            (Some(calls), CheckAlloc::Error) => Err(mismatch(calls)),
            (Some(calls), CheckAlloc::Warn) => {
                if calls[1].0 == arena.pe().me() {
                    eprintln!("oxshmem: warning: {}", mismatch(calls));
                }
                Ok(verdict)
            }
            _ => Ok(verdict),
        }
    }

    /// The exchange without the comparison.
    async fn vote(&self, group: &Group, arena: &Arena, yes: bool) -> Result<Verdict> {
        let mut votes = Votes::default();
        votes[..OWN_VOTE].copy_from_slice(&arena.heap.window(&arena.blocks_in_use_elsewhere()));
        votes[OWN_VOTE] = u64::from(yes);
        agree(group, self.words(), votes).await
    }

    fn words(&self) -> Call {
        let kind = CALLS.iter().position(|&name| name == self.name).unwrap_or(CALLS.len()) as u64;
        let space = u64::from(self.space == SpaceKind::Gpu) << GPU_BIT;
        [kind, self.bytes as u64, self.align as u64, self.hints.bits() as u64 | self.flags << 32 | space]
    }
}

/// The calls that are compared, by the numbers that travel.
const CALLS: [&str; 7] =
    ["alloc", "alloc_zeroed", "alloc_aligned", "alloc_with_hints", "realloc", "free", "reclaim"];

fn mismatch([(pe_a, a), (pe_b, b)]: [(usize, Call); 2]) -> Error {
    let describe = |[kind, bytes, align, hints]: Call| {
        let name = CALLS.get(kind as usize).copied().unwrap_or("another call");
        let space = if hints >> GPU_BIT & 1 == 1 { " in the GPU space" } else { "" };
        match name {
            "free" => format!("free of {bytes} bytes at offset {align:#x}{space}"),
            "realloc" => format!("realloc from {align} to {bytes} bytes{space}"),
            "reclaim" => format!("{name}{space}"),
            _ => {
                let hints = Hints::from_bits((hints & 0xffff_ffff) as i64);
                let hints = if hints.is_empty() { String::new() } else { format!(" with {hints:?}") };
                format!("{name} of {bytes} bytes aligned to {align}{hints}{space}")
            }
        }
    };
    Error::CollectiveMismatch { pe_a, call_a: describe(a), pe_b, call_b: describe(b) }
}

fn window(votes: &Votes) -> Window {
    let mut window = Window::default();
    window.copy_from_slice(&votes[..OWN_VOTE]);
    window
}
