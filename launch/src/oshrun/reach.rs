//! How the launcher reaches the PEs of a job: those of this machine itself, those of others by
//! agents.

use std::io;

use oxshmem_job::wire::Message;
use rustix::process::Signal;
use tokio::time::Instant;

use super::{
    agents::Agents, attend::Order, boards::HostBoards, exchanges::Mail, frame::ToAgent, here::Here,
    signals::stop,
};

/// The PEs of a job.
pub(super) enum Reach<'a> {
    Here(Here<'a>, HostBoards),
    Agents(Agents),
}

impl Reach<'_> {
    /// The boards, where this process can read them itself.
    pub(super) fn boards(&mut self) -> Option<&mut HostBoards> {
        match self {
            Self::Here(_, boards) => Some(boards),
            Self::Agents(_) => None,
        }
    }

    /// When the leases of hosts are to be looked at.
    pub(super) fn beat_at(&self) -> Option<Instant> {
        match self {
            Self::Here(..) => None,
            Self::Agents(agents) => Some(agents.beat_at),
        }
    }

    /// Sends messages to PEs.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(super) fn deliver(&self, mail: Mail) -> io::Result<()> {
        match self {
            Self::Here(here, _) => {
                mail.into_iter().for_each(|(pe, message)| here.order(pe, Order::Send(message)));
                Ok(())
            }
            Self::Agents(agents) => agents.deliver(mail),
        }
    }

    /// Sends a message to all PEs that run; nothing is sent after the `last`.
    pub(super) fn inform_all(&self, message: Message, last: bool) {
        match self {
            Self::Here(here, _) => here.inform_all(&message, last),
            // It is short, and so in no file that could not be read.
            Self::Agents(agents) => _ = agents.inform_all(message, last),
        }
    }

    /// Sends a signal to all PEs and what they have started.
    pub(super) fn signal_group(&self, signal: Signal) {
        match self {
            Self::Here(here, _) => here.signal_group(signal),
            Self::Agents(agents) => _ = agents.send_all(&ToAgent::SignalGroup(signal.as_raw())),
        }
    }

    /// Sends a signal to all PEs but one.
    pub(super) fn signal_pes(&self, signal: Signal, spare: Option<usize>) {
        match self {
            Self::Here(here, _) => here.signal_pes(signal, spare),
            Self::Agents(agents) => {
                agents.send_all(&ToAgent::SignalPes { signal: signal.as_raw(), spare });
            }
        }
    }

    /// Kills one PE.
    pub(super) fn kill_pe(&self, pe: usize) {
        match self {
            Self::Here(here, _) => here.order(pe, Order::Signal(Signal::KILL)),
            Self::Agents(agents) => agents.kill_pe(pe),
        }
    }

    /// Starts a replacement of PE `pe`. Its process, if it is known already.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn replace(&mut self, pe: usize) -> io::Result<Option<u32>> {
        match self {
            Self::Here(here, _) => here.replace(pe).map(Some),
            Self::Agents(agents) => {
                agents.replace(pe);
                Ok(None)
            }
        }
    }

    /// Stops with the PEs, which the terminal does not stop since they are in process groups of
    /// their own, and goes on with them.
    pub(super) async fn pause(&mut self) {
        match self {
            Self::Here(here, _) => {
                here.signal_group(Signal::TSTP);
                stop();
                here.signal_group(Signal::CONT);
            }
            Self::Agents(agents) => agents.pause().await,
        }
    }

    /// All PEs have ended. What they have left running is killed, and the rest of what they have
    /// printed is on its way.
    pub(super) fn finish(&self) {
        match self {
            Self::Here(here, _) => {
                here.signal_group(Signal::KILL);
                here.is_over();
            }
            Self::Agents(agents) => _ = agents.send_all(&ToAgent::Finish),
        }
    }

    /// Lets go of what has ended.
    pub(super) async fn close(self) {
        if let Self::Agents(agents) = self {
            agents.close().await;
        }
    }
}
