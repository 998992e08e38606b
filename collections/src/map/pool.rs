//! Nodes of several words on each PE, for keys and values that are longer than a word.
//!
//! A node is written while no word of the table names it. Then one compare-and-swap makes it known,
//! and gives its writer the node that was known before. So no PE ever holds what others wait for.
//!
//! The nodes of a PE that are free are a stack in its memory. Its head has the number of the first
//! and a count of changes, without which a head that has come back would be taken for one that has
//! stayed. The first word of a free node has the number of the next plus 1, or 0 for the node
//! behind it: memory of zeros is a stack of all nodes.
//!
//! Each PE keeps some free nodes of each other at hand, and has a limited number of operations at a
//! time that take nodes. The pool has nodes for both beside those in use. It does not run out,
//! unless PEs are lost and replaced many times: what they had comes back with `grow` and `clear`
//! alone.
//!
//! One operation of a PE at a time takes nodes from a stack: of several that try at once only one
//! succeeds. Nodes that were never in use follow each other, so it takes several of them by one
//! compare-and-swap.
//!
//! A future may be dropped while its node is being written or made known. What is under way is kept
//! with the node then, and completed before the next operation that takes a node.

use std::{
    future::poll_fn,
    mem,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context as TaskContext, Poll},
};

use futures::lock::Mutex as AsyncMutex;
use oxshmem_base::{Error, Result, wakes::StoredWaker};
use oxshmem_ops::{
    Context,
    operation::{Fetch, PutNbi},
};
use oxshmem_spaces::{SymRef, SymSlice, SymView};

use crate::Home;

/// How many operations of a PE at a time have nodes of one other.
const PERMITS: usize = 16;

/// How many free nodes of one other PE a PE keeps at hand.
const AT_HAND: usize = 8;

#[derive(Debug)]
pub(super) struct Pool {
    /// The head, and then the nodes.
    words: SymSlice<u64>,
    /// Words of a node.
    width: usize,
    /// Nodes of each PE.
    nodes: usize,
    /// What this PE has of each PE.
    mine: Vec<Mutex<Mine>>,
    /// For each PE, what the operation has that takes nodes from its stack.
    taking: Vec<AsyncMutex<()>>,
}

/// What a PE has of the nodes of another.
#[derive(Debug)]
struct Mine {
    free: Vec<u32>,
    /// Whether several are being taken at once.
    coming: bool,
    permits: usize,
    /// Operations, with a permit each, whose futures were dropped.
    dropped: Vec<(Option<u32>, UnderWay)>,
    /// Of those that wait for a permit.
    wakers: Vec<StoredWaker>,
}

/// What may be under way when a future is dropped.
#[derive(Debug)]
enum UnderWay {
    Writing(PutNbi<Vec<u64>>),
    /// A compare-and-swap, and the nodes that are this PE's afterwards if it succeeds.
    Swapping {
        fetch: Fetch<u64>,
        expected: u64,
        won: Range<u32>,
    },
}

/// A permit to have a node of a PE, with the node.
#[derive(Debug)]
pub(super) struct Spare<'a> {
    pool: &'a Pool,
    pe: usize,
    node: Option<u32>,
    under_way: Option<UnderWay>,
}

impl Pool {
    /// Nodes of `bytes` bytes, of which up to `in_use` are in use at a time on each PE. Collective.
    pub(super) async fn new(home: &impl Home, bytes: usize, in_use: usize) -> Result<Self> {
        let (n, width) = (home.home_team().n_pes(), bytes.div_ceil(8));
        // An operation may put one back and gain another. One may gain several.
        let nodes = in_use + n * (2 * PERMITS + 2 * AT_HAND);
        let words = home.allocate(1 + nodes * width).await?;
        let mine = std::iter::repeat_with(|| Mutex::new(Mine::new())).take(n).collect();
        let taking = std::iter::repeat_with(AsyncMutex::default).take(n).collect();
        Ok(Self { words, width, nodes, mine, taking })
    }

    /// The words of a node.
    pub(super) fn node(&self, node: u32) -> SymView<'_, u64> {
        let start = 1 + node as usize * self.width;
        self.words.slice(start..start + self.width)
    }

    /// Has no node in use. All PEs do this while none uses any.
    pub(super) fn reset(&mut self) {
        self.words.view().fill(0);
        self.mine.iter_mut().for_each(|mine| *mine = Mutex::new(Mine::new()));
    }

    /// A permit to have a node of `pe`.
    pub(super) async fn spare(&self, ctx: &Context, pe: usize) -> Result<Spare<'_>> {
        loop {
            let mut spare = poll_fn(|cx| self.poll_permit(pe, cx)).await;
            if spare.under_way.is_some() {
                spare.settle().await?;
                continue;
            }
            spare.node = self.mine(pe).surplus();
            if spare.node.is_none() {
                return Ok(spare);
            }
            spare.push(ctx).await?;
        }
    }

    /// Ready with a permit; the one of an operation that was dropped comes with what is under way.
    fn poll_permit(&self, pe: usize, cx: &mut TaskContext<'_>) -> Poll<Spare<'_>> {
        // Not under the lock.
        let waker = StoredWaker::of(cx.waker());
        let mut mine = self.mine(pe);
        if let Some((node, under_way)) = mine.dropped.pop() {
            return Poll::Ready(Spare { pool: self, pe, node, under_way: Some(under_way) });
        }
        if mine.permits == 0 {
            mine.wakers.push(waker);
            return Poll::Pending;
        }
        mine.permits -= 1;
        Poll::Ready(Spare { pool: self, pe, node: None, under_way: None })
    }

    fn mine(&self, pe: usize) -> MutexGuard<'_, Mine> {
        // No panic leaves it half changed.
        self.mine[pe].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mine {
    fn new() -> Self {
        Self { free: Vec::new(), coming: false, permits: PERMITS, dropped: Vec::new(), wakers: Vec::new() }
    }

    /// A node that need not be kept at hand.
    fn surplus(&mut self) -> Option<u32> {
        if self.free.len() > AT_HAND { self.free.pop() } else { None }
    }
}

impl Spare<'_> {
    /// Writes its node, and returns the node's number.
    pub(super) async fn write(&mut self, ctx: &Context, words: Vec<u64>) -> Result<u32> {
        if self.node.is_none() {
            self.node = self.pool.mine(self.pe).free.pop();
        }
        let node = match self.node {
            Some(node) => node,
            None => self.take(ctx).await?,
        };
        self.under_way = Some(UnderWay::Writing(ctx.put_nbi(self.pool.node(node), words, self.pe)));
        self.settle().await?;
        Ok(node)
    }

    /// A compare-and-swap after which the spare has the first of the nodes `won` if it succeeds,
    /// and the others are at hand. Otherwise it has the one that it has now. It returns the word
    /// that was found.
    pub(super) async fn compare_swap(
        &mut self,
        ctx: &Context,
        at: SymRef<'_, u64>,
        [expected, word]: [u64; 2],
        won: Range<u32>,
    ) -> Result<u64> {
        self.pool.mine(self.pe).coming |= won.len() > 1;
        let fetch = ctx.compare_swap(at, expected, word, self.pe);
        self.under_way = Some(UnderWay::Swapping { fetch, expected, won });
        self.settle().await
    }

    /// Keeps the permit alone.
    pub(super) fn put_back(&mut self) {
        self.pool.mine(self.pe).free.extend(self.node.take());
    }

    /// Takes a node from those at hand or from the stack of its PE, in its turn.
    async fn take(&mut self, ctx: &Context) -> Result<u32> {
        let _turn = self.pool.taking[self.pe].lock().await;
        // The one before may have left some.
        let at_hand = self.pool.mine(self.pe).free.pop();
        match at_hand {
            Some(node) => Ok(*self.node.insert(node)),
            None => self.pop(ctx).await,
        }
    }

    /// Takes a node from the stack of its PE, or some that were never in use, if it comes to those.
    async fn pop(&mut self, ctx: &Context) -> Result<u32> {
        let (head, nodes) = (self.pool.words.at(0), self.pool.nodes as u32);
        let mut found = ctx.fetch(head, self.pe).await?;
        loop {
            let node = found as u32;
            if node >= nodes {
                // Lost PEs had them.
                return Err(Error::CollectionFull { what: "Map", capacity: self.pool.nodes });
            }
            let (end, next) = match ctx.fetch(self.pool.node(node).at(0), self.pe).await? {
                // All behind it were never in use either.
                0 => {
                    let several = if self.pool.mine(self.pe).coming { 1 } else { AT_HAND as u32 };
                    let end = nodes.min(node + several);
                    (end, end)
                }
                // If another PE has taken the node meanwhile, this is anything, and the head has
                // changed.
                link => (node + 1, (link as u32).wrapping_sub(1)),
            };
            let expected = found;
            found = self.compare_swap(ctx, head, [expected, changed(expected, next)], node..end).await?;
            if found == expected {
                return Ok(node);
            }
        }
    }

    /// Gives its node to the stack of its PE.
    async fn push(&mut self, ctx: &Context) -> Result<()> {
        let head = self.pool.words.at(0);
        let mut found = ctx.fetch(head, self.pe).await?;
        while let Some(node) = self.node {
            let link = u64::from(found as u32) + 1;
            let put = ctx.put_nbi(self.pool.node(node).slice(..1), vec![link], self.pe);
            self.under_way = Some(UnderWay::Writing(put));
            self.settle().await?;
            found = self.compare_swap(ctx, head, [found, changed(found, node)], 0..0).await?;
        }
        Ok(())
    }

    /// Completes what is under way, and returns the word that a compare-and-swap found.
    async fn settle(&mut self) -> Result<u64> {
        let outcome = match &mut self.under_way {
            Some(UnderWay::Writing(put)) => put.await.map(|_| 0).map_err(Error::from),
            Some(UnderWay::Swapping { fetch, .. }) => fetch.await,
            None => return Ok(0),
        };
        let swapped = match self.under_way.take() {
            Some(UnderWay::Swapping { expected, won, .. }) => Some((expected, won)),
            _ => None,
        };
        if let Some((_, won)) = &swapped
            && won.len() > 1
        {
            self.pool.mine(self.pe).coming = false;
        }
        match (swapped, &outcome) {
            (Some((expected, mut won)), Ok(found)) if *found == expected => {
                self.node = won.next();
                self.pool.mine(self.pe).free.extend(won);
            }
            (_, Ok(_)) => {}
            // What the node is now, nothing says: the PE is lost, or the world has ended.
            (_, Err(_)) => self.node = None,
        }
        outcome
    }
}

impl Drop for Spare<'_> {
    fn drop(&mut self) {
        let mut mine = self.pool.mine(self.pe);
        match self.under_way.take() {
            Some(under_way) => mine.dropped.push((self.node, under_way)),
            None => {
                mine.free.extend(self.node);
                mine.permits += 1;
            }
        }
        let wakers = mem::take(&mut mine.wakers);
        drop(mine);
        wakers.into_iter().for_each(StoredWaker::wake);
    }
}

/// A word that has changed once more, with this number below the count of changes.
pub(super) fn changed(word: u64, number: u32) -> u64 {
    ((word >> 32).wrapping_add(1) << 32) | u64::from(number)
}
