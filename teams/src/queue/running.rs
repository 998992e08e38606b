//! A collective in its team's queue: what it is, what it waits for, and which memory it works on.

use std::{fmt, sync::Arc};

use oxshmem_base::Result;
use oxshmem_progress::activity::Activity;
use oxshmem_spaces::allocation::Allocation;

use crate::{
    algorithm::{
        direct::Task,
        exchange::{Buffers, Exchange, Quick},
        sync::Sync,
        tree_broadcast::TreeBroadcast,
    },
    group::{Awaited, Group},
    signature::Signature,
};

/// A collective, waiting for its turn or under way.
pub(super) enum Running {
    Sync(Sync),
    /// An exchange that has begun, and of which nothing is left but to wait and to take what has
    /// come.
    Quick(Quick, Use),
    Exchange(Exchange, Use),
    Broadcast(TreeBroadcast, Use),
    /// One in the memory of all PEs. It is polled with the queue locked, as nothing in it is the
    /// program's.
    Direct(Task, Signature, Use),
    /// The thread that polls it has taken it.
    Task(Option<Task>, Shown, Signature),
}

/// What a task is shown as where a PE's activity is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    /// What its signature says.
    Signed,
    As(Activity),
    /// Nothing: the program has not called it, and does not wait for it.
    Nothing,
}

/// The memory that a collective works on.
#[derive(Debug, Default)]
pub(super) struct Use {
    /// The blocks of the heap that it is in, by their numbers plus 1.
    pub(super) blocks: [u64; 2],
    /// The memory of the destination and of the source, where the caller does not lend it for long
    /// enough.
    pub(super) owned: Option<Box<[Arc<Allocation>; 2]>>,
}

impl Use {
    #[inline(always)]
    pub(super) fn of(memory: [&Arc<Allocation>; 2]) -> Self {
        Self { blocks: memory.map(|memory| memory.block().map_or(0, |block| block.id + 1)), owned: None }
    }
}

/// How far a collective has come with its call.
pub(super) enum Begun {
    /// For this, after which it sends nothing; and whether something is left to do then.
    Waits(Awaited, Then),
    Ended,
    /// It has ended, or others depend on its going on, even if the program never polls the future.
    Owes,
}

/// What is left to do when the last message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Over,
    Take,
}

#[inline(always)]
pub(super) fn begin_sync(sync: &mut Sync, group: &Group) -> Result<Begun> {
    sync.begin(group)?;
    Ok(sync.last_wait(group).map_or(Begun::Owes, |awaited| Begun::Waits(awaited, Then::Over)))
}

/// What the broadcast that has just begun waits for.
#[inline(always)]
pub(super) fn broadcast_begun(broadcast: &TreeBroadcast, group: &Group) -> Begun {
    if broadcast.is_over() { Begun::Ended } else { broadcast.last_wait(group).map_or(Begun::Owes, takes) }
}

pub(super) fn takes(awaited: Awaited) -> Begun {
    Begun::Waits(awaited, Then::Take)
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync(_) => "sync",
            Self::Quick(..) | Self::Exchange(..) => "exchange",
            Self::Broadcast(..) => "broadcast",
            Self::Direct(..) => "direct",
            Self::Task(..) => "task",
        })
    }
}

impl Running {
    /// Begins.
    #[inline(always)]
    pub(super) fn begin(&mut self, group: &Group, buffers: &mut Buffers) -> Result<Begun> {
        Ok(match self {
            Self::Sync(sync) => begin_sync(sync, group)?,
            Self::Exchange(exchange, _) => {
                exchange.begin(group, buffers)?;
                if exchange.is_over() && !exchange.is_collect() {
                    Begun::Ended
                } else {
                    exchange.last_wait(group).map_or(Begun::Owes, takes)
                }
            }
            Self::Broadcast(broadcast, _) => {
                broadcast.begin(group)?;
                broadcast_begun(broadcast, group)
            }
            Self::Quick(..) | Self::Direct(..) | Self::Task(..) => Begun::Owes,
        })
    }

    /// What is shown of it where this PE's activity is asked for.
    pub(super) fn activity(&self, group: &Group, number: u64) -> Option<Activity> {
        match self {
            Self::Task(_, Shown::As(activity), _) => Some(named(*activity, group, number)),
            Self::Task(_, Shown::Nothing, _) => None,
            _ => Some(named(self.signature().activity(), group, number)),
        }
    }

    /// Whether the program does not wait for it, and others may never come to it: the end of a team
    /// whose last handle was dropped, or a call that is refused here.
    pub(super) fn is_background(&self) -> bool {
        match self {
            Self::Task(_, Shown::Nothing, _) => true,
            Self::Task(_, _, signature) => signature.is_refused(),
            _ => false,
        }
    }

    pub(super) fn signature(&self) -> Signature {
        match self {
            Self::Sync(_) => Signature::named("sync"),
            Self::Quick(quick, _) => quick.signature(),
            Self::Exchange(exchange, _) => exchange.signature(),
            Self::Broadcast(broadcast, _) => broadcast.signature(),
            Self::Direct(_, signature, _) | Self::Task(_, _, signature) => *signature,
        }
    }
}

/// An activity as the collective of the team with that number.
pub(super) fn named(activity: Activity, group: &Group, number: u64) -> Activity {
    let mut named = Activity::collective(activity.call, group.id, number);
    named.args = activity.args;
    named
}
