use oxshmem::prelude::*;

fn on_two_threads(world: &World) {
    let serialized = world.create_context(ContextOptions::new().serialized()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| serialized.my_pe());
    });
}

fn main() {}
