//! Collective calls on the symmetric heap: what PEs compare, and how they come to free what all
//! have dropped.
//!
//! Every such call begins with an agreement ([`agree`]): the arguments go up a tree, with a vote on
//! blocks that each PE has given up; the verdict comes down. What follows is local, and the same
//! everywhere. It is about one heap, that of a partition or of the GPU space, of which alone blocks
//! are freed.

use std::sync::Arc;

use oxshmem_base::{Error, Result, report, settings::CheckAlloc};
use oxshmem_net::flush_all;
use oxshmem_spaces::{Hints, allocation::Allocation};
use oxshmem_teams::{
    Group,
    agree::{Arguments, MEET, Verdict, Votes, agree},
    sync::sync_in,
};

use crate::arena::Arena;

/// A collective call on the heap, as PEs compare it.
#[derive(Clone)]
pub(crate) struct MemoryCall {
    pub(crate) name: &'static str,
    pub(crate) bytes: usize,
    pub(crate) align: usize,
    pub(crate) hints: Hints,
    /// Which call, one bit each.
    pub(crate) flags: u64,
    /// The number of the heap that it is about: of its partition, or 0 for the GPU space's.
    pub(crate) heap: u64,
}

/// What PEs say yes to: the caller's own question.
const YES: u64 = 1;
/// That there is more that they have given up than what is freed by name.
const MORE: u64 = 2;
/// Where beside it the partition's number is, and where its complement: both survive where all PEs
/// have the same.
const HEAP: u32 = 8;
const NOT_HEAP: u32 = 16;

impl MemoryCall {
    /// Compares the call among all PEs, frees what all have given up, and returns whether all voted
    /// `yes`.
    pub(crate) async fn agree(&self, group: &Group, arena: &Arena, yes: bool) -> Result<bool> {
        let verdict = self.exchange(group, arena, yes, None).await?;
        self.reclaim_agreed(arena, &verdict.votes);
        Ok(verdict.votes.yes & YES != 0)
    }

    /// Compares the call among all PEs, and frees the block with the number `id` and others, if all
    /// have given them up.
    pub(crate) async fn free(&self, group: &Group, arena: &Arena, id: u64) -> Result<()> {
        let verdict = self.exchange(group, arena, true, Some(id)).await?;
        self.reclaim_agreed(arena, &verdict.votes);
        if verdict.votes.yes & MORE != 0 {
            self.agree(group, arena, true).await?;
        }
        Ok(())
    }

    /// Frees what all have given up, as these votes of theirs say; whether there may be more.
    fn reclaim_agreed(&self, arena: &Arena, votes: &Votes) -> bool {
        // Where PEs that are not held to make the same call mean different partitions, they have
        // agreed on nothing.
        //
        // SAFETY: the votes are the same on all PEs, and show blocks that are in the windows of all
        // of them.
        votes.yes & !(YES | MORE) == self.heap_votes() && unsafe { arena.heap.reclaim(&votes.window) }
    }

    /// Frees all that all have given up.
    pub(crate) async fn reclaim_all(&self, group: &Group, arena: &Arena) -> Result<()> {
        arena.heap.rewind();
        while {
            let verdict = self.exchange(group, arena, true, None).await?;
            self.reclaim_agreed(arena, &verdict.votes)
        } {}
        Ok(())
    }

    /// Allocates after an agreement. If there is no room, everything that can be reclaimed is, and
    /// then it is tried again. The PEs are in sync at the end.
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
                let verdict = self.vote(group, arena, !exhausted, None).await?;
                self.reclaim_agreed(arena, &verdict.votes);
                verdict.votes.yes & YES == 0
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

    async fn exchange(&self, group: &Group, arena: &Arena, yes: bool, from: Option<u64>) -> Result<Verdict> {
        let verdict = self.vote(group, arena, yes, from).await?;
        match (verdict.differing, arena.pe().settings().check_alloc) {
            (Some(calls), CheckAlloc::Error) => Err(mismatch(calls)),
            (Some(calls), CheckAlloc::Warn) => {
                if calls[1].0 == group.my_pe() {
                    report(format_args!("oxshmem: warning: {}", mismatch(calls)));
                }
                Ok(verdict)
            }
            _ => Ok(verdict),
        }
    }

    /// The exchange without the comparison. What this PE has started on blocks that it has given up
    /// is there before they become others'.
    async fn vote(&self, group: &Group, arena: &Arena, yes: bool, from: Option<u64>) -> Result<Verdict> {
        let window = arena.heap.window(from, || arena.blocks_in_use_elsewhere());
        if let (true, Some(net)) = (arena.heap.released() > 0, arena.pe().net())
            && let Err(error) = flush_all(&**net).await
        {
            // The others wait for this PE all the same. `finalize` reports it.
            arena.pe().offloaded().report_later(None, error);
        }
        let more = if arena.heap.released() > 1 { MORE } else { 0 };
        let yes = self.heap_votes() | if yes { YES } else { 0 } | more;
        agree(group, self.words(), Votes { yes, window }).await
    }

    fn heap_votes(&self) -> u64 {
        self.heap << HEAP | (!self.heap & 0xff) << NOT_HEAP
    }

    fn words(&self) -> Arguments {
        let kind = CALLS.iter().position(|&name| name == self.name).unwrap_or(CALLS.len()) as u64;
        let more = self.hints.bits() as u64 | self.flags << FLAGS | self.heap << PARTITION;
        [kind, self.bytes as u64, self.align as u64, more]
    }
}

/// The calls that are compared, by the numbers that travel.
const CALLS: [&str; 7] =
    ["alloc", "alloc_zeroed", "alloc_aligned", "alloc_with_hints", "realloc", "free", "reclaim"];

/// The flag of a call that a PE has refused for its own arguments.
pub(crate) const REFUSED: u64 = 8;

/// Where in the last word of a call the flags are, and the partition.
const FLAGS: u32 = 32;
const PARTITION: u32 = 48;

fn mismatch([(pe_a, a), (pe_b, b)]: [(usize, Arguments); 2]) -> Error {
    // Partitions are not mentioned to a program that uses none.
    let whole = [a, b].iter().all(|call| call[0] == MEET || call[3] >> PARTITION <= 1);
    let describe = |[kind, bytes, align, hints]: Arguments| {
        if kind == MEET {
            return "finalize".to_owned();
        }
        let name = CALLS.get(kind as usize).copied().unwrap_or("another call");
        if hints >> FLAGS & REFUSED != 0 {
            return format!("{name}, which it has refused");
        }
        let of = match hints >> PARTITION {
            0 => " in the GPU space".to_owned(),
            1 if whole => String::new(),
            id => format!(" in partition {id}"),
        };
        let call = match name {
            "free" => format!("free of {bytes} bytes at offset {align:#x}"),
            "realloc" => format!("realloc from {align} to {bytes} bytes"),
            "reclaim" => name.to_owned(),
            _ => {
                let hints = Hints::from_bits((hints & 0xffff_ffff) as i64);
                let hints = if hints.is_empty() { String::new() } else { format!(" with {hints:?}") };
                format!("{name} of {bytes} bytes aligned to {align}{hints}")
            }
        };
        call + &of
    };
    Error::CollectiveMismatch { pe_a, call_a: describe(a), pe_b, call_b: describe(b) }
}
