//! Collectives on device memory: by way of the host's image of it.
//!
//! The image has as many bytes as the device's heap, at the same offsets, so that an object's place
//! in it is symmetric as the object is, and no other's. A collective becomes three in the queue
//! of its team, in one go: the source is copied to the image, if anybody reads it, the collective
//! runs there as on any host memory, by whichever algorithm, and what it has written is copied
//! back. Nothing else of the destination is touched.
//!
//! Reductions of numbers that devices [combine](oxshmem_spaces::device::Device::combine), by a
//! team whose devices all reach each other, never come to the host: once all PEs have come, each
//! combines its part of all sources into all destinations.

use std::{future::poll_fn, sync::Arc};

use oxshmem_base::{Error, Result, settings::SpaceKind};
use oxshmem_progress::{
    activity::{Activity, Call as What},
    flight::Flight,
};
use oxshmem_spaces::{
    Domain, Element, SymSlice, SymView,
    device::{AnyDevice, Combine, DevicePlace, End, Number, ReduceOp},
};

use crate::{
    algorithm::exchange::{Deal, exchange},
    hosts::sync::sync_in,
    memory::span::Span,
    queue::{Collective, Core},
    reduction::{ElementType, Kernel, sum_kernel},
    signature::{Call, Signature},
};

/// Bytes of the image's tail that each team has, by its place.
const TAIL: usize = 64;
const _: () = assert!(TAIL * crate::memory::scratch::TEAMS <= oxshmem_spaces::pe::IMAGE_TAIL);

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

/// Whether a collective is on device memory: whether one operand at least is in it.
#[inline(always)]
pub(crate) fn has_any<T: Element>(operands: [SymView<'_, T>; 2]) -> bool {
    operands.iter().any(|view| view.domain().is_device())
}

/// What becomes of a collective that has an operand in device memory.
pub(crate) enum Stage<'a, T: Element> {
    /// It is one in host memory, as what is in device memory has no elements.
    Host([SymView<'a, T>; 2]),
    Device(Staged<'a, T>),
}

/// A collective on device memory in the making: its source is about to be copied to the host's
/// image.
pub(crate) struct Staged<'a, T: Element> {
    core: &'a Core,
    call: &'static str,
    /// The destination and the source in the image.
    pub(crate) images: [SymView<'a, T>; 2],
    /// Room for how much all PEs give together, and how much this PE gives.
    pub(crate) sums: [SymView<'a, u64>; 2],
    back: Copy<T>,
    tickets: Vec<u64>,
}

impl<'a, T: Element> Staged<'a, T> {
    /// Adds what is done in the image.
    ///
    /// # Errors
    /// The collective's own.
    pub(crate) fn then(&mut self, collective: Collective<'a>) -> Result<()> {
        self.tickets.push(collective.ticket()?);
        Ok(())
    }

    /// All of it, with the copy of what was written back to the device.
    pub(crate) fn end(mut self, written: Written) -> Collective<'a> {
        let (back, total) = (self.back, self.sums[0].to_owned());
        self.tickets.push(self.core.copy(self.call, async move {
            match written {
                Written::Nothing => Ok(()),
                Written::All => back.run(Direction::Out, 1, source_len(&back), 0).await,
                Written::Strided(count, stride) => back.run(Direction::Out, count, 1, stride).await,
                Written::Collected => {
                    // Where they do not fit, the collective has failed.
                    let all = usize::try_from(total.at(0).load()).unwrap_or(usize::MAX);
                    back.run(Direction::Out, 1, all.min(source_len(&back)), 0).await
                }
            }
        }));
        Collective::staged(self.core, self.tickets)
    }
}

impl Core {
    /// Makes ready a collective on device memory: its operands in the host's image, and the copy of
    /// the source to it.
    ///
    /// # Errors
    /// The operands are not in one space of this PE, or a PE of the team has no device.
    pub(crate) fn stage<'a, T: Element>(
        &'a self,
        call: &'static str,
        [dest, source]: [SymView<'a, T>; 2],
        reads: bool,
    ) -> Result<Stage<'a, T>> {
        let [dest, source] = self.in_one_space(call, [dest, source])?;
        let Domain::Device(device) = dest.domain() else { return Ok(Stage::Host([dest, source])) };
        self.check_devices(call)?;
        let pe = self.group.pe();
        let image = self.image.memory(pe);
        let shown = |view: SymView<'a, T>| {
            // SAFETY: the image is as long as the device's memory, whose bytes these are, and
            // aligned like it.
            unsafe { SymView::<T>::inside_unchecked(image, pe.image_at() + view.extent().offset, view.len()) }
        };
        let images = [dest, source].map(shown);
        let [mine, total] = self.words_of_image();
        let len = source.len() as u64;
        let (copied, ours) = (Copy::new(device, source, images[1]), mine.to_owned());
        let copy_in = self.copy(call, async move {
            ours.at(0).store(len);
            match reads {
                true => copied.run(Direction::In, 1, source_len(&copied), 0).await,
                false => Ok(()),
            }
        });
        let back = Copy::new(device, dest, images[0]);
        Ok(Stage::Device(Staged {
            core: self,
            call,
            images,
            sums: [total, mine],
            back,
            tickets: vec![copy_in],
        }))
    }

    /// The team's two words in the tail of the image.
    fn words_of_image(&self) -> [SymView<'_, u64>; 2] {
        let pe = self.group.pe();
        let (image, tail) = (self.image.memory(pe), pe.image_tail_at() + self.place * TAIL);
        // SAFETY: the team's part of the tail is inside, and aligned.
        [0, 8].map(|at| unsafe { SymView::<u64>::inside_unchecked(image, tail + at, 1) })
    }

    /// A reduction that the devices do by themselves, if they can.
    #[cold]
    #[inline(never)]
    pub(crate) fn reduced_on_devices<'a, T: Element>(
        &'a self,
        kernel: &'static Kernel,
        call: &'static str,
        [dest, source]: [SymView<'a, T>; 2],
    ) -> Option<Collective<'a>> {
        let (group, pe) = (&self.group, self.group.pe());
        let len = source.len();
        let Domain::Device(device) = source.domain() else { return None };
        if group.n() == 1 || group.wide().is_some() || len == 0 || dest.len() != len {
            return None;
        }
        let spans = [dest, source].map(Span::of);
        if spans[0] != spans[1] && spans[0].overlaps(spans[1]) {
            return None;
        }
        let [dest, source] = self.in_one_space(call, [dest, source]).ok()?;
        self.check_devices(call).ok()?;
        let (fold, number) = numbers(kernel)?;
        let blocks: Option<Vec<usize>> = group.team().iter().map(|member| pe.local_pe_of(member)).collect();
        let blocks = blocks.filter(|blocks| device.combines(fold, number, blocks))?;
        // One word each, of which nothing is wanted but that all have come with the same call.
        let spans = self.words_of_image().map(Span::of);
        let signature = Signature::of_kernel(Call::Reduce, kernel, len).on_device(true);
        let (start, end) = part(len, group.n(), group.me());
        let places = |view: SymView<'_, T>| -> Option<Vec<DevicePlace>> {
            let place = |&block| Some(view.device_place(pe, block)?.behind(start * size_of::<T>()));
            blocks.iter().map(place).collect()
        };
        let (from, to) = (places(source)?, places(dest)?);
        let (device, by, members) = (Arc::clone(device), pe.local_pe(), Arc::clone(group));
        let kept = (source.to_owned(), dest.to_owned());
        let ticket = self.copy(call, async move {
            exchange(&members, Deal::Reduce(sum_kernel::<u64>()), signature, spans).await?;
            let flight = Arc::new(Flight::default());
            let landing = Arc::clone(&flight);
            {
                let done = Box::new(move |combined| {
                    drop(kept);
                    landing.land(combined);
                });
                let what = Combine { by, fold, number, from: &from, to: &to, len: end - start };
                // SAFETY: the operands are in bounds on every PE, which `done` holds here, and the
                // PEs that hold them elsewhere wait for each other below. No other PE has this
                // part.
                unsafe { device.combine(what, done) };
            }
            let mut engine = members.pe().executor().at_first_poll();
            let combined = poll_fn(|cx| engine.poll(|| flight.poll(cx))).await;
            // Should it have failed here, the others are not to wait for ever.
            sync_in(&members).await?;
            combined
        });
        Some(Collective::staged(self, vec![ticket]))
    }

    /// Destination and source, if both are this PE's and in one space. What has no elements is as
    /// good as in the other's.
    fn in_one_space<'a, T: Element>(
        &self,
        call: &'static str,
        [dest, source]: [SymView<'a, T>; 2],
    ) -> Result<[SymView<'a, T>; 2]> {
        self.check_turn(call)?;
        let pe = self.group.pe();
        if [dest, source].iter().any(|view| !view.allocation().is_of(pe)) {
            return Err(Error::ForeignMemory { call });
        }
        if dest.space() == source.space() {
            return Ok([dest, source]);
        }
        if source.is_empty() {
            return Ok([dest, dest.slice(..0)]);
        }
        if dest.is_empty() {
            return Ok([source.slice(..0), source]);
        }
        Err(Error::SpaceMismatch {
            call,
            what_a: "the destination",
            space_a: dest.space(),
            what_b: "the source",
            space_b: source.space(),
        })
    }

    /// An error if a PE of the team has no device.
    fn check_devices(&self, call: &'static str) -> Result<()> {
        let outsider = || self.group.team().iter().find(|&member| !self.group.pe().has_device(member));
        match *self.image.outsider.get_or_init(outsider) {
            None => Ok(()),
            Some(pe) => Err(Error::OutsideSpace { call, space: SpaceKind::Gpu, pe }),
        }
    }

    /// Puts a copy into the queue.
    fn copy(&self, call: &'static str, copy: impl Future<Output = Result<()>> + Send + 'static) -> u64 {
        let activity = Activity::new(What::collective(call));
        self.local(activity, Signature::named("staged"), copy)
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
                let place = memory.device_place(memory.pe(), memory.pe().local_pe());
                let place = place.ok_or(Error::Finalized { call: "copy" })?;
                let there = End::Device(place.behind(i * stride * size));
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
            let mut engine = self.memory.view().pe().executor().at_first_poll();
            poll_fn(|cx| engine.poll(|| flight.poll(cx))).await?;
        }
        Ok(())
    }
}

/// Elements in multiples of which a vector is divided, so that parts begin at whole lines.
const PART: usize = 64;

/// The part of a vector that is PE `me`'s of `n`: where it begins and ends.
fn part(len: usize, n: usize, me: usize) -> (usize, usize) {
    let each = len.div_ceil(n).next_multiple_of(PART);
    ((me * each).min(len), ((me + 1) * each).min(len))
}

/// What a kernel is to devices, if they have it.
fn numbers(kernel: &Kernel) -> Option<(ReduceOp, Number)> {
    let number = match kernel.element() {
        ElementType::I32 => Number::I32,
        ElementType::I64 => Number::I64,
        ElementType::U32 => Number::U32,
        ElementType::U64 => Number::U64,
        ElementType::F32 => Number::F32,
        ElementType::F64 => Number::F64,
        _ => return None,
    };
    Some((kernel.op(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_vector_are_all_of_it_and_begin_at_whole_lines() {
        for len in [1, 63, 64, 65, 1000, 1 << 20] {
            for n in [2, 3, 7] {
                let parts: Vec<_> = (0..n).map(|me| part(len, n, me)).collect();
                assert_eq!((parts[0].0, parts[n - 1].1), (0, len));
                assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0));
                assert!(
                    parts.iter().all(|(start, end)| start <= end && (start % PART == 0 || *start == len))
                );
            }
        }
    }

    #[test]
    fn devices_have_the_kernels_of_numbers_with_4_and_8_bytes() {
        assert_eq!(
            numbers(&Kernel::of(ElementType::F64, ReduceOp::Sum).unwrap()),
            Some((ReduceOp::Sum, Number::F64))
        );
        assert_eq!(
            numbers(&Kernel::of(ElementType::U64, ReduceOp::Xor).unwrap()),
            Some((ReduceOp::Xor, Number::U64))
        );
        assert_eq!(numbers(&Kernel::of(ElementType::I16, ReduceOp::Max).unwrap()), None);
    }
}
