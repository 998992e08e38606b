//! Ways in which the engine is driven, for the suites of what it polls: each of them is to work
//! through the engine alone, whatever drives that.

use std::{
    pin::pin,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use oxshmem_base::settings::Driver;

use crate::executor::Executor;

/// How long what is waited for may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What drives an engine.
#[derive(Debug)]
pub enum Way {
    /// A thread in [`Executor::block_on`].
    BlockOn,
    /// A tokio runtime.
    Tokio(tokio::runtime::Runtime),
    /// An executor of futures that knows nothing of the engine, so that the helper drives.
    Foreign,
}

impl Way {
    /// All of them, with these runtimes, which are to be of both flavours.
    pub fn all(runtimes: [tokio::runtime::Runtime; 2]) -> impl Iterator<Item = Self> {
        [Self::BlockOn, Self::Foreign].into_iter().chain(runtimes.map(Self::Tokio))
    }

    /// Starts the drivers of `engines`, and does `work`, which waits for what they poll.
    ///
    /// # Panics
    /// If the work does, or if it is not woken for a minute where this can be seen.
    pub fn run<F: Future<Output = ()> + Send + 'static>(&self, engines: &[Arc<Executor>], work: F) {
        let start = |driver| {
            for engine in engines {
                engine.start_driver(driver).unwrap_or_else(|error| panic!("{error}"));
            }
        };
        match self {
            Self::BlockOn => {
                start(Driver::Thread);
                engines[0].block_on(work);
            }
            Self::Foreign => {
                start(Driver::Thread);
                foreign(work);
            }
            Self::Tokio(runtime) => runtime.block_on(async {
                start(Driver::Tokio);
                tokio::spawn(work).await.unwrap_or_else(|error| panic!("{error}"));
            }),
        }
    }
}

/// Wakes by a message.
struct Message(Sender<()>);

impl Wake for Message {
    fn wake(self: Arc<Self>) {
        // Fails if the work is over.
        let _ = self.0.send(());
    }
}

/// Polls a future when it is woken, and does nothing in between.
fn foreign(work: impl Future<Output = ()>) {
    let mut work = pin!(work);
    let (sender, woken): (_, Receiver<()>) = channel();
    let waker = Waker::from(Arc::new(Message(sender)));
    while work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        if woken.recv_timeout(LIMIT).is_err() {
            panic!("the work is not woken under a foreign executor");
        }
    }
}
