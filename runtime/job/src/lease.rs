//! Leases: how the launcher can be sure that the PEs of a host out of reach have ended. Logic
//! without I/O, to which the time is given.
//!
//! An agent numbers its beats, and the launcher acknowledges each. An acknowledgement renews the
//! [`Lease`] of the agent's host, from the time at which that beat was *sent*. The launcher counts
//! from the time at which it acknowledged ([`Grants`]), which is later, however long either message
//! was on its way. So the lease is over on the host first, and no two clocks are compared. On the
//! host the agent's guardian holds it: a process apart, which kills the PEs when it is over.

use std::{collections::VecDeque, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// How often an agent gives a sign of life.
pub const BEAT: Duration = Duration::from_millis(250);
/// How long a lease is, unless an option says otherwise.
pub const LEASE: Duration = Duration::from_secs(2);
/// The shortest that there may be.
pub const SHORTEST: Duration = Duration::from_secs(1);

/// How long after the last acknowledgement what runs on a host has ended. It has half a lease for
/// that.
fn to_be_dead(term: Duration) -> Duration {
    term * 3 / 2
}

/// The time on this host. It goes on while the host is suspended.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    // Neither is negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The lease of a host, as its agent has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    term: Duration,
    /// `Duration::MAX` while the job stands still.
    until: Duration,
    /// The number of the next beat.
    next: u64,
    /// The beats that are not acknowledged, and when each was sent.
    sent: VecDeque<(u64, Duration)>,
    /// Whether PEs stand still until a beat is acknowledged.
    resuming: bool,
}

/// What an acknowledgement brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Until when the lease is.
    pub until: Duration,
    /// Whether PEs that stand still go on.
    pub resumes: bool,
}

impl Lease {
    /// A first lease. The launcher counts from a message that is sent after this.
    pub fn begin(term: Duration, now: Duration) -> Self {
        Self { term, until: now + term, next: 0, sent: VecDeque::new(), resuming: false }
    }

    /// A beat is sent; its number. None while the job stands still.
    pub fn beat(&mut self, now: Duration) -> Option<u64> {
        if self.until == Duration::MAX {
            return None;
        }
        let beat = self.next;
        self.next += 1;
        self.sent.push_back((beat, now));
        Some(beat)
    }

    /// A beat is acknowledged: what that brings, unless it is one of before.
    pub fn acknowledged(&mut self, beat: u64) -> Option<Renewal> {
        let at = self.sent.iter().position(|&(sent, _)| sent == beat)?;
        let (_, sent) = self.sent.drain(..=at).next_back()?;
        self.until = self.until.max(sent + self.term);
        Some(Renewal { until: self.until, resumes: std::mem::take(&mut self.resuming) })
    }

    /// The launcher stands still, and so do the PEs: the lease lasts until it goes on.
    pub fn pause(&mut self) {
        self.sent.clear();
        (self.until, self.resuming) = (Duration::MAX, false);
    }

    /// The launcher goes on. It may have given up this host by now, so that PEs stand still until
    /// a beat that is sent after this is acknowledged.
    pub fn resume(&mut self, now: Duration) {
        (self.until, self.resuming) = (now + self.term, true);
    }

    /// Until when it is.
    pub fn until(&self) -> Duration {
        self.until
    }

    /// Whether it is over.
    pub fn is_over(&self, now: Duration) -> bool {
        self.until <= now
    }
}

/// The leases of all hosts, as the launcher has granted them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grants {
    term: Duration,
    hosts: Vec<Grant>,
}

/// The lease of a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Grant {
    /// The host has not started its PEs.
    Absent,
    /// A beat was last acknowledged then.
    Held(Duration),
    /// Beats are not acknowledged any more, for this reason; the last one was then.
    GivenUp(Duration, String),
    /// What becomes of the host's PEs is decided.
    Over,
}

impl Grants {
    /// The leases of this many hosts.
    pub fn new(term: Duration, n_hosts: usize) -> Self {
        Self { term, hosts: vec![Grant::Absent; n_hosts] }
    }

    /// How long a lease is.
    pub fn term(&self) -> Duration {
        self.term
    }

    /// A host has started its PEs, and has a lease.
    pub fn begin(&mut self, host: usize, now: Duration) {
        self.hosts[host] = Grant::Held(now);
    }

    /// Whether a beat of that host is acknowledged, now.
    pub fn acknowledges(&mut self, host: usize, now: Duration) -> bool {
        let Grant::Held(last) = &mut self.hosts[host] else { return false };
        *last = now;
        true
    }

    /// The job has stood still, and goes on.
    pub fn begin_again(&mut self, now: Duration) {
        for grant in &mut self.hosts {
            if let Grant::Held(last) = grant {
                *last = now;
            }
        }
    }

    /// The hosts that have had no beat acknowledged for as long as a lease is.
    pub fn silent(&self, now: Duration) -> Vec<usize> {
        (0..self.hosts.len()).filter(|&host| self.is_silent(host, now)).collect()
    }

    /// Whether that is so of a host.
    pub fn is_silent(&self, host: usize, now: Duration) -> bool {
        matches!(self.hosts[host], Grant::Held(last) if last + self.term <= now)
    }

    /// Nothing of a host is acknowledged from now on, for the reason `how`.
    pub fn give_up(&mut self, host: usize, how: &str, now: Duration) {
        let last = match self.hosts[host] {
            Grant::Absent => now,
            Grant::Held(last) => last,
            Grant::GivenUp(..) | Grant::Over => return,
        };
        self.hosts[host] = Grant::GivenUp(last, how.to_owned());
    }

    /// Why a host was given up, if it was.
    pub fn why(&self, host: usize) -> Option<&str> {
        match &self.hosts[host] {
            Grant::GivenUp(_, how) => Some(how),
            _ => None,
        }
    }

    /// The hosts that were given up, with the reason, whose PEs are sure to have ended by now.
    pub fn dead(&self, now: Duration) -> Vec<(usize, String)> {
        let limit = to_be_dead(self.term);
        let dead = |(host, grant): (usize, &Grant)| match grant {
            Grant::GivenUp(last, how) if *last + limit <= now => Some((host, how.clone())),
            _ => None,
        };
        self.hosts.iter().enumerate().filter_map(dead).collect()
    }

    /// What becomes of a host's PEs is decided.
    pub fn over(&mut self, host: usize) {
        self.hosts[host] = Grant::Over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Duration = Duration::from_secs(2);

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_lease_runs_from_when_the_acknowledged_beat_was_sent() {
        let mut lease = Lease::begin(TERM, at(0));
        assert!(!lease.is_over(at(1999)) && lease.is_over(at(2000)));
        let beats = [250, 500, 750].map(|time| lease.beat(at(time)).unwrap());
        let until = |time| Some(Renewal { until: at(time), resumes: false });
        // However late that is.
        assert_eq!(lease.acknowledged(beats[1]), until(2500));
        assert_eq!(lease.acknowledged(beats[0]), None, "it is older");
        assert_eq!(lease.acknowledged(7), None, "there was no such beat");
        assert_eq!(lease.acknowledged(beats[2]), until(2750));
        assert_eq!(lease.until(), at(2750));
    }

    #[test]
    fn pes_that_stand_still_go_on_with_a_lease_of_after_that() {
        let mut lease = Lease::begin(TERM, at(0));
        let old = lease.beat(at(1000)).unwrap();
        lease.pause();
        assert_eq!((lease.is_over(at(60_000)), lease.beat(at(60_000))), (false, None));
        lease.resume(at(60_000));
        assert_eq!((lease.acknowledged(old), lease.until()), (None, at(62_000)));
        let [first, second] = [60_000, 60_250].map(|time| lease.beat(at(time)).unwrap());
        assert_eq!(lease.acknowledged(first), Some(Renewal { until: at(62_000), resumes: true }));
        assert_eq!(lease.acknowledged(second), Some(Renewal { until: at(62_250), resumes: false }));
    }

    #[test]
    fn a_host_is_given_up_after_a_lease_and_dead_after_half_another() {
        let mut grants = Grants::new(TERM, 2);
        assert!(!grants.acknowledges(0, at(0)), "it has not begun");
        grants.begin(0, at(0));
        assert!(grants.acknowledges(0, at(400)));
        assert!(grants.silent(at(2399)).is_empty());
        assert_eq!(grants.silent(at(2400)), [0]);
        grants.give_up(0, "silent", at(2500));
        grants.give_up(0, "later", at(2600));
        assert!(!grants.acknowledges(0, at(2600)) && grants.silent(at(2600)).is_empty());
        assert!(grants.dead(at(3399)).is_empty());
        assert_eq!(grants.dead(at(3400)), [(0, "silent".to_owned())]);
        grants.over(0);
        assert!(grants.dead(at(9000)).is_empty());
        // A job that stands still has no silent hosts.
        grants.begin(1, at(0));
        grants.begin_again(at(9000));
        assert!(grants.silent(at(9001)).is_empty());
    }
}
