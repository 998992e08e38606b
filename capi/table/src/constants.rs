//! The constants of §6 with the values they have here.
//!
//! Flags are `long`, as the parameters are that take them. Constants that mean something start at
//! 1, so that a variable that was never set is not taken for one of them.

/// A macro that stands for a value.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Its name.
    pub name: &'static str,
    /// What it expands to.
    pub value: &'static str,
    /// What it is, without a full stop.
    pub text: &'static str,
    /// Whether there is a deprecated name for it too: the same with an underscore before it.
    pub underscored: bool,
    /// The version that deprecated the constant itself, where one did.
    pub deprecated: Option<&'static str>,
}

const fn new(name: &'static str, value: &'static str, text: &'static str) -> Constant {
    Constant { name, value, text, underscored: false, deprecated: None }
}

const fn renamed(name: &'static str, value: &'static str, text: &'static str) -> Constant {
    Constant { underscored: true, ..new(name, value, text) }
}

const fn old(name: &'static str, value: &'static str, text: &'static str) -> Constant {
    Constant { deprecated: Some("1.5"), ..new(name, value, text) }
}

const fn old_renamed(name: &'static str, value: &'static str, text: &'static str) -> Constant {
    Constant { deprecated: Some("1.5"), ..renamed(name, value, text) }
}

/// What `SHMEM_VENDOR_STRING` is, and `shmem_info_get_name` gives.
pub const VENDOR_STRING: &str = concat!("oxshmem ", env!("CARGO_PKG_VERSION"));

/// How many elements a `pSync` has: four cache lines of 64 bytes. All collectives have the same, so
/// that an array made for one serves any.
pub const SYNC_SIZE: usize = 32;

/// The constants of the specification, in its order. Those for handles are in
/// [`handles`](crate::handles).
pub static CONSTANTS: &[Constant] = &[
    renamed("SHMEM_MAJOR_VERSION", "1", "major version of the specification"),
    renamed("SHMEM_MINOR_VERSION", "6", "minor version of the specification"),
    renamed(
        "SHMEM_MAX_NAME_LEN",
        "256",
        "bytes that SHMEM_VENDOR_STRING has at most, its final null included",
    ),
    renamed(
        "SHMEM_VENDOR_STRING",
        concat!("\"oxshmem ", env!("CARGO_PKG_VERSION"), "\""),
        "name of the library",
    ),
    new("SHMEM_THREAD_SINGLE", "0", "the program has one thread"),
    new("SHMEM_THREAD_FUNNELED", "1", "only the thread that initialized the library calls it"),
    new("SHMEM_THREAD_SERIALIZED", "2", "any thread calls the library, one at a time"),
    new("SHMEM_THREAD_MULTIPLE", "3", "any threads call the library at once"),
    new("SHMEM_TEAM_NUM_CONTEXTS", "1L", "in a mask: num_contexts of a shmem_team_config_t counts"),
    new("SHMEM_CTX_SERIALIZED", "1L", "context option: one thread at a time uses it"),
    new("SHMEM_CTX_PRIVATE", "2L", "context option: only the thread that made it uses it"),
    new("SHMEM_CTX_NOSTORE", "4L", "context option: quiet and fence need not order memory stores"),
    new("SHMEM_CTX_SESSION_TOTAL_OPS", "1L", "in a mask: total_ops of a shmem_ctx_session_config_t counts"),
    new("SHMEM_CTX_SESSION_BATCH", "1L", "session option: its operations may be delayed and joined"),
    new("SHMEM_SIGNAL_SET", "1", "the signal is set to the value"),
    new("SHMEM_SIGNAL_ADD", "2", "the value is added to the signal"),
    new("SHMEM_MALLOC_ATOMICS_REMOTE", "1L", "hint: mostly for atomics of other hosts"),
    new("SHMEM_MALLOC_SIGNAL_REMOTE", "2L", "hint: for signals of other hosts"),
    renamed("SHMEM_CMP_EQ", "1", "equal"),
    renamed("SHMEM_CMP_NE", "2", "not equal"),
    renamed("SHMEM_CMP_LT", "3", "less"),
    renamed("SHMEM_CMP_LE", "4", "less or equal"),
    renamed("SHMEM_CMP_GT", "5", "greater"),
    renamed("SHMEM_CMP_GE", "6", "greater or equal"),
    old_renamed("SHMEM_SYNC_VALUE", "0L", "what every element of a pSync is before its first use"),
    old("SHMEM_SYNC_SIZE", "32", "elements of a pSync for any collective"),
    old_renamed("SHMEM_BCAST_SYNC_SIZE", "32", "elements of a pSync for broadcasts"),
    old_renamed("SHMEM_REDUCE_SYNC_SIZE", "32", "elements of a pSync for reductions"),
    old_renamed("SHMEM_BARRIER_SYNC_SIZE", "32", "elements of a pSync for barriers"),
    old_renamed("SHMEM_COLLECT_SYNC_SIZE", "32", "elements of a pSync for collects"),
    old("SHMEM_ALLTOALL_SYNC_SIZE", "32", "elements of a pSync for shmem_alltoall"),
    old("SHMEM_ALLTOALLS_SYNC_SIZE", "32", "elements of a pSync for shmem_alltoalls"),
    old_renamed("SHMEM_REDUCE_MIN_WRKDATA_SIZE", "8", "elements that a pWrk has at least"),
];

/// The constants of the memory-kinds proposal, those that ask about spaces, and errors, for
/// `shmemx.h`.
pub static KINDS: &[Constant] = &[
    new("SHMEMX_MAX_PARTITIONS", "7", "how many partitions of the symmetric heap there may be"),
    new("SHMEMX_MAX_PARTITION_ID", "127", "greatest number of a partition"),
    new("SHMEMX_SPACE_RMA", "1L", "capability of a space: put and get"),
    new("SHMEMX_SPACE_ATOMICS", "2L", "capability of a space: atomics and signals"),
    new("SHMEMX_SPACE_COLLECTIVES", "4L", "capability of a space: collectives"),
    new("SHMEMX_SPACE_DIRECT_ACCESS", "8L", "capability of a space: loads and stores, as through shmem_ptr"),
    new("SHMEMX_SPACE_WORLD_ACCESS", "16L", "capability of a space: all PEs have it"),
    new("SHMEMX_PE_LOST", "1", "error of a context: an operation with a PE that is lost"),
];

/// The value of an integer constant, as code that implements it needs it.
///
/// ```
/// use oxshmem_capi_table::constants::value;
///
/// assert_eq!(value("SHMEM_CTX_NOSTORE"), Some(4));
/// assert_eq!(value("SHMEM_VENDOR_STRING"), None); // no integer
/// ```
pub fn value(name: &str) -> Option<i64> {
    let constant = CONSTANTS.iter().chain(KINDS).find(|constant| constant.name == name)?;
    constant.value.trim_end_matches('L').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_in_the_header_is_the_one_in_rust() {
        let sizes = CONSTANTS.iter().filter(|it| it.name.ends_with("SYNC_SIZE"));
        assert!(
            sizes.clone().count() == 7 && sizes.clone().all(|it| value(it.name) == Some(SYNC_SIZE as i64))
        );
        assert!(CONSTANTS.iter().any(|it| it.value == format!("\"{VENDOR_STRING}\"")));
    }

    #[test]
    fn thread_levels_increase() {
        let levels = ["SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"];
        let values: Vec<_> =
            levels.iter().map(|level| value(&format!("SHMEM_THREAD_{level}")).unwrap()).collect();
        assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    }
}
