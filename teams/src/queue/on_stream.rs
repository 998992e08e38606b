//! A collective in the order of a CUDA stream of the program.
//!
//! It is three in the queue of its team: what waits until the stream has come so far, the
//! collective, and what lets the stream go on. So the team's order is still that of the calls.

use std::{future::poll_fn, sync::Arc};

use oxshmem_base::{Error, Result};
use oxshmem_ops::order::Quiet;
use oxshmem_progress::{
    activity::{Activity, Call},
    flight::Flight,
};
use oxshmem_spaces::device::stream::{StreamRef, no_streams};

use super::{Collective, Core};
use crate::signature::Signature;

/// The name of the call.
const CALL: &str = "on_stream";

/// What is called when a collective in a stream has ended, with its outcome.
pub type Ended = Box<dyn FnOnce(&Result<()>) + Send>;

impl Core {
    /// Has `collective` run when `stream` has come so far, after `before` if it is given. The
    /// stream goes on when it has ended.
    pub(crate) fn on_stream<'a>(
        &'a self,
        stream: StreamRef<'_>,
        before: Option<Quiet>,
        collective: impl FnOnce() -> Collective<'a>,
        ended: Option<Ended>,
    ) -> Collective<'a> {
        match self.begin_on_stream(stream, before, collective, ended) {
            Ok(begun) => begun,
            Err(error) => Collective::failed(error),
        }
    }

    fn begin_on_stream<'a>(
        &'a self,
        stream: StreamRef<'_>,
        before: Option<Quiet>,
        collective: impl FnOnce() -> Collective<'a>,
        ended: Option<Ended>,
    ) -> Result<Collective<'a>> {
        self.check_turn(CALL)?;
        let pe = self.group.pe();
        let device = pe.device().ok_or_else(|| Error::Unsupported {
            what: "a collective in a stream needs a device; set SHMEM_ENABLE_GPU_SPACE=1 where there is one"
                .to_owned(),
        })?;
        let streams = device.program_streams().ok_or_else(|| no_streams(device.name()))?;
        if streams.is_captured(pe.local_pe(), stream)? {
            return Err(Error::Unsupported {
                what: "a collective cannot be captured into a graph, as the host takes part in it".to_owned(),
            });
        }
        let reached = Arc::new(Flight::<Result<()>>::default());
        let landing = Arc::clone(&reached);
        // SAFETY: there are no bytes.
        unsafe { streams.append(pe.local_pe(), stream, &[], Box::new(move |over| landing.land(over))) };
        let this = self.this.clone();
        let first = {
            let pe = Arc::clone(pe);
            self.step(async move {
                let mut engine = pe.engine().at_first_poll();
                let reached = poll_fn(|cx| engine.poll(|| reached.poll(cx))).await;
                match before {
                    Some(quiet) => reached.and(quiet.await),
                    None => reached,
                }
            })
        };
        let collective = collective().ticket_in(self);
        // After what the collective has the driver make, which may wait for streams that wait.
        let held = streams.hold(pe.local_pe(), stream);
        let last = self.step(async move {
            let tickets: Vec<u64> =
                [Some(first), collective.as_ref().ok().copied()].into_iter().flatten().collect();
            let outcome = match this.upgrade() {
                Some(core) => {
                    let outcomes = core.with_queue(|queue| {
                        // All of them are asked, so that none leaves an error behind.
                        tickets.iter().map(|&ticket| queue.outcome(ticket)).collect::<Vec<_>>()
                    });
                    outcomes.into_iter().collect()
                }
                None => Ok(()),
            };
            let outcome = collective.map(drop).and(outcome);
            // The stream goes on.
            let outcome = held.map(drop).and(outcome);
            if let Some(ended) = ended {
                ended(&outcome);
            }
            outcome
        });
        Ok(Collective::new(self, last))
    }

    /// Puts a part of it into the queue.
    fn step(&self, step: impl Future<Output = Result<()>> + Send + 'static) -> u64 {
        self.local(Activity::new(Call::collective(CALL)), Signature::named(CALL), step)
    }
}
