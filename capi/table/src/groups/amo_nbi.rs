//! Nonblocking atomics (§9.7.2).

use crate::{
    arguments::SYMMETRIC_SOURCE,
    model::{Form, Group},
    types::{AMO, BITWISE_AMO, EXTENDED_AMO},
};

/// Defines the atomics that fetch into a variable.
macro_rules! atomics {
    ($($name:literal $section:literal $types:ident ($parameters:literal) $brief:literal;)*) => {
        pub(super) static GROUPS: &[Group] = &[$(Group {
            name: concat!("shmem_atomic_", $name, "_nbi"),
            section: concat!("9.7.2.", $section),
            brief: $brief,
            text: "Atomic to all other atomics on the object, whichever PE they come from.",
            forms: &[Form::typed(
                $types,
                concat!("shmem_TYPENAME_atomic_", $name, "_nbi"),
                "void",
                concat!("TYPE *fetch, ", $parameters, ", int pe"),
            )
            .ctx()
            .generic(concat!("shmem_atomic_", $name, "_nbi"))],
            arguments: SYMMETRIC_SOURCE,
            completion: "None: fetch holds the old value, and the update is done, after shmem_quiet.",
            returns: super::NOTHING,
            rust: Some(concat!("Context::", $name, "_nbi")),
            see: &[concat!("shmem_atomic_", $name), "shmem_quiet"],
        }),*];
    };
}

atomics! {
    "fetch" "1" EXTENDED_AMO ("const TYPE *source") "begins to fetch a value atomically";
    "compare_swap" "2" AMO ("TYPE *dest, TYPE cond, TYPE value")
        "begins to store a value atomically if another is there, and to fetch what was";
    "swap" "3" EXTENDED_AMO ("TYPE *dest, TYPE value")
        "begins to store a value atomically and to fetch the old one";
    "fetch_inc" "4" AMO ("TYPE *dest") "begins to add one atomically and to fetch the old value";
    "fetch_add" "5" AMO ("TYPE *dest, TYPE value") "begins to add a value atomically and to fetch the old one";
    "fetch_and" "6" BITWISE_AMO ("TYPE *dest, TYPE value")
        "begins to apply a bitwise and atomically and to fetch the old value";
    "fetch_or" "7" BITWISE_AMO ("TYPE *dest, TYPE value")
        "begins to apply a bitwise or atomically and to fetch the old value";
    "fetch_xor" "8" BITWISE_AMO ("TYPE *dest, TYPE value")
        "begins to apply a bitwise exclusive or atomically and to fetch the old value";
}
