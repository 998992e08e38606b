//! Partitions of the symmetric heap: allocating in them, and what they are.

use std::{fmt, sync::Arc};

use oxshmem_base::{Result, report, settings};
use oxshmem_spaces::{
    Element, HeapUse, Hints, Pe, SymSlice,
    kinds::{HugePages, Mapping, Topology, host_memory},
};

use crate::{allocating::allocating, arena::Arena};

/// A partition of the symmetric heap: memory of a kind, to allocate in (memory kinds 0.7).
///
/// Variables such as `SMAX_SYMMETRIC_PARTITION2`, or
/// [`Settings::add_partition`](crate::settings::Settings::add_partition), define partitions. Where
/// none is defined, the whole heap is number 1. What is allocated in one is used, resized and freed
/// like any symmetric memory.
///
/// ```
/// use oxshmem::{ClusterOptions, prelude::*, settings::{Kind, Partition, Policy}};
///
/// let mut options = ClusterOptions::default();
/// let (kind, policy) = (Kind::Fastmem, Policy::Preferred);
/// let fast = Partition { kind, policy, ..Partition::new(1 << 20) };
/// options.settings.add_partition(1, Partition::new(16 << 20))?;
/// options.settings.add_partition(2, fast)?;
/// LocalCluster::run_with(2, options, |world| async move {
///     let rarely_used = world.alloc::<u64>(1000).await?; // in partition 1
///     let mut often_used = world.partition(2)?.alloc_zeroed::<u64>(1000).await?;
///     world.context().inc(often_used.at(0), 1 - world.my_pe()).await?;
///     world.barrier_all().await?;
///     assert_eq!(often_used.at(0).load(), 1);
///     often_used = world.realloc(often_used, 2000).await?;
///     assert_eq!((rarely_used.partition(), often_used.partition()), (1, 2));
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone)]
pub struct Partition(pub(crate) Arc<Arena>);

/// What a partition was asked to be, and what it is.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// let all = world.partitions();
/// assert_eq!(all.len(), 1); // none is defined, so the heap is the only one
/// assert_eq!((all[0].id, all[0].asked, all[0].usage.used), (1, None, 0));
/// println!("{}", all[0]);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PartitionInfo {
    /// Its number.
    pub id: usize,
    /// The variable that defines it.
    pub variable: &'static str,
    /// What was asked for. None where the heap has no partitions.
    pub asked: Option<settings::Partition>,
    /// What it was mapped to on this PE's host.
    pub mapping: Mapping,
    /// What it holds.
    pub usage: HeapUse,
}

impl Partition {
    /// Its number.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.partition(1)?.id(), 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn id(&self) -> usize {
        self.0.heap.id()
    }

    allocating!(
        "world.partition(1)?",
        " on every PE, in this partition (`shmemx_kind_malloc` and its siblings)"
    );

    /// What it holds. Blocks that were dropped, but are not reclaimed yet, count as used.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.partition(1)?.alloc::<u64>(100).await?;
    /// assert_eq!(world.partition(1)?.usage().used, 832); // in whole lines of 64 bytes
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn usage(&self) -> HeapUse {
        self.0.heap.usage()
    }

    fn alloc_with<T: Element>(
        &self,
        name: &'static str,
        len: usize,
        align: usize,
        hints: Hints,
        zeroed: bool,
    ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        self.0.alloc(name, len, align, hints, zeroed)
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {} of {:?}", self.id(), self.0.team())
    }
}

impl fmt::Display for PartitionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, variable, asked, mapping, usage } = self;
        match asked {
            Some(asked) => write!(f, "partition {id}: {variable}={asked}")?,
            None => write!(f, "the symmetric heap: {variable}={}", usage.size)?,
        }
        write!(
            f,
            "; mapped to {mapping}; {} of {} bytes in use by {} blocks, {} at most so far",
            usage.used, usage.size, usage.blocks, usage.peak_used
        )
    }
}

pub(crate) fn describe(pe: &Pe, partitions: &[Arc<Arena>]) -> Vec<PartitionInfo> {
    let mappings = &pe.partitions().mappings;
    let both = partitions.iter().map(|arena| &arena.heap).zip(mappings);
    both.map(|(heap, mapping)| PartitionInfo {
        id: heap.id(),
        variable: heap.place().variable,
        asked: heap.place().defined.map(|it| it.asked),
        mapping: mapping.clone(),
        usage: heap.usage(),
    })
    .collect()
}

/// What PE 0 says of the job's memory when it begins: what is not as it was asked for, and all of
/// it if it was asked to (`SHMEM_MEMINFO_REPORT`).
pub(crate) fn announce(pe: &Pe, partitions: &[Arc<Arena>]) {
    let settings = pe.settings();
    if pe.me() != 0 {
        return;
    }
    for note in &pe.partitions().notes {
        report(format_args!("oxshmem: {note}"));
    }
    if settings.meminfo_report {
        let host = host_memory(&Topology::read(&settings.numa_topology), &HugePages::read());
        let lines = host.into_iter().chain(describe(pe, partitions).into_iter().map(|it| it.to_string()));
        tell(pe, "at the start", lines);
    }
}

/// What PE 0 says of the job's memory when it ends, if it was asked to.
pub(crate) fn report_at_end(pe: &Pe, partitions: &[Arc<Arena>]) {
    if pe.me() == 0 && pe.settings().meminfo_report {
        tell(pe, "at the end", describe(pe, partitions).iter().map(ToString::to_string));
    }
}

fn tell(pe: &Pe, when: &str, lines: impl Iterator<Item = String>) {
    let (n, host) = (pe.placement().local.len(), &pe.placement().host);
    let text: String = lines.map(|line| format!("\n  {line}")).collect();
    report(format_args!("oxshmem: memory of {host} {when}, with {n} PEs there:{text}"));
}
