//! The heap, teams, contexts and collectives: what conforms, and what ends the job with one line.

mod common;

use common::{Program, passes_in_cxx_too};

/// A test for each program, which runs it with every number of PEs, or also as C++.
macro_rules! programs {
    ($passes:ident: $($name:ident: $source:literal;)*) => {$(
        #[test]
        fn $name() {
            $passes($source);
        }
    )*};
}

fn passes(source: &str) {
    Program::new(source).passes();
}

programs! {
    passes_in_cxx_too:
    blocks_of_the_heap_are_symmetric_aligned_and_reusable: "memory.c";
    a_job_that_is_joined_again_begins_anew: "again.c";
    teams_have_the_pes_that_their_triplets_and_planes_name: "teams.c";
    contexts_reach_the_pes_of_their_team_with_any_options: "contexts.c";
    sessions_change_no_result: "sessions.c";
    there_is_host_memory_and_no_other_space: "spaces.c";
}

programs! {
    passes:
    teams_that_threads_split_at_once_have_nothing_in_common: "team_threads.c";
    collectives_move_elements_of_every_type: "collectives.c";
    reductions_combine_elements_of_every_type: "reductions.c";
    scans_add_up_elements_of_every_type: "scans.c";
    active_sets_come_together_without_the_other_pes: "active_sets.c";
    active_sets_that_threads_use_at_once_have_nothing_in_common: "active_set_threads.c";
    overloads_of_cxx_find_the_routine_of_every_type: "collectives.cpp";
}

/// Runs a part of `collective_errors.c`, and expects a line with all of `parts`.
#[track_caller]
fn fails(n: usize, part: &str, parts: &[&str]) {
    let program = Program::new("collective_errors.c");
    program.job(n, &[], &[part]).failed_with(parts);
}

#[test]
fn what_is_no_block_cannot_be_freed() {
    fails(
        2,
        "free_twice",
        &["shmem_free: ptr = 0x", "is no block of the symmetric heap, or was freed before"],
    );
    fails(2, "free_foreign", &["shmem_free: ptr = 0x", "is no block of the symmetric heap"]);
    fails(2, "free_inside", &["shfree: ptr = 0x", "is not the start of a block: it is in that of 100 bytes"]);
    fails(2, "realloc_foreign", &["shmem_realloc: ptr = 0x", "is no block of the symmetric heap"]);
}

#[test]
fn blocks_that_differ_among_pes_are_named() {
    fails(2, "sizes", &["shmem_malloc", "PE 0", "100 bytes", "PE 1", "108 bytes"]);
    // Which of the others is named depends on their hosts.
    fails(3, "frees", &["shmem_free", "PE 0 calls free of"]);
}

#[test]
fn a_team_that_is_none_is_named() {
    fails(2, "destroyed_team", &["shmem_team_sync: team = 0x", "was destroyed"]);
    fails(2, "destroyed_twice", &["shmem_team_destroy: team = 0x", "was destroyed"]);
    fails(2, "predefined_team", &["shmem_team_destroy: team = 0x1 is a predefined team"]);
    fails(1, "no_team", &["shmem_team_my_pe: team = 0x9 is no team"]);
    fails(1, "no_config", &["shmem_team_split_strided: config is null, and its mask is 0x1"]);
    fails(1, "negative_config", &["shmem_team_split_strided: num_contexts = -2 in config is negative"]);
    fails(
        2,
        "splits",
        &["shmem_team_split_strided", "split_strided with start 0, stride 1 and size 2", "size 1"],
    );
}

#[test]
fn a_context_that_is_none_is_named() {
    fails(1, "default_context", &["shmem_ctx_destroy: ctx is SHMEM_CTX_DEFAULT"]);
    fails(1, "destroyed_context", &["shmem_ctx_destroy: ctx = 0x", "is no context, or was destroyed"]);
    fails(
        1,
        "used_context",
        &["shmem_ctx_long_p: the context, or the team that it belongs to, was destroyed"],
    );
    fails(
        2,
        "context_of_team",
        &["shmem_ctx_long_p: the context, or the team that it belongs to, was destroyed"],
    );
    fails(1, "session", &["shmem_ctx_session_start: config is null"]);
    fails(1, "session_context", &["shmem_ctx_session_stop: ctx = 0x", "is no context, or was destroyed"]);
}

#[test]
fn arguments_of_collectives_are_checked() {
    fails(2, "root", &["shmem_long_broadcast: PE_root = 2 is out of range: there are 2 PEs in the team"]);
    fails(2, "negative_root", &["shmem_broadcastmem: PE_root = -1 is out of range"]);
    fails(2, "dest", &["shmem_int_fcollect: dest = 0x", "is not symmetric"]);
    fails(2, "source", &["shmem_int_sum_reduce: source is null"]);
    fails(2, "stride", &["shmem_int_alltoalls: dst = 0 is less than 1"]);
    fails(
        2,
        "lengths",
        &["shmem_int_sum_reduce", "sum_reduce of 3 elements of i32", "sum_reduce of 4 elements"],
    );
}

#[test]
fn active_sets_that_are_wrong_are_named() {
    let set = |start: &str, log_stride: &str, size: &str| {
        format!(
            "the active set with PE_start = {start}, logPE_stride = {log_stride} and PE_size = {size} is wrong"
        )
    };
    fails(3, "beyond", &["shmem_barrier", &set("0", "1", "3"), "it goes beyond the last of 3 PEs"]);
    fails(2, "wide", &["shmem_barrier", &set("0", "70", "2"), "it goes beyond the last of 2 PEs"]);
    fails(2, "negative_start", &["shmem_barrier", &set("-1", "0", "2"), "PE_start is less than 0"]);
    fails(2, "negative_stride", &["shmem_barrier", &set("0", "-1", "2"), "logPE_stride is less than 0"]);
    fails(2, "no_size", &["shmem_barrier", &set("0", "0", "0"), "PE_size is less than 1"]);
    fails(2, "set_root", &["shmem_broadcast64: PE_root = 2 is out of range"]);
    fails(2, "nreduce", &["shmem_int_sum_to_all: nreduce = -1 is negative"]);
    fails(3, "p_sync", &["shmem_sync: pSync = 0x", "is not symmetric"]);
    fails(2, "no_place", &["shmem_sync: active_set", "in 512 teams already"]);
    fails(3, "p_sync_values", &["shmem_sync: pSync[31] is not SHMEM_SYNC_VALUE"]);
}
