//! A map over all PEs, to which each of them adds.
//!
//! ```text
//! oshrun -np 4 target/release/examples/visits
//! ```

use oxshmem::collections::Map;

#[tokio::main(flavor = "current_thread")]
async fn main() -> oxshmem::Result<()> {
    let world = oxshmem::init().await?;
    let visits = Map::<u64, u64>::new(&world, 1000).await?; // one map, of all PEs
    visits.add(7, 1).await?;
    world.barrier_all().await?;
    println!("{:?} PEs have visited 7", visits.get(7).await?);
    world.finalize().await
}
