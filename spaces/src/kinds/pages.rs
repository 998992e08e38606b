//! Huge pages of this host: their sizes, and how many of each the kernel has.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where the kernel shows its pools of huge pages.
const POOLS: &str = "/sys/kernel/mm/hugepages";

/// A pool of huge pages.
///
/// ```
/// use oxshmem_spaces::kinds::HugePages;
///
/// let pools = HugePages::read();
/// assert!(pools.iter().all(|pool| pool.size.is_power_of_two() && pool.free <= pool.total));
/// assert!(pools.is_sorted_by_key(|pool| pool.size));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePages {
    /// Bytes in a page.
    pub size: usize,
    /// The number of pages.
    pub total: usize,
    /// The number of pages that are neither used nor reserved.
    pub free: usize,
}

impl HugePages {
    /// The pools of this host, by the sizes of their pages.
    pub fn read() -> Vec<Self> {
        Self::read_from(Path::new(POOLS))
    }

    fn read_from(root: &Path) -> Vec<Self> {
        let mut pools: Vec<_> = sizes_in(root)
            .map(|(size, folder)| {
                let count = |name| count(&folder, name);
                let (total, free) = (count("nr_hugepages"), count("free_hugepages"));
                Self { size, total, free: free.saturating_sub(count("resv_hugepages")).min(total) }
            })
            .collect();
        pools.sort_by_key(|pool| pool.size);
        pools
    }
}

/// Folders such as `hugepages-2048kB`, each with the page size in its name.
pub(super) fn sizes_in(root: &Path) -> impl Iterator<Item = (usize, PathBuf)> {
    fs::read_dir(root).into_iter().flatten().filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name();
        let kib: usize = number(name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?)?;
        let size = kib.checked_mul(1024).filter(|size| size.is_power_of_two())?;
        Some((size, entry.path()))
    })
}

pub(super) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

/// The number in a file, 0 if there is no such file or number.
pub(super) fn count(folder: &Path, name: &str) -> usize {
    fs::read_to_string(folder.join(name)).ok().and_then(|text| number(&text)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{super::topology::tests::Fixture, *};

    #[test]
    fn pools_are_read_with_what_is_free_and_not_reserved() {
        let fixture = Fixture::new("pools")
            .file(0, "hugepages-1048576kB/nr_hugepages", "0\n")
            .file(0, "hugepages-2048kB/nr_hugepages", "10\n")
            .file(0, "hugepages-2048kB/free_hugepages", "8\n")
            .file(0, "hugepages-2048kB/resv_hugepages", "3\n")
            .file(0, "hugepages-17kB/nr_hugepages", "1\n")
            .file(0, "other/nr_hugepages", "1\n");
        let pools = HugePages::read_from(&fixture.0.join("node0"));
        let large = HugePages { size: 1 << 30, total: 0, free: 0 };
        assert_eq!(pools, [HugePages { size: 2 << 20, total: 10, free: 5 }, large]);
        assert_eq!(HugePages::read_from(Path::new("/nowhere")), []);
    }
}
