//! A PE in a process of its own, started by `oshrun`: this side of the socket to the launcher.
//!
//! Every request carries a ticket, which its answer repeats. A thread that waits takes messages off
//! the socket one at a time and leaves what answers another task in the inbox, so that a dropped
//! future loses nothing.

use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use oxshmem_base::{
    Error, Result,
    home::Home,
    readable,
    sync::{Mutex, lock},
};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    fs::FileType,
    io::{FdFlags, fcntl_getfd, fcntl_setfd},
    net::sockopt::set_socket_passcred,
    time::{ClockId, clock_gettime},
};

use super::{
    Bootstrap, Offer, Placement,
    claim::Claim,
    job::{JOB_VARIABLE, Job},
    lifeline,
    losses::{Loss, Losses, Rejoined},
    wire::{self, Kind, Message, TeamRound},
};

/// How long the thread that reads may take for a message.
const READING: Duration = Duration::from_millis(20);

/// How long the launcher may take to know that this PE takes no part any more.
const KNOWING: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// One PE of a job that `oshrun` started.
///
/// In a tokio runtime with I/O enabled, waiting is asynchronous. Elsewhere it blocks the calling
/// thread: all that waits here is the start of a job, when a program has nothing else to do, and
/// what is waited for is up to other processes. There, calls must be awaited one after the other.
#[derive(Debug)]
pub struct Launched {
    placement: Placement,
    /// Whether one machine simulates all hosts.
    simulated: bool,
    /// The inherited descriptor. It stays open when this is dropped, so that the process can be a
    /// PE again.
    socket: BorrowedFd<'static>,
    /// The next ticket. Locked while a message is being sent, so that its parts stay together.
    sending: Mutex<u64>,
    inbox: tokio::sync::Mutex<Arrived>,
    exchanges: AtomicUsize,
    home: Home,
    /// Until this PE has left the job: a handle to it that is still held must not keep the next
    /// one out.
    claim: Mutex<Option<Claim>>,
    /// Reads what the launcher sends at any time, in a job that goes on without PEs that it has
    /// lost.
    reader: Option<Reader>,
    /// Until then, too, this process ends with the launcher. What it does after that is its own.
    lifeline: Mutex<Option<OwnedFd>>,
}

/// What has arrived.
#[derive(Debug, Default)]
struct Arrived {
    wire: wire::Inbox,
    answers: HashMap<u64, Message>,
    /// The message by which the launcher ended the job.
    end: Option<Message>,
    losses: Option<Arc<Losses>>,
}

/// The thread that reads what the launcher sends.
#[derive(Debug)]
struct Reader {
    losses: Arc<Losses>,
    /// Ends it.
    stop: OwnedFd,
}

impl Arrived {
    /// Puts a message where it is looked for. Returns what it is if no launcher sends that.
    fn put(&mut self, message: Message) -> Option<Kind> {
        match message.kind {
            Kind::Exchanged | Kind::Offered | Kind::Regrouped => {
                drop(self.answers.insert(message.ticket, message))
            }
            Kind::GlobalExit | Kind::Lost => self.end = Some(message),
            Kind::Loss => {
                let (pe, view) = (message.ticket as usize, message.value as u64);
                let how = message.into_body().unwrap_or_default();
                if let Some(losses) = &self.losses {
                    losses.add(Loss::new(pe, view, &String::from_utf8_lossy(&how)));
                }
            }
            Kind::Rejoined => {
                let (pe, n) = (message.ticket as usize, message.value as usize);
                let given = message.into_body().ok().and_then(|body| wire::unpack(&body, n));
                if let (Some(losses), Some(given)) = (&self.losses, given) {
                    losses.add_rejoined(Rejoined { pe, given });
                }
            }
            Kind::Settled => {
                if let Some(losses) = &self.losses {
                    losses.settle(message.value as u64);
                }
            }
            kind => return Some(kind),
        }
        None
    }
}

impl Launched {
    /// The PE that this process was started as; `None` if `oshrun` did not start it.
    ///
    /// # Errors
    /// [`Error::AlreadyInitialized`] while another `Launched` lives in this process, and
    /// [`Error::Bootstrap`] in a process that has the PE's environment but is not the PE, such as a
    /// program that a PE started.
    pub fn from_env() -> Result<Option<Self>> {
        let Some(value) = std::env::var_os(JOB_VARIABLE) else {
            return Ok(None);
        };
        let text = value.to_string_lossy();
        let job: Job = text.parse().map_err(|reason| {
            let advice = "only oshrun sets this variable; unset it, or start the program with oshrun";
            failed("init", format!("{JOB_VARIABLE}={text:?} cannot be used: {reason}; {advice}"))
        })?;
        let placement = job.placement()?;
        let claim = Claim::take(job.pe)?;
        let socket = adopt(&job)?;
        let launched = Self {
            placement,
            simulated: job.simulated,
            socket,
            // Tickets start at the time, so that an answer to a process that was here before is not
            // taken for ours.
            sending: Mutex::new(nanoseconds()),
            inbox: tokio::sync::Mutex::default(),
            exchanges: AtomicUsize::new(0),
            home: Home::here(),
            claim: Mutex::new(Some(claim)),
            lifeline: Mutex::new(lifeline::of_this_process(&job)),
            reader: None,
        };
        launched.send("init", Message::new(Kind::Join))?;
        Ok(Some(launched))
    }

    /// This PE in a job that goes on without PEs that it has lost. A thread reads what the launcher
    /// sends.
    ///
    /// # Errors
    /// The system's, if there can be no further descriptor or thread.
    pub fn go_on(mut self) -> Result<Arc<Self>> {
        let failed = |error: io::Error| Error::system("init", error);
        let losses = Arc::<Losses>::default();
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop = stop.map_err(|error| failed(error.into()))?;
        let copy = stop.try_clone().map_err(failed)?;
        self.inbox.get_mut().losses = Some(Arc::clone(&losses));
        self.reader = Some(Reader { losses, stop });
        let launched = Arc::new(self);
        launched.read_at_any_time(copy).map_err(failed)?;
        Ok(launched)
    }

    /// Starts the thread that reads until `stop` is readable.
    fn read_at_any_time(self: &Arc<Self>, stop: OwnedFd) -> io::Result<()> {
        let (launched, socket) = (Arc::downgrade(self), self.socket);
        let read = move || {
            loop {
                let mut polled =
                    [PollFd::from_borrowed_fd(socket, PollFlags::IN), PollFd::new(&stop, PollFlags::IN)];
                let _ = rustix::io::retry_on_intr(|| poll(&mut polled, None));
                if !polled[1].revents().is_empty() {
                    return;
                }
                let Some(launched) = launched.upgrade() else { return };
                // A thread that waits for an answer takes what comes.
                let mut inbox = launched.inbox.blocking_lock();
                match inbox.wire.receive(socket) {
                    Ok(Some(message)) => _ = launched.take(&mut inbox, message),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Ok(None) | Err(_) => return,
                }
            }
        };
        std::thread::Builder::new().name("oxshmem-launcher".to_owned()).spawn(read).map(drop)
    }

    /// Takes note of a message. Returns what it is if no launcher sends that.
    fn take(&self, inbox: &mut Arrived, message: Message) -> Option<Kind> {
        let known = self.losses().map_or(0, |losses| losses.view());
        let unknown = inbox.put(message);
        let view = self.losses().map_or(0, |losses| losses.view());
        if view > known {
            // A launcher that is gone ends this process.
            let _ = self.send("loss", Message::new(Kind::Knows).value(view as i32));
        }
        unknown
    }

    /// Sends a message under the next ticket, which it returns.
    fn send(&self, call: &'static str, message: Message) -> Result<u64> {
        // The socket is the PE's, whatever its children have of it.
        self.home.check(self.placement.pe, call)?;
        let mut next = lock(&self.sending);
        let ticket = *next;
        *next += 1;
        // The launcher always reads, so that this does not block for longer than a context switch.
        match message.ticket(ticket).send(self.socket) {
            Ok(()) => Ok(ticket),
            Err(error) if gone(&error) => Err(launcher_gone(call)),
            Err(error) => Err(Error::system(call, error)),
        }
    }

    /// What has arrived, unless a thread waits for an answer.
    fn inbox_soon(&self) -> Option<tokio::sync::MutexGuard<'_, Arrived>> {
        let begin = Instant::now();
        loop {
            match self.inbox.try_lock() {
                Ok(inbox) => return Some(inbox),
                // The thread that reads holds it for no longer than that takes.
                Err(_) if self.reader.is_some() && begin.elapsed() < READING => std::thread::yield_now(),
                Err(_) => return None,
            }
        }
    }

    async fn answer(&self, call: &'static str, ticket: u64) -> Result<Message> {
        loop {
            // Held for one message at a time, so that others get to see what arrived for them.
            let mut inbox = self.inbox.lock().await;
            if let Some(answer) = inbox.answers.remove(&ticket) {
                return Ok(answer);
            }
            if let Some(end) = &inbox.end {
                return Err(error_of(end.clone()));
            }
            match inbox.wire.receive(self.socket) {
                Ok(Some(message)) => {
                    if let Some(kind) = self.take(&mut inbox, message) {
                        return Err(failed(call, format!("oshrun sent {kind:?}, which only PEs send")));
                    }
                }
                Ok(None) => return Err(launcher_gone(call)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    arrival(self.socket).await.map_err(|error| Error::system(call, error))?
                }
                Err(error) => return Err(failed(call, format!("from oshrun: {error}"))),
            }
        }
    }
}

impl super::sealed::Sealed for Launched {}

#[async_trait]
impl Bootstrap for Launched {
    fn placement(&self) -> &Placement {
        &self.placement
    }

    async fn exchange(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        const CALL: &str = "exchange";
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        let message = Message::new(Kind::Exchange).with_body(mine);
        let ticket = self.send(CALL, message.map_err(|error| Error::system(CALL, error))?)?;
        let answer = self.answer(CALL, ticket).await?.into_body();
        wire::unpack(&answer.map_err(|error| Error::system(CALL, error))?, self.placement.n_pes)
            .ok_or_else(|| failed(CALL, "oshrun's answer is malformed"))
    }

    async fn exchange_to_leaders(&self, mine: Vec<u8>) -> Result<Option<Arc<[Vec<u8>]>>> {
        const CALL: &str = "exchange";
        if self.placement.is_leader() || self.placement.is_replacement {
            // A replacement finds nothing new in what the leader has shared.
            return self.exchange(mine).await.map(Some);
        }
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        let message = Message::new(Kind::Exchange).value(wire::TELL_NOTHING).with_body(mine);
        let ticket = self.send(CALL, message.map_err(|error| Error::system(CALL, error))?)?;
        self.answer(CALL, ticket).await.map(|_| None)
    }

    fn is_one_machine(&self) -> bool {
        self.simulated
    }

    fn in_process(&self) -> bool {
        false
    }

    async fn share_raw(&self, offer: Option<Offer>) -> Result<Offer> {
        const CALL: &str = "share";
        match (offer, self.placement.is_leader()) {
            (Some(Offer::Descriptors(descriptors)), true) => {
                let message = Message::new(Kind::Offer).with_descriptors(descriptors);
                self.send(CALL, message.clone())?;
                descriptors_of(message)
            }
            (None, false) => {
                let ticket = self.send(CALL, Message::new(Kind::Fetch))?;
                descriptors_of(self.answer(CALL, ticket).await?)
            }
            (Some(Offer::Object(_)), _) => Err(failed(CALL, "an object cannot leave its process")),
            _ => Err(failed(CALL, "the host's leader offers, the other PEs do not")),
        }
    }

    fn finalized(&self) {
        // If the launcher is gone, no process is left that wants to know.
        if let Some(reader) = &self.reader {
            // It has room.
            let _ = rustix::io::write(&reader.stop, &1_u64.to_ne_bytes());
        }
        let _ = self.send("finalize", Message::new(Kind::Finalized));
        drop(lock(&self.lifeline).take());
        drop(lock(&self.claim).take());
    }

    fn abandoned(&self, _: &str) {
        let Ok((known, theirs)) = io::pipe() else { return };
        let message = Message::new(Kind::Abandoned).with_descriptors(vec![theirs.into()]);
        if self.send("finalize", message).is_ok() {
            let mut known = [PollFd::new(&known, PollFlags::empty())];
            let _ = rustix::io::retry_on_intr(|| poll(&mut known, Some(&KNOWING)));
        }
    }

    fn exchanges(&self) -> usize {
        // Relaxed: init calls them one after the other.
        self.exchanges.load(Ordering::Relaxed)
    }

    async fn regroup(&self, round: TeamRound) -> Result<(u64, Vec<Vec<u8>>)> {
        const CALL: &str = "survivors";
        let message = Message::new(Kind::Regroup).with_body(round.encode());
        let ticket = self.send(CALL, message.map_err(|error| Error::system(CALL, error))?)?;
        let answer = self.answer(CALL, ticket).await?;
        let view = answer.value as u64;
        let body = answer.into_body().map_err(|error| Error::system(CALL, error))?;
        let all = wire::unpack(&body, round.members.len());
        all.map(|all| (view, all.to_vec())).ok_or_else(|| failed(CALL, "oshrun's answer is malformed"))
    }

    fn losses(&self) -> Option<&Arc<Losses>> {
        self.reader.as_ref().map(|reader| &reader.losses)
    }

    fn survives(&self) {
        // Without a launcher, the process is about to be killed anyway.
        let _ = self.send("init", Message::new(Kind::Survives));
    }

    fn suspects(&self, pe: usize, out_of_reach: bool) {
        let kind = if out_of_reach { Kind::Suspects } else { Kind::Reaches };
        // Without a launcher, the process is about to be killed anyway.
        let _ = self.send("put", Message::new(kind).value(pe as i32));
    }

    fn stuck(&self) -> bool {
        self.send("diagnosis", Message::new(Kind::Stuck)).is_ok()
    }

    fn hangs_up(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket)
    }

    fn global_exit(&self) -> Option<(usize, i32)> {
        // A thread that waits for an answer meanwhile takes the message for what it is.
        let mut inbox = self.inbox_soon()?;
        while inbox.end.is_none() {
            // Nothing comes after what the launcher says last.
            let message = inbox.wire.receive(self.socket).ok().flatten()?;
            self.take(&mut inbox, message);
        }
        let end = inbox.end.as_ref().filter(|end| end.kind == Kind::GlobalExit)?;
        Some((end.ticket as usize, end.value))
    }

    fn abort(&self, status: i32, why: &str) {
        let why = why.chars().take(1000).collect::<String>().into_bytes();
        let message = Message::new(Kind::Abort).value(status).with_body(why);
        // Without a launcher, the process is about to be killed anyway.
        let _ = message.map(|message| self.send("global_exit", message));
    }
}

fn error_of(end: Message) -> Error {
    let pe = end.ticket as usize;
    if end.kind == Kind::GlobalExit {
        return Error::GlobalExit { pe, status: end.value };
    }
    let how = end.into_body().unwrap_or_default();
    Error::PeLost { pe, view: 0, how: String::from_utf8_lossy(&how).into_owned() }
}

fn descriptors_of(message: Message) -> Result<Offer> {
    let descriptors = message.into_descriptors().map_err(|error| Error::system("share", error))?;
    Ok(Offer::Descriptors(descriptors))
}

/// Makes sure that the descriptor in the environment is the socket that `oshrun` put there, and
/// keeps it from the programs that this process starts.
fn adopt(job: &Job) -> Result<BorrowedFd<'static>> {
    let refuse = |what: &str| {
        let (fd, pe) = (job.fd, job.pe);
        let detail = format!(
            "the environment says that this process is PE {pe}, but its descriptor {fd} {what}; a program that \
             a PE starts is no PE itself: unset {JOB_VARIABLE} for it, or start it with oshrun"
        );
        failed("init", detail)
    };
    // SAFETY: the number is not negative (`Job` checks that). The descriptor may be closed, in
    // which case the first call says so; if it is our socket, no other code in this process knows
    // of it or closes it.
    let socket = unsafe { BorrowedFd::borrow_raw(job.fd) };
    fcntl_getfd(socket).map_err(|_| refuse("is closed"))?;
    if !wire::is_still(socket, FileType::Socket, job.inode) {
        return Err(refuse("is something else than the socket to oshrun"));
    }
    fcntl_setfd(socket, FdFlags::CLOEXEC).map_err(|error| Error::system("init", error))?;
    set_socket_passcred(socket, true).map_err(|error| Error::system("init", error))?;
    Ok(socket)
}

/// Returns when there may be something to read.
async fn arrival(socket: BorrowedFd<'static>) -> io::Result<()> {
    // Made anew each time, because successive calls may run in different runtimes.
    if let Some(watch) = readable::watch(socket.try_clone_to_owned()?) {
        return watch.readable().await.map(drop);
    }
    let mut polled = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut polled, None))?;
    Ok(())
}

fn nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn failed(call: &'static str, detail: impl std::fmt::Display) -> Error {
    Error::bootstrap(call, detail)
}

fn launcher_gone(call: &'static str) -> Error {
    failed(call, "oshrun, which started this job, is gone; the job is over")
}

fn gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected
    )
}
