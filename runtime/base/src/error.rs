//! The one error type of oxshmem.
//!
//! Every variant is one cause. Its text says which call or setting is at fault, which PE, and what
//! to do about it, so that a user who sees only the message can go on. Library code below the C
//! interface never prints and never exits: it returns one of these.

use std::{fmt, io, sync::Arc};

use crate::SpaceKind;

/// What a fallible call of oxshmem returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// Its `Debug` form is its text, because that is what a program prints whose `main` returns it.
///
/// ```
/// use oxshmem_base::Error;
///
/// let error = Error::PeOutOfRange { call: "put", pe: 4, n_pes: 4 };
/// assert_eq!(error.to_string(), "put: PE 4 is out of range, this job has PEs 0 to 3");
/// assert_eq!(format!("{error:?}"), error.to_string());
/// ```
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An environment variable holds something that cannot be used.
    #[error("{name}={value:?}: {reason}")]
    InvalidSetting {
        /// The variable's name.
        name: &'static str,
        /// What it holds.
        value: String,
        /// Why that cannot be used, and what could.
        reason: String,
    },

    /// A setting that must be the same on all PEs is not.
    #[error(
        "{name} differs between PEs: {value_a} on PE {pe_a}, {value_b} on PE {pe_b}; set it to one value for the whole job"
    )]
    SettingMismatch {
        /// The variable's name.
        name: &'static str,
        /// A PE.
        pe_a: usize,
        /// Its value.
        value_a: String,
        /// A PE with another value.
        pe_b: usize,
        /// That value.
        value_b: String,
    },

    /// A PE number is not below the number of PEs.
    #[error("{call}: PE {pe} is out of range, this job has {}", pes(*n_pes))]
    PeOutOfRange {
        /// The operation.
        call: &'static str,
        /// The number given.
        pe: usize,
        /// How many PEs there are.
        n_pes: usize,
    },

    /// A triplet that does not name PEs of the parent team.
    #[error(
        "{call}: start {start}, stride {stride} and size {size} do not name PEs of a team of {n_pes}; \
         start + stride * i must be 0 to {} for every i below the size, and a stride of 0 takes a size of 1", .n_pes.saturating_sub(1)
    )]
    InvalidTriplet {
        /// The operation.
        call: &'static str,
        /// The first PE.
        start: usize,
        /// The distance between PEs.
        stride: isize,
        /// How many.
        size: usize,
        /// PEs of the parent team.
        n_pes: usize,
    },

    /// A two-dimensional split whose first dimension is empty.
    #[error("{call}: xrange must be at least 1")]
    InvalidRange {
        /// The operation.
        call: &'static str,
    },

    /// All teams that a PE can be in at a time exist already.
    #[error(
        "{call}: some PE of the team is in {limit} teams already, and in no more at a time; destroy some"
    )]
    TeamsExhausted {
        /// The operation.
        call: &'static str,
        /// How many teams a PE can be in.
        limit: usize,
    },

    /// A team was used after it was destroyed, or a context that was made from it.
    #[error("{call}: the team was destroyed before; split it again")]
    TeamDestroyed {
        /// The operation.
        call: &'static str,
    },

    /// A predefined team cannot be destroyed.
    #[error("{call}: the {team} team is predefined and lasts as long as the job")]
    TeamPredefined {
        /// The operation.
        call: &'static str,
        /// Which team.
        team: &'static str,
    },

    /// The two buffers of one operation differ in length.
    #[error("{call}: source and destination differ in length: {source_len} and {dest_len} elements")]
    LengthMismatch {
        /// The operation.
        call: &'static str,
        /// Elements in the source.
        source_len: usize,
        /// Elements in the destination.
        dest_len: usize,
    },

    /// A strided operation would leave a buffer.
    #[error("{call}: {what} needs {needed} elements, but the slice has {len}")]
    StrideOutOfRange {
        /// The operation.
        call: &'static str,
        /// Which buffer: source or destination.
        what: &'static str,
        /// Elements that block size, stride and count reach to.
        needed: usize,
        /// Elements there are.
        len: usize,
    },

    /// A stride or block size that the operation does not allow.
    #[error(
        "{call}: {what} must be at least 1 element (and a stride at least the block size), but is {value}"
    )]
    InvalidStride {
        /// The operation.
        call: &'static str,
        /// Which argument.
        what: &'static str,
        /// Its value.
        value: usize,
    },

    /// Symmetric memory of another job, or another PE's handle to memory of this job, was given to
    /// an operation.
    #[error(
        "{call}: the symmetric memory belongs to another job, or is another PE's handle; use a slice that this world allocated"
    )]
    ForeignMemory {
        /// The operation.
        call: &'static str,
    },

    /// A slice cannot be seen as another type.
    #[error(
        "{call}: {bytes} bytes at offset {offset} cannot be seen as elements of {size} bytes aligned to {align}"
    )]
    Misaligned {
        /// The operation.
        call: &'static str,
        /// Offset of the slice in its segment.
        offset: usize,
        /// Its length in bytes.
        bytes: usize,
        /// Size of the element asked for.
        size: usize,
        /// Its alignment.
        align: usize,
    },

    /// A memory space that a PE does not have.
    #[error(
        "{call}: PE {pe} has no {space} space{}; ask for its availability first, or enable it (SHMEM_ENABLE_{space}_SPACE)",
        .why.as_ref().map_or(String::new(), |why| format!(" ({why})"))
    )]
    SpaceUnavailable {
        /// The operation.
        call: &'static str,
        /// The space.
        space: SpaceKind,
        /// The PE.
        pe: usize,
        /// Why, if it was enabled and there is no device.
        why: Option<String>,
    },

    /// A device or its driver has failed.
    #[error("the device failed: {what}")]
    Device {
        /// The call of the driver, and what came of it.
        what: String,
    },

    /// A kernel gave a wait up, or asked for what cannot be done.
    #[error("{call} in a kernel of PE {pe}: {what}")]
    Kernel {
        /// The device function.
        call: &'static str,
        /// The PE whose kernel it was.
        pe: usize,
        /// What went wrong, and what to do about it.
        what: String,
    },

    /// An operation on memory of a space with a PE that is not in the team of that space.
    #[error(
        "{call}: PE {pe} is not in the team of the {space} space, so that operations on its memory must leave it out"
    )]
    OutsideSpace {
        /// The operation.
        call: &'static str,
        /// The space.
        space: SpaceKind,
        /// The PE, by its number in the world.
        pe: usize,
    },

    /// Memory of two spaces where there can be but one.
    #[error(
        "{call}: {what_a} is in the {space_a} space, {what_b} in the {space_b} space; both must be in one"
    )]
    SpaceMismatch {
        /// The operation.
        call: &'static str,
        /// One buffer.
        what_a: &'static str,
        /// Its space.
        space_a: SpaceKind,
        /// Another.
        what_b: &'static str,
        /// That one's.
        space_b: SpaceKind,
    },

    /// The symmetric heap has no block of that size.
    #[error(
        "{call}: the symmetric heap has no room for {asked} bytes aligned to {align}: {free} of {size} bytes are free, \
         the largest free block has {largest}; raise {setting}"
    )]
    HeapExhausted {
        /// The operation.
        call: &'static str,
        /// Bytes asked for.
        asked: usize,
        /// Alignment asked for.
        align: usize,
        /// Bytes free in all.
        free: usize,
        /// Bytes in the largest free block.
        largest: usize,
        /// Bytes in the heap.
        size: usize,
        /// The variable that makes it larger.
        setting: &'static str,
    },

    /// A partition of the symmetric heap that was not defined.
    #[error(
        "{call}: there is no partition {id}; those defined are {defined}: set SMAX_SYMMETRIC_PARTITION{id}, such as to size=512M"
    )]
    NoPartition {
        /// The operation.
        call: &'static str,
        /// Its number.
        id: usize,
        /// The numbers of those that there are.
        defined: String,
    },

    /// An alignment that is no power of two, or beyond what the heap can keep.
    #[error("{call}: an alignment of {align} bytes is not a power of two of at most 1 GiB")]
    InvalidAlignment {
        /// The operation.
        call: &'static str,
        /// The alignment asked for.
        align: usize,
    },

    /// PEs called one collective operation with different arguments, or different operations.
    #[error(
        "PEs differ in a collective call: PE {pe_a} calls {call_a}, PE {pe_b} calls {call_b}; all PEs must make the same call"
    )]
    CollectiveMismatch {
        /// A PE.
        pe_a: usize,
        /// What it called, with its arguments.
        call_a: String,
        /// A PE that differs.
        pe_b: usize,
        /// What that one called.
        call_b: String,
    },

    /// Source and destination have bytes in common where others write the one before the other is
    /// read (`OpenSHMEM 1.6 §4.2`).
    #[error(
        "{call}: source and destination overlap in a way that this collective cannot have; take slices that do not"
    )]
    Overlap {
        /// The operation.
        call: &'static str,
    },

    /// What a program gave to be run as a collective has panicked on this PE. The others may wait
    /// for it.
    #[error("{call}: what the team was to run has panicked on this PE; the message of the panic says why")]
    Panicked {
        /// The operation.
        call: &'static str,
    },

    /// A PE cleared a lock that it had not set.
    #[error("{call}: PE {pe} does not hold the lock at offset {offset:#x}: {why}")]
    LockNotHeld {
        /// The operation.
        call: &'static str,
        /// The PE that called it.
        pe: usize,
        /// Offset of the lock in its segment.
        offset: usize,
        /// What is the case instead.
        why: &'static str,
    },

    /// A collection has no room for what was to be added.
    #[error("{what}: there is no room for another entry, as it was made for {capacity}; grow it")]
    CollectionFull {
        /// Which kind.
        what: &'static str,
        /// For how many entries it was made.
        capacity: usize,
    },

    /// The launcher could not be reached, or answered what it should not.
    #[error("{call}: {detail}")]
    Bootstrap {
        /// What was being done.
        call: &'static str,
        /// What went wrong.
        detail: String,
    },

    /// The process is already a PE of a running world.
    #[error("init: this process is already PE {pe} of a running job; clone its World, or finalize it first")]
    AlreadyInitialized {
        /// Its number.
        pe: usize,
    },

    /// The world was finalized.
    #[error("{call}: the world was finalized before; call nothing on it after that")]
    Finalized {
        /// The operation.
        call: &'static str,
    },

    /// What was to be sent cannot arrive: the receiver was dropped, or the sender is closed.
    #[error("{what}: it is closed")]
    Closed {
        /// What is closed.
        what: &'static str,
    },

    /// A PE ended the job with `global_exit`.
    #[error("PE {pe} ended the job with global_exit({status})")]
    GlobalExit {
        /// Which.
        pe: usize,
        /// The status it gave.
        status: i32,
    },

    /// A PE is gone, so that what was waited for can never happen.
    #[error("PE {pe} is lost: {how}")]
    PeLost {
        /// Which.
        pe: usize,
        /// How many PEs the job had lost by then, this one included, if the others go on; else 0.
        view: u64,
        /// How it ended.
        how: String,
    },

    /// The operating system refused something.
    #[error("{call}: {source}")]
    System {
        /// What was being done.
        call: &'static str,
        /// The system's error.
        source: Arc<io::Error>,
    },

    /// Something that this machine or this build cannot do.
    #[error("{what}")]
    Unsupported {
        /// What it is, and what to do instead.
        what: String,
    },
}

impl AsRef<Error> for Error {
    fn as_ref(&self) -> &Error {
        self
    }
}

impl Error {
    /// Names the call beside the system's error.
    pub fn system(call: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { call, source: Arc::new(source.into()) }
    }

    /// Something that went wrong between a PE and its launcher.
    pub fn bootstrap(call: &'static str, detail: impl fmt::Display) -> Self {
        Self::Bootstrap { call, detail: detail.to_string() }
    }
}

/// The numbers of `n` PEs.
fn pes(n: usize) -> String {
    n.checked_sub(1).map_or_else(|| "no PE".to_owned(), |last| format!("PEs 0 to {last}"))
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pe_that_is_none_of_none_is_out_of_range_too() {
        let text = |n_pes| Error::PeOutOfRange { call: "put", pe: 3, n_pes }.to_string();
        assert_eq!(text(0), "put: PE 3 is out of range, this job has no PE");
        assert_eq!(text(3), "put: PE 3 is out of range, this job has PEs 0 to 2");
        let triplet = Error::InvalidTriplet { call: "split", start: 0, stride: 1, size: 1, n_pes: 0 };
        assert!(triplet.to_string().contains("a team of 0"));
    }
}
