use oxshmem::{Cmp, SymRef, Wait, WaitUntil};

struct Mine;

impl<'a> Wait<'a, u64> for Mine {
    fn wait_until(self, _: Cmp, _: u64) -> WaitUntil<'a, u64> {
        todo!()
    }

    fn test(self, _: Cmp, _: u64) -> bool {
        true
    }
}

fn main() {}
