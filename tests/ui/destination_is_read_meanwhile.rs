use oxshmem::prelude::*;

async fn too_early(ctx: &Context, source: &SymSlice<u64>) -> oxshmem::Result<u64> {
    let buffer = vec![0; 3];
    let get = ctx.get_nbi(buffer, source, 0);
    let first = buffer[0];
    get.await?;
    Ok(first)
}

fn main() {}
