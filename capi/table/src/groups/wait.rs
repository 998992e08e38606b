//! Point-to-point synchronization (§9.11).

use super::BASE;
use crate::{
    arguments::SIGNAL_READ,
    model::{Form, Group, Status},
    types::{AMO, OLD_AMO, OLD_WAIT_SHORT, WAIT_SHORT},
};

const BLOCKS: &str = "Blocks until the condition holds; the update that made it hold is complete then.";
const LOOKS: &str = "At once. Where the condition holds, the update that made it hold is complete.";
const SET: &str = "Where status is not null, variables with a nonzero element there are left out. ivars, \
                   indices and status must not overlap.";
const OLD_TYPES: &str = "an int or a longer type";

/// Defines what waits for, or tests, several variables: with the section, what it returns, the
/// parameters that differ, when it is complete, what it does, and which others do the like.
macro_rules! set {
    ($name:literal $section:literal: $returns:literal ($indices:literal $values:literal) $completion:ident,
     $brief:literal, $result:literal, see $one:literal $two:literal) => {
        Group {
            name: concat!("shmem_", $name),
            section: concat!("9.11.", $section),
            brief: $brief,
            text: SET,
            forms: &[
                Form::typed(
                    AMO,
                    concat!("shmem_TYPENAME_", $name),
                    $returns,
                    concat!(
                        "TYPE *ivars, size_t nelems, ",
                        $indices,
                        "const int *status, int cmp, ",
                        $values
                    ),
                )
                .generic(concat!("shmem_", $name)),
                Form::typed(
                    WAIT_SHORT,
                    concat!("shmem_TYPENAME_", $name),
                    $returns,
                    concat!(
                        "TYPE *ivars, size_t nelems, ",
                        $indices,
                        "const int *status, int cmp, ",
                        $values
                    ),
                )
                .generic(concat!("shmem_", $name))
                .status(Status::Elsewhere),
            ],
            completion: $completion,
            returns: $result,
            rust: Some(concat!("WaitSet::", $name)),
            see: &[concat!("shmem_", $one), concat!("shmem_", $two)],
            ..BASE
        }
    };
}

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_wait_until",
        section: "9.11.1",
        brief: "waits until a variable compares to a value",
        text: "Another PE, or a thread of this one, updates the variable by an atomic or a put. The function \
               without a type in its name, which is the one for long, is deprecated.",
        forms: &[
            Form::typed(AMO, "shmem_TYPENAME_wait_until", "void", "TYPE *ivar, int cmp, TYPE cmp_value")
                .generic("shmem_wait_until"),
            Form::once("shmem_wait_until", "void", "long *ivar, int cmp, long cmp_value")
                .deprecated("1.4", "shmem_long_wait_until"),
        ],
        completion: BLOCKS,
        rust: Some("Wait::wait_until"),
        see: &["shmem_test", "shmem_wait_until_all", "shmem_wait_until_any", "shmem_signal_wait_until"],
        ..BASE
    },
    set! {
        "wait_until_all" "2": "void" ("" "TYPE cmp_value") BLOCKS,
        "waits until all of several variables compare to a value",
        "Nothing. It returns at once if no variable takes part.",
        see "wait_until_all_vector" "test_all"
    },
    set! {
        "wait_until_any" "3": "size_t" ("" "TYPE cmp_value") BLOCKS,
        "waits until one of several variables compares to a value",
        "The index of a variable that does, or SIZE_MAX if no variable takes part.",
        see "wait_until_any_vector" "test_any"
    },
    set! {
        "wait_until_some" "4": "size_t" ("size_t *indices, " "TYPE cmp_value") BLOCKS,
        "waits until one or more of several variables compare to a value",
        "How many do, their indices being in indices in any order; 0 if no variable takes part.",
        see "wait_until_some_vector" "test_some"
    },
    set! {
        "wait_until_all_vector" "5": "void" ("" "const TYPE *cmp_values") BLOCKS,
        "waits until all of several variables compare to their values",
        "Nothing. It returns at once if no variable takes part.",
        see "wait_until_all" "test_all_vector"
    },
    set! {
        "wait_until_any_vector" "6": "size_t" ("" "const TYPE *cmp_values") BLOCKS,
        "waits until one of several variables compares to its value",
        "The index of a variable that does, or SIZE_MAX if no variable takes part.",
        see "wait_until_any" "test_any_vector"
    },
    set! {
        "wait_until_some_vector" "7": "size_t" ("size_t *indices, " "const TYPE *cmp_values") BLOCKS,
        "waits until one or more of several variables compare to their values",
        "How many do, their indices being in indices in any order; 0 if no variable takes part.",
        see "wait_until_some" "test_some_vector"
    },
    Group {
        name: "shmem_test",
        section: "9.11.8",
        brief: "tells whether a variable compares to a value",
        forms: &[Form::typed(AMO, "shmem_TYPENAME_test", "int", "TYPE *ivar, int cmp, TYPE cmp_value")
            .generic("shmem_test")],
        completion: LOOKS,
        returns: "1 if it does, else 0.",
        rust: Some("Wait::test"),
        see: &["shmem_wait_until", "shmem_test_all", "shmem_test_any"],
        ..BASE
    },
    set! {
        "test_all" "9": "int" ("" "TYPE cmp_value") LOOKS,
        "tells whether all of several variables compare to a value",
        "1 if all do or no variable takes part, else 0.",
        see "test_all_vector" "wait_until_all"
    },
    set! {
        "test_any" "10": "size_t" ("" "TYPE cmp_value") LOOKS,
        "finds one of several variables that compares to a value",
        "The index of a variable that does, or SIZE_MAX if none does or none takes part.",
        see "test_any_vector" "wait_until_any"
    },
    set! {
        "test_some" "11": "size_t" ("size_t *indices, " "TYPE cmp_value") LOOKS,
        "finds those of several variables that compare to a value",
        "How many do, their indices being in indices in any order; 0 if none does or none takes part.",
        see "test_some_vector" "wait_until_some"
    },
    set! {
        "test_all_vector" "12": "int" ("" "const TYPE *cmp_values") LOOKS,
        "tells whether all of several variables compare to their values",
        "1 if all do or no variable takes part, else 0.",
        see "test_all" "wait_until_all_vector"
    },
    set! {
        "test_any_vector" "13": "size_t" ("" "const TYPE *cmp_values") LOOKS,
        "finds one of several variables that compares to its value",
        "The index of a variable that does, or SIZE_MAX if none does or none takes part.",
        see "test_any" "wait_until_any_vector"
    },
    set! {
        "test_some_vector" "14": "size_t" ("size_t *indices, " "const TYPE *cmp_values") LOOKS,
        "finds those of several variables that compare to their values",
        "How many do, their indices being in indices in any order; 0 if none does or none takes part.",
        see "test_some" "wait_until_some_vector"
    },
    Group {
        name: "shmem_signal_wait_until",
        section: "9.11.15",
        brief: "waits until this PE's signal compares to a value",
        text: "Only signal operations may update it meanwhile. The data of the put that set it is complete \
               then.",
        forms: &[Form::once(
            "shmem_signal_wait_until",
            "uint64_t",
            "uint64_t *sig_addr, int cmp, uint64_t cmp_value",
        )],
        arguments: SIGNAL_READ,
        completion: BLOCKS,
        returns: "The signal that satisfied the condition.",
        rust: Some("Wait::wait_until"),
        see: &["shmem_put_signal", "shmem_signal_fetch", "shmem_wait_until"],
    },
    Group {
        name: "shmem_short_wait_until",
        section: "9.11.1",
        brief: "waits until a short variable compares to a value",
        text: "The routine named wait waits until the variable is another than the value.",
        forms: &[
            Form::typed(
                WAIT_SHORT,
                "shmem_TYPENAME_wait_until",
                "void",
                "TYPE *ivar, int cmp, TYPE cmp_value",
            )
            .generic("shmem_wait_until")
            .deprecated("1.5", OLD_TYPES),
            Form::typed(OLD_WAIT_SHORT, "shmem_TYPENAME_wait", "void", "TYPE *ivar, TYPE cmp_value")
                .deprecated("1.4", OLD_TYPES),
        ],
        completion: BLOCKS,
        rust: Some("Wait::wait_until"),
        see: &["shmem_wait_until", "shmem_short_test"],
        ..BASE
    },
    Group {
        name: "shmem_short_test",
        section: "9.11.8",
        brief: "tells whether a short variable compares to a value",
        forms: &[Form::typed(
            WAIT_SHORT,
            "shmem_TYPENAME_test",
            "int",
            "TYPE *ivar, int cmp, TYPE cmp_value",
        )
        .generic("shmem_test")
        .deprecated("1.5", OLD_TYPES)],
        completion: LOOKS,
        returns: "1 if it does, else 0.",
        rust: Some("Wait::test"),
        see: &["shmem_test", "shmem_short_wait_until"],
        ..BASE
    },
    Group {
        name: "shmem_wait",
        section: "9.11.1",
        brief: "waits until a variable is another than a value",
        text: "It is shmem_wait_until with SHMEM_CMP_NE.",
        forms: &[
            Form::once("shmem_wait", "void", "long *ivar, long cmp_value")
                .deprecated("1.4", "shmem_wait_until"),
            Form::typed(OLD_AMO, "shmem_TYPENAME_wait", "void", "TYPE *ivar, TYPE cmp_value")
                .deprecated("1.4", "shmem_wait_until"),
        ],
        completion: BLOCKS,
        rust: Some("Wait::wait_until"),
        see: &["shmem_wait_until"],
        ..BASE
    },
];
