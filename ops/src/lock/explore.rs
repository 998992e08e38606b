//! Everything that some interleaving of PEs leads to, for the tests of both queues.

use std::{collections::HashSet, hash::Hash};

/// Runs all paths from the beginning. `run` goes along a path, and returns the state that it leads
/// to, with the number of steps that are possible there. How many states there are.
pub(super) fn explore<S: Eq + Hash>(run: impl Fn(&[usize]) -> (S, usize)) -> usize {
    let (mut reached, mut paths) = (HashSet::new(), vec![Vec::new()]);
    while let Some(path) = paths.pop() {
        let (state, possible) = run(&path);
        if reached.insert(state) {
            paths.extend((0..possible).map(|choice| [&path[..], &[choice]].concat()));
        }
    }
    reached.len()
}
