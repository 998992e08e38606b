//! The queue of the PEs at one lock in a job that goes on when a PE is lost: how a PE enters it,
//! tries to, and leaves it.
//!
//! The queue of [`queue`](super::queue) cannot lose a PE: its state is spread over the nodes of its
//! PEs. Here the word on the home PE has all that decides which PE has the lock, and each step is
//! one compare-and-swap of that word: it happened or it did not, whichever PE dies next.
//!
//! | bits of the home PE's word | name | what |
//! |---|---|---|
//! | 0 to 15 | `next` | while the home PE is in the queue: which PE is behind it |
//! | 16 to 31 | `last` | the last PE of the queue |
//! | 32 to 46 | `owner` | which PE has the lock |
//! | 47 | `abandoned` | an owner was lost, and no task has learned of it yet |
//! | 48 to 63 | `view` | the losses that the queue knows of |
//!
//! | bytes of the other PEs' words | name | what |
//! |---|---|---|
//! | 0 to 3 | `rings` | bit 0: the lock is this PE's; above it, how often another has rung it |
//! | 4 to 7 | `behind` | which PE is behind it, and above that, in 16 bits, in which view |
//!
//! A PE is named by its number plus one. All of it is zero for a free lock in a job without losses.
//!
//! A PE that enters makes itself the last one, then names itself in `behind` of the one before. The
//! owner makes the PE behind it the owner, then rings it. A ring says no more than "look at the
//! home PE's word", so that one too many, or one that comes late, does nothing.
//!
//! *A loss.* A PE that knows of a loss and finds a word of an earlier view puts the queue into its
//! own view: the owner stays, or, if it is lost, the PE itself becomes the owner, and all others
//! are out of the queue. They wake with the loss, find the new view, and enter again, in any order.
//! So no PE ever waits for what a lost PE was to do: to name itself, or to ring.
//!
//! *Why the lock is never two PEs'.* The owner alone names another, except for an owner that is
//! lost, which is dead before any PE knows it. What such a PE sent to the home PE may come after
//! its loss is known elsewhere: it changes nothing once the word is of the new view, and is seen
//! like anything else before. In `behind`, an entry of an older view never replaces a newer one.
//!
//! *What a lost owner has written.* A PE that knows of the loss takes nothing more from it. So a PE
//! that gets an abandoned lock waits until all others know of it: then nothing that the lost PE
//! began can arrive any more.
//!
//! *A lost home PE.* The lock is lost with it: all operations fail.
//!
//! Nothing here knows of threads, wakers or cancellation. So the tests run it in every
//! interleaving, with PEs that die between any two steps.

use oxshmem_base::Result;

/// The most PEs that the words have room for.
pub(super) const MAX_PES: usize = (1 << 15) - 2;

/// In `rings`: the lock is this PE's.
pub(super) const HELD: u32 = 1;
/// What a ring adds to `rings`.
pub(super) const RING: u32 = 2;

/// OwnHalf of a PE's own word; on the home PE, all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnHalf {
    Rings,
    Behind,
}

/// The words of one lock, as one PE reaches them.
pub(super) trait LastingWords: Send + Sync {
    /// This PE's name.
    fn name(&self) -> u16;
    /// That of the lock's home PE.
    fn home_name(&self) -> u16;
    /// How many losses this PE knows of.
    fn view(&self) -> u16;
    /// Whether the PE of this name was lost behind the first view, and up to the second: it may
    /// have a replacement.
    fn was_lost(&self, name: u16, views: [u16; 2]) -> bool;
    /// Replaces the home PE's word if it is `cond`, and returns what it was.
    fn replace_home(&self, cond: u64, value: u64) -> impl Future<Output = Result<u64>> + Send;
    /// This PE's own half, or, on the home PE, the word.
    fn fetch_own(&self, half: OwnHalf) -> impl Future<Output = Result<u64>> + Send;
    /// Has no PE behind this one. Not on the home PE.
    fn clear_behind(&self) -> impl Future<Output = Result<()>> + Send;
    /// Replaces `behind` of the PE of this name if it is `cond`, and returns what it was; `None` if
    /// the PE is lost.
    fn replace_behind(
        &self,
        name: u16,
        cond: u32,
        value: u32,
    ) -> impl Future<Output = Result<Option<u32>>> + Send;
    /// Rings the PE of this name, unless it is lost.
    fn ring(&self, name: u16) -> impl Future<Output = Result<()>> + Send;
    /// Ready when this PE's own half is not `seen` any more, or when a loss behind `view` is known.
    /// The wait is for the PE of this name, if that is known.
    fn wait(
        &self,
        half: OwnHalf,
        seen: u64,
        view: u16,
        before: Option<u16>,
    ) -> impl Future<Output = Result<()>> + Send;
    /// Ready when all PEs know of the losses up to this view.
    fn wait_known(&self, view: u16) -> impl Future<Output = Result<()>> + Send;
}

/// The home PE's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Queue {
    view: u16,
    abandoned: bool,
    owner: u16,
    last: u16,
    next: u16,
}

impl Queue {
    fn of(word: u64) -> Self {
        let field = |shift: u32| (word >> shift) as u16;
        let owner = field(32);
        Self {
            view: field(48),
            abandoned: owner >> 15 != 0,
            owner: owner & 0x7fff,
            last: field(16),
            next: field(0),
        }
    }

    fn word(self) -> u64 {
        let owner = self.owner | u16::from(self.abandoned) << 15;
        u64::from(self.view) << 48
            | u64::from(owner) << 32
            | u64::from(self.last) << 16
            | u64::from(self.next)
    }

    fn free(view: u16) -> Self {
        Self { view, ..Self::default() }
    }

    /// The lock is the PE's of this name, and none waits.
    fn alone(view: u16, name: u16) -> Self {
        Self { view, owner: name, last: name, ..Self::default() }
    }

    /// It in a view that is no earlier: the owner stays, and others enter again.
    fn in_view(self, view: u16) -> Self {
        if self.view >= view { self } else { Self { view, last: self.owner, next: 0, ..self } }
    }
}

/// Whether the lock is the PE's of this name, by the home PE's word.
pub(super) fn is_owner(word: u64, name: u16) -> bool {
    Queue::of(word).owner == name
}

/// How a PE got a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Got {
    /// A PE that had it was lost, and no task has learned of it.
    pub(super) abandoned: bool,
}

/// Queues up, and returns when the lock is this PE's; `None` if it `tries` and would have to wait.
pub(super) async fn enter(words: &impl LastingWords, tries: bool) -> Result<Option<Got>> {
    let me = words.name();
    if me != words.home_name() {
        words.clear_behind().await?;
    }
    // In which view it is in the queue, and behind which PE.
    let mut place = None;
    let queue = loop {
        // What happens behind these two ends the wait below.
        let view = words.view();
        let seen = words.fetch_own(OwnHalf::Rings).await?;
        let (free, mine) = (Queue::free(view), Queue::alone(view, me));
        let found = words.replace_home(free.word(), mine.word()).await?;
        if found == free.word() {
            break mine;
        }
        let before = Queue::of(found).view;
        let queue = Queue::of(found).in_view(view);
        let is_left = queue.owner != 0 && words.was_lost(queue.owner, [before, view]);
        // If it is left, this PE is a replacement of the owner.
        if queue.owner == me && !is_left {
            break queue;
        }
        if queue.owner == 0 || is_left {
            let mine = Queue { abandoned: queue.abandoned || is_left, ..Queue::alone(queue.view, me) };
            if words.replace_home(found, mine.word()).await? == found {
                break mine;
            }
            continue;
        }
        if tries {
            return Ok(None);
        }
        let before = match place {
            Some((entered, before)) if entered == queue.view => before,
            _ => {
                let before = queue.last;
                let next = if before == words.home_name() { me } else { queue.next };
                let entered = Queue { last: me, next, ..queue };
                if words.replace_home(found, entered.word()).await? != found {
                    continue;
                }
                place = Some((queue.view, before));
                if before != words.home_name() {
                    follow(words, before, queue.view).await?;
                }
                before
            }
        };
        words.wait(OwnHalf::Rings, seen, view, Some(before)).await?;
    };
    if queue.abandoned {
        words.wait_known(queue.view).await?;
    }
    Ok(Some(Got { abandoned: queue.abandoned }))
}

/// Names this PE as the one behind another, unless a later view has come there.
async fn follow(words: &impl LastingWords, before: u16, view: u16) -> Result<()> {
    let entry = u32::from(view) << 16 | u32::from(words.name());
    let mut cond = 0;
    while let Some(found) = words.replace_behind(before, cond, entry).await?
        && found != cond
        && (found >> 16) as u16 <= view
    {
        cond = found;
    }
    Ok(())
}

/// Passes the lock on to the next PE, or leaves it free if there is none. That it was abandoned is
/// for the next PE to know, unless a task knows it.
pub(super) async fn leave(words: &impl LastingWords, is_known: bool) -> Result<()> {
    let (me, home) = (words.name(), words.home_name());
    loop {
        let view = words.view();
        let seen = words.fetch_own(OwnHalf::Behind).await?;
        let alone = Queue::alone(view, me).word();
        let found = words.replace_home(alone, Queue::free(view).word()).await?;
        if found == alone {
            return Ok(());
        }
        let queue = Queue::of(found).in_view(view);
        let kept = Queue { abandoned: queue.abandoned && !is_known, ..queue };
        let (entry_view, entry_name) = ((seen >> 16) as u16, seen as u16);
        let next = if queue.last == me {
            0
        } else if me == home {
            queue.next
        } else if entry_view == queue.view && entry_name != 0 {
            entry_name
        } else {
            // It has entered, and is about to name itself.
            words.wait(OwnHalf::Behind, seen, view, None).await?;
            continue;
        };
        let left = match next {
            0 => Queue { owner: 0, last: 0, next: 0, ..kept },
            next => Queue { owner: next, next: if me == home { 0 } else { kept.next }, ..kept },
        };
        if words.replace_home(found, left.word()).await? == found {
            // A change of the word is ring enough for the home PE.
            if next != 0 && next != home {
                words.ring(next).await?;
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
