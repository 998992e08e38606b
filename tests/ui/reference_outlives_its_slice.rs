use oxshmem::prelude::*;

async fn dangling(world: &World) -> oxshmem::Result<u64> {
    let word = {
        let slice = world.alloc::<u64>(1).await?;
        slice.at(0)
    };
    Ok(word.load())
}

fn main() {}
