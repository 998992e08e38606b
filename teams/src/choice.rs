//! Which algorithm a collective takes: by size, team size and placement, unless a setting says.
//!
//! | | few PEs, one processor each | PEs share processors | many PEs |
//! |---|---|---|---|
//! | sync | dissemination | flat, or counter | dissemination, or tree |
//! | small reduce | flat | flat, or central | doubling, or tree |
//! | small scan | flat | flat, or central | doubling, or direct |
//! | small fcollect, collect, alltoall | flat | flat, or central | direct |
//! | broadcast of up to 100 bytes | tree, which is flat for few | tree | tree |
//! | broadcast of up to 16 KiB for all, for each where they share | push | push | tree up to 4 KiB |
//! | everything larger | direct | direct | direct |
//!
//! What is written to a destination need not be copied from scratch memory. For two PEs that is worth a second message from
//! a hundred bytes on, for a reduction from 256 on. Where PEs share processors a reduction takes no more turns so, and does it above 512.
//!
//! On several hosts that is what the PEs of each do among themselves; their leaders do the rest:
//!
//! | | short | long |
//! |---|---|---|
//! | sync | dissemination | |
//! | broadcast | binomial tree | chain, in chunks |
//! | reduce | recursive doubling | ring |
//! | scan | dissemination | the same, in pieces |
//! | fcollect, collect | Bruck | ring |
//! | alltoall | a message a host | a message a PE |
//!
//! *Many* is more than 8 where each PE has a processor, and where they share more than 64, or 32 in one process. There it is flat for up to 4. *Small* is what fits
//! into the scratch memory that PEs have for each other: 4 KiB of a scan for 2 PEs, less for more. PEs that are bound to processors which they share are in
//! [crews](crate::crew): then few of them sync by the counter too, and exchange at PE 0; but blocks of an alltoall of up to 8 PEs that
//! do not fit into a slot together, and do one by one, go straight to each.

use oxshmem_base::settings::{
    AlltoallAlgorithm, BroadcastAlgorithm, CollectAlgorithm, ReduceAlgorithm, ScanAlgorithm, SyncAlgorithm,
};
use oxshmem_runtime::Pe;

use crate::{
    group::ALL_SIGNAL,
    messages::MOST_FOR_BRUCK,
    processors::MOST_TO_SHARE,
    scratch::{self, INLINE, SLOTS, STREAM_BULK, bulk_bytes},
};

/// The most PEs that send to each other, all to all.
const FLAT: usize = 8;
/// The same where they share processors: what one sends costs the others time.
const FLAT_CROWDED: usize = 4;
/// The most PEs that meet at one of them, the last of which tells all others.
const CENTRAL: usize = 64;
/// The same in one process, where to go up and down a tree takes no turns on a processor.
const CENTRAL_IN_PROCESS: usize = 32;

/// How PEs exchange what fits into the slots of their scratch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every PE sends to every other one.
    Flat,
    /// All write to the team's first PE, and the last one to come releases them.
    Central,
    /// Up a tree and down again.
    Tree,
    /// log₂ n rounds of pairs.
    Doubling,
}

impl Mode {
    /// How many slots of one PE it takes, for `n` PEs.
    pub(crate) fn slots(self, n: usize) -> usize {
        match self {
            Self::Flat => n,
            // One more for the result.
            Self::Central => n + 1,
            Self::Tree => crate::tree::RADIX + 1,
            Self::Doubling => rounds(n) as usize + 2,
        }
    }

    /// The place of slot `index` of the exchange with that number, among `n` PEs.
    #[inline(always)]
    pub(crate) fn slot(self, number: u64, index: usize, n: usize) -> usize {
        match self {
            Self::Central => scratch::lasting_slot(number, index, self.slots(n)),
            _ => scratch::slot(number, index),
        }
    }

    /// The most bytes that one PE can give in one exchange.
    pub(crate) fn capacity(self, n: usize) -> usize {
        bulk_bytes(self.slots(n))
    }
}

/// The least number of rounds in which `n` PEs hear of each other.
pub(crate) fn rounds(n: usize) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

/// How a collective is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// By exchanges of at most as many bytes a PE.
    Exchange(Mode, usize),
    /// In the memory of the PEs, which all are on this host.
    Direct,
    /// By messages around a ring.
    Ring,
    /// By messages of growing size.
    Bruck,
    /// By a message to and from each PE in turn.
    Pairwise,
}

/// How a broadcast is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Down a tree, through scratch memory.
    Tree,
    /// Down a tree, from destination to destination.
    Push,
    /// By reading the root's memory.
    Direct,
    /// In parts that go around a ring.
    Scatter,
}

/// How the leaders of hosts collect what they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relay {
    /// In log₂ k rounds.
    Rounds,
    /// Around a ring.
    Ring,
}

/// How they combine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// In log₂ k rounds with everything.
    Doubling,
    /// In log₂ k rounds with a half of what is left, and as many to hand out what comes of it.
    Halving,
    /// Around a ring, in parts.
    Ring,
}

/// How what one host has comes to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Down a binomial tree.
    Binomial,
    /// A part for each down that tree, and then all parts to all.
    Parts,
    /// From each to the next.
    Chain,
}

/// Who exchanges blocks with whom between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// The leaders, for all PEs of their hosts.
    Leaders,
    /// All PEs.
    All,
}

/// From this size on bandwidth counts for more than the number of messages that follow each other between hosts.
const LONG: usize = 32 << 10;
/// From so much for each host on, going around all of them takes no longer than rounds with everything: 2k messages of S/k bytes
/// against log₂ k of S.
const RING: usize = 16 << 10;
/// From so much for each host on, a chain is as busy as a tree.
const CHAIN: usize = 64 << 10;
/// With so many hosts everything twice is less than everything log₂ k times.
const MANY: usize = 8;
/// From these sizes on, as what that saves takes longer than more messages do: on networks that bring some 30 KiB in the time
/// of a message.
const HALVES: usize = 64 << 10;
const PARTS: usize = 128 << 10;
/// Then a ring, which brings everything twice too, and a chain, which does so once, are as fast from these on, for each host.
const RING_OF_MANY: usize = 256 << 10;
const CHAIN_OF_MANY: usize = 128 << 10;
/// The most bytes that go from one leader to another in an all-to-all.
const PACKED: usize = 64 << 10;

/// The most bytes of one of 2 PEs that go through scratch memory, where they could go straight to a destination.
const PAIR_COLLECTED: usize = 128;
const PAIR_REDUCED: usize = 256;
const PAIR_GATHERED: usize = 256;
/// The most bytes of a reduction that go through scratch memory where PEs share processors: there it takes no more turns to combine
/// them where they are.
const REDUCED_CROWDED: usize = 512;
/// The most bytes that a root pushes to all others together: with more to do, they had better help it. Where they share
/// processors, they cannot.
const PUSHED: usize = 16 << 10;
const PUSHED_CROWDED: usize = 64 << 10;
/// Bytes for each of a few PEs that share processors, of whom one on each processor passes them on. What is longer is given in parts.
const IN_COLUMNS: usize = 16 << 10;
/// The most PEs of one processor for which that is done: a few, as it is one of them that serves all others.
const COLUMN: usize = 8;
/// The most bytes for all others together that the root had better push alone: its stores then find
/// the lines that it stored to before, which nobody who passes them on has fetched since.
const ALONE: usize = 48 << 10;
/// Where PEs share processors, each is late, and the root would copy everything: up to this size that is less than their turns
/// take.
const HELPED_CROWDED: usize = 128 << 10;
/// The most bytes of a broadcast of 2 PEs of which each copies a half without asking the other.
const HALVED: usize = 256 << 10;

fn most_central(in_process: bool) -> usize {
    if in_process { CENTRAL_IN_PROCESS } else { CENTRAL }
}

fn meeting(n: usize, crowded: bool, in_process: bool, in_crews: bool) -> Mode {
    match crowded {
        // What goes to one PE is fetched once by all of a crew.
        _ if in_crews => Mode::Central,
        false if n <= FLAT => Mode::Flat,
        false => Mode::Doubling,
        true if n <= FLAT_CROWDED => Mode::Flat,
        true if n <= most_central(in_process) => Mode::Central,
        true => Mode::Tree,
    }
}

/// The choices of one team.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choices {
    n: usize,
    /// How the PEs meet before or after they reach into each other's memory.
    pub(crate) meeting: Mode,
    /// The most bytes that a PE can give then.
    capacity: usize,
    in_crews: bool,
    /// The most bytes that go through scratch memory although they could go straight to a destination.
    collected: usize,
    reduced: usize,
    /// The most bytes of a `collect` that come with their number.
    pub(crate) gathered: usize,
    /// The most bytes that a broadcast has for each of the others, if it pushes them; the second if its root is that of the one before.
    pushed: [usize; 2],
    /// Pushing more than so many bytes, of how many processors each has a PE that pushes to the others of it.
    columned: usize,
    columns: usize,
    /// From this size on the root of a broadcast leaves it to the others to copy what comes to them.
    pub(crate) unhelped: usize,
    /// Up to this size a broadcast of 2 PEs is copied in halves.
    pub(crate) halved: usize,
    pub(crate) sync: SyncAlgorithm,
    broadcast: BroadcastAlgorithm,
    reduce: ReduceAlgorithm,
    collect: CollectAlgorithm,
    alltoall: AlltoallAlgorithm,
    scan: ScanAlgorithm,
}

impl Choices {
    /// For a team of `n` PEs of `pe`'s job.
    /// They are in crews if processors are shared by PEs that are bound to them.
    pub(crate) fn new(pe: &Pe, n: usize, in_crews: bool) -> Self {
        let settings = pe.settings();
        let crowded = pe.is_crowded();
        let sync = match settings.sync_algorithm {
            SyncAlgorithm::Auto if !crowded => SyncAlgorithm::Dissemination,
            SyncAlgorithm::Auto if n <= FLAT_CROWDED && !in_crews => SyncAlgorithm::Flat,
            // In the counter's sync the last one to come does n steps alone, which a tree would share.
            SyncAlgorithm::Auto if n <= most_central(pe.in_process()) => SyncAlgorithm::Counter,
            SyncAlgorithm::Auto => SyncAlgorithm::Tree,
            SyncAlgorithm::Flat if n > ALL_SIGNAL => SyncAlgorithm::Dissemination,
            asked => asked,
        };
        let meeting = meeting(n, crowded, pe.in_process(), in_crews);
        let capacity = meeting.capacity(n);
        // Between tasks of one process nothing goes from cache to cache.
        let in_columns = crowded && n <= COLUMN * pe.processors();
        let others = n.saturating_sub(1).max(1);
        let pushed = match crowded {
            true if in_columns && !pe.in_process() => [IN_COLUMNS; 2],
            _ => [if crowded { PUSHED_CROWDED } else { PUSHED } / others; 2],
        };
        let limit = |pair: usize| if n == 2 { pair } else { usize::MAX };
        Self {
            n,
            collected: limit(PAIR_COLLECTED),
            reduced: match crowded && !pe.in_process() && n <= MOST_TO_SHARE {
                true => REDUCED_CROWDED,
                false => limit(PAIR_REDUCED),
            }
            .min(capacity),
            gathered: match settings.collect_algorithm {
                CollectAlgorithm::Auto => limit(PAIR_GATHERED),
                CollectAlgorithm::Direct => 0,
                _ => usize::MAX,
            },
            pushed,
            columned: if pe.in_process() { 0 } else { ALONE / others },
            columns: if in_columns { pe.processors() } else { n },
            unhelped: if crowded { HELPED_CROWDED } else { usize::MAX },
            halved: if n == 2 && !crowded { HALVED } else { 0 },
            meeting,
            capacity,
            in_crews,
            sync,
            broadcast: settings.broadcast_algorithm,
            reduce: settings.reduce_algorithm,
            collect: settings.collect_algorithm,
            alltoall: settings.alltoall_algorithm,
            scan: settings.scan_algorithm,
        }
    }

    /// What is asked for or chosen, as long as the slots suffice.
    fn flat_or_central(&self, flat: bool, central: bool) -> Option<Mode> {
        let mode = match (flat, central) {
            (true, _) => Mode::Flat,
            (_, true) => Mode::Central,
            _ => self.meeting,
        };
        (mode.slots(self.n) <= SLOTS && matches!(mode, Mode::Flat | Mode::Central)).then_some(mode)
    }

    /// A reduction of `bytes`.
    #[inline]
    pub(crate) fn reduce(&self, bytes: usize) -> Plan {
        let mode = match self.reduce {
            // The latter is between hosts.
            ReduceAlgorithm::Auto | ReduceAlgorithm::Halving => {
                let fits = bytes <= self.reduced;
                return if fits { Plan::Exchange(self.meeting, self.capacity) } else { Plan::Direct };
            }
            ReduceAlgorithm::Direct => return Plan::Direct,
            ReduceAlgorithm::Ring => return Plan::Ring,
            ReduceAlgorithm::Flat if Mode::Flat.slots(self.n) <= SLOTS => Mode::Flat,
            ReduceAlgorithm::Central if Mode::Central.slots(self.n) <= SLOTS => Mode::Central,
            ReduceAlgorithm::Tree | ReduceAlgorithm::Central => Mode::Tree,
            ReduceAlgorithm::Doubling | ReduceAlgorithm::Flat => Mode::Doubling,
        };
        Plan::Exchange(mode, mode.capacity(self.n))
    }

    /// A scan of `bytes`.
    #[inline]
    pub(crate) fn scan(&self, bytes: usize) -> Plan {
        let (flat, central) = (self.scan == ScanAlgorithm::Flat, self.scan == ScanAlgorithm::Central);
        let plan = |mode: Mode| Plan::Exchange(mode, mode.capacity(self.n));
        match (self.scan, self.meeting) {
            (ScanAlgorithm::Direct, _) => Plan::Direct,
            (ScanAlgorithm::Doubling, _) => plan(Mode::Doubling),
            (ScanAlgorithm::Auto, _) if bytes > self.capacity => Plan::Direct,
            (ScanAlgorithm::Auto, Mode::Doubling) => plan(Mode::Doubling),
            _ => self.flat_or_central(flat, central).map_or(Plan::Direct, plan),
        }
    }

    /// How PEs learn of each other's blocks, if the slots suffice for so many.
    pub(crate) fn gathering(&self) -> Option<Mode> {
        let (flat, central) =
            (self.collect == CollectAlgorithm::Flat, self.collect == CollectAlgorithm::Central);
        self.flat_or_central(flat, central)
    }

    /// A `collect` or `fcollect` to which no PE gives more than `bytes`.
    #[inline]
    pub(crate) fn collect(&self, bytes: usize) -> Plan {
        let (flat, central) =
            (self.collect == CollectAlgorithm::Flat, self.collect == CollectAlgorithm::Central);
        match self.collect {
            CollectAlgorithm::Direct => return Plan::Direct,
            CollectAlgorithm::Ring => return Plan::Ring,
            CollectAlgorithm::Bruck if self.n <= MOST_FOR_BRUCK => return Plan::Bruck,
            CollectAlgorithm::Auto if bytes > self.collected => return Plan::Direct,
            _ => {}
        }
        match self.flat_or_central(flat, central) {
            // That much fits always, which is sooner known than what would.
            Some(mode) if bytes <= INLINE => Plan::Exchange(mode, INLINE),
            Some(mode) if bytes <= mode.capacity(self.n) => Plan::Exchange(mode, mode.capacity(self.n)),
            _ => Plan::Direct,
        }
    }

    /// An `alltoall` of blocks of `bytes`, or an `alltoalls`, whose elements are `strided`.
    #[inline]
    pub(crate) fn alltoall(&self, bytes: usize, strided: bool) -> Plan {
        let (flat, central) =
            (self.alltoall == AlltoallAlgorithm::Flat, self.alltoall == AlltoallAlgorithm::Central);
        // Everybody had better send so many bytes to everybody, where each block has its own receiver: then there is less to do in a
        // turn than if the last one to come does it for all. A crew fetches what all give at once, if it is in their slots.
        let fetched = self.in_crews && self.n * bytes <= INLINE;
        let few = !strided && bytes <= INLINE && self.n <= FLAT && !fetched;
        let flat = flat || few && self.alltoall == AlltoallAlgorithm::Auto;
        match self.alltoall {
            AlltoallAlgorithm::Direct => return Plan::Direct,
            AlltoallAlgorithm::Pairwise => return Plan::Pairwise,
            AlltoallAlgorithm::Auto if bytes > self.collected => return Plan::Direct,
            _ => {}
        }
        let Some(mode) = self.flat_or_central(flat, central) else { return Plan::Direct };
        // What goes over one PE's memory are blocks for all.
        let blocks = if mode == Mode::Central { self.n } else { 1 };
        // As in `collect`.
        if bytes.saturating_mul(blocks) <= INLINE {
            return Plan::Exchange(mode, bytes);
        }
        let capacity = mode.capacity(self.n) / blocks;
        if bytes <= capacity { Plan::Exchange(mode, capacity) } else { Plan::Direct }
    }

    /// A broadcast of `bytes` between so many hosts.
    pub(crate) fn broadcast_across(&self, bytes: usize, hosts: usize) -> Shape {
        match self.broadcast {
            BroadcastAlgorithm::Tree => return Shape::Binomial,
            BroadcastAlgorithm::Scatter => return Shape::Parts,
            BroadcastAlgorithm::Chain => return Shape::Chain,
            BroadcastAlgorithm::Auto | BroadcastAlgorithm::Direct | BroadcastAlgorithm::Push => {}
        }
        let chain = if hosts < MANY { CHAIN } else { CHAIN_OF_MANY };
        match () {
            () if bytes / chain >= hosts => Shape::Chain,
            () if hosts >= MANY && bytes >= PARTS => Shape::Parts,
            () => Shape::Binomial,
        }
    }

    /// A reduction of `bytes` between so many hosts.
    pub(crate) fn reduce_across(&self, bytes: usize, hosts: usize) -> Fold {
        match self.reduce {
            ReduceAlgorithm::Doubling | ReduceAlgorithm::Tree => return Fold::Doubling,
            ReduceAlgorithm::Halving => return Fold::Halving,
            ReduceAlgorithm::Ring => return Fold::Ring,
            _ => {}
        }
        // Whoever does not take part in rounds sends and gets everything, beside them.
        let ring = if hosts >= MANY && hosts.is_power_of_two() { RING_OF_MANY } else { RING };
        match () {
            () if bytes >= LONG && bytes / ring >= hosts => Fold::Ring,
            () if hosts >= MANY && bytes >= HALVES => Fold::Halving,
            () => Fold::Doubling,
        }
    }

    /// A `collect` or `fcollect` of `bytes` in all between so many hosts.
    pub(crate) fn collect_across(&self, bytes: usize, hosts: usize) -> Relay {
        match self.collect {
            CollectAlgorithm::Bruck => Relay::Rounds,
            CollectAlgorithm::Ring => Relay::Ring,
            _ if bytes < LONG || bytes / RING < hosts => Relay::Rounds,
            _ => Relay::Ring,
        }
    }

    /// An `alltoall` of blocks of `bytes` between hosts, of which none has more PEs than `most`.
    pub(crate) fn alltoall_across(&self, bytes: usize, most: usize) -> Pairs {
        match self.alltoall {
            AlltoallAlgorithm::Central => Pairs::Leaders,
            AlltoallAlgorithm::Pairwise => Pairs::All,
            _ if bytes.saturating_mul(most * most) <= PACKED => Pairs::Leaders,
            _ => Pairs::All,
        }
    }

    /// How many PEs a broadcast of `bytes` is pushed to as a tree: each has the others of its processor below it.
    #[inline(always)]
    pub(crate) fn columns(&self, bytes: usize) -> usize {
        if bytes > self.columned { self.columns } else { self.n }
    }

    /// A broadcast of `bytes`, of the root of the one before or of another.
    #[inline]
    pub(crate) fn broadcast(&self, bytes: usize, again: bool) -> Spread {
        let auto = matches!(self.broadcast, BroadcastAlgorithm::Auto | BroadcastAlgorithm::Chain);
        match self.broadcast {
            _ if auto && bytes <= INLINE => Spread::Tree,
            _ if auto && bytes <= self.pushed[usize::from(again)] => Spread::Push,
            _ if auto && bytes <= STREAM_BULK => Spread::Tree,
            BroadcastAlgorithm::Push => Spread::Push,
            BroadcastAlgorithm::Auto | BroadcastAlgorithm::Chain | BroadcastAlgorithm::Direct => {
                Spread::Direct
            }
            BroadcastAlgorithm::Scatter => Spread::Scatter,
            BroadcastAlgorithm::Tree => Spread::Tree,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_reach_everybody() {
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 1024].map(rounds), [0, 1, 2, 2, 3, 3, 4, 10]);
    }

    #[test]
    fn every_mode_fits_into_the_slots_that_it_is_chosen_for() {
        for (crowded, in_process, in_crews) in
            [(false, false, false), (true, false, false), (true, false, true), (true, true, false)]
        {
            for n in 2..if in_crews { MOST_TO_SHARE + 1 } else { 300 } {
                let meeting = meeting(n, crowded, in_process, in_crews);
                let choices = Choices {
                    n,
                    meeting,
                    capacity: meeting.capacity(n),
                    in_crews,
                    collected: usize::MAX,
                    reduced: meeting.capacity(n),
                    gathered: usize::MAX,
                    pushed: [0; 2],
                    columned: 0,
                    columns: n,
                    unhelped: 0,
                    halved: 0,
                    sync: SyncAlgorithm::Tree,
                    broadcast: BroadcastAlgorithm::Auto,
                    reduce: ReduceAlgorithm::Auto,
                    collect: CollectAlgorithm::Auto,
                    alltoall: AlltoallAlgorithm::Auto,
                    scan: ScanAlgorithm::Auto,
                };
                let plans = [0, 8, 100, 500, 5000].map(|bytes| {
                    [
                        choices.reduce(bytes),
                        choices.scan(bytes),
                        choices.collect(bytes),
                        choices.alltoall(bytes, false),
                    ]
                });
                for plan in plans.into_iter().flatten() {
                    if let Plan::Exchange(mode, capacity) = plan {
                        assert!(mode.slots(n) <= SLOTS && capacity <= mode.capacity(n));
                    }
                }
            }
        }
    }
}
