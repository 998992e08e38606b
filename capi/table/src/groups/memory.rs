//! Memory management (§9.3).

use super::BASE;
use crate::model::{Form, Group};

const ON_EXIT: &str = "Collective on the world team: a barrier on exit, which completes the default context, \
                       unless nothing is allocated.";
const ON_ENTRY: &str = "Collective on the world team: a barrier on entry, which completes the default \
                        context, unless ptr is null.";
const BLOCK: &str =
    "The symmetric address of the block, or null if there is not enough memory or nothing was asked for.";

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "shmem_malloc",
        section: "9.3.1",
        brief: "allocates symmetric memory",
        text: "All PEs call it with the same size. The block suits an object of any type. Its content is \
               undefined.",
        forms: &[
            Form::once("shmem_malloc", "void *", "size_t size"),
            Form::once("shmalloc", "void *", "size_t size").deprecated("1.2", "shmem_malloc"),
        ],
        completion: ON_EXIT,
        returns: BLOCK,
        rust: Some("World::alloc"),
        see: &["shmem_calloc", "shmem_align", "shmem_malloc_with_hints", "shmem_free"],
        ..BASE
    },
    Group {
        name: "shmem_free",
        section: "9.3.2",
        brief: "frees symmetric memory",
        text: "All PEs call it for the same block. No operation on the block may be under way on any context.",
        forms: &[
            Form::once("shmem_free", "void", "void *ptr"),
            Form::once("shfree", "void", "void *ptr").deprecated("1.2", "shmem_free"),
        ],
        completion: ON_ENTRY,
        rust: Some("World::free"),
        see: &["shmem_malloc", "shmem_realloc"],
        ..BASE
    },
    Group {
        name: "shmem_realloc",
        section: "9.3.3",
        brief: "resizes symmetric memory",
        text: "The content stays up to the smaller of both sizes, and so do hints; an alignment above the \
               ordinary need not. A null ptr allocates, a size of 0 frees.",
        forms: &[
            Form::once("shmem_realloc", "void *", "void *ptr, size_t size"),
            Form::once("shrealloc", "void *", "void *ptr, size_t size").deprecated("1.2", "shmem_realloc"),
        ],
        completion: "Collective on the world team: barriers on entry and exit, as an allocation is changed \
                     and made.",
        returns: "The address of the block, which may have moved; null, on all PEs, if it could not be \
                  resized, and then the old block stays.",
        rust: Some("World::realloc"),
        see: &["shmem_malloc", "shmem_free"],
        ..BASE
    },
    Group {
        name: "shmem_align",
        section: "9.3.4",
        brief: "allocates symmetric memory at a multiple of an alignment",
        forms: &[
            Form::once("shmem_align", "void *", "size_t alignment, size_t size"),
            Form::once("shmemalign", "void *", "size_t alignment, size_t size")
                .deprecated("1.2", "shmem_align"),
        ],
        completion: ON_EXIT,
        returns: BLOCK,
        rust: Some("World::alloc_aligned"),
        see: &["shmem_malloc"],
        ..BASE
    },
    Group {
        name: "shmem_malloc_with_hints",
        section: "9.3.5",
        brief: "allocates symmetric memory for a declared use",
        text: "Hints tell what the memory is for: SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE. \
               They change nothing but speed.",
        forms: &[Form::once("shmem_malloc_with_hints", "void *", "size_t size, long hints")],
        completion: ON_EXIT,
        returns: BLOCK,
        rust: Some("World::alloc_with_hints"),
        see: &["shmem_malloc"],
        ..BASE
    },
    Group {
        name: "shmem_calloc",
        section: "9.3.6",
        brief: "allocates zeroed symmetric memory",
        text: "The block has room for count objects of size bytes each.",
        forms: &[Form::once("shmem_calloc", "void *", "size_t count, size_t size")],
        completion: ON_EXIT,
        returns: BLOCK,
        rust: Some("World::alloc_zeroed"),
        see: &["shmem_malloc"],
        ..BASE
    },
];
