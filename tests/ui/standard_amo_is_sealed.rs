use oxshmem::{Pod, Zeroable, StandardAmo};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(transparent)]
struct Tiny(u8);

impl StandardAmo for Tiny {
    const ONE: Self = Tiny(1);
}

fn main() {}
