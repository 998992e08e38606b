//! Arbiter, leases and views, in every order of what may happen, up to a bound.
//!
//! The launcher's [`Lifecycle`], [`Exchanges`] and [`Grants`] and the agents' [`Lease`]s are the
//! real ones. Around them is a model of two hosts with two PEs each, of the frames under way, and
//! of time, which goes on in steps of a beat. Frames of a connection arrive in their order, and
//! each as late as any: a cut that ends again is a delay. A connection may end, which each side
//! notices at some time or not at all; a PE may die; a host may be stopped and go on; the launcher
//! may stand still, with all PEs. From every state that can be reached, the network then becomes
//! quiet in several ways: it delivers everything, or one or both directions of a host are cut for
//! good.
//!
//! In every state, a PE that is lost has ended, or stands still and never goes on (`check`). In the
//! end, all that are left know the same losses in the same order, and have the answer to the round
//! of survivors that each begins when it learns of a loss.
//!
//! Where PEs are started in the place of lost ones, they wait in `rebuilt` instead: see
//! [`replacing`].

mod explore;
mod replacing;

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
    ops::ControlFlow,
    time::Duration,
};

use oxshmem_base::{Hosts, settings::OnLoss};
use oxshmem_job::wire::{Kind, TeamRound};

use super::{
    super::{
        exchanges::{Exchanges, Mail},
        lifecycle::{Lifecycle, Step, Survival},
        pe::Exit,
        places::Places,
    },
    Grants, Lease,
};

const HOSTS: usize = 2;
const EACH: usize = 2;
/// In beats: how long a lease is, which is two at the least, and how long the guardian may take to
/// kill the PEs, which is less than the launcher waits beyond a lease.
const TERM: u64 = 2;
const LATE: u64 = 0;

fn beats(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    /// A beat goes by, which all agents send that run.
    Tick,
    /// The first frame of a host arrives at the launcher, or the first one for it at its agent.
    Up(usize),
    Down(usize),
    /// The launcher looks at the leases.
    Look,
    /// The lease of a host is over, and the guardian kills what is there.
    Kill(usize),
    /// A PE ends.
    Die(usize),
    /// The connection of a host ends; the launcher notices that, or the agent.
    Reset(usize),
    Gone(usize),
    End(usize),
    /// All of a host stands still, and goes on.
    Stop(usize),
    Continue(usize),
    /// The launcher stands still with all PEs, and goes on.
    Pause,
    Resume,
    /// The launcher has the next replacement started.
    Replace,
}

/// How far a schedule may go.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    beats: u64,
    /// PEs that die, connections that end and hosts that stop, together.
    faults: usize,
    pauses: usize,
    /// Frames to and from this many of the hosts are not delayed.
    prompt: usize,
    /// How many PEs are replaced.
    respawns: usize,
}

/// A frame to the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Up {
    Beat(u64),
    Exited(usize),
    /// A PE asks for the members of the world that are left.
    Survivors(usize),
    /// A replacement has been started, takes part, and has ended its init.
    Replaced(usize),
    Joined(usize),
    Survives(usize),
    /// A PE asks for the whole world.
    Rebuilt(usize),
}

/// A frame to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Down {
    Acknowledge(u64),
    Loss {
        pe: usize,
        view: i32,
    },
    /// The answer to a PE.
    Survivors(usize, i32),
    Replace(usize),
    /// What a replacement is to know: losses.
    History(usize, Vec<(usize, i32)>),
    /// A PE has a replacement.
    Rejoined(usize),
    /// The answer to a PE, and the view if the world is whole.
    Rebuilt(usize, Option<i32>),
    Pause,
    Resume,
}

/// A host, and the frames on their way to and from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Host {
    lease: Lease,
    /// When its guardian kills what is there.
    guard: Duration,
    /// Whether its agent runs.
    attended: bool,
    stopped: bool,
    /// Whether it goes on after having been stopped when its lease was over: the guardian is about
    /// to see that.
    late: bool,
    /// Whether its PEs stand still with the launcher.
    halted: bool,
    /// Whether its connection has ended.
    cut: bool,
    up: VecDeque<Up>,
    down: VecDeque<Down>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Member {
    dead: bool,
    /// The losses that it knows, in their order.
    knows: Vec<(usize, i32)>,
    /// The view of the answer to its round.
    answer: Option<i32>,
    /// Whether it has been started, and the launcher does not know yet.
    is_starting: bool,
    rebuilds: replacing::Rebuilds,
}

/// All of it.
#[derive(Clone)]
struct State {
    now: u64,
    lifecycle: Lifecycle,
    exchanges: Exchanges,
    grants: Grants,
    hosts: [Host; HOSTS],
    pes: [Member; HOSTS * EACH],
    /// The hosts that the launcher sends nothing more.
    given_up: [bool; HOSTS],
    /// Whether the launcher stands still.
    paused: bool,
    losses: Vec<usize>,
    asked: Vec<usize>,
    replacing: replacing::Replacing,
    faults: usize,
    pauses: usize,
    bounds: Bounds,
}

fn host_of(pe: usize) -> usize {
    pe / EACH
}

impl State {
    fn new(bounds: Bounds) -> Self {
        let places = Places::new(Hosts::blocks([EACH; HOSTS]), "node1");
        let n = HOSTS * EACH;
        let mut lifecycle = Lifecycle::new(
            places.clone(),
            1..1 + n as u32,
            Survival { on_loss: OnLoss::Continue, respawns: bounds.respawns },
        );
        (0..n).for_each(|pe| _ = lifecycle.joined(pe));
        (0..n).for_each(|pe| _ = lifecycle.survives(pe));
        let mut grants = Grants::new(beats(TERM), HOSTS);
        (0..HOSTS).for_each(|host| grants.begin(host, Duration::ZERO));
        let lease = Lease::begin(beats(TERM), Duration::ZERO);
        let host = || Host {
            guard: lease.until(),
            lease: lease.clone(),
            attended: true,
            stopped: false,
            late: false,
            halted: false,
            cut: false,
            up: VecDeque::new(),
            down: VecDeque::new(),
        };
        Self {
            now: 0,
            lifecycle,
            exchanges: Exchanges::new(places.hosts().clone(), bounds.respawns > 0),
            grants,
            hosts: [host(), host()],
            pes: Default::default(),
            given_up: [false; HOSTS],
            paused: false,
            losses: Vec::new(),
            asked: Vec::new(),
            replacing: replacing::Replacing::default(),
            faults: 0,
            pauses: 0,
            bounds,
        }
    }

    fn time(&self) -> Duration {
        beats(self.now)
    }

    fn send(&mut self, host: usize, frame: Down) {
        let to = &mut self.hosts[host];
        if !self.given_up[host] && !to.cut && to.attended {
            to.down.push_back(frame);
        }
    }

    fn answer(&mut self, frame: Up, host: usize) {
        if !self.hosts[host].cut {
            self.hosts[host].up.push_back(frame);
        }
    }

    /// What the launcher does when something comes, as its event loop does it.
    fn arrives(&mut self, host: usize, frame: Up) {
        match frame {
            Up::Beat(beat) => {
                if self.grants.acknowledges(host, self.time()) {
                    self.send(host, Down::Acknowledge(beat));
                }
            }
            Up::Exited(pe) if self.lifecycle.is_alive(pe) => {
                let step = self.lifecycle.exited(pe, Exit::Signal(9));
                self.take(step);
            }
            Up::Survivors(pe) if self.lifecycle.is_alive(pe) => {
                self.asked.push(pe);
                let members = (0..self.pes.len()).collect();
                let round = TeamRound { key: [0, 0], view: 0, members, given: vec![pe as u8] };
                let mail = self.exchanges.regroup(pe, 0, &round.encode());
                self.deliver(mail.expect("a round"));
            }
            Up::Exited(_) | Up::Survivors(_) => {}
            frame => self.arrives_of_a_replacement(host, frame),
        }
    }

    fn take(&mut self, step: Option<Step>) {
        match step {
            None | Some(Step::GoOn) => {}
            Some(Step::Inform(pe)) => self.inform(pe),
            Some(Step::Rejoin(pe)) => self.rejoin(pe),
            step => panic!("the job does not go on: {step:?}"),
        }
        for notice in self.lifecycle.take_notices() {
            assert_eq!(notice.kind, Kind::Loss);
            let loss = Down::Loss { pe: notice.ticket as usize, view: notice.value };
            (0..HOSTS).for_each(|host| self.send(host, loss.clone()));
        }
        for pe in self.lifecycle.take_losses() {
            assert!(!self.replacing.lost[pe], "a PE is lost once");
            self.replacing.lost[pe] = true;
            self.losses.push(pe);
            let mail = self.exchanges.lost(pe);
            self.deliver(mail.expect("answers"));
        }
        self.go_on_replacing();
    }

    fn deliver(&mut self, mail: Mail) {
        if self.bounds.respawns > 0 {
            return self.deliver_worlds(mail);
        }
        for (pe, message) in mail {
            self.send(host_of(pe), Down::Survivors(pe, message.value));
        }
    }

    fn give_up(&mut self, host: usize, how: &str) {
        self.grants.give_up(host, how, self.time());
        self.given_up[host] = true;
    }

    /// Everything on a host ends, with its agent.
    fn ends(&mut self, host: usize) {
        let here = &mut self.hosts[host];
        (here.attended, here.late) = (false, false);
        here.down.clear();
        self.pes[host * EACH..][..EACH].iter_mut().for_each(|pe| pe.dead = true);
    }

    /// What an agent does when something comes.
    fn obey(&mut self, host: usize, frame: Down) {
        let now = self.time();
        let here = &mut self.hosts[host];
        match frame {
            Down::Acknowledge(beat) => {
                if let Some(renewal) = here.lease.acknowledged(beat) {
                    here.guard = renewal.until;
                    here.halted &= !renewal.resumes;
                }
            }
            Down::Pause => {
                here.lease.pause();
                (here.guard, here.halted) = (here.lease.until(), true);
            }
            Down::Resume => {
                here.lease.resume(now);
                here.guard = here.lease.until();
                self.beat(host);
            }
            Down::Loss { pe, view } => {
                for member in host * EACH..(host + 1) * EACH {
                    if self.bounds.respawns > 0 {
                        self.learns(member, &[(pe, view)]);
                    } else if !self.pes[member].dead {
                        self.pes[member].knows.push((pe, view));
                        if view == 1 {
                            self.answer(Up::Survivors(member), host);
                        }
                    }
                }
            }
            Down::Survivors(pe, view) => self.pes[pe].answer = Some(view),
            frame => self.obey_about_a_replacement(host, frame),
        }
    }

    fn beat(&mut self, host: usize) {
        let (now, here) = (self.time(), &mut self.hosts[host]);
        if here.attended
            && !here.stopped
            && !here.lease.is_over(now)
            && let Some(beat) = here.lease.beat(now)
        {
            self.answer(Up::Beat(beat), host);
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Tick => {
                self.now += 1;
                (0..HOSTS).for_each(|host| self.beat(host));
            }
            Event::Up(host) => {
                let frame = self.hosts[host].up.pop_front().expect("there is one");
                self.arrives(host, frame);
            }
            Event::Down(host) => {
                let frame = self.hosts[host].down.pop_front().expect("there is one");
                self.obey(host, frame);
            }
            Event::Look => {
                for host in self.grants.silent(self.time()) {
                    self.give_up(host, "silence");
                }
                for (host, how) in self.grants.dead(self.time()) {
                    self.grants.over(host);
                    let step = self.lifecycle.host_lost("h", host * EACH..(host + 1) * EACH, &how);
                    self.take(step);
                }
            }
            Event::Kill(host) => self.ends(host),
            Event::Die(pe) => {
                self.faults += 1;
                self.pes[pe].dead = true;
                if self.hosts[host_of(pe)].attended {
                    self.answer(Up::Exited(pe), host_of(pe));
                }
            }
            Event::Reset(host) => {
                self.faults += 1;
                let here = &mut self.hosts[host];
                here.cut = true;
                here.up.clear();
                here.down.clear();
            }
            Event::Gone(host) => self.give_up(host, "its connection has ended"),
            Event::End(host) => self.ends(host),
            Event::Stop(host) => {
                self.faults += 1;
                self.hosts[host].stopped = true;
            }
            Event::Continue(host) => {
                let is_over = self.hosts[host].guard <= self.time();
                (self.hosts[host].stopped, self.hosts[host].late) = (false, is_over);
            }
            Event::Replace => self.replace(),
            Event::Pause => {
                self.pauses += 1;
                (0..HOSTS).for_each(|host| self.send(host, Down::Pause));
                self.paused = true;
            }
            Event::Resume => {
                (0..HOSTS).for_each(|host| self.send(host, Down::Resume));
                self.grants.begin_again(self.time());
                self.paused = false;
            }
        }
        self.check();
    }

    /// Whether the guardian of a host kills what is there now, or at the latest.
    fn kills(&self, host: usize, after: u64) -> bool {
        let Host { guard, attended, stopped, .. } = self.hosts[host];
        attended && !stopped && guard.saturating_add(beats(after)) <= self.time()
    }

    /// Everything that may happen next but faults, as far as it is `wanted`, until that has enough.
    fn follows(&self, mut wanted: impl FnMut(Event) -> ControlFlow<()>) -> ControlFlow<()> {
        for (host, here) in self.hosts.iter().enumerate() {
            if self.kills(host, 0) {
                wanted(Event::Kill(host))?;
            }
            if !here.up.is_empty() && !self.paused {
                wanted(Event::Up(host))?;
            }
            if here.cut && !self.given_up[host] && !self.paused {
                wanted(Event::Gone(host))?;
            }
            if !here.stopped && here.attended {
                if !here.down.is_empty() {
                    wanted(Event::Down(host))?;
                }
                if here.cut {
                    wanted(Event::End(host))?;
                }
            }
        }
        let is_silent = !self.grants.silent(self.time()).is_empty();
        if !self.paused && (is_silent || !self.grants.dead(self.time()).is_empty()) {
            wanted(Event::Look)?;
        }
        if !self.paused && self.is_to_replace() {
            wanted(Event::Replace)?;
        }
        // A guardian takes no longer than that.
        if !(0..HOSTS).any(|host| self.kills(host, LATE)) {
            wanted(Event::Tick)?;
        }
        ControlFlow::Continue(())
    }

    /// The first of it that is wanted.
    fn next(&self, wanted: impl Fn(Event) -> bool) -> Option<Event> {
        let mut next = None;
        let _ = self.follows(|event| {
            if !wanted(event) {
                return ControlFlow::Continue(());
            }
            next = Some(event);
            ControlFlow::Break(())
        });
        next
    }

    /// Delivers what is not delayed.
    fn settle(&mut self) {
        let prompt = self.bounds.prompt;
        let is_prompt = |event| match event {
            Event::Up(host) | Event::Down(host) => host < prompt,
            event => event == Event::Replace,
        };
        while let Some(event) = self.next(is_prompt) {
            self.step(event);
        }
    }

    fn choices(&self) -> Vec<Event> {
        let mut choices = Vec::new();
        let _ = self.follows(|event| {
            choices.push(event);
            ControlFlow::Continue(())
        });
        choices.extend((0..HOSTS).filter(|&host| self.hosts[host].stopped).map(Event::Continue));
        if self.faults < self.bounds.faults {
            for (host, here) in self.hosts.iter().enumerate().filter(|(_, here)| here.attended) {
                if !here.stopped {
                    choices.push(Event::Stop(host));
                }
                if !here.cut {
                    choices.push(Event::Reset(host));
                }
                // Those of a host are alike.
                let mut pes = host * EACH..(host + 1) * EACH;
                let is_there = |&pe: &usize| !self.pes[pe].dead && !here.stopped;
                match self.bounds.respawns {
                    0 => choices.extend(pes.find(is_there).map(Event::Die)),
                    _ => choices.extend(pes.filter(is_there).map(Event::Die)),
                }
            }
        }
        match self.paused {
            true => choices.push(Event::Resume),
            false if self.pauses < self.bounds.pauses => choices.push(Event::Pause),
            false => {}
        }
        choices
    }

    /// What holds in every state.
    fn check(&self) {
        for (pe, member) in self.pes.iter().enumerate() {
            let here = &self.hosts[host_of(pe)];
            let may_act = !(member.dead || member.is_starting || here.stopped || here.late || here.halted);
            assert!(self.lifecycle.is_alive(pe) || !may_act, "PE {pe} was lost while it runs");
            let knows = member.knows.iter().map(|&(pe, _)| pe);
            assert!(knows.eq(self.losses.iter().copied().take(member.knows.len())), "the same order");
            assert!(member.knows.iter().map(|&(_, view)| view).eq(1..=member.knows.len() as i32));
        }
    }

    /// The network delivers everything that `delivers` lets it, until that changes nothing any
    /// more: no PE that runs waits for anything then.
    fn finish(mut self, delivers: impl Fn(Event) -> bool) {
        if self.paused {
            self.step(Event::Resume);
        }
        // A lease, half of one, and a beat for what follows.
        for _ in 0..2 * TERM + 1 {
            while let Some(event) = self.next(|event| event != Event::Tick && delivers(event)) {
                self.step(event);
            }
            self.step(Event::Tick);
        }
        for (pe, member) in self.pes.iter().enumerate() {
            let here = &self.hosts[host_of(pe)];
            let is_lost = !self.lifecycle.is_alive(pe);
            assert!(!member.dead || is_lost, "PE {pe} has ended, and is not lost");
            assert!(!here.stopped || is_lost, "PE {pe} has stopped with its host, and is not lost");
            if !member.dead && !is_lost {
                assert_eq!(member.knows.len(), self.losses.len(), "PE {pe} knows all losses");
                let is_answered = member.answer.is_some() != self.losses.is_empty();
                assert!(is_answered || self.bounds.respawns > 0, "PE {pe} has its answer");
                assert!(!here.halted, "PE {pe} goes on");
            }
        }
        self.check_replacements();
    }

    /// What is the same for states from which the same may happen.
    fn key(&self) -> u64 {
        let mut key = DefaultHasher::new();
        (self.now, &self.grants, &self.hosts, &self.pes, self.given_up, self.paused).hash(&mut key);
        (&self.losses, &self.replacing, self.faults, self.pauses).hash(&mut key);
        let mut asked = self.asked.clone();
        asked.sort_unstable();
        asked.hash(&mut key);
        (0..self.pes.len()).for_each(|pe| self.lifecycle.is_alive(pe).hash(&mut key));
        key.finish()
    }
}
