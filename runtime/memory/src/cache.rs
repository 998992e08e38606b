//! How large the processors' caches are.

use std::{fs, path::Path, sync::OnceLock};

/// Bytes of the last cache that processors share, as Linux says; as if nothing could exceed it where it does not.
///
/// ```
/// assert!(oxshmem_memory::cache::last() > 64 << 10);
/// ```
pub fn last() -> usize {
    // Not from `sysconf`, which multiplies by what virtual machines say of processors that they do not have.
    static LAST: OnceLock<usize> = OnceLock::new();
    *LAST.get_or_init(|| largest(Path::new("/sys/devices/system/cpu/cpu0/cache")).unwrap_or(usize::MAX))
}

/// The largest of the caches that a folder describes as Linux does.
fn largest(folder: &Path) -> Option<usize> {
    let sizes = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("size")).ok()?;
        let (kibibytes, _) = text.split_once('K')?;
        Some(kibibytes.parse::<usize>().ok()? << 10)
    });
    sizes.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cache_is_found_among_others_and_none_where_there_is_none() {
        let folder = std::env::temp_dir().join(format!("oxshmem-caches-{}", std::process::id()));
        assert_eq!(largest(&folder), None);
        for (index, size) in
            [("index0", "32K\n"), ("index3", "32768K\n"), ("index2", "1024K\n"), ("power", "")]
        {
            fs::create_dir_all(folder.join(index)).unwrap();
            fs::write(folder.join(index).join("size"), size).unwrap();
        }
        assert_eq!(largest(&folder), Some(32 << 20));
        fs::remove_dir_all(&folder).unwrap();
    }
}
