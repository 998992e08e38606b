//! What the parameters are. One entry serves all routines that have a parameter of this name; a
//! group where it is something else says so itself.

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It is read.
    In,
    /// It is written.
    Out,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Which way it goes.
    pub direction: Direction,
    /// Whether it is the address of a symmetric object.
    pub symmetric: bool,
    /// What it means, without a full stop.
    pub text: &'static str,
}

const fn input(name: &'static str, text: &'static str) -> Argument {
    Argument { name, direction: Direction::In, symmetric: false, text }
}

const fn output(name: &'static str, text: &'static str) -> Argument {
    Argument { name, direction: Direction::Out, symmetric: false, text }
}

const fn symmetric(argument: Argument) -> Argument {
    Argument { symmetric: true, ..argument }
}

/// The parameters of all routines. `dest` and `source` are those of a put, an atomic or a
/// collective.
pub static ARGUMENTS: &[Argument] = &[
    input("ctx", "the context; the forms without one use the default context"),
    symmetric(output("dest", "symmetric address of the object that is written")),
    input("source", "address of what is copied"),
    input("value", "the operand"),
    input("cond", "what dest must hold for value to be stored"),
    output("fetch", "local address for the value that was there; not to be read before a quiet"),
    input("nelems", "number of elements; bytes in the forms named mem"),
    input("nreduce", "number of elements in dest and source"),
    input("dst", "distance between elements or blocks of dest, in elements, at least 1"),
    input("sst", "distance between elements or blocks of source, in elements, at least 1"),
    input("bsize", "number of elements in a block"),
    input("nblocks", "number of blocks"),
    input("pe", "number of the target PE in the team of the context, the world for the default one"),
    symmetric(output("sig_addr", "symmetric address of the signal word")),
    input("signal", "the value to set the signal to, or to add to it"),
    input("sig_op", "SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD"),
    input("stream", "the CUDA stream, a cudaStream_t; null is the default stream"),
    input("team", "the team; all its PEs call the routine if it is collective"),
    input("PE_root", "number of the root PE, counted among the participating PEs"),
    input("PE_start", "lowest PE number of the active set"),
    input("logPE_stride", "binary logarithm of the distance between PE numbers of the active set"),
    input("PE_size", "number of PEs in the active set"),
    symmetric(input("pSync", "symmetric work array, every element SHMEM_SYNC_VALUE, restored on return")),
    symmetric(input(
        "pWrk",
        "symmetric work array of max(nreduce/2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) elements",
    )),
    symmetric(input("ivar", "symmetric address of the variable")),
    symmetric(input("ivars", "symmetric address of the array of variables")),
    input("status", "mask of nelems elements, where nonzero leaves a variable out; may be null"),
    output("indices", "array of at least nelems elements for the indices found"),
    input("cmp", "one of SHMEM_CMP_EQ, NE, GT, GE, LT, LE"),
    input("cmp_value", "the value to compare with"),
    input("cmp_values", "array of nelems values, one to compare each variable with"),
    input("target_pes", "array of PE numbers"),
    input("npes", "number of elements in target_pes"),
    symmetric(input("lock", "symmetric address of the lock, which is 0 on all PEs before its first use")),
    input("level", "the profiling level"),
    output("initialized", "nonzero if the library is initialized"),
    input("addr", "address of a local object"),
    output("major", "1"),
    output("minor", "6"),
    output("name", "buffer of at least SHMEM_MAX_NAME_LEN bytes"),
    input("requested", "the thread level wanted"),
    output("provided", "the thread level in force"),
    input("size", "size in bytes"),
    input("count", "number of objects"),
    input("alignment", "a power of two and a multiple of sizeof(void *)"),
    input("hints", "0, or SHMEM_MALLOC_ hints joined by a bitwise or"),
    symmetric(input("ptr", "address of a block in the symmetric heap, or null")),
    input("options", "0, or options joined by a bitwise or"),
    input("config", "the configuration; may be null where the mask is 0"),
    input("config_mask", "which members of the configuration count"),
    input("src_team", "the team that src_pe is counted in"),
    input("src_pe", "a PE number in src_team"),
    input("dest_team", "the team that the result is counted in"),
    input("parent_team", "the team that is split; all its PEs call the routine"),
    input("start", "PE number, in the parent team, of PE 0 of the new team"),
    input("stride", "distance between PE numbers of the parent team; may be negative, and 0 if size is 1"),
    output("new_team", "the new team, or SHMEM_TEAM_INVALID on PEs that are not in it"),
    input("xrange", "number of PEs in a row"),
    input("xaxis_config", "the configuration of the row's team"),
    input("xaxis_mask", "which members of xaxis_config count"),
    output("xaxis_team", "the team of the PEs in this one's row"),
    input("yaxis_config", "the configuration of the column's team"),
    input("yaxis_mask", "which members of yaxis_config count"),
    output("yaxis_team", "the team of the PEs in this one's column"),
    input("space", "the memory space"),
    input("partition_id", "number of the partition, 1 to SHMEMX_MAX_PARTITION_ID"),
];

/// `dest` and `source` of a get: the local and the symmetric one change places.
pub(crate) const GET: &[Argument] = &[
    output("dest", "local address of what is written"),
    symmetric(input("source", "symmetric address of the object that is copied")),
];

/// Where `source` is the symmetric object too: collectives and fetching atomics.
pub(crate) const SYMMETRIC_SOURCE: &[Argument] =
    &[symmetric(input("source", "symmetric address of the object that is read"))];

/// Where `dest` is only looked at.
pub(crate) const ADDRESS: &[Argument] = &[
    symmetric(input("dest", "symmetric address of an object, as this PE knows it")),
    input("pe", "the PE whose object is meant"),
];

/// Where a team handle is the result.
pub(crate) const LOST_PES: &[Argument] =
    &[output("pes", "the PEs; may be null if npes is 0"), input("npes", "how many there is room for in pes")];
pub(crate) const UNCLAIMED: &[Argument] = &[
    output("blocks", "their addresses; may be null if nblocks is 0"),
    input("nblocks", "how many there is room for in blocks"),
];
pub(crate) const SURVIVORS: &[Argument] = &[
    output("new_team", "the team that they make"),
    output(
        "completed",
        "null, or how many collectives of the old team each member of the new one had completed, with room for all of the old one",
    ),
];
pub(crate) const TEAM_RESULT: &[Argument] = &[output("team", "the context's team")];

/// Where a context handle is the result.
pub(crate) const CTX_RESULT: &[Argument] = &[
    output("ctx", "the new context, or SHMEM_CTX_INVALID"),
    input("team", "the team; the call is not collective"),
];

/// Where a configuration is the result.
pub(crate) const CONFIG_RESULT: &[Argument] =
    &[output("config", "the team's configuration; may be null where the mask is 0")];

/// Where `pe` is only asked about.
pub(crate) const ASKED_PE: &[Argument] = &[input("pe", "number of a PE in the world team")];

/// The one parameter that means nothing.
pub(crate) const NO_PES: &[Argument] = &[input("npes", "ignored; 0 by custom")];

/// The exit status.
pub(crate) const EXIT: &[Argument] = &[input("status", "the exit status of the job")];

/// The name of a phase.
pub(crate) const PHASE_NAME: &[Argument] =
    &[input("name", "the name, in UTF-8, of which 55 bytes are kept; empty or null for no phase")];

/// A signal that is only read.
pub(crate) const SIGNAL_READ: &[Argument] =
    &[symmetric(input("sig_addr", "symmetric address of this PE's signal word"))];

/// Where a handle for kernels is the result.
pub(crate) const DEVICE_HANDLE: &[Argument] = &[output("handle", "the handle")];

/// Where a space handle is the result.
pub(crate) const SPACE_RESULT: &[Argument] = &[
    output("space", "the memory space"),
    symmetric(input("ptr", "address returned by an allocation routine")),
    input("team", "the team"),
];
