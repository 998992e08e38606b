use oxshmem::{Pod, Zeroable, BitwiseAmo};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(transparent)]
struct Tiny(u8);

impl BitwiseAmo for Tiny {}

fn main() {}
