use oxshmem::{Masked, WaitSet};

struct Mine;

impl<'a> WaitSet<'a, u64> for Mine {
    fn set(self) -> Masked<'a, u64> {
        todo!()
    }
}

fn main() {}
