//! What `oshrun` makes of recordings instead of starting a job.

use std::path::PathBuf;

use clap::Args;

use crate::trace::{self, Written};

/// The options for it.
#[derive(Debug, Args)]
pub(super) struct Pictures {
    /// Starts nothing, and writes these files for a job that was started without oshrun and with
    /// SHMEM_TRACE=FOLDER
    #[arg(long, value_name = "FOLDER", exclusive = true)]
    trace_report: Option<PathBuf>,

    /// Starts nothing, and writes compare.html to the second of two folders with recordings: what
    /// got slower, by phase, wait state, call and PE
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], exclusive = true)]
    trace_compare: Option<Vec<PathBuf>>,
}

impl Pictures {
    /// Writes what is asked for, if anything is.
    pub(super) fn write(&self) -> Option<Result<Written, String>> {
        match (&self.trace_report, self.trace_compare.as_deref()) {
            (Some(folder), _) => Some(trace::write(folder)),
            (None, Some([before, after])) => Some(trace::compare(before, after)),
            _ => None,
        }
    }
}
