//! Collectives on teams (§9.10), but for reductions and scans.

use super::{BASE, COLLECTIVE_RESULT};
use crate::{
    arguments::SYMMETRIC_SOURCE,
    model::{Form, Group},
    types::RMA,
};

/// When a team collective that moves data returns.
pub(super) const DONE_HERE: &str =
    "Collective on the team: on return dest holds this PE's result, and source may be reused.";

const TYPED: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems";
const BYTES: &str = "shmem_team_t team, void *dest, const void *source, size_t nelems";
const TYPED_STRIDED: &str =
    "shmem_team_t team, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems";
const BYTES_STRIDED: &str =
    "shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems";
const TYPED_ROOT: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root";
const BYTES_ROOT: &str = "shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root";

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_barrier_all",
        section: "9.10.1",
        brief: "waits until all PEs have come, and completes all updates",
        text: "Like a shmem_quiet on the default context and then a shmem_team_sync of the world. Other \
               contexts need a quiet of their own before.",
        forms: &[Form::once("shmem_barrier_all", "void", "void")],
        completion: "Collective on the world team, and remote: everything on the default context is complete \
                     on all PEs.",
        rust: Some("World::barrier_all"),
        see: &["shmem_sync_all", "shmem_team_sync", "shmem_quiet"],
        ..BASE
    },
    Group {
        name: "shmem_team_sync",
        section: "9.10.3",
        brief: "waits until all PEs of a team have come",
        text: "In C11 and C++ shmem_sync with a team does the same.",
        forms: &[Form::once("shmem_team_sync", "int", "shmem_team_t team").generic("shmem_sync")],
        completion: "Collective on the team. Memory stores are visible; operations of routines are not \
                     completed.",
        returns: COLLECTIVE_RESULT,
        rust: Some("Team::sync"),
        see: &["shmem_sync_all", "shmem_barrier_all", "shmem_sync"],
        ..BASE
    },
    Group {
        name: "shmem_sync_all",
        section: "9.10.4",
        brief: "waits until all PEs have come",
        forms: &[Form::once("shmem_sync_all", "void", "void")],
        completion: "Collective on the world team. Memory stores are visible; operations of routines are not \
                     completed.",
        rust: Some("World::sync_all"),
        see: &["shmem_team_sync", "shmem_barrier_all"],
        ..BASE
    },
    Group {
        name: "shmem_alltoall",
        section: "9.10.5",
        brief: "gives each PE of a team its block of every PE's data",
        text: "Block l of PE k's source becomes block k of PE l's dest. A block has nelems elements. All PEs \
               pass the same dest, source and nelems, and the dest of all is ready to be written before any \
               calls.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_alltoall", "int", TYPED).generic("shmem_alltoall"),
            Form::once("shmem_alltoallmem", "int", BYTES),
        ],
        arguments: SYMMETRIC_SOURCE,
        completion: DONE_HERE,
        returns: COLLECTIVE_RESULT,
        rust: Some("Team::alltoall"),
        see: &["shmem_alltoalls", "shmem_fcollect"],
    },
    Group {
        name: "shmem_alltoalls",
        section: "9.10.6",
        brief: "gives each PE of a team its strided block of every PE's data",
        text: "Like shmem_alltoall, with dst and sst elements from one element to the next.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_alltoalls", "int", TYPED_STRIDED).generic("shmem_alltoalls"),
            Form::once("shmem_alltoallsmem", "int", BYTES_STRIDED),
        ],
        arguments: SYMMETRIC_SOURCE,
        completion: DONE_HERE,
        returns: COLLECTIVE_RESULT,
        rust: Some("Team::alltoalls"),
        see: &["shmem_alltoall"],
    },
    Group {
        name: "shmem_broadcast",
        section: "9.10.7",
        brief: "gives all PEs of a team the data of one",
        text: "dest is written on all PEs, the root too. All PEs pass the same dest, source and root, and \
               the dest of all is ready to be written before any calls.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_broadcast", "int", TYPED_ROOT).generic("shmem_broadcast"),
            Form::once("shmem_broadcastmem", "int", BYTES_ROOT),
        ],
        arguments: SYMMETRIC_SOURCE,
        completion: DONE_HERE,
        returns: COLLECTIVE_RESULT,
        rust: Some("Team::broadcast"),
        see: &["shmem_collect", "shmem_alltoall"],
    },
    Group {
        name: "shmem_collect",
        section: "9.10.8",
        brief: "joins the data of all PEs of a team on each of them",
        text: "dest becomes the source of PE 0, then that of PE 1, and so on. PEs may differ in nelems. All \
               pass the same dest and source, and the dest of all is ready to be written before any calls.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_collect", "int", TYPED).generic("shmem_collect"),
            Form::once("shmem_collectmem", "int", BYTES),
        ],
        arguments: SYMMETRIC_SOURCE,
        completion: DONE_HERE,
        returns: COLLECTIVE_RESULT,
        rust: Some("Team::collect"),
        see: &["shmem_fcollect", "shmem_broadcast"],
    },
    Group {
        name: "shmem_fcollect",
        section: "9.10.8",
        brief: "joins as much data of all PEs of a team on each of them",
        text: "Like shmem_collect, where all PEs pass the same nelems.",
        forms: &[
            Form::typed(RMA, "shmem_TYPENAME_fcollect", "int", TYPED).generic("shmem_fcollect"),
            Form::once("shmem_fcollectmem", "int", BYTES),
        ],
        arguments: SYMMETRIC_SOURCE,
        completion: DONE_HERE,
        returns: COLLECTIVE_RESULT,
        rust: Some("Team::fcollect"),
        see: &["shmem_collect", "shmem_alltoall"],
    },
];
