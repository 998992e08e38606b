//! What the words of a set are compared to, and the wait for it.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use oxshmem_base::Result;
use oxshmem_progress::{
    activity::{Call, Place},
    executor::{Fired, Probe, WatchKey},
    record::Pending,
};
use oxshmem_spaces::Pe;

use super::{
    cmp::Cmp,
    masked::Masked,
    waitable::Waitable,
    word::{ended, glance, probed, show, unwatch},
};
use crate::trace::{trace_operation, waiting};

#[derive(Clone, Copy)]
pub(super) enum Values<'a, T> {
    Same(T),
    Each(&'a [T]),
}

/// A wait set with what its words are compared to.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a, T> {
    set: Masked<'a, T>,
    cmp: Cmp,
    values: Values<'a, T>,
}

impl<'a, T: Waitable> Condition<'a, T> {
    #[track_caller]
    pub(super) fn new(set: Masked<'a, T>, cmp: Cmp, values: Values<'a, T>) -> Self {
        if let Values::Each(values) = values {
            assert_eq!(values.len(), set.words.len(), "a vector form has one value for each word");
        }
        Self { set, cmp, values }
    }

    fn len(&self) -> usize {
        self.set.words.len()
    }

    fn includes(&self, i: usize) -> bool {
        self.set.status.is_none_or(|status| status[i] == 0)
    }

    fn value(&self, i: usize) -> T {
        match self.values {
            Values::Same(value) => value,
            Values::Each(values) => values[i],
        }
    }

    /// What there is to see now. Words that are read together are read once; others when they are
    /// looked at.
    fn see(&self) -> Seen<T> {
        let words = self.set.words;
        let mut included = (0..self.len()).filter(|&i| self.includes(i));
        if words.reader().address().is_none()
            && let Some(first) = included.next()
        {
            let last = included.next_back().unwrap_or(first);
            return Seen { first, values: words.slice(first..=last).read_together() };
        }
        Seen { first: 0, values: Vec::new() }
    }

    fn holds(&self, seen: &Seen<T>, i: usize) -> bool {
        let value = glance(self.set.words.at(i)).unwrap_or_else(|| seen.values[i - seen.first]);
        self.cmp.holds(value, self.value(i))
    }

    pub(super) fn all(&self) -> Option<()> {
        let seen = self.see();
        (0..self.len()).all(|i| !self.includes(i) || self.holds(&seen, i)).then_some(())
    }

    pub(super) fn any(&self) -> Option<Option<usize>> {
        let len = self.len();
        if !(0..len).any(|i| self.includes(i)) {
            return Some(None);
        }
        let (first, seen) = (turn(len), self.see());
        (first..len).chain(0..first).find(|&i| self.includes(i) && self.holds(&seen, i)).map(Some)
    }

    pub(super) fn some(&self) -> Option<Vec<usize>> {
        let seen = self.see();
        let satisfied: Vec<_> =
            (0..self.len()).filter(|&i| self.includes(i) && self.holds(&seen, i)).collect();
        let empty = satisfied.is_empty() && (0..self.len()).any(|i| self.includes(i));
        (!empty).then_some(satisfied)
    }

    /// What any thread can look at: whether all words compare, or, if not `all` are asked for,
    /// whether one more of those that do not compare now does.
    ///
    /// # Safety
    /// The set's allocation must live for as long as the words are looked at.
    unsafe fn probe(&self, all: bool) -> Probe {
        let included = (0..self.len()).filter(|&i| self.includes(i));
        // SAFETY: passed on to the caller.
        let word = |i| unsafe { probed(self.set.words.at(i), self.cmp, self.value(i)) };
        if all {
            return Probe::All { words: included.map(word).collect(), done: 0 };
        }
        let seen = self.see();
        Probe::Another(included.map(|i| (word(i), self.holds(&seen, i))).collect())
    }
}

/// Words of a set as they were at one time, if they were read together.
struct Seen<T> {
    /// The number of the first.
    first: usize,
    values: Vec<T>,
}

/// A wait for words of a set: see [`WaitSet`](super::WaitSet).
#[must_use = "nothing waits unless this is awaited"]
pub struct WaitUntilSet<'a, T: Waitable, R> {
    condition: Condition<'a, T>,
    what: Call,
    /// Whether it waits for all words.
    all: bool,
    /// What it returns, once there is that.
    satisfied: fn(&Condition<'a, T>) -> Option<R>,
    watch: Watch<'a>,
    spun: bool,
}

impl<'a, T: Waitable, R> WaitUntilSet<'a, T, R> {
    /// Until `satisfied` finds something in `condition`.
    pub(super) fn new(
        condition: Condition<'a, T>,
        what: Call,
        all: bool,
        satisfied: fn(&Condition<'a, T>) -> Option<R>,
    ) -> Self {
        let pe = condition.set.words.pe();
        trace_operation(what.name(), condition.len() * size_of::<T>(), pe.me());
        let watch = Watch { pe, key: None, record: None };
        Self { condition, what, all, satisfied, watch, spun: false }
    }

    pub(super) fn pe(&self) -> &Arc<Pe> {
        self.watch.pe
    }
}

impl<T: Waitable, R> Unpin for WaitUntilSet<'_, T, R> {}

impl<T: Waitable, R> Future for WaitUntilSet<'_, T, R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<R>> {
        let Self { condition, what, all, satisfied, watch, spun } = &mut *self;
        let (words, pe) = (condition.set.words, watch.pe);
        loop {
            // A look that is no load takes long, so the engine looks at what is watched, unless the
            // waker does nothing, behind which it need not.
            let is_loaded = words.reader().address().is_some();
            if (is_loaded || watch.key.is_some() && cx.waker().will_wake(Waker::noop()))
                && let Some(result) = satisfied(condition)
            {
                watch.end();
                return Poll::Ready(Ok(result));
            }
            if let Some((key, _)) = &watch.key {
                match pe.engine().check(key, cx.waker()) {
                    None => return Poll::Pending,
                    Some(Fired::Ended) => return Poll::Ready(Err(ended(pe))),
                    // One more word compares than when the watch was made: look again, and watch
                    // again.
                    Some(Fired::Satisfied(_)) => watch.end(),
                }
                if let Some(result) = satisfied(condition) {
                    return Poll::Ready(Ok(result));
                }
                continue;
            }
            if !std::mem::replace(spun, true) {
                watch.record = waiting(pe, *what, Some(words.extent()));
                let look = || satisfied(condition);
                if let Some(result) = pe.engine().look_until(words.reader(), &mut None, look) {
                    return Poll::Ready(Ok(result));
                }
            }
            pe.check_home(what.name())?;
            watch.begin(*what, condition, *all, cx.waker());
            // No ring announces what came before the watch.
            if let Some(result) = satisfied(condition) {
                watch.end();
                return Poll::Ready(Ok(result));
            }
            pe.check(what.name())?;
            return Poll::Pending;
        }
    }
}

impl<T: Waitable, R> fmt::Debug for WaitUntilSet<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} words", self.what.name(), self.condition.len())
    }
}

/// A watch that ends with its future.
struct Watch<'a> {
    pe: &'a Arc<Pe>,
    key: Option<(WatchKey, Place)>,
    /// What is recorded of the wait.
    record: Option<Pending>,
}

impl Watch<'_> {
    fn begin<T: Waitable>(&mut self, call: Call, condition: &Condition<'_, T>, all: bool, waker: &Waker) {
        let words = condition.set.words;
        // SAFETY: the watch holds the allocation.
        let probe = unsafe { condition.probe(all) };
        let mut included = (0..condition.len()).filter(|&i| condition.includes(i));
        let place = match (included.next(), included.count(), condition.values) {
            (Some(only), 0, _) => {
                let word = words.at(only).as_view().extent();
                show(self.pe, call, word, condition.cmp, 1, Some(condition.value(only)))
            }
            (_, more, Values::Same(value)) => {
                show(self.pe, call, words.extent(), condition.cmp, more + 1, Some(value))
            }
            (_, more, Values::Each(_)) => {
                show::<T>(self.pe, call, words.extent(), condition.cmp, more + 1, None)
            }
        };
        let keepalive = Arc::clone(words.allocation());
        let key = self.pe.engine().register(probe, words.extent(), keepalive, waker, place);
        self.key = Some((key, place));
    }

    fn end(&mut self) {
        if let Some(watch) = self.key.take() {
            unwatch(self.pe, watch);
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where `any` starts to look: elsewhere each time, so that it comes to every word.
fn turn(len: usize) -> usize {
    thread_local! {
        static TURN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    // A multiplicative walk, so that callers that alternate between sets share no pattern with it.
    let turn = TURN.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    TURN.set(turn);
    ((u128::from(turn) * len as u128) >> 64) as usize
}
