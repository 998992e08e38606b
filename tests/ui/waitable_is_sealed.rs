// A wait looks at the whole word, from any thread.
use oxshmem::{Pod, Zeroable, Waitable};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(transparent)]
struct Tiny(u8);

impl Waitable for Tiny {
    const SIGNED: bool = false;

    fn to_bits(self) -> u64 {
        0
    }

    fn from_bits(_: u64) -> Self {
        Tiny(0)
    }

    unsafe fn look(_: *const u8) -> Self {
        Tiny(0)
    }
}

fn main() {}
