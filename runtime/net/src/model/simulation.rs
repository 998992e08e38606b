//! Virtual time, as a PE sees it.

use std::{fmt, sync::Arc, time::Duration};

use oxshmem_base::Result;
use oxshmem_job::Bootstrap;

use super::{Sent, Wires, clock::Moment, port::Port};

/// A job on a simulated network, in virtual time: PEs run the code that they always run, and a
/// clock says how long it would take if communication took what a [`Link`](super::Link) says, and
/// nothing else took any time.
///
/// The clock stands still while any PE has something to do. When all wait, it is set to when the
/// next thing happens on the network, so that the figures are the same on any machine, however many
/// PEs share a processor. What PEs of one host do among themselves takes no time, nor does
/// computing, unless they [say so](Self::work). PEs must wait for each other only: a timer or a
/// file is none of the clock's business.
pub struct Simulation {
    bootstrap: Arc<dyn Bootstrap>,
    wires: Arc<Wires>,
    port: Arc<Port>,
}

impl Simulation {
    /// That of the job that `bootstrap` knows, as its PE sees it. None if its time is real, or it
    /// is on one host.
    pub fn of(bootstrap: &Arc<dyn Bootstrap>) -> Option<Self> {
        let wires = Wires::of(&**bootstrap).filter(|wires| wires.link.virtual_time)?;
        let port = wires.port(bootstrap.placement().pe).ok()?;
        Some(Self { bootstrap: Arc::clone(bootstrap), wires, port })
    }

    /// This PE's time since the job began: when its processor has done all that it was asked for so
    /// far.
    pub fn now(&self) -> Duration {
        self.port.sent_until(|line| Some(line.idle_from())).unwrap_or_default()
    }

    /// What this PE has sent so far.
    pub fn sent(&self) -> Sent {
        self.port.sent()
    }

    /// Keeps this PE's processor for `time`, and is ready when it is over.
    pub async fn work(&self, time: Duration) {
        let until = self.port.works(time);
        self.wait(until.unwrap_or_default()).await;
    }

    /// All PEs call this, and go on at the same moment: when all have come, and everything that was
    /// sent has arrived. That takes no messages.
    ///
    /// # Errors
    /// If the job ends before.
    pub async fn align(&self) -> Result<Duration> {
        self.bootstrap.barrier().await?;
        loop {
            let horizon = self.wires.delivery.horizon();
            self.wait(horizon).await;
            // What arrived may keep a PE for longer.
            let is_quiet = self.wires.delivery.horizon() == horizon;
            // All PEs have looked before any goes on, so that they find the same.
            self.wait(horizon).await;
            if is_quiet {
                return Ok(horizon);
            }
        }
    }

    /// Ready when `time` is over, for which the PE's processor is free.
    pub async fn sleep(&self, time: Duration) {
        self.wait(self.wires.delivery.clock().now() + time).await;
    }

    async fn wait(&self, until: Moment) {
        self.wires.delivery.wait(until, Some(&self.port)).await;
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {} at {:?} on {:?}", self.port.pe(), self.now(), self.wires)
    }
}
