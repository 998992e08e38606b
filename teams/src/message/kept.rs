//! Collectives that have failed while a network had memory of theirs.
//!
//! A collective owns the memory it works on. One that is dropped while the network may yet write
//! there, or read, is kept until the network has given back what it has of its team's.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use oxshmem_base::sync::{Mutex, lock};

/// For how many messages of a team a network uses symmetric memory, and the collectives that are
/// kept meanwhile.
#[derive(Default)]
pub(crate) struct Loans {
    lent: AtomicUsize,
    kept: Mutex<Vec<Box<dyn Send>>>,
}

impl Loans {
    /// Drops what is kept, if the network has given back all.
    fn end(&self) {
        // Acquire: what has come is there before the memory is another's.
        if self.lent.load(Ordering::Acquire) == 0 {
            let over = std::mem::take(&mut *lock(&self.kept));
            // With the lock free: a collective may have the last handle to its PE.
            drop(over);
        }
    }
}

impl fmt::Debug for Loans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages have memory", self.lent.load(Ordering::Relaxed))
    }
}

/// Counts that a network uses symmetric memory for a message, until this is dropped.
#[derive(Debug)]
pub(crate) struct Lent(Arc<Loans>);

impl Lent {
    pub(crate) fn new(loans: &Arc<Loans>) -> Self {
        // Relaxed: read by the thread that runs the collective, after it has started the message.
        loans.lent.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(loans))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Release: see `Loans::end`. Of this thread and one that keeps a collective, the second to
        // lock what is kept sees what the first has done.
        if self.0.lent.fetch_sub(1, Ordering::Release) == 1 {
            self.0.end();
        }
    }
}

/// A collective that is kept when this is dropped, if a network has memory of its team's.
pub(crate) struct Kept<'a, F: Send + 'static> {
    pub(crate) task: Option<Pin<Box<F>>>,
    pub(crate) loans: &'a Loans,
}

impl<F: Send + 'static> Drop for Kept<'_, F> {
    fn drop(&mut self) {
        if self.loans.lent.load(Ordering::Acquire) > 0
            && let Some(task) = self.task.take()
        {
            lock(&self.loans.kept).push(Box::new(task));
            self.loans.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collective_is_kept_until_the_network_has_given_back_all_that_it_has() {
        let loans = Arc::<Loans>::default();
        let memory = Arc::new(());
        let collective = || {
            let memory = Arc::clone(&memory);
            Kept { task: Some(Box::pin(async move { drop(memory) })), loans: &loans }
        };
        drop(collective());
        assert_eq!(Arc::strong_count(&memory), 1, "nothing is lent");
        let [first, second] = [(); 2].map(|()| Lent::new(&loans));
        drop(collective());
        drop(first);
        assert_eq!(Arc::strong_count(&memory), 2, "one message has memory");
        drop(second);
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}
