//! A wait of a PE for others of its team, which ends if these have called something else.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use oxshmem_base::Result;
use oxshmem_ops::{Cmp, wait::WordWait};
use oxshmem_spaces::Pe;

use crate::group::{Flag, Group, is_come};

/// A wait for one number of the scratch memory after the other.
#[derive(Debug, Default)]
pub(crate) struct NumberWait {
    wait: WordWait,
    /// While it watches.
    pe: Option<Arc<Pe>>,
}

impl Drop for NumberWait {
    #[inline(always)]
    fn drop(&mut self) {
        // That of a collective that ends before, as a PE is lost.
        if let Some(pe) = &self.pe {
            self.wait.end_of(pe);
        }
    }
}

impl NumberWait {
    /// Ready when the word at `place` of this PE has come to `number`. The first look may spin.
    /// Asks for the waker only if there is something to wait for.
    #[inline(always)]
    pub(crate) fn poll(
        &mut self,
        group: &Group,
        place: usize,
        number: u64,
        waker: &dyn Fn() -> Waker,
    ) -> Poll<Result<()>> {
        if self.is_unwatched() && group.has_come(place, number) {
            return Poll::Ready(Ok(()));
        }
        self.poll_slowly(group, place, number, waker)
    }

    #[inline(never)]
    fn poll_slowly(
        &mut self,
        group: &Group,
        place: usize,
        number: u64,
        waker: &dyn Fn() -> Waker,
    ) -> Poll<Result<()>> {
        let word = group.word(place);
        let seen = match self.wait.look(word, Cmp::Ge, number) {
            Some(seen) => Ok(seen),
            None => match self.wait.watch(word, Cmp::Ge, number, &waker()) {
                Poll::Pending => {
                    self.pe.get_or_insert_with(|| Arc::clone(group.pe()));
                    return Poll::Pending;
                }
                Poll::Ready(seen) => seen,
            },
        };
        self.wait.end(word);
        self.pe = None;
        Poll::Ready(seen.and_then(|seen| if is_come(seen, number) { Ok(()) } else { Err(group.poisoned()) }))
    }

    /// Whether nothing is watched.
    #[inline(always)]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.wait.is_unwatched()
    }
}

impl Group {
    /// Waits inside of a task until a flag of this PE has come to `number`.
    pub(crate) async fn wait(&self, flag: Flag, number: u64) -> Result<()> {
        let mut wait = NumberWait::default();
        poll_fn(|cx| wait.poll(self, flag.place(), number, &|| cx.waker().clone())).await
    }
}
