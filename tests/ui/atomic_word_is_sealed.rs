use oxshmem_memory::word::{Atomic, AtomicWord, Width};

#[derive(Clone, Copy, PartialEq, Eq)]
struct Half(u8);

impl AtomicWord for Half {
    const WIDTH: Width = Width::Eight;

    fn to_u64(self) -> u64 {
        0
    }

    fn from_u64(_: u64) -> Self {
        Half(0)
    }

    unsafe fn apply(_: *mut u8, _: Atomic<Self>) -> Self {
        Half(0)
    }
}

fn main() {}
