//! Waiting without an async runtime: the calling thread polls the future, and drives while it
//! waits.

use std::{
    cell::Cell,
    pin::pin,
    ptr,
    sync::{Arc, Weak},
    task::{Context, Poll, Wake, Waker},
};

use oxshmem_base::{
    local::thread_local,
    sync::{
        AtomicBool, Ordering,
        thread::{self, Thread},
    },
};

use super::{Executor, owner};
use crate::{bell::Bell, completion::waiting, helper_waker::count_woken};

impl Executor {
    /// Runs `future` to its end on this thread.
    ///
    /// A future that is ready at once costs its poll and little more. Otherwise this thread does
    /// the driver's work, if no other thread is at it, and sleeps on the PE's doorbell.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use oxshmem_base::settings::FenceSide;
    /// # use oxshmem_progress::{executor::Executor, fabric::Fabric, wait::WaitPolicy};
    /// # let fabric = Fabric::new(1, 1 << 16, false)?;
    /// # let policy = WaitPolicy::new(Duration::ZERO, 64, false);
    /// # let executor = Executor::new(&fabric, 0, FenceSide::Writer, policy);
    /// let answer = executor.block_on(async {
    ///     let (send, receive) = tokio::sync::oneshot::channel();
    ///     std::thread::spawn(move || send.send(42));
    ///     receive.await // woken by the other thread
    /// });
    /// assert_eq!(answer, Ok(42));
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn block_on<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let (mut future, mut output) = (pin!(future), None);
        // A waker may run a task at once, and that may come here.
        waiting(|| {
            self.block_until(&mut |cx| match future.as_mut().poll(cx) {
                Poll::Ready(ended) => {
                    output = Some(ended);
                    Poll::Ready(())
                }
                Poll::Pending => Poll::Pending,
            });
        });
        output.expect("it returns when the future has ended")
    }

    /// Waits until `poll` is ready: the same code for futures of every type.
    #[inline(never)]
    fn block_until(self: &Arc<Self>, poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) {
        let waiter = Waiter::of_this_thread(&self.bell);
        let signal = &waiter.signal;
        let mut cx = Context::from_waker(&waiter.waker);
        // Until this thread has the role, or waits no more.
        let mut request = None;
        loop {
            signal.set.store(false, Ordering::SeqCst);
            if self.poll_once(poll, &mut cx).is_ready() {
                return waiter.keep();
            }
            while !signal.is_set() {
                if let Some(_role) = self.try_role() {
                    request = None;
                    self.drive_blocking(|| signal.is_set());
                }
                if !signal.is_set() {
                    // There is nothing to drive, or another thread does.
                    if request.is_none() {
                        request = self.request_role();
                    }
                    self.park();
                }
            }
        }
    }
}

impl Executor {
    /// Runs what starts something and blocks until that is over, so that meanwhile no helper is
    /// needed for what this thread waits for: it drives by itself, or waits for another thread that
    /// does.
    ///
    /// [`block_on`](Self::block_on) does so for what its future starts; this is for futures that
    /// have started before they are polled.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use oxshmem_base::settings::FenceSide;
    /// # use oxshmem_progress::{executor::Executor, fabric::Fabric, wait::WaitPolicy};
    /// # let fabric = Fabric::new(1, 1 << 16, false)?;
    /// # let policy = WaitPolicy::new(Duration::ZERO, 64, false);
    /// # let executor = Executor::new(&fabric, 0, FenceSide::Writer, policy);
    /// let answer = executor.blocking(|| {
    ///     let started = std::future::ready(42);
    ///     executor.block_on(started)
    /// });
    /// assert_eq!(answer, 42);
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    #[inline]
    pub fn blocking<T>(self: &Arc<Self>, run: impl FnOnce() -> T) -> T {
        let will_drive = WillDrive::on_this_thread(self);
        let output = run();
        if self.owner.unfired() > 0 {
            will_drive.not_after_all();
        }
        output
    }

    fn poll_once(
        self: &Arc<Self>,
        poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let will_drive = WillDrive::on_this_thread(self);
        let polled = poll(cx);
        if polled.is_ready() && self.owner.unfired() > 0 {
            will_drive.not_after_all();
        }
        polled
    }
}

/// Marks a poll in `block_on`.
struct WillDrive<'a> {
    executor: &'a Arc<Executor>,
    outer: bool,
}

impl<'a> WillDrive<'a> {
    fn on_this_thread(executor: &'a Arc<Executor>) -> Self {
        Self { executor, outer: owner::set_will_drive(true) }
    }

    /// The future is ready, so that this thread drives no more. What the poll registered and left
    /// behind is somebody else's to look after.
    fn not_after_all(self) {
        let executor = self.executor;
        drop(self);
        executor.kick();
    }
}

impl Drop for WillDrive<'_> {
    fn drop(&mut self) {
        owner::set_will_drive(self.outer);
    }
}

/// What a thread in `block_on` is woken by.
struct Waiter {
    signal: Arc<Signal>,
    waker: Waker,
}

thread_local! {
    /// This thread's, while it is in no `block_on`: making one costs more than the rest of a wait
    /// for a message.
    static WAITER: Cell<Option<Waiter>> = const { Cell::new(None) };
}

impl Waiter {
    /// One for this thread: the one before, if that was for the same PE. Whatever still knows it
    /// may wake the thread without need, which is one look at the future.
    fn of_this_thread(bell: &Arc<Bell>) -> Self {
        // There is none any more for what runs when the thread ends.
        let kept = WAITER.try_with(Cell::take).ok().flatten();
        kept.filter(|waiter| ptr::eq(waiter.signal.bell.as_ptr(), &**bell)).unwrap_or_else(|| {
            let set = AtomicBool::new(false);
            let signal = Arc::new(Signal { set, thread: thread::current(), bell: Arc::downgrade(bell) });
            Self { waker: Waker::from(Arc::clone(&signal)), signal }
        })
    }

    /// Keeps it for the next.
    fn keep(self) {
        let _ = WAITER.try_with(|kept| kept.set(Some(self)));
    }
}

/// Wakes a thread that may sleep in `park` or on the PE's doorbell.
struct Signal {
    set: AtomicBool,
    thread: Thread,
    /// Not the PE's last reference, as this may be kept.
    bell: Weak<Bell>,
}

impl Signal {
    fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // SeqCst: the thread looks at `set` after it has announced its sleep, and before it sleeps.
        self.set.store(true, Ordering::SeqCst);
        // Woken by its own scan the thread is awake already.
        if thread::current().id() != self.thread.id() {
            count_woken();
            self.thread.unpark();
            if let Some(bell) = self.bell.upgrade() {
                bell.ring_process();
            }
        }
    }
}
