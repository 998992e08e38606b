//! Collectives on device memory.
//!
//! Where all PEs of a team are on one host, and their devices reach each other, the devices do
//! everything: once all PEs have come, and have found that they call the same, the first PE on each
//! device starts what that device [does](plan) for all of them, and then they wait for each other.
//! Between hosts this is so in [reductions and broadcasts](hosts), of which one PE takes a host's
//! part to the network. Elsewhere a collective runs in the host's [staging](staged) of device
//! memory.

mod direct;
mod hosts;
mod plan;
mod staged;

use oxshmem_base::{Error, Result, settings::SpaceKind};
use oxshmem_spaces::{
    Domain, SymView,
    device::{AnyDevice, MOST_OPERANDS},
};

pub(crate) use self::direct::DeviceCollective;
use crate::{operation::Operation, queue::Core};

impl Operation {
    /// What of its destination PE `me` of `n` has written.
    pub(crate) fn written(self, me: usize, n: usize) -> Part {
        match self {
            Self::Broadcast { root, to_root: false } if root == me => Part::Nothing,
            Self::Collect => Part::Collected,
            Self::Alltoalls { dst, nelems, .. } => Part::Strided(n.saturating_mul(nelems), dst),
            _ => Part::All,
        }
    }

    /// What of the source of PE `me` of `n` PEs read.
    pub(crate) fn read(self, me: usize, n: usize) -> Part {
        match self {
            Self::Broadcast { root, .. } if root != me => Part::Nothing,
            Self::Alltoalls { sst, nelems, .. } => Part::Strided(n.saturating_mul(nelems), sst),
            _ => Part::All,
        }
    }
}

/// What of an operand a collective reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    All,
    /// Nothing, on this PE.
    Nothing,
    /// This many elements, and how far apart they are.
    Strided(usize, usize),
    /// As many elements as all sources have.
    Collected,
}

/// Which way a copy between a device and the staging memory goes.
#[derive(Clone, Copy)]
enum Direction {
    ToHost,
    ToDevice,
}

/// What becomes of a collective that has an operand in device memory.
pub(crate) enum Stage<'a> {
    /// It is one in host memory, as what is in device memory has no elements.
    Host([SymView<'a, u8>; 2]),
    Device(OnDevice<'a>),
}

/// The operands of a collective on device memory, as bytes.
pub(crate) struct OnDevice<'a> {
    device: &'a AnyDevice,
    call: &'static str,
    /// The destination and the source, and how many elements they have.
    views: [SymView<'a, u8>; 2],
    elements: [usize; 2],
    /// Where they are in the host's staging memory.
    pub(crate) staging: [SymView<'a, u8>; 2],
}

impl Core {
    /// Looks where the operands of a collective are, as bytes and numbers of elements.
    ///
    /// # Errors
    /// They are not in one space of this PE, or a PE of the team has no device.
    pub(crate) fn placed<'a>(
        &'a self,
        call: &'static str,
        views: [SymView<'a, u8>; 2],
        elements: [usize; 2],
    ) -> Result<Stage<'a>> {
        let views = self.in_one_space(call, views, elements)?;
        let Domain::Device(device) = views[0].domain() else { return Ok(Stage::Host(views)) };
        self.check_devices(call)?;
        let pe = self.group.pe();
        let staging = self.staging.memory(pe);
        let staging = views.map(|view| {
            // SAFETY: the staging memory is as long as the device's memory, whose bytes these are.
            unsafe { SymView::inside_unchecked(staging, pe.image_at() + view.extent().offset, view.len()) }
        });
        Ok(Stage::Device(OnDevice { device, call, views, elements, staging }))
    }

    /// Whether the devices of the team do a collective by themselves, or what the PEs of this host
    /// do of it. All PEs of a host get the same answer.
    pub(crate) fn devices_do(&self, operands: &OnDevice<'_>, operation: Operation) -> bool {
        let (group, device) = (&self.group, operands.device);
        let reach_all = || {
            let pes: Vec<usize> = group.blocks().collect();
            let reaches_all = |&by: &usize| pes.iter().all(|&pe| device.reaches(by, pe));
            pes.len() <= MOST_OPERANDS && pes.iter().all(reaches_all)
        };
        let can = match operation {
            Operation::Reduce(kernel) => plan::number(kernel).is_some(),
            Operation::Broadcast { .. } => true,
            Operation::Scan { kernel, .. } => plan::number(kernel).is_some() && group.wide().is_none(),
            _ => group.wide().is_none(),
        };
        can && *self.staging.devices_reach.get_or_init(reach_all)
    }

    /// Destination and source, if both are this PE's and in one space. What has no elements is as
    /// good as in the other's.
    fn in_one_space<'a>(
        &self,
        call: &'static str,
        [dest, source]: [SymView<'a, u8>; 2],
        [dest_elements, elements]: [usize; 2],
    ) -> Result<[SymView<'a, u8>; 2]> {
        self.check_turn(call)?;
        let pe = self.group.pe();
        if [dest, source].iter().any(|view| !view.allocation().is_of(pe)) {
            return Err(Error::ForeignMemory { call });
        }
        if dest.space() == source.space() {
            return Ok([dest, source]);
        }
        if elements == 0 {
            return Ok([dest, dest.slice(..0)]);
        }
        if dest_elements == 0 {
            return Ok([source.slice(..0), source]);
        }
        Err(Error::SpaceMismatch {
            call,
            what_a: "the destination",
            space_a: dest.space(),
            what_b: "the source",
            space_b: source.space(),
        })
    }

    /// An error if a PE of the team has no device.
    fn check_devices(&self, call: &'static str) -> Result<()> {
        let outsider = || self.group.team().iter().find(|&member| !self.group.pe().has_device(member));
        match *self.staging.outsider.get_or_init(outsider) {
            None => Ok(()),
            Some(pe) => Err(Error::OutsideSpace { call, space: SpaceKind::Gpu, pe }),
        }
    }
}
