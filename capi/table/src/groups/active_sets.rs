//! Collectives on active sets, all deprecated since OpenSHMEM 1.5 (§9.10).
//!
//! In Rust an active set is a team that is split: `Team::split_strided`.

use super::BASE;
use crate::{
    arguments::SYMMETRIC_SOURCE,
    model::{Form, Group},
    types::{TO_ALL_ARITHMETIC, TO_ALL_BITWISE, TO_ALL_ORDERED},
};

const DONE_HERE: &str = "Collective on the active set: on return dest holds this PE's result, source may be \
                         reused, and pSync is restored.";
const SET: &str = "All PEs of the active set, and no others, call it, and pass the same arguments. A pSync \
                   may be reused only when all PEs have returned.";

const BLOCK: &str = "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int \
                     PE_size, long *pSync";
const STRIDED: &str = "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int \
                       PE_start, int logPE_stride, int PE_size, long *pSync";
const ROOT: &str = "void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int \
                    logPE_stride, int PE_size, long *pSync";
const SYNC: &str = "int PE_start, int logPE_stride, int PE_size, long *pSync";

/// Defines the reductions, which differ in name and types.
macro_rules! to_all {
    ($name:literal, $section:literal, $types:ident, $brief:literal) => {
        Group {
            name: concat!("shmem_", $name, "_to_all"),
            section: concat!("9.10.9.", $section),
            brief: $brief,
            text: SET,
            forms: &[Form::typed(
                $types,
                concat!("shmem_TYPENAME_", $name, "_to_all"),
                "void",
                "TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride, int PE_size, \
                 TYPE *pWrk, long *pSync",
            )
            .deprecated("1.5", concat!("shmem_", $name, "_reduce"))],
            arguments: SYMMETRIC_SOURCE,
            completion: DONE_HERE,
            rust: Some(concat!("Team::split_strided, then Team::", $name, "_reduce")),
            see: &[concat!("shmem_", $name, "_reduce")],
            ..BASE
        }
    };
}

/// Defines the others with data.
macro_rules! collective {
    ($name:literal, $section:literal, $parameters:ident, $text:expr, $brief:literal) => {
        Group {
            name: concat!("shmem_", $name, "32"),
            section: concat!("9.10.", $section),
            brief: $brief,
            text: $text,
            forms: &[Form::words(concat!("shmem_", $name, "SIZE"), $parameters)
                .deprecated("1.5", concat!("shmem_", $name))],
            arguments: SYMMETRIC_SOURCE,
            completion: DONE_HERE,
            rust: Some(concat!("Team::", $name)),
            see: &[concat!("shmem_", $name)],
            ..BASE
        }
    };
}

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_barrier",
        section: "9.10.2",
        brief: "waits until all PEs of an active set have come, and completes their updates",
        text: "All PEs of the active set, and no others, call it, and pass the same arguments. The next call \
               on the same active set may use the same pSync.",
        forms: &[
            Form::once("shmem_barrier", "void", SYNC).deprecated("1.5", "shmem_quiet and shmem_team_sync")
        ],
        completion: "Collective on the active set, and remote: what its PEs issued on the default context is \
                     complete.",
        rust: Some("Team::split_strided, then Context::quiet and Team::sync"),
        see: &["shmem_barrier_all", "shmem_quiet", "shmem_team_sync"],
        ..BASE
    },
    Group {
        name: "shmem_sync",
        section: "9.10.3",
        brief: "waits until all PEs of an active set have come",
        text: "All PEs of the active set, and no others, call it, and pass the same arguments. The next call \
               on the same active set may use the same pSync. In C11 and C++ shmem_sync with a team is \
               shmem_team_sync.",
        forms: &[Form::once("shmem_sync", "void", SYNC)
            .generic("shmem_sync")
            .deprecated("1.5", "shmem_team_sync")],
        completion: "Collective on the active set. Memory stores are visible; operations of routines are not \
                     completed.",
        rust: Some("Team::split_strided, then Team::sync"),
        see: &["shmem_team_sync", "shmem_sync_all"],
        ..BASE
    },
    collective!("alltoall", "5", BLOCK, SET, "gives each PE of an active set its block of every PE's data"),
    collective!(
        "alltoalls",
        "6",
        STRIDED,
        SET,
        "gives each PE of an active set its strided block of every PE's data"
    ),
    collective!(
        "broadcast",
        "7",
        ROOT,
        "All PEs of the active set, and no others, call it, and pass the same arguments. The root, whose \
         number counts from PE_start, does not write its own dest. A pSync may be reused only when all PEs \
         have returned.",
        "gives all PEs of an active set the data of one"
    ),
    collective!(
        "collect",
        "8",
        BLOCK,
        "All PEs of the active set, and no others, call it, and pass the same arguments but for nelems. A \
         pSync may be reused only when all PEs have returned.",
        "joins the data of all PEs of an active set on each of them"
    ),
    collective!(
        "fcollect",
        "8",
        BLOCK,
        SET,
        "joins as much data of all PEs of an active set on each of them"
    ),
    to_all!("and", "1", TO_ALL_BITWISE, "gives all PEs of an active set the bitwise and of their data"),
    to_all!("or", "2", TO_ALL_BITWISE, "gives all PEs of an active set the bitwise or of their data"),
    to_all!(
        "xor",
        "3",
        TO_ALL_BITWISE,
        "gives all PEs of an active set the bitwise exclusive or of their data"
    ),
    to_all!("max", "4", TO_ALL_ORDERED, "gives all PEs of an active set the greatest of their values"),
    to_all!("min", "5", TO_ALL_ORDERED, "gives all PEs of an active set the least of their values"),
    to_all!("sum", "6", TO_ALL_ARITHMETIC, "gives all PEs of an active set the sum of their values"),
    to_all!("prod", "7", TO_ALL_ARITHMETIC, "gives all PEs of an active set the product of their values"),
];
