//! The memory-spaces and memory-kinds proposals.

use super::BASE;
use crate::{
    arguments::{DEVICE_HANDLE, LOST_PES, SPACE_RESULT, SURVIVORS, UNCLAIMED},
    model::{Form, Group, Status},
};

const SPACE_EXIT: &str =
    "Collective on the team of the space: a synchronization on exit, unless nothing is allocated.";
const KIND_EXIT: &str = "Collective on the world team: a barrier on exit, unless nothing is allocated.";
const BLOCK: &str =
    "The symmetric address of the block, or null if there is not enough memory or nothing was asked for.";
const KIND_BLOCK: &str = "The symmetric address of the block, or null if there is not enough memory, nothing was asked for, or the \
     partition is not defined. The first call in a job for one that is not is reported on standard error.";
const FOUND: &str = "Zero, or nonzero if there is none.";

const fn spaces(name: &'static str, returns: &'static str, parameters: &'static str) -> Form {
    Form::once(name, returns, parameters).status(Status::Spaces)
}

const fn kinds(name: &'static str, parameters: &'static str) -> Form {
    kinds_of(name, "void *", parameters)
}

const fn kinds_of(name: &'static str, returns: &'static str, parameters: &'static str) -> Form {
    Form::once(name, returns, parameters).status(Status::Kinds)
}

/// The chapter of jobs that go on when a PE is lost.
const LOSSES: &str = "jobs that go on";

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_space_is_available",
        section: "memory spaces",
        rust: Some("World::space"),
        brief: "tells whether a memory space can be allocated from",
        forms: &[spaces("shmem_space_is_available", "int", "shmem_space_t space")],
        returns: "Zero if it can, else nonzero; nonzero for SHMEM_SPACE_INVALID.",
        see: &["shmem_space_malloc"],
        ..BASE
    },
    Group {
        name: "shmem_space_malloc",
        section: "memory spaces",
        rust: Some("Space::alloc"),
        brief: "allocates symmetric memory in a space",
        text: "All PEs of the space's team call it with the same size. SHMEM_SPACE_INVALID gives null.",
        forms: &[spaces("shmem_space_malloc", "void *", "shmem_space_t space, size_t size")],
        completion: SPACE_EXIT,
        returns: BLOCK,
        see: &["shmem_space_calloc", "shmem_space_free", "shmem_malloc"],
        ..BASE
    },
    Group {
        name: "shmem_space_calloc",
        section: "memory spaces",
        rust: Some("Space::alloc_zeroed"),
        brief: "allocates zeroed symmetric memory in a space",
        text: "All PEs of the space's team call it with the same sizes. SHMEM_SPACE_INVALID gives null.",
        forms: &[spaces("shmem_space_calloc", "void *", "shmem_space_t space, size_t count, size_t size")],
        completion: SPACE_EXIT,
        returns: BLOCK,
        see: &["shmem_space_malloc", "shmem_space_free", "shmem_calloc"],
        ..BASE
    },
    Group {
        name: "shmem_space_free",
        section: "memory spaces",
        rust: Some("Space::free"),
        brief: "frees symmetric memory of a space",
        text: "All PEs of the space's team call it for the same block, with the space that it came from.",
        forms: &[spaces("shmem_space_free", "void", "shmem_space_t space, void *ptr")],
        completion: "Collective on the team of the space: a synchronization on entry, unless ptr is null.",
        see: &["shmem_space_malloc", "shmem_free"],
        ..BASE
    },
    Group {
        name: "shmem_get_space",
        section: "memory spaces",
        rust: Some("SymSlice::space"),
        brief: "gives the space that an address belongs to",
        forms: &[spaces("shmem_get_space", "int", "void *ptr, shmem_space_t *space")],
        arguments: SPACE_RESULT,
        returns: FOUND,
        see: &["shmem_team_get_space", "shmem_space_ptr"],
        ..BASE
    },
    Group {
        name: "shmem_team_get_space",
        section: "memory spaces",
        brief: "gives the space of a team",
        forms: &[spaces("shmem_team_get_space", "int", "shmem_team_t team, shmem_space_t *space")],
        arguments: SPACE_RESULT,
        returns: "Zero, or nonzero if team is SHMEM_TEAM_INVALID.",
        see: &["shmem_get_space", "shmem_team_is_valid"],
        ..BASE
    },
    Group {
        name: "shmem_space_ptr",
        section: "memory spaces",
        rust: Some("SymView::ptr, SymView::device_ptr"),
        brief: "gives a pointer to a PE's object in a space",
        text: "In the CPU space the pointer is for loads and stores of this process. In the GPU space it is for kernels of the calling \
               PE's device, and no processor can use it: that of the caller's own object, of PEs on the same device, and of PEs whose \
               devices give each other access. What kernels store there wakes no PE that waits: each looks by itself.",
        forms: &[spaces("shmem_space_ptr", "void *", "shmem_space_t space, const void *dest, int pe")],
        arguments: crate::arguments::ADDRESS,
        returns: "The pointer, or null if that PE's memory is not mapped here or for the device, dest is not in the space, or space is \
                  SHMEM_SPACE_INVALID.",
        see: &["shmem_ptr", "shmem_get_space"],
        ..BASE
    },
    Group {
        name: "shmem_team_is_valid",
        section: "memory spaces",
        brief: "tells whether a team handle can be used",
        text: "SHMEM_TEAM_CPU and SHMEM_TEAM_GPU are SHMEM_TEAM_INVALID where their space is not available.",
        forms: &[spaces("shmem_team_is_valid", "int", "shmem_team_t team")],
        returns: "1 if it can, 0 if it is SHMEM_TEAM_INVALID.",
        see: &["shmem_team_get_space"],
        ..BASE
    },
    Group {
        name: "shmemx_space_capabilities",
        section: "memory space capabilities",
        rust: Some("Space::capabilities"),
        brief: "tells what can be done with the memory of a space",
        forms: &[kinds_of("shmemx_space_capabilities", "long", "shmem_space_t space")],
        returns: "SHMEMX_SPACE_RMA, SHMEMX_SPACE_ATOMICS, SHMEMX_SPACE_COLLECTIVES, SHMEMX_SPACE_DIRECT_ACCESS and \
                  SHMEMX_SPACE_WORLD_ACCESS, as far as they hold, or'd; 0 for SHMEM_SPACE_INVALID.",
        see: &["shmem_space_is_available"],
        ..BASE
    },
    Group {
        name: "shmemx_device_handle",
        section: "GPU programs",
        rust: Some("World::device_handle"),
        brief: "gives what kernels take to call the device functions",
        text: "The handle is an argument of a kernel, by value, and keeps nothing alive: the kernel must be over before the memory is \
               freed that it uses, and before shmem_finalize. shmemx_device.cuh has the device functions. What kernels ask the \
               host for and fails, and waits that they give up, are errors of the next shmem_quiet. From the first call on, each \
               PE of the host that has a device looks after the words of kernels, at most every 20 us, and every millisecond when \
               nothing comes for long.",
        forms: &[kinds_of("shmemx_device_handle", "int", "shmemx_device_t *handle")],
        arguments: DEVICE_HANDLE,
        returns: "Zero, or nonzero if this PE has no device.",
        see: &["shmem_space_ptr", "shmem_space_malloc"],
        ..BASE
    },
    Group {
        name: "shmemx_kind_malloc",
        section: "memory kinds",
        brief: "allocates symmetric memory in a partition",
        text: "All PEs call it with the same arguments. shmem_free and shmem_realloc take the block too; it is resized in its \
               partition. Variables define partitions: SMAX_SYMMETRIC_PARTITION2=size=1G:kind=Fastmem:policy=Preferred \
               makes partition 2. Where there are none, partition 1 is the symmetric heap.",
        forms: &[kinds("shmemx_kind_malloc", "size_t size, int partition_id")],
        completion: KIND_EXIT,
        returns: KIND_BLOCK,
        rust: Some("Partition::alloc"),
        see: &["shmemx_kind_align", "shmem_malloc"],
        ..BASE
    },
    Group {
        name: "shmemx_kind_align",
        section: "memory kinds",
        brief: "allocates symmetric memory in a partition, at a multiple of an alignment",
        text: "All PEs call it with the same arguments.",
        forms: &[kinds("shmemx_kind_align", "size_t alignment, size_t size, int partition_id")],
        completion: KIND_EXIT,
        returns: KIND_BLOCK,
        rust: Some("Partition::alloc_aligned"),
        see: &["shmemx_kind_malloc", "shmem_align"],
        ..BASE
    },
    Group {
        name: "shmemx_survive_loss",
        section: LOSSES,
        rust: Some("InitOptions::survive_loss"),
        brief: "asks to go on when a PE is lost",
        text: "To be called before shmem_init, which refuses a program that has not called it in a job that goes on (oshrun \
               --on-loss=continue). In any other job it changes nothing. Routines do nothing towards a lost PE from then on, and \
               leave an error for shmemx_ctx_error; those that return a value return 0. Collectives of a team with a lost member \
               return nonzero, or leave the error with the default context.",
        forms: &[kinds_of("shmemx_survive_loss", "int", "void")],
        returns: "Zero, or nonzero if it is too late.",
        see: &["shmem_init", "shmemx_ctx_error", "shmemx_team_survivors"],
        ..BASE
    },
    Group {
        name: "shmemx_losses",
        section: LOSSES,
        rust: Some("World::losses"),
        brief: "gives the PEs that the job has lost",
        text: "In the order in which they were lost, which is the same on all PEs.",
        forms: &[kinds_of("shmemx_losses", "int", "int *pes, size_t npes")],
        arguments: LOST_PES,
        returns: "How many the job has lost, of which no more than npes are in pes. That is the number of the view.",
        see: &["shmemx_is_lost", "shmemx_survive_loss"],
        ..BASE
    },
    Group {
        name: "shmemx_is_lost",
        section: LOSSES,
        rust: Some("World::is_lost"),
        brief: "tells whether a PE is lost",
        forms: &[kinds_of("shmemx_is_lost", "int", "int pe")],
        returns: "1 if it is, as far as this PE knows, 0 if not.",
        see: &["shmemx_losses"],
        ..BASE
    },
    Group {
        name: "shmemx_team_survivors",
        section: LOSSES,
        rust: Some("Team::survivors"),
        brief: "makes a team of the members that are left",
        text: "Called by all of them. They have contiguous numbers, in the order of the old ones. Those of SHMEM_TEAM_WORLD allocate \
               and free symmetric memory among themselves from then on; what was allocated before stays.",
        forms: &[kinds_of(
            "shmemx_team_survivors",
            "int",
            "shmem_team_t team, shmem_team_t *new_team, uint64_t *completed",
        )],
        arguments: SURVIVORS,
        completion: "Collective on the members of the team that are left: all of them may use the new team.",
        returns: "Zero; SHMEMX_PE_LOST if another PE was lost meanwhile, and it is to be called again; a negative number if there \
                  can be no such team, as in a job that ends with a lost PE. new_team is SHMEM_TEAM_INVALID then.",
        see: &["shmemx_survive_loss", "shmemx_rebuilt", "shmem_team_destroy"],
    },
    Group {
        name: "shmemx_is_replacement",
        section: LOSSES,
        rust: Some("World::is_replacement"),
        brief: "tells whether this PE comes in the place of one that the job has lost",
        text: "Such a PE takes part once shmemx_rebuilt has returned zero. Its globals are as the program begins with them.",
        forms: &[kinds_of("shmemx_is_replacement", "int", "void")],
        returns: "1 if it does (oshrun --respawn), 0 if not.",
        see: &["shmemx_rebuilt"],
        ..BASE
    },
    Group {
        name: "shmemx_rebuilt",
        section: LOSSES,
        rust: Some("World::rebuilt"),
        brief: "makes the world whole again, with replacements of the PEs that were lost",
        text: "From then on SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED are teams of all PEs again, and shmem_malloc and shmem_free \
               are collective over them. What was allocated before is there on a replacement too, zeroed. Contexts go on. Teams \
               that the program has made stay as they are: those with a member that was lost are to be destroyed. Operations of \
               the default context are completed first. Of other threads of the PE, only those may be in a routine meanwhile \
               that wait for a variable.",
        forms: &[kinds_of("shmemx_rebuilt", "int", "void")],
        completion: "Collective on all PEs, the replacements included, whatever each has called last.",
        returns: "The same on all PEs: zero; SHMEMX_PE_LOST if one is lost that has no replacement yet, and it may be called again; \
                  a negative number if there can be no such world, as when other PEs have finalized, or in a job that ends with a \
                  lost PE.",
        see: &["shmemx_is_replacement", "shmemx_unclaimed", "shmemx_team_survivors"],
        ..BASE
    },
    Group {
        name: "shmemx_unclaimed",
        section: LOSSES,
        rust: Some("World::unclaimed"),
        brief: "gives a replacement the symmetric memory that the others had allocated",
        text: "The blocks that were there when shmemx_rebuilt returned first, and that were not freed since, in the order in which \
               they were allocated. They are at the same place in the symmetric heap as on the other PEs, which may be another \
               address.",
        forms: &[kinds_of("shmemx_unclaimed", "size_t", "void **blocks, size_t nblocks")],
        arguments: UNCLAIMED,
        returns: "How many there are, of which no more than nblocks are in blocks. On a PE that is no replacement there are none.",
        see: &["shmemx_rebuilt", "shmem_free"],
        ..BASE
    },
    Group {
        name: "shmemx_ctx_error",
        section: LOSSES,
        rust: Some("Context::quiet"),
        brief: "gives the first error of a context, and clears it",
        text: "Errors of routines without a context are those of SHMEM_CTX_DEFAULT. SHMEM_CTX_INVALID has none.",
        forms: &[kinds_of("shmemx_ctx_error", "int", "shmem_ctx_t ctx")],
        returns: "Zero, or SHMEMX_PE_LOST if an operation was one with a lost PE since the last call.",
        see: &["shmemx_survive_loss", "shmem_quiet"],
        ..BASE
    },
];
