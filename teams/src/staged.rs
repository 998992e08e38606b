//! Collectives on device memory: by way of the host's image of it.
//!
//! The image has as many bytes as the device's heap, at the same offsets, so that an object's place in it is symmetric as
//! the object is, and nobody else's. A collective becomes three in the queue of its team, in one go: the source is
//! copied to the image, the collective runs there as on any host memory, by whichever algorithm, and what it has
//! written is copied back. Nothing else of the destination is touched.

use std::{
    future::poll_fn,
    sync::{Arc, OnceLock},
};

use oxshmem_runtime::{
    Error, Pe, Result,
    activity::{Activity, Call},
    device::{AnyDevice, DevicePlace, End},
    flight::Flight,
    settings::SpaceKind,
};
use oxshmem_spaces::{Element, SymSlice, SymView, allocation::Allocation};

use crate::{queue::Collective, signature::Signature, team::Team};

/// Bytes of the image's tail that each team has, by its place.
const TAIL: usize = 64;
const _: () = assert!(TAIL * crate::scratch::TEAMS <= oxshmem_runtime::pe::IMAGE_TAIL);

/// What of the destination a collective writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Written {
    All,
    /// Nothing, on this PE.
    Nothing,
    /// So many elements, so far apart.
    Strided(usize, usize),
    /// As many elements as all sources have.
    Collected,
}

/// What a team knows of device memory, once it has been used with it.
#[derive(Debug, Default)]
pub(crate) struct Image {
    memory: OnceLock<Arc<Allocation>>,
    /// A member without a device, by its number in the world.
    outsider: OnceLock<Option<usize>>,
}

impl Image {
    fn memory(&self, pe: &Arc<Pe>) -> &Arc<Allocation> {
        self.memory.get_or_init(|| {
            let symmetric = pe.symmetric();
            let len = symmetric.len();
            Allocation::unowned(Arc::clone(pe), symmetric, 0, len)
        })
    }
}

impl Team {
    /// What is to be made of a collective whose operands were refused: if they are in device memory, it is this, with `inner`
    /// as the collective on the host.
    #[cold]
    pub(crate) fn staged<'a, T: Element>(
        &'a self,
        refused: Error,
        call: &'static str,
        [dest, source]: [SymView<'a, T>; 2],
        written: Written,
        inner: impl FnOnce(SymView<'a, T>, SymView<'a, T>) -> Collective<'a>,
    ) -> Collective<'a> {
        if !dest.is_on_device() && !source.is_on_device() {
            return Collective::failed(refused);
        }
        let device = match self.check_device(call, dest, source) {
            Ok(device) => device,
            Err(error) => return Collective::failed(error),
        };
        let core = self.core();
        let pe = core.group.pe();
        let image = core.image.memory(pe);
        let shown = |view: SymView<'a, T>| {
            // SAFETY: the image is as long as the device's memory, whose bytes these are, and aligned like it.
            unsafe { SymView::<T>::inside_unchecked(image, pe.image_at() + view.extent().offset, view.len()) }
        };
        let [dest_image, source_image] = [dest, source].map(shown);
        let tail = pe.image_tail_at() + core.place * TAIL;
        // SAFETY: the team's part of the tail is inside, and aligned.
        let [mine, total] = [0, 8].map(|at| unsafe { SymView::<u64>::inside_unchecked(image, tail + at, 1) });

        let len = source.len() as u64;
        let (copied, ours) = (Copy::new(device, source, source_image), mine.to_owned());
        let mut tickets = vec![self.copy(call, async move {
            ours.at(0).store(len);
            copied.run(Direction::In, 1, source_len(&copied), 0).await
        })];
        if matches!(written, Written::Collected) {
            tickets.push(match self.sum_reduce(total, mine).ticket() {
                Ok(ticket) => ticket,
                Err(error) => return Collective::failed(error),
            });
        }
        tickets.push(match inner(dest_image, source_image).ticket() {
            Ok(ticket) => ticket,
            Err(error) => return Collective::failed(error),
        });
        let (copied, total) = (Copy::new(device, dest, dest_image), total.to_owned());
        tickets.push(self.copy(call, async move {
            match written {
                Written::Nothing => Ok(()),
                Written::All => copied.run(Direction::Out, 1, source_len(&copied), 0).await,
                Written::Strided(count, stride) => copied.run(Direction::Out, count, 1, stride).await,
                Written::Collected => {
                    // Where they do not fit, the collective has failed.
                    let all = usize::try_from(total.at(0).load()).unwrap_or(usize::MAX);
                    copied.run(Direction::Out, 1, all.min(source_len(&copied)), 0).await
                }
            }
        }));
        Collective::staged(core, tickets)
    }

    /// The device, if source and destination are in its memory and all PEs of the team have one.
    fn check_device<T: Element>(
        &self,
        call: &'static str,
        dest: SymView<'_, T>,
        source: SymView<'_, T>,
    ) -> Result<&AnyDevice> {
        let core = self.core();
        core.check_turn(call)?;
        let pe = core.group.pe();
        if [dest, source].iter().any(|view| view.allocation().job_anywhere() != pe.job()) {
            return Err(Error::ForeignMemory { call });
        }
        if dest.space() != source.space() {
            return Err(Error::SpaceMismatch {
                call,
                what_a: "the destination",
                space_a: dest.space(),
                what_b: "the source",
                space_b: source.space(),
            });
        }
        let outsider = || core.group.team().iter().find(|&member| !pe.has_device(member));
        match (core.image.outsider.get_or_init(outsider), pe.device()) {
            (None, Some(device)) => Ok(device),
            (outsider, _) => {
                let pe = outsider.unwrap_or(pe.me());
                Err(Error::OutsideSpace { call, space: SpaceKind::Gpu, pe })
            }
        }
    }

    /// Puts a copy into the queue.
    fn copy(&self, call: &'static str, copy: impl Future<Output = Result<()>> + Send + 'static) -> u64 {
        let activity = Activity::new(Call::collective(call));
        self.core().local(activity, Signature::named("staged"), copy)
    }
}

/// A copy between device memory and its image.
struct Copy<T: Element> {
    device: AnyDevice,
    /// Keeps it from being given to others.
    memory: SymSlice<T>,
    image: SymSlice<T>,
}

#[derive(Clone, Copy)]
enum Direction {
    In,
    Out,
}

fn source_len<T: Element>(copy: &Copy<T>) -> usize {
    copy.memory.len()
}

impl<T: Element> Copy<T> {
    fn new(device: &AnyDevice, memory: SymView<'_, T>, image: SymView<'_, T>) -> Self {
        Self { device: Arc::clone(device), memory: memory.to_owned(), image: image.to_owned() }
    }

    /// Copies `count` blocks of `len` elements, whose starts are `stride` apart.
    async fn run(&self, direction: Direction, count: usize, len: usize, stride: usize) -> Result<()> {
        let size = size_of::<T>();
        for i in 0..count {
            let flight = Arc::new(Flight::default());
            let landing = Arc::clone(&flight);
            let kept = (self.memory.clone(), self.image.clone());
            {
                let (memory, image) = (self.memory.view(), self.image.view());
                let offset = memory.extent().offset + i * stride * size;
                let there = End::Device(DevicePlace { block: memory.pe().block(), offset });
                let here = End::Host(image.own().wrapping_add(i * stride * size));
                let (from, to) = match direction {
                    Direction::In => (there, here),
                    Direction::Out => (here, there),
                };
                let done = Box::new(move |copied| {
                    drop(kept);
                    landing.land(copied);
                });
                // SAFETY: both are in bounds, as the operands are, and `done` holds them.
                unsafe { self.device.copy(from, to, len * size, done) };
            }
            poll_fn(|cx| flight.poll(cx)).await?;
        }
        Ok(())
    }
}
