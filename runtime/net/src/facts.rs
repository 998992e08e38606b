//! What this machine has to reach other hosts with, and what was decided, for people.

use ucx_sys::Ucx;

/// Whether UCX can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UcxFound {
    /// This version, from this file.
    Loaded {
        /// Such as `1.13.1`.
        version: String,
        /// Its path.
        file: String,
    },
    /// It cannot, for this reason.
    Missing(String),
}

impl UcxFound {
    /// Looks for it, as a job across hosts would.
    pub fn look() -> Self {
        match Ucx::load() {
            Ok(ucx) => {
                Self::Loaded { version: ucx.version().to_string(), file: ucx.file().display().to_string() }
            }
            Err(error) => Self::Missing(error.to_string()),
        }
    }
}

/// What performs atomic operations, in every job: `shmem-info` shows it.
///
/// A job needs one answer, since an operation must be atomic towards all others on the same word,
/// whichever way they come.
pub const ATOMICS: &str = "by the target's processors: with instructions on the same host, with messages that the target performs \
                           over networks; those of network cards are not used, as they would not be atomic towards either";
