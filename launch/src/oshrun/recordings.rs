//! What PEs of other machines have recorded, on its way to the folder that `--trace` names.
//!
//! At the end of a job each agent sends the files of its PEs, a piece at a time. Pieces that are
//! nothing but zeros are left out: a recording has room for more than most PEs do.

use std::{
    fs::{self, File},
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use oxshmem_base::owned;

use super::frame::FromAgent;

/// How much travels at a time.
const PIECE: usize = 256 << 10;

/// The files of a machine's PEs.
#[derive(Debug)]
pub(super) struct Recordings {
    folder: PathBuf,
    /// The PEs whose files were not begun.
    pes: Range<usize>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    pe: usize,
    file: File,
    at: u64,
    len: u64,
}

impl Recordings {
    /// The files of `pes` in a folder.
    pub(super) fn of(folder: &Path, pes: Range<usize>) -> Self {
        Self { folder: folder.to_owned(), pes, open: None }
    }

    /// Removes what another job has left there.
    pub(super) fn remove(folder: &Path, pes: Range<usize>) {
        // If it stays, what a PE records replaces it.
        pes.for_each(|pe| _ = fs::remove_file(name(folder, pe)));
    }

    /// The next piece. None when there is no more.
    pub(super) fn next(&mut self) -> Option<FromAgent> {
        loop {
            let Some(open) = &mut self.open else {
                let pe = self.pes.next()?;
                // A PE may have recorded nothing.
                self.open = File::open(name(&self.folder, pe)).ok().and_then(|file| {
                    let len = file.metadata().ok()?.len();
                    Some(Open { pe, file, at: 0, len })
                });
                continue;
            };
            let at = open.at;
            let count = PIECE.min(usize::try_from(open.len - at).unwrap_or(PIECE));
            let mut bytes = vec![0; count];
            open.at += count as u64;
            let (pe, is_last) = (open.pe, open.at == open.len);
            let is_read = open.file.read_exact_at(&mut bytes, at).is_ok();
            if is_last || !is_read {
                self.open = None;
            }
            // The last says how long the file is, and the first that there is one.
            if is_read && count > 0 && (at == 0 || is_last || bytes.iter().any(|&byte| byte != 0)) {
                return Some(FromAgent::Recording { pe, at, bytes });
            }
        }
    }
}

/// The files that come from one machine.
#[derive(Debug)]
pub(super) struct ReceivedRecordings {
    folder: Option<PathBuf>,
    open: Option<(usize, File)>,
}

impl ReceivedRecordings {
    /// They are written to this folder.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, open: None }
    }

    /// Takes a piece.
    ///
    /// # Errors
    /// It cannot be written, or was not asked for.
    pub(super) fn take(&mut self, pe: usize, at: u64, bytes: &[u8]) -> io::Result<()> {
        let folder = self.folder.as_deref().ok_or(io::ErrorKind::InvalidData)?;
        if at == 0 {
            // The same file, where machines share the folder: the agent has it open.
            self.open = Some((pe, owned::file(&name(folder, pe))?));
        }
        match &self.open {
            Some((open, file)) if *open == pe => file.write_all_at(bytes, at),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn name(folder: &Path, pe: usize) -> PathBuf {
    folder.join(format!("pe-{pe}.trace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_arrive_as_they_were_without_the_zeros_in_them() {
        let folder = std::env::temp_dir().join(format!("oshrun-recordings-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(&from).unwrap();
        fs::create_dir_all(&to).unwrap();
        let mut file = vec![0; 5 * PIECE + 100];
        (file[3], file[3 * PIECE]) = (1, 2);
        fs::write(name(&from, 2), &file).unwrap();
        fs::write(name(&from, 3), b"short").unwrap();
        let mut received = ReceivedRecordings::new(Some(to.clone()));
        let mut recordings = Recordings::of(&from, 1..4);
        let mut pieces = 0;
        while let Some(FromAgent::Recording { pe, at, bytes }) = recordings.next() {
            received.take(pe, at, &bytes).unwrap();
            pieces += 1;
        }
        assert_eq!(pieces, 4);
        assert!(fs::read(name(&to, 2)).unwrap() == file);
        assert_eq!(fs::read(name(&to, 3)).unwrap(), b"short");
        assert!(received.take(2, 7, b"x").is_err(), "it has no beginning");
        assert!(ReceivedRecordings::new(None).take(0, 0, b"x").is_err(), "nothing was asked for");
        // A folder that both have.
        let mut received = ReceivedRecordings::new(Some(from.clone()));
        let mut recordings = Recordings::of(&from, 2..3);
        while let Some(FromAgent::Recording { pe, at, bytes }) = recordings.next() {
            received.take(pe, at, &bytes).unwrap();
        }
        assert!(fs::read(name(&from, 2)).unwrap() == file);
        Recordings::remove(&from, 0..4);
        assert_eq!(fs::read_dir(&from).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
    }
}
