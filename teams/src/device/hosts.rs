//! Reductions and broadcasts in device memory by teams on several hosts.
//!
//! In a reduction the devices of each host combine what its PEs have in the destination of the
//! first of them, the *leader*. The leaders take that to the host's staging memory, piece by piece,
//! combine the pieces of all hosts as those in host memory are combined, and take them back, so
//! that copies and messages are under way at the same time. Then the devices hand the result out. A
//! broadcast does the same with what the root has, and combines nothing.

use std::{ops::Range, pin::pin};

use oxshmem_base::Result;
use oxshmem_memory::op::Op;
use oxshmem_progress::completion::any_value;
use oxshmem_spaces::device::DevicePlace;

use super::{DeviceCollective, Direction, plan::Plan};
use crate::{
    algorithm::sync::sync_here,
    group::Group,
    hosts::{Wire, both, pieces},
    message::Wide,
    operation::Operation,
    reduction::Kernel,
};

/// What leaders do with what is in their staging memory.
#[derive(Clone, Copy)]
enum Between {
    Reduce(&'static Kernel),
    /// From this PE, on this host of the team.
    Broadcast([usize; 2]),
}

impl DeviceCollective {
    pub(super) async fn reduce_wide(
        &self,
        group: &Group,
        wide: &Wide,
        kernel: &'static Kernel,
    ) -> Result<()> {
        if self.call.dest.is_empty() {
            return wide.sync_for(group, self.call.signature).await;
        }
        let wire = wide.wire(group);
        let operands = self.exchange(group).await?;
        let Plan { operation, size, from, to, lens } = self.plan(group, &operands);
        // Where the leader has what this host has, and where the result is to be.
        let (mine, result) = (if group.n() == 1 { from[0] } else { to[0] }, to[0]);
        let hand_out = Plan {
            operation: Operation::Broadcast { root: 0, to_root: false },
            size,
            from: to.clone(),
            to,
            lens,
        };
        // What fails here is returned when the others do not wait for this PE any more.
        let mut done = Ok(());
        if group.n() > 1 {
            let lens = hand_out.lens.clone();
            done = self.perform(group, &Plan { operation, size, from, to: vec![result], lens }).await;
            sync_here(group).await?;
        }
        if group.me() == 0 {
            let ends = [Some(mine), Some(result)];
            let pipeline = self.pipeline(&wire, Between::Reduce(kernel), ends);
            done = done.and(Box::pin(pipeline).await?);
        }
        if group.n() > 1 {
            sync_here(group).await?;
            done = done.and(self.perform(group, &hand_out).await);
            sync_here(group).await?;
        }
        done
    }

    pub(super) async fn broadcast_wide(
        &self,
        group: &Group,
        wide: &Wide,
        root: usize,
        to_root: bool,
    ) -> Result<()> {
        let wire = wide.wire(group);
        let stands = wide.begin_broadcast(group, root);
        let operands = self.exchange(group).await?;
        let mut plan = self.plan(group, &operands);
        let (mine, result) = (plan.from[group.me()], plan.to[group.me()]);
        let at = wide.number_here(root);
        let between = Between::Broadcast(stands);
        let mut done = Ok(());
        if at.is_none() {
            if group.me() == 0 {
                done = Box::pin(self.pipeline(&wire, between, [None, Some(result)])).await?;
            }
            sync_here(group).await?;
            // From here on it is one from the leader's destination.
            plan.from.clone_from(&plan.to);
        }
        plan.operation = Operation::Broadcast { root: at.unwrap_or(0), to_root: to_root && at.is_some() };
        let (mut handed_out, mut went) = (Ok(()), Ok(()));
        let hand_out = async {
            handed_out = self.perform(group, &plan).await;
            Ok(())
        };
        let pass_on = async {
            if wide.my_pe == root {
                went = Box::pin(self.pipeline(&wire, between, [Some(mine), None])).await?;
            }
            Ok(())
        };
        both(pin!(hand_out), pin!(pass_on)).await?;
        sync_here(group).await?;
        done.and(handed_out).and(went)
    }

    /// Takes what is at the first end to the staging memory, piece by piece, has leaders do
    /// something with it there, and takes it to the second end; all of that at the same time, with
    /// three pieces. Returns how the copies have ended.
    async fn pipeline(
        &self,
        wire: &Wire<'_>,
        between: Between,
        [from, to]: [Option<DevicePlace>; 2],
    ) -> Result<Result<()>> {
        let pieces: Vec<Range<usize>> = pieces(self.call.signature, self.call.dest.len()).collect();
        let piece = |step: usize, later: usize| step.checked_sub(later).and_then(|i| pieces.get(i).cloned());
        let mut done = Ok(());
        for step in 0..pieces.len() + 2 {
            let (mut came, mut went) = (Ok(()), Ok(()));
            let bring = async {
                if let (Some(from), Some(piece)) = (from, piece(step, 0)) {
                    came = self.copy(wire.group, Direction::ToHost, from, piece).await;
                }
                Ok(())
            };
            let meanwhile = async {
                let Some(piece) = piece(step, 1) else { return Ok(()) };
                let span = self.call.dest.part(piece);
                match between {
                    Between::Reduce(kernel) => wire.wide.reduce_between(wire, kernel, [span; 2]).await,
                    Between::Broadcast(stands) => wire.wide.across(wire, stands, span).await,
                }
            };
            let take_back = async {
                if let (Some(to), Some(piece)) = (to, piece(step, 2)) {
                    went = self.copy(wire.group, Direction::ToDevice, to, piece).await;
                }
                Ok(())
            };
            let copies = async { both(pin!(bring), pin!(take_back)).await };
            both(pin!(meanwhile), pin!(copies)).await?;
            done = done.and(came).and(went);
        }
        Ok(done)
    }

    /// Copies bytes behind a place on the leader's device from or to those in the staging memory.
    async fn copy(
        &self,
        group: &Group,
        direction: Direction,
        place: DevicePlace,
        bytes: Range<usize>,
    ) -> Result<()> {
        let span = self.call.dest.part(bytes.clone());
        self.complete(group, |done| {
            let (there, here) = (place.behind(bytes.start), group.memory.here(span));
            let op = match direction {
                Direction::ToHost => Op::get(there, here, bytes.len()),
                Direction::ToDevice => Op::put(there, here, bytes.len()),
            };
            // SAFETY: both are in bounds, as the operands are. `done` holds the operands, and with
            // them the PE, which keeps the staging memory; no other collective uses their bytes
            // there before they are free.
            unsafe { self.device.start(op, any_value(done)) }
        })
        .await
    }
}
