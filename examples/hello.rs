//! The first program: every PE greets, and PE 0 counts them.
//!
//! `oshrun -np 4 target/release/examples/hello`

use oxshmem::prelude::*;

#[tokio::main(flavor = "current_thread")]
async fn main() -> oxshmem::Result<()> {
    let world = oxshmem::init().await?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let greeted = world.alloc_zeroed::<u64>(1).await?;

    println!("Hello from PE {me} of {n} on {}", world.host());
    world.context().inc(greeted.at(0), 0).await?;
    if me == 0 {
        let greeted = greeted.at(0).wait_until(Cmp::Ge, n as u64).await?;
        println!("PE 0 was greeted by {greeted} PEs");
    }
    world.finalize().await
}
