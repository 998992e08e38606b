//! The checks of what an operation is given, and the way to it: near, far or device memory.
//!
//! Every operation comes here with each of its operands, those on other PEs and those of this one,
//! unless the quick check of the near path has found them. Symmetric memory of another job, or the
//! handle of another PE of this job, is refused in every position: it has other offsets, and its
//! handle keeps other memory from being given away. A place in device memory comes from nowhere
//! else.

use std::sync::Arc;

use oxshmem_base::{Error, Result, settings::SpaceKind};
use oxshmem_memory::{Extent, op::Spot};
use oxshmem_net::Net;
use oxshmem_spaces::{
    Element, SymView,
    device::{DevicePlace, End},
};

use super::near::Near;
use crate::context::{Context, Sharing};

/// The way to an operand on a PE.
pub(crate) struct Route<'a, T> {
    pub(crate) view: SymView<'a, T>,
    /// The PE's number in the context's team.
    pub(crate) pe: usize,
    pub(crate) spot: Spot,
    /// Where it is, if it is host memory of this host.
    pub(crate) near: Option<Near<'a>>,
    /// What leads there, if it is on another host.
    pub(crate) net: Option<&'a Arc<dyn Net>>,
}

/// Where a source or a sink of this PE is.
#[derive(Clone, Copy)]
pub(crate) enum Here {
    /// In host memory, at its address.
    Host,
    /// In the memory of this PE's device.
    Device(DevicePlace),
}

impl Here {
    /// It, at `address` if it is in host memory.
    pub(crate) fn end<T>(self, address: *mut T) -> End {
        match self {
            Self::Host => address.cast::<u8>().into(),
            Self::Device(place) => place.into(),
        }
    }
}

impl<M: Sharing> Context<M> {
    /// The way to `view` on `pe`.
    pub(crate) fn route<'a, T: Element>(
        &'a self,
        call: &'static str,
        view: SymView<'a, T>,
        pe: usize,
    ) -> Result<Route<'a, T>> {
        if pe >= self.n_pes() || !view.allocation().is_of(self.pe()) {
            return Err(self.misdirected(call, pe));
        }
        let (world_pe, is_device) = (self.world_pe(pe), view.domain().is_device());
        self.pe().check_there(world_pe)?;
        if is_device && !self.pe().has_device(world_pe) {
            return Err(Error::OutsideSpace { call, space: SpaceKind::Gpu, pe: world_pe });
        }
        let Extent { segment, offset, .. } = view.extent();
        let spot = Spot { pe: world_pe, segment, offset };
        let local_pe = if self.is_beyond(pe) { None } else { self.pe().local_pe_of(world_pe) };
        let near = local_pe.filter(|_| !is_device).map(|local_pe| Near::new(self.pe().shm(), view, local_pe));
        let net = match local_pe {
            Some(_) => None,
            None => Some(self.pe().net().ok_or_else(|| self.misdirected(call, pe))?),
        };
        Ok(Route { view, pe, spot, near, net })
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
    ) -> Result<(Route<'a, T>, Here)> {
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
