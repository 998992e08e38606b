//! What spaces of memory there are.

use std::fmt;

/// A memory space: a kind of memory with a symmetric heap in it.
///
/// ```
/// use oxshmem_base::settings::SpaceKind;
///
/// assert_eq!(SpaceKind::Gpu.to_string(), "GPU");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpaceKind {
    /// Whichever of the others is the default: `SHMEM_SPACE_DEFAULT`.
    Default,
    /// Host memory: `SHMEM_SPACE_CPU`.
    Cpu,
    /// Device memory: `SHMEM_SPACE_GPU`.
    Gpu,
}

impl fmt::Display for SpaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::Cpu => "CPU",
            Self::Gpu => "GPU",
        })
    }
}
