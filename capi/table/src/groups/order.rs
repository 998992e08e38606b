//! Ordering (§9.12), locks (§9.13), profiling (§10), and phases of programs.

use super::BASE;
use crate::{
    arguments::PHASE_NAME,
    model::{Form, Group, Status},
};

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_fence",
        section: "9.12.1",
        brief: "orders what this PE sends to each PE",
        text: "Puts, atomics, puts with signal and memory stores issued before it on the context arrive at a \
               PE before those issued after it. Fetched values of nonblocking atomics are not ordered, nor \
               are gets.",
        forms: &[Form::once("shmem_fence", "void", "void").ctx()],
        completion: "Order only: nothing need be complete.",
        rust: Some("Context::fence"),
        see: &["shmem_quiet", "shmem_pe_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_quiet",
        section: "9.12.2",
        brief: "completes all operations of a context",
        text: "Memory stores count too, unless the context has SHMEM_CTX_NOSTORE. SHMEM_CTX_INVALID does \
               nothing.",
        forms: &[Form::once("shmem_quiet", "void", "void").ctx()],
        completion: "Remote: all operations issued before it are complete and visible to all PEs.",
        rust: Some("Context::quiet"),
        see: &["shmem_pe_quiet", "shmem_fence", "shmem_barrier_all"],
        ..BASE
    },
    Group {
        name: "shmem_pe_quiet",
        section: "9.12.3",
        brief: "completes a context's operations to certain PEs",
        forms: &[Form::once("shmem_pe_quiet", "void", "const int *target_pes, size_t npes").ctx()],
        completion: "Remote: all operations issued to these PEs before it are complete and visible to all PEs.",
        rust: Some("Context::pe_quiet"),
        see: &["shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_set_lock",
        section: "9.13.1",
        brief: "takes a lock, waiting for it",
        text: "PEs get it in the order in which they came. The one that holds it must not take it again.",
        forms: &[Form::once("shmem_set_lock", "void", "long *lock")],
        completion: "Blocks until this PE holds the lock.",
        rust: Some("Lock::set"),
        see: &["shmem_clear_lock", "shmem_test_lock"],
        ..BASE
    },
    Group {
        name: "shmem_clear_lock",
        section: "9.13.1",
        brief: "gives a lock back",
        text: "Only the PE that holds it may.",
        forms: &[Form::once("shmem_clear_lock", "void", "long *lock")],
        completion: "Remote: a quiet on the default context comes first, so the next holder sees what was done.",
        rust: Some("Lock::clear"),
        see: &["shmem_set_lock", "shmem_test_lock"],
        ..BASE
    },
    Group {
        name: "shmem_test_lock",
        section: "9.13.1",
        brief: "takes a lock if it is free",
        forms: &[Form::once("shmem_test_lock", "int", "long *lock")],
        completion: "Does not wait for the lock.",
        returns: "0 if this PE holds the lock now, 1 if another did.",
        rust: Some("Lock::test"),
        see: &["shmem_set_lock", "shmem_clear_lock"],
        ..BASE
    },
    Group {
        name: "shmem_pcontrol",
        section: "10.1.1",
        brief: "controls a profiler",
        text: "Where SHMEM_TRACE has this PE recorded, a level of 0 or less switches the recording off, 1 \
               switches it on, and 2 has what it holds written to its disk as well. Other levels, and jobs that \
               are not recorded, are left as they are. A profiling tool that replaces the routine may do more.",
        forms: &[Form::once("shmem_pcontrol", "void", "int level, ...")],
        rust: Some("World::tracing"),
        see: &["shmem_init", "shmemx_phase"],
        ..BASE
    },
    Group {
        name: "shmemx_phase",
        section: "recordings",
        brief: "begins a phase of the program",
        text: "From this call on, what this PE does is a part of the phase, until it begins the next one. The table of all PEs \
               that oshrun prints, as of a job that hangs, has the phase of each PE, and so has oshtop. A recording of the job \
               (SHMEM_TRACE, oshrun --trace) has the phases, and its report the time, waits and operations of each. Any thread may \
               call it, and each PE for itself. A name may come again, as in loops. The recording of a PE holds 48 names. All \
               further ones count as the phase \"others\". Calls before shmem_init or after shmem_finalize do nothing.",
        forms: &[Form::once("shmemx_phase", "void", "const char *name").status(Status::Kinds)],
        arguments: PHASE_NAME,
        rust: Some("World::phase"),
        see: &["shmem_pcontrol"],
        ..BASE
    },
];
