//! Setup, exit and query (§9.1) and threads (§9.2).

use super::{AT_ONCE, BASE};
use crate::{
    arguments::{ADDRESS, ASKED_PE, EXIT, NO_PES},
    model::{Form, Group},
};

const EVERYONE: &str = "Collective: blocks until all PEs have called it.";

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_init",
        section: "9.1.1",
        brief: "starts the library",
        text: "All PEs call it before any other routine except shmem_query_initialized. It may be called \
               again; each call needs a shmem_finalize of its own, and the last of these ends the library.",
        forms: &[Form::once("shmem_init", "void", "void")],
        completion: EVERYONE,
        rust: Some("init"),
        see: &["shmem_init_thread", "shmem_finalize", "start_pes"],
        ..BASE
    },
    Group {
        name: "shmem_my_pe",
        section: "9.1.2",
        brief: "gives the number of this PE",
        forms: &[
            Form::once("shmem_my_pe", "int", "void"),
            Form::once("_my_pe", "int", "void").deprecated("1.2", "shmem_my_pe"),
        ],
        returns: "The number, from 0 to one less than shmem_n_pes().",
        rust: Some("World::my_pe"),
        see: &["shmem_n_pes", "shmem_team_my_pe"],
        ..BASE
    },
    Group {
        name: "shmem_n_pes",
        section: "9.1.3",
        brief: "gives how many PEs the job has",
        forms: &[
            Form::once("shmem_n_pes", "int", "void"),
            Form::once("_num_pes", "int", "void").deprecated("1.2", "shmem_n_pes"),
        ],
        returns: "The number of PEs.",
        rust: Some("World::n_pes"),
        see: &["shmem_my_pe", "shmem_team_n_pes"],
        ..BASE
    },
    Group {
        name: "shmem_finalize",
        section: "9.1.4",
        brief: "ends the library",
        text: "Each call belongs to one call of shmem_init or shmem_init_thread. The last one releases the \
               symmetric heap, teams and shareable contexts; contexts with SHMEM_CTX_PRIVATE must be \
               destroyed before. The program goes on, and may initialize the library again.",
        forms: &[Form::once("shmem_finalize", "void", "void")],
        completion: "Collective: like shmem_barrier_all, so everything is complete on all PEs.",
        rust: Some("World::finalize"),
        see: &["shmem_init", "shmem_global_exit"],
        ..BASE
    },
    Group {
        name: "shmem_query_initialized",
        section: "9.1.5",
        brief: "tells whether the library is initialized",
        text: "It may be called at any time, from any thread.",
        forms: &[Form::once("shmem_query_initialized", "void", "int *initialized")],
        rust: Some("World::is_finalized"),
        see: &["shmem_init"],
        ..BASE
    },
    Group {
        name: "shmem_global_exit",
        section: "9.1.6",
        brief: "ends the whole job",
        text: "Any PE may call it on its own. All PEs end at once, whatever they are doing.",
        forms: &[Form::once("shmem_global_exit", "void", "int status")],
        arguments: EXIT,
        completion: "Not collective. Output of the C library is flushed; operations under way are given up.",
        returns: "It does not return.",
        rust: Some("World::global_exit"),
        see: &["shmem_finalize"],
    },
    Group {
        name: "shmem_pe_accessible",
        section: "9.1.7",
        brief: "tells whether a PE can be reached",
        forms: &[Form::once("shmem_pe_accessible", "int", "int pe")],
        arguments: ASKED_PE,
        returns: "1 if pe is the number of a PE that routines can be used with, else 0.",
        rust: Some("World::pe_accessible"),
        see: &["shmem_addr_accessible"],
        ..BASE
    },
    Group {
        name: "shmem_addr_accessible",
        section: "9.1.8",
        brief: "tells whether an address is symmetric and reachable on a PE",
        forms: &[Form::once("shmem_addr_accessible", "int", "const void *addr, int pe")],
        arguments: ASKED_PE,
        returns: "1 if the address is symmetric and its object on pe can be used in routines, else 0.",
        rust: Some("World::addr_accessible"),
        see: &["shmem_pe_accessible", "shmem_ptr"],
        ..BASE
    },
    Group {
        name: "shmem_ptr",
        section: "9.1.9",
        brief: "gives a pointer for loads and stores to a PE's object",
        text: "The pointer is a local address. It must not be given to a routine that wants a symmetric one.",
        forms: &[Form::once("shmem_ptr", "void *", "const void *dest, int pe")],
        arguments: ADDRESS,
        returns: "The pointer, or null if that PE's memory is not mapped here.",
        rust: Some("SymView::ptr"),
        see: &["shmem_team_ptr", "shmem_addr_accessible"],
        ..BASE
    },
    Group {
        name: "shmem_team_ptr",
        section: "9.1.10",
        brief: "gives a pointer for loads and stores to the object of a team's PE",
        text: "Like shmem_ptr, with a PE number of a team.",
        forms: &[Form::once("shmem_team_ptr", "void *", "shmem_team_t team, const void *dest, int pe")],
        arguments: ADDRESS,
        returns: "The pointer, or null if that PE's memory is not mapped here or team is SHMEM_TEAM_INVALID.",
        rust: Some("SymView::ptr with Team::world_pe"),
        see: &["shmem_ptr"],
        ..BASE
    },
    Group {
        name: "shmem_info_get_version",
        section: "9.1.11",
        brief: "gives the version of the specification",
        forms: &[Form::once("shmem_info_get_version", "void", "int *major, int *minor")],
        rust: Some("World::version"),
        see: &["shmem_info_get_name"],
        ..BASE
    },
    Group {
        name: "shmem_info_get_name",
        section: "9.1.12",
        brief: "gives the name of the library",
        text: "It copies SHMEM_VENDOR_STRING, with its final null character.",
        forms: &[Form::once("shmem_info_get_name", "void", "char *name")],
        rust: Some("World::name"),
        see: &["shmem_info_get_version"],
        ..BASE
    },
    Group {
        name: "start_pes",
        section: "9.1.13",
        brief: "starts the library as programs before OpenSHMEM 1.2 did",
        text: "Unlike shmem_init it needs no shmem_finalize: the library ends with the program, and all PEs \
               wait for each other then. Further calls do nothing.",
        forms: &[Form::once("start_pes", "void", "int npes").deprecated("1.2", "shmem_init")],
        arguments: NO_PES,
        completion: EVERYONE,
        rust: Some("init"),
        see: &["shmem_init"],
        ..BASE
    },
    Group {
        name: "shmem_init_thread",
        section: "9.2.1",
        brief: "starts the library for use by several threads",
        text: "Like shmem_init, which see. The level given is never below the one wanted.",
        forms: &[Form::once("shmem_init_thread", "int", "int requested, int *provided")],
        completion: EVERYONE,
        returns: "Zero, or nonzero if the library could not be started.",
        rust: Some("init"),
        see: &["shmem_init", "shmem_query_thread"],
        ..BASE
    },
    Group {
        name: "shmem_query_thread",
        section: "9.2.2",
        brief: "gives the thread level in force",
        forms: &[Form::once("shmem_query_thread", "void", "int *provided")],
        completion: AT_ONCE,
        rust: Some("World::thread_level"),
        see: &["shmem_init_thread"],
        ..BASE
    },
];
