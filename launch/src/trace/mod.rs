//! What the PEs of a job have recorded of it (`SHMEM_TRACE`): read, merged, and written for people.
//!
//! | module | |
//! |---|---|
//! | [`model`] | what a job did |
//! | `read` | the file of one PE |
//! | `merge` | those of all PEs, on one clock |
//! | `phases` | the phases that a program marks |
//! | `chrome` | `trace.json`, for Perfetto |
//! | `report` | `report.html`, for a browser, and `compare.html` of two runs |

mod chrome;
mod merge;
pub mod model;
mod phases;
mod read;
mod report;

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use model::Trace;
use oxshmem_base::owned;
use read::Recording;

/// What was made of a folder of recordings.
#[derive(Debug)]
pub struct Written {
    /// What has become of each file that could not be read.
    pub unreadable: Vec<String>,
    /// What was written.
    pub files: Vec<PathBuf>,
}

/// The files of PEs in a folder.
fn recordings(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let is_recording = |name: &OsStr| {
        let number = name.to_str().and_then(|name| name.strip_prefix("pe-")?.strip_suffix(".trace"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if is_recording(&entry.file_name()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Makes the folder `dir` if need be, and removes the files that another job has left there.
///
/// # Errors
/// The errors of the system.
pub fn prepare(dir: &Path) -> io::Result<()> {
    owned::folder(dir)?;
    recordings(dir)?.iter().try_for_each(fs::remove_file)
}

/// Reads what is in the folder `dir`. Also says which files could not be read, and why.
///
/// # Errors
/// The errors of the folder.
pub fn read(dir: &Path) -> io::Result<(Trace, Vec<String>)> {
    let (mut read, mut unreadable) = (Vec::new(), Vec::new());
    for path in recordings(dir)? {
        let parsed = fs::read(&path).map_err(|error| error.to_string());
        match parsed.and_then(|bytes| Recording::parse(&bytes)) {
            Ok(recording) => read.push(recording),
            Err(why) => unreadable.push(format!("{} is left out: {why}", path.display())),
        }
    }
    // A folder that was used before may have the files of a job with more PEs.
    let n_pes = read.iter().max_by_key(|recording| recording.first.of_day).map(|newest| newest.n_pes);
    read.retain(|recording| Some(recording.n_pes) == n_pes);
    Ok((merge::merged(read), unreadable))
}

/// What is recorded in a folder, of at least one PE.
fn recorded(dir: &Path) -> Result<(Trace, Vec<String>), String> {
    let shown = dir.display();
    let (trace, unreadable) = read(dir).map_err(|error| format!("cannot read {shown}: {error}"))?;
    if trace.pes.is_empty() {
        let why = unreadable.first().map_or_else(String::new, |why| format!(": {why}"));
        return Err(format!("there is no recording of a PE in {shown}{why}"));
    }
    Ok((trace, unreadable))
}

/// Writes `compare.html` to the folder `after`, from the recordings of two runs.
///
/// # Errors
/// In a sentence: there is nothing, or the file cannot be written.
pub fn compare(before: &Path, after: &Path) -> Result<Written, String> {
    let ((first, mut unreadable), (second, more)) = (recorded(before)?, recorded(after)?);
    unreadable.extend(more);
    let names = [before, after].map(|folder| folder.display().to_string());
    let page = report::compare::page([&first, &second], names.each_ref().map(String::as_str));
    let path = after.join("compare.html");
    owned::file(&path)
        .and_then(|mut file| file.write_all(page.as_bytes()))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(Written { unreadable, files: vec![path] })
}

/// Writes `trace.json` and `report.html` to the folder `dir`, from the recordings there.
///
/// # Errors
/// In a sentence: there is nothing, or a file cannot be written.
pub fn write(dir: &Path) -> Result<Written, String> {
    let (trace, unreadable) = recorded(dir)?;
    let (timeline, page) = (dir.join("trace.json"), dir.join("report.html"));
    let failed = |path: &Path, error| format!("cannot write {}: {error}", path.display());
    owned::file(&timeline)
        .and_then(|file| chrome::write(&trace, &mut BufWriter::with_capacity(1 << 20, file)))
        .map_err(|error| failed(&timeline, error))?;
    owned::file(&page)
        .and_then(|mut file| file.write_all(report::page(&trace).as_bytes()))
        .map_err(|error| failed(&page, error))?;
    Ok(Written { unreadable, files: vec![timeline, page] })
}
