//! Which library this is and which specification it implements, as programs and logs see it.

/// The major number of the specification implemented (`OpenSHMEM 1.6 §9.1.11`,
/// `SHMEM_MAJOR_VERSION`).
pub const VERSION_MAJOR: u32 = 1;

/// The minor number of the specification implemented (`OpenSHMEM 1.6 §9.1.11`,
/// `SHMEM_MINOR_VERSION`).
pub const VERSION_MINOR: u32 = 6;

/// The vendor's name for this library, with its version (`OpenSHMEM 1.6 §9.1.12`,
/// `SHMEM_VENDOR_STRING`).
pub const VENDOR_NAME: &str = concat!("oxshmem ", env!("CARGO_PKG_VERSION"));

/// One line naming library and specification: what `SHMEM_VERSION` prints at start-up.
pub fn version_line() -> String {
    format!("{VENDOR_NAME}, OpenSHMEM {VERSION_MAJOR}.{VERSION_MINOR}")
}
