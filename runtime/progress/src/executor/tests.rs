//! How long waits keep their processor.

use super::*;
use crate::fabric::Fabric;

/// How a wait among PEs that share processors ends for which so many `looks` are needed, and after
/// how many of them.
fn wait(looks: u32) -> (bool, u32) {
    let fabric = Fabric::new(1, 1 << 20, false).unwrap();
    let patience = Patience { spin: Duration::ZERO, yields: 64, looks: false };
    let (control, bell) = (Arc::clone(&fabric.control), Arc::clone(fabric.bell(0)));
    let executor = Executor::new(0, control, FenceSide::Writer, bell, patience);
    let mut looked = 0;
    let came = executor.spin_until(|| {
        looked += 1;
        looked >= looks
    });
    (came, looked)
}

#[test]
fn a_wait_among_pes_that_share_processors_looks_between_two_turns_of_others_and_then_leaves_it() {
    assert_eq!(wait(1), (true, 1));
    assert_eq!(wait(2), (true, 2));
    assert_eq!(wait(1000), (false, 3));
}
