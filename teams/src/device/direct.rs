//! Collectives that devices do by themselves.

use std::{future::poll_fn, sync::Arc};

use oxshmem_base::{Error, Result};
use oxshmem_progress::{completion::AllParts, flight::Flight};
use oxshmem_spaces::{
    Element, SymSlice,
    device::{AnyDevice, Combine, DevicePlace, End},
};

use super::{
    OnDevice, Work,
    plan::{Plan, Share, Step},
};
use crate::{
    algorithm::{exchange::meet, lengths::lengths, room::check_room},
    group::Group,
    hosts::sync::sync_in,
    memory::span::Span,
    signature::Signature,
};

/// One that was called, with the memory that it works on.
pub(crate) struct Direct<T: Element> {
    device: AnyDevice,
    work: Work,
    dest: SymSlice<T>,
    source: SymSlice<T>,
    /// The source and the destination in the host's image, of which nothing is touched.
    images: [Span; 2],
}

impl<T: Element> Direct<T> {
    pub(crate) fn new(operands: &OnDevice<'_, T>, work: Work) -> Self {
        let [dest, source] = operands.views;
        let images = [operands.images[1], operands.images[0]].map(Span::of);
        Self {
            device: Arc::clone(operands.device),
            work,
            dest: dest.to_owned(),
            source: source.to_owned(),
            images,
        }
    }

    /// Does it, together with the other PEs of the team.
    ///
    /// # Errors
    /// They call something else, or a device fails.
    pub(crate) async fn run(self, group: &Group, signature: Signature) -> Result<()> {
        let lens = self.lens(group, signature).await?;
        let done = self.start(group, &lens).await;
        // Should it have failed here, the others are not to wait for ever.
        sync_in(group).await?;
        done
    }

    /// Waits for all PEs, and says how many elements each of them gives.
    async fn lens(&self, group: &Group, signature: Signature) -> Result<Vec<usize>> {
        if !matches!(self.work, Work::Collect) {
            meet(group, signature).await?;
            return Ok(vec![self.source.len(); group.n()]);
        }
        let size = size_of::<T>();
        let (said, _) = lengths(group, signature, self.images, 0).await?;
        check_room(group, signature, self.images[1], size, &said)?;
        Ok(said.iter().map(|&[bytes, _]| bytes as usize / size.max(1)).collect())
    }

    /// Starts what this PE's device does for all, if this PE leads it, and waits until that is
    /// over.
    async fn start(self, group: &Group, lens: &[usize]) -> Result<()> {
        let pes: Vec<usize> = group.blocks().collect();
        let devices: Vec<usize> = pes.iter().map(|&pe| self.device.device_of(pe)).collect();
        let Some(share) = Share::of(group.me(), &devices) else { return Ok(()) };
        let Self { device, work, dest, source, .. } = self;
        let places = |slice: &SymSlice<T>| -> Option<Vec<DevicePlace>> {
            pes.iter().map(|&pe| slice.view().device_place(group.pe(), pe)).collect()
        };
        let (from, to) = places(&source).zip(places(&dest)).ok_or(Error::Finalized { call: "collective" })?;
        let plan = Plan { work, size: size_of::<T>(), from: &from, to: &to, lens };
        let flight = Arc::new(Flight::default());
        {
            let landing = Arc::clone(&flight);
            let all = AllParts::new(Box::new(move |done| {
                drop((dest, source));
                landing.land(done);
            }));
            for step in plan.steps(&share) {
                match step {
                    Step::Combine { what: (pattern, op, number), from, to, len } => {
                        let by = pes[group.me()];
                        let what = Combine { by, pattern, op, number, from: &from, to: &to, len };
                        // SAFETY: the operands are in bounds on every PE, and aligned. `all` holds
                        // this PE's, and the PEs that hold the others wait for each other after
                        // this. No two steps write the same bytes, and the devices reach all.
                        unsafe { device.combine(what, all.part()) };
                    }
                    Step::Blocks { from, to, blocks } => {
                        let (from, to) = (End::Device(from), End::Device(to));
                        // SAFETY: as above.
                        unsafe { device.copy_blocks(from, to, blocks, all.part()) };
                    }
                }
            }
        }
        let mut engine = group.pe().executor().at_first_poll();
        poll_fn(|cx| engine.poll(|| flight.poll(cx))).await
    }
}
