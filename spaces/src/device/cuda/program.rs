//! What CUDA devices do in streams of the program.

use oxshmem_base::Result;
use oxshmem_progress::completion::Completion;

use super::{Cuda, gpu::Command};
use crate::device::{
    DevicePlace,
    stream::{EventRef, Held, InStream, ProgramStreams, StreamRef},
};

// SAFETY: streams touch the bytes that they are given, which callers vouch for until the event
// behind them is over.
unsafe impl ProgramStreams for Cuda {
    fn ordinal(&self, by: usize) -> usize {
        self.memory.ordinal(by)
    }

    fn knows(&self, by: usize, address: *const u8) -> bool {
        self.memory.context(by).enter().is_ok_and(|_entered| self.streams.host().knows(address))
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

    unsafe fn copy_after(
        &self,
        event: EventRef<'_>,
        from: DevicePlace,
        to: DevicePlace,
        len: usize,
        done: Completion,
    ) {
        let command = Command::Within { from: self.at(from), to: self.at(to), len };
        self.streams.after(to.block, event, &command, done);
    }
}
