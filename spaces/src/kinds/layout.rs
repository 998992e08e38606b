//! Where each partition lies in a PE's heap. This follows from the settings alone, so all PEs of
//! all hosts have the same offsets, whatever memory each host has.
//!
//! Partitions are sorted by the sizes of their pages, the largest first. So each begins where the
//! one before ends and is still aligned to its pages. There are no gaps, which a network card would
//! have to register too.

use oxshmem_base::{
    Error, Result,
    settings::{Defined, HeapPlan, Settings},
};

/// The least alignment of a partition and of the globals. No ordinary page is larger.
const GRAIN: usize = 64 << 10;

/// The heap of a PE: its partitions, and the executable's globals after them.
///
/// ```
/// use oxshmem_spaces::kinds::PartitionLayout;
/// use oxshmem_base::settings::{Partition, Settings, SpacePlan};
///
/// let mut settings = Settings::default();
/// settings.add_partition(1, Partition::new(100_000))?;
/// settings.add_partition(9, Partition { page_size: Some(2 << 20), ..Partition::new(3 << 20) })?;
/// let layout = PartitionLayout::of(&settings, SpacePlan::new(&settings, &[])?.cpu)?;
/// let places: Vec<_> = layout.places().iter().map(|it| (it.id, it.start, it.len)).collect();
/// assert_eq!(places, [(1, 4 << 20, 100_000), (9, 0, 3 << 20)]);
/// assert_eq!(layout.len(), (4 << 20) + (128 << 10));
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionLayout {
    places: Vec<Place>,
    len: usize,
    statics_at: usize,
}

/// The place of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number. An allocation that names no partition is in partition 1.
    pub id: usize,
    /// Where it begins, in bytes from the start of the heap.
    pub start: usize,
    /// The bytes that the settings ask for.
    pub len: usize,
    /// Bytes up to the end of its last page.
    pub reserved: usize,
    /// The environment variable that decides about its size.
    pub variable: &'static str,
    /// Its definition. None where the heap has no partitions.
    pub defined: Option<Defined>,
}

impl PartitionLayout {
    /// The layout that `settings` ask for. `heap` is the CPU space's plan, if that space is
    /// enabled.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the heap exceeds any address space, [`Error::InvalidSetting`] if
    /// partitions are defined and the heap is disabled or has a size.
    pub fn of(settings: &Settings, heap: Option<HeapPlan>) -> Result<Self> {
        let beyond = || Error::Unsupported {
            what: match (settings.partitions().next(), heap) {
                (None, heap) => {
                    let (name, bytes) = heap.map_or(("its size", 0), |heap| (heap.setting, heap.bytes));
                    format!("{name}={bytes} is beyond any address space; make it smaller")
                }
                (Some(_), _) => {
                    "the partitions of the symmetric heap are beyond any address space; make them smaller"
                        .into()
                }
            },
        };
        if let Some(first) = settings.partitions().next() {
            if heap.is_none() {
                return Err(first
                    .invalid("it would be host memory, and SHMEM_ENABLE_CPU_SPACE disables the CPU space"));
            }
            if settings.cpu_symmetric_size.is_some() {
                return Err(first.invalid(
                    "SHMEM_CPU_SYMMETRIC_SIZE is set too; a heap has a size or partitions, so unset one of them",
                ));
            }
        }
        let mut places: Vec<_> =
            settings.partitions().map(Place::asked).collect::<Option<_>>().ok_or_else(beyond)?;
        places.sort_by_key(|place| (std::cmp::Reverse(place.grain()), place.id));
        let mut end = 0usize;
        for place in &mut places {
            place.start = end;
            end = end.checked_add(place.reserved).ok_or_else(beyond)?;
        }
        places.sort_by_key(|place| place.id);
        if let (true, Some(HeapPlan { bytes, setting })) = (places.is_empty(), heap) {
            end = bytes;
            places.push(Place { id: 1, start: 0, len: end, reserved: end, variable: setting, defined: None });
        }
        let statics_at = end.checked_next_multiple_of(GRAIN).ok_or_else(beyond)?;
        statics_at.checked_add(settings.statics).ok_or_else(beyond)?;
        Ok(Self { places, len: end, statics_at })
    }

    /// The partitions in the order of their numbers. If none is defined, the heap is number 1.
    /// Empty without a CPU space.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Bytes from the start of the heap to the end of the last partition.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether that is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The largest page size that a partition asks for, or the least alignment.
    pub fn largest_page(&self) -> usize {
        self.places.iter().map(Place::grain).max().unwrap_or(GRAIN)
    }

    /// Where the executable's globals begin, on pages of their own.
    pub fn statics_at(&self) -> usize {
        self.statics_at
    }
}

impl Place {
    fn asked(defined: &Defined) -> Option<Self> {
        let Defined { id, asked, variable } = *defined;
        let mut place =
            Self { id, start: 0, len: asked.size, reserved: 0, variable, defined: Some(*defined) };
        place.reserved = asked.size.checked_next_multiple_of(place.grain())?;
        Some(place)
    }

    /// The alignment of its start and end.
    fn grain(&self) -> usize {
        self.defined.and_then(|it| it.asked.page_size).map_or(GRAIN, |page| page.max(GRAIN))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use oxshmem_base::settings::{Partition, SpacePlan};

    /// The CPU space's heap.
    fn heap(settings: &Settings) -> Option<HeapPlan> {
        SpacePlan::new(settings, &[]).unwrap().cpu
    }

    fn settings(partitions: &[(usize, usize, Option<usize>)]) -> Settings {
        let mut settings = Settings::default();
        for &(id, size, page_size) in partitions {
            settings.add_partition(id, Partition { page_size, ..Partition::new(size) }).unwrap();
        }
        settings
    }

    #[test]
    fn without_partitions_the_heap_is_one_of_the_size_that_was_set() {
        let mut settings = Settings::default();
        settings.symmetric_size = 100_000;
        let layout = PartitionLayout::of(&settings, heap(&settings)).unwrap();
        let [heap] = layout.places() else { panic!("{layout:?}") };
        assert_eq!((heap.id, heap.start, heap.len, heap.defined), (1, 0, 100_000, None));
        assert_eq!((layout.len(), layout.statics_at()), (100_000, 128 << 10));
    }

    #[test]
    fn partitions_of_a_heap_that_is_not_there_or_has_a_size_are_errors() {
        let mut none = settings(&[(2, 4096, None)]);
        none.enable_gpu_space = Some("1".into());
        let error = PartitionLayout::of(&none, None).unwrap_err().to_string();
        assert!(
            error.contains("SYMMETRIC_PARTITION2") && error.contains("SHMEM_ENABLE_CPU_SPACE"),
            "{error}"
        );
        let mut sized = settings(&[(2, 4096, None)]);
        sized.cpu_symmetric_size = Some(1 << 20);
        let error = PartitionLayout::of(&sized, heap(&sized)).unwrap_err().to_string();
        assert!(
            error.contains("SYMMETRIC_PARTITION2") && error.contains("SHMEM_CPU_SYMMETRIC_SIZE"),
            "{error}"
        );
    }

    #[test]
    fn what_no_address_space_holds_is_an_error() {
        let mut whole = Settings::default();
        whole.symmetric_size = usize::MAX;
        let too_large =
            [whole, settings(&[(1, usize::MAX, None)]), settings(&[(1, 1 << 63, None), (2, 1 << 63, None)])];
        for settings in too_large {
            let error = PartitionLayout::of(&settings, heap(&settings)).unwrap_err().to_string();
            assert!(error.contains("beyond any address space"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn partitions_are_aligned_to_their_pages_and_lie_one_behind_the_other(
            sizes in proptest::collection::btree_map(1usize..=127, (1usize..1 << 32, proptest::option::of(12u32..=30)), 1..=7),
        ) {
            let asked: Vec<_> =
                sizes.into_iter().map(|(id, (size, page))| (id, size, page.map(|shift| 1 << shift))).collect();
            let layout = PartitionLayout::of(&settings(&asked), heap(&settings(&asked))).unwrap();
            prop_assert_eq!(layout.places().len(), asked.len());
            for (place, &(id, size, page)) in layout.places().iter().zip(&asked) {
                prop_assert_eq!((place.id, place.len), (id, size));
                let page = page.unwrap_or(1).max(GRAIN);
                prop_assert!(place.start.is_multiple_of(page) && place.reserved.is_multiple_of(page));
                prop_assert!(place.reserved >= size && place.reserved - size < page);
            }
            let mut by_start = layout.places().to_vec();
            by_start.sort_by_key(|place| place.start);
            let mut end = 0;
            for place in by_start {
                prop_assert_eq!(place.start, end);
                end += place.reserved;
            }
            prop_assert_eq!(layout.len(), end);
        }
    }
}
