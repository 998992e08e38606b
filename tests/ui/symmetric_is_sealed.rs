use oxshmem::{SymView, Symmetric};

struct Mine;

impl<'a> Symmetric<'a> for Mine {
    type Element = u64;

    fn view(self) -> SymView<'a, u64> {
        todo!()
    }
}

fn main() {}
