use oxshmem::prelude::*;

// Table 6 of the specification has no floating point; table 7, for fetch, set and swap, does.
async fn add(ctx: &Context, sum: &SymSlice<f64>) {
    let _ = ctx.fetch_add(sum.at(0), 1.0, 0).await;
}

fn main() {}
