//! Waiting for one word: a look, a moment of spinning, then a watch that the engine looks after.
//! Meanwhile the PE's activity board shows what is waited for, for the diagnosis of hangs.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::{Extent, SegmentId};
use oxshmem_progress::{
    activity::{Activity, Awaited, Call, Place},
    executor::{Fired, Probe, ProbedWord, WatchKey},
    record::Slot,
};
use oxshmem_spaces::{Pe, SymRef};

use super::{cmp::Cmp, waitable::Waitable};

/// The state of a wait for one word, apart from the word: for state machines that have many waits
/// in turn. [`end`](Self::end) it before it is dropped or used for another word.
#[derive(Debug, Default)]
pub struct WordWait {
    /// Plain data, so that a wait that never watched has nothing to drop.
    watch: Option<(WatchKey, Place)>,
    /// How often the word may have changed before it was last looked at, if that is counted.
    changes: Option<u64>,
    /// Of a user's own wait: what is recorded of it. Plain data, too; there is none unless it
    /// watches.
    record: Slot,
}

impl WordWait {
    /// The word's value if it compares now, or, the first time, if it comes to while this PE may
    /// spin.
    #[inline(always)]
    pub fn look<T: Waitable>(&mut self, word: SymRef<'_, T>, cmp: Cmp, value: T) -> Option<T> {
        self.look_or(word, cmp, value, |wait| wait.spin(word, cmp, value))
    }

    /// Looks for a user's own wait, which is recorded if it does not compare at once.
    #[inline(always)]
    pub(super) fn look_recorded<T: Waitable>(
        &mut self,
        word: SymRef<'_, T>,
        cmp: Cmp,
        value: T,
    ) -> Option<T> {
        self.look_or(word, cmp, value, |wait| {
            wait.begin_record(word);
            let seen = wait.spin(word, cmp, value);
            if seen.is_some() {
                wait.end_record(word.as_view().pe());
            }
            seen
        })
    }

    /// The word's value if it compares now; otherwise, the first time, what `spin` finds.
    #[inline(always)]
    fn look_or<T: Waitable>(
        &mut self,
        word: SymRef<'_, T>,
        cmp: Cmp,
        value: T,
        spin: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        // A look that is no load takes long: once the word is watched, the engine looks.
        if let Some(seen) = glance(word)
            && cmp.holds(seen, value)
        {
            return Some(seen);
        }
        if self.watch.is_some() { None } else { spin(self) }
    }

    #[inline]
    fn begin_record<T: Waitable>(&mut self, word: SymRef<'_, T>) {
        let view = word.as_view();
        if self.record == Slot::NONE
            && let Some(recorder) = view.pe().recorder()
        {
            self.record = recorder.wait_begun(Call::WaitUntil, Some(view.extent()));
        }
    }

    #[inline]
    fn end_record(&mut self, pe: &Pe) {
        let record = std::mem::take(&mut self.record);
        if record != Slot::NONE {
            pe.complete_record(record);
        }
    }

    #[inline(never)]
    fn spin<T: Waitable>(&mut self, word: SymRef<'_, T>, cmp: Cmp, value: T) -> Option<T> {
        let view = word.as_view();
        let looked = || Some(look(word)).filter(|&seen| cmp.holds(seen, value));
        view.pe().engine().look_until(view.reader(), &mut self.changes, looked)
    }

    /// Has `waker` woken when the word compares, after [`look`](Self::look) has found that it does
    /// not. The caller shows on the PE's board what it is for.
    #[cold]
    #[inline(never)]
    pub fn watch<T: Waitable>(
        &mut self,
        word: SymRef<'_, T>,
        cmp: Cmp,
        value: T,
        waker: &Waker,
    ) -> Poll<Result<T>> {
        self.watch_as(word, cmp, value, waker, || Place::NONE)
    }

    /// [`watch`](Self::watch) for a user's own wait, which is on the PE's board meanwhile.
    #[cold]
    #[inline(never)]
    pub(super) fn watch_shown<T: Waitable>(
        &mut self,
        word: SymRef<'_, T>,
        cmp: Cmp,
        value: T,
        waker: &Waker,
    ) -> Poll<Result<T>> {
        self.begin_record(word);
        let view = word.as_view();
        let show = || show(view.pe(), Call::WaitUntil, view.extent(), cmp, 1, Some(value));
        self.watch_as(word, cmp, value, waker, show)
    }

    /// [`watch`](Self::watch), which is on the PE's board at the place that `show` returns.
    pub(crate) fn watch_as<T: Waitable>(
        &mut self,
        word: SymRef<'_, T>,
        cmp: Cmp,
        value: T,
        waker: &Waker,
        show: impl FnOnce() -> Place,
    ) -> Poll<Result<T>> {
        let pe = word.as_view().pe();
        let engine = pe.engine();
        if let Some((key, _)) = &self.watch {
            return match engine.check(key, waker) {
                // Behind a waker that does nothing the engine need not look.
                None if waker.will_wake(Waker::noop()) => {
                    let seen = look(word);
                    if cmp.holds(seen, value) { Poll::Ready(Ok(seen)) } else { Poll::Pending }
                }
                None => Poll::Pending,
                Some(Fired::Satisfied(bits)) => Poll::Ready(Ok(T::from_bits(bits))),
                Some(Fired::Ended) => Poll::Ready(Err(ended(pe))),
            };
        }
        pe.check_home("wait_until")?;
        let allocation = Arc::clone(word.as_view().allocation());
        // SAFETY: the watch holds the allocation.
        let probe = Probe::Word(unsafe { probed(word, cmp, value) });
        let (extent, reader) = (word.as_view().extent(), word.as_view().reader());
        tracing::trace!(target: "oxshmem", call = "wait_until", "not yet: watched by the engine");
        let place = show();
        self.watch = Some((engine.register(probe, extent, allocation, waker, place), place));
        // No ring announces what came between the last look and the registration. Where changes are
        // counted, there is something to see if they are more.
        let missed = self.changes.is_none() || engine.changes(reader) != self.changes;
        let seen = missed.then(|| look(word)).filter(|&seen| cmp.holds(seen, value));
        let now = match (seen, pe.check("wait_until")) {
            (Some(seen), _) => Ok(seen),
            (None, Ok(())) => return Poll::Pending,
            (None, Err(error)) => Err(error),
        };
        self.end(word);
        Poll::Ready(now)
    }

    /// Whether there is no watch to end.
    #[inline(always)]
    pub fn is_unwatched(&self) -> bool {
        self.watch.is_none()
    }

    /// Ends the watch, if there is one.
    #[inline(always)]
    pub fn end<T: Waitable>(&mut self, word: SymRef<'_, T>) {
        self.end_of(word.as_view().pe());
    }

    /// Ends the watch of a word of that PE, if there is one.
    #[inline(always)]
    pub fn end_of(&mut self, pe: &Pe) {
        if let Some(watch) = self.watch.take() {
            unwatch(pe, watch);
            self.end_record(pe);
        }
    }
}

/// Waits like [`Wait::wait_until`](super::Wait::wait_until) as a part of the call `activity`, which
/// is what the PE's board shows.
pub async fn wait_in<T: Waitable>(activity: Activity, word: SymRef<'_, T>, cmp: Cmp, value: T) -> Result<T> {
    wait_as(word, cmp, value, || word.as_view().pe().board().put(&activity)).await
}

/// Waits for a word, with the place on the board that `show` returns.
pub(crate) async fn wait_as<T: Waitable>(
    word: SymRef<'_, T>,
    cmp: Cmp,
    value: T,
    mut show: impl FnMut() -> Place,
) -> Result<T> {
    let mut watch = WordWatch::new(word.as_view().pe());
    poll_fn(|cx| match watch.wait.look(word, cmp, value) {
        Some(seen) => Poll::Ready(Ok(seen)),
        None => watch.wait.watch_as(word, cmp, value, cx.waker(), &mut show),
    })
    .await
}

/// A wait for words of a PE, one after the other, that ends its watch with itself.
#[derive(Debug)]
pub struct WordWatch<'a> {
    pe: &'a Pe,
    /// The wait for the word that is watched now, if any is.
    pub wait: WordWait,
}

impl<'a> WordWatch<'a> {
    /// Nothing is watched yet.
    pub fn new(pe: &'a Pe) -> Self {
        Self { pe, wait: WordWait::default() }
    }
}

impl Drop for WordWatch<'_> {
    fn drop(&mut self) {
        self.wait.end_of(self.pe);
    }
}

#[cold]
#[inline(never)]
pub(super) fn unwatch(pe: &Pe, (key, place): (WatchKey, Place)) {
    pe.engine().unregister(key);
    pe.board().take(place);
}

/// Shows on the PE's board what is waited for, unless it is a word of the library, whose user shows
/// more.
pub(super) fn show<T: Waitable>(
    pe: &Pe,
    call: Call,
    words: Extent,
    cmp: Cmp,
    count: usize,
    value: Option<T>,
) -> Place {
    if words.segment == SegmentId::Scratch {
        return Place::NONE;
    }
    let (size, signed, accepts) = (size_of::<T>(), T::SIGNED, cmp.accepts());
    let value = value.map(T::to_bits);
    pe.board().put(&Activity::wait(call, Awaited { words, count, size, signed, accepts, value }))
}

/// This PE's value of a word, with all that its writer made visible before.
#[inline(always)]
pub(crate) fn look<T: Waitable>(word: SymRef<'_, T>) -> T {
    glance(word).unwrap_or_else(|| word.load())
}

/// What [`look`] returns, if that takes no more than a load.
#[inline(always)]
pub(super) fn glance<T: Waitable>(word: SymRef<'_, T>) -> Option<T> {
    // SAFETY: a `SymRef` is one aligned element, mapped while it is borrowed.
    word.as_view().reader().address().map(|address| unsafe { T::look(address) })
}

/// The comparison of a word to `value`, for the engine.
///
/// # Safety
/// The word's allocation must live for as long as it is compared.
pub(super) unsafe fn probed<T: Waitable>(word: SymRef<'_, T>, cmp: Cmp, value: T) -> ProbedWord {
    let reader = word.as_view().reader();
    // SAFETY: a `SymRef` is aligned and in bounds, and the caller keeps it mapped.
    unsafe { ProbedWord::new(reader, size_of::<T>(), T::SIGNED, cmp.accepts(), value.to_bits()) }
}

/// Why a watch has ended without its word.
pub(super) fn ended(pe: &Pe) -> Error {
    pe.check("wait_until").err().unwrap_or(Error::Finalized { call: "wait_until" })
}

#[cfg(test)]
mod tests {
    use std::{
        pin::{Pin, pin},
        task::Context,
    };

    use oxshmem_base::settings::Settings;
    use oxshmem_job::Single;
    use oxshmem_memory::Segment;
    use oxshmem_progress::activity::Ahead;
    use oxshmem_spaces::{Domain, SymSlice, allocation::Allocation};

    use super::*;
    use crate::wait::{Wait, WaitSet};

    #[test]
    fn a_wait_is_on_the_board_while_it_waits_unless_it_is_the_librarys_own() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let pe = runtime.block_on(Pe::join(Arc::new(Single::new()), Settings::default())).unwrap();
        // SAFETY: there is no other PE in this job.
        let unowned =
            |segment| unsafe { Allocation::unowned(Arc::clone(&pe), Domain::Host, segment, 64, 64) };
        let words = |segment| SymSlice::<i32>::new(unowned(segment), 16);
        let heap = words(Segment::new(SegmentId::Heap, Arc::clone(pe.heap_map()), 0, 4096));
        let scratch = words(pe.scratch());
        let shown = || pe.board().seen().iter().map(|seen| seen.activity.to_string()).collect::<Vec<_>>();
        let pends = |future: Pin<&mut dyn Future<Output = ()>>| {
            assert!(future.poll(&mut Context::from_waker(Waker::noop())).is_pending());
            shown()
        };

        let mut wait = pin!(async { _ = heap.at(1).wait_until(Cmp::Gt, 5).await });
        assert!(shown().is_empty());
        assert_eq!(pends(wait.as_mut()), ["wait_until(i32 at heap offset 0x44 > 5)"]);
        assert_eq!(pends(wait.as_mut()).len(), 1);
        heap.at(1).store(6);
        assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        assert!(shown().is_empty());
        {
            let mut dropped =
                pin!(async { _ = heap.excluding(&[1; 16][..]).wait_until_all(Cmp::Eq, 0).await });
            assert!(dropped.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
            let mut status = [1; 16];
            status[3] = 0;
            let mut one = pin!(async { _ = heap.excluding(&status).wait_until_any(Cmp::Lt, -1).await });
            assert_eq!(pends(one.as_mut()), ["wait_until_any(i32 at heap offset 0x4c < -1)"]);
        }
        assert!(shown().is_empty(), "a wait that is dropped waits no more");

        let mut own = pin!(async { _ = scratch.at(0).wait_until(Cmp::Ne, 0).await });
        assert!(pends(own.as_mut()).is_empty());
        let lock = Activity::lock(Call::SetLock, heap.at(0).as_view().extent(), Ahead::Pe(3));
        let mut part = pin!(async { _ = wait_in(lock, heap.at(0), Cmp::Ne, 0).await });
        assert_eq!(pends(part.as_mut()), [lock.to_string()]);
    }
}
