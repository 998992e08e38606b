//! How a job begins: its PEs are started on this machine, or by agents on others.

use std::{io, time::Duration};

use rustix::process::Signal;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    agents::Agents,
    boards::HostBoards,
    events::{HostEvent, JobEvent},
    guardian::Guardian,
    here::{Ends, Here},
    input::{Input, InputFrom},
    options::{Fleet, RunOptions, Target},
    output::Output,
    places::Places,
    reach::Reach,
};

/// How long the agents of all machines have to start their PEs.
pub(super) const TO_START: Duration = Duration::from_secs(60);

/// How long they have once the user wants the job to end: PEs that run already may heed the signal.
const TO_HURRY: Duration = Duration::from_secs(1);

/// What a job that begins needs.
pub(super) struct Ways<'a> {
    pub(super) output: &'a Output,
    pub(super) signals: &'a mut mpsc::UnboundedReceiver<Signal>,
    /// Both ends of the way of events.
    pub(super) events: (mpsc::UnboundedSender<JobEvent>, mpsc::UnboundedReceiver<JobEvent>),
}

/// A job whose PEs have started.
pub(super) struct Started<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) places: Places,
    /// The process of each PE.
    pub(super) pids: Vec<u32>,
    /// What has happened to PEs meanwhile.
    pub(super) early: Vec<JobEvent>,
    /// The signals that have come meanwhile, and concern PEs.
    pub(super) missed: Vec<Signal>,
    pub(super) events: mpsc::UnboundedReceiver<JobEvent>,
}

/// Why a job has not begun.
pub(super) enum NotStarted {
    /// For this reason.
    Refused(String),
    /// The user has had enough.
    Interrupted(Signal),
}

impl From<String> for NotStarted {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

/// Starts all PEs. If they could not be started, none of them is left.
pub(super) async fn start<'a>(
    options: &RunOptions,
    guardian: &'a Guardian,
    ways: Ways<'_>,
) -> Result<Started<'a>, NotStarted> {
    let plan = &options.plan;
    match &options.target {
        Target::Here { program } => {
            let (send_event, events) = ways.events;
            let input = Input::start(plan.stdin, InputFrom::Own).map_err(no_thread)?;
            let ends = Ends { input: &input, output: ways.output, events: &send_event };
            let here = Here::start(plan, program, guardian, &ends).await?;
            let places = Places::new(options.hosts.clone(), &plan.machine);
            let (pids, boards) = (here.pids().to_vec(), HostBoards::new(places.clone()));
            Ok(Started {
                reach: Reach::Here(here, boards),
                places,
                pids,
                early: Vec::new(),
                missed: Vec::new(),
                events,
            })
        }
        Target::Machines(fleet) => {
            let started = start_agents(options, fleet, guardian, ways).await;
            started.inspect_err(|_| guardian.signal_group(Signal::KILL))
        }
    }
}

/// What becomes of there being no thread for input or output.
pub(super) fn no_thread(error: io::Error) -> String {
    format!("cannot start: there is no thread for input and output: {error}")
}

async fn start_agents<'a>(
    options: &RunOptions,
    fleet: &Fleet,
    guardian: &Guardian,
    ways: Ways<'_>,
) -> Result<Started<'a>, NotStarted> {
    let (send_event, mut events) = ways.events;
    let input = Input::start(options.plan.stdin, InputFrom::OwnPassedOn).map_err(no_thread)?;
    let names = fleet.hosts.iter().map(|slots| slots.name().to_owned());
    let places = Places::named(options.hosts.clone(), names);
    let own = (places.clone(), guardian.pid());
    let (mut agents, inputs) = Agents::start(fleet, &options.plan, own, (ways.output, &send_event))?;
    let Meanwhile { pids, early, missed } = all_started(&mut agents, &mut events, ways.signals).await?;
    input.feed(inputs);
    let (reach, pids) = (Reach::Agents(agents), pids.concat());
    Ok(Started { reach, places, pids, early, missed, events })
}

/// What comes while agents start PEs.
#[derive(Default)]
struct Meanwhile {
    /// The processes of the PEs of each host.
    pids: Vec<Vec<u32>>,
    early: Vec<JobEvent>,
    missed: Vec<Signal>,
}

/// Waits until the agents of all machines have started their PEs.
async fn all_started(
    agents: &mut Agents,
    events: &mut mpsc::UnboundedReceiver<JobEvent>,
    signals: &mut mpsc::UnboundedReceiver<Signal>,
) -> Result<Meanwhile, NotStarted> {
    let mut limit = Instant::now() + TO_START;
    let mut meanwhile = Meanwhile::default();
    let mut interrupted = None;
    loop {
        let Some(missing) = agents.missing() else { return Ok(meanwhile) };
        tokio::select! {
            Some(event) = events.recv() => match event {
                JobEvent::Host(host, event) => host_event(agents, host, event, &mut meanwhile)?,
                JobEvent::Pe(..) => meanwhile.early.push(event),
            },
            Some(signal) = signals.recv() => {
                if let Signal::INT | Signal::TERM | Signal::HUP = signal {
                    if let Some(first) = interrupted.replace(signal) {
                        return Err(NotStarted::Interrupted(first));
                    }
                    limit = limit.min(Instant::now() + TO_HURRY);
                }
                match signal {
                    Signal::TSTP => agents.pause().await,
                    signal => meanwhile.missed.push(signal),
                }
            }
            () = sleep_until(limit) => {
                let limit = TO_START.as_secs();
                return Err(match interrupted {
                    Some(signal) => NotStarted::Interrupted(signal),
                    None => {
                        format!("cannot start on host {missing}: no oshrun has answered from there within {limit} s").into()
                    }
                });
            }
            () = sleep_until(agents.beat_at) => if let Some(&host) = agents.silent().first() {
                return Err(format!("host {} is lost: {}", agents.host(host).0, agents.silence()).into());
            },
        }
    }
}

fn host_event(
    agents: &mut Agents,
    host: usize,
    event: HostEvent,
    meanwhile: &mut Meanwhile,
) -> Result<(), String> {
    let (name, _) = agents.host(host);
    match event {
        HostEvent::Started(own) => {
            let pids = &mut meanwhile.pids;
            pids.resize(pids.len().max(host + 1), Vec::new());
            pids[host] = own;
            agents.started(host);
        }
        HostEvent::Refused(why) => return Err(format!("host {name}: {why}")),
        HostEvent::Gone(how) => return Err(format!("cannot start on host {name}: {how}")),
        HostEvent::Beat(beat) => agents.beat_of(host, beat),
        HostEvent::Looked { .. } | HostEvent::Ending(_) | HostEvent::Replaced(..) | HostEvent::Done => {}
    }
    Ok(())
}
