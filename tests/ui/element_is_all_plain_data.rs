// What is not plain data cannot be promised to be an element.
use oxshmem::Element;

#[derive(Clone, Copy)]
struct Even(u8);

impl Element for Even {}

fn main() {}
