//! Operations and collectives in the order of CUDA streams.

use super::{BASE, COLLECTIVE_RESULT};
use crate::{
    arguments::SYMMETRIC_SOURCE,
    model::{Form, Group, Status},
    types::{REDUCE_ARITHMETIC, REDUCE_BITWISE, REDUCE_ORDERED, RMA},
};

const CHAPTER: &str = "GPU programs";
const IN_ORDER: &str = "In the order of the stream: the call returns at once. What the stream is given afterwards finds it done.";
const COLLECTIVE: &str = "Collective on the team, in the order of the calls, and in the order of the stream: the call returns at once. \
                          What the stream is given afterwards finds dest filled.";
const STREAM: &str = "The stream must be of the primary context of the PE's device. In a capture it becomes a part of the graph if \
                      dest and source, and the signal, are device memory that this PE's device reaches; otherwise that ends the job.";
const NOT_CAPTURED: &str =
    "The stream must be of the primary context of the PE's device, and not be captured into a graph.";

const TYPED: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, void *stream";
const BYTES: &str = "shmem_team_t team, void *dest, const void *source, size_t nelems, void *stream";
const TYPED_STRIDED: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, void *stream";
const BYTES_STRIDED: &str = "shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, void *stream";
const TYPED_ROOT: &str =
    "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root, void *stream";
const BYTES_ROOT: &str =
    "shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root, void *stream";

const fn once(name: &'static str, returns: &'static str, parameters: &'static str) -> Form {
    Form::once(name, returns, parameters).status(Status::Kinds)
}

/// An operation that returns nothing.
macro_rules! operation {
    ($name:literal, $brief:literal, $parameters:literal, $rust:literal, see $see:expr) => {
        Group {
            name: $name,
            section: CHAPTER,
            brief: $brief,
            text: STREAM,
            forms: &[once($name, "void", $parameters)],
            completion: IN_ORDER,
            rust: Some($rust),
            see: $see,
            ..BASE
        }
    };
}

/// A collective that moves data.
macro_rules! collective {
    ($name:literal, $brief:literal, $typed:ident, $bytes:ident) => {
        Group {
            name: concat!("shmemx_", $name, "_on_stream"),
            section: CHAPTER,
            brief: $brief,
            text: NOT_CAPTURED,
            forms: &[
                Form::typed(RMA, concat!("shmemx_TYPENAME_", $name, "_on_stream"), "int", $typed)
                    .status(Status::Kinds),
                once(concat!("shmemx_", $name, "mem_on_stream"), "int", $bytes),
            ],
            arguments: SYMMETRIC_SOURCE,
            completion: COLLECTIVE,
            returns: COLLECTIVE_RESULT,
            rust: Some("Team::on_stream"),
            see: &[concat!("shmem_", $name), "shmemx_barrier_all_on_stream"],
        }
    };
}

/// A reduction or a scan.
macro_rules! reduction {
    ($name:literal, $types:ident, $count:literal, $brief:literal) => {
        Group {
            name: concat!("shmemx_", $name, "_on_stream"),
            section: CHAPTER,
            brief: $brief,
            text: NOT_CAPTURED,
            forms: &[Form::typed(
                $types,
                concat!("shmemx_TYPENAME_", $name, "_on_stream"),
                "int",
                concat!(
                    "shmem_team_t team, TYPE *dest, const TYPE *source, size_t ",
                    $count,
                    ", void *stream"
                ),
            )
            .status(Status::Kinds)],
            arguments: SYMMETRIC_SOURCE,
            completion: COLLECTIVE,
            returns: COLLECTIVE_RESULT,
            rust: Some("Team::on_stream"),
            see: &[concat!("shmem_", $name), "shmemx_barrier_all_on_stream"],
        }
    };
}

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmemx_gpu_device",
        section: CHAPTER,
        brief: "gives the number of the PE's device",
        text: "It is the number that cudaSetDevice takes. PEs of a host take the devices that they see in turn.",
        forms: &[once("shmemx_gpu_device", "int", "void")],
        returns: "The number, or -1 if the PE has no CUDA device.",
        rust: Some("Gpu::ordinal"),
        see: &["shmemx_putmem_on_stream", "shmem_space_malloc"],
        ..BASE
    },
    operation!(
        "shmemx_putmem_on_stream",
        "copies bytes to another PE, in the order of a stream",
        "void *dest, const void *source, size_t nelems, int pe, void *stream",
        "OnStream::put",
        see & ["shmemx_getmem_on_stream", "shmemx_putmem_signal_on_stream", "shmem_put"]
    ),
    operation!(
        "shmemx_getmem_on_stream",
        "copies bytes from another PE, in the order of a stream",
        "void *dest, const void *source, size_t nelems, int pe, void *stream",
        "OnStream::get",
        see & ["shmemx_putmem_on_stream", "shmem_get"]
    ),
    operation!(
        "shmemx_putmem_signal_on_stream",
        "copies bytes to another PE, then updates a signal there, in the order of a stream",
        "void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, void *stream",
        "OnStream::put_signal",
        see & ["shmemx_signal_op_on_stream", "shmemx_signal_wait_until_on_stream", "shmem_put_signal"]
    ),
    operation!(
        "shmemx_signal_op_on_stream",
        "updates a signal on another PE, in the order of a stream",
        "uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, void *stream",
        "OnStream::signal",
        see & ["shmemx_signal_wait_until_on_stream", "shmem_signal_set", "shmem_signal_add"]
    ),
    operation!(
        "shmemx_signal_wait_until_on_stream",
        "has a stream wait for this PE's signal",
        "uint64_t *sig_addr, int cmp, uint64_t cmp_value, void *stream",
        "OnStream::wait_until",
        see & ["shmemx_signal_op_on_stream", "shmem_signal_wait_until"]
    ),
    operation!(
        "shmemx_quiet_on_stream",
        "completes the default context's operations, in the order of a stream",
        "void *stream",
        "OnStream::quiet",
        see & ["shmemx_barrier_all_on_stream", "shmem_quiet"]
    ),
    Group {
        name: "shmemx_barrier_all_on_stream",
        section: CHAPTER,
        brief: "has streams of all PEs, or of a team, wait for each other, and completes all updates",
        text: NOT_CAPTURED,
        forms: &[
            once("shmemx_barrier_all_on_stream", "void", "void *stream"),
            once("shmemx_barrier_on_stream", "int", "shmem_team_t team, void *stream"),
        ],
        completion: IN_ORDER,
        returns: COLLECTIVE_RESULT,
        rust: Some("World::barrier_all_on_stream"),
        see: &["shmemx_sync_all_on_stream", "shmem_barrier_all"],
        ..BASE
    },
    Group {
        name: "shmemx_sync_all_on_stream",
        section: CHAPTER,
        brief: "has streams of all PEs, or of a team, wait for each other",
        text: NOT_CAPTURED,
        forms: &[
            once("shmemx_sync_all_on_stream", "void", "void *stream"),
            once("shmemx_team_sync_on_stream", "int", "shmem_team_t team, void *stream"),
        ],
        completion: IN_ORDER,
        returns: COLLECTIVE_RESULT,
        rust: Some("Team::on_stream"),
        see: &["shmemx_barrier_all_on_stream", "shmem_sync_all", "shmem_team_sync"],
        ..BASE
    },
    collective!("alltoall", "shmem_alltoall in the order of a stream", TYPED, BYTES),
    collective!("alltoalls", "shmem_alltoalls in the order of a stream", TYPED_STRIDED, BYTES_STRIDED),
    collective!("broadcast", "shmem_broadcast in the order of a stream", TYPED_ROOT, BYTES_ROOT),
    collective!("collect", "shmem_collect in the order of a stream", TYPED, BYTES),
    collective!("fcollect", "shmem_fcollect in the order of a stream", TYPED, BYTES),
    reduction!("and_reduce", REDUCE_BITWISE, "nreduce", "shmem_and_reduce in the order of a stream"),
    reduction!("or_reduce", REDUCE_BITWISE, "nreduce", "shmem_or_reduce in the order of a stream"),
    reduction!("xor_reduce", REDUCE_BITWISE, "nreduce", "shmem_xor_reduce in the order of a stream"),
    reduction!("max_reduce", REDUCE_ORDERED, "nreduce", "shmem_max_reduce in the order of a stream"),
    reduction!("min_reduce", REDUCE_ORDERED, "nreduce", "shmem_min_reduce in the order of a stream"),
    reduction!("sum_reduce", REDUCE_ARITHMETIC, "nreduce", "shmem_sum_reduce in the order of a stream"),
    reduction!("prod_reduce", REDUCE_ARITHMETIC, "nreduce", "shmem_prod_reduce in the order of a stream"),
    reduction!("sum_inscan", REDUCE_ARITHMETIC, "nelems", "shmem_sum_inscan in the order of a stream"),
    reduction!("sum_exscan", REDUCE_ARITHMETIC, "nelems", "shmem_sum_exscan in the order of a stream"),
];
