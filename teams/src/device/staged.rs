//! Collectives on device memory by way of the host's staging memory.
//!
//! The staging memory has as many bytes as the device's heap, at the same offsets, so that an
//! object's place in it is symmetric as the object is, and no other's. A collective becomes three
//! in the queue of its team, in one go: the source is copied to the staging memory, if a PE reads
//! it, the collective runs there as on any host memory, by whichever algorithm, and what it has
//! written is copied back. Nothing else of the operands is touched, as they may lie between each
//! other, and other PEs may have written to the destination before the source is copied.

use std::{future::poll_fn, sync::Arc};

use oxshmem_base::{Error, Result};
use oxshmem_memory::op::{Blocks, Op};
use oxshmem_progress::{
    activity::{Activity, Call as What},
    flight::Flight,
};
use oxshmem_spaces::{SymSlice, SymView, device::AnyDevice};

use super::{Direction, OnDevice, Part};
use crate::{
    queue::{Collective, Core},
    signature::Signature,
};

/// Bytes of the staging memory's tail that each team has, by its place.
const TAIL: usize = 64;
const _: () = assert!(TAIL * crate::memory::scratch::TEAMS <= oxshmem_spaces::pe::IMAGE_TAIL);

/// A collective on device memory in the making: its source is about to be copied to the host's
/// staging memory.
pub(crate) struct Staged<'a> {
    core: &'a Core,
    call: &'static str,
    /// Room for how much all PEs give together, and how much this PE gives.
    pub(crate) sums: [SymView<'a, u64>; 2],
    back: Copy,
    tickets: Vec<u64>,
}

impl<'a> Staged<'a> {
    /// Adds what is done in the staging memory.
    ///
    /// # Errors
    /// The collective's own.
    pub(crate) fn then(&mut self, collective: Collective<'a>) -> Result<()> {
        self.tickets.push(collective.ticket()?);
        Ok(())
    }

    /// All of it, with the copy of what was written back to the device.
    pub(crate) fn end(mut self, written: Part) -> Collective<'a> {
        let (back, total) = (self.back, self.sums[0].to_owned());
        self.tickets.push(self.core.copy(self.call, async move {
            back.run(Direction::ToDevice, written, || total.at(0).load()).await
        }));
        Collective::staged(self.core, self.tickets)
    }
}

impl Core {
    /// Begins with a collective in the staging memory, of which PEs `read` this part of the source.
    pub(crate) fn stage<'a>(&'a self, operands: &OnDevice<'a>, size: usize, read: Part) -> Staged<'a> {
        let OnDevice { device, call, views: [dest, source], elements, staging } = *operands;
        let [dest_elements, elements] = elements;
        tracing::trace!(target: "oxshmem", call, "in the host's staging memory");
        let [mine, total] = self.words_of_staging();
        let len = elements as u64;
        let (copied, ours) = (Copy::new(device, [source, staging[1]], elements, size), mine.to_owned());
        let copy_in = self.copy(call, async move {
            ours.at(0).store(len);
            copied.run(Direction::ToHost, read, || len).await
        });
        let back = Copy::new(device, [dest, staging[0]], dest_elements, size);
        Staged { core: self, call, sums: [total, mine], back, tickets: vec![copy_in] }
    }

    /// The team's two words in the tail of the staging memory.
    fn words_of_staging(&self) -> [SymView<'_, u64>; 2] {
        let pe = self.group.pe();
        let (staging, tail) = (self.staging.memory(pe), pe.image_tail_at() + self.place * TAIL);
        // SAFETY: the team's part of the tail is inside, and aligned.
        [0, 8].map(|at| unsafe { SymView::<u64>::inside_unchecked(staging, tail + at, 1) })
    }

    /// Puts a copy into the queue.
    fn copy(&self, call: &'static str, copy: impl Future<Output = Result<()>> + Send + 'static) -> u64 {
        let activity = Activity::new(What::collective(call));
        self.local(activity, Signature::named("staged"), copy)
    }
}

/// A copy between device memory and its staging memory.
struct Copy {
    device: AnyDevice,
    /// Keeps it from being given to others.
    memory: SymSlice<u8>,
    staging: SymSlice<u8>,
    /// How many elements, and the bytes of one.
    elements: usize,
    size: usize,
}

impl Copy {
    fn new(
        device: &AnyDevice,
        [memory, staging]: [SymView<'_, u8>; 2],
        elements: usize,
        size: usize,
    ) -> Self {
        let (memory, staging) = (memory.to_owned(), staging.to_owned());
        Self { device: Arc::clone(device), memory, staging, elements, size }
    }

    /// Copies a part of the memory. `collected` is how many elements all PEs have given.
    async fn run(&self, direction: Direction, part: Part, collected: impl FnOnce() -> u64) -> Result<()> {
        match part {
            Part::Nothing => Ok(()),
            Part::All => self.blocks(direction, 1, self.elements, 0).await,
            Part::Strided(count, stride) => self.blocks(direction, count, 1, stride).await,
            Part::Collected => {
                // Where they do not fit, the collective has failed.
                let all = usize::try_from(collected()).unwrap_or(usize::MAX);
                self.blocks(direction, 1, all.min(self.elements), 0).await
            }
        }
    }

    /// Copies `count` blocks of `len` elements, whose starts are `stride` apart.
    async fn blocks(&self, direction: Direction, count: usize, len: usize, stride: usize) -> Result<()> {
        let flight = Arc::new(Flight::default());
        let landing = Arc::clone(&flight);
        let kept = (self.memory.clone(), self.staging.clone());
        {
            let (memory, staging) = (self.memory.view(), self.staging.view());
            let place = memory.device_place(memory.pe(), memory.pe().local_pe());
            let place = place.ok_or(Error::Finalized { call: "copy" })?;
            let [len, stride] = [len, stride].map(|elements| elements * self.size);
            let op = match direction {
                Direction::ToHost => Op::get(place, staging.own(), len),
                Direction::ToDevice => Op::put(place, staging.own(), len),
            };
            let op = op.of_blocks(Blocks { len, count, there: stride, here: stride });
            let done = Box::new(move |copied: Result<u64>| {
                drop(kept);
                landing.land(copied.map(drop));
            });
            // SAFETY: both are in bounds, as the operands are, and `done` holds them.
            unsafe { self.device.start(op, done) };
        }
        let mut engine = self.memory.view().pe().engine().at_first_poll();
        poll_fn(|cx| engine.poll(|| flight.poll(cx))).await
    }
}
