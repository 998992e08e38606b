//! What the helper thread does for a PE.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem_base::sync::Ordering;

use super::{Executor, owner::Holder};
use crate::{event::PollSet, helper::Client, source::Source, wait::Rounds};

/// A PE's engine, and what the helper has begun for it.
pub(super) struct Duty {
    executor: Arc<Executor>,
    /// What it does as the thread that has the role, if it has it.
    role: Option<Drives>,
    looks: DeviceLooks,
    /// Since when it looks for stores to memory of a PE in this process that ring no bell.
    ticks: Option<Instant>,
}

/// How the helper looks at words of device memory.
struct DeviceLooks {
    /// When it last did so without a ring.
    last: Instant,
    /// Until when it stays at hand for the next wait, after one.
    tick: Option<Instant>,
}

/// The helper has the role.
enum Drives {
    /// It looks around.
    Looks(Rounds),
    /// It has announced that the PE sleeps, at that time.
    Sleeps(Instant),
}

impl Duty {
    pub(super) fn new(executor: &Arc<Executor>) -> Self {
        let looks = DeviceLooks { last: Instant::now(), tick: None };
        Self { executor: Arc::clone(executor), role: None, looks, ticks: None }
    }
}

/// Gives the role up, if the helper has it.
fn give_up(executor: &Arc<Executor>, role: &mut Option<Drives>) {
    if let Some(drives) = role.take() {
        if let Drives::Sleeps(_) = drives {
            executor.disarm();
        }
        executor.give_up();
    }
}

/// Looks after the watches of a PE in a process of its own, if no other thread is to. True if there
/// may be more at once.
fn drive<'a>(
    executor: &'a Arc<Executor>,
    role: &mut Option<Drives>,
    found: bool,
    sleep: &mut PollSet<'a>,
) -> bool {
    let Some(bell) = executor.bell.event() else { return false };
    let owner = &executor.owner;
    let is_left = || owner.unfired() > 0 && !owner.is_requested() && !executor.is_closed();
    if !executor.owner.is_helper() || !is_left() {
        give_up(executor, role);
        return false;
    }
    if role.is_none() {
        if !owner.try_take(Holder::Helper) {
            // The thread that has the role kicks this one when it gives it up.
            return false;
        }
        *role = Some(Drives::Looks(executor.rounds(false)));
    }
    if let Some(Drives::Sleeps(_)) = role {
        executor.see_launcher();
        // A writer that has rung has taken the announcement away.
        if bell.take() || !executor.is_announced() {
            executor.disarm();
            *role = Some(Drives::Looks(executor.rounds(false)));
        }
    }
    executor.scan();
    if !is_left() {
        give_up(executor, role);
        // Another thread waits for the role, or the last wait is over.
        return false;
    }
    let since = match role {
        Some(Drives::Sleeps(since)) => *since,
        Some(Drives::Looks(rounds)) => {
            rounds.looked(found, &executor.policy);
            if rounds.next(&executor.policy) || !executor.arm() {
                return true;
            }
            Instant::now()
        }
        None => return true,
    };
    *role = Some(Drives::Sleeps(since));
    sleep.on_event(bell);
    executor.hangs_up().into_iter().for_each(|descriptor| sleep.on_hangup(descriptor));
    executor.sleep_limit(since.elapsed()).into_iter().for_each(|limit| sleep.at_most(limit));
    false
}

/// Looks at words of device memory: at once if they are known to have changed, and now and then for
/// what rings no bell, as kernels of the program.
fn look_at_device(executor: &Executor, looks: &mut DeviceLooks, sleep: &mut PollSet<'_>) {
    if executor.has_device_changes() {
        executor.scan();
    }
    let Some(mut due) = executor.next_look(looks.last) else { return stay_at_hand(executor, looks, sleep) };
    let mut now = Instant::now();
    if due <= now {
        looks.last = now;
        executor.scan_device();
        now = Instant::now();
        let Some(next) = executor.next_look(looks.last) else { return stay_at_hand(executor, looks, sleep) };
        due = next;
    }
    looks.tick = Some(now + executor.policy.look[0]);
    let left = due.saturating_duration_since(now);
    sleep.at_most(left);
    stay(executor, left <= executor.policy.look[0], looks.last, sleep);
}

/// Nothing is waited for in device memory. The next wait tends to begin soon after one, and is seen
/// by a helper that is at hand, which costs the thread that waits less than to wake it.
fn stay_at_hand(executor: &Executor, looks: &mut DeviceLooks, sleep: &mut PollSet<'_>) {
    let left = looks.tick.map(|tick| tick.saturating_duration_since(Instant::now()));
    looks.tick = looks.tick.filter(|_| left.is_some_and(|left| !left.is_zero()));
    let left = left.filter(|left| !left.is_zero());
    left.into_iter().for_each(|left| sleep.at_most(left));
    stay(executor, left.is_some(), looks.last, sleep);
}

/// Says whether the helper looks `soon` whether a wait has begun. If it does not, it looks at those
/// that began before.
fn stay(executor: &Executor, soon: bool, last: Instant, sleep: &mut PollSet<'_>) {
    executor.owner.look_soon(soon);
    if !soon && let Some(due) = executor.next_look(last) {
        sleep.at_most(due.saturating_duration_since(Instant::now()));
    }
}

/// Looks for stores to the memory of a PE in this process that ring no bell.
fn look_for_silent_stores(executor: &Executor, since: &mut Option<Instant>, sleep: &mut PollSet<'_>) {
    if executor.owner.unfired() == 0 || executor.sleep_limit(Duration::ZERO).is_none() {
        *since = None;
        return;
    }
    let since = *since.get_or_insert_with(Instant::now);
    executor.scan();
    executor.sleep_limit(since.elapsed()).into_iter().for_each(|limit| sleep.at_most(limit));
}

impl Client for Duty {
    fn sources(&self) -> &[Arc<dyn Source>] {
        self.executor.sources()
    }

    fn help<'a>(&'a mut self, found: bool, sleep: &mut PollSet<'a>) -> bool {
        let Self { executor, role, looks, ticks } = self;
        if executor.has_device_words() {
            look_at_device(executor, looks, sleep);
        }
        if executor.bell.is_in_process() {
            look_for_silent_stores(executor, ticks, sleep);
            return false;
        }
        drive(executor, role, found, sleep)
    }

    fn after_work(&self) -> Duration {
        self.executor.policy.after_work(self.executor.is_asleep() || self.role.is_some())
    }

    fn is_over(&self) -> bool {
        self.executor.is_closed()
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        give_up(&self.executor, &mut self.role);
        self.executor.owner.is_helped.store(false, Ordering::Release);
    }
}
