//! How long waits keep their processor.

use super::*;
use crate::fabric::Fabric;

/// How a wait among PEs that share processors ends for which so many `looks` are needed, and after
/// how many of them.
fn wait(looks: u32) -> (bool, u32) {
    let fabric = Fabric::new(1, 1 << 20, false).unwrap();
    let policy = WaitPolicy::new(Duration::ZERO, 64, false);
    let executor = Executor::new(&fabric, 0, FenceSide::Writer, policy);
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
