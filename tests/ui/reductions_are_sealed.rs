// Each type has one kernel for its elements.
use oxshmem::{Pod, Zeroable, Arithmetic, Bitwise, Ordered};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(transparent)]
struct Tiny(u8);

impl Arithmetic for Tiny {}
impl Bitwise for Tiny {}
impl Ordered for Tiny {}

fn main() {}
