//! Which PE's end came first, so that the job's message names the cause.
//!
//! What PEs do is reported in another order than it happened. The kernel closes the connections of
//! a process before it reports its end, and a PE that drops its world closes them long before: the
//! PEs that see that may have ended by then. So what may follow the end of another PE is held for a
//! moment.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    super::{events::PeEvent, frame::ToAgent, lifecycle::Known, reach::Reach},
    Job,
};

/// How long what may be the consequence of a PE's end waits for that to be known.
pub(super) const TO_BLAME: Duration = Duration::from_secs(1);

/// Ends of PEs that may have been caused by another's, which the kernel has yet to report.
#[derive(Default)]
pub(super) struct Held {
    /// Whose ends are waited for.
    pub(super) ending: Vec<usize>,
    /// Hosts that were asked for those, and have not answered.
    pub(super) asked: Vec<usize>,
    pub(super) events: Vec<(usize, PeEvent)>,
    /// For so long.
    pub(super) until: Option<Instant>,
}

impl Job<'_> {
    pub(super) fn take_pe_event(&mut self, pe: usize, event: PeEvent) {
        // Nothing comes after a PE's end, but from a host that was given up.
        if !self.lifecycle.is_alive(pe) {
            return;
        }
        let may_follow = self.may_follow(pe, &event);
        let place = self.held.ending.iter().position(|&ending| ending == pe);
        if let (Some(place), PeEvent::Exited(_)) = (place, &event) {
            self.held.ending.swap_remove(place);
        } else if may_follow && self.held.until.is_none() && self.lifecycle.verdict_so_far().is_none() {
            match &self.reach {
                Reach::Here(here, _) => {
                    let lifecycle = &self.lifecycle;
                    self.held.ending = here.ending(|other| other != pe && lifecycle.is_alive(other));
                }
                Reach::Agents(agents) => self.held.asked = agents.send_all(&ToAgent::WhichEnd),
            }
            self.held.ending.extend(self.lifecycle.first_to_leave());
            let waits = !self.held.ending.is_empty() || !self.held.asked.is_empty();
            self.held.until = waits.then(|| Instant::now() + TO_BLAME);
        }
        // What a PE has sent after something that is held is no earlier than that.
        let is_behind = self.held.events.iter().any(|&(held, _)| held == pe);
        match is_behind || may_follow && self.held.until.is_some() {
            true => self.held.events.push((pe, event)),
            false => self.note(pe, event),
        }
    }

    /// Whether this may follow the end of another PE. What the first PE does that has dropped its
    /// world follows nothing.
    fn may_follow(&self, pe: usize, event: &PeEvent) -> bool {
        let is_inside = self.lifecycle.known(pe) == Known::Inside;
        event.may_follow() && is_inside && self.lifecycle.first_to_leave() != Some(pe)
    }

    /// Takes note of what was held, unless it may follow the end of a PE that only now is known to
    /// have dropped its world.
    pub(super) fn release(&mut self) {
        let Held { events, until, .. } = std::mem::take(&mut self.held);
        let is_late = until.is_some_and(|until| until <= Instant::now());
        for (pe, event) in events {
            let first = self.lifecycle.first_to_leave().filter(|_| !is_late && self.may_follow(pe, &event));
            if let (Some(first), None) = (first, self.held.until) {
                self.held.ending.push(first);
                self.held.until = Some(Instant::now() + TO_BLAME);
            }
            match self.held.until {
                Some(_) => self.held.events.push((pe, event)),
                None => self.note(pe, event),
            }
        }
    }
}
