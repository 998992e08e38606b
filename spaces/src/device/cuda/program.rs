//! What CUDA devices do in streams of the program.

use oxshmem_base::Result;
use oxshmem_memory::{
    op::{Address, Verb},
    word::Width,
};
use oxshmem_progress::completion::Completion;

use super::{
    Cuda,
    gpu::Command,
    transfers::{Strided, strided},
};
use crate::device::{
    DeviceOp, DevicePlace, End,
    stream::{EventRef, Held, InStream, ProgramStreams, StreamRef},
};

// SAFETY: streams touch the bytes that they are given, which callers vouch for until the event
// behind them is over.
unsafe impl ProgramStreams for Cuda {
    fn ordinal(&self, by: usize) -> usize {
        self.memory.ordinal(by)
    }

    fn takes(&self, by: usize, what: &InStream) -> bool {
        let reaches = |place: DevicePlace| self.memory.reaches(by, place.block);
        let knows = |address: Address| {
            let context = self.memory.context(by);
            context.enter().is_ok_and(|_entered| self.streams.host().knows(address.get()))
        };
        match *what {
            InStream::Wait { at, .. } => reaches(at),
            InStream::Op(op) => {
                let here = match op.verb {
                    Verb::Put(End::Device(place)) | Verb::Get(End::Device(place)) => reaches(place),
                    Verb::Put(End::Host(address)) | Verb::Get(End::Host(address)) => knows(address),
                    Verb::Atomic(_, width) => width == Width::Eight,
                };
                here && reaches(op.there) && op.then.is_none_or(|(at, _)| reaches(at))
            }
        }
    }

    fn is_captured(&self, by: usize, stream: StreamRef<'_>) -> Result<bool> {
        self.streams.is_captured(by, stream)
    }

    unsafe fn append(&self, by: usize, stream: StreamRef<'_>, what: &[InStream], done: Completion) {
        // SAFETY: passed on to the caller.
        unsafe { self.streams.append(by, stream, what, done) }
    }

    unsafe fn append_captured(&self, by: usize, stream: StreamRef<'_>, what: &[InStream]) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.streams.append_captured(by, stream, what) }
    }

    fn hold(&self, by: usize, stream: StreamRef<'_>) -> Result<Held> {
        self.streams.hold(by, stream)
    }

    fn event(&self, by: usize, event: EventRef<'_>, done: Completion) {
        self.streams.after(by, event, &Command::Nothing, done);
    }

    unsafe fn copy_after(&self, by: usize, event: EventRef<'_>, op: DeviceOp, done: Completion) {
        let (from, to, Strided { len, .. }) = strided(op);
        match (from, to) {
            (End::Device(from), End::Device(to)) => {
                let command = Command::Within { from: self.at(from), to: self.at(to), len };
                // A queue of the PE that calls: it has as many as it may have under way.
                self.streams.after(by, event, &command, done);
            }
            _ => unreachable!("both are places of devices"),
        }
    }
}
