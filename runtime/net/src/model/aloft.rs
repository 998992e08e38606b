//! Messages that a PE has sent and that are on their way.

use std::sync::Arc;

use oxshmem_base::sync::{Mutex, lock};

/// How many there are, and what is to be done when there are none.
#[derive(Default)]
pub(super) struct Aloft(Mutex<(usize, Vec<Then>)>);

/// What is to be done then.
type Then = Box<dyn FnOnce() + Send>;

/// A message, until it has come or is lost.
pub(super) struct OnItsWay(Arc<Aloft>);

impl Aloft {
    /// A message leaves.
    pub(super) fn leaves(self: &Arc<Self>) -> OnItsWay {
        lock(&self.0).0 += 1;
        OnItsWay(Arc::clone(self))
    }

    /// Has `then` run when none of those that have left is on its way: at once if none is.
    pub(super) fn when_there(&self, then: Then) {
        {
            let mut state = lock(&self.0);
            if state.0 > 0 {
                return state.1.push(then);
            }
        }
        then();
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        let waiting = {
            let mut state = lock(&self.0.0);
            state.0 -= 1;
            if state.0 == 0 { std::mem::take(&mut state.1) } else { Vec::new() }
        };
        waiting.into_iter().for_each(|then| then());
    }
}
