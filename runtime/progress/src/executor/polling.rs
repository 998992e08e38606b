//! What the engine polls, and how futures poll through it.

use std::{
    mem,
    sync::{Arc, Weak},
    task::Poll,
    time::Instant,
};

use oxshmem_base::{Error, Result, sync::Ordering};

use super::{Executor, Reader, helping::Duty};
use crate::{failure::Failure, helper_waker::HelperWaker, source::Source};

impl Executor {
    /// Names what is polled. To be called once, before the PE waits for anything.
    ///
    /// # Errors
    /// The system's, if the helper's thread cannot start.
    pub fn attach_sources(self: &Arc<Self>, sources: Vec<Arc<dyn Source>>) -> Result<()> {
        let sources: Box<[_]> = sources.into_iter().filter(|source| source.wants_polling()).collect();
        let any = !sources.is_empty();
        // A PE joins once, so the slot is empty.
        let _ = self.sources.set(sources);
        // Other PEs may ask something of this one before it waits.
        match any {
            true => self.get_help().map_err(|e| Error::system("start of the progress thread", e)),
            false => Ok(()),
        }
    }

    /// What is polled.
    #[inline]
    pub(super) fn sources(&self) -> &[Arc<dyn Source>] {
        self.sources.get().map_or(&[], |sources| sources)
    }

    /// Completes what is over, for a thread or task that waits. Whether anything was.
    #[inline]
    pub(super) fn poll_sources(&self) -> bool {
        let sources = self.sources();
        if sources.is_empty() {
            return false;
        }
        self.poll_all(sources)
    }

    fn poll_all(&self, sources: &[Arc<dyn Source>]) -> bool {
        let waker = self.helper.helper_waker();
        waker.show_life();
        let mut any = false;
        for source in sources {
            // What is gathered may be the question that this thread waits for the answer to.
            source.hand_over();
            any |= source.poll();
        }
        if any {
            waker.found_beside();
        }
        any
    }

    /// Polls a future's state by `poll`, and the sources with it for as long as is worth it where
    /// they are what completes it. When this returns `Pending`, a driver polls them.
    pub fn poll_with<T>(&self, mut poll: impl FnMut() -> Poll<T>) -> Poll<T> {
        let first = poll();
        if first.is_ready() {
            return first;
        }
        let patience = self.sources().iter().map(|source| source.patience()).max().unwrap_or_default();
        let begin = Instant::now();
        loop {
            if self.poll_sources()
                && let ready @ Poll::Ready(_) = poll()
            {
                return ready;
            }
            if begin.elapsed() >= patience {
                break;
            }
            std::hint::spin_loop();
        }
        self.leave_to_driver();
        // Another thread may have completed it in the meantime.
        poll()
    }

    /// What `look` finds at words that `reader` reads, for as long as a wait may spin. Those that
    /// no processor loads are looked at once, and then whenever they are known to have changed:
    /// `seen` becomes how often they [had](Self::changes) before the last look.
    pub fn look_until<T>(
        &self,
        reader: Reader,
        seen: &mut Option<u64>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        if reader.address().is_some() {
            self.spin_until(|| {
                found = look();
                found.is_some()
            });
            return found;
        }
        *seen = None;
        let _ = self.poll_with(|| {
            let before = self.changes(reader);
            if mem::replace(seen, before) != before {
                found = look();
            }
            if found.is_some() { Poll::Ready(()) } else { Poll::Pending }
        });
        found
    }

    /// What a future [polls through](Self::poll_with) the first time that it is polled.
    pub fn at_first_poll(self: &Arc<Self>) -> FirstPoll {
        FirstPoll(Arc::downgrade(self))
    }

    /// What wakes the helper.
    pub fn helper_waker(&self) -> &Arc<HelperWaker> {
        self.helper.helper_waker()
    }

    /// Returns when the helper does nothing any more for a source that is closed.
    /// On the helper's thread it returns at once.
    pub fn leave_source(&self) {
        self.helper.leave_source();
    }

    /// This thread is about to sleep.
    pub(super) fn rest_sources(&self) {
        if !self.sources().is_empty() {
            self.helper.helper_waker().take_over();
        }
    }

    /// The helper works for this PE from now on.
    pub(super) fn get_help(self: &Arc<Self>) -> std::io::Result<()> {
        let is_helped = &self.owner.is_helped;
        if is_helped.load(Ordering::Relaxed) || self.is_closed() || is_helped.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.helper.work_for(Box::new(Duty::new(self)))
    }

    /// Gets the helper's work where no error can be returned: without a helper nothing that waits
    /// could ever be woken, so all of it ends with an error.
    pub(super) fn must_get_help(self: &Arc<Self>) {
        if let Err(error) = self.get_help() {
            self.fail(Failure::without_thread(&error));
        }
    }
}

/// The engine that a future polls through when it is polled for the first time. It does not keep
/// the engine: the future may be forgotten.
#[derive(Debug, Default)]
pub struct FirstPoll(Weak<Executor>);

impl FirstPoll {
    /// Polls by `poll`, the first time [through](Executor::poll_with) the engine.
    pub fn poll<T>(&mut self, mut poll: impl FnMut() -> Poll<T>) -> Poll<T> {
        match std::mem::take(&mut self.0).upgrade() {
            Some(engine) => engine.poll_with(poll),
            None => poll(),
        }
    }
}
