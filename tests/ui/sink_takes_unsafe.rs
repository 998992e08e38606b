// An operation believes its length and its address.
use oxshmem::{Error, Sink};

struct Longer;

impl Sink<u64> for Longer {
    const STABLE: bool = true;

    type Failure = Error;
    type Back = ();
    type Held = Self;

    fn hold(self) -> Self {
        self
    }

    fn back(self) {}

    fn reject(self, error: Error) -> Error {
        error
    }

    fn as_mut_ptr(&mut self) -> *mut u64 {
        std::ptr::null_mut()
    }

    fn len(&self) -> usize {
        1000
    }
}

fn main() {}
