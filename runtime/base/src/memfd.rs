//! Memory without a name, which processes share by its descriptor.
//!
//! A process that has the descriptor can open the memory anew, and so can any process of the user,
//! through `/proc`. If one of them made it shorter, every access of the others beyond its new end
//! would be SIGBUS. So its length is sealed as soon as it has one, and so are the contents of what
//! is only read.

use std::{io, os::fd::OwnedFd};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create},
    io::{Errno, pwrite},
};

/// Memory of `bytes` bytes, all of them 0. Its length cannot be changed.
pub fn zeroed(name: &str, bytes: usize) -> io::Result<OwnedFd> {
    sized(name, MemfdFlags::empty(), bytes)
}

/// Memory of `bytes` bytes, all of them 0, with other flags, such as those of huge pages.
pub fn sized(name: &str, flags: MemfdFlags, bytes: usize) -> io::Result<OwnedFd> {
    let memory = create(name, flags)?;
    ftruncate(&memory, bytes as u64)?;
    seal(&memory, SealFlags::empty());
    Ok(memory)
}

/// Memory that holds `bytes`. It cannot be changed any more.
pub fn holding(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let memory = create(name, MemfdFlags::empty())?;
    let mut written = 0;
    while written < bytes.len() {
        match pwrite(&memory, &bytes[written..], written as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => written += n,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    seal(&memory, SealFlags::WRITE);
    Ok(memory)
}

#[expect(clippy::disallowed_methods, reason = "here it is sealed")]
fn create(name: &str, flags: MemfdFlags) -> io::Result<OwnedFd> {
    let flags = flags | MemfdFlags::CLOEXEC;
    match memfd_create(name, flags | MemfdFlags::ALLOW_SEALING) {
        // Before Linux 4.16 huge pages cannot be sealed.
        Err(Errno::INVAL) => Ok(memfd_create(name, flags)?),
        memory => Ok(memory?),
    }
}

fn seal(memory: &OwnedFd, more: SealFlags) {
    // A kernel that refuses leaves the memory as open as it was: no reason not to use it.
    let _ = fcntl_add_seals(memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL | more);
}

#[cfg(test)]
mod tests {
    use rustix::fs::fcntl_get_seals;

    use super::*;

    #[test]
    fn memory_keeps_its_length_and_may_be_written() {
        let memory = zeroed("test", 4096).unwrap();
        for len in [0, 4095, 4097] {
            assert_eq!(ftruncate(&memory, len), Err(Errno::PERM), "{len}");
        }
        assert_eq!(fcntl_add_seals(&memory, SealFlags::WRITE), Err(Errno::PERM));
        assert_eq!(pwrite(&memory, b"1", 4095), Ok(1));
        assert_eq!(pwrite(&memory, b"1", 4096), Err(Errno::PERM));
    }

    #[test]
    fn what_memory_holds_stays_as_it_is() {
        let memory = holding("test", b"text").unwrap();
        assert_eq!(ftruncate(&memory, 0), Err(Errno::PERM));
        assert_eq!(pwrite(&memory, b"1", 0), Err(Errno::PERM));
        let mut bytes = [0; 8];
        assert_eq!(rustix::io::pread(&memory, &mut bytes, 0), Ok(4));
        assert_eq!(&bytes, b"text\0\0\0\0");
    }

    #[test]
    fn huge_pages_are_sealed_where_the_kernel_can() {
        match sized("test", MemfdFlags::HUGETLB, 2 << 20) {
            Ok(memory) => match fcntl_get_seals(&memory) {
                Ok(seals) => assert!(seals.contains(SealFlags::SHRINK | SealFlags::GROW), "{seals:?}"),
                Err(error) => println!("not tested: huge pages cannot be sealed here: {error}"),
            },
            Err(error) => println!("not tested: no memory in huge pages here: {error}"),
        }
    }
}
