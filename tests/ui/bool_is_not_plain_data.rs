use oxshmem::prelude::*;

// The bound of `alloc`, which refuses what not any bytes are a value of.
fn can_be_allocated<T: Element>() {}

fn main() {
    can_be_allocated::<bool>();
}
