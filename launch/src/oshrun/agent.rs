//! `oshrun --agent`: starts and attends the PEs of one machine for the `oshrun` of the whole job,
//! with which it talks over its standard input and output, in [frames](super::frame).
//!
//! What concerns one machine is done here, as `oshrun` itself does it: processes, their output, the
//! memory that they share. What concerns all PEs is passed on. The agent ends, and all PEs with it,
//! when its input ends or has been silent for too long; should it be killed or stopped, its
//! guardian sees to that.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
    pin::pin,
    process::ExitCode,
    sync::{Arc, mpsc as blocking},
};

use oxshmem_base::sync::{Mutex, lock};
use oxshmem_job::wire::{Kind, Message};
use rustix::process::Signal;
use tokio::{
    io::AsyncWriteExt,
    net::unix::pipe,
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};

use super::{
    agents::silence,
    attend::Order,
    boards::HostBoards,
    events::{JobEvent, PeEvent},
    exchanges::Exchanges,
    frame::{FromAgent, Incoming, Letter, PREAMBLE, ToAgent, VERSION, is_passed_on},
    guardian::Guardian,
    here::{Ends, Here},
    input::{Input, InputFrom, StdinTo},
    lease::{BEAT, Lease, Renewal, now},
    output::{Output, Piece, Stream},
    pe::{self, Exit},
    places::Places,
    plan::{Plan, check_size, find},
    recordings::Recordings,
    start::TO_START,
};

/// The whole program.
pub(super) fn main() -> ExitCode {
    pe::leave_outer_job();
    // The guardian is forked here, while there is one thread.
    let guardian = match Guardian::start() {
        Ok(guardian) => guardian,
        Err(error) => return super::refuse(&format!("cannot start the guardian process: {error}")),
    };
    // On this thread, because the kernel kills PEs when the thread that started them ends.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = match runtime {
        Ok(runtime) => {
            let served = runtime.block_on(serve(&guardian));
            runtime.shutdown_background();
            served
        }
        Err(error) => Err(format!("cannot start: {error}")),
    };
    guardian.end();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => super::refuse(&reason),
    }
}

/// The way to `oshrun`. Clones lead to the same.
#[derive(Clone)]
struct ToLauncher(blocking::Sender<Vec<u8>>);

impl ToLauncher {
    /// Says that this is an agent, and starts the thread that writes.
    fn start() -> io::Result<Self> {
        let mut to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        to.write_all(&[PREAMBLE, VERSION.as_bytes(), b"\n"].concat())?;
        let (frames, written) = blocking::channel::<Vec<u8>>();
        let run = move || {
            for frame in written {
                // If nobody reads any more, there is nobody who writes either.
                if to.write_all(&frame).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("frames".to_owned()).spawn(run)?;
        Ok(Self(frames))
    }

    fn send(&self, frame: &FromAgent) {
        let _ = self.0.send(frame.encode());
    }
}

/// What comes from `oshrun`, read by a thread. Ends with the input.
fn frames() -> io::Result<mpsc::UnboundedReceiver<Option<ToAgent>>> {
    let mut from = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (sender, frames) = mpsc::unbounded_channel();
    let run = move || {
        let (mut incoming, mut bytes) = (Incoming::default(), vec![0; 64 << 10]);
        loop {
            match from.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => incoming.add(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            }
            loop {
                // What is no frame is none, and the last.
                let frame = match incoming.next() {
                    Ok(None) => break,
                    Ok(Some(frame)) => ToAgent::decode(frame),
                    Err(_) => None,
                };
                let is_last = frame.is_none();
                if sender.send(frame).is_err() || is_last {
                    return;
                }
            }
        }
    };
    std::thread::Builder::new().name("frames".to_owned()).spawn(run)?;
    Ok(frames)
}

/// Serves the job of the `oshrun` at the other end.
async fn serve(guardian: &Guardian) -> Result<(), String> {
    let cannot = |error: io::Error| format!("cannot start: {error}");
    let to_launcher = ToLauncher::start().map_err(cannot)?;
    let mut frames = frames().map_err(cannot)?;
    let plan = match frames.recv().await {
        Some(Some(ToAgent::Start(plan))) => *plan,
        Some(_) => return Err("--agent is for another oshrun, which starts it".to_owned()),
        None => return Ok(()),
    };
    // The launcher waits no longer.
    guardian.renew(now() + TO_START);
    let (send_event, events) = mpsc::unbounded_channel();
    match Agent::start(plan, guardian, &to_launcher, (send_event, events)).await {
        Ok(agent) => agent.run(frames).await,
        Err(reason) => {
            to_launcher.send(&FromAgent::Refused(reason));
            // Until it is read.
            while let Some(Some(_)) = frames.recv().await {}
            Ok(())
        }
    }
}

/// The PEs of this machine, and their launcher.
struct Agent<'a> {
    plan: Plan,
    guardian: &'a Guardian,
    here: Here<'a>,
    boards: HostBoards,
    /// Of what the leader of this machine's PEs offers; exchanges are the launcher's.
    exchanges: Exchanges,
    /// Whether each PE of the job that is here is between init and finalize, and whether it runs.
    inside: Vec<bool>,
    alive: Vec<bool>,
    to_launcher: ToLauncher,
    events: mpsc::UnboundedReceiver<JobEvent>,
    /// What was printed and sent, but not written yet.
    unwritten: Unwritten,
    input: Option<mpsc::UnboundedSender<Option<Vec<u8>>>>,
    lease: Lease,
    /// Whether the guardian is to be there.
    guarded: bool,
    /// Whether all PEs of the job have ended, and not all output is known to be written.
    finishing: bool,
    /// What is to be sent after that.
    recordings: Option<Recordings>,
}

/// By the PE and the stream that it was printed on.
type Unwritten = Arc<Mutex<HashMap<(usize, Stream), oneshot::Sender<()>>>>;

impl<'a> Agent<'a> {
    async fn start(
        plan: Plan,
        guardian: &'a Guardian,
        to_launcher: &ToLauncher,
        (send_event, events): (mpsc::UnboundedSender<JobEvent>, mpsc::UnboundedReceiver<JobEvent>),
    ) -> Result<Self, String> {
        let cannot = |error: io::Error| format!("cannot start: {error}");
        let folder = plan.folder.as_deref();
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(format!("there is no folder {}; --wdir names another", folder.display()));
        }
        check_size(plan.pes.len(), plan.stdin)?;
        let program = find(&plan.name, folder)?;
        let recordings = plan.trace.as_deref().map(|folder| {
            Recordings::remove(folder, plan.pes.clone());
            Recordings::of(folder, plan.pes.clone())
        });
        let unwritten = Unwritten::default();
        let (waiting, frames) = (Arc::clone(&unwritten), to_launcher.clone());
        let output = Output::to(move |Piece { stream, from, text, written }| {
            let Some(pe) = from else { return };
            lock(&waiting).insert((pe, stream), written);
            frames.send(&FromAgent::Output { pe, stream, text });
        });
        let output = output.map_err(cannot)?;
        let has_input = plan.stdin == StdinTo::All || plan.stdin == StdinTo::Zero && plan.pes.start == 0;
        let (input, pieces) = match has_input {
            true => {
                let (read, write) = io::pipe().map_err(cannot)?;
                let to = pipe::Sender::from_owned_fd(write.into()).map_err(cannot)?;
                let (pieces, come) = mpsc::unbounded_channel();
                tokio::spawn(pass_input(to, come, to_launcher.clone()));
                let from = InputFrom::File(File::from(std::os::fd::OwnedFd::from(read)));
                (Input::start(plan.stdin, from), Some(pieces))
            }
            false => (Input::start(StdinTo::None, InputFrom::Own), None),
        };
        let input = input.map_err(cannot)?;
        let ends = Ends { input: &input, output: &output, events: &send_event };
        let here = Here::start(&plan, &program, guardian, &ends).await?;
        let lease = Lease::begin(plan.lease, now());
        guardian.renew(lease.until());
        to_launcher.send(&FromAgent::Started(here.pids().to_vec()));
        // It was checked when it came.
        let hosts = plan.distribution.hosts(plan.n_pes).map_err(|error| error.to_string())?;
        let places = Places::new(hosts, &plan.machine);
        let mut alive = vec![false; plan.n_pes];
        alive[plan.pes.clone()].fill(true);
        Ok(Self {
            guardian,
            here,
            boards: HostBoards::new(places.clone()),
            exchanges: Exchanges::new(places.hosts().clone(), plan.has_replacements),
            inside: vec![false; plan.n_pes],
            alive,
            plan,
            to_launcher: to_launcher.clone(),
            events,
            unwritten,
            input: pieces,
            lease,
            guarded: true,
            finishing: false,
            recordings,
        })
    }

    /// Serves until the launcher lets go of this agent. `Err` says why it does not wait for that.
    async fn run(mut self, mut frames: mpsc::UnboundedReceiver<Option<ToAgent>>) -> Result<(), String> {
        let unguarded = self.guardian.ended();
        let mut unguarded = pin!(unguarded);
        let mut beat_at = Instant::now();
        loop {
            tokio::select! {
                frame = frames.recv() => match frame {
                    Some(Some(frame)) => self.obey(frame),
                    Some(None) => return Err("what came from the job's oshrun is no frame".to_owned()),
                    None => return Ok(()),
                },
                Some(event) = self.events.recv() => if let JobEvent::Pe(pe, event) = event {
                    self.pass_on(pe, event);
                },
                () = sleep_until(beat_at) => {
                    beat_at = Instant::now() + BEAT;
                    self.beat()?;
                }
                () = self.here.written(), if self.finishing => {
                    self.finishing = false;
                    self.send_recording();
                }
                ended = &mut unguarded, if self.guarded => {
                    self.guarded = false;
                    let exit = ended.unwrap_or(Exit::Status(1));
                    let pid = self.guardian.pid().as_raw_pid();
                    self.to_launcher.send(&FromAgent::Failed(format!("its guardian process (pid {pid}) {exit}")));
                    self.here.signal_group(Signal::KILL);
                }
            }
        }
    }

    /// Gives a sign of life. `Err` says that the lease is as good as over.
    fn beat(&mut self) -> Result<(), String> {
        let now = now();
        // A little before the guardian, which gives no reason, ends this process.
        if self.lease.is_over(now + BEAT) {
            return Err(format!("the job's oshrun is lost: {}", silence(self.plan.lease)));
        }
        if let Some(beat) = self.lease.beat(now) {
            self.to_launcher.send(&FromAgent::Beat(beat));
        }
        Ok(())
    }

    /// Does what the launcher asks for.
    fn obey(&mut self, frame: ToAgent) {
        match frame {
            ToAgent::Start(_) => {}
            ToAgent::Acknowledge(beat) => {
                if let Some(Renewal { until, resumes }) = self.lease.acknowledged(beat) {
                    self.guardian.renew(until);
                    if resumes {
                        self.here.signal_group(Signal::CONT);
                    }
                }
            }
            ToAgent::Deliver { to, letter, last } => self.deliver(&to, letter, last),
            ToAgent::SignalGroup(signal) => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    // The guardian goes with the others.
                    self.guarded &= signal != Signal::KILL;
                    self.here.signal_group(signal);
                }
            }
            ToAgent::SignalPes { signal, spare } => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    self.here.signal_pes(signal, spare);
                }
            }
            ToAgent::Look(number) => {
                let is_here = |pe: &usize| self.plan.pes.contains(pe);
                let awaited = self.exchanges.awaited().into_iter().filter(is_here).collect();
                self.to_launcher.send(&FromAgent::Looked { number, looks: self.boards.look(), awaited });
            }
            ToAgent::WhichEnd => {
                let ending = self.here.ending(|pe| self.alive[pe]);
                self.to_launcher.send(&FromAgent::Ending(ending));
            }
            ToAgent::Written(pe, stream) => {
                if let Some(written) = lock(&self.unwritten).remove(&(pe, stream)) {
                    // It fails when the relay was given up, and does not matter then.
                    let _ = written.send(());
                }
            }
            // It fails when no PE reads any more, which the launcher knows.
            ToAgent::Input(piece) => _ = self.input.as_ref().map(|input| input.send(Some(piece))),
            ToAgent::InputEnd => _ = self.input.take().map(|input| input.send(None)),
            ToAgent::Pause => {
                self.lease.pause();
                self.guardian.renew(self.lease.until());
                self.here.signal_group(Signal::TSTP);
            }
            ToAgent::Resume => {
                self.lease.resume(now());
                self.guardian.renew(self.lease.until());
                // The lease has just begun, so that this goes well.
                let _ = self.beat();
            }
            ToAgent::KillPe(pe) => {
                if self.plan.pes.contains(&pe) {
                    self.here.order(pe, Order::Signal(Signal::KILL));
                }
            }
            ToAgent::Replace(pe) => self.replace(pe),
            ToAgent::RecordingTaken => self.send_recording(),
            ToAgent::Finish => {
                self.guarded = false;
                self.here.signal_group(Signal::KILL);
                self.here.is_over();
                self.finishing = true;
            }
        }
    }

    /// Starts a replacement of PE `pe`.
    fn replace(&mut self, pe: usize) {
        if !self.plan.pes.contains(&pe) {
            return;
        }
        self.exchanges.replace(pe);
        let (pid, failed) = match self.here.replace(pe) {
            Ok(pid) => (pid, false),
            Err(_) => (0, true),
        };
        self.alive[pe] = !failed;
        self.to_launcher.send(&FromAgent::Replaced(pe, pid));
        if failed {
            self.to_launcher.send(&FromAgent::Exited(pe, Exit::Status(1)));
        }
    }

    /// Sends the next piece of what PEs have recorded. After the last, all is done.
    fn send_recording(&mut self) {
        let next = self.recordings.as_mut().and_then(Recordings::next);
        self.to_launcher.send(&next.unwrap_or(FromAgent::Done));
    }

    /// Passes a message of the launcher's on to PEs.
    fn deliver(&self, to: &[(usize, u64)], letter: Letter, last: bool) {
        let Letter { kind, value, body } = letter;
        let message = match Message::new(kind).value(value).with_body(body) {
            Ok(message) => message,
            Err(error) => {
                let why = error.to_string();
                return to.iter().for_each(|&(pe, _)| self.broken(pe, &why));
            }
        };
        for &(pe, ticket) in to.iter().filter(|(pe, _)| self.plan.pes.contains(pe)) {
            let message = message.clone().ticket(ticket);
            self.here.order(pe, if last { Order::SendLast(message) } else { Order::Send(message) });
        }
    }

    /// Does what concerns this machine of what has happened to a PE, and passes on the rest.
    fn pass_on(&mut self, pe: usize, event: PeEvent) {
        let message = match event {
            PeEvent::Message(message) => message,
            PeEvent::Broken(error) => return self.broken(pe, &error.to_string()),
            PeEvent::Exited(exit) => {
                (self.alive[pe], self.inside[pe]) = (false, false);
                self.boards.left(pe, |pe| self.inside[pe]);
                return self.to_launcher.send(&FromAgent::Exited(pe, exit));
            }
        };
        let ticket = message.ticket;
        let mail = match message.kind {
            Kind::Offer => {
                self.boards.offer(pe, message.descriptors());
                self.exchanges.offer(pe, message)
            }
            Kind::Fetch => self.exchanges.fetch(pe, ticket),
            kind if is_passed_on(kind) => {
                if kind == Kind::Join {
                    if !self.exchanges.is_replaced(pe) {
                        self.boards.joined(pe);
                    }
                    self.exchanges.joined(pe);
                    self.inside[pe] = true;
                } else if kind == Kind::Survives && pe == self.plan.pes.start {
                    // The leader offers nothing more.
                    self.exchanges.are_whole();
                } else if kind == Kind::Finalized {
                    self.inside[pe] = false;
                    self.boards.left(pe, |pe| self.inside[pe]);
                    // Rounds are the launcher's.
                    let _ = self.exchanges.left(pe);
                }
                let value = message.value;
                message.into_body().map(|body| {
                    let letter = Letter { kind, value, body };
                    self.to_launcher.send(&FromAgent::Pe { pe, ticket, letter });
                    Vec::new()
                })
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        };
        match mail {
            Ok(mail) => mail.into_iter().for_each(|(pe, message)| self.here.order(pe, Order::Send(message))),
            Err(error) => self.broken(pe, &error.to_string()),
        }
    }

    fn broken(&self, pe: usize, why: &str) {
        self.to_launcher.send(&FromAgent::Broken { pe, why: why.to_owned() });
    }
}

/// Passes pieces of standard input on to where PEs have it from, and lets the launcher know when
/// there is room for more.
async fn pass_input(
    mut to: pipe::Sender,
    mut pieces: mpsc::UnboundedReceiver<Option<Vec<u8>>>,
    to_launcher: ToLauncher,
) {
    while let Some(Some(piece)) = pieces.recv().await {
        if to.write_all(&piece).await.is_err() {
            return to_launcher.send(&FromAgent::InputClosed);
        }
        to_launcher.send(&FromAgent::InputTaken);
    }
}
