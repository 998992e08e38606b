use oxshmem::prelude::*;

fn on_another_thread(world: &World) {
    let private = world.create_context(ContextOptions::new().private()).unwrap();
    std::thread::spawn(move || private.my_pe());
}

fn main() {}
