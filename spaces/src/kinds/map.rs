//! Maps the partitions of a host's heaps as planned.

use oxshmem_base::{
    Result,
    settings::{Defined, Settings},
};
use oxshmem_memory::{HostMap, HugeMemory, Spread};

use super::{HugePages, Mapping, PartitionLayout, Place, Plan, Topology, plan, show_bytes, show_nodes};

/// Makes the heaps of `n_local` PEs of this host, `stride` bytes apart, with the partitions of
/// `layout` in memory of the kinds that `settings` ask for. Returns what each partition was mapped
/// to.
///
/// # Errors
/// [`Error::InvalidSetting`](oxshmem_base::Error::InvalidSetting) if a partition must have memory
/// that is not there.
pub fn map(
    settings: &Settings,
    layout: &PartitionLayout,
    n_local: usize,
    stride: usize,
) -> Result<(HostMap, Vec<Mapping>)> {
    let topology = Topology::read(&settings.numa_topology);
    let (pools, page_size) = (HugePages::read(), rustix::param::page_size());
    let defined = layout.places().iter().filter_map(|place| Some((place, place.defined?)));
    // All are planned before the first is mapped, so that no plan counts what another partition has
    // reserved.
    let planned = defined.map(|(place, defined)| {
        let plan = plan(place, n_local, &topology, &pools, page_size).map_err(|why| defined.invalid(why))?;
        Ok((place, defined, plan))
    });
    let planned = planned.collect::<Result<Vec<_>>>()?;
    let mut heaps = HostMap::new(n_local, stride)?;
    let mappings = planned.iter().map(|(place, defined, plan)| map_one(&mut heaps, place, defined, plan));
    let mappings = mappings.collect::<Result<_>>()?;
    Ok((heaps, mappings))
}

/// Maps the partition at `place` as planned, for every local PE, and returns what it was mapped to.
///
/// # Errors
/// [`Error::InvalidSetting`](oxshmem_base::Error::InvalidSetting) if the plan must be met and
/// cannot be.
fn map_one(map: &mut HostMap, place: &Place, defined: &Defined, plan: &Plan) -> Result<Mapping> {
    let ordinary = rustix::param::page_size();
    let (mut page_size, mut memory, mut missing) = (ordinary, None, Vec::new());
    let needed = map.local_pes() * place.reserved;
    for &size in plan.pages.iter().filter(|&&size| size != ordinary) {
        match HugeMemory::reserve(needed, size) {
            Ok(reserved) => {
                (page_size, memory) = (size, Some(reserved));
                break;
            }
            Err(error) => missing.push(too_few(size, needed / size, map.local_pes(), error)),
        }
    }
    let mut notes = plan.notes.clone();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        if plan.must {
            return Err(defined.invalid(format_args!(
                "{missing}; raise /proc/sys/vm/nr_hugepages, or take policy=Preferred"
            )));
        }
        notes.push(format!("{missing}; its pages are of {} instead", show_bytes(page_size)));
    }
    if let Some(memory) = memory {
        map.put_in_huge_pages(place.start, place.reserved, memory)?;
    }
    let (mut spread, mut nodes) = (plan.spread, plan.nodes.clone());
    if spread != Spread::System
        && let Err(error) = map.put_on_nodes(place.start, place.reserved, spread, nodes.clone())
    {
        let why = format!("this host refuses to put memory on {}: {error}", show_nodes(&nodes));
        match plan.must {
            // All memory is on these nodes in any case.
            _ if plan.everywhere => {}
            true => return Err(defined.invalid(why)),
            false => notes.push(format!("{why}; it is where the system puts it")),
        }
        (spread, nodes) = (Spread::System, Vec::new());
    }
    Ok(Mapping { id: place.id, page_size, spread, nodes, notes })
}

fn too_few(size: usize, needed: usize, n_pes: usize, error: std::io::Error) -> String {
    let pool = HugePages::read().into_iter().find(|pool| pool.size == size);
    let HugePages { free, total, .. } = pool.unwrap_or(HugePages { size, total: 0, free: 0 });
    let size = show_bytes(size);
    let why = match error.raw_os_error() {
        Some(libc::ENOMEM) => String::new(),
        _ => format!(" ({error})"),
    };
    format!("{free} of {total} pages of {size} are free, and {n_pes} PEs need {needed}{why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_base::settings::{Partition, SpacePlan};
    use oxshmem_job::Shared;
    use oxshmem_memory::copy;

    fn planned(text: &str, count: usize) -> Result<(HostMap, Vec<Mapping>)> {
        let mut settings = Settings::default();
        settings.add_partition(2, text.parse().unwrap())?;
        settings.add_partition(1, Partition::new(1 << 20))?;
        let layout = PartitionLayout::of(&settings, SpacePlan::new(&settings, &[])?.cpu)?;
        map(&settings, &layout, count, 1 << 30)
    }

    /// The number of free huge pages of 2 MiB. None, with a message, if there are fewer than
    /// `at_least`.
    fn huge_pages(at_least: usize) -> Option<usize> {
        let free = HugePages::read().iter().find(|pool| pool.size == 2 << 20).map_or(0, |pool| pool.free);
        if free < at_least {
            println!(
                "skipped: {free} huge pages of 2M are free, and {at_least} needed: /proc/sys/vm/nr_hugepages"
            );
        }
        (free >= at_least).then_some(free)
    }

    #[test]
    fn a_partition_in_huge_pages_is_shared_and_between_its_neighbours() {
        let Some(free) = huge_pages(6) else { return };
        let (a, mappings) = planned("size=3M:kind=S:policy=S:pgsize=2M", 3).unwrap();
        assert_eq!((mappings[1].page_size, &mappings[1].notes), (2 << 20, &vec![]));
        let left = huge_pages(0).unwrap();
        assert!(left + 6 <= free, "{left} of {free} are left: pages are reserved before they are touched");
        // SAFETY: the only other user is `b`.
        let b = HostMap::received(unsafe { a.to_descriptors() }.unwrap(), 1, None).unwrap();
        for block in 0..3 {
            for (i, at) in [0, (4 << 20) - 1, 4 << 20, (1 << 30) - 1].into_iter().enumerate() {
                let at = block * (1 << 30) + at;
                // SAFETY: the byte is inside of a block of both maps.
                unsafe {
                    copy_byte(a.base().add(at), (4 * block + i + 1) as u8);
                    assert_eq!(copy::load(b.base().add(at)), (4 * block + i + 1) as u8);
                }
            }
        }
    }

    #[test]
    fn where_huge_pages_are_missing_mandatory_fails_and_preferred_falls_back_and_says_so() {
        // More than a host keeps, if it has huge pages at all.
        let asked = "size=512M:pgsize=1G";
        let two_mib = HugePages::read().iter().map(|pool| pool.free * pool.size).sum::<usize>();
        if two_mib >= 64 << 30 {
            println!("skipped: this host has {two_mib} bytes in huge pages");
            return;
        }
        let error = planned(&format!("{asked}:kind=N:policy=M"), 64).unwrap_err().to_string();
        for part in ["SMAX_SYMMETRIC_PARTITION2=", "pages"] {
            assert!(error.contains(part), "{error}");
        }
        for policy in ["kind=N:policy=P", "kind=S:policy=S"] {
            let (map, mappings) = planned(&format!("{asked}:{policy}"), 64).unwrap();
            let [_, mapping] = &mappings[..] else { panic!("{mappings:?}") };
            assert_eq!(mapping.page_size, rustix::param::page_size());
            if HugePages::read().is_empty() {
                continue;
            }
            assert!(
                mapping.notes[0].contains("64 PEs need") && mapping.notes[0].ends_with("instead"),
                "{mapping:?}"
            );
            // SAFETY: the last byte of the last block is inside the map.
            unsafe { copy_byte(map.base().add((64 << 30) - 1), 1) };
        }
    }

    unsafe fn copy_byte(at: *mut u8, byte: u8) {
        // SAFETY: passed on to the caller.
        unsafe { copy::store(at, byte) }
    }
}
