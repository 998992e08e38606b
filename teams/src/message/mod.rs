//! What a PE knows of the other hosts of its team, and of the messages to and from them.
//!
//! How they are sent is in [`hosts`](crate::hosts), which needs the team's group. This does not.

pub(crate) mod buffer;
pub(crate) mod call_check;
pub(crate) mod kept;
mod nodes;

use std::{
    pin::Pin,
    sync::{Arc, atomic::AtomicU64},
    task::{Context, Poll},
};

use oxshmem_base::{Hosts, Result};
use oxshmem_ops::Members;
use oxshmem_progress::flight::Flight;

use self::{buffer::Pool, call_check::CallCheck, kept::Loans, nodes::Nodes};

/// A team, as one of its members sees it.
#[derive(Debug)]
pub(crate) struct Wide {
    pub(crate) members: Members,
    pub(crate) my_pe: usize,
    pub(crate) place: usize,
    pub(crate) nodes: Nodes,
    /// Which of them this PE is in.
    pub(crate) node: usize,
    /// That one.
    pub(crate) here: Members,
    /// How many members the host with the most has.
    pub(crate) most: usize,
    /// How many collectives have begun, and the number of the last exchange of messages.
    pub(crate) collectives: AtomicU64,
    pub(crate) exchanges: AtomicU64,
    /// The digest of what is called now.
    pub(crate) digest: AtomicU64,
    pub(crate) pool: Arc<Pool>,
    pub(crate) call_check: CallCheck,
    /// What a network has of the symmetric memory.
    pub(crate) loans: Arc<Loans>,
}

impl Wide {
    pub(crate) fn new(hosts: &Arc<Hosts>, members: Members, my_pe: usize, place: usize) -> Self {
        let nodes = Nodes::new(hosts, &members);
        // This PE is one of the members.
        let node = nodes.on_host(hosts.host_of(members.world_pe(my_pe)));
        let most = nodes.iter().map(|node| node.n()).max().unwrap_or_default();
        let here = nodes.of(node);
        let pool = Arc::new(Pool::default());
        Self {
            members,
            my_pe,
            place,
            nodes,
            node,
            here,
            most,
            collectives: AtomicU64::new(0),
            exchanges: AtomicU64::new(0),
            digest: AtomicU64::new(0),
            call_check: CallCheck::new(&pool),
            pool,
            loans: Arc::default(),
        }
    }

    /// All members of the team.
    pub(crate) fn members(&self) -> &Members {
        &self.members
    }

    /// The number in the team of a member on this host, of which others know only the number there.
    pub(crate) fn number(&self, pe: usize) -> usize {
        self.here.world_pe(pe)
    }

    /// How many hosts the team is on.
    pub(crate) fn n_hosts(&self) -> usize {
        self.nodes.n()
    }

    /// The leader of a host, by its number in the team.
    pub(crate) fn leader(&self, node: usize) -> usize {
        self.nodes.leader(node)
    }

    /// Whether the members on a host have successive numbers.
    pub(crate) fn is_block(&self, node: usize) -> bool {
        let pes = self.nodes.of(node);
        pes.world_pe(pes.n() - 1) + 1 - pes.world_pe(0) == pes.n()
    }
}

/// A message on its way, or one that has left. It goes on if this is dropped.
#[derive(Debug)]
#[must_use = "it has arrived once this is awaited"]
pub(crate) enum Message<T> {
    Aloft(Arc<Flight<Result<T>>>),
    Left(Result<T>),
    Taken,
}

impl<T: Unpin> Future for Message<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Self::Aloft(flight) = &*self {
            return flight.poll(cx);
        }
        match std::mem::replace(&mut *self, Self::Taken) {
            Self::Left(outcome) => Poll::Ready(outcome),
            Self::Aloft(_) | Self::Taken => panic!("a message was awaited after it had come"),
        }
    }
}
