// What is below a world is for the rooms above it, which keep rules that a program does not know
// of.
use std::sync::Arc;

use oxshmem::{ContextOptions, SymSlice, World};
use oxshmem_ops::{Context, Members};
use oxshmem_spaces::{Domain, allocation::Allocation, heap::Layout, window::Window};

fn heap(slice: SymSlice<u64>) {
    let heap = Arc::clone(slice.allocation().heap().unwrap());
    heap.reclaim(&Window::of_bits([u64::MAX; 8])); // frees blocks that others have
    let _ = heap.alloc("mine", Layout::new(8), false);
    let _ = heap.realloc("mine", slice.into_allocation(), 8);
}

fn pe(world: &World) {
    let pe = world.pe();
    pe.heap_map().descriptor(); // everybody's memory, as a file
    Allocation::unowned(Arc::clone(pe), Domain::Host, pe.symmetric(), 0, 8); // it is a block already
    Context::over(Arc::clone(pe), Members::listed(&[99]), 0, Arc::new(()), ContextOptions::new());
    world.team().of_space(&[99], "mine");
}

fn main() {}
