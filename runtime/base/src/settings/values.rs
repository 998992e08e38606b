//! The values that the settings have in one PE, and where each of them came from.

use std::{ffi::OsString, time::Duration};

use super::{
    Fence, Setting, Settings, TABLE,
    partition::{self, Defined, Partition},
    setting::Read,
};
use crate::{Distribution, Error, Result};

/// How long a wait spins where nothing else was asked for and there is a CPU for every local PE.
const SPIN: Duration = Duration::from_micros(2);

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was not set.
    Default,
    /// The variable of that name.
    Environment,
    /// A variable of a deprecated name.
    Deprecated(&'static str),
    /// The program assigned the field.
    Program,
}

/// A setting with the value in force.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its row in the table.
    pub setting: &'static Setting,
    /// The value, as the variable would be set to get it.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Which side pays for the fence of the doorbell handshake, once that is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceSide {
    /// The writer, at every store that may end a wait.
    Writer,
    /// The PE that is about to sleep, by `membarrier(GLOBAL_EXPEDITED)`.
    Sleeper,
}

impl Settings {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] names the first variable whose value cannot be used.
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let mut settings = Settings::from_env()?;
    /// settings.symmetric_size *= 2; // of what the user asked for
    /// # assert!(settings.symmetric_size.is_multiple_of(2));
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn from_env() -> Result<Self> {
        let named = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let mut partitions: Vec<_> = named.filter(|(name, _)| partition::is_candidate(name)).collect();
        // The environment has no order.
        partitions.sort();
        Self::read(|name| std::env::var_os(name), partitions)
    }

    /// How PEs are distributed over hosts where nothing but the environment says so, for what
    /// starts a job of `n_pes` PEs. Looks at no other setting.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] if what `SHMEM_FAKE_HOSTS` holds cannot be used.
    ///
    /// ```
    /// # use oxshmem_base::{Distribution, settings::Settings};
    /// assert_eq!(Settings::fake_hosts_for(1, |_| Some("2".into()))?, Distribution::even(1));
    /// assert_eq!(Settings::fake_hosts_for(4, |_| None)?, Distribution::default());
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn fake_hosts_for(n_pes: usize, lookup: impl Fn(&str) -> Option<OsString>) -> Result<Distribution> {
        const NAME: &str = "SHMEM_FAKE_HOSTS";
        let distribution =
            Self::from_lookup(|name| lookup(name).filter(|_| name == NAME))?.fake_hosts.up_to(n_pes);
        match distribution.hosts(n_pes) {
            Ok(_) => Ok(distribution),
            Err(error) => Err(Error::InvalidSetting {
                name: NAME,
                value: distribution.to_string(),
                reason: error.to_string(),
            }),
        }
    }

    /// Reads variables through `lookup`, which returns what the variable of a name holds, if it is
    /// set.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] names the first variable, in the order of [`TABLE`], whose value
    /// cannot be used. A variable of a deprecated name is looked at only where the other is not
    /// set.
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let settings = Settings::from_lookup(|name| (name == "SHMEM_SYMMETRIC_SIZE").then(|| "1.5g".into()))?;
    /// assert_eq!(settings.symmetric_size, 3 << 29);
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let partitions = partition::candidates(&lookup);
        Self::read(lookup, partitions)
    }

    fn read(lookup: impl Fn(&str) -> Option<OsString>, partitions: Vec<(String, OsString)>) -> Result<Self> {
        let mut settings = Self::default();
        for setting in TABLE {
            let names = std::iter::once(&setting.name).chain(setting.deprecated);
            let Some((name, value)) = names.into_iter().find_map(|&name| Some((name, lookup(name)?))) else {
                continue;
            };
            match setting.read {
                Read::Presence(set) => set(&mut settings),
                Read::Numbered => continue,
                Read::Anything(set) => set(&mut settings, value.to_string_lossy().into_owned()),
                Read::Text(set) => value
                    .to_str()
                    .ok_or_else(|| format!("not UTF-8; expected {}", setting.values))
                    .and_then(|text| set(&mut settings, text))
                    .map_err(|reason| Error::InvalidSetting {
                        name,
                        value: value.to_string_lossy().into_owned(),
                        reason,
                    })?,
            }
            let shown = (setting.show)(&settings);
            settings.read_from.insert(setting.name, (name, shown));
        }
        settings.partitions = partition::define(partitions)?;
        if let Some(first) = settings.partitions.values().next() {
            settings.no_heap_size_beside(first)?;
            let shown = partition::show(&settings.partitions);
            settings.read_from.insert(partition::VARIABLES, (partition::VARIABLES, shown));
        }
        Ok(settings)
    }

    fn no_heap_size_beside(&self, partition: &Defined) -> Result<()> {
        match self.read_from.get("SHMEM_SYMMETRIC_SIZE") {
            None => Ok(()),
            Some((size, _)) => Err(partition.invalid(format_args!(
                "{size} is set too; a heap has a size or partitions, so unset one of them"
            ))),
        }
    }

    /// The partitions that the heap is to have, in the order of their numbers. Where there is none,
    /// the heap is one of [`symmetric_size`](Self::symmetric_size) bytes.
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let settings =
    ///     Settings::from_lookup(|name| (name == "SMAX_SYMMETRIC_PARTITION2").then(|| "size=1G".into()))?;
    /// let found: Vec<_> = settings.partitions().map(|it| (it.id, it.asked.size)).collect();
    /// assert_eq!(found, [(2, 1 << 30)]);
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn partitions(&self) -> impl Iterator<Item = &Defined> + '_ {
        self.partitions.values()
    }

    /// Defines partition `id`, or defines it anew.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] for a number that is not from 1 to 127, for one partition too
    /// many, for fields that do not go together, and where the environment says how large the heap
    /// is.
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let mut settings = Settings::default();
    /// settings.add_partition(1, Partition::new(64 << 20))?;
    /// let (kind, policy) = (Kind::Fastmem, Policy::Preferred);
    /// settings.add_partition(2, Partition { kind, policy, ..Partition::new(1 << 30) })?;
    /// assert!(settings.add_partition(128, Partition::new(1)).is_err());
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn add_partition(&mut self, id: usize, partition: Partition) -> Result<()> {
        partition::add(&mut self.partitions, id, partition)?;
        let added = self.no_heap_size_beside(&self.partitions[&id]);
        if added.is_err() {
            self.partitions.remove(&id);
        }
        added
    }

    /// Every setting with its value, in the order of [`TABLE`].
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let mut settings = Settings::default();
    /// settings.yield_rounds = 1;
    /// let changed = settings.entries().find(|entry| entry.origin == Origin::Program).unwrap();
    /// assert_eq!((changed.setting.name, changed.value.as_str()), ("SHMEM_YIELD_ROUNDS", "1"));
    /// ```
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        TABLE.iter().map(|setting| {
            let value = (setting.show)(self);
            let origin = match self.read_from.get(setting.name) {
                Some((_, read)) if *read != value => Origin::Program,
                Some((name, _)) if *name == setting.name => Origin::Environment,
                Some((name, _)) => Origin::Deprecated(name),
                None if value != setting.default => Origin::Program,
                None => Origin::Default,
            };
            Entry { setting, value, origin }
        })
    }

    /// Names and values of the settings that must be the same on all PEs, in an order that is the
    /// same on all PEs. Starting a job compares them and fails with [`Error::SettingMismatch`].
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let compared = Settings::default().values_equal_on_all();
    /// assert!(compared.contains(&("SHMEM_SYMMETRIC_SIZE", "512M".to_owned())));
    /// ```
    pub fn values_equal_on_all(&self) -> Vec<(&'static str, String)> {
        let shared = self.entries().filter(|entry| entry.setting.same_on_all_pes);
        shared.map(|entry| (entry.setting.name, entry.value)).collect()
    }

    /// How long a PE waits in one call before it says so: what was asked for, or a second for who
    /// debugs.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use oxshmem_base::settings::*;
    /// let mut settings = Settings::default();
    /// assert_eq!(settings.hang_limit(), Some(Duration::from_secs(60)));
    /// settings.debug = true;
    /// assert_eq!(settings.hang_limit(), Some(Duration::from_secs(1)));
    /// settings.hang_timeout = None;
    /// assert_eq!(settings.hang_limit(), None);
    /// ```
    pub fn hang_limit(&self) -> Option<Duration> {
        let limit = self.hang_timeout?;
        Some(if self.debug { limit.min(Duration::from_secs(1)) } else { limit })
    }

    /// How long a wait spins before it yields, with `local_pes` PEs on this host and `cpus` CPUs
    /// that they may run on: what was asked for, or 2 µs where every PE has a CPU and nothing where
    /// not.
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let settings = Settings::default();
    /// assert!(settings.spin_for(4, 8) > settings.spin_for(8, 4));
    /// assert!(settings.spin_for(8, 4).is_zero());
    /// ```
    pub fn spin_for(&self, local_pes: usize, cpus: usize) -> Duration {
        let unasked = if local_pes > cpus { Duration::ZERO } else { SPIN };
        self.spin.unwrap_or(unasked)
    }

    /// Which side pays for the doorbell's fence, with `local_pes` PEs on this host and `cpus` CPUs
    /// that they may run on. All PEs of a host must use the answer that one of them got: their CPUs
    /// may differ. `membarrier` is whether the kernel has `membarrier(GLOBAL_EXPEDITED)`.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] where membarrier was asked for and the kernel does not have it.
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let settings = Settings::default();
    /// assert_eq!(settings.fence_for(4, 8, true)?, FenceSide::Sleeper);
    /// assert_eq!(settings.fence_for(8, 4, true)?, FenceSide::Writer);
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn fence_for(&self, local_pes: usize, cpus: usize, membarrier: bool) -> Result<FenceSide> {
        match self.fence {
            Fence::Writer => Ok(FenceSide::Writer),
            Fence::Auto if local_pes > cpus || !membarrier => Ok(FenceSide::Writer),
            Fence::Membarrier if !membarrier => Err(Error::InvalidSetting {
                name: "SHMEM_FENCE",
                value: self.fence.to_string(),
                reason: "this kernel has no membarrier(GLOBAL_EXPEDITED); use auto or writer".to_owned(),
            }),
            Fence::Auto | Fence::Membarrier => Ok(FenceSide::Sleeper),
        }
    }
}
