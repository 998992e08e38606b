//! Remote memory access (§9.6).

use super::BASE;
use crate::{
    arguments::GET,
    model::{Form, Group},
    types::RMA,
};

const PUT: &str = "Local: source may be reused. The data arrives later; shmem_quiet completes it.";
const FETCHED: &str = "Complete: the data is in dest.";
const NOTHING_YET: &str = "None: source must stay as it is until shmem_quiet, which completes the put.";
const NOTHING_THERE: &str = "None: dest holds the data after shmem_quiet.";

const BLOCK: &str = "TYPE *dest, const TYPE *source, size_t nelems, int pe";
const BYTES: &str = "void *dest, const void *source, size_t nelems, int pe";
const STRIDED: &str = "TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe";
const STRIDED_SIZE: &str =
    "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe";
const BLOCKS: &str =
    "TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe";
const BLOCKS_SIZE: &str =
    "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe";

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_put",
        section: "9.6.1.1",
        brief: "copies data to another PE",
        text: "The data may arrive in any order, and so may that of two puts, unless a shmem_fence is \
               between them.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_put", "void", BLOCK).ctx().generic("shmem_put"),
            Form::sized("shmem_putSIZE", "void", BYTES).ctx(),
            Form::once("shmem_putmem", "void", BYTES).ctx(),
        ],
        completion: PUT,
        rust: Some("Context::put"),
        see: &["shmem_p", "shmem_iput", "shmem_put_nbi", "shmem_put_signal", "shmem_get", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_p",
        section: "9.6.1.2",
        brief: "stores one value on another PE",
        forms: &[Form::typed(RMA, "shmem_TYPENAME_p", "void", "TYPE *dest, TYPE value, int pe")
            .ctx()
            .generic("shmem_p")],
        completion: "Local: the value has been taken. It arrives later; shmem_quiet completes it.",
        rust: Some("Context::p"),
        see: &["shmem_put", "shmem_g", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_iput",
        section: "9.6.1.3",
        brief: "copies strided elements to another PE",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_iput", "void", STRIDED).ctx().generic("shmem_iput"),
            Form::sized("shmem_iputSIZE", "void", STRIDED_SIZE).ctx(),
        ],
        completion: PUT,
        rust: Some("Context::iput"),
        see: &["shmem_put", "shmem_ibput", "shmem_iget", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_ibput",
        section: "9.6.1.4",
        brief: "copies strided blocks to another PE",
        text: "Neither stride may be less than bsize. With a bsize of 1 it is shmem_iput.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_ibput", "void", BLOCKS).ctx().generic("shmem_ibput"),
            Form::sized("shmem_ibputSIZE", "void", BLOCKS_SIZE).ctx(),
        ],
        completion: PUT,
        rust: Some("Context::ibput"),
        see: &["shmem_put", "shmem_iput", "shmem_ibget", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_get",
        section: "9.6.1.5",
        brief: "copies data from another PE",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_get", "void", BLOCK).ctx().generic("shmem_get"),
            Form::sized("shmem_getSIZE", "void", BYTES).ctx(),
            Form::once("shmem_getmem", "void", BYTES).ctx(),
        ],
        arguments: GET,
        completion: FETCHED,
        rust: Some("Context::get_into"),
        see: &["shmem_g", "shmem_iget", "shmem_get_nbi", "shmem_put"],
        ..BASE
    },
    Group {
        name: "shmem_g",
        section: "9.6.1.6",
        brief: "fetches one value from another PE",
        forms: &[Form::typed(RMA, "shmem_TYPENAME_g", "TYPE", "const TYPE *source, int pe")
            .ctx()
            .generic("shmem_g")],
        arguments: GET,
        completion: "Complete: the value is here.",
        returns: "The value.",
        rust: Some("Context::g"),
        see: &["shmem_get", "shmem_p"],
        ..BASE
    },
    Group {
        name: "shmem_iget",
        section: "9.6.1.7",
        brief: "copies strided elements from another PE",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_iget", "void", STRIDED).ctx().generic("shmem_iget"),
            Form::sized("shmem_igetSIZE", "void", STRIDED_SIZE).ctx(),
        ],
        arguments: GET,
        completion: FETCHED,
        rust: Some("Context::iget"),
        see: &["shmem_get", "shmem_ibget", "shmem_iput"],
        ..BASE
    },
    Group {
        name: "shmem_ibget",
        section: "9.6.1.8",
        brief: "copies strided blocks from another PE",
        text: "Neither stride may be less than bsize. With a bsize of 1 it is shmem_iget.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_ibget", "void", BLOCKS).ctx().generic("shmem_ibget"),
            Form::sized("shmem_ibgetSIZE", "void", BLOCKS_SIZE).ctx(),
        ],
        arguments: GET,
        completion: FETCHED,
        rust: Some("Context::ibget"),
        see: &["shmem_get", "shmem_iget", "shmem_ibput"],
        ..BASE
    },
    Group {
        name: "shmem_put_nbi",
        section: "9.6.2.1",
        brief: "begins to copy data to another PE",
        text: "The data may arrive in any order, and so may that of two puts, unless a shmem_fence is \
               between them.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_put_nbi", "void", BLOCK).ctx().generic("shmem_put_nbi"),
            Form::sized("shmem_putSIZE_nbi", "void", BYTES).ctx(),
            Form::once("shmem_putmem_nbi", "void", BYTES).ctx(),
        ],
        completion: NOTHING_YET,
        rust: Some("Context::put_nbi"),
        see: &["shmem_put", "shmem_get_nbi", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_get_nbi",
        section: "9.6.2.2",
        brief: "begins to copy data from another PE",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_get_nbi", "void", BLOCK).ctx().generic("shmem_get_nbi"),
            Form::sized("shmem_getSIZE_nbi", "void", BYTES).ctx(),
            Form::once("shmem_getmem_nbi", "void", BYTES).ctx(),
        ],
        arguments: GET,
        completion: NOTHING_THERE,
        rust: Some("Context::get_nbi"),
        see: &["shmem_get", "shmem_put_nbi", "shmem_quiet"],
        ..BASE
    },
];
