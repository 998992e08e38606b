//! What the words of a set are compared to, and the wait for it.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use oxshmem_base::Result;
use oxshmem_progress::{
    activity::{Call, Place},
    executor::{DeviceWords, Fired, Probe, ProbedWord, WatchKey},
    record::Pending,
};
use oxshmem_spaces::Pe;

use super::{
    cmp::Cmp,
    masked::Masked,
    waitable::Waitable,
    word::{ended, look, show, unwatch},
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

    /// What there is to see now. Words in device memory are read once, all together; others when
    /// they are looked at.
    fn see(&self) -> Seen<T> {
        let mut seen = Seen { first: 0, values: Vec::new() };
        if let Some((device, place)) = self.set.words.on_device()
            && let Some(first) = (0..self.len()).find(|&i| self.includes(i))
        {
            let last = (first..self.len()).rfind(|&i| self.includes(i)).unwrap_or(first);
            seen = Seen { first, values: vec![T::zeroed(); last - first + 1] };
            let (size, bytes) = (size_of::<T>(), bytemuck::cast_slice_mut(&mut seen.values));
            // SAFETY: the words are in bounds, and as long as the bytes.
            unsafe { device.read_now(place.block(), &[(place.offset() + first * size, bytes.len())], bytes) };
        }
        seen
    }

    fn holds(&self, seen: &Seen<T>, i: usize) -> bool {
        let value = if self.set.words.domain().is_device() {
            seen.values[i - seen.first]
        } else {
            look(self.set.words.at(i))
        };
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

    /// Something that any thread can look at: whether all words compare, or, if not `all` are asked
    /// for, whether one more of those that do not compare now does.
    fn probe(&self, all: bool) -> Probe {
        let mut open: Vec<ProbedWord> = Vec::new();
        for i in (0..self.len()).filter(|&i| self.includes(i)) {
            let word = self.set.words.at(i);
            // SAFETY: a `SymRef` is aligned; the watch holds the allocation, which keeps the words
            // mapped.
            open.push(unsafe {
                let bits = self.value(i).to_bits();
                ProbedWord::new(word.as_view().own(), size_of::<T>(), T::SIGNED, self.cmp.accepts(), bits)
            });
        }
        if self.set.words.domain().is_device() {
            return Probe::OnDevice(self.on_device(open, all));
        }
        if all {
            // Words are done with in turn, so that n of them cost n looks in all, not n at every
            // wake.
            let mut done = 0;
            return Probe::Custom(Box::new(move || {
                while done < open.len() && open[done].holds() {
                    done += 1;
                }
                done == open.len()
            }));
        }
        // Words that compare already do not end the wait by themselves, unless they stop and start
        // again.
        let mut before: Vec<bool> = open.iter().map(ProbedWord::holds).collect();
        Probe::Custom(Box::new(move || {
            let mut changed = false;
            for (word, before) in open.iter().zip(&mut before) {
                let now = word.holds();
                changed |= now && !*before;
                *before = now;
            }
            changed
        }))
    }

    /// What to look at in device memory, where `words` are those that are included.
    #[cold]
    fn on_device(&self, words: Vec<ProbedWord>, all: bool) -> DeviceWords {
        let included = (0..self.len()).filter(|&i| self.includes(i));
        let offset = |i: usize| self.set.words.extent().offset + i * size_of::<T>();
        let words = included.clone().map(offset).zip(words).collect();
        if all {
            // SAFETY: elements of a view are aligned and in bounds, and the view is in this
            // device's memory.
            return unsafe { DeviceWords::all(words) };
        }
        let seen = self.see();
        let before = included.map(|i| self.holds(&seen, i)).collect();
        // SAFETY: as above.
        unsafe { DeviceWords::another(words, before) }
    }
}

/// Words of a set as they were at one time, if they are in device memory.
struct Seen<T> {
    /// The number of the first.
    first: usize,
    values: Vec<T>,
}

/// Waits until `satisfied` finds something in `condition`.
pub(super) fn wait<'a, T: Waitable, R: Send>(
    condition: Condition<'a, T>,
    what: Call,
    all: bool,
    satisfied: fn(&Condition<'a, T>) -> Option<R>,
) -> impl Future<Output = Result<R>> + Send + use<'a, T, R> {
    let (pe, call) = (condition.set.words.pe(), what.name());
    trace_operation(call, condition.len() * size_of::<T>(), pe.me());
    let mut watch = Watch { pe, key: None, record: None };
    let mut spun = false;
    // How often device memory had changed before the words there were last looked at.
    let mut changes = None;
    let on_device = condition.set.words.domain().is_device();
    let mut look = move |condition: &Condition<'a, T>, noop: bool| {
        let before = on_device.then(|| pe.engine().device_changes());
        // A look at device memory takes long. What is not known to have changed is looked at by the
        // engine, unless the waker does nothing, behind which it need not.
        let looked = std::mem::replace(&mut changes, before);
        if on_device && looked == before && !noop { None } else { satisfied(condition) }
    };
    poll_fn(move |cx| {
        let noop = cx.waker().will_wake(Waker::noop());
        loop {
            if let Some(result) = look(&condition, noop) {
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
                if on_device && let Some(result) = satisfied(&condition) {
                    return Poll::Ready(Ok(result));
                }
                continue;
            }
            if !std::mem::replace(&mut spun, true) {
                watch.record = waiting(pe, what, Some(condition.set.words.extent()));
                let mut spin = || look(&condition, false);
                let spun = match on_device {
                    true => pe.engine().poll_with(|| spin().map_or(Poll::Pending, Poll::Ready)),
                    false => {
                        pe.engine().spin_until(|| spin().is_some());
                        Poll::Pending
                    }
                };
                if let Poll::Ready(result) = spun {
                    return Poll::Ready(Ok(result));
                }
                continue;
            }
            pe.check_home(call)?;
            watch.begin(what, &condition, all, cx.waker());
            // No ring announces what came before the watch.
            if let Some(result) = satisfied(&condition) {
                watch.end();
                return Poll::Ready(Ok(result));
            }
            pe.check(call)?;
            return Poll::Pending;
        }
    })
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
        let (words, probe) = (condition.set.words, condition.probe(all));
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
