//! The recording of what a PE does, if `SHMEM_TRACE` asks for one. Whether it is on is in the word
//! of the PE's board by which operations find out that nothing observes them.

use std::sync::Arc;

use oxshmem_base::{Result, settings::Settings};
use oxshmem_job::Placement;
use oxshmem_progress::{
    activity::Board,
    record::{Head, Recorder, Slot},
};

use super::Pe;

/// Begins the recording of the PE that has `board`, if there is to be one.
pub(super) fn begin(
    placement: &Placement,
    settings: &Settings,
    board: &Board,
) -> Result<Option<Arc<Recorder>>> {
    let Some(dir) = &settings.trace else { return Ok(None) };
    let Placement { pe, n_pes, ref local, ref host, .. } = *placement;
    let head = Head { pe, n_pes, local_pes: local.len(), host };
    let recorder = Recorder::create(dir, &head)?;
    board.record(true);
    Ok(Some(Arc::new(recorder)))
}

impl Pe {
    /// The recording, if there is one and it is on.
    #[inline(always)]
    pub fn recorder(&self) -> Option<&Arc<Recorder>> {
        if self.board.is_recorded() { self.recorder.as_ref() } else { None }
    }

    /// What was begun in the recording is complete.
    pub fn complete_record(&self, slot: Slot) {
        if let Some(recorder) = &self.recorder {
            recorder.complete(slot);
        }
    }

    /// Whether there is a recording, on or off.
    pub fn has_recorder(&self) -> bool {
        self.recorder.is_some()
    }

    /// Switches the recording on or off, if there is one, and has what it holds written to its file
    /// if `flush`.
    pub fn record(&self, on: bool, flush: bool) {
        let Some(recorder) = &self.recorder else { return };
        self.board.record(on && !self.has_left());
        if self.has_left() {
            // While this was at it.
            self.board.record(false);
        }
        if flush {
            recorder.flush();
        }
    }

    /// From now on the PE is in the phase of that name: on its board, and in the recording if there
    /// is one, on or off.
    pub fn phase(&self, name: &str) {
        if self.has_left() {
            return;
        }
        self.board.phase(name);
        if let Some(recorder) = &self.recorder {
            recorder.phase(name);
        }
    }

    /// The PE has left.
    pub(super) fn end_recording(&self) {
        if let Some(recorder) = &self.recorder {
            self.board.record(false);
            recorder.finalize();
        }
    }
}
