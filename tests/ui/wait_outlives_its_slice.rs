use oxshmem::prelude::*;

async fn dangling(world: &World) -> oxshmem::Result<u64> {
    let slice = world.alloc::<u64>(1).await?;
    let wait = slice.at(0).wait_until(Cmp::Eq, 1);
    world.free(slice).await?;
    wait.await
}

fn main() {}
