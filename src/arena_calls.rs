//! Collective calls on a heap: each is an agreement among the team, a change of every PE's heap,
//! and a sync.

use std::sync::Arc;

use futures::{
    FutureExt,
    future::{Either, Ready, ready},
};
use oxshmem_base::{Error, Result, settings::CheckAlloc};
use oxshmem_spaces::{
    Element, Hints, SymSlice,
    allocation::Allocation,
    heap::{Block, Layout},
};
use oxshmem_teams::{Group, Outcome, sync::sync_in};

use crate::{
    Rejected,
    arena::Arena,
    memory::{MemoryCall, REFUSED},
};

/// An allocation: of nothing, or of something by all PEs.
type Allocating = Either<Ready<Result<Arc<Allocation>>>, Outcome<Arc<Allocation>>>;

impl Arena {
    pub(crate) fn alloc<T: Element>(
        self: &Arc<Self>,
        name: &'static str,
        len: usize,
        align: usize,
        hints: Hints,
        zeroed: bool,
    ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        let begun = self.begin_alloc::<T>(name, len, align, hints, zeroed);
        async move { Ok(SymSlice::new(begun?.await?, len)) }
    }

    fn begin_alloc<T: Element>(
        self: &Arc<Self>,
        name: &'static str,
        len: usize,
        align: usize,
        hints: Hints,
        zeroed: bool,
    ) -> Result<Allocating> {
        self.pe().check(name)?;
        let bytes = len.saturating_mul(size_of::<T>());
        if !align.is_power_of_two() {
            if bytes > 0 {
                self.tell_refusal(name);
            }
            return Err(Error::InvalidAlignment { call: name, align });
        }
        let align = align.max(align_of::<T>());
        if bytes == 0 {
            return Ok(Either::Left(ready(Ok(Allocation::empty(&self.heap)))));
        }
        let layout = Layout { bytes, align, hints };
        let call = self.call(name, bytes, align, hints, u64::from(zeroed));
        let shared = Arc::clone(self);
        Ok(Either::Right(self.team().run(name, move |group| async move {
            // SAFETY: collective, and all PEs have agreed that they call the same, or the program
            // vouches for it by `SHMEM_CHECK_ALLOC`.
            let alloc = || unsafe { shared.heap.alloc(name, layout, zeroed) };
            call.reclaiming(&group, &shared, alloc).await
        })))
    }

    pub(crate) fn call(
        &self,
        name: &'static str,
        bytes: usize,
        align: usize,
        hints: Hints,
        flags: u64,
    ) -> MemoryCall {
        MemoryCall { name, bytes, align, hints, flags, heap: self.heap.id() as u64 }
    }

    pub(crate) fn realloc<T: Element>(
        self: &Arc<Self>,
        slice: SymSlice<T>,
        len: usize,
    ) -> impl Future<Output = Result<SymSlice<T>, Rejected<SymSlice<T>>>> + Send + use<T> {
        let name = "realloc";
        if let Err(error) = self.pe().check(name) {
            return ready(Err(Rejected { error, buffer: slice })).boxed();
        }
        let bytes = len.saturating_mul(size_of::<T>());
        let was_empty = slice.allocation().block().is_none();
        if bytes == 0 || was_empty {
            // Without elements it involves no other PE.
            let fresh = self.alloc("alloc", len, align_of::<T>(), Hints::NONE, false);
            return async { fresh.await.map_err(|error| Rejected { error, buffer: slice }) }.boxed();
        }
        let old_bytes = slice.len() * size_of::<T>();
        let whole = slice.is_whole();
        let (align, hints) =
            slice.allocation().block().map_or((1, Hints::NONE), |block| (block.align, block.hints));
        let layout = Layout { bytes, align, hints };
        let call = self.call(name, bytes, old_bytes, hints, 2);
        let shared = Arc::clone(self);
        let resized = self.team().run(name, move |group| async move {
            let used = shared.blocks_in_use_elsewhere();
            let sole = whole
                && Arc::strong_count(slice.allocation()) == 1
                && slice.allocation().block().is_none_or(|block| !used.contains(&block.id));
            let alone = match call.agree(&group, &shared, sole).await {
                Ok(alone) => alone,
                // Others may have agreed: the place where it is may be free there.
                Err(error @ Error::PeLost { .. }) => return Err(error),
                Err(error) => return Ok(Err((error, slice))),
            };
            if alone {
                // SAFETY: as above, and each PE has voted that it has the only handle.
                let resize = |block| unsafe { shared.heap.realloc(name, block, bytes) };
                let resized = resize(slice.into_allocation());
                let resized = match resized {
                    Err((Error::HeapExhausted { .. }, old)) => {
                        call.reclaim_all(&group, &shared).await?;
                        resize(old)
                    }
                    other => other,
                };
                sync_in(&group).await?;
                return Ok(
                    resized.map_err(|(error, old)| (error, SymSlice::new(old, old_bytes / size_of::<T>())))
                );
            }
            // SAFETY: collective, and all PEs have agreed that they call the same, or the program
            // vouches for it by `SHMEM_CHECK_ALLOC`.
            let alloc = || unsafe { shared.heap.alloc(name, layout, false) };
            match call.reclaiming(&group, &shared, alloc).await {
                Ok(allocation) => {
                    let fresh = SymSlice::<T>::new(Arc::clone(&allocation), len);
                    let both = len.min(slice.len());
                    fresh.slice(..both).write(&slice.slice(..both).to_vec());
                    sync_in(&group).await?;
                    Ok(Ok(allocation))
                }
                Err(error) => Ok(Err((error, slice))),
            }
        });
        let nothing = Arc::clone(self);
        let ended = async move {
            match resized.await {
                Ok(Ok(allocation)) => Ok(SymSlice::new(allocation, len)),
                Ok(Err((error, buffer))) => Err(Rejected { error, buffer }),
                Err(error) => Err(nothing.given_up(error)),
            }
        };
        ended.boxed()
    }

    pub(crate) fn free<T: Element>(
        self: &Arc<Self>,
        slice: SymSlice<T>,
    ) -> impl Future<Output = Result<(), Rejected<SymSlice<T>>>> + Send + use<T> {
        let block = slice.allocation().block().copied();
        drop(slice);
        let freed = block.map(|block| (self.begin_free(block), Arc::clone(self)));
        async move {
            match freed {
                Some((freed, arena)) => freed.await.map_err(|error| arena.given_up(error)),
                None => Ok(()),
            }
        }
    }

    /// The end of a call that failed when its slice was given up already.
    fn given_up<T: Element>(&self, error: Error) -> Rejected<SymSlice<T>> {
        Rejected { error, buffer: SymSlice::new(Allocation::empty(&self.heap), 0) }
    }

    /// Has the other PEs learn that this one has refused a call for which they may wait.
    #[cold]
    pub(crate) fn tell_refusal(self: &Arc<Self>, name: &'static str) {
        // Where calls are not compared, the others would go on without this PE.
        if self.pe().settings().check_alloc != CheckAlloc::Error {
            return;
        }
        let (call, shared) = (self.call(name, 0, 0, Hints::NONE, REFUSED), Arc::clone(self));
        let refusal = self
            .team()
            .run(name, move |group| async move { call.agree(&group, &shared, true).await.map(drop) });
        // It goes on by itself.
        drop(refusal);
    }

    fn begin_free(self: &Arc<Self>, block: Block) -> Outcome<()> {
        let call = self.call("free", block.bytes, block.offset, Hints::NONE, 4);
        let shared = Arc::clone(self);
        let free = move |group: Arc<Group>| async move { call.free(&group, &shared, block.id).await };
        self.team().run("free", free)
    }
}
