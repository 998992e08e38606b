//! How long waits keep their processor.

use super::*;
use crate::fabric::Fabric;

/// The executor of a PE that shares its processor.
fn crowded(hold: Duration) -> Executor {
    let fabric = Fabric::new(1, 1 << 20, false).unwrap();
    let patience = Patience { spin: Duration::ZERO, hold, yields: 64, looks: false };
    let (control, bell) = (Arc::clone(&fabric.control), Arc::clone(fabric.bell(0)));
    Executor::new(0, control, FenceSide::Writer, bell, patience)
}

/// How a wait ends for which `looks` are needed, and after how many of them.
fn looks(looks: u32, wait: impl FnOnce(&mut dyn FnMut() -> bool) -> bool) -> (bool, u32) {
    let mut looked = 0;
    let came = wait(&mut || {
        looked += 1;
        looked >= looks
    });
    (came, looked)
}

/// The same of one among PEs that share processors.
fn wait(hold: Duration, needs: bool, needed: u32) -> (bool, u32) {
    looks(needed, |ready| crowded(hold).spin_until_needed(ready, || needs))
}

#[test]
fn a_wait_keeps_its_processor_only_while_nobody_needs_it() {
    let long = Duration::from_secs(60);
    assert_eq!(wait(long, false, 1000), (true, 1000));
    assert_eq!(
        wait(long, true, 1000),
        (false, 3),
        "it looks between two turns of others, and then leaves it"
    );
    assert_eq!(wait(long, true, 2), (true, 2));
    assert_eq!(wait(Duration::ZERO, false, 1000), (false, 3), "it was asked not to");
    let (came, looked) = wait(Duration::from_millis(1), false, u32::MAX);
    assert!(!came && looked > 3, "not for ever");
}

#[test]
fn who_knows_about_when_holds_longer_but_not_where_that_was_forbidden() {
    let hold = |hold: Duration, time: Duration, needed: u32| {
        looks(needed, |ready| crowded(hold).hold_for(time, ready))
    };
    let (short, long) = (Duration::from_nanos(1), Duration::from_secs(60));
    assert_eq!(hold(short, long, 1000), (true, 1000));
    assert_eq!(hold(Duration::ZERO, long, 1000), (false, 1));
    assert_eq!(hold(Duration::ZERO, long, 1), (true, 1));
    let (came, looked) = hold(short, Duration::from_millis(1), u32::MAX);
    assert!(!came && looked > 8, "not for ever");
}
