//! What PEs exchange first: whether they have the same settings, and what those of a host
//! can do together.
//!
//! It concerns all PEs, but only the leaders of hosts need the statements of all. Each passes on to
//! its host what comes of them, so that a process needs neither memory nor time for each PE of the
//! job.

use std::{
    fs::File,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileExt,
    },
};

use oxshmem_base::{Error, Result, memfd, processors, settings::Settings};
use oxshmem_job::{Bootstrap, Placement, Shared};
use oxshmem_progress::doorbell;
use rustix::thread::CpuSet;

/// Words for the processors that a PE may run on.
const CPU_WORDS: usize = CpuSet::MAX_CPU / 64;

/// What the PEs of a host can do together. All of them get the same, as they choose their
/// algorithms by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// How many PEs share this machine's processors: those of this host, and of hosts that are only
    /// simulated.
    pub(crate) pes: usize,
    /// Processors that some of them may run on.
    pub(crate) cpus: usize,
    /// Whether all of them are registered for membarrier.
    pub(crate) membarrier: bool,
}

impl Abilities {
    /// Collects them. An error unless all PEs have the same settings. Collective; all PEs of a host
    /// get the same.
    pub(crate) async fn agree(bootstrap: &dyn Bootstrap, settings: &Settings) -> Result<Self> {
        let mut values = settings.values_equal_on_all();
        values.push(("bytes of globals in the executable", settings.statics.to_string()));
        let lines: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
        let text = lines.join("\n");
        let names: Vec<&'static str> = values.iter().map(|&(name, _)| name).collect();

        let placement = bootstrap.placement();
        if bootstrap.in_process() {
            compare(&bootstrap.exchange(text.into_bytes()).await?, &names)?;
            // Counted by one, as the threads of a process may be bound to different processors.
            let outcome = oxshmem_job::share(bootstrap, || {
                let abilities = Self { pes: placement.n_pes, cpus: processors::allowed(), membarrier: false };
                Ok(Agreement { same_settings: true, abilities })
            });
            return Ok(outcome.await?.abilities);
        }
        let mine = Statement::of_this_process(&text)?;
        let all = bootstrap.exchange_to_leaders(mine.to_bytes()).await?;
        let outcome = || Agreement::from(all.as_deref().unwrap_or_default(), placement);
        let outcome = match placement.local.len() {
            1 => outcome(),
            _ => *oxshmem_job::share(bootstrap, || Ok(outcome())).await?,
        };
        if !outcome.same_settings {
            // On all hosts alike: now all PEs are to know which differ.
            compare(&bootstrap.exchange(text.into_bytes()).await?, &names)?;
            return Err(Error::bootstrap(
                "init",
                "PEs differ in settings that must be the same on all; set each to one value for the whole job",
            ));
        }
        Ok(outcome.abilities)
    }
}

/// What a PE states about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Statement {
    /// A number that stands for its settings.
    settings: u64,
    /// Whether it is registered for membarrier.
    membarrier: bool,
    /// How many processors' time it may have.
    quota: usize,
    /// The machine that it runs on.
    machine: u64,
    /// The processors that it may run on, a bit for each.
    cpus: [u64; CPU_WORDS],
}

impl Statement {
    fn of_this_process(settings: &str) -> Result<Self> {
        // A PE bound to one processor must not believe that there is only that one.
        let set =
            rustix::thread::sched_getaffinity(None).map_err(|e| Error::system("sched_getaffinity", e))?;
        let mut cpus = [0; CPU_WORDS];
        for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)) {
            cpus[cpu / 64] |= 1 << (cpu % 64);
        }
        Ok(Self {
            settings: fnv(settings.as_bytes()),
            membarrier: doorbell::register_membarrier(),
            quota: processors::allowed(),
            machine: machine(),
            cpus,
        })
    }

    /// The processors come last, as far as there are any.
    fn to_bytes(&self) -> Vec<u8> {
        let words = [self.settings, u64::from(self.membarrier), self.quota as u64, self.machine];
        let used = self.cpus.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        words.iter().chain(&self.cpus[..used]).flat_map(|word| word.to_le_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let words =
            bytes.chunks_exact(8).map(|word| word.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)));
        let mut words = words.fuse();
        let mut next = || words.next().unwrap_or(0);
        let (settings, membarrier, quota, machine) = (next(), next() == 1, next() as usize, next());
        Self { settings, membarrier, quota, machine, cpus: std::array::from_fn(|_| next()) }
    }
}

/// What the leader of a host makes of the statements of all PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Agreement {
    same_settings: bool,
    /// Of the PEs that share this machine.
    abilities: Abilities,
}

impl Agreement {
    fn from(all: &[Vec<u8>], placement: &Placement) -> Self {
        let statement = |pe: usize| {
            all.get(pe).map_or_else(|| Statement::from_bytes(&[]), |it| Statement::from_bytes(it))
        };
        let (first, mine) = (statement(0), statement(placement.pe));
        let here = placement.hosts.host_of(placement.pe);
        let (mut same_settings, mut pes, mut membarrier) = (true, 0, true);
        let (mut union, mut quota, mut limited) = ([0; CPU_WORDS], 0, false);
        for pe in 0..all.len() {
            let theirs = statement(pe);
            same_settings &= theirs.settings == first.settings;
            // What the PEs of other machines can do is their business.
            if theirs.machine != mine.machine && placement.hosts.host_of(pe) != here {
                continue;
            }
            pes += 1;
            membarrier &= theirs.membarrier;
            union.iter_mut().zip(theirs.cpus).for_each(|(union, word)| *union |= word);
            quota = quota.max(theirs.quota);
            // A control group may allow less time than processors. A PE that is bound to so few
            // that it could not use that up does not see it, so one PE that does is enough.
            limited |= theirs.quota < count(&theirs.cpus);
        }
        let cpus = if limited { quota.min(count(&union)) } else { count(&union) }.max(1);
        Self { same_settings, abilities: Abilities { pes, cpus, membarrier } }
    }
}

impl Shared for Agreement {
    unsafe fn to_descriptors(&self) -> Result<Vec<OwnedFd>> {
        let &Self { same_settings, abilities: Abilities { pes, cpus, membarrier } } = self;
        let words = [usize::from(same_settings), pes, cpus, usize::from(membarrier)];
        let bytes: Vec<u8> = words.iter().flat_map(|&word| (word as u64).to_le_bytes()).collect();
        let file = memfd::holding("oxshmem-abilities", &bytes).map_err(|e| Error::system("share", e))?;
        Ok(vec![file])
    }

    unsafe fn from_descriptors(descriptors: Vec<OwnedFd>, _: usize) -> Result<Self> {
        let [only] = &descriptors[..] else {
            return Err(Error::bootstrap("share", "abilities come with one descriptor"));
        };
        let failed = |error| Error::system("share", error);
        let file = File::from(only.as_fd().try_clone_to_owned().map_err(failed)?);
        let mut words = [[0; 8]; 4];
        file.read_exact_at(words.as_flattened_mut(), 0).map_err(failed)?;
        let [same, pes, cpus, membarrier] = words.map(|word| u64::from_le_bytes(word) as usize);
        Ok(Self { same_settings: same == 1, abilities: Abilities { pes, cpus, membarrier: membarrier == 1 } })
    }
}

/// An error unless all PEs have given the same values of the settings with these names.
fn compare(all: &[Vec<u8>], names: &[&'static str]) -> Result<()> {
    // All PEs compare with PE 0, so that all PEs name the same two.
    let Some(pe_b) = (0..all.len()).find(|&pe| all[pe] != all[0]) else { return Ok(()) };
    let values = |pe: usize| String::from_utf8_lossy(&all[pe]).lines().map(str::to_owned).collect::<Vec<_>>();
    let (a, b) = (values(0), values(pe_b));
    for (i, &name) in names.iter().enumerate() {
        let (a, b) = (a.get(i).cloned().unwrap_or_default(), b.get(i).cloned().unwrap_or_default());
        if a != b {
            return Err(Error::SettingMismatch { name, pe_a: 0, value_a: a, pe_b, value_b: b });
        }
    }
    Err(Error::bootstrap(
        "init",
        format!("PE {pe_b} runs another version of oxshmem than PE 0; start all PEs with one build"),
    ))
}

fn count(mask: &[u64]) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

/// A number that is the same in all processes of this machine, and hardly ever in one of another.
fn machine() -> u64 {
    fnv(&std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default())
}

/// FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use oxshmem_base::Hosts;
    use oxshmem_job::{Local, suite};

    fn statement(machine: u64, cpus: &[usize], quota: usize) -> Statement {
        let mut words = [0; CPU_WORDS];
        cpus.iter().for_each(|cpu| words[cpu / 64] |= 1 << (cpu % 64));
        Statement { settings: 7, membarrier: true, quota, machine, cpus: words }
    }

    fn outcome(all: &[Statement], pe: usize, hosts: Hosts) -> Agreement {
        let all: Vec<_> = all.iter().map(Statement::to_bytes).collect();
        Agreement::from(&all, &Placement::new(pe, Arc::new(hosts), "node1".to_owned()))
    }

    #[test]
    fn a_statement_survives_the_way_and_is_short() {
        for it in [statement(1, &[0, 1], 2), statement(2, &[CpuSet::MAX_CPU - 1], 1), statement(3, &[], 0)] {
            assert_eq!(Statement::from_bytes(&it.to_bytes()), it);
        }
        assert_eq!(statement(1, &[0, 63], 2).to_bytes().len(), 40);
        assert_eq!(Statement::from_bytes(&[1, 2, 3]).quota, 0);
        let abilities = Abilities { pes: 5, cpus: 4, membarrier: true };
        let outcome = Agreement { same_settings: false, abilities };
        // SAFETY: they are read once.
        let descriptors = unsafe { outcome.to_descriptors() }.unwrap();
        // SAFETY: they are just that.
        assert_eq!(unsafe { Agreement::from_descriptors(descriptors, 1) }.unwrap(), outcome);
    }

    #[test]
    fn processors_count_once_for_all_pes_of_a_machine_and_not_for_others() {
        let all = [
            statement(1, &[0, 1], 2),
            statement(1, &[2], 1),
            statement(2, &[0, 1, 2, 3], 4),
            statement(1, &[1], 1),
        ];
        // The hosts of PEs 0 and 3 are simulated ones on one machine.
        let here = outcome(&all, 0, Hosts::from_labels([0, 0, 1, 2]));
        let abilities = Abilities { pes: 3, cpus: 3, membarrier: true };
        assert_eq!(here, Agreement { same_settings: true, abilities });
        let there = outcome(&all, 2, Hosts::from_labels([0, 0, 1, 2])).abilities;
        assert_eq!((there.pes, there.cpus), (1, 4));
    }

    #[test]
    fn all_pes_count_the_same_processors_where_a_control_group_gives_less_time() {
        let unbound = statement(1, &[0, 1, 2, 3], 2);
        let bound = [0, 1, 2, 3].map(|cpu| statement(1, &[cpu], 1));
        for (all, cpus) in [
            (vec![unbound.clone(), unbound.clone()], 2),
            // The bound one does not see that there is less.
            (vec![bound[0].clone(), unbound.clone(), unbound.clone()], 2),
            (vec![unbound.clone(), bound[1].clone(), bound[2].clone()], 2),
            // No PE does.
            (bound.to_vec(), 4),
            // What is not limited for another is not limited by this one.
            (vec![statement(1, &[0, 1, 2, 3], 1), statement(1, &[0, 1, 2, 3], 4)], 4),
            // No PE may run anywhere, which is nonsense, and divides nothing by zero.
            (vec![statement(1, &[], 0)], 1),
        ] {
            let pes = all.len();
            for pe in 0..pes {
                let abilities = outcome(&all, pe, Hosts::one(pes)).abilities;
                assert_eq!(abilities, Abilities { pes, cpus, membarrier: true }, "PE {pe} of {all:?}");
            }
        }
    }

    #[test]
    fn pes_of_one_process_count_the_same_processors_whatever_their_threads_are_bound_to() {
        let all = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).unwrap();
        let agreed = |pe: Local, bound: bool| {
            if bound {
                let mut set = CpuSet::new();
                set.set(first);
                rustix::thread::sched_setaffinity(None, &set).unwrap();
            }
            suite::runtime().block_on(Abilities::agree(&pe, &Settings::default())).unwrap()
        };
        let cluster = Local::cluster(3).into_iter().zip([false, true, false]);
        let abilities: Vec<_> = std::thread::scope(|threads| {
            let pes: Vec<_> = cluster.map(|(pe, bound)| threads.spawn(move || agreed(pe, bound))).collect();
            pes.into_iter().map(|pe| pe.join().unwrap()).collect()
        });
        let cpus = processors::allowed();
        assert_eq!(abilities, [Abilities { pes: 3, cpus, membarrier: false }; 3]);
    }

    #[test]
    fn one_pe_without_membarrier_or_with_other_settings_is_enough() {
        let mut all = [statement(1, &[0], 1), statement(1, &[1], 1), statement(1, &[2], 1)];
        all[2].membarrier = false;
        assert!(!outcome(&all, 0, Hosts::one(3)).abilities.membarrier);
        all[1].settings = 8;
        assert!(!outcome(&all, 0, Hosts::one(3)).same_settings);
    }
}
