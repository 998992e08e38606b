//! Reductions (§9.10.9) and scans (§9.10.10) on teams.

use super::{COLLECTIVE_RESULT, collectives::DONE_HERE};
use crate::{
    arguments::SYMMETRIC_SOURCE,
    model::{Form, Group},
    types::{REDUCE_ARITHMETIC, REDUCE_BITWISE, REDUCE_ORDERED},
};

const REDUCTION: &str = "The i-th element of dest becomes that of the i-th elements of all sources, on all \
                         PEs. dest and source are the same array or do not overlap; all PEs pass the same \
                         ones, and the dest of all is ready to be written before any calls. Floating-point \
                         results may depend on the order.";
const SCAN: &str = "Sums are over the PEs in the order of their numbers, element by element. dest and source \
                    are the same array or do not overlap; all PEs pass the same ones, and the dest of all is \
                    ready to be written before any calls.";

/// Defines the routines, which differ in name, types and the name of a parameter.
macro_rules! reductions {
    ($($name:literal $section:literal $types:ident $count:literal $brief:literal $text:ident see $see:expr;)*) => {
        pub(super) static GROUPS: &[Group] = &[$(Group {
            name: concat!("shmem_", $name),
            section: concat!("9.10.", $section),
            brief: $brief,
            text: $text,
            forms: &[Form::typed(
                $types,
                concat!("shmem_TYPENAME_", $name),
                "int",
                concat!("shmem_team_t team, TYPE *dest, const TYPE *source, size_t ", $count),
            )
            .generic(concat!("shmem_", $name))],
            arguments: SYMMETRIC_SOURCE,
            completion: DONE_HERE,
            returns: COLLECTIVE_RESULT,
            rust: Some(concat!("Team::", $name)),
            see: $see,
        }),*];
    };
}

reductions! {
    "and_reduce" "9.1" REDUCE_BITWISE "nreduce" "gives all PEs of a team the bitwise and of their data" REDUCTION
        see &["shmem_or_reduce", "shmem_xor_reduce"];
    "or_reduce" "9.2" REDUCE_BITWISE "nreduce" "gives all PEs of a team the bitwise or of their data" REDUCTION
        see &["shmem_and_reduce", "shmem_xor_reduce"];
    "xor_reduce" "9.3" REDUCE_BITWISE "nreduce" "gives all PEs of a team the bitwise exclusive or of their data"
        REDUCTION see &["shmem_and_reduce", "shmem_or_reduce"];
    "max_reduce" "9.4" REDUCE_ORDERED "nreduce" "gives all PEs of a team the greatest of their values" REDUCTION
        see &["shmem_min_reduce", "shmem_sum_reduce"];
    "min_reduce" "9.5" REDUCE_ORDERED "nreduce" "gives all PEs of a team the least of their values" REDUCTION
        see &["shmem_max_reduce", "shmem_sum_reduce"];
    "sum_reduce" "9.6" REDUCE_ARITHMETIC "nreduce" "gives all PEs of a team the sum of their values" REDUCTION
        see &["shmem_prod_reduce", "shmem_sum_inscan", "shmem_sum_exscan"];
    "prod_reduce" "9.7" REDUCE_ARITHMETIC "nreduce" "gives all PEs of a team the product of their values" REDUCTION
        see &["shmem_sum_reduce"];
    "sum_inscan" "10" REDUCE_ARITHMETIC "nelems" "gives each PE of a team the sum of the values up to its own" SCAN
        see &["shmem_sum_exscan", "shmem_sum_reduce"];
    "sum_exscan" "10" REDUCE_ARITHMETIC "nelems" "gives each PE of a team the sum of the values before its own" SCAN
        see &["shmem_sum_inscan", "shmem_sum_reduce"];
}
