//! The transfers and atomic operations of CUDA devices, as commands for their streams.

use oxshmem_base::Result;
use oxshmem_memory::{
    copy,
    op::{Address, Behind, Blocks, Verb},
    word::{Atomic, Width},
};
use oxshmem_progress::completion::{AllParts, Completion};

use super::{Cuda, SHORT, gpu::Command, must};
use crate::device::{DeviceOp, DevicePlace, End};

/// Blocks of equal length, between two ends.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    pub(super) len: usize,
    pub(super) count: usize,
    pub(super) from_stride: usize,
    pub(super) to_stride: usize,
}

/// The ends of a transfer, and its blocks.
pub(super) fn strided(op: DeviceOp) -> (End, End, Strided) {
    let Blocks { len, count, there: other, here: own } = op.blocks;
    let there = End::Device(op.there);
    match op.verb {
        Verb::Put(from) => (from, there, Strided { len, count, from_stride: own, to_stride: other }),
        Verb::Get(to) => (there, to, Strided { len, count, from_stride: other, to_stride: own }),
        Verb::Atomic(..) => unreachable!("it is no transfer"),
    }
}

/// Copies each block by itself.
///
/// # Safety
/// As for [`start`](oxshmem_net::Way::start).
unsafe fn copy_each(device: &Cuda, from: End, to: End, blocks: Strided, done: Completion) {
    let all = AllParts::new(done);
    for i in 0..blocks.count {
        let (from, to) = (from.behind(i * blocks.from_stride), to.behind(i * blocks.to_stride));
        // SAFETY: passed on to the caller.
        unsafe { device.copy(from, to, blocks.len, all.part()) };
    }
}

impl Cuda {
    /// Copies bytes.
    ///
    /// # Safety
    /// As for [`start`](oxshmem_net::Way::start).
    pub(super) unsafe fn copy(&self, from: End, to: End, len: usize, done: Completion) {
        let streams = &self.streams;
        match (from, to) {
            (End::Host(from), End::Host(to)) => {
                // SAFETY: passed on to the caller.
                unsafe { copy::copy(to.get(), from.get(), len) };
                done(Ok(()));
            }
            (End::Device(place), _) | (_, End::Device(place)) if len == 0 => {
                streams.start(place.block, Command::Nothing, done);
            }
            (End::Host(from), End::Device(place)) => {
                let (from, to) = (from.get(), self.at(place));
                if len > SHORT && streams.host().is_ready(from, len) {
                    return streams.start(place.block, Command::In { from, to, len }, done);
                }
                match streams.slot(len) {
                    Some(slot) => {
                        // SAFETY: passed on to the caller; the slot has room, and is ours.
                        unsafe { copy::copy(slot.start(), from, len) };
                        let command = Command::In { from: slot.start(), to, len };
                        let free = Box::new(move |copied| {
                            drop(slot);
                            done(copied);
                        });
                        streams.start(place.block, command, free);
                    }
                    None => streams.start_slowly(place.block, Command::In { from, to, len }, done),
                }
            }
            (End::Device(place), End::Host(to)) => {
                let (from, to) = (self.at(place), to.get());
                if len > SHORT && streams.host().is_ready(to, len) {
                    return streams.start(place.block, Command::Out { from, to, len }, done);
                }
                match streams.slot(len) {
                    Some(slot) => {
                        let command = Command::Out { from, to: slot.start(), len };
                        let to = Address::from(to);
                        let take = Box::new(move |copied: Result<()>| {
                            if copied.is_ok() {
                                // SAFETY: `done` has not completed, so the caller vouches for its
                                // end.
                                unsafe { copy::copy(to.get(), slot.start(), len) };
                            }
                            drop(slot);
                            done(copied);
                        });
                        streams.start(place.block, command, take);
                    }
                    None => streams.start_slowly(place.block, Command::Out { from, to, len }, done),
                }
            }
            (End::Device(source), End::Device(place)) => {
                let (from, to) = (self.at(source), self.at(place));
                if self.memory.reaches(place.block, source.block) {
                    streams.start(place.block, Command::Within { from, to, len }, done);
                } else {
                    let command = Command::Through { source: source.block, from, to, len };
                    streams.start_slowly(place.block, command, done);
                }
            }
        }
    }

    pub(super) fn atomic(
        &self,
        at: DevicePlace,
        width: Width,
        operation: Atomic<u64>,
        done: Completion<u64>,
    ) {
        let slot = match self.streams.word() {
            Ok(slot) => slot,
            Err(failed) => return done(Err(failed.into())),
        };
        let command = self.streams.gpu(at.block).amo(self.at(at), width, operation, slot.shown);
        let tell = Box::new(move |over: Result<()>| {
            // SAFETY: the slot is ours, and the kernel has written a word there.
            let before = over.map(|()| unsafe { copy::load(slot.start().cast::<u64>()) });
            drop(slot);
            done(before);
        });
        self.streams.start(at.block, command, tell);
    }

    /// Copies blocks.
    ///
    /// # Safety
    /// As for [`start`](oxshmem_net::Way::start).
    pub(super) unsafe fn copy_blocks(&self, from: End, to: End, blocks: Strided, done: Completion) {
        let Strided { len, count, from_stride, to_stride } = blocks;
        let total = len * count;
        let packed = |from_stride, to_stride| Strided { len, count, from_stride, to_stride };
        match (from, to) {
            (End::Device(source), End::Device(place))
                if total > 0 && self.memory.reaches(place.block, source.block) =>
            {
                let command = self.blocks(place.block, [self.at(source), self.at(place)], blocks);
                return self.streams.start(place.block, command, done);
            }
            (End::Host(from), End::Device(place)) if total > 0 => {
                if let Some(slot) = self.streams.slot(total) {
                    for i in 0..count {
                        // SAFETY: the caller vouches for block `i`, and the slot has room for all.
                        unsafe {
                            let from = from.behind(i * from_stride);
                            copy::copy(slot.start().wrapping_add(i * len), from.get(), len);
                        }
                    }
                    let ends = [slot.shown, self.at(place)];
                    let command = self.blocks(place.block, ends, packed(len, to_stride));
                    let free = Box::new(move |copied| {
                        drop(slot);
                        done(copied);
                    });
                    return self.streams.start(place.block, command, free);
                }
            }
            (End::Device(place), End::Host(to)) if total > 0 => {
                if let Some(slot) = self.streams.slot(total) {
                    let ends = [self.at(place), slot.shown];
                    let command = self.blocks(place.block, ends, packed(from_stride, len));
                    let take = Box::new(move |copied: Result<()>| {
                        for i in 0..if copied.is_ok() { count } else { 0 } {
                            // SAFETY: `done` has not completed, so the caller vouches for block
                            // `i`.
                            unsafe {
                                let to = to.behind(i * to_stride);
                                copy::copy(to.get(), slot.start().wrapping_add(i * len), len);
                            }
                        }
                        drop(slot);
                        done(copied);
                    });
                    return self.streams.start(place.block, command, take);
                }
            }
            _ => {}
        }
        // SAFETY: passed on to the caller.
        unsafe { copy_each(self, from, to, blocks, done) }
    }

    /// Copies bytes, and returns when that is done.
    ///
    /// # Safety
    /// As for [`start`](oxshmem_net::Way::start).
    pub(super) unsafe fn copy_now(&self, from: End, to: End, len: usize) {
        if len == 0 {
            return;
        }
        let (block, command) = match (from, to) {
            // SAFETY: passed on to the caller.
            (End::Host(from), End::Host(to)) => return unsafe { copy::copy(to.get(), from.get(), len) },
            (End::Host(from), End::Device(place)) => {
                (place.block, Command::In { from: from.get(), to: self.at(place), len })
            }
            (End::Device(place), End::Host(to)) => {
                (place.block, Command::Out { from: self.at(place), to: to.get(), len })
            }
            (End::Device(source), End::Device(place)) => {
                let (from, to) = (self.at(source), self.at(place));
                let command = match self.memory.reaches(place.block, source.block) {
                    true => Command::Within { from, to, len },
                    false => Command::Through { source: source.block, from, to, len },
                };
                (place.block, command)
            }
        };
        must(self.streams.run(block, &command));
    }

    pub(super) fn atomic_now(&self, at: DevicePlace, width: Width, operation: Atomic<u64>) -> u64 {
        let slot = must(self.streams.word());
        let command = self.streams.gpu(at.block).amo(self.at(at), width, operation, slot.shown);
        must(self.streams.run(at.block, &command));
        // SAFETY: the slot is ours, and the kernel has written a word there.
        unsafe { copy::load(slot.start().cast::<u64>()) }
    }
}
