use oxshmem::prelude::*;

// A destination that is borrowed could be forgotten with its future while something still writes
// it.
async fn borrowed(ctx: &Context, source: &SymSlice<u64>) {
    let mut buffer = [0; 3];
    let _ = ctx.get_nbi(&mut buffer[..], source, 0).await;
}

fn main() {}
