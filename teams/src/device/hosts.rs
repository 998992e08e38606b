//! Reductions in device memory by teams on several hosts.
//!
//! The devices of each host combine what its PEs have in the destination of the first of them, the
//! *leader*. The leaders take that to the host's image, piece by piece, combine the pieces of all
//! hosts as those in host memory are combined, and take them back, so that copies and messages are
//! under way at the same time. Then the devices hand the result out.

use std::{ops::Range, pin::pin};

use oxshmem_base::Result;
use oxshmem_spaces::{
    Element,
    device::{DevicePlace, End},
};

use super::{Direct, Work, plan::Plan};
use crate::{
    algorithm::sync::sync_here,
    group::Group,
    hosts::{Wire, both, pieces},
    message::Wide,
    reduction::Kernel,
    signature::Signature,
};

#[derive(Clone, Copy)]
enum Direction {
    ToHost,
    ToDevice,
}

impl<T: Element> Direct<T> {
    pub(super) async fn reduce_wide(
        &self,
        group: &Group,
        wide: &Wide,
        kernel: &'static Kernel,
        signature: Signature,
    ) -> Result<()> {
        if self.image.is_empty() {
            return wide.sync_for(group, signature).await;
        }
        let wire = wide.wire(group);
        let operands = self.exchange(group, signature).await?;
        let Plan { work, size, from, to, lens } = self.plan(group, &operands);
        // Where the leader has what this host has, and where the result is to be.
        let (mine, result) = (if group.n() == 1 { from[0] } else { to[0] }, to[0]);
        let hand_out =
            Plan { work: Work::Broadcast { root: 0, to_root: false }, size, from: to.clone(), to, lens };
        // What fails here is told when the others do not wait for this PE any more.
        let mut done = Ok(());
        if group.n() > 1 {
            let lens = hand_out.lens.clone();
            done = self.perform(group, &Plan { work, size, from, to: vec![result], lens }).await;
            sync_here(group).await?;
        }
        if group.me() == 0 {
            done = done.and(Box::pin(self.between(&wire, kernel, signature, [mine, result])).await?);
        }
        if group.n() > 1 {
            sync_here(group).await?;
            done = done.and(self.perform(group, &hand_out).await);
            sync_here(group).await?;
        }
        done
    }

    /// The leader's part: what it has in `mine` becomes what all leaders have, in `result`. Returns
    /// how its copies have ended.
    async fn between(
        &self,
        wire: &Wire<'_>,
        kernel: &'static Kernel,
        signature: Signature,
        [mine, result]: [DevicePlace; 2],
    ) -> Result<Result<()>> {
        let pieces: Vec<Range<usize>> = pieces(signature, self.image.len()).collect();
        let piece = |step: usize, later: usize| step.checked_sub(later).and_then(|i| pieces.get(i).cloned());
        let mut done = Ok(());
        // While a piece is on the network, the next one comes from the device, and the one before
        // goes back.
        for step in 0..pieces.len() + 2 {
            let (mut came, mut went) = (Ok(()), Ok(()));
            let bring = async {
                if let Some(piece) = piece(step, 0) {
                    came = self.copy(wire.group, Direction::ToHost, mine, piece).await;
                }
                Ok(())
            };
            let combine = async {
                if let Some(piece) = piece(step, 1) {
                    let span = self.image.part(piece);
                    wire.wide.reduce_between(wire, kernel, [span, span]).await?;
                }
                Ok(())
            };
            let take_back = async {
                if let Some(piece) = piece(step, 2) {
                    went = self.copy(wire.group, Direction::ToDevice, result, piece).await;
                }
                Ok(())
            };
            let copies = async { both(pin!(bring), pin!(take_back)).await };
            both(pin!(combine), pin!(copies)).await?;
            done = done.and(came).and(went);
        }
        Ok(done)
    }

    /// Copies bytes behind a place on the leader's device from or to those in the image.
    async fn copy(
        &self,
        group: &Group,
        direction: Direction,
        place: DevicePlace,
        bytes: Range<usize>,
    ) -> Result<()> {
        let span = self.image.part(bytes.clone());
        self.complete(group, |done| {
            let there = End::Device(place.behind(bytes.start));
            let here = End::Host(group.memory.here(span));
            let (from, to) = match direction {
                Direction::ToHost => (there, here),
                Direction::ToDevice => (here, there),
            };
            // SAFETY: both are in bounds, as the operands are. `done` holds the operands, and with
            // them the PE, which keeps the image; no other collective uses their bytes there before
            // they are free.
            unsafe { self.device.copy(from, to, bytes.len(), done) }
        })
        .await
    }
}
