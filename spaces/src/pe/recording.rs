//! The recording of what a PE does, if `SHMEM_TRACE` asks for one, and the key by which operations
//! find out that nothing is recorded of them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use oxshmem_base::{Result, settings::Settings};
use oxshmem_job::Placement;
use oxshmem_progress::record::{Head, Recorder, Slot};

use super::Pe;

/// A PE's recording.
#[derive(Debug)]
pub(super) struct Recording {
    /// The PE's key, and 0 while operations are recorded: so that the comparison of the key, which
    /// they make anyway, sends them where they are.
    quick_key: AtomicUsize,
    recorder: Option<Arc<Recorder>>,
}

impl Recording {
    /// That of a PE with this key.
    pub(super) fn new(placement: &Placement, settings: &Settings, key: usize) -> Result<Self> {
        let Placement { pe, n_pes, ref local, ref host, .. } = *placement;
        let recorder = match &settings.trace {
            None => None,
            Some(dir) => {
                let head = Head { pe, n_pes, local_pes: local.len(), host };
                Some(Arc::new(Recorder::create(dir, &head)?))
            }
        };
        let quick_key = AtomicUsize::new(if recorder.is_some() { 0 } else { key });
        Ok(Self { quick_key, recorder })
    }

    /// The PE has left.
    pub(super) fn end(&self) {
        // Relaxed: a flag for mistakes, not for synchronisation.
        self.quick_key.store(0, Relaxed);
        if let Some(recorder) = &self.recorder {
            recorder.finalize();
        }
    }
}

impl Pe {
    /// [`key`](Self::key), unless operations are recorded.
    #[inline(always)]
    pub(crate) fn quick_key(&self) -> usize {
        // Relaxed: as for `key`.
        self.recording.quick_key.load(Relaxed)
    }

    /// The recording, if there is one and it is on.
    #[inline(always)]
    pub fn recorder(&self) -> Option<&Arc<Recorder>> {
        self.recording.recorder.as_ref().filter(|recorder| recorder.is_on())
    }

    /// What was begun in the recording is complete.
    pub fn complete_record(&self, slot: Slot) {
        if let Some(recorder) = &self.recording.recorder {
            recorder.complete(slot);
        }
    }

    /// Whether there is a recording, on or off.
    pub fn has_recorder(&self) -> bool {
        self.recording.recorder.is_some()
    }

    /// Switches the recording on or off, if there is one, and has what it holds written to its file
    /// if `flush`.
    pub fn record(&self, on: bool, flush: bool) {
        let Some(recorder) = &self.recording.recorder else { return };
        recorder.switch(on && !self.has_left());
        self.recording.quick_key.store(if on { 0 } else { self.key() }, Relaxed);
        if self.has_left() {
            // While this was at it.
            self.recording.quick_key.store(0, Relaxed);
        }
        if flush {
            recorder.flush();
        }
    }
}
