//! Locks while PEs are lost: each has one holder, a holder that is lost is known to the next one
//! and to no other, and a lock whose home is lost is lost with it.

use std::collections::{BTreeMap, BTreeSet};

use oxshmem::{Error, prelude::*};

use crate::{
    plan::LOCKS,
    play::{Game, Played, Stop, wrong},
};

/// What is so of a lock, for all PEs.
#[derive(Default)]
pub(crate) struct LockState {
    holder: Option<usize>,
    /// PEs that may have it: those that wait for it, and those that are leaving it.
    between: BTreeSet<usize>,
    /// Whether a holder was lost and no guard has shown it, and how many PEs were lost of which it
    /// is not known whether they were one.
    abandoned: bool,
    maybe_abandoned: usize,
    /// Where its home was, once that is lost.
    home: Option<usize>,
    /// What it protects on each PE, and what a holder was about to make it.
    values: BTreeMap<usize, (u64, Option<u64>)>,
    /// How often it was changed.
    changes: u64,
}

impl LockState {
    /// A PE is lost.
    pub(crate) fn lose(&mut self, pe: usize) {
        self.maybe_abandoned += usize::from(self.between.remove(&pe));
        self.abandoned |= self.holder.take_if(|holder| *holder == pe).is_some();
    }

    /// A PE has it now; what a guard says, if there is one.
    fn got(&mut self, pe: usize, was_abandoned: Option<bool>) -> Played<()> {
        self.between.remove(&pe);
        if let Some(other) = self.holder.replace(pe) {
            return wrong(format!("PE {pe} has a lock that PE {other} has"));
        }
        match was_abandoned {
            Some(false) if self.abandoned => wrong("no guard says that a holder was lost"),
            Some(true) if !std::mem::take(&mut self.abandoned) => {
                match self.maybe_abandoned.checked_sub(1) {
                    Some(fewer) => self.maybe_abandoned = fewer,
                    None => return wrong("a guard says that a holder was lost, and none was"),
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A call says that its home is lost: always the same PE.
    fn home_is(&mut self, pe: usize) -> Played<()> {
        match *self.home.get_or_insert(pe) {
            home if home == pe => Ok(()),
            home => wrong(format!("the home of a lock was PE {home}, and is PE {pe}")),
        }
    }

    /// The holder finds this on a PE.
    fn found(&mut self, keeper: usize, value: u64) -> Played<()> {
        let (before, next) = self.values.insert(keeper, (value, None)).unwrap_or_default();
        match value == before || Some(value) == next {
            true => Ok(()),
            false => wrong(format!("a lock protects {value}, which was left as {before}")),
        }
    }

    /// What the holder is about to make it there: no holder has done so before.
    fn next(&mut self, keeper: usize) -> u64 {
        self.changes += 1;
        self.values.entry(keeper).or_default().1 = Some(self.changes);
        self.changes
    }
}

impl Game {
    /// Takes a lock, in one of three ways, changes what it protects, and leaves it.
    pub(crate) async fn lock(&self, which: usize, way: usize) -> Played<()> {
        let (me, ctx) = (self.me(), self.world.context());
        let was_lost = self.course.with_lock(which, |lock| lock.home);
        let was_lost = was_lost.filter(|&home| self.world.is_lost(home));
        let lock = Lock::new(ctx, self.locks.at(which));
        let lock = lock.map_err(|error| Stop::Wrong(format!("Lock::new: {error}")))?;
        self.course.with_lock(which, |lock| lock.between.insert(me));
        let got = match way {
            1 => lock.lock().await.map(|guard| Some(Some(guard))),
            40 => lock.try_lock().await.map(|guard| guard.map(Some)),
            _ => lock.set().await.map(|()| Some(None)),
        };
        if let Some(guard) = self.unless_home_is_lost(which, got)?.flatten() {
            if was_lost.is_some() {
                return wrong("a PE has a lock whose home is lost");
            }
            let was_abandoned = guard.as_ref().map(LockGuard::was_abandoned);
            self.course.with_lock(which, |lock| lock.got(me, was_abandoned))?;
            let changed = self.change(which).await;
            self.course.with_lock(which, |lock| {
                lock.holder = None;
                lock.between.insert(me);
            });
            let left = match guard {
                Some(guard) => guard.unlock().await,
                None => lock.clear().await,
            };
            self.course.with_lock(which, |lock| lock.between.remove(&me));
            // What it quiets first names others.
            if let Err(Stop::Wrong(what)) = self.lost("leaving a lock", left, |_| true) {
                return wrong(what);
            }
            changed?;
        }
        self.sync().await
    }

    /// What came of a call; `None` if the lock's home is lost.
    fn unless_home_is_lost<T>(&self, which: usize, outcome: oxshmem::Result<T>) -> Played<Option<T>> {
        self.course.with_lock(which, |lock| lock.between.remove(&self.me()));
        let lost = match &outcome {
            Err(Error::PeLost { pe, .. }) => Some(*pe),
            _ => None,
        };
        match (self.lost("a lock", outcome, |_| true), lost) {
            (Err(Stop::Loss), Some(pe)) => {
                self.course.with_lock(which, |lock| lock.home_is(pe)).map(|()| None)
            }
            (outcome, _) => outcome.map(Some),
        }
    }

    /// What the holder of a lock does.
    async fn change(&self, which: usize) -> Played<()> {
        let (ctx, keeper) = (self.world.context(), self.pes[0]);
        let word = self.locks.at(LOCKS + which);
        let found = self.lost("g", ctx.g(word, keeper).await, |pe| pe == keeper)?;
        let next = self.course.with_lock(which, |lock| {
            lock.found(keeper, found)?;
            Ok(lock.next(keeper))
        })?;
        self.lost("p", ctx.p(word, next, keeper).await, |pe| pe == keeper)?;
        self.lost("quiet", ctx.quiet().await, |pe| pe == keeper)?;
        self.course.with_lock(which, |lock| lock.values.insert(keeper, (next, None)));
        let found = self.lost("g", ctx.g(word, keeper).await, |pe| pe == keeper)?;
        self.course.with_lock(which, |lock| lock.found(keeper, found))
    }
}
