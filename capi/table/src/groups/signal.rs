//! Signals (§9.8).

use super::BASE;
use crate::{
    arguments::SIGNAL_READ,
    model::{Form, Group},
    types::RMA,
};

const TYPED: &str =
    "TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe";
const BYTES: &str =
    "void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe";
const SIGNAL: &str = "uint64_t *sig_addr, uint64_t signal, int pe";
const UPDATED: &str = "None at the target: the update may come later; shmem_quiet completes it.";
const ORDER: &str = "A PE that sees the signal sees the data of this put, though not that of earlier ones. dest \
                     and sig_addr must not overlap.";

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_put_signal",
        section: "9.8.3",
        brief: "copies data to another PE and then updates a signal there",
        text: ORDER,
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_put_signal", "void", TYPED).ctx().generic("shmem_put_signal"),
            Form::sized("shmem_putSIZE_signal", "void", BYTES).ctx(),
            Form::once("shmem_putmem_signal", "void", BYTES).ctx(),
        ],
        completion: "Local: source may be reused. Data and signal arrive later; shmem_quiet completes them.",
        rust: Some("Context::put_signal"),
        see: &["shmem_put_signal_nbi", "shmem_signal_wait_until", "shmem_signal_fetch", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_put_signal_nbi",
        section: "9.8.4",
        brief: "begins to copy data to another PE and to update a signal there",
        text: ORDER,
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_put_signal_nbi", "void", TYPED)
                .ctx()
                .generic("shmem_put_signal_nbi"),
            Form::sized("shmem_putSIZE_signal_nbi", "void", BYTES).ctx(),
            Form::once("shmem_putmem_signal_nbi", "void", BYTES).ctx(),
        ],
        completion: "None: source must stay as it is until shmem_quiet, which completes data and signal.",
        rust: Some("Context::put_signal_nbi"),
        see: &["shmem_put_signal", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_signal_add",
        section: "9.8.5",
        brief: "adds to a signal on another PE",
        forms: &[Form::once("shmem_signal_add", "void", SIGNAL).ctx().generic("shmem_signal_add")],
        completion: UPDATED,
        rust: Some("Context::signal_add"),
        see: &["shmem_signal_set", "shmem_signal_wait_until"],
        ..BASE
    },
    Group {
        name: "shmem_signal_fetch",
        section: "9.8.6",
        brief: "reads this PE's signal atomically",
        forms: &[Form::once("shmem_signal_fetch", "uint64_t", "const uint64_t *sig_addr")],
        arguments: SIGNAL_READ,
        returns: "The signal.",
        rust: Some("Context::signal_fetch"),
        see: &["shmem_signal_wait_until"],
        ..BASE
    },
    Group {
        name: "shmem_signal_set",
        section: "9.8.7",
        brief: "sets a signal on another PE",
        forms: &[Form::once("shmem_signal_set", "void", SIGNAL).ctx().generic("shmem_signal_set")],
        completion: UPDATED,
        rust: Some("Context::signal_set"),
        see: &["shmem_signal_add", "shmem_signal_wait_until"],
        ..BASE
    },
];
