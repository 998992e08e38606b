//! What the PEs of one machine are started with, and what can be checked there before.

use std::{
    ffi::{OsStr, OsString},
    ops::Range,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::ValueEnum;
use oxshmem_base::Distribution;
use rustix::{
    fs::{Access, access},
    process::{Resource, getrlimit, setrlimit},
};

use super::input::StdinTo;

/// What the PEs of one machine are started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The PEs that start there.
    pub(super) pes: Range<usize>,
    /// How many the job has.
    pub(super) n_pes: usize,
    /// How all of them are distributed over hosts.
    pub(super) distribution: Distribution,
    /// Whether this machine simulates all of these hosts.
    pub(super) simulated: bool,
    /// What the machine is called.
    pub(super) machine: String,
    pub(super) variables: Vec<(OsString, OsString)>,
    /// Whether PEs that are lost may get replacements.
    pub(super) has_replacements: bool,
    pub(super) tag_output: bool,
    pub(super) bind_to: BindTo,
    pub(super) stdin: StdinTo,
    /// The folder that PEs record in what they do.
    pub(super) trace: Option<PathBuf>,
    /// The folder that PEs are started in, if it is another than the starting process's.
    pub(super) folder: Option<PathBuf>,
    /// How long a lease of a host is, if the job has several.
    pub(super) lease: Duration,
    /// The program as it was named.
    pub(super) name: OsString,
    pub(super) arguments: Vec<OsString>,
}

/// What each PE is bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum BindTo {
    /// Nothing: PEs run where the system puts them
    #[default]
    None,
    /// PE i runs on the i-th CPU that oshrun may use, starting over when there are more PEs than
    /// CPUs
    Core,
}

/// The most PEs of a job, whatever the limits of the system.
pub(super) const MOST_PES: usize = 4096;
/// Descriptors that the launcher holds for a PE: its process, its socket, and what it prints to.
const DESCRIPTORS_PER_PE: usize = 4;
/// Descriptors that the launcher needs besides.
const OTHER_DESCRIPTORS: usize = 64;

pub(super) fn check_size(n_pes: usize, stdin: StdinTo) -> Result<(), String> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this fails, the job may still fit; if not, starting a PE will fail and say so.
    let _ = setrlimit(Resource::Nofile, limit);
    let allowed = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |allowed| allowed as usize);
    // A copy of the input has to be written to each PE.
    let each = DESCRIPTORS_PER_PE + usize::from(stdin == StdinTo::All);
    let fit = allowed.saturating_sub(OTHER_DESCRIPTORS) / each;
    if n_pes <= fit.min(MOST_PES) {
        Ok(())
    } else if fit < MOST_PES {
        Err(format!(
            "{n_pes} PEs are above the limit of {fit}, as this user may have {allowed} descriptors open (ulimit -Hn) \
             and each PE takes {each}"
        ))
    } else {
        Err(format!("{n_pes} PEs are above the limit of {MOST_PES}"))
    }
}

/// The file that a program's name stands for, as a shell would find it in that folder.
pub(super) fn find(name: &OsStr, folder: Option<&Path>) -> Result<PathBuf, String> {
    let shown = name.to_string_lossy();
    // From here; the PEs are in that folder when they look for it.
    let here = |path: &Path| folder.map_or_else(|| path.to_owned(), |folder| folder.join(path));
    let check = |path: &Path| -> Result<(), String> {
        let wrong = |what: &str| Err(format!("cannot start {shown}: {what}"));
        let path = here(path);
        match path.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => wrong("there is no such file"),
            Err(error) => wrong(&error.to_string()),
            Ok(status) if !status.is_file() => wrong("it is not a file"),
            Ok(_) if access(&path, Access::EXEC_OK).is_err() => wrong("it is not executable"),
            Ok(_) => Ok(()),
        }
    };
    if name.as_bytes().contains(&b'/') {
        return check(Path::new(name)).map(|()| PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    let found = std::env::split_paths(&path)
        .map(|entry| entry.join(name))
        .find(|candidate| !name.is_empty() && check(candidate).is_ok());
    found.ok_or_else(|| {
        let hint = match !name.is_empty() && check(Path::new(name)).is_ok() {
            true => format!("; did you mean ./{shown}?"),
            false => String::new(),
        };
        format!("cannot start {shown:?}: there is no such program in PATH{hint}")
    })
}
