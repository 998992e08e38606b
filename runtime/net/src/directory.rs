//! How every PE is reached: what it has published, kept once a host in shared memory.

use std::{os::fd::OwnedFd, sync::Arc};

use oxshmem_base::{Error, Result};
use oxshmem_job::{Bootstrap, Shared};
use oxshmem_memory::{HostMap, copy};

/// What all PEs have published: where each begins, and then the bytes.
#[derive(Debug)]
pub(crate) struct Directory {
    map: HostMap,
    /// What is so since: replacements of PEs have published something else.
    since: Option<Arc<[Vec<u8>]>>,
}

/// Puts what all PEs have published, which the leader has, where all PEs of the host find it. An
/// error if some PE has published nothing. Collective over the host.
pub(crate) async fn share(
    bootstrap: &dyn Bootstrap,
    published: Option<Arc<[Vec<u8>]>>,
) -> Result<Arc<Directory>> {
    let is_replacement = bootstrap.placement().is_replacement;
    let since = published.clone().filter(|_| is_replacement);
    let all = published.as_deref().unwrap_or_default();
    let missing = all.iter().position(Vec::is_empty);
    // The others must not wait for a leader that has left: they find nothing.
    let all = if missing.is_some() { &[] } else { all };
    let mut directory = oxshmem_job::share(bootstrap, || Directory::new(all)).await?;
    if let Some(own) = Arc::get_mut(&mut directory) {
        own.since = since;
    }
    if !directory.is_empty() {
        return Ok(directory);
    }
    let lost = missing.map_or("another PE".to_owned(), |pe| format!("PE {pe}"));
    Err(Error::bootstrap("init", format!("{lost} cannot reach other hosts; its own error says why")))
}

impl Directory {
    fn new(all: &[Vec<u8>]) -> Result<Self> {
        let table = (all.len() + 1) * size_of::<u64>();
        let total = table + all.iter().map(Vec::len).sum::<usize>();
        let map = HostMap::new(1, total.next_multiple_of(4096))?;
        let mut at = table;
        for (pe, published) in all.iter().enumerate() {
            // SAFETY: `total` has room for the table and all of the bytes.
            unsafe {
                copy::store(map.base().add(pe * size_of::<u64>()).cast::<u64>(), at as u64);
                copy::copy(map.base().add(at), published.as_ptr(), published.len());
            }
            at += published.len();
        }
        // SAFETY: as above: the end of the last.
        unsafe { copy::store(map.base().add(all.len() * size_of::<u64>()).cast::<u64>(), at as u64) };
        Ok(Self { map, since: None })
    }

    /// Whether it is of no PE.
    fn is_empty(&self) -> bool {
        // SAFETY: there is at least the end of the last, which is where the first would begin.
        unsafe { copy::load(self.map.base().cast::<u64>()) as usize == size_of::<u64>() }
    }

    /// What `pe` has published, or its last replacement.
    pub(crate) fn of(&self, pe: usize) -> Result<Vec<u8>> {
        match self.since.as_deref().and_then(|since| since.get(pe)) {
            Some(published) => Ok(published.clone()),
            None => self.first_of(pe),
        }
    }

    /// What `pe` has published when the job began.
    pub(crate) fn first_of(&self, pe: usize) -> Result<Vec<u8>> {
        let malformed = || {
            Error::bootstrap(
                "net",
                format!(
                    "the address that PE {pe} has published is not to be found: do all run the same build?"
                ),
            )
        };
        let inside = (pe + 2).checked_mul(size_of::<u64>()).is_some_and(|end| end <= self.map.stride());
        if !inside {
            return Err(malformed());
        }
        // SAFETY: the table's entries are inside, as just seen.
        let [from, to] = [pe, pe + 1].map(|at| unsafe {
            copy::load(self.map.base().add(at * size_of::<u64>()).cast::<u64>()) as usize
        });
        if from > to || to > self.map.stride() {
            return Err(malformed());
        }
        let mut published = vec![0; to - from];
        // SAFETY: inside, as just seen.
        unsafe { copy::copy(published.as_mut_ptr(), self.map.base().add(from), published.len()) };
        Ok(published)
    }
}

impl Shared for Directory {
    unsafe fn to_descriptors(&self) -> Result<Vec<OwnedFd>> {
        // SAFETY: the caller hands them to PEs of this host alone.
        unsafe { self.map.to_descriptors() }
    }

    unsafe fn from_descriptors(descriptors: Vec<OwnedFd>, _: usize) -> Result<Self> {
        HostMap::received(descriptors, 0, None).map(|map| Self { map, since: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_is_found_from_the_descriptors_too() {
        let all: Vec<Vec<u8>> =
            (0..100usize).map(|pe| (0..pe * 7 % 300).map(|i| (i + pe) as u8).collect()).collect();
        let made = Directory::new(&all).unwrap();
        // SAFETY: a directory is only read.
        let descriptors = unsafe { made.to_descriptors() }.unwrap();
        // SAFETY: they are those of a directory.
        let opened = unsafe { Directory::from_descriptors(descriptors, 1) }.unwrap();
        for (pe, published) in all.iter().enumerate() {
            assert_eq!(&made.of(pe).unwrap(), published);
            assert_eq!(&opened.of(pe).unwrap(), published);
        }
        assert!(made.of(100_000).is_err() && !opened.is_empty());
        let empty = Directory::new(&[]).unwrap();
        assert!(empty.is_empty() && empty.of(0).is_err());
    }
}
