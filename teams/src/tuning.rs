//! Which algorithm a collective takes: by size, team size and placement, unless a setting says.
//!
//! All limits are in one struct, [`Tuning`], which benchmarks and the scale model read too. Its
//! default is for machines of which nothing is known, and nothing asks for a kind of processor.
//!
//! Among the PEs of a host:
//!
//! | | algorithm |
//! |---|---|
//! | sync | dissemination; a counter where up to 32 PEs share processors |
//! | reduce, scan, fcollect, collect, alltoall, of a few words | all to all, through slots |
//! | reduce, of a few hundred bytes | a tree, through slots, for more PEs |
//! | broadcast, short | down a tree, from destination to destination |
//! | everything else | direct: in the memory of the PEs |
//!
//! On several hosts that is what the PEs of each do among themselves. Their leaders do the rest:
//!
//! | | short | long |
//! |---|---|---|
//! | sync | dissemination | |
//! | broadcast | binomial tree | scatter and allgather, or a chain of chunks |
//! | reduce | recursive doubling | recursive halving, or a ring |
//! | scan | dissemination | the same, in pieces |
//! | fcollect, collect | Bruck | ring |
//! | alltoall | a message a host | a message a PE |

use oxshmem_base::settings::{
    AlltoallAlgorithm, BroadcastAlgorithm, CollectAlgorithm, ReduceAlgorithm, SyncAlgorithm,
};
use oxshmem_spaces::Pe;

use crate::{
    memory::scratch::{FIRST_LINE, INLINE, SLOTS, bulk_bytes},
    operation::Operation,
};

/// Children of one PE in a tree.
pub(crate) const RADIX: usize = 4;
/// Messages that are under way from one PE to another host at a time.
pub(crate) const WINDOW: usize = 4;
/// Bytes of one message of a long vector between hosts: enough for the bandwidth of any network,
/// and few enough for the caches.
pub const CHUNK: usize = 128 << 10;
/// Chunks that a leader sends of its own before it sends on what has come, in a ring.
pub const CHUNKS_IN_RING: usize = 8;

/// Defines the limits together with their names, by which benchmarks and tests change them.
macro_rules! limits {
    ($($(#[$meta:meta])* $name:ident: $default:expr,)+) => {
        /// The limits within which each algorithm is taken: of bytes, unless the field says
        /// otherwise.
        ///
        /// ```
        /// use oxshmem_teams::tuning::Tuning;
        ///
        /// let tuning = Tuning::default().with("flat_pes=4, pushed=0")?;
        /// assert_eq!((tuning.flat_pes, tuning.pushed), (4, 0));
        /// assert!(Tuning::default().with("flat").is_err());
        /// # Ok::<(), String>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Tuning { $($(#[$meta])* pub $name: usize,)+ }

        impl Default for Tuning {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Tuning {
            fn limit(&mut self, name: &str) -> Option<&mut usize> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

limits! {
    /// The most PEs that send to each other, all to all, through slots.
    flat_pes: 8,
    /// The most PEs that sync by a counter where they share processors: the last one releases all
    /// others.
    counter_pes: 32,
    /// The most bytes of a reduction or scan that go through slots, all to all: what fits into a
    /// slot's first cache line. In the book's chapter on variants, a sum of 8 or 40 bytes by 2 PEs
    /// takes less than half of the time of the direct one.
    reduced_in_slots: FIRST_LINE,
    /// The most bytes of a reduction that go through slots up and down a tree. In that chapter, a
    /// sum of 256 bytes by 16 PEs takes a quarter less time than the direct one.
    reduced_in_tree: 256,
    /// The most bytes that each PE gives to an `fcollect`, or to each other PE in an `alltoall`,
    /// through slots: what fits into a slot's first cache line. In that chapter, those of 8 and 40
    /// bytes take half of the time of the direct ones.
    collected_in_slots: FIRST_LINE,
    /// The most bytes of a `collect` that come with their number. In that chapter, one of 8 or 40
    /// bytes takes half of the time of one of which the number comes first.
    gathered_in_slots: 64,
    /// The most bytes of an exchange through slots, all to all, that goes without a state machine
    /// where nothing has to be waited for. In that chapter, that takes 15 to 42 % less time.
    quick: INLINE,
    /// The most bytes of a broadcast that go from destination to destination, for all children of a
    /// PE together. What is longer the PEs fetch themselves.
    pushed: 32 << 10,
    /// The most PEs among which the copies of a longer broadcast are shared out, so that the root
    /// helps.
    helped_pes: 64,
    /// Bytes of a vector that are combined at a time.
    block: 16 << 10,
    /// The number of hosts from which on they are many.
    many_hosts: 8,
    /// From this size on bandwidth counts for more than the number of messages that follow each
    /// other.
    long: 32 << 10,
    /// From this size for each host on a reduction or collect goes around a ring, if hosts are few
    /// or no power of two.
    ring: 16 << 10,
    /// From this size on a reduction on many hosts is halved.
    halved: 64 << 10,
    /// From this size for each host on a broadcast goes down a chain.
    chain: 64 << 10,
    /// On many hosts a broadcast goes down a chain from this size for each host on.
    chain_of_many: 128 << 10,
    /// From this size on a broadcast to many hosts goes in parts.
    scattered: 128 << 10,
    /// The most bytes that go from one leader to another in an all-to-all.
    packed: 64 << 10,
}

/// How the leaders of hosts bring what one has to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Down a binomial tree.
    Binomial,
    /// A part for each down that tree, and then all parts to all.
    Scatter,
    /// From each to the next, in chunks.
    Chain,
}

/// How they combine what they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// In log₂ k rounds with everything.
    Doubling,
    /// In log₂ k rounds with half of what is left, and as many to hand out what comes of it.
    Halving,
    /// Around a ring, in parts.
    Ring,
}

/// How they collect what they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    /// In log₂ k rounds.
    Bruck,
    /// Around a ring.
    Ring,
}

/// Which PEs exchange blocks with each other between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// The leaders, for all PEs of their hosts.
    Leaders,
    /// All PEs.
    All,
}

impl Tuning {
    /// These limits with some changed, as `NAME=NUMBER,…`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn with(mut self, text: &str) -> Result<Self, String> {
        for limit in text.split(',').map(str::trim).filter(|limit| !limit.is_empty()) {
            let (name, number) =
                limit.split_once('=').ok_or_else(|| format!("{limit} is not NAME=NUMBER"))?;
            let number = number.trim().parse().map_err(|e| format!("{limit}: {e}"))?;
            *self.limit(name.trim()).ok_or_else(|| format!("there is no limit {name}"))? = number;
        }
        Ok(self)
    }

    /// A broadcast of `bytes` between `hosts` hosts.
    pub fn broadcast_between(&self, hosts: usize, bytes: usize) -> Spread {
        let many = hosts >= self.many_hosts;
        match () {
            () if bytes / if many { self.chain_of_many } else { self.chain } >= hosts => Spread::Chain,
            () if many && bytes >= self.scattered => Spread::Scatter,
            () => Spread::Binomial,
        }
    }

    /// A reduction of `bytes` between `hosts` hosts.
    pub fn reduce_between(&self, hosts: usize, bytes: usize) -> Fold {
        let many = hosts >= self.many_hosts;
        // Hosts beyond a power of two send and get everything, beside the rounds of halving.
        let halves = many && hosts.is_power_of_two();
        match () {
            () if !halves && bytes >= self.long && bytes / self.ring >= hosts => Fold::Ring,
            () if many && bytes >= self.halved => Fold::Halving,
            () => Fold::Doubling,
        }
    }

    /// A `collect` or `fcollect` of `bytes` in all between `hosts` hosts.
    pub fn collect_between(&self, hosts: usize, bytes: usize) -> Gather {
        if bytes < self.long || bytes / self.ring < hosts { Gather::Bruck } else { Gather::Ring }
    }

    /// An `alltoall` of blocks of `bytes` between hosts, of which none has more PEs than `most`.
    pub fn alltoall_between(&self, most: usize, bytes: usize) -> Pairs {
        if bytes.saturating_mul(most * most) <= self.packed { Pairs::Leaders } else { Pairs::All }
    }
}

/// How PEs exchange what fits into the slots of their scratch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every PE sends to every other one.
    Flat,
    /// Up a tree and down again.
    Tree,
}

impl Mode {
    /// How many slots of one PE it takes, for `n` PEs.
    pub(crate) fn slots(self, n: usize) -> usize {
        match self {
            Self::Flat => n,
            Self::Tree => RADIX + 1,
        }
    }
}

/// The choices of one team.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choices {
    pub(crate) tuning: Tuning,
    /// How the PEs of this host meet, and exchange what is short.
    pub(crate) mode: Mode,
    /// The most children that a PE has in a broadcast.
    children: usize,
    pub(crate) sync: SyncAlgorithm,
    broadcast: BroadcastAlgorithm,
    reduce: ReduceAlgorithm,
    collect: CollectAlgorithm,
    alltoall: AlltoallAlgorithm,
}

impl Choices {
    /// For `n` PEs of a team on the host of `pe`.
    pub(crate) fn new(pe: &Pe, n: usize) -> Self {
        let settings = pe.settings();
        // An error in the text was reported when the world was made.
        let tuning = Tuning::default().with(&settings.tuning).unwrap_or_default();
        Self {
            sync: match settings.sync_algorithm {
                // A PE that shares its processor goes on after one turn of all others, and not
                // after log₂ n.
                SyncAlgorithm::Auto if pe.is_crowded() && n <= tuning.counter_pes => SyncAlgorithm::Counter,
                SyncAlgorithm::Auto => SyncAlgorithm::Dissemination,
                asked => asked,
            },
            broadcast: settings.broadcast_algorithm,
            reduce: settings.reduce_algorithm,
            collect: settings.collect_algorithm,
            alltoall: settings.alltoall_algorithm,
            ..Self::of(tuning, n)
        }
    }

    fn of(tuning: Tuning, n: usize) -> Self {
        let mode = if n <= tuning.flat_pes.min(SLOTS) { Mode::Flat } else { Mode::Tree };
        let capacity = bulk_bytes(mode.slots(n));
        let tuning = Tuning {
            reduced_in_slots: tuning.reduced_in_slots.min(capacity),
            reduced_in_tree: tuning.reduced_in_tree.min(capacity),
            collected_in_slots: tuning.collected_in_slots.min(capacity),
            gathered_in_slots: tuning.gathered_in_slots.min(capacity),
            quick: tuning.quick.min(INLINE),
            ..tuning
        };
        Self {
            tuning,
            mode,
            children: n.saturating_sub(1).clamp(1, RADIX),
            sync: SyncAlgorithm::Dissemination,
            broadcast: BroadcastAlgorithm::Auto,
            reduce: ReduceAlgorithm::Auto,
            collect: CollectAlgorithm::Auto,
            alltoall: AlltoallAlgorithm::Auto,
        }
    }

    /// Whether an operation is an exchange through slots in which each PE gives `bytes` to each
    /// other one.
    #[inline(always)]
    pub(crate) fn in_slots(&self, operation: Operation, bytes: usize) -> bool {
        let Tuning { reduced_in_slots, reduced_in_tree, collected_in_slots, .. } = self.tuning;
        let (most, mode) = match operation {
            Operation::Reduce(_) if self.mode == Mode::Tree => (reduced_in_tree, Mode::Tree),
            Operation::Reduce(_) => (reduced_in_slots, Mode::Flat),
            Operation::Scan { .. } => (reduced_in_slots, Mode::Flat),
            Operation::Fcollect | Operation::Alltoall | Operation::Alltoalls { .. } => {
                (collected_in_slots, Mode::Flat)
            }
            // In which PEs learn how much each gives, and what is short comes with that.
            Operation::Collect => (usize::MAX, Mode::Flat),
            Operation::Meet | Operation::Broadcast { .. } => return false,
        };
        bytes <= most && self.mode == mode
    }

    /// Bytes that are combined at a time: whole elements of every type.
    pub(crate) fn block(&self) -> usize {
        self.tuning.block.next_multiple_of(64).max(64)
    }

    /// Whether a broadcast of `bytes` on one host is pushed down a tree.
    #[inline]
    pub(crate) fn pushes(&self, bytes: usize) -> bool {
        bytes.saturating_mul(self.children) <= self.tuning.pushed
    }

    /// A broadcast of `bytes` between `hosts` hosts.
    pub(crate) fn broadcast_between(&self, hosts: usize, bytes: usize) -> Spread {
        match self.broadcast {
            BroadcastAlgorithm::Auto => self.tuning.broadcast_between(hosts, bytes),
            BroadcastAlgorithm::Binomial => Spread::Binomial,
            BroadcastAlgorithm::Scatter => Spread::Scatter,
            BroadcastAlgorithm::Chain => Spread::Chain,
        }
    }

    /// A reduction of `bytes` between `hosts` hosts.
    pub(crate) fn reduce_between(&self, hosts: usize, bytes: usize) -> Fold {
        match self.reduce {
            ReduceAlgorithm::Auto => self.tuning.reduce_between(hosts, bytes),
            ReduceAlgorithm::Doubling => Fold::Doubling,
            ReduceAlgorithm::Halving => Fold::Halving,
            ReduceAlgorithm::Ring => Fold::Ring,
        }
    }

    /// A `collect` or `fcollect` of `bytes` in all between `hosts` hosts.
    pub(crate) fn collect_between(&self, hosts: usize, bytes: usize) -> Gather {
        match self.collect {
            CollectAlgorithm::Auto => self.tuning.collect_between(hosts, bytes),
            CollectAlgorithm::Bruck => Gather::Bruck,
            CollectAlgorithm::Ring => Gather::Ring,
        }
    }

    /// An `alltoall` of blocks of `bytes` between hosts, of which none has more PEs than `most`.
    pub(crate) fn alltoall_between(&self, most: usize, bytes: usize) -> Pairs {
        match self.alltoall {
            AlltoallAlgorithm::Auto => self.tuning.alltoall_between(most, bytes),
            AlltoallAlgorithm::Leaders => Pairs::Leaders,
            AlltoallAlgorithm::Pairwise => Pairs::All,
        }
    }
}

/// The least number of rounds after which each of `n` PEs or hosts has a message of every other.
pub(crate) fn rounds(n: usize) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduction::sum_kernel;

    #[test]
    fn rounds_reach_all() {
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 1024].map(rounds), [0, 1, 2, 2, 3, 3, 4, 10]);
    }

    #[test]
    fn what_goes_through_slots_fits_into_them() {
        let sum = Operation::Reduce(sum_kernel::<u64>());
        for flat_pes in [0, 1, 8, 1000] {
            let all = Tuning {
                flat_pes,
                reduced_in_slots: usize::MAX,
                reduced_in_tree: usize::MAX,
                collected_in_slots: usize::MAX,
                gathered_in_slots: usize::MAX,
                ..Tuning::default()
            };
            for n in 2..300 {
                let choices = Choices::of(all, n);
                let slots = choices.mode.slots(n);
                assert!(slots <= SLOTS && !choices.in_slots(sum, bulk_bytes(slots) + 1), "{n} PEs");
                assert!(choices.in_slots(sum, bulk_bytes(slots)));
                assert!(!choices.in_slots(Operation::Fcollect, bulk_bytes(slots) + 1));
            }
        }
    }

    #[test]
    fn limits_are_read_by_their_names() {
        let tuning = Tuning::default().with(" block = 64,chain=1 ,").unwrap();
        assert_eq!(tuning, Tuning { block: 64, chain: 1, ..Tuning::default() });
        for text in ["block", "block=", "block=x", "blocks=1", "=1"] {
            assert!(Tuning::default().with(text).is_err(), "{text}");
        }
    }
}
