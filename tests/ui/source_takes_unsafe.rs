// An operation believes its length and its address.
use oxshmem::{Error, Source};

struct Longer;

impl Source<u64> for Longer {
    const STABLE: bool = true;

    type Failure = Error;
    type Back = ();

    fn back(self) {}

    fn reject(self, error: Error) -> Error {
        error
    }

    fn reject_back(_: (), error: Error) -> Error {
        error
    }

    fn as_ptr(&self) -> *const u64 {
        std::ptr::null()
    }

    fn len(&self) -> usize {
        1000
    }
}

fn main() {}
