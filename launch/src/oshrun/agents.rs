//! The machines of a job, as the first `oshrun` reaches them: an agent on each, started by ssh or
//! by a command of the user's, whose standard input and output carry [frames](super::frame).
//!
//! A task for each agent reads what it sends, another writes. An agent sends a sign of life every
//! [`BEAT`], which is acknowledged; a host without one for as long as its [lease](super::lease) is
//! given up. What PEs print is taken a piece at a time: the next comes when the one before is
//! written.

use std::{
    ffi::{OsStr, OsString},
    io,
    ops::Range,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    process::Stdio,
    time::Duration,
};

use oxshmem_base::printable::printable;
use oxshmem_job::wire::Message;
use rustix::process::Pid;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe,
    process::{Child, ChildStdin, Command},
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{
    events::{HostEvent, JobEvent, PeEvent},
    exchanges::Mail,
    frame::{FromAgent, Incoming, Letter, ToAgent, VERSION, is_passed_on},
    input::StdinTo,
    lease::{BEAT, Grants, now},
    options::Fleet,
    output::Output,
    pe::Exit,
    places::Places,
    plan::Plan,
    recordings::ReceivedRecordings,
    signals::stop,
};

/// How long a launch agent whose connection has ended may take to end.
const TO_END: Duration = Duration::from_secs(1);
/// How much of standard input travels at a time.
const PIECE: usize = 64 << 10;

/// All agents of a job.
pub(super) struct Agents {
    places: Places,
    links: Vec<Link>,
    /// The tasks that read what agents send.
    readers: JoinSet<()>,
    grants: Grants,
    /// When the leases are to be looked at.
    pub(super) beat_at: Instant,
}

/// The way to one agent.
struct Link {
    name: String,
    pes: Range<usize>,
    /// None once the host is lost.
    frames: Option<mpsc::UnboundedSender<Outgoing>>,
    /// Whether it is known to be there.
    started: bool,
    /// Whether nothing more is expected of it.
    done: bool,
}

/// What is written to an agent.
enum Outgoing {
    Frame(Vec<u8>),
    /// Everything before it was written.
    Flushed(oneshot::Sender<()>),
}

/// What the task that reads needs of the job.
struct ReaderWays {
    host: usize,
    pes: Range<usize>,
    events: mpsc::UnboundedSender<JobEvent>,
    output: Output,
    frames: mpsc::WeakUnboundedSender<Outgoing>,
    /// Whether another piece of standard input can be taken.
    input: mpsc::UnboundedSender<bool>,
    recordings: ReceivedRecordings,
}

impl Agents {
    /// Starts an agent on each machine, in the process group `group`, and asks it for its PEs of
    /// `plan`. The other value has the pipes that standard input is to be written to.
    pub(super) fn start(
        fleet: &Fleet,
        plan: &Plan,
        (places, group): (Places, Pid),
        (output, events): (&Output, &mpsc::UnboundedSender<JobEvent>),
    ) -> Result<(Self, Vec<OwnedFd>), String> {
        let (mut links, mut inputs, mut readers) = (Vec::new(), Vec::new(), JoinSet::new());
        let mut first = 0;
        for (host, slots) in fleet.hosts.iter().enumerate() {
            let name = slots.name().to_owned();
            let pes = first..first + slots.count;
            first = pes.end;
            let mut child = launch(fleet, &slots.host, group)?;
            let (Some(stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(format!("host {name}: there is no pipe to its agent"));
            };
            let (frames, outgoing) = mpsc::unbounded_channel();
            tokio::spawn(write_all(stdin, outgoing));
            let (taken, takes) = mpsc::unbounded_channel();
            if plan.stdin == StdinTo::All || plan.stdin == StdinTo::Zero && host == 0 {
                let cannot = |error: io::Error| format!("cannot make a pipe: {error}");
                let (read, write) = io::pipe().map_err(cannot)?;
                inputs.push(write.into());
                let from = pipe::Receiver::from_owned_fd(read.into()).map_err(cannot)?;
                tokio::spawn(pass_input(from, frames.downgrade(), takes));
            }
            let mut ways = ReaderWays {
                host,
                pes: pes.clone(),
                events: events.clone(),
                output: output.clone(),
                frames: frames.downgrade(),
                input: taken,
                recordings: ReceivedRecordings::new(plan.trace.clone()),
            };
            readers.spawn(async move {
                let how = match ways.read_all(&mut stdout).await {
                    Some(how) => how,
                    None => end_of(&mut child).await,
                };
                // It fails when the job is over, and does not matter then.
                let _ = ways.events.send(JobEvent::Host(host, HostEvent::Gone(how)));
            });
            let own = Plan { pes: pes.clone(), machine: name.clone(), ..plan.clone() };
            let frames = Some(frames);
            let link = Link { name, pes, frames, started: false, done: false };
            link.send(&ToAgent::Start(Box::new(own)));
            links.push(link);
        }
        let grants = Grants::new(plan.lease, links.len());
        let beat_at = Instant::now() + BEAT;
        Ok((Self { places, links, readers, grants, beat_at }, inputs))
    }

    /// The name and the PEs of a host.
    pub(super) fn host(&self, host: usize) -> (&str, Range<usize>) {
        (&self.links[host].name, self.links[host].pes.clone())
    }

    /// The agent of a host is there, and has started its PEs.
    pub(super) fn started(&mut self, host: usize) {
        self.links[host].started = true;
        self.grants.begin(host, now());
    }

    /// The first host whose agent has not started its PEs.
    pub(super) fn missing(&self) -> Option<&str> {
        self.links.iter().find(|link| !link.started).map(|link| &*link.name)
    }

    /// All that a host was asked for is done.
    pub(super) fn done(&mut self, host: usize) {
        self.links[host].done = true;
    }

    /// Whether that is so of a host.
    pub(super) fn is_done(&self, host: usize) -> bool {
        self.links[host].done
    }

    /// Whether that is so of all hosts.
    pub(super) fn all_done(&self) -> bool {
        self.links.iter().all(|link| link.done)
    }

    /// A host is given up, for the reason `how`: it is sent nothing more. False if it was before.
    pub(super) fn gone(&mut self, host: usize, how: &str) -> bool {
        self.grants.give_up(host, how, now());
        self.links[host].done = true;
        self.links[host].frames.take().is_some()
    }

    /// What becomes of a host's PEs is decided.
    pub(super) fn decided(&mut self, host: usize) {
        self.grants.over(host);
    }

    /// A beat of a host's agent has come.
    pub(super) fn beat_of(&mut self, host: usize, beat: u64) {
        if self.grants.acknowledges(host, now()) {
            self.links[host].send(&ToAgent::Acknowledge(beat));
        }
    }

    /// How a host is lost that gives no sign of life.
    pub(super) fn silence(&self) -> String {
        silence(self.grants.term())
    }

    /// How a host is lost whose connection has ended in the way `how`: if it is silent, its lease
    /// was over, and its guardian has ended the agent.
    pub(super) fn why(&self, host: usize, how: String) -> String {
        match self.grants.is_silent(host, now() + 2 * BEAT) {
            true => self.silence(),
            false => how,
        }
    }

    /// Looks at the leases: the hosts that have given no sign of life for too long.
    pub(super) fn silent(&mut self) -> Vec<usize> {
        self.beat_at = Instant::now() + BEAT;
        self.grants.silent(now())
    }

    /// The hosts that were given up, with the reason, whose PEs are sure to have ended by now.
    pub(super) fn dead(&self) -> Vec<(usize, String)> {
        self.grants.dead(now())
    }

    /// Kills one PE.
    pub(super) fn kill_pe(&self, pe: usize) {
        self.links[self.places.hosts().host_of(pe)].send(&ToAgent::KillPe(pe));
    }

    /// Has a replacement of PE `pe` started.
    pub(super) fn replace(&self, pe: usize) {
        self.links[self.places.hosts().host_of(pe)].send(&ToAgent::Replace(pe));
    }

    /// Sends a frame to all agents, and returns the hosts that it went to.
    pub(super) fn send_all(&self, frame: &ToAgent) -> Vec<usize> {
        let there = self.links.iter().enumerate().filter(|(_, link)| link.frames.is_some());
        there.map(|(host, link)| (host, link.send(frame)).0).collect()
    }

    /// Sends messages to PEs. Those of one host that have one body travel together.
    ///
    /// # Errors
    /// A body cannot be read.
    pub(super) fn deliver(&self, mail: Mail) -> io::Result<()> {
        /// A message for PEs of one host, each with its ticket.
        struct Parcel {
            host: usize,
            message: Message,
            to: Vec<(usize, u64)>,
        }
        let mut parcels: Vec<Parcel> = Vec::new();
        for (pe, message) in mail {
            let (host, to) = (self.places.hosts().host_of(pe), (pe, message.ticket));
            let fits = |parcel: &&mut Parcel| {
                let other = &parcel.message;
                parcel.host == host
                    && (other.kind, other.value) == (message.kind, message.value)
                    && other.shares_body_with(&message)
            };
            // Those of a host are among the last.
            match parcels.iter_mut().rev().find(fits) {
                Some(parcel) => parcel.to.push(to),
                None => parcels.push(Parcel { host, message, to: vec![to] }),
            }
        }
        for Parcel { host, message, to } in parcels {
            let letter = Letter { kind: message.kind, value: message.value, body: message.into_body()? };
            self.links[host].send(&ToAgent::Deliver { to, letter, last: false });
        }
        Ok(())
    }

    /// Sends a message to all PEs; nothing is sent after the `last`.
    ///
    /// # Errors
    /// The body cannot be read.
    pub(super) fn inform_all(&self, message: Message, last: bool) -> io::Result<()> {
        let (kind, value, ticket) = (message.kind, message.value, message.ticket);
        let letter = Letter { kind, value, body: message.into_body()? };
        for link in &self.links {
            let to = link.pes.clone().map(|pe| (pe, ticket)).collect();
            link.send(&ToAgent::Deliver { to, letter: letter.clone(), last });
        }
        Ok(())
    }

    /// Stops this process, with all PEs, until it is to go on. The agents know of it, and need no
    /// lease meanwhile.
    pub(super) async fn pause(&mut self) {
        self.send_all(&ToAgent::Pause);
        let mut flushed = Vec::new();
        for frames in self.links.iter().filter_map(|link| link.frames.as_ref()) {
            let (done, wait) = oneshot::channel();
            let _ = frames.send(Outgoing::Flushed(done));
            flushed.push(wait);
        }
        let all = async {
            for wait in flushed {
                let _ = wait.await;
            }
        };
        let _ = timeout(self.grants.term() / 2, all).await;
        stop();
        self.send_all(&ToAgent::Resume);
        self.grants.begin_again(now());
        self.beat_at = Instant::now();
    }

    /// Lets go of all agents, which end, and waits for that a while.
    pub(super) async fn close(mut self) {
        self.links.iter_mut().for_each(|link| link.frames = None);
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = timeout(TO_END, all).await;
    }
}

impl Link {
    fn send(&self, frame: &ToAgent) {
        if let Some(frames) = &self.frames {
            // It fails when the connection has ended, of which there is an event.
            let _ = frames.send(Outgoing::Frame(frame.encode()));
        }
    }
}

impl ReaderWays {
    /// Takes what an agent sends until it sends nothing more. Says what is wrong with it, if
    /// something is.
    async fn read_all(&mut self, stdout: &mut (impl AsyncReadExt + Unpin)) -> Option<String> {
        let garbage = || Some("its agent sent what no oshrun of this version sends".to_owned());
        let (mut incoming, mut bytes) = (Incoming::default(), vec![0; PIECE]);
        let mut is_agent = false;
        loop {
            let count = match stdout.read(&mut bytes).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => count,
            };
            incoming.add(&bytes[..count]);
            if !is_agent {
                match incoming.preamble() {
                    Ok(None) => continue,
                    Ok(Some(version)) if version == VERSION => is_agent = true,
                    Ok(Some(version)) => {
                        let version = printable(&version).into_owned();
                        return Some(format!(
                            "its oshrun is of version {version}, and this one of {VERSION}"
                        ));
                    }
                    Err(_) => return Some("what was started there is no oshrun".to_owned()),
                }
            }
            loop {
                let taken = match incoming.next() {
                    Ok(None) => break,
                    Ok(Some(frame)) => FromAgent::decode(frame).and_then(|frame| self.take(frame)),
                    Err(_) => None,
                };
                if taken.is_none() {
                    return garbage();
                }
            }
        }
    }

    /// Does what a frame asks for; `None` if no agent would send it.
    fn take(&mut self, frame: FromAgent) -> Option<()> {
        let pes = self.pes.clone();
        let here = |pe: usize| pes.contains(&pe).then_some(pe);
        let all_here = |pes: Vec<usize>| pes.iter().all(|&pe| here(pe).is_some()).then_some(pes);
        let of_host = |event| JobEvent::Host(self.host, event);
        let event = match frame {
            FromAgent::Refused(why) => of_host(HostEvent::Refused(why)),
            FromAgent::Started(pids) if pids.len() == pes.len() => of_host(HostEvent::Started(pids)),
            FromAgent::Started(_) => return None,
            FromAgent::Pe { pe, ticket, letter: Letter { kind, value, body } } => {
                is_passed_on(kind).then_some(())?;
                let message = Message::new(kind).ticket(ticket).value(value).with_body(body);
                JobEvent::Pe(here(pe)?, message.map_or_else(PeEvent::Broken, PeEvent::Message))
            }
            FromAgent::Replaced(pe, pid) => of_host(HostEvent::Replaced(here(pe)?, pid)),
            FromAgent::Broken { pe, why } => JobEvent::Pe(here(pe)?, PeEvent::Broken(io::Error::other(why))),
            FromAgent::Exited(pe, exit) => JobEvent::Pe(here(pe)?, PeEvent::Exited(exit)),
            FromAgent::Looked { number, looks, awaited } => {
                looks.iter().all(|look| here(look.board.pe).is_some()).then_some(())?;
                of_host(HostEvent::Looked { number, looks, awaited: all_here(awaited)? })
            }
            FromAgent::Ending(pes) => of_host(HostEvent::Ending(all_here(pes)?)),
            FromAgent::Output { pe, stream, text } => {
                let (pe, output, frames) = (here(pe)?, self.output.clone(), self.frames.clone());
                tokio::spawn(async move {
                    output.give(stream, Some(pe), text).await;
                    send(&frames, &ToAgent::Written(pe, stream));
                });
                return Some(());
            }
            FromAgent::InputTaken | FromAgent::InputClosed => {
                // It fails when all of it was passed on.
                let _ = self.input.send(matches!(frame, FromAgent::InputTaken));
                return Some(());
            }
            FromAgent::Failed(why) => of_host(HostEvent::Gone(why)),
            FromAgent::Beat(beat) => of_host(HostEvent::Beat(beat)),
            FromAgent::Done => of_host(HostEvent::Done),
            FromAgent::Recording { pe, at, bytes } => {
                if let Err(error) = self.recordings.take(here(pe)?, at, &bytes) {
                    let output = self.output.clone();
                    let text = format!("oshrun: cannot write what PE {pe} has recorded: {error}\n");
                    tokio::spawn(async move { output.tell(text.as_bytes()).await });
                }
                send(&self.frames, &ToAgent::RecordingTaken);
                return Some(());
            }
        };
        // It fails when the job is over, and does not matter then.
        let _ = self.events.send(event);
        Some(())
    }
}

fn send(frames: &mpsc::WeakUnboundedSender<Outgoing>, frame: &ToAgent) {
    if let Some(frames) = frames.upgrade() {
        // It fails when the connection has ended, of which there is an event.
        let _ = frames.send(Outgoing::Frame(frame.encode()));
    }
}

/// Writes what comes, until nothing more will.
async fn write_all(mut stdin: ChildStdin, mut outgoing: mpsc::UnboundedReceiver<Outgoing>) {
    while let Some(next) = outgoing.recv().await {
        match next {
            Outgoing::Frame(frame) => {
                if stdin.write_all(&frame).await.is_err() {
                    return;
                }
            }
            Outgoing::Flushed(done) => drop(done.send(())),
        }
    }
}

/// Passes standard input on, a piece at a time, until it ends or is wanted no more.
async fn pass_input(
    from: pipe::Receiver,
    frames: mpsc::WeakUnboundedSender<Outgoing>,
    mut takes: mpsc::UnboundedReceiver<bool>,
) {
    let mut bytes = Vec::with_capacity(PIECE);
    loop {
        bytes.clear();
        match from.readable().await.and_then(|()| from.try_read_buf(&mut bytes)) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => break,
        }
        send(&frames, &ToAgent::Input(bytes.clone()));
        if takes.recv().await != Some(true) {
            return;
        }
    }
    send(&frames, &ToAgent::InputEnd);
}

/// How a launch agent has ended whose connection has.
async fn end_of(child: &mut Child) -> String {
    match timeout(TO_END, child.wait()).await {
        Ok(Ok(status)) => format!("its launch agent {}", Exit::from(status)),
        Ok(Err(error)) => format!("its launch agent has ended: {error}"),
        Err(_) => "its agent has closed the connection".to_owned(),
    }
}

/// How a host is lost that is silent for as long as a lease is.
pub(super) fn silence(lease: Duration) -> String {
    format!("there was no sign of life for {} s", lease.as_secs_f64())
}

/// Starts the agent of a host.
fn launch(fleet: &Fleet, host: &str, group: Pid) -> Result<Child, String> {
    let mut command = match &fleet.launch_agent {
        None => {
            let mut command = Command::new("ssh");
            let agent = [&quoted(&fleet.oshrun), OsStr::new(" --agent")].map(OsStr::as_bytes).concat();
            command.args(["-x", "-T", "-o", "BatchMode=yes", host]).arg(OsStr::from_bytes(&agent));
            command
        }
        Some(launch) => {
            let (script, host) = match launch.contains("{host}") {
                true => (launch.replace("{host}", host), None),
                false => (launch.clone(), Some(host)),
            };
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &format!("exec {script} \"$@\""), "oshrun"]).args(host);
            command.arg(&fleet.oshrun).arg(super::AGENT);
            command
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(group.as_raw_pid());
    command.spawn().map_err(|error| {
        let what = fleet.launch_agent.as_deref().unwrap_or("ssh");
        format!("host {host}: cannot start {what}: {error}; --launch-agent names another command")
    })
}

/// A word as a shell takes it.
fn quoted(word: &OsStr) -> OsString {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    if word.as_bytes().iter().all(is_plain) {
        return word.to_owned();
    }
    let mut quoted = vec![b'\''];
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            byte => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    OsStr::from_bytes(&quoted).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell_of_another_machine() {
        for (word, expected) in [
            ("/opt/oxshmem/bin/oshrun", "/opt/oxshmem/bin/oshrun"),
            ("/my files/oshrun", "'/my files/oshrun'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(quoted(OsStr::new(word)), expected);
        }
    }
}
