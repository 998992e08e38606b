//! The names that atomics had before OpenSHMEM 1.4. Each does what the routine that replaced it
//! does.

use crate::{
    arguments::SYMMETRIC_SOURCE,
    model::{Form, Group},
    types::{AMO, EXTENDED_AMO, OLD_AMO, OLD_EXTENDED_AMO},
};

/// Defines the old names, each with the end of the new one.
macro_rules! atomics {
    ($($name:literal = $new:literal $section:literal $types:ident of $all:ident $returns:literal ($parameters:literal)
       $completion:expr;)*) => {
        pub(super) static GROUPS: &[Group] = &[$(Group {
            name: concat!("shmem_", $name),
            section: concat!("9.7.1.", $section),
            brief: concat!("is the old name of shmem_atomic_", $new),
            text: "Only some types have it, and there is no form with a context. The generic form takes all types of \
                   the new one, as in other libraries.",
            forms: &[Form::typed(
                $types,
                concat!("shmem_TYPENAME_", $name),
                $returns,
                concat!($parameters, ", int pe"),
            )
            .generic(concat!("shmem_", $name))
            .also($all, concat!("shmem_TYPENAME_atomic_", $new))
            .deprecated("1.4", concat!("shmem_atomic_", $new))],
            arguments: SYMMETRIC_SOURCE,
            completion: $completion.0,
            returns: $completion.1,
            rust: Some(concat!("Context::", $new)),
            see: &[concat!("shmem_atomic_", $new)],
        }),*];
    };
}

const FETCHED: (&str, &str) =
    ("Complete: the value is here, and the update is done.", "The value that was there before.");
const UPDATED: (&str, &str) =
    ("None at the target: the update may come later; shmem_quiet completes it.", super::NOTHING);

atomics! {
    "fetch" = "fetch" "1" OLD_EXTENDED_AMO of EXTENDED_AMO "TYPE" ("const TYPE *source") FETCHED;
    "set" = "set" "2" OLD_EXTENDED_AMO of EXTENDED_AMO "void" ("TYPE *dest, TYPE value") UPDATED;
    "cswap" = "compare_swap" "3" OLD_AMO of AMO "TYPE" ("TYPE *dest, TYPE cond, TYPE value") FETCHED;
    "swap" = "swap" "4" OLD_EXTENDED_AMO of EXTENDED_AMO "TYPE" ("TYPE *dest, TYPE value") FETCHED;
    "finc" = "fetch_inc" "5" OLD_AMO of AMO "TYPE" ("TYPE *dest") FETCHED;
    "inc" = "inc" "6" OLD_AMO of AMO "void" ("TYPE *dest") UPDATED;
    "fadd" = "fetch_add" "7" OLD_AMO of AMO "TYPE" ("TYPE *dest, TYPE value") FETCHED;
    "add" = "add" "8" OLD_AMO of AMO "void" ("TYPE *dest, TYPE value") UPDATED;
}
