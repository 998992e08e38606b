//! The checks of what an operation is given: where it may reach, and what may be its source or its sink.
//!
//! Every operation comes here with each of its operands, those on other PEs and those of this one. Symmetric memory of another job,
//! or the handle of another PE of this job, is refused in every position: it has other offsets, and its handle keeps other
//! memory from being given away. A place in device memory comes from nowhere else. The first check is for what is stores and
//! loads away, and costs two comparisons; whatever it does not find there goes through the second, which says what is wrong.

use std::sync::{Arc, atomic::Ordering};

use oxshmem_base::{Error, Result, settings::SpaceKind};
use oxshmem_memory::{Extent, word::Place};
use oxshmem_runtime::{
    device::DevicePlace,
    net::{Net, Spot},
};
use oxshmem_spaces::{Element, SymView};

use super::{Context, Sharing};

/// Where something is on a PE.
pub(crate) enum Target<'a> {
    /// On this host.
    Near(Place<'a>),
    /// On another.
    Far(Far<'a>),
    /// In device memory of this host.
    Device(DevicePlace),
}

/// A place on another host, and the way there.
#[derive(Clone, Copy)]
pub(crate) struct Far<'a> {
    pub(crate) net: &'a Arc<dyn Net>,
    /// The PE's number in the context's team.
    pub(crate) pe: usize,
    pub(crate) spot: Spot,
}

/// Where a source or a sink of this PE is.
#[derive(Clone, Copy)]
pub(crate) enum Here {
    /// In host memory, where it says.
    Host,
    /// In the memory of this PE's device.
    Device(DevicePlace),
}

impl<M: Sharing> Context<M> {
    /// The place of `view` on `pe`, if that is among the PEs of this host and nothing is wrong. One comparison for
    /// the PE, one for the memory.
    #[inline(always)]
    pub(crate) fn reachable<'a, T: Element>(&self, view: SymView<'a, T>, pe: usize) -> Option<Place<'a>> {
        let behind = pe.wrapping_sub(self.reach.near_from);
        let near = self.reach.near.load(Ordering::Relaxed);
        let here = behind < near && view.allocation().key() == self.pe.key();
        here.then(|| view.place(self.reach.blocks.world_pe(behind)))
    }

    /// Whether a source or a sink of this PE, which may be symmetric memory, is in host memory and nothing is wrong.
    #[inline(always)]
    pub(crate) fn is_at_hand<T: Element>(&self, symmetric: Option<SymView<'_, T>>) -> bool {
        symmetric.is_none_or(|view| view.allocation().key() == self.pe.key())
    }

    /// Where `view` is on `pe`.
    pub(crate) fn target<'a, T: Element>(
        &'a self,
        call: &'static str,
        view: SymView<'a, T>,
        pe: usize,
    ) -> Result<Target<'a>> {
        if let Some(place) = self.reachable(view, pe) {
            return Ok(Target::Near(place));
        }
        if pe >= self.n_pes() || !view.allocation().is_of(&self.pe) {
            return Err(self.misdirected(call, pe));
        }
        let world_pe = self.world_pe(pe);
        let hosts = &self.pe.placement().hosts;
        if view.is_on_device() && !self.pe.has_device(world_pe) {
            return Err(Error::OutsideSpace { call, space: SpaceKind::Gpu, pe: world_pe });
        }
        // Where those of this host are in a row, a PE outside of it is elsewhere.
        let near = self.reach.near.load(Ordering::Relaxed);
        let beyond = near > 0 && pe.wrapping_sub(self.reach.near_from) >= near;
        if !beyond && hosts.host_of(world_pe) == hosts.host_of(self.pe.me()) {
            let block = hosts.block_of(world_pe);
            if !view.is_on_device() {
                return Ok(Target::Near(view.place(block)));
            }
            let place = view.device_place(&self.pe, block);
            return place.map(Target::Device).ok_or_else(|| self.misdirected(call, pe));
        }
        let Extent { segment, offset, .. } = view.extent();
        match self.pe.net() {
            Some(net) => Ok(Target::Far(Far { net, pe, spot: Spot { pe: world_pe, segment, offset } })),
            None => Err(self.misdirected(call, pe)),
        }
    }

    /// Where a source or a sink of this PE is, which may be symmetric memory.
    pub(crate) fn here<T: Element>(
        &self,
        call: &'static str,
        symmetric: Option<SymView<'_, T>>,
    ) -> Result<Here> {
        let Some(view) = symmetric else { return Ok(Here::Host) };
        if !view.allocation().is_of(&self.pe) {
            return Err(self.misdirected(call, self.my_pe()));
        }
        if !view.is_on_device() {
            return Ok(Here::Host);
        }
        let place = view.device_place(&self.pe, self.pe.block());
        place.map(Here::Device).ok_or_else(|| self.misdirected(call, self.my_pe()))
    }

    /// Where `view` is on `pe`, and where its source or sink is on this PE, which has `len` elements and may be symmetric memory.
    #[inline(always)]
    pub(crate) fn matched<'a, T: Element>(
        &'a self,
        call: &'static str,
        view: SymView<'a, T>,
        (len, symmetric): (usize, Option<SymView<'_, T>>),
        pe: usize,
        is_put: bool,
    ) -> Result<(Target<'a>, Here)> {
        if view.len() != len {
            return Err(length_mismatch(call, view.len(), len, is_put));
        }
        Ok((self.target(call, view, pe)?, self.here(call, symmetric)?))
    }

    /// Why an operation cannot reach `pe`, or may not use its memory.
    #[cold]
    #[inline(never)]
    pub(crate) fn misdirected(&self, call: &'static str, pe: usize) -> Error {
        let n_pes = self.n_pes();
        match self.pe.check(call) {
            Err(error) => error,
            Ok(()) if n_pes == 0 => Error::TeamDestroyed { call },
            Ok(()) if pe >= n_pes => Error::PeOutOfRange { call, pe, n_pes },
            Ok(()) => Error::ForeignMemory { call },
        }
    }
}

#[cold]
#[inline(never)]
fn length_mismatch(call: &'static str, view: usize, buffer: usize, is_put: bool) -> Error {
    let (source_len, dest_len) = if is_put { (buffer, view) } else { (view, buffer) };
    Error::LengthMismatch { call, source_len, dest_len }
}
