use oxshmem::{Pod, Zeroable};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
}

fn main() {}
