//! The checks of what an operation is given, and the way to it: near, far or device memory.
//!
//! Every operation comes here with each of its operands, those on other PEs and those of this one,
//! unless the quick check of the near path has found them. Symmetric memory of another job, or the
//! handle of another PE of this job, is refused in every position: it has other offsets, and its
//! handle keeps other memory from being given away. A place in device memory comes from nowhere
//! else.

use std::sync::Arc;

use oxshmem_base::{Error, Result, settings::SpaceKind};
use oxshmem_memory::Extent;
use oxshmem_net::{Net, Spot};
use oxshmem_spaces::{Element, SymView, device::DevicePlace};

use super::near::Near;
use crate::context::{Context, Sharing};

/// The way to an operand on a PE.
pub(crate) enum Route<'a> {
    /// Host memory of this host.
    Near(Near<'a>),
    /// Memory of another host.
    Far(Far<'a>),
    /// Device memory of this host.
    Device(DevicePlace),
}

/// A place on another host, and the net that leads there.
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
    /// In host memory, at its address.
    Host,
    /// In the memory of this PE's device.
    Device(DevicePlace),
}

impl<M: Sharing> Context<M> {
    /// The way to `view` on `pe`.
    pub(crate) fn route<'a, T: Element>(
        &'a self,
        call: &'static str,
        view: SymView<'a, T>,
        pe: usize,
    ) -> Result<Route<'a>> {
        if let Some(near) = self.near(view, pe) {
            return Ok(Route::Near(near));
        }
        if pe >= self.n_pes() || !view.allocation().is_of(self.pe()) {
            return Err(self.misdirected(call, pe));
        }
        let world_pe = self.world_pe(pe);
        let hosts = &self.pe().placement().hosts;
        if view.domain().is_device() && !self.pe().has_device(world_pe) {
            return Err(Error::OutsideSpace { call, space: SpaceKind::Gpu, pe: world_pe });
        }
        if !self.is_beyond(pe) && hosts.host_of(world_pe) == hosts.host_of(self.pe().me()) {
            let local_pe = hosts.local_pe_of(world_pe);
            if !view.domain().is_device() {
                return Ok(Route::Near(Near::new(self.pe().shm(), view, local_pe)));
            }
            let place = view.device_place(self.pe(), local_pe);
            return place.map(Route::Device).ok_or_else(|| self.misdirected(call, pe));
        }
        let Extent { segment, offset, .. } = view.extent();
        match self.pe().net() {
            Some(net) => Ok(Route::Far(Far { net, pe, spot: Spot { pe: world_pe, segment, offset } })),
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
        if !view.allocation().is_of(self.pe()) {
            return Err(self.misdirected(call, self.my_pe()));
        }
        if !view.domain().is_device() {
            return Ok(Here::Host);
        }
        let place = view.device_place(self.pe(), self.pe().local_pe());
        place.map(Here::Device).ok_or_else(|| self.misdirected(call, self.my_pe()))
    }

    /// The way to `view` on `pe`, and where its source or sink of `len` elements is, which may be
    /// symmetric memory.
    #[inline(always)]
    pub(crate) fn routes<'a, T: Element>(
        &'a self,
        call: &'static str,
        view: SymView<'a, T>,
        (len, symmetric): (usize, Option<SymView<'_, T>>),
        pe: usize,
        is_put: bool,
    ) -> Result<(Route<'a>, Here)> {
        if view.len() != len {
            return Err(length_mismatch(call, view.len(), len, is_put));
        }
        Ok((self.route(call, view, pe)?, self.here(call, symmetric)?))
    }

    /// Why an operation cannot reach `pe`, or may not use its memory.
    #[cold]
    #[inline(never)]
    pub(crate) fn misdirected(&self, call: &'static str, pe: usize) -> Error {
        let n_pes = self.n_pes();
        match self.pe().check(call) {
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
