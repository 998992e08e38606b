//! The words by which kernels of a device and the engine of a PE tell each other things, in the
//! control block of the PE.
//!
//! A kernel cannot call the library, nor wake a thread. It stores to host memory that its device
//! maps, and the engine looks there: for a *bell*, after a store to device memory of the PE that
//! the words belong to, and for *requests*, by which the engine does what the device cannot reach.
//! Kernels never add to a word of which the host is another writer, as devices have no atomic
//! operations for host memory that are atomic towards the host.
//!
//! A request is a ticket, which kernels draw, and a slot, which is the ticket's number modulo
//! [`SLOTS`]. The kernel fills the slot once it is free, and the engine writes an answer. The slot
//! is free again when the engine says so, or, where a kernel waits for the answer, when that says
//! so. The text of the device functions has the same numbers.

use std::sync::atomic::AtomicU64;

/// How many requests there is room for.
pub const SLOTS: usize = 64;
/// Bytes that travel beside a request.
pub const ROOM: usize = 512;
/// Words of a request.
pub const REQUEST_WORDS: usize = 8;

/// A word on two adjacent cache lines of its own.
#[repr(C, align(128))]
pub struct Word(pub AtomicU64);

/// A request.
#[repr(C, align(64))]
pub struct Request(
    /// The number after the ticket's, which is stored last; what is asked for; and what that takes.
    pub [AtomicU64; REQUEST_WORDS],
);

/// What became of a request.
#[repr(C, align(64))]
pub struct Answer {
    /// The number after the ticket's, once the request is over. Stored after the next two.
    pub over: AtomicU64,
    /// What was fetched.
    pub value: AtomicU64,
    /// 0 if it was done.
    pub failed: AtomicU64,
    /// How often the slot was used and became free.
    pub free: AtomicU64,
}

/// Bytes that travel beside a request.
#[repr(C, align(64))]
pub struct Room(pub [u8; ROOM]);

/// What the host says of all requests of the PE's kernels.
#[repr(C, align(128))]
pub struct Served {
    /// Every request with a smaller ticket is over.
    pub before: AtomicU64,
    /// How many failed since the last handle was made. Stored before `before`.
    pub failed: AtomicU64,
}

/// What a kernel notes that gives a wait up.
#[repr(C, align(128))]
pub struct Note {
    /// What it was in, and 0 once the engine has seen it. Stored last.
    pub call: AtomicU64,
    /// The address that it waited for, if it was one.
    pub address: AtomicU64,
    /// Not 0 once a request was given up: the ring of requests cannot be used any more.
    pub broken: AtomicU64,
}

/// The words of one PE.
#[repr(C, align(4096))]
pub struct KernelWords {
    /// Not 0 after a kernel has stored to device memory of this PE. Kernels set it, the engine
    /// takes it away before it looks.
    pub bell: Word,
    /// The next ticket. Kernels of this PE's device alone touch it, and the host resets nothing.
    pub ticket: Word,
    /// What is over.
    pub served: Served,
    /// What a kernel has given up.
    pub note: Note,
    /// In the first block alone: not 0 once any PE of the host has kernels that use these words.
    pub in_use: Word,
    rest: [u8; 384],
    /// The requests.
    pub requests: [Request; SLOTS],
    /// Their answers.
    pub answers: [Answer; SLOTS],
    /// What travels beside them. Kernels and operations copy to it and from it.
    pub rooms: [std::cell::UnsafeCell<Room>; SLOTS],
}

// The numbers that the text of the device functions has.
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(KernelWords, ticket) == 128 && offset_of!(KernelWords, served) == 256);
    assert!(offset_of!(KernelWords, note) == 384 && offset_of!(KernelWords, requests) == 1024);
    assert!(offset_of!(KernelWords, answers) == 5120 && offset_of!(KernelWords, rooms) == 9216);
};
