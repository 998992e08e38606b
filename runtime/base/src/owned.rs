//! Files and folders that nobody but their owner can read, whatever the umask.

use std::{
    fs::{DirBuilder, File, OpenOptions, remove_file},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Makes the folder `path`, and those it lies in, if they are not there. One that is there stays
/// as it is.
///
/// # Errors
/// The errors of the system.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A new file at `path`, to read and write. What is there is removed before, so that what reads
/// that goes on with it, and a link leads nowhere.
///
/// # Errors
/// The errors of the system.
pub fn file(path: &Path) -> io::Result<File> {
    match remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}
