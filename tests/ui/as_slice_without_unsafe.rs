use oxshmem::prelude::*;

fn look(slice: &SymSlice<u64>) -> u64 {
    slice.view().as_slice()[0]
}

fn main() {}
