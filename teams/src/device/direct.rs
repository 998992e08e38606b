//! Collectives that devices do by themselves.

use std::{future::poll_fn, sync::Arc};

use oxshmem_base::Result;
use oxshmem_memory::op::Op;
use oxshmem_progress::{
    completion::{AllParts, Completion},
    flight::Flight,
};
use oxshmem_spaces::{
    SymSlice,
    device::{AnyDevice, Combine, DevicePlace},
};

use super::{
    OnDevice,
    plan::{self, DeviceShare, DeviceStep, Plan},
};
use crate::{
    algorithm::{called::Called, exchange::meet, lengths::LENGTH_AT, sync::sync_here},
    group::Group,
    memory::scratch::LINE,
    operation::Operation,
};

/// One that was called, with the memory that it works on.
pub(crate) struct DeviceCollective {
    pub(super) device: AnyDevice,
    /// With the destination and the source where they are in the host's staging memory.
    pub(super) call: Called,
    pub(super) dest: SymSlice<u8>,
    pub(super) source: SymSlice<u8>,
}

/// The operands of a PE.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct PeOperands {
    /// Bytes from the start of its device memory.
    source: u64,
    dest: u64,
    /// Bytes of each.
    source_len: u64,
    dest_len: u64,
}

const _: () = assert!(size_of::<PeOperands>() <= LINE);

impl DeviceCollective {
    pub(crate) fn new(operands: &OnDevice<'_>, call: Called) -> Self {
        let [dest, source] = operands.views;
        if let Some((pattern, op, number)) = plan::what(call.operation) {
            operands.device.prepare(dest.allocation().pe().local_pe(), pattern, op, number);
        }
        Self { device: Arc::clone(operands.device), call, dest: dest.to_owned(), source: source.to_owned() }
    }

    /// Does it, together with the other PEs of the team.
    ///
    /// # Errors
    /// They call something else, or a device fails.
    pub(crate) async fn run(self, group: &Group) -> Result<()> {
        match (group.wide(), self.call.operation) {
            (Some(wide), Operation::Reduce(kernel)) => {
                return self.reduce_wide(group, wide, kernel).await;
            }
            (Some(wide), Operation::Broadcast { root, to_root }) => {
                return self.broadcast_wide(group, wide, root, to_root).await;
            }
            _ => {}
        }
        let operands = self.exchange(group).await?;
        let done = match self.check(group, &operands) {
            Ok(()) => self.perform(group, &self.plan(group, &operands)).await,
            Err(error) => Err(error),
        };
        // Nothing is used any more. Should it have failed here, the others are not to wait for
        // ever.
        sync_here(group).await?;
        done
    }

    /// Waits for all PEs of this host, and returns their operands. No PE leaves its next ones
    /// before they meet again.
    pub(super) async fn exchange(&self, group: &Group) -> Result<Vec<PeOperands>> {
        let [source, dest] = [&self.source, &self.dest].map(|slice| slice.view().extent());
        let mine = PeOperands {
            source: source.offset as u64,
            dest: dest.offset as u64,
            source_len: source.len as u64,
            dest_len: dest.len as u64,
        };
        let place = group.general(LENGTH_AT, size_of::<PeOperands>());
        group.memory.write(place, bytemuck::bytes_of(&mine));
        meet(group, self.call.signature).await?;
        let operands = group.blocks().map(|local_pe| {
            let mut operands = PeOperands::default();
            group.memory.read_from(place, local_pe, bytemuck::bytes_of_mut(&mut operands));
            operands
        });
        Ok(operands.collect())
    }

    /// Whether every destination has room, where signatures do not guarantee it.
    fn check(&self, group: &Group, operands: &[PeOperands]) -> Result<()> {
        if matches!(self.call.operation, Operation::Collect) {
            let lengths: Vec<_> = operands.iter().map(|pe| [pe.source_len, pe.dest_len]).collect();
            self.call.check_room(group, &lengths)?;
        }
        Ok(())
    }

    /// What the devices of this host do.
    pub(super) fn plan(&self, group: &Group, operands: &[PeOperands]) -> Plan {
        let places = |offset: fn(&PeOperands) -> u64| {
            // SAFETY: each PE has left where its operands are, and keeps them until all PEs meet
            // again.
            let place = |(pe, it)| unsafe { DevicePlace::new(pe, offset(it) as usize) };
            group.blocks().zip(operands).map(place).collect()
        };
        let Called { operation, size, .. } = self.call;
        Plan {
            operation,
            size,
            from: places(|operands| operands.source),
            to: places(|operands| operands.dest),
            lens: operands.iter().map(|pe| pe.source_len as usize / size.max(1)).collect(),
        }
    }

    /// Starts what this PE's device does for all, if this PE leads it, and waits until that is
    /// over.
    pub(super) async fn perform(&self, group: &Group, plan: &Plan) -> Result<()> {
        let pes: Vec<usize> = group.blocks().collect();
        let devices: Vec<usize> = pes.iter().map(|&pe| self.device.device_of(pe)).collect();
        let Some(share) = DeviceShare::of(group.me(), &devices) else { return Ok(()) };
        self.complete(group, |done| {
            let all = AllParts::new(done);
            for step in plan.steps(&share) {
                match step {
                    DeviceStep::Combine { what: (pattern, op, number), from, to, len } => {
                        let by = pes[group.me()];
                        let what = Combine { by, pattern, op, number, from: &from, to: &to, len };
                        // SAFETY: the operands are in bounds on every PE, aligned, and as long as
                        // the signatures say. `done` holds this PE's, and the PEs that hold the
                        // others wait for each other after this. No two steps write the same bytes,
                        // and the devices reach all.
                        unsafe { self.device.combine(what, all.part()) };
                    }
                    DeviceStep::Blocks { from, to, blocks } => {
                        let op = Op::put(to, from, 0).of_blocks(blocks);
                        // SAFETY: as above.
                        unsafe { self.device.start(op, all.part()) };
                    }
                }
            }
        })
        .await
    }

    /// Starts something, and waits for what completes it, which holds the operands.
    pub(super) async fn complete(&self, group: &Group, start: impl FnOnce(Completion)) -> Result<()> {
        let flight = Arc::new(Flight::default());
        let (landing, kept) = (Arc::clone(&flight), (self.source.clone(), self.dest.clone()));
        start(Box::new(move |done| {
            drop(kept);
            landing.land(done);
        }));
        let mut engine = group.pe().engine().at_first_poll();
        poll_fn(|cx| engine.poll(|| flight.poll(cx))).await
    }
}
