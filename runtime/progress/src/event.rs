//! Events, and how a thread sleeps until one of them is there.

use std::{os::fd::BorrowedFd, time::Duration};

pub use kind::Event;
pub(crate) use kind::PollSet;

/// Events of the kernel.
#[cfg(not(oxshmem_loom))]
mod kind {
    use std::os::fd::{AsFd, OwnedFd};

    use oxshmem_base::{Error, Result};
    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

    use super::*;

    /// An event that is there once a thread has rung for it, until a thread takes it.
    #[derive(Debug)]
    pub struct Event(OwnedFd);

    impl Event {
        /// One that is not there.
        ///
        /// # Errors
        /// The system's, if there are no descriptors left.
        pub fn new() -> Result<Self> {
            let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
            descriptor.map(Self).map_err(|e| Error::system("eventfd", e))
        }

        /// The event of an eventfd that does not block.
        pub fn of(descriptor: OwnedFd) -> Self {
            Self(descriptor)
        }

        /// Makes it there.
        pub fn ring(&self) {
            // It fails when the counter is full: then it has been there all along.
            let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
        }

        /// Takes it. Whether it was there.
        pub fn take(&self) -> bool {
            // The counter is not blocking.
            rustix::io::read(&self.0, &mut [0u8; 8]).is_ok()
        }

        /// Another descriptor of its eventfd.
        ///
        /// # Errors
        /// The system's.
        pub fn try_clone(&self) -> std::io::Result<OwnedFd> {
            self.0.try_clone()
        }
    }

    /// What a thread sleeps on.
    #[derive(Debug, Default)]
    pub(crate) struct PollSet<'a> {
        polled: Vec<PollFd<'a>>,
        limit: Option<Duration>,
    }

    impl<'a> PollSet<'a> {
        /// Not longer than `limit`.
        pub(crate) fn at_most(&mut self, limit: Duration) {
            self.limit = Some(self.limit.map_or(limit, |before| before.min(limit)));
        }

        /// Until the event is there.
        pub(crate) fn on_event(&mut self, event: &'a Event) {
            self.on_readable(event.0.as_fd());
        }

        /// Until there is something to be read.
        pub(crate) fn on_readable(&mut self, descriptor: BorrowedFd<'a>) {
            self.polled.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        }

        /// Until the other end hangs up.
        pub(crate) fn on_hangup(&mut self, descriptor: BorrowedFd<'a>) {
            self.polled.push(PollFd::from_borrowed_fd(descriptor, PollFlags::RDHUP));
        }

        /// On how many things it sleeps.
        pub(crate) fn len(&self) -> usize {
            self.polled.len()
        }

        /// Sleeps until one of these is there, a signal comes, or the time is over. Whether it is.
        pub(crate) fn sleep(&mut self) -> bool {
            let limit = self.limit.map(|limit| Timespec {
                tv_sec: limit.as_secs() as i64,
                tv_nsec: limit.subsec_nanos().into(),
            });
            let polled = poll(&mut self.polled, limit.as_ref());
            if polled.is_err() {
                self.polled.iter_mut().for_each(PollFd::clear_revents);
            }
            polled == Ok(0)
        }

        /// Whether one of the things of these numbers ended the sleep.
        pub(crate) fn is_there(&self, mut numbers: std::ops::Range<usize>) -> bool {
            numbers.any(|number| !self.polled[number].revents().is_empty())
        }
    }
}

/// Events of loom, where no time passes and no descriptor is polled.
#[cfg(oxshmem_loom)]
mod kind {
    use std::{
        os::fd::OwnedFd,
        sync::{Arc, Weak},
    };

    use oxshmem_base::{
        Result,
        sync::{Condvar, Mutex, lock},
    };

    use super::*;

    /// A thread that sleeps, and whether it is woken.
    #[derive(Debug, Default)]
    struct Sleeper {
        woken: Mutex<bool>,
        wakes: Condvar,
    }

    /// An event that is there once a thread has rung for it, until a thread takes it.
    #[derive(Debug, Default)]
    pub struct Event(Mutex<(bool, Vec<Weak<Sleeper>>)>);

    impl Event {
        /// One that is not there.
        pub fn new() -> Result<Self> {
            Ok(Self::default())
        }

        /// There are no descriptors.
        pub fn of(_: OwnedFd) -> Self {
            unreachable!("no descriptors come from elsewhere")
        }

        /// Makes it there.
        pub fn ring(&self) {
            let mut this = lock(&self.0);
            this.0 = true;
            for sleeper in this.1.drain(..).filter_map(|sleeper| sleeper.upgrade()) {
                *lock(&sleeper.woken) = true;
                sleeper.wakes.notify_one();
            }
        }

        /// Takes it. Whether it was there.
        pub fn take(&self) -> bool {
            std::mem::take(&mut lock(&self.0).0)
        }

        /// Whether it is there; if not, the thread is woken when it is.
        fn wakes(&self, sleeper: &Arc<Sleeper>) -> bool {
            let mut this = lock(&self.0);
            if !this.0 {
                this.1.push(Arc::downgrade(sleeper));
            }
            this.0
        }

        /// There are no descriptors.
        pub fn try_clone(&self) -> std::io::Result<OwnedFd> {
            Err(std::io::ErrorKind::Unsupported.into())
        }
    }

    /// What a thread sleeps on.
    #[derive(Debug, Default)]
    pub(crate) struct PollSet<'a> {
        events: Vec<&'a Event>,
        is_there: Vec<bool>,
    }

    impl<'a> PollSet<'a> {
        pub(crate) fn at_most(&mut self, _: Duration) {}

        pub(crate) fn on_event(&mut self, event: &'a Event) {
            self.events.push(event);
        }

        pub(crate) fn on_readable(&mut self, _: BorrowedFd<'a>) {}

        pub(crate) fn on_hangup(&mut self, _: BorrowedFd<'a>) {}

        pub(crate) fn len(&self) -> usize {
            self.events.len()
        }

        pub(crate) fn sleep(&mut self) -> bool {
            let sleeper = Arc::new(Sleeper::default());
            let look = || self.events.iter().map(|event| event.wakes(&sleeper)).collect::<Vec<_>>();
            self.is_there = look();
            if !self.is_there.contains(&true) {
                let mut woken = lock(&sleeper.woken);
                while !*woken {
                    woken = sleeper.wakes.wait(woken);
                }
                drop(woken);
                self.is_there = look();
            }
            false
        }

        pub(crate) fn is_there(&self, mut numbers: std::ops::Range<usize>) -> bool {
            numbers.any(|number| self.is_there[number])
        }
    }
}
