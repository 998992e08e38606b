//! The programs that compile and start oxshmem jobs and describe them: `oshcc`, `oshc++`, `oshrun`,
//! `oshtop` and `shmem-info`.

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

use oxshmem_base::report;

pub mod live;
pub mod man;
mod markup;
pub mod oshcc;
pub mod oshrun;
#[cfg(feature = "oshtop")]
pub mod oshtop;
pub mod shmem_info;
pub mod trace;

/// Reads this program's options. If it cannot, or a question such as `--help` is asked, it says so
/// and ends the process.
pub fn options<O: clap::Parser>() -> O {
    O::try_parse().unwrap_or_else(|error| {
        if error.use_stderr() {
            report(error.render().to_string().trim_end());
            std::process::exit(error.exit_code())
        }
        error.exit()
    })
}
