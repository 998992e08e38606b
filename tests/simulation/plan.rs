//! What a simulation is made of: PEs on hosts, what they do, and which are lost when.

use std::{sync::Arc, time::Duration};

use oxshmem::{ClusterOptions, Distribution, Link, LocalCluster};

use crate::{
    chance::{Course, Player, Trace},
    common::Random,
};

/// All of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// How many PEs each host has.
    pub(crate) hosts: Vec<usize>,
    pub(crate) steps: Vec<Step>,
    /// PEs that are lost, and when.
    pub(crate) losses: Vec<(usize, When)>,
    /// Whether chance decides which PE is polled first.
    pub(crate) shuffled: bool,
    /// Whether each PE that is lost has a replacement, which the others let in.
    pub(crate) replaced: bool,
}

/// When a PE is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// When it has been polled so often.
    Poll(u64),
    /// At that time in nanoseconds, whatever it is doing.
    At(u64),
}

/// What all PEs of a team do, each with that which is `shift` further on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) shift: usize,
    pub(crate) len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Put,
    PutNbi,
    Get,
    FetchAdd,
    Signal,
    Wait,
    Sync,
    Sum,
    Max,
    Broadcast,
    BroadcastBytes,
    Fcollect,
    Collect,
    Alltoall,
    Split,
    Alloc,
    Realloc,
    Free,
    Lock,
}

impl Kind {
    pub(crate) const ALL: [Self; 19] = [
        Self::Put,
        Self::PutNbi,
        Self::Get,
        Self::FetchAdd,
        Self::Signal,
        Self::Wait,
        Self::Sync,
        Self::Sum,
        Self::Max,
        Self::Broadcast,
        Self::BroadcastBytes,
        Self::Fcollect,
        Self::Collect,
        Self::Alltoall,
        Self::Split,
        Self::Alloc,
        Self::Realloc,
        Self::Free,
        Self::Lock,
    ];
}

/// The longest that a PE gives to another.
pub(crate) const LEN: usize = 3000;
/// How many locks there are, which have homes on several PEs.
pub(crate) const LOCKS: usize = 4;

impl Plan {
    /// What that seed comes to.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_add(0x5eed));
        for _ in 0..8 {
            random.next();
        }
        let n = 2 + random.below(5) as usize;
        let mut hosts = vec![1, 1];
        for _ in 2..n {
            match random.below(3) {
                0 => hosts.push(1),
                _ => {
                    let at = random.below(hosts.len() as u64) as usize;
                    hosts[at] += 1;
                }
            }
        }
        let replaced = random.below(4) == 0;
        // Some do one thing alone, to do more of it.
        let kinds: &[Kind] = match random.below(4) {
            0 => &[Kind::Alloc, Kind::Realloc, Kind::Free],
            1 if !replaced => &[Kind::Lock],
            // The lock of a home that has a replacement begins anew, whichever PE has it.
            _ if replaced => &Kind::ALL[..Kind::ALL.len() - 1],
            _ => &Kind::ALL,
        };
        let step = |random: &mut Random| Step {
            kind: kinds[random.below(kinds.len() as u64) as usize],
            shift: random.below(6) as usize,
            len: [1, 1, 40, LEN][random.below(4) as usize],
        };
        let steps = (0..1 + random.below(8)).map(|_| step(&mut random)).collect();
        let mut losses = Vec::new();
        for pe in 0..n {
            if random.below(3) == 0 {
                let when = match random.below(2) {
                    0 => When::Poll(random.below(60)),
                    _ => When::At(random.below(3_000_000)),
                };
                losses.push((pe, when));
                if replaced && random.below(2) == 0 {
                    // So is its replacement, before the others have let it in, or after that.
                    losses.push((pe, When::Poll(random.below(80))));
                }
            }
        }
        Self { seed, hosts, steps, losses, shuffled: true, replaced }
    }

    pub(crate) fn n(&self) -> usize {
        self.hosts.iter().sum()
    }

    fn link(&self) -> Link {
        let mut random = Random::new(self.seed ^ 0x11c);
        random.next();
        let mut micros = |up_to| Duration::from_micros(random.below(up_to));
        Link {
            latency: micros(50),
            jitter: micros(200),
            overhead: micros(2),
            receipt: micros(2),
            bandwidth: [0, 1_000_000_000][(self.seed % 2) as usize],
            seed: self.seed,
            virtual_time: true,
        }
    }

    /// Plays it, and says what went wrong, if anything did.
    pub(crate) fn simulate(&self) -> Result<Trace, String> {
        let mut options = ClusterOptions::default().link(self.link()).survive_loss();
        options.placement = Distribution::each(self.hosts.clone());
        options.settings.symmetric_size = 1 << 20;
        options.respawns = if self.replaced { self.losses.len() } else { 0 };
        // A thread that copies would be at it at some time or other.
        options.settings.offload_threshold = None;
        let (plan, course) = (Arc::new(self.clone()), Course::new(self));
        let player = |world| Player::new(world, &plan, &course);
        let ends = LocalCluster::run_each(self.n(), options, player);
        let ends = ends.map_err(|error| format!("it does not start: {error}"))?;
        let trace = course.end()?;
        for (pe, end) in ends.into_iter().enumerate() {
            match end {
                Ok(()) if course.is_gone(pe) => return Err(format!("PE {pe} is lost, and ends well")),
                Err(error) if !course.is_gone(pe) => return Err(format!("PE {pe} ends with: {error}")),
                _ => {}
            }
        }
        Ok(trace)
    }

    /// The smallest of its kind that goes wrong as well, and how.
    pub(crate) fn shrunk(mut self, mut wrong: String) -> (Self, String) {
        'smaller: loop {
            for smaller in self.smaller() {
                if let Err(error) = smaller.simulate() {
                    (self, wrong) = (smaller, error);
                    continue 'smaller;
                }
            }
            return (self, wrong);
        }
    }

    fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for at in 0..self.losses.len() {
            let mut smaller = self.clone();
            smaller.losses.remove(at);
            all.push(smaller);
        }
        for at in 0..self.steps.len() {
            let mut smaller = self.clone();
            smaller.steps.remove(at);
            all.push(smaller);
        }
        for at in 0..self.hosts.len() {
            let mut smaller = self.clone();
            smaller.hosts[at] -= 1;
            smaller.hosts.retain(|&pes| pes > 0);
            let n = smaller.n();
            smaller.losses.retain(|&(pe, _)| pe < n);
            // Time is virtual on several hosts.
            if smaller.hosts.len() > 1 {
                all.push(smaller);
            }
        }
        if self.shuffled {
            all.push(Self { shuffled: false, ..self.clone() });
        }
        for at in 0..self.steps.len() {
            let Step { shift, len, .. } = self.steps[at];
            for (shift, len) in [(shift, 1), (0, len)] {
                let mut smaller = self.clone();
                (smaller.steps[at].shift, smaller.steps[at].len) = (shift, len);
                if smaller != *self {
                    all.push(smaller);
                }
            }
        }
        all
    }
}
