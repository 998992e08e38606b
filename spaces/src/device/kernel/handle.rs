//! The handle that kernels take, and what it is made of.

use std::{sync::Arc, time::Duration};

use oxshmem_base::Result;
use oxshmem_memory::{HostMap, Segment};
use oxshmem_progress::kernels::KernelWords;

use super::{super::AnyDevice, super::DevicePlace, Words};

/// What a kernel is given to call the device functions with: `shmemx_device_t` of
/// `shmemx_device.cuh`, by value.
///
/// It holds addresses and numbers, and keeps nothing alive. A kernel that has it must be over
/// before the PE leaves its job, and before the memory is freed that it uses.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceHandle {
    shown: u64,
    len: u64,
    own: u64,
    base: u64,
    stride: u64,
    bells: u64,
    bell_stride: u64,
    table: u64,
    area: u64,
    timeout: u64,
    me: i32,
    n_pes: i32,
    first: i32,
    near: i32,
    atomics: i32,
    unused: i32,
}

// As the device functions have it.
const _: () = assert!(size_of::<DeviceHandle>() == 104);

// SAFETY: it is `repr(C)` of plain numbers, without padding, and any bytes of it are read as such.
#[cfg(feature = "cuda")]
unsafe impl cudarc::driver::DeviceRepr for DeviceHandle {}

/// Where kernels of a PE's device reach what is other PEs'.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    /// This PE's device memory.
    own: u64,
    /// This PE's words.
    area: u64,
    rows: Rows,
    atomics: bool,
}

/// How the near PEs' memory and bells are found by their numbers.
#[derive(Clone, Debug)]
enum Rows {
    /// They are in a row.
    Even { first: usize, count: usize, base: [u64; 2], stride: [u64; 2] },
    /// In a table, which the device maps.
    Table(u64),
}

impl Reached {
    pub(super) fn find(
        words: &Words,
        device: &AnyDevice,
        has_device: impl Fn(usize) -> bool,
        near: impl Fn(usize) -> Option<usize>,
        n_pes: usize,
    ) -> Result<Self> {
        let (me, mut own, mut area) = (words.local_pe, 0, 0);
        let (mut list, mut atomics) = (Vec::new(), true);
        for pe in 0..n_pes {
            let Some(local_pe) = near(pe) else { continue };
            let start: *const KernelWords = words.of(local_pe);
            let keep = Arc::clone(&words.control);
            // SAFETY: the control blocks stay mapped as long as `keep` lives.
            let words = unsafe { device.show(me, start.cast(), size_of::<KernelWords>(), keep) }?;
            // SAFETY: there is such a PE.
            let place = unsafe { DevicePlace::new(local_pe, 0) };
            let base = device.address(me, place).filter(|_| has_device(pe));
            if local_pe == me {
                (own, area) = (base.unwrap_or(0), words);
            }
            if let Some(base) = base {
                // The bell is the first of the words.
                list.push((pe, [base, words]));
                atomics &= device.has_atomics_for(me, local_pe);
            }
        }
        let rows = match even(&list) {
            Some(rows) => rows,
            None => Rows::Table(table(device, me, &list, n_pes)?),
        };
        Ok(Self { own, area, rows, atomics })
    }

    pub(super) fn handle(
        &self,
        shown: &Segment,
        local_pe: usize,
        me: usize,
        n_pes: usize,
        timeout: Duration,
    ) -> DeviceHandle {
        let (first, near, base, stride, table) = match self.rows {
            Rows::Even { first, count, base, stride } => (first, count, base, stride, 0),
            Rows::Table(table) => (0, 0, [0; 2], [0; 2], table),
        };
        // No job has more PEs than C has numbers for.
        let [me, n_pes, first, near] = [me, n_pes, first, near].map(|number| number as i32);
        DeviceHandle {
            shown: shown.address_unchecked(local_pe, 0).addr() as u64,
            len: shown.len() as u64,
            own: self.own,
            base: base[0],
            stride: stride[0],
            bells: base[1],
            bell_stride: stride[1],
            table,
            area: self.area,
            timeout: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
            me,
            n_pes,
            first,
            near,
            atomics: self.atomics.into(),
            unused: 0,
        }
    }
}

/// The row that PEs are in, whose numbers, memory and bells are at equal distances, if they are.
fn even(list: &[(usize, [u64; 2])]) -> Option<Rows> {
    let &(first, base) = list.first()?;
    let step = |i: usize| list.get(1).map_or(0, |(_, next)| next[i].wrapping_sub(base[i]));
    let stride = [step(0), step(1)];
    let fits = |(i, (pe, at)): (usize, &(usize, [u64; 2]))| {
        let there = [0, 1].map(|k| base[k].wrapping_add(stride[k].wrapping_mul(i as u64)));
        *pe == first + i && *at == there
    };
    let all = list.iter().enumerate().all(fits);
    all.then_some(Rows::Even { first, count: list.len(), base, stride })
}

/// A table of all PEs for kernels, with two words for each, which are 0 for those that are not
/// reached.
fn table(device: &AnyDevice, me: usize, list: &[(usize, [u64; 2])], n_pes: usize) -> Result<u64> {
    let len = 2 * n_pes * size_of::<u64>();
    let map = Arc::new(HostMap::new(1, len.next_multiple_of(64 << 10))?);
    for &(pe, words) in list {
        let at = map.base().cast::<u64>().wrapping_add(2 * pe);
        // SAFETY: inside of the map, aligned, and nothing else has it so far.
        unsafe { at.cast::<[u64; 2]>().write(words) };
    }
    // SAFETY: the map is mapped as long as it lives.
    unsafe { device.show(me, map.base(), len, Arc::clone(&map) as _) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pes_in_a_row_are_found_by_their_distances_and_others_are_not() {
        let row = |pes: &[usize]| -> Vec<_> {
            pes.iter().map(|&pe| (pe, [1000 + 64 * pe as u64, 7 + 8 * pe as u64])).collect()
        };
        let Some(Rows::Even { first, count, base, stride }) = even(&row(&[4, 5, 6])) else {
            panic!("they are in a row")
        };
        assert_eq!((first, count, base, stride), (4, 3, [1256, 39], [64, 8]));
        assert!(matches!(even(&row(&[3])), Some(Rows::Even { first: 3, count: 1, .. })));
        assert!(even(&row(&[0, 2, 4])).is_none() && even(&[]).is_none());
        let mut odd = row(&[0, 1, 2]);
        odd[2].1[0] += 1;
        assert!(even(&odd).is_none());
    }
}
