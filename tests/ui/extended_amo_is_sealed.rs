// An atomic of 8 bytes on elements of 1 byte: it would reach beyond the end of the heap.
use oxshmem::{Pod, Zeroable, ExtendedAmo};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(transparent)]
struct Tiny(u8);

impl ExtendedAmo for Tiny {
    type Word = u64;

    fn to_word(self) -> u64 {
        0
    }

    fn from_word(word: u64) -> Self {
        Tiny(word as u8)
    }
}

fn main() {}
