//! Communication between two PEs (`OpenSHMEM 1.6 §9.6` to `§9.8`, `§9.11` to `§9.13`): every
//! routine for every type.

mod common;

use common::{Program, passes_in_cxx_too};

/// Runs a program as C, as C99, where there are no generic forms, and as C++, where these are
/// overloads.
fn passes_in_every_language(source: &str) {
    passes_in_cxx_too(source);
    Program::with(source, &["-std=c99", "-D_DEFAULT_SOURCE"]).run(2).passed(2);
}

#[test]
fn puts_and_gets() {
    passes_in_every_language("rma.c");
}

#[test]
fn atomic_operations() {
    passes_in_every_language("amo.c");
}

#[test]
fn signals() {
    passes_in_every_language("signal.c");
}

#[test]
fn waits_and_tests() {
    passes_in_every_language("wait.c");
}

#[test]
fn fence_and_quiet() {
    passes_in_every_language("order.c");
}

#[test]
fn locks() {
    passes_in_every_language("lock.c");
}

#[test]
fn overloads_in_templates_and_threads() {
    let program = Program::with("amo_rma_signal.cpp", &["-std=c++11", "-pthread"]);
    program.passes();
    Program::with("amo_rma_signal.cpp", &["-std=c++20", "-pthread"]).run(3).passed(3);
}

#[test]
fn contexts_and_threads() {
    Program::with("threads.c", &["-pthread"]).passes();
}

#[test]
fn a_blocked_thread_stops_no_other() {
    Program::with("blocked.c", &["-pthread"]).passes();
}

/// Which call of `point_to_point_errors.c`, and what the line says that ends the job of two PEs.
const ERRORS: &[(&str, &[&str])] = &[
    ("amo pe", &["PE 1: shmem_long_atomic_add: pe = 2 is out of range: there are 2 PEs"]),
    ("amo negative pe", &["shmem_long_atomic_fetch_inc: pe = -1 is out of range"]),
    ("amo ctx pe", &["shmem_ctx_long_atomic_swap: pe = 7 is out of range"]),
    ("amo null", &["shmem_long_atomic_set: dest is null"]),
    ("amo stack", &["shmem_long_atomic_compare_swap: dest = 0x", "is not symmetric"]),
    ("amo source", &["shmem_int_atomic_fetch: source = 0x", "is not symmetric"]),
    ("amo odd", &["shmem_long_atomic_inc: dest = 0x", "is not aligned to 8 bytes"]),
    ("amo fetch null", &["shmem_long_atomic_fetch_add_nbi: fetch is null"]),
    ("amo invalid ctx", &["shmem_ctx_long_atomic_inc: ctx is SHMEM_CTX_INVALID"]),
    ("old amo pe", &["shmem_int_finc: pe = 2 is out of range"]),
    ("p longdouble pe", &["shmem_longdouble_p: pe = 2 is out of range"]),
    ("g longdouble odd", &["shmem_longdouble_g: source = 0x", "is not aligned to 16 bytes"]),
    ("p longdouble ctx", &["shmem_ctx_longdouble_p: ctx is SHMEM_CTX_INVALID"]),
    ("put too long", &["shmem_putmem: dest = 0x", "not all of the 1099511627776 bytes"]),
    ("put elements", &["shmem_long_put: nelems = 4611686018427387904"]),
    ("sig_op", &["shmem_putmem_signal: sig_op = 3 is neither"]),
    ("sig_op nbi", &["shmem_long_put_signal_nbi: sig_op = 0 is neither"]),
    ("sig_addr", &["shmem_putmem_signal: sig_addr = 0x", "is not symmetric"]),
    ("sig_addr odd", &["shmem_signal_add: sig_addr = 0x", "is not aligned to 8 bytes"]),
    ("signal null", &["shmem_signal_set: sig_addr is null"]),
    ("signal pe", &["shmem_signal_set: pe = 2 is out of range"]),
    ("signal fetch", &["shmem_signal_fetch: sig_addr = 0x", "is not symmetric"]),
    ("signal dest", &["shmem_put32_signal: dest = 0x", "is not symmetric"]),
    ("signal source", &["shmem_put32_signal: source is null"]),
    ("put_signal pe", &["shmem_int_put_signal: pe = -7 is out of range"]),
    ("cmp", &["shmem_long_wait_until: cmp = 0 is none of"]),
    ("cmp test", &["shmem_long_test: cmp = 7 is none of"]),
    ("cmp signal", &["shmem_signal_wait_until: cmp = -1 is none of"]),
    ("cmp set", &["shmem_long_test_any: cmp = 9 is none of"]),
    ("wait stack", &["shmem_long_wait_until: ivar = 0x", "is not symmetric"]),
    ("wait odd", &["shmem_short_wait_until: ivar = 0x", "is not aligned to 2 bytes"]),
    ("wait null", &["shmem_int_wait: ivar is null"]),
    ("ivars", &["shmem_long_wait_until_all: ivars = 0x", "is not symmetric"]),
    ("ivars end", &["shmem_long_wait_until_all: ivars = 0x", "not all of the 8796093022208 bytes"]),
    ("values null", &["shmem_long_test_all_vector: cmp_values is null"]),
    ("values odd", &["shmem_long_test_all_vector: cmp_values = 0x", "is not aligned to 8 bytes"]),
    ("indices null", &["shmem_long_test_some: indices is null"]),
    ("status odd", &["shmem_long_test_some: status = 0x", "is not aligned to 4 bytes"]),
    ("pe_quiet", &["shmem_pe_quiet: target_pes has 2, which is out of range"]),
    ("pe_quiet null", &["shmem_pe_quiet: target_pes is null"]),
    ("lock stack", &["shmem_set_lock: lock = 0x", "is not symmetric"]),
    ("lock null", &["shmem_test_lock: lock is null"]),
    ("lock not held", &["PE 1: shmem_clear_lock: lock = 0x", "is not held by this PE"]),
    ("fence ctx", &["shmem_ctx_fence: ctx = 0x7 is no context"]),
    ("after finalize", &["shmem_long_p: was called after shmem_finalize"]),
    ("test after finalize", &["shmem_long_test: was called after shmem_finalize"]),
    ("before init", &["shmem_long_atomic_add: was called before shmem_init"]),
    ("wait before init", &["shmem_long_wait_until: was called before shmem_init"]),
    ("quiet before init", &["shmem_quiet: was called before shmem_init"]),
];

#[test]
fn a_call_that_cannot_be_meant_ends_the_job_with_a_line_that_names_it() {
    let program = Program::new("point_to_point_errors.c");
    for (which, parts) in ERRORS {
        program.job(2, &[], &[which]).failed_with(parts);
    }
}
