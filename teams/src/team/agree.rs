//! Agreement: all PEs propose, and all learn whether they proposed the same and what all voted yes
//! for.
//!
//! Proposals go up the tree, each PE merging those of its children with its own; the verdict comes
//! down. Where there are several hosts each has such a tree, and what has come to the tops is
//! merged between these. It is the entry of every collective allocation: the comparison of
//! arguments and the vote on what may be freed ride on one message up and one down.

use bytemuck::{Pod, Zeroable};
use oxshmem_base::{Error, Result};
use oxshmem_spaces::window::Window;

use crate::{
    algorithm::tree::Tree,
    group::{Flag, Group},
    hosts::doubling,
    memory::span::Span,
    message::buffer::Buffer,
    signature::Signature,
    tuning::RADIX,
};

/// Words of a call that PEs compare: which, and its arguments.
pub type Arguments = [u64; 4];
/// A PE's votes on the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Votes {
    /// Questions, a bit each: 1 is yes.
    pub yes: u64,
    /// Numbers that it offers.
    pub window: Window,
}

impl Votes {
    /// Offers no numbers.
    pub const fn answer(yes: u64) -> Self {
        Self { yes, window: Window::NONE }
    }
}

/// What a subtree proposes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Proposal {
    call: Arguments,
    pe: u64,
    /// A call that differs, and its PE plus 1; 0 if none does.
    other_call: Arguments,
    other_pe: u64,
    votes: Votes,
    most: u64,
}

/// What all PEs learn.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem_teams::agree::{Votes, agree};
///
/// let call = [7, 0, 0, 0]; // the same on both PEs
/// let verdict = world.team().run("agree", move |group| async move {
///     agree(&group, call, Votes::answer(1)).await
/// });
/// let verdict = verdict.await?;
/// assert_eq!((verdict.differing, verdict.votes.yes), (None, 1));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Two PEs that called differently, with their calls.
    pub differing: Option<[(usize, Arguments); 2]>,
    /// What every PE voted yes for, and the numbers that all of them offered.
    pub votes: Votes,
    /// The greatest number that a PE gave, where they did.
    pub(crate) most: u64,
}

/// Bytes of one proposal in the scratch memory.
const SLOT: usize = 256;
const _: () = assert!(size_of::<Proposal>() <= SLOT);
/// Where in the scratch memory proposals and the verdict arrive: behind what broadcasts use.
const START: usize = crate::algorithm::chunks::SCRATCH_END;
const _: () = assert!(START + (RADIX + 1) * SLOT <= crate::memory::scratch::GENERAL - 64);

/// Proposes `call` and `votes`, inside of a [`Team::run`](crate::Team::run). Collective.
///
/// # Errors
/// The errors of [`Team::sync`](crate::Team::sync).
///
/// ```
/// # use std::sync::Arc;
/// # use oxshmem_spaces::Pe;
/// # use oxshmem_job::Local;
/// # use oxshmem_base::settings::Settings;
/// # use oxshmem_teams::Team;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
/// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
/// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
/// use oxshmem_spaces::window::Window;
/// use oxshmem_teams::agree::{Votes, agree};
///
/// let votes = |yes, offered: [u64; 2]| Votes { yes, window: Window::of(offered) };
/// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
/// let [votes_a, votes_b] = [votes(0b011, [3, 70]), votes(0b110, [70, 99])];
/// let a = a.run("choose", move |group| async move { agree(&group, [1, 64, 8, 0], votes_a).await });
/// let b = b.run("choose", move |group| async move { agree(&group, [1, 80, 8, 0], votes_b).await });
/// let (verdict, same) = tokio::try_join!(a, b)?;
/// assert_eq!(verdict, same);
/// assert_eq!(verdict.differing, Some([(0, [1, 64, 8, 0]), (1, [1, 80, 8, 0])]));
/// assert_eq!(verdict.votes.yes, 0b010);
/// assert!(verdict.votes.window.numbers().eq([70]));
/// # Ok::<(), oxshmem_base::Error>(())
/// # })?;
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
pub async fn agree(group: &Group, call: Arguments, votes: Votes) -> Result<Verdict> {
    agree_with(group, call, votes, 0).await
}

/// [`agree`] with a number of which all PEs learn the greatest.
pub(crate) async fn agree_with(group: &Group, call: Arguments, votes: Votes, most: u64) -> Result<Verdict> {
    let number = group.state.agreements.next();
    let tree = Tree::new(group.me(), group.n(), 0);
    let wire = group.wide().map(|wide| wide.wire(group));

    let mut proposal = Proposal {
        call,
        pe: group.my_pe() as u64,
        other_call: Arguments::default(),
        other_pe: 0,
        votes,
        most,
    };
    for child in 0..tree.children().count() {
        group.wait(Flag::Proposal(child), number).await?;
        proposal.merge(&read(group, slot(group, child)));
    }
    if let Some((parent, place)) = tree.parent() {
        group.memory.write_to(slot(group, place), group.block(parent), bytes(&proposal));
        group.set(Flag::Proposal(place), number, parent);
        group.wait(Flag::Verdict, number).await?;
        proposal = read(group, slot(group, RADIX));
    } else if let Some(wire) = wire {
        let merge = |a: &mut Buffer, b: &Buffer| {
            let mut merged = *bytemuck::from_bytes::<Proposal>(a);
            merged.merge(bytemuck::from_bytes(b));
            a.copy_from_slice(bytes(&merged));
        };
        let all = doubling(&wire, wire.copy_of(bytes(&proposal)), merge).await?;
        proposal = *bytemuck::from_bytes(&all);
    }
    // A child takes the verdict before it proposes again, so the slot is free.
    for child in tree.children() {
        group.memory.write_to(slot(group, RADIX), group.block(child), bytes(&proposal));
        group.set(Flag::Verdict, number, child);
    }
    let differing = (proposal.other_pe != 0).then(|| {
        [(proposal.pe as usize, proposal.call), (proposal.other_pe as usize - 1, proposal.other_call)]
    });
    Ok(Verdict { differing, votes: proposal.votes, most: proposal.most })
}

/// In the place of the call where PEs [meet](meet_in): no other call has that number.
pub const MEET: u64 = u64::MAX;

/// Waits inside of a [`Team::run`](crate::Team::run) for every PE to come to the same `call`, the
/// team's last. Collective.
///
/// A [`sync_in`](crate::sync::sync_in) goes together with the sync of any other call, so that a PE
/// which is in one too many would be let go by PEs that leave. This goes together with nothing
/// else.
///
/// # Errors
/// [`Error::CollectiveMismatch`] on all PEs if some came here for another call, and those of
/// [`Team::sync`](crate::Team::sync).
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(3, |world| async move {
/// use oxshmem_teams::agree::meet_in;
///
/// world.team().run("meet", |group| async move { meet_in(&group, "destroy").await }).await?;
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub async fn meet_in(group: &Group, call: &'static str) -> Result<()> {
    let [what, len] = Signature::named(call).words();
    let verdict = agree(group, [MEET, what, len, 0], Votes::answer(0)).await?;
    let Some([(pe_a, a), (pe_b, b)]) = verdict.differing else { return Ok(()) };
    let describe = |[kind, what, len, _]: Arguments| match kind {
        MEET => Signature::from_words([what, len]).to_string(),
        _ => "another call".to_owned(),
    };
    Err(Error::CollectiveMismatch { pe_a, call_a: describe(a), pe_b, call_b: describe(b) })
}

impl Proposal {
    fn merge(&mut self, below: &Self) {
        if self.other_pe == 0 {
            if below.call != self.call {
                (self.other_call, self.other_pe) = (below.call, below.pe + 1);
            } else if below.other_pe != 0 {
                (self.other_call, self.other_pe) = (below.other_call, below.other_pe);
            }
        }
        self.most = self.most.max(below.most);
        self.votes.yes &= below.votes.yes;
        self.votes.window.merge(&below.votes.window);
    }
}

fn slot(group: &Group, index: usize) -> Span {
    group.general(START + index * SLOT, size_of::<Proposal>())
}

fn read(group: &Group, slot: Span) -> Proposal {
    let mut proposal = Proposal::zeroed();
    group.memory.read(slot, bytemuck::bytes_of_mut(&mut proposal));
    proposal
}

fn bytes(proposal: &Proposal) -> &[u8] {
    bytemuck::bytes_of(proposal)
}
