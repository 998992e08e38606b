//! A job from its first process to its last: the event loop around [`Lifecycle`] and [`Exchanges`].

use std::{collections::VecDeque, io, pin::pin, time::Duration};

use oxshmem_job::{
    suspicions::Suspicions,
    wire::{Kind, TELL_NOTHING},
};
use rustix::process::Signal;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    diagnosis::{Diagnosis, Facts},
    events::{HostEvent, JobEvent, PeEvent},
    exchanges::Exchanges,
    frame::ToAgent,
    guardian::Guardian,
    lifecycle::{About, Known, Lifecycle, Step, Survival, TO_END, TO_HEED, Verdict},
    options::RunOptions,
    output::{Loss, Output},
    pe::Exit,
    places::Places,
    reach::Reach,
    signals::{interrupted, signals},
    start::{NotStarted, Started, Ways, no_thread, start},
};

mod blame;
mod replacing;

use blame::{Held, TO_BLAME};

/// How long a job that is to end waits for a reader of its output that does not read.
const TO_READ: Duration = Duration::from_secs(1);
/// How long it takes, at the most, to collect what PEs of other machines have recorded.
const TO_COLLECT: Duration = Duration::from_secs(10);
/// How long PEs have to end by themselves when a PE has called `global_exit`.
const TO_LEAVE: Duration = Duration::from_millis(500);
/// How long agents have to say what their PEs are in.
const TO_LOOK: Duration = Duration::from_secs(1);

/// Runs a job. `Err` says why it could not be started, in which case none of it is left.
pub(super) async fn run(options: &RunOptions, guardian: &Guardian) -> Result<Verdict, String> {
    let cannot = |error: io::Error| format!("cannot start: {error}");
    let mut signals = signals().map_err(cannot)?;
    let (output, losses) = Output::start().map_err(no_thread)?;
    let (send_event, events) = mpsc::unbounded_channel();
    let ways = Ways { output: &output, signals: &mut signals, events: (send_event, events) };
    let Started { reach, places, pids, early, events, missed } = match start(options, guardian, ways).await {
        Ok(started) => started,
        Err(NotStarted::Refused(reason)) => return Err(reason),
        Err(NotStarted::Interrupted(signal)) => return Ok(Verdict::of_signal(signal)),
    };
    let outlets = Outlets { output, losses };
    let mut job = Job::new(places, reach, pids, (events, outlets), options.survival, options.plan.lease);
    early.into_iter().for_each(|event| job.take_event(event));
    for signal in missed {
        if let Some(step) = job.lifecycle.signalled(signal) {
            job.take(step);
        }
    }

    let unguarded = guardian.ended();
    let mut unguarded = pin!(unguarded);
    let mut guarded = true;
    let mut deadline = options.timeout.map(|limit| Instant::now() + limit);
    while job.lifecycle.goes_on() {
        let step = tokio::select! {
            Some(event) = job.events.recv() => {
                job.take_event(event);
                None
            }
            Some(signal) = signals.recv() => match signal {
                Signal::TSTP => {
                    job.reach.pause().await;
                    job.suspicions.begin_again(Instant::now().into_std());
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
                job.diagnosis.looks();
                job.look(Why::Hang);
                None
            }
            () = at(job.looking.first().map(|looking| looking.until)) => {
                job.look_is_over(0);
                None
            }
            () = at(job.reach.beat_at()) => {
                job.beat();
                None
            }
            () = at(job.suspicions.due().map(Instant::from_std)) => {
                let ends = job.suspicions.decide(Instant::now().into_std(), None);
                ends.and_then(|(pe, why)| job.lifecycle.condemn(pe, why))
            }
            () = at(job.to_replace.front().map(|_| job.replace_at)) => job.replace(),
            () = at(job.leaving.front().map(|&(_, at)| at)) => {
                let left = job.leaving.pop_front();
                left.and_then(|(pe, _)| job.lifecycle.stays(pe))
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
    let collects = options.plan.trace.is_some() && !options.plan.simulated;
    Ok(job.finish(&mut signals, if collects { TO_COLLECT } else { TO_READ }).await)
}

/// A job whose PEs are running.
struct Job<'a> {
    reach: Reach<'a>,
    lifecycle: Lifecycle,
    exchanges: Exchanges,
    diagnosis: Diagnosis,
    /// What PEs were in when the verdict was made.
    last_seen: String,
    /// The looks at PEs that are under way, the oldest first, and how many there have been.
    looking: Vec<Looking>,
    looks: u64,
    events: mpsc::UnboundedReceiver<JobEvent>,
    outlets: Outlets,
    /// Messages that are being written.
    messages: JoinSet<()>,
    /// When PEs that were asked to end get SIGTERM, and the PE that asked for it, which gets none.
    term_at: Option<Instant>,
    spare: Option<usize>,
    kill_at: Option<Instant>,
    held: Held,
    suspicions: Suspicions,
    /// PEs of which a replacement is to be started, and when the next one is.
    to_replace: VecDeque<usize>,
    replace_at: Instant,
    /// PEs that take no part any more, and how long they have to end if the job goes on.
    leaving: VecDeque<(usize, Instant)>,
    /// The job is to end, whether or not its output is read.
    hasten: bool,
}

/// Where output goes, and what is lost of it.
struct Outlets {
    output: Output,
    losses: mpsc::UnboundedReceiver<Loss>,
}

/// A look at what all PEs are in.
struct Looking {
    number: u64,
    why: Why,
    /// What is known so far.
    facts: Facts,
    /// The hosts that have not answered.
    waiting: Vec<usize>,
    until: Instant,
}

/// What PEs are looked at for.
#[derive(Clone, Copy)]
enum Why {
    /// The job seems to hang.
    Hang,
    /// The user asks.
    Show,
    /// The job ends, with a message about this.
    End(About),
}

impl<'a> Job<'a> {
    fn new(
        places: Places,
        reach: Reach<'a>,
        pids: Vec<u32>,
        (events, outlets): (mpsc::UnboundedReceiver<JobEvent>, Outlets),
        survival: Survival,
        lease: Duration,
    ) -> Self {
        Self {
            reach,
            lifecycle: Lifecycle::new(places.clone(), pids.into_iter(), survival),
            exchanges: Exchanges::new(places.hosts().clone(), survival.respawns > 0),
            diagnosis: Diagnosis::new(places),
            last_seen: String::new(),
            looking: Vec::new(),
            looks: 0,
            events,
            outlets,
            messages: JoinSet::new(),
            term_at: None,
            spare: None,
            kill_at: None,
            held: Held::default(),
            suspicions: Suspicions::new(lease),
            to_replace: VecDeque::new(),
            replace_at: Instant::now(),
            leaving: VecDeque::new(),
            hasten: false,
        }
    }

    /// Takes note of what happened, at once or after what caused it.
    fn take_event(&mut self, event: JobEvent) {
        match event {
            JobEvent::Pe(pe, event) => self.take_pe_event(pe, event),
            JobEvent::Host(host, event) => self.take_host_event(host, event),
        }
        if self.held.ending.is_empty() && self.held.asked.is_empty() {
            self.release();
        }
    }

    fn take_host_event(&mut self, host: usize, event: HostEvent) {
        match event {
            HostEvent::Ending(pes) => {
                let Some(place) = self.held.asked.iter().position(|&asked| asked == host) else { return };
                self.held.asked.swap_remove(place);
                let Held { ending, events, .. } = &mut self.held;
                let is_held = |pe| events.iter().any(|&(held, _)| held == pe);
                ending.extend(pes.into_iter().filter(|&pe| self.lifecycle.is_alive(pe) && !is_held(pe)));
            }
            HostEvent::Looked { number, looks, awaited } => {
                let Some(at) = self.looking.iter().position(|looking| looking.number == number) else {
                    return;
                };
                let Looking { facts, waiting, .. } = &mut self.looking[at];
                waiting.retain(|&other| other != host);
                facts.looks.extend(looks);
                facts.awaited.extend(awaited);
                if self.looking[at].waiting.is_empty() {
                    self.look_is_over(at);
                }
            }
            HostEvent::Done => {
                if let Reach::Agents(agents) = &mut self.reach {
                    agents.done(host);
                }
            }
            HostEvent::Beat(beat) => {
                if let Reach::Agents(agents) = &mut self.reach {
                    agents.beat_of(host, beat);
                }
            }
            HostEvent::Gone(how) | HostEvent::Refused(how) => self.lose(host, how),
            HostEvent::Replaced(pe, pid) => self.lifecycle.replaced(pe, pid),
            HostEvent::Started(_) => {}
        }
    }

    /// A host is given up.
    fn lose(&mut self, host: usize, how: String) {
        let Reach::Agents(agents) = &mut self.reach else { return };
        let (how, is_over) = (agents.why(host, how), agents.is_done(host));
        if !agents.gone(host, &how) {
            return;
        }
        if is_over {
            agents.decided(host);
        } else if !self.lifecycle.goes_on_without() {
            self.declare_lost(host, &how);
        }
        // Else its PEs are lost once they are sure to have ended.
    }

    /// A host is lost, and its PEs with it.
    fn declare_lost(&mut self, host: usize, how: &str) {
        let Reach::Agents(agents) = &mut self.reach else { return };
        agents.decided(host);
        let (name, pes) = agents.host(host);
        let step = self.lifecycle.host_lost(name, pes.clone(), how);
        self.held.asked.retain(|&asked| asked != host);
        self.held.ending.retain(|pe| !pes.contains(pe));
        if let Some(step) = step {
            self.take(step);
        }
        for at in (0..self.looking.len()).rev() {
            self.looking[at].waiting.retain(|&other| other != host);
            if self.looking[at].waiting.is_empty() {
                self.look_is_over(at);
            }
        }
    }

    /// Looks at the leases of hosts.
    fn beat(&mut self) {
        let Reach::Agents(agents) = &mut self.reach else { return };
        let (silent, how, dead) = (agents.silent(), agents.silence(), agents.dead());
        silent.into_iter().for_each(|host| self.lose(host, how.clone()));
        dead.into_iter().for_each(|(host, how)| self.declare_lost(host, &how));
        if self.held.ending.is_empty() && self.held.asked.is_empty() {
            self.release();
        }
    }

    fn note(&mut self, pe: usize, event: PeEvent) {
        if let Some(step) = self.on(pe, event) {
            self.take(step);
        }
    }

    /// PE `pe` has left or ended.
    fn left(&mut self, pe: usize) {
        let lifecycle = &self.lifecycle;
        if let Some(boards) = self.reach.boards() {
            boards.left(pe, |pe| lifecycle.known(pe) == Known::Inside);
        }
    }

    /// What to do about what happened.
    fn on(&mut self, pe: usize, event: PeEvent) -> Option<Step> {
        let message = match event {
            PeEvent::Message(message) => message,
            PeEvent::Broken(error) => return self.lifecycle.failed(pe, &error.to_string()),
            PeEvent::Exited(exit) => {
                let step = self.lifecycle.exited(pe, exit);
                self.left(pe);
                return step;
            }
        };
        let ticket = message.ticket;
        let mail = match message.kind {
            Kind::Join => {
                let is_replaced = self.exchanges.is_replaced(pe);
                self.exchanges.joined(pe);
                if let Some(boards) = self.reach.boards().filter(|_| !is_replaced) {
                    boards.joined(pe);
                }
                return self.lifecycle.joined(pe);
            }
            Kind::Stuck => {
                self.diagnosis.stuck(Instant::now());
                return None;
            }
            Kind::Survives => {
                let step = self.lifecycle.survives(pe);
                if self.lifecycle.was_whole() {
                    self.exchanges.are_whole();
                }
                return step;
            }
            Kind::Abandoned => {
                self.lifecycle.abandoned(pe);
                self.leaving.push_back((pe, Instant::now() + TO_BLAME));
                return None;
            }
            Kind::Suspects | Kind::Reaches => {
                let other = self.lifecycle.inside().into_iter().find(|&other| other as i32 == message.value);
                if let Some(other) = other.filter(|_| self.lifecycle.goes_on_without()) {
                    let out_of_reach = message.kind == Kind::Suspects;
                    self.suspicions.report(pe, other, out_of_reach, Instant::now().into_std());
                }
                return None;
            }
            Kind::Knows => return self.lifecycle.knows(pe, message.value as u64),
            Kind::Finalized => {
                let step = self.lifecycle.finalized(pe);
                self.left(pe);
                match step {
                    Some(step) => return Some(step),
                    None => self.exchanges.left(pe),
                }
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
                if let Some(boards) = self.reach.boards() {
                    boards.offer(pe, message.descriptors());
                }
                self.exchanges.offer(pe, message)
            }
            Kind::Fetch => self.exchanges.fetch(pe, ticket),
            Kind::Regroup => {
                let body = message.into_body();
                let mail = body.and_then(|body| self.exchanges.regroup(pe, ticket, &body));
                self.exchanges.take_let_in().into_iter().for_each(|pe| self.lifecycle.let_in(pe));
                mail
            }
            Kind::Exchanged
            | Kind::Offered
            | Kind::Regrouped
            | Kind::GlobalExit
            | Kind::Lost
            | Kind::Loss
            | Kind::Settled
            | Kind::Rejoined => Err(io::ErrorKind::InvalidData.into()),
        };
        match mail.and_then(|mail| self.reach.deliver(mail)) {
            Ok(()) => None,
            Err(error) => self.lifecycle.failed(pe, &error.to_string()),
        }
    }

    /// Looks at what the PEs are in.
    fn look(&mut self, why: Why) {
        let pids = self.lifecycle.pids();
        let known = (0..pids.len()).map(|pe| self.lifecycle.known(pe)).collect();
        let mut facts = Facts { pids, known, looks: Vec::new(), awaited: self.exchanges.awaited() };
        let number = self.looks;
        self.looks += 1;
        let waiting = match &self.reach {
            Reach::Here(_, boards) => {
                facts.looks = boards.look();
                Vec::new()
            }
            Reach::Agents(agents) => agents.send_all(&ToAgent::Look(number)),
        };
        let is_over = waiting.is_empty();
        self.looking.push(Looking { number, why, facts, waiting, until: Instant::now() + TO_LOOK });
        if is_over {
            self.look_is_over(self.looking.len() - 1);
        }
    }

    /// All that will be known of a look is known.
    fn look_is_over(&mut self, at: usize) {
        let Looking { why, mut facts, .. } = self.looking.remove(at);
        facts.awaited.sort_unstable();
        facts.awaited.dedup();
        match why {
            Why::Hang => {
                let text = self.diagnosis.hang(&facts, Instant::now());
                // A job that is being ended hangs no more.
                if let Some(text) = text.filter(|_| self.lifecycle.verdict_so_far().is_none()) {
                    self.tell(text);
                }
            }
            Why::Show => self.tell(self.diagnosis.show(&facts)),
            Why::End(about) => self.last_seen = self.diagnosis.end(&facts, about),
        }
    }

    /// Prints a message, beside the loop, because the reader of the output may be slow.
    fn tell(&mut self, text: String) {
        let output = self.outlets.output.clone();
        while self.messages.try_join_next().is_some() {}
        self.messages.spawn(async move { output.tell(text.as_bytes()).await });
    }

    /// Does what the lifecycle asks for.
    fn take(&mut self, step: Step) {
        if let (Step::Terminate { .. }, Some(verdict)) = (step, self.lifecycle.verdict_so_far())
            && verdict.message.is_some()
        {
            // Before the others are informed, and turn to something else.
            self.look(Why::End(verdict.about));
        }
        let notices = self.lifecycle.take_notices();
        let asked = notices.iter().any(|notice| notice.kind == Kind::GlobalExit);
        for notice in notices {
            self.reach.inform_all(notice, asked);
        }
        match step {
            Step::GoOn => self.go_on(),
            Step::Inform(pe) => {
                let history = self.lifecycle.history().into_iter().map(|message| (pe, message));
                self.serve(Ok(history.collect()));
            }
            Step::Rejoin(pe) => self.rejoin(pe),
            Step::KillPe(pe) => self.reach.kill_pe(pe),
            Step::Show => self.look(Why::Show),
            Step::Forward(Signal::USR2) => self.reach.signal_pes(Signal::USR2, None),
            Step::Forward(signal) => {
                self.reach.signal_group(signal);
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
                self.reach.signal_group(Signal::KILL);
                (self.term_at, self.kill_at) = (None, None);
            }
        }
    }

    /// Sends SIGTERM, and SIGKILL a while later.
    fn terminate(&mut self) {
        match self.spare {
            None => self.reach.signal_group(Signal::TERM),
            spare => self.reach.signal_pes(Signal::TERM, spare),
        }
        (self.term_at, self.kill_at) = (None, Some(Instant::now() + TO_END));
    }

    /// Waits until all output is written, unless the user has had enough, or for so long if the job
    /// is to end.
    async fn finish(mut self, signals: &mut mpsc::UnboundedReceiver<Signal>, patience: Duration) -> Verdict {
        self.reach.finish();
        let limit = self.hasten.then(|| Instant::now() + patience);
        tokio::select! {
            () = self.written() => {}
            () = interrupted(signals) => {}
            () = at(limit) => {}
        }
        while let Ok((stream, error)) = self.outlets.losses.try_recv() {
            self.lifecycle.unwritten(stream, &error);
        }
        // Of hosts that have not answered.
        while !self.looking.is_empty() {
            self.look_is_over(0);
        }
        self.reach.close().await;
        let mut verdict = self.lifecycle.verdict();
        if let Some(message) = &mut verdict.message {
            *message += &self.last_seen;
        }
        verdict
    }

    /// Returns when all that was printed is written.
    async fn written(&mut self) {
        loop {
            match &mut self.reach {
                Reach::Here(here, _) => {
                    here.written().await;
                    break;
                }
                Reach::Agents(agents) if agents.all_done() => break,
                Reach::Agents(agents) => {
                    let beat_at = agents.beat_at;
                    tokio::select! {
                        Some(event) = self.events.recv() => self.take_event(event),
                        () = sleep_until(beat_at) => self.beat(),
                    }
                }
            }
        }
        while self.messages.join_next().await.is_some() {}
        if self.lifecycle.verdict_so_far().is_some_and(|verdict| verdict.message.is_some()) {
            self.outlets.output.tell(b"").await;
        }
    }
}

/// Returns at `time`, or never.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
