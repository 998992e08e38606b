use oxshmem::prelude::*;

async fn too_early(ctx: &Context, dest: &SymSlice<u64>) -> oxshmem::Result<u64> {
    let block = vec![1, 2, 3];
    let put = ctx.put_nbi(dest, block, 0);
    let first = block[0];
    put.await?;
    Ok(first)
}

fn main() {}
