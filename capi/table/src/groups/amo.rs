//! Blocking atomics (§9.7.1).

use crate::{
    arguments::SYMMETRIC_SOURCE,
    model::{Form, Group},
    types::{AMO, BITWISE_AMO, EXTENDED_AMO},
};

/// When an atomic that fetches is complete.
const FETCHED: &str = "Complete: the value is here, and the update is done.";
/// When one that fetches nothing is.
const UPDATED: &str = "None at the target: the update may come later; shmem_quiet completes it.";
const BEFORE: &str = "The value that was there before.";

/// Defines atomics, of which each fetches or does not.
macro_rules! atomics {
    ($($name:literal $section:literal $types:ident $returns:literal ($($parameters:literal)?)
       $rust:literal $brief:literal see $see:expr;)*) => {
        pub(super) static GROUPS: &[Group] = &[$(Group {
            name: concat!("shmem_atomic_", $name),
            section: concat!("9.7.1.", $section),
            brief: $brief,
            text: "Atomic to all other atomics on the object, whichever PE they come from.",
            forms: &[Form::typed(
                $types,
                concat!("shmem_TYPENAME_atomic_", $name),
                $returns,
                concat!($($parameters, ", ",)? "int pe"),
            )
            .ctx()
            .generic(concat!("shmem_atomic_", $name))],
            arguments: SYMMETRIC_SOURCE,
            completion: if matches!($returns.as_bytes(), b"void") { UPDATED } else { FETCHED },
            returns: if matches!($returns.as_bytes(), b"void") { super::NOTHING } else { BEFORE },
            rust: Some(concat!("Context::", $rust)),
            see: $see,
        }),*];
    };
}

atomics! {
    "fetch" "1" EXTENDED_AMO "TYPE" ("const TYPE *source") "fetch" "fetches a value atomically"
        see &["shmem_atomic_set", "shmem_atomic_fetch_nbi"];
    "set" "2" EXTENDED_AMO "void" ("TYPE *dest, TYPE value") "set" "stores a value atomically"
        see &["shmem_atomic_fetch", "shmem_atomic_swap", "shmem_quiet"];
    "compare_swap" "3" AMO "TYPE" ("TYPE *dest, TYPE cond, TYPE value") "compare_swap"
        "stores a value atomically if another is there, and fetches what was"
        see &["shmem_atomic_swap", "shmem_atomic_compare_swap_nbi"];
    "swap" "4" EXTENDED_AMO "TYPE" ("TYPE *dest, TYPE value") "swap" "stores a value atomically and fetches \
                                                                      the old one"
        see &["shmem_atomic_compare_swap", "shmem_atomic_swap_nbi"];
    "fetch_inc" "5" AMO "TYPE" ("TYPE *dest") "fetch_inc" "adds one atomically and fetches the old value"
        see &["shmem_atomic_inc", "shmem_atomic_fetch_add", "shmem_atomic_fetch_inc_nbi"];
    "inc" "6" AMO "void" ("TYPE *dest") "inc" "adds one atomically"
        see &["shmem_atomic_fetch_inc", "shmem_atomic_add", "shmem_quiet"];
    "fetch_add" "7" AMO "TYPE" ("TYPE *dest, TYPE value") "fetch_add" "adds a value atomically and fetches \
                                                                       the old one"
        see &["shmem_atomic_add", "shmem_atomic_fetch_inc", "shmem_atomic_fetch_add_nbi"];
    "add" "8" AMO "void" ("TYPE *dest, TYPE value") "add" "adds a value atomically"
        see &["shmem_atomic_fetch_add", "shmem_atomic_inc", "shmem_quiet"];
    "fetch_and" "9" BITWISE_AMO "TYPE" ("TYPE *dest, TYPE value") "fetch_and"
        "applies a bitwise and atomically and fetches the old value"
        see &["shmem_atomic_and", "shmem_atomic_fetch_and_nbi"];
    "and" "10" BITWISE_AMO "void" ("TYPE *dest, TYPE value") "and" "applies a bitwise and atomically"
        see &["shmem_atomic_fetch_and", "shmem_quiet"];
    "fetch_or" "11" BITWISE_AMO "TYPE" ("TYPE *dest, TYPE value") "fetch_or"
        "applies a bitwise or atomically and fetches the old value"
        see &["shmem_atomic_or", "shmem_atomic_fetch_or_nbi"];
    "or" "12" BITWISE_AMO "void" ("TYPE *dest, TYPE value") "or" "applies a bitwise or atomically"
        see &["shmem_atomic_fetch_or", "shmem_quiet"];
    "fetch_xor" "13" BITWISE_AMO "TYPE" ("TYPE *dest, TYPE value") "fetch_xor"
        "applies a bitwise exclusive or atomically and fetches the old value"
        see &["shmem_atomic_xor", "shmem_atomic_fetch_xor_nbi"];
    "xor" "14" BITWISE_AMO "void" ("TYPE *dest, TYPE value") "xor" "applies a bitwise exclusive or atomically"
        see &["shmem_atomic_fetch_xor", "shmem_quiet"];
}
