//! The PEs of this machine: how they are started, reached and waited for.

use std::{
    io,
    ops::Range,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::Stdio,
};

use oxshmem_job::{lifeline::Lifeline, wire::Message};
use rustix::process::Signal;
use tokio::{
    io::unix::AsyncFd,
    net::unix::pipe,
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::{
    attend::{EventSender, Order, attend},
    events::JobEvent,
    guardian::Guardian,
    input::Input,
    output::{Output, Stream, relay},
    pe::{Pe, Starter},
    plan::Plan,
};

/// The PEs of this machine, which run.
pub(super) struct Here<'a> {
    guardian: &'a Guardian,
    /// Their numbers.
    pes: Range<usize>,
    /// Their processes.
    pids: Vec<u32>,
    to_pes: Vec<mpsc::UnboundedSender<Order>>,
    relays: JoinSet<()>,
    /// Tells the relays that nothing more will be printed.
    over: watch::Sender<bool>,
    lifeline: Lifeline,
    /// What replacements are started with.
    again: Box<Again>,
}

/// What replacements are started with.
struct Again {
    plan: Plan,
    program: PathBuf,
    output: Output,
    events: mpsc::UnboundedSender<JobEvent>,
}

/// What the PEs of a machine read, print and report to.
pub(super) struct Ends<'a> {
    pub(super) input: &'a Input,
    pub(super) output: &'a Output,
    pub(super) events: &'a mpsc::UnboundedSender<JobEvent>,
}

impl<'a> Here<'a> {
    /// Starts the PEs, which run the file `program`. `Err` says why that could not be done, in
    /// which case none of them is left.
    pub(super) async fn start(
        plan: &Plan,
        program: &Path,
        guardian: &'a Guardian,
        ends: &Ends<'_>,
    ) -> Result<Self, String> {
        let cannot = |error: io::Error| format!("cannot start: {error}");
        let lifeline = Lifeline::of_group(guardian.pid()).map_err(cannot)?;
        let starter = Starter::new(plan, program, guardian.pid(), &lifeline).map_err(cannot)?;
        let mut started = Vec::with_capacity(plan.pes.len());
        for number in plan.pes.clone() {
            match starter.start(number, ends.input.of(number), false) {
                Ok(pe) => started.push(pe),
                Err(error) => {
                    guardian.signal_group(Signal::KILL);
                    for pe in &mut started {
                        let _: Result<_, _> = pe.child.wait().await;
                    }
                    let name = plan.name.to_string_lossy();
                    return Err(format!("cannot start {name} as PE {number}: {error}"));
                }
            }
        }
        let mut here = Self {
            guardian,
            pes: plan.pes.clone(),
            pids: started.iter().map(|pe| pe.child.id().unwrap_or_default()).collect(),
            to_pes: Vec::with_capacity(started.len()),
            relays: JoinSet::new(),
            over: watch::Sender::new(false),
            lifeline,
            again: Box::new(Again {
                plan: plan.clone(),
                program: program.to_owned(),
                output: ends.output.clone(),
                events: ends.events.clone(),
            }),
        };
        let mut inputs = Vec::new();
        for (number, mut pe) in plan.pes.clone().zip(started) {
            let input = pe.child.stdin.take().map(|stdin| stdin.into_owned_fd()).transpose();
            inputs.extend(input.map_err(cannot)?);
            let to_pe = here.attend(number, pe).map_err(cannot)?;
            here.to_pes.push(to_pe);
        }
        ends.input.feed(inputs);
        Ok(here)
    }

    /// Starts a replacement of PE `pe`, whose process it returns. It reads no input.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn replace(&mut self, pe: usize) -> io::Result<u32> {
        let Again { plan, program, .. } = &*self.again;
        let starter = Starter::new(plan, program, self.guardian.pid(), &self.lifeline)?;
        let started = starter.start(pe, Stdio::null(), true)?;
        let (pid, place) = (started.child.id().unwrap_or_default(), pe - self.pes.start);
        self.to_pes[place] = self.attend(pe, started)?;
        self.pids[place] = pid;
        Ok(pid)
    }

    /// Attends PE `number`, which has been started, until its process ends. Returns where orders
    /// about it go.
    fn attend(&mut self, number: usize, pe: Pe) -> io::Result<mpsc::UnboundedSender<Order>> {
        let Pe { mut child, socket } = pe;
        let Again { plan, output, events, .. } = &*self.again;
        let stdout = child.stdout.take().map(|pipe| pipe.into_owned_fd()).transpose()?;
        let stderr = child.stderr.take().map(|pipe| pipe.into_owned_fd()).transpose()?;
        // Those of a PE that was here before.
        while self.relays.try_join_next().is_some() {}
        for (stream, pipe) in [(Stream::Out, stdout), (Stream::Err, stderr)] {
            let Some(pipe) = pipe else { continue };
            let from = pipe::Receiver::from_owned_fd(pipe)?;
            let (output, over) = (output.clone(), self.over.subscribe());
            self.relays.spawn(relay(number, stream, plan.tag_output, from, output, over));
        }
        let (to_pe, orders) = mpsc::unbounded_channel();
        let report = EventSender { pe: number, events: events.clone() };
        // SAFETY: `AsyncFd` owns the descriptor, and nothing closes it in between.
        let socket: AsyncFd<OwnedFd> = unsafe { AsyncFd::register(socket)? };
        tokio::spawn(attend(child, socket, orders, report));
        Ok(to_pe)
    }

    /// The processes of the PEs.
    pub(super) fn pids(&self) -> &[u32] {
        &self.pids
    }

    /// The PEs that the kernel has begun to end, of those that `is_alive` names.
    pub(super) fn ending(&self, is_alive: impl Fn(usize) -> bool) -> Vec<usize> {
        let pes = self.pes.clone().zip(&self.pids);
        let ending = pes.filter(|&(pe, &pid)| is_alive(pe) && super::pe::is_ending(pid));
        ending.map(|(pe, _)| pe).collect()
    }

    /// Has something done about PE `pe`.
    pub(super) fn order(&self, pe: usize, order: Order) {
        // Fails if the PE has ended, which is as well.
        let _ = self.to_pes[pe - self.pes.start].send(order);
    }

    /// Sends a message to all PEs that run; nothing is sent after the `last`.
    pub(super) fn inform_all(&self, message: &Message, last: bool) {
        for pe in self.pes.clone() {
            let message = message.clone();
            self.order(pe, if last { Order::SendLast(message) } else { Order::Send(message) });
        }
    }

    /// Sends a signal to all PEs and what they have started.
    pub(super) fn signal_group(&self, signal: Signal) {
        self.guardian.signal_group(signal);
    }

    /// Sends a signal to all PEs but one.
    pub(super) fn signal_pes(&self, signal: Signal, spare: Option<usize>) {
        for pe in self.pes.clone().filter(|&pe| Some(pe) != spare) {
            self.order(pe, Order::Signal(signal));
        }
    }

    /// All PEs have ended: nothing more will be printed than what is on its way.
    pub(super) fn is_over(&self) {
        self.over.send_replace(true);
    }

    /// Returns when all that was printed is written. May be dropped and called again.
    pub(super) async fn written(&mut self) {
        while self.relays.join_next().await.is_some() {}
    }
}
