//! A job from its first process to its last: the event loop around [`Lifecycle`] and [`Exchanges`].

use std::{io, os::fd::OwnedFd, pin::pin, time::Duration};

use oxshmem_job::{
    lifeline::Lifeline,
    wire::{Inbox, Kind, Message, Outbox, TELL_NOTHING},
};
use rustix::{
    io::Errno,
    net::{Shutdown, shutdown},
    process::{Pid, Signal, kill_process},
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    net::unix::pipe,
    process::Child,
    signal::unix::{SignalKind, signal},
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::{
    diagnosis::Diagnosis,
    exchanges::{Exchanges, Mail},
    guardian::Guardian,
    input::Input,
    lifecycle::{Known, Lifecycle, Step, TO_END, TO_HEED, Verdict},
    options::RunOptions,
    output::{Loss, Output, Stream, relay},
    pe::{Exit, Pe, Starter, is_ending},
    places::Places,
};

/// How long a job that is to end waits for a reader of its output that does not read.
const TO_READ: Duration = Duration::from_secs(1);
/// How long PEs have to end by themselves when a PE has called `global_exit`.
const TO_LEAVE: Duration = Duration::from_millis(500);
/// How long what may be the consequence of a PE's end waits for that to be known.
const TO_BLAME: Duration = Duration::from_secs(1);

/// Runs a job. `Err` says why it could not be started, in which case none of it is left.
pub(super) async fn run(options: &RunOptions, guardian: &Guardian) -> Result<Verdict, String> {
    let cannot = |error: io::Error| format!("cannot start: {error}");
    let mut signals = signals().map_err(cannot)?;
    let no_thread =
        |error: io::Error| format!("cannot start: there is no thread for input and output: {error}");
    let (output, losses) = Output::start().map_err(no_thread)?;
    let input = Input::start(options.stdin).map_err(no_thread)?;
    let lifeline = Lifeline::of_group(guardian.pid()).map_err(cannot)?;
    let starter = Starter::new(options, guardian.pid(), &lifeline, &input).map_err(cannot)?;
    let mut pes = Vec::with_capacity(options.n_pes);
    for number in 0..options.n_pes {
        match starter.start(number) {
            Ok(pe) => pes.push(pe),
            Err(error) => {
                guardian.signal_group(Signal::KILL);
                for pe in &mut pes {
                    let _: Result<_, _> = pe.child.wait().await;
                }
                let name = options.name.to_string_lossy();
                return Err(format!("cannot start {name} as PE {number}: {error}"));
            }
        }
    }
    let outlets = Outlets { output, losses };
    let mut job = Job::new(options, guardian, starter.machine(), pes, &input, outlets).map_err(cannot)?;

    let unguarded = guardian.ended();
    let mut unguarded = pin!(unguarded);
    let mut guarded = true;
    let mut deadline = options.timeout.map(|limit| Instant::now() + limit);
    while job.lifecycle.goes_on() {
        let step = tokio::select! {
            Some((pe, event)) = job.events.recv() => {
                job.take_event(pe, event);
                None
            }
            Some(signal) = signals.recv() => match signal {
                Signal::TSTP => {
                    job.pause();
                    None
                }
                signal => job.lifecycle.signalled(signal),
            },
            Some((stream, error)) = job.outlets.losses.recv() => job.lifecycle.unwritten(stream, &error),
            () = at(deadline) => {
                deadline = None;
                job.lifecycle.timed_out(options.timeout.unwrap_or_default())
            }
            () = at(job.term_at) => {
                job.terminate();
                None
            }
            () = at(job.kill_at) => Some(job.lifecycle.overdue()),
            () = at(job.held.until) => {
                job.release();
                None
            }
            () = at(job.diagnosis.due()) => {
                job.hang();
                None
            }
            ended = &mut unguarded, if guarded => {
                guarded = false;
                let exit = ended.unwrap_or(Exit::Status(1));
                job.lifecycle.unguarded(guardian.pid().as_raw_pid(), exit)
            }
        };
        if let Some(step) = step {
            job.take(step);
        }
    }
    // Whatever the PEs have left running.
    guardian.signal_group(Signal::KILL);
    Ok(job.finish(&mut signals).await)
}

/// A job whose PEs are running.
struct Job<'a> {
    guardian: &'a Guardian,
    lifecycle: Lifecycle,
    exchanges: Exchanges,
    diagnosis: Diagnosis,
    /// What PEs were in when the verdict was made.
    last_seen: String,
    to_pes: Vec<mpsc::UnboundedSender<Order>>,
    events: mpsc::UnboundedReceiver<(usize, PeEvent)>,
    outlets: Outlets,
    relays: JoinSet<()>,
    /// Tells the relays that nothing more will be printed.
    over: watch::Sender<bool>,
    /// When PEs that were asked to end get SIGTERM, and the PE that asked for it, which gets none.
    term_at: Option<Instant>,
    spare: Option<usize>,
    kill_at: Option<Instant>,
    held: Held,
    /// The job is to end, whether or not its output is read.
    hasten: bool,
}

/// Where output goes, and what is lost of it.
struct Outlets {
    output: Output,
    losses: mpsc::UnboundedReceiver<Loss>,
}

/// What happens to a PE.
enum PeEvent {
    Message(Message),
    /// It cannot be talked to.
    Broken(io::Error),
    Exited(Exit),
}

impl PeEvent {
    /// Whether another PE's end may be the cause of it.
    fn may_follow(&self) -> bool {
        match self {
            Self::Message(message) => message.kind == Kind::Abort && message.value != 0,
            Self::Exited(exit) => matches!(exit, Exit::Status(_) | Exit::Signal(libc::SIGABRT)),
            Self::Broken(_) => false,
        }
    }
}

/// Ends of PEs that may have been caused by another's being killed, which the kernel has yet to
/// report: it closes the connections of a process first, and a PE that sees that may leave before.
#[derive(Default)]
struct Held {
    /// Whose ends are waited for.
    ending: Vec<usize>,
    events: Vec<(usize, PeEvent)>,
    /// For so long.
    until: Option<Instant>,
}

/// What is to be done about a PE.
enum Order {
    Send(Message),
    /// Nothing is sent after it, which PEs that wait for something else see too.
    SendLast(Message),
    Signal(Signal),
}

impl<'a> Job<'a> {
    fn new(
        options: &RunOptions,
        guardian: &'a Guardian,
        machine: &str,
        pes: Vec<Pe>,
        input: &Input,
        outlets: Outlets,
    ) -> io::Result<Self> {
        let places = Places::new(options.hosts.clone(), machine);
        let lifecycle =
            Lifecycle::new(places.clone(), pes.iter().map(|pe| pe.child.id().unwrap_or_default()));
        let (send_event, events) = mpsc::unbounded_channel();
        let over = watch::Sender::new(false);
        let mut relays = JoinSet::new();
        let mut inputs = Vec::new();
        let mut to_pes = Vec::with_capacity(pes.len());
        for (number, Pe { mut child, socket }) in pes.into_iter().enumerate() {
            if let Some(stdin) = child.stdin.take() {
                inputs.push(stdin.into_owned_fd()?);
            }
            let stdout = child.stdout.take().map(|pipe| pipe.into_owned_fd()).transpose()?;
            let stderr = child.stderr.take().map(|pipe| pipe.into_owned_fd()).transpose()?;
            for (stream, pipe) in [(Stream::Out, stdout), (Stream::Err, stderr)] {
                let Some(pipe) = pipe else { continue };
                let from = pipe::Receiver::from_owned_fd(pipe)?;
                let (output, over) = (outlets.output.clone(), over.subscribe());
                relays.spawn(relay(number, stream, options.tag_output, from, output, over));
            }
            let (to_pe, orders) = mpsc::unbounded_channel();
            to_pes.push(to_pe);
            let report = EventSender { pe: number, events: send_event.clone() };
            // SAFETY: `AsyncFd` owns the descriptor, and nothing closes it in between.
            let socket = unsafe { AsyncFd::register(socket)? };
            tokio::spawn(attend(child, socket, orders, report));
        }
        input.feed(inputs);
        let exchanges = Exchanges::new(places.clone());
        let diagnosis = Diagnosis::new(places);
        Ok(Self {
            guardian,
            lifecycle,
            exchanges,
            diagnosis,
            last_seen: String::new(),
            to_pes,
            events,
            outlets,
            relays,
            over,
            term_at: None,
            spare: None,
            kill_at: None,
            held: Held::default(),
            hasten: false,
        })
    }

    /// Takes note of what happened, at once or after what caused it.
    fn take_event(&mut self, pe: usize, event: PeEvent) {
        let may_follow = event.may_follow() && self.lifecycle.known(pe) == Known::Inside;
        let place = self.held.ending.iter().position(|&ending| ending == pe);
        if let (Some(place), PeEvent::Exited(_)) = (place, &event) {
            self.held.ending.swap_remove(place);
        } else if may_follow && self.held.until.is_none() && self.lifecycle.verdict_so_far().is_none() {
            let others = self.lifecycle.pids().into_iter().enumerate().filter(|&(other, _)| other != pe);
            let ending = others.filter(|&(other, pid)| self.lifecycle.is_alive(other) && is_ending(pid));
            self.held.ending = ending.map(|(other, _)| other).collect();
            self.held.until = (!self.held.ending.is_empty()).then(|| Instant::now() + TO_BLAME);
        }
        match may_follow && self.held.until.is_some() {
            true => self.held.events.push((pe, event)),
            false => self.note(pe, event),
        }
        if self.held.ending.is_empty() {
            self.release();
        }
    }

    /// Takes note of what was held.
    fn release(&mut self) {
        for (pe, event) in std::mem::take(&mut self.held).events {
            self.note(pe, event);
        }
    }

    fn note(&mut self, pe: usize, event: PeEvent) {
        if let Some(step) = self.on(pe, event) {
            self.take(step);
        }
    }

    /// What to do about what happened.
    fn on(&mut self, pe: usize, event: PeEvent) -> Option<Step> {
        let message = match event {
            PeEvent::Message(message) => message,
            PeEvent::Broken(error) => return self.lifecycle.failed(pe, &error.to_string()),
            PeEvent::Exited(exit) => {
                let step = self.lifecycle.exited(pe, exit);
                self.diagnosis.left(pe, |pe| self.lifecycle.known(pe));
                return step;
            }
        };
        let ticket = message.ticket;
        let mail = match message.kind {
            Kind::Join => {
                self.diagnosis.joined(pe);
                return self.lifecycle.joined(pe);
            }
            Kind::Stuck => {
                self.diagnosis.stuck(Instant::now());
                return None;
            }
            Kind::Finalized => {
                self.lifecycle.finalized(pe);
                self.diagnosis.left(pe, |pe| self.lifecycle.known(pe));
                return None;
            }
            Kind::Abort => {
                let (status, why) = (message.value, message.into_body().unwrap_or_default());
                return self.lifecycle.aborted(pe, status, &String::from_utf8_lossy(&why));
            }
            Kind::Exchange => {
                let want = message.value != TELL_NOTHING;
                message.into_body().and_then(|body| self.exchanges.exchange(pe, ticket, want, body))
            }
            Kind::Offer => {
                self.diagnosis.offer(pe, message.descriptors());
                self.exchanges.offer(pe, message)
            }
            Kind::Fetch => self.exchanges.fetch(pe, ticket),
            Kind::Exchanged | Kind::Offered | Kind::GlobalExit | Kind::Lost => {
                Err(io::ErrorKind::InvalidData.into())
            }
        };
        match mail {
            Ok(mail) => {
                self.deliver(mail);
                None
            }
            Err(error) => self.lifecycle.failed(pe, &error.to_string()),
        }
    }

    fn deliver(&self, mail: Mail) {
        for (pe, message) in mail {
            self.order(pe, Order::Send(message));
        }
    }

    fn order(&self, pe: usize, order: Order) {
        // Fails if the PE has ended, which is as well.
        let _ = self.to_pes[pe].send(order);
    }

    /// Prints what the PEs of a job that seems to be stuck are in.
    fn hang(&mut self) {
        let known = |pe| self.lifecycle.known(pe);
        let awaited = self.exchanges.awaited();
        let text = self.diagnosis.hang(&self.lifecycle.pids(), known, &awaited, Instant::now());
        // A job that is being ended hangs no more.
        if let Some(text) = text.filter(|_| self.lifecycle.verdict_so_far().is_none()) {
            self.tell(text);
        }
    }

    /// Prints a message, beside the loop, because the reader of the output may be slow.
    fn tell(&mut self, text: String) {
        let output = self.outlets.output.clone();
        self.relays.spawn(async move { output.tell(text.as_bytes()).await });
    }

    /// Does what the lifecycle asks for.
    fn take(&mut self, step: Step) {
        if let (Step::Terminate { .. }, Some(verdict)) = (step, self.lifecycle.verdict_so_far())
            && verdict.message.is_some()
        {
            // Before the others are informed, and turn to something else.
            let known = |pe| self.lifecycle.known(pe);
            self.last_seen = self.diagnosis.end(&self.lifecycle.pids(), known, verdict.about);
        }
        let notice = self.lifecycle.take_notice();
        let asked = notice.as_ref().is_some_and(|notice| notice.kind == Kind::GlobalExit);
        if let Some(notice) = notice {
            for pe in 0..self.to_pes.len() {
                let notice = notice.clone();
                self.order(pe, if asked { Order::SendLast(notice) } else { Order::Send(notice) });
            }
        }
        match step {
            Step::Show => {
                let known = |pe| self.lifecycle.known(pe);
                let text = self.diagnosis.show(&self.lifecycle.pids(), known);
                self.tell(text);
            }
            Step::Forward(Signal::USR2) => self.signal_pes(Signal::USR2, None),
            Step::Forward(signal) => {
                self.guardian.signal_group(signal);
                self.kill_at = Some(Instant::now() + TO_HEED);
                self.hasten = true;
            }
            Step::Terminate { spare } => {
                self.spare = spare;
                self.hasten |= spare.is_none();
                match asked {
                    true => self.term_at = Some(Instant::now() + TO_LEAVE),
                    false => self.terminate(),
                }
            }
            Step::Kill => {
                self.guardian.signal_group(Signal::KILL);
                (self.term_at, self.kill_at) = (None, None);
            }
        }
    }

    /// Sends SIGTERM, and SIGKILL a while later.
    fn terminate(&mut self) {
        match self.spare {
            None => self.guardian.signal_group(Signal::TERM),
            spare => self.signal_pes(Signal::TERM, spare),
        }
        (self.term_at, self.kill_at) = (None, Some(Instant::now() + TO_END));
    }

    /// Stops with the PEs, which the terminal does not stop since they are in a process group of
    /// their own, and goes on with them.
    fn pause(&self) {
        self.guardian.signal_group(Signal::TSTP);
        stop();
        self.guardian.signal_group(Signal::CONT);
    }

    fn signal_pes(&self, signal: Signal, spare: Option<usize>) {
        for pe in (0..self.to_pes.len()).filter(|&pe| Some(pe) != spare) {
            self.order(pe, Order::Signal(signal));
        }
    }

    /// Waits until all output is written, unless the user has had enough.
    async fn finish(mut self, signals: &mut mpsc::UnboundedReceiver<Signal>) -> Verdict {
        self.over.send_replace(true);
        let limit = self.hasten.then(|| Instant::now() + TO_READ);
        let ends_ill = self.lifecycle.verdict_so_far().is_some_and(|verdict| verdict.message.is_some());
        let written = async {
            while self.relays.join_next().await.is_some() {}
            if ends_ill {
                self.outlets.output.tell(b"").await;
            }
        };
        tokio::select! {
            () = written => {}
            () = interrupted(signals) => {}
            () = at(limit) => {}
        }
        while let Ok((stream, error)) = self.outlets.losses.try_recv() {
            self.lifecycle.unwritten(stream, &error);
        }
        let mut verdict = self.lifecycle.verdict();
        if let Some(message) = &mut verdict.message {
            *message += &self.last_seen;
        }
        verdict
    }
}

/// Returns when the user has had enough.
async fn interrupted(signals: &mut mpsc::UnboundedReceiver<Signal>) {
    while let Some(signal) = signals.recv().await {
        match signal {
            Signal::INT | Signal::TERM | Signal::HUP => return,
            // No PE is left that would have to stop too.
            Signal::TSTP => stop(),
            _ => {}
        }
    }
}

/// Stops this process until it is to go on.
fn stop() {
    // SAFETY: it touches no memory.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Returns at `time`, or never.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The signals that are for the PEs, as they come. Those that ask for what may be switched off, as
/// by `nohup`, are left alone if it is.
fn signals() -> io::Result<mpsc::UnboundedReceiver<Signal>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let all = [Signal::INT, Signal::TERM, Signal::HUP, Signal::TSTP, Signal::USR1, Signal::USR2];
    let optional = |kind| matches!(kind, Signal::HUP | Signal::TSTP);
    for kind in all.into_iter().filter(|&kind| !optional(kind) || !is_ignored(kind)) {
        let mut incoming = signal(SignalKind::from_raw(kind.as_raw()))?;
        let sender = sender.clone();
        tokio::spawn(async move { while incoming.recv().await.is_some() && sender.send(kind).is_ok() {} });
    }
    Ok(receiver)
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: Signal) -> bool {
    // SAFETY: an all-zero `sigaction` is a valid one.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks for the current action without setting another.
    let asked = unsafe { libc::sigaction(signal.as_raw(), std::ptr::null(), &mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Where the news of one PE goes.
struct EventSender {
    pe: usize,
    events: mpsc::UnboundedSender<(usize, PeEvent)>,
}

impl EventSender {
    fn send(&self, event: PeEvent) {
        // It fails when the loop has ended, and does not matter then.
        let _ = self.events.send((self.pe, event));
    }
}

/// Talks to one PE until its process has ended.
async fn attend(
    mut child: Child,
    socket: AsyncFd<OwnedFd>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    report: EventSender,
) {
    let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
    // Whether the PE may send more, whether there is something to send to it, and whether that has
    // to wait a little.
    let (mut open, mut sending, mut full) = (true, false, false);
    // Whether nothing will be sent after what is queued.
    let mut last = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            ready = socket.ready(Interest::READABLE), if open => match ready {
                Ok(mut ready) => {
                    open = take_all(&mut inbox, &socket, &report);
                    ready.clear_ready();
                }
                Err(error) => {
                    open = false;
                    report.send(PeEvent::Broken(error));
                }
            },
            Some(order) = orders.recv() => match order {
                Order::Send(message) | Order::SendLast(message) if last => drop(message),
                Order::Send(message) => {
                    outbox.push(message);
                    sending = true;
                }
                Order::SendLast(message) => {
                    outbox.push(message);
                    (sending, last) = (true, true);
                }
                // The number is the PE's for as long as `child` has not been waited for.
                Order::Signal(signal) => if let Some(pid) = child.id() {
                    let _ = Pid::from_raw(pid as i32).map(|pid| kill_process(pid, signal));
                }
            },
            Ok(mut ready) = socket.ready(Interest::WRITABLE), if sending && !full => {
                match outbox.flush(socket.get_ref()) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                    // The kernel has too many descriptors under way for this user.
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::TOOMANYREFS) => full = true,
                    // Done, or there is no reader any more.
                    _ => {
                        sending = false;
                        if last {
                            let _ = shutdown(socket.get_ref(), Shutdown::Write);
                        }
                    }
                }
            }
            () = sleep(Duration::from_millis(1)), if full => full = false,
        }
    };
    // What the PE sent before it ended counts before its end.
    if open {
        take_all(&mut inbox, &socket, &report);
    }
    report.send(PeEvent::Exited(status.map_or(Exit::Status(1), Exit::from)));
}

/// Takes all messages that are there; false when there will be no more.
fn take_all(inbox: &mut Inbox, socket: &AsyncFd<OwnedFd>, report: &EventSender) -> bool {
    loop {
        match inbox.receive(socket.get_ref()) {
            Ok(Some(message)) => report.send(PeEvent::Message(message)),
            Ok(None) => return false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            Err(error) => {
                report.send(PeEvent::Broken(error));
                return false;
            }
        }
    }
}
