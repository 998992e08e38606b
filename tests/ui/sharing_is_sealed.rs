use oxshmem_ops::context::Sharing;

struct Anyhow;

impl Sharing for Anyhow {
    type Marker = ();
    const NAME: &'static str = "anyhow";
}

fn main() {}
