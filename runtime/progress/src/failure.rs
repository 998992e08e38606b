//! Why nothing that is waited for will come any more.

use oxshmem_base::Error;

/// Why nothing that is waited for will come any more.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A PE called `global_exit`.
    GlobalExit {
        /// Which.
        pe: usize,
        /// The status it gave.
        status: i32,
    },
    /// A PE ended without leaving the job.
    PeLost {
        /// Which.
        pe: usize,
        /// How.
        how: String,
    },
    /// This process cannot do what waiting needs.
    Unable {
        /// What that is, and what helps.
        what: String,
    },
}

impl Failure {
    /// A thread could not be started, by which what is waited for would come.
    pub fn without_thread(error: &std::io::Error) -> Self {
        let what = format!(
            "cannot start a thread that progress needs: {error}; allow this user more processes (ulimit -u)"
        );
        Self::Unable { what }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::GlobalExit { pe, status } => Self::GlobalExit { pe, status },
            Failure::PeLost { pe, how } => Self::PeLost { pe, view: 0, how },
            Failure::Unable { what } => Self::Unsupported { what },
        }
    }
}
