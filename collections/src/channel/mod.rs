//! [`Channel`] and [`Broadcast`]: messages from many PEs to one, and from one to all.
//!
//! The memory of a channel is a ring of words for each *lane*: a PE that sends to one that
//! receives. A sender puts words into the ring with a signal that adds to the lane's *tail*, by
//! which the receiver wakes. The receiver copies them out and adds to the *head* at the sender,
//! now and then, by which a sender wakes that has filled the ring. Heads and tails are counts that
//! only grow, so that it does not matter in which order they are added to.

mod codec;
mod receiver;
mod sender;

use std::sync::Arc;

use oxshmem_base::Result;
use oxshmem_ops::{Context, ContextOptions};
use oxshmem_spaces::{Element, SymSlice};
use oxshmem_teams::Team;

pub use self::{
    codec::{Codec, Plain, Serde},
    receiver::Receiver,
    sender::Sender,
};
use self::{receiver::Lane, sender::Outlet};
use crate::Home;

/// What a receiver that is gone adds to the head of each lane.
const GONE: u64 = 1 << 62;

/// A channel from all PEs to one.
///
/// Each PE has a [`Sender`], which is a [`Sink`](futures::Sink), and the one PE has the
/// [`Receiver`], which is a [`Stream`](futures::Stream). Messages of a PE arrive in their order,
/// and those of different PEs in any. No PE has to be in a call of the library for a message to get
/// to it.
///
/// ```
/// use futures::StreamExt;
/// use oxshmem::{collections::Channel, prelude::*};
///
/// LocalCluster::run(4, |world| async move {
///     let (sender, receiver) = Channel::to(&world, 0, 100).await?;
///     sender.send(world.my_pe() as u64).await?;
///     drop(sender); // or the receiver waits for more
///     if let Some(mut receiver) = receiver {
///         let mut sum = 0;
///         while let Some(message) = receiver.next().await {
///             sum += message?;
///         }
///         assert_eq!(sum, 1 + 2 + 3);
///     }
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Channel;

impl Channel {
    /// A channel of plain data to PE `to` of a world or a space, with room for `capacity` messages
    /// of each PE. Collective over them.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed`.
    ///
    /// # Panics
    /// If there is no such PE, or no capacity.
    pub async fn to<T: Element>(
        home: &impl Home,
        to: usize,
        capacity: usize,
    ) -> Result<(Sender<T>, Option<Receiver<T>>)> {
        Self::with_codec(home, to, words_of::<T>(capacity)).await
    }

    /// A channel of anything that `serde` knows, or that another [`Codec`] does, with room for
    /// `words` of 8 bytes of each PE. A message may be longer than that.
    ///
    /// # Errors
    /// The errors of [`to`](Self::to).
    ///
    /// # Panics
    /// If there is no such PE, or no room.
    ///
    /// ```
    /// # use futures::StreamExt;
    /// # use oxshmem::{collections::{Channel, Serde}, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let (sender, receiver) = Channel::with_codec::<String, Serde<_>>(&world, 1, 1000).await?;
    /// sender.send(format!("from PE {}", world.my_pe())).await?;
    /// drop(sender);
    /// if let Some(mut receiver) = receiver {
    ///     while let Some(message) = receiver.next().await {
    ///         assert!(message?.starts_with("from PE "));
    ///     }
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn with_codec<T, C: Codec<T>>(
        home: &impl Home,
        to: usize,
        words: usize,
    ) -> Result<(Sender<T, C>, Option<Receiver<T, C>>)> {
        let memory = Memory::new(home, words, |n| n, |_| 1).await?;
        let (me, n) = (memory.team.my_pe(), memory.team.n_pes());
        assert!(to < n, "PE {to} of {n} is to receive");
        let lanes = (0..n).map(|pe| Lane::new(pe, pe, 0));
        let receiver = (me == to).then(|| Receiver::new(&memory, lanes.collect()));
        Ok((Sender::new(Outlet::new(&memory, me, vec![to])), receiver))
    }
}

/// A channel from one PE to all: each message arrives at each PE.
///
/// The one PE has a [`Sender`], which waits for the slowest of the others when their room is
/// used up, and each PE has a [`Receiver`], the sender's too.
///
/// ```
/// use futures::StreamExt;
/// use oxshmem::{collections::Broadcast, prelude::*};
///
/// LocalCluster::run(3, |world| async move {
///     let (sender, mut receiver) = Broadcast::from(&world, 0, 16).await?;
///     if let Some(sender) = sender {
///         sender.send([0.5, 1.5]).await?;
///     }
///     assert_eq!(receiver.next().await.transpose()?, Some([0.5, 1.5]));
///     assert!(receiver.next().await.is_none()); // the sender was dropped
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Broadcast;

impl Broadcast {
    /// A channel of plain data from PE `from` of a world or a space, with room for `capacity`
    /// messages at each PE. Collective over them.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed`.
    ///
    /// # Panics
    /// If there is no such PE, or no capacity.
    pub async fn from<T: Element>(
        home: &impl Home,
        from: usize,
        capacity: usize,
    ) -> Result<(Option<Sender<T>>, Receiver<T>)> {
        Self::with_codec(home, from, words_of::<T>(capacity)).await
    }

    /// A channel of what a [`Codec`] knows, with room for `words` of 8 bytes at each PE. A message
    /// may be longer than that.
    ///
    /// # Errors
    /// The errors of [`from`](Self::from).
    ///
    /// # Panics
    /// If there is no such PE, or no room.
    pub async fn with_codec<T, C: Codec<T>>(
        home: &impl Home,
        from: usize,
        words: usize,
    ) -> Result<(Option<Sender<T, C>>, Receiver<T, C>)> {
        let memory = Memory::new(home, words, |_| 1, |n| n).await?;
        let (me, n) = (memory.team.my_pe(), memory.team.n_pes());
        assert!(from < n, "PE {from} of {n} is to send");
        let receiver = Receiver::new(&memory, vec![Lane::new(0, from, me)]);
        let sender = (me == from).then(|| Sender::new(Outlet::new(&memory, 0, (0..n).collect())));
        Ok((sender, receiver))
    }
}

/// The words that this many messages of plain data take.
fn words_of<T: Element>(capacity: usize) -> usize {
    capacity * size_of::<T>().div_ceil(size_of::<u64>()).max(1)
}

/// The symmetric memory of a channel, and what reaches it.
#[derive(Clone, Debug)]
struct Memory {
    team: Team,
    ctx: Arc<Context>,
    /// Words of a ring.
    room: usize,
    /// A ring for each lane, at the receiver.
    rings: SymSlice<u64>,
    /// The tail of each lane, then its end: one more than all words that it has, if it has one.
    marks: SymSlice<u64>,
    /// At the sender: the head for each receiver.
    heads: SymSlice<u64>,
}

impl Memory {
    async fn new(
        home: &impl Home,
        room: usize,
        lanes: impl Fn(usize) -> usize,
        receivers: impl Fn(usize) -> usize,
    ) -> Result<Self> {
        assert!(room > 0, "a channel has room for something");
        let team = home.home_team();
        let n = team.n_pes();
        let rings = home.allocate(lanes(n) * room).await?;
        let marks = home.allocate(2 * lanes(n)).await?;
        let heads = home.allocate(receivers(n)).await?;
        let ctx = Arc::new(team.create_context(ContextOptions::new())?);
        Ok(Self { team, ctx, room, rings, marks, heads })
    }

    fn lanes(&self) -> usize {
        self.marks.len() / 2
    }
}
