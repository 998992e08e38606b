//! What devices do in a collective: which vectors each of them combines or copies.
//!
//! Each device is led by the first PE of the team whose memory is on it. That one PE starts
//! everything for all of them, so that no other process needs a turn on the device. What is moved
//! is moved by the device that has the destination; what is combined is shared out, a part of the
//! vector for each device.

use std::ops::Range;

use oxshmem_memory::op::Blocks;
use oxshmem_spaces::device::{DevicePlace, Number, Pattern, ReduceOp};

use crate::{
    operation::Operation,
    reduction::{ElementType, Kernel},
};

/// What a device does in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DeviceStep {
    /// Combines or copies vectors of `len` elements.
    Combine { what: What, from: Vec<DevicePlace>, to: Vec<DevicePlace>, len: usize },
    /// Copies blocks.
    Blocks { from: DevicePlace, to: DevicePlace, blocks: Blocks },
}

/// What is combined: in which way, and of which elements.
pub(super) type What = (Pattern, ReduceOp, Number);

/// Copies of one vector: a combination of one.
const SPREAD: What = (Pattern::Reduce, ReduceOp::Or, Number::U8);
/// Copies of several.
const BLOCKS: What = (Pattern::Copy, ReduceOp::Or, Number::U8);

/// What devices combine in a collective, if they do.
pub(super) fn what(operation: Operation) -> Option<What> {
    let of = |pattern, kernel: &Kernel| Some((pattern, kernel.op(), number(kernel)?));
    match operation {
        Operation::Meet => None,
        Operation::Broadcast { .. } | Operation::Collect | Operation::Fcollect => Some(SPREAD),
        Operation::Alltoall | Operation::Alltoalls { .. } => Some(BLOCKS),
        Operation::Reduce(kernel) => of(Pattern::Reduce, kernel),
        Operation::Scan { kernel, inclusive: true } => of(Pattern::InclusiveScan, kernel),
        Operation::Scan { kernel, inclusive: false } => of(Pattern::ExclusiveScan, kernel),
    }
}

/// The part of a collective that one device does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceShare {
    /// The members of the team whose memory is on it.
    pub(super) members: Vec<usize>,
    /// Its number among the devices of the team, and how many these are.
    pub(super) number: usize,
    pub(super) count: usize,
}

impl DeviceShare {
    /// That of member `me`, if it leads a device, where the members' memory is on these devices.
    pub(super) fn of(me: usize, devices: &[usize]) -> Option<Self> {
        let mut all: Vec<usize> = Vec::new();
        for device in devices {
            if !all.contains(device) {
                all.push(*device);
            }
        }
        let members: Vec<usize> = (0..devices.len()).filter(|&pe| devices[pe] == devices[me]).collect();
        let number = all.iter().position(|&device| device == devices[me])?;
        (members.first() == Some(&me)).then_some(Self { members, number, count: all.len() })
    }
}

/// A collective of a team, as the leader of a device sees it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) operation: Operation,
    /// Bytes of an element.
    pub(super) size: usize,
    /// Where the source and the destination of each member are.
    pub(super) from: Vec<DevicePlace>,
    pub(super) to: Vec<DevicePlace>,
    /// How many elements each member gives.
    pub(super) lens: Vec<usize>,
}

impl Plan {
    /// What a device does for its share.
    pub(super) fn steps(&self, share: &DeviceShare) -> Vec<DeviceStep> {
        let (n, size) = (self.from.len(), self.size);
        match self.operation {
            Operation::Broadcast { root, to_root } => {
                let pes = share.members.iter().filter(|&&pe| to_root || pe != root);
                let to = pes.map(|&pe| self.to[pe]).collect();
                self.spread(self.from[root], to, self.lens[root] * size).into_iter().collect()
            }
            Operation::Collect | Operation::Fcollect => {
                let mut start = 0;
                let steps = (0..n).filter_map(|from| {
                    let to = share.members.iter().map(|&pe| self.to[pe].behind(start)).collect();
                    let len = self.lens[from] * size;
                    start += len;
                    self.spread(self.from[from], to, len)
                });
                steps.collect()
            }
            Operation::Meet => Vec::new(),
            Operation::Reduce(_) | Operation::Scan { .. } => self.combine(share),
            Operation::Alltoall => {
                let block = self.lens[0] / n * size;
                self.blocks(share, block, [block; 2])
            }
            Operation::Alltoalls { dst: 1, sst: 1, nelems } => {
                let block = nelems * size;
                self.blocks(share, block, [block; 2])
            }
            Operation::Alltoalls { dst, sst, nelems } => {
                let blocks = Blocks { len: size, count: nelems, there: dst * size, here: sst * size };
                let pairs = share.members.iter().flat_map(|&to| (0..n).map(move |from| (from, to)));
                let steps = pairs.filter(|_| nelems > 0).map(|(from, to)| DeviceStep::Blocks {
                    from: self.from[from].behind(to * nelems * blocks.here),
                    to: self.to[to].behind(from * nelems * blocks.there),
                    blocks,
                });
                steps.collect()
            }
        }
    }

    /// Copies bytes to several places, but not to where they are.
    fn spread(&self, from: DevicePlace, mut to: Vec<DevicePlace>, len: usize) -> Option<DeviceStep> {
        to.retain(|&to| to != from);
        (len > 0 && !to.is_empty()).then(|| DeviceStep::Combine { what: SPREAD, from: vec![from], to, len })
    }

    /// Combines this device's part of all vectors.
    fn combine(&self, share: &DeviceShare) -> Vec<DeviceStep> {
        let Some(what) = what(self.operation) else { return Vec::new() };
        let part = part(self.lens[0], share.count, share.number);
        let start = part.start * self.size;
        let behind = |places: &[DevicePlace]| places.iter().map(|place| place.behind(start)).collect();
        let (from, to) = (behind(&self.from), behind(&self.to));
        let step = DeviceStep::Combine { what, from, to, len: part.len() };
        if part.is_empty() { Vec::new() } else { vec![step] }
    }

    /// Block `p` of each member goes to member `p` of this device. Blocks have `len` bytes, and
    /// begin `strides` apart in the destination and in the source.
    fn blocks(&self, share: &DeviceShare, len: usize, [dst, sst]: [usize; 2]) -> Vec<DeviceStep> {
        let steps = share.members.iter().filter(|_| len > 0).map(|&pe| DeviceStep::Combine {
            what: BLOCKS,
            from: self.from.iter().map(|from| from.behind(pe * sst)).collect(),
            to: (0..self.from.len()).map(|from| self.to[pe].behind(from * dst)).collect(),
            len,
        });
        steps.collect()
    }
}

/// Elements in multiples of which a vector is divided, so that parts begin at whole lines.
const PART: usize = 64;

/// The elements of a vector that are part `number` of `count`.
fn part(len: usize, count: usize, number: usize) -> Range<usize> {
    let each = len.div_ceil(count).next_multiple_of(PART);
    (number * each).min(len)..((number + 1) * each).min(len)
}

/// What the elements of a kernel are to devices, if they have them.
pub(super) fn number(kernel: &Kernel) -> Option<Number> {
    Some(match kernel.element() {
        ElementType::I8 => Number::I8,
        ElementType::I16 => Number::I16,
        ElementType::I32 => Number::I32,
        ElementType::I64 => Number::I64,
        ElementType::U8 => Number::U8,
        ElementType::U16 => Number::U16,
        ElementType::U32 => Number::U32,
        ElementType::U64 => Number::U64,
        ElementType::F32 => Number::F32,
        ElementType::F64 => Number::F64,
        ElementType::ComplexF32 => Number::ComplexF32,
        ElementType::ComplexF64 => Number::ComplexF64,
        ElementType::LongDouble => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Member `pe`'s memory, `offset` bytes behind its start.
    fn at(pe: usize, offset: usize) -> DevicePlace {
        // SAFETY: no device is given it.
        unsafe { DevicePlace::new(pe, offset) }
    }

    fn places(n: usize, offset: usize) -> Vec<DevicePlace> {
        (0..n).map(|pe| at(pe, offset)).collect()
    }

    #[test]
    fn parts_of_a_vector_are_all_of_it_and_begin_at_whole_lines() {
        for len in [0, 1, 63, 64, 65, 1000, 1 << 20] {
            for n in [1, 2, 3, 7] {
                let parts: Vec<_> = (0..n).map(|number| part(len, n, number)).collect();
                assert_eq!((parts[0].start, parts[n - 1].end), (0, len));
                assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(parts.iter().all(|part| part.start % PART == 0 || part.start == len));
            }
        }
    }

    #[test]
    fn the_first_pe_on_each_device_leads_it() {
        let devices = [5, 3, 5, 3, 8];
        let shares: Vec<_> = (0..5).map(|me| DeviceShare::of(me, &devices)).collect();
        assert_eq!(shares[0], Some(DeviceShare { members: vec![0, 2], number: 0, count: 3 }));
        assert_eq!(shares[1], Some(DeviceShare { members: vec![1, 3], number: 1, count: 3 }));
        assert_eq!(shares[4], Some(DeviceShare { members: vec![4], number: 2, count: 3 }));
        assert_eq!((&shares[2], &shares[3]), (&None, &None));
    }

    /// What all devices copy, byte by byte, of memory in which byte `i` of PE `pe` is `(pe, i)`.
    fn copied(plan: &Plan, devices: &[usize]) -> Vec<(DevicePlace, DevicePlace)> {
        let shares = (0..devices.len()).filter_map(|me| Some((me, DeviceShare::of(me, devices)?)));
        let mut all = Vec::new();
        for (me, share) in shares {
            for step in plan.steps(&share) {
                match step {
                    DeviceStep::Combine { what: (pattern, ..), from, to, len } => {
                        assert!(to.iter().all(|to| devices[to.block()] == devices[me]));
                        for (i, &to) in to.iter().enumerate() {
                            let from = if pattern == Pattern::Copy { from[i] } else { from[0] };
                            all.extend((0..len).map(|byte| (from.behind(byte), to.behind(byte))));
                        }
                    }
                    DeviceStep::Blocks { from, to, blocks } => {
                        assert_eq!(devices[to.block()], devices[me]);
                        for i in 0..blocks.count {
                            let ends = [i * blocks.here, i * blocks.there];
                            let bytes = 0..blocks.len;
                            all.extend(bytes.map(|b| (from.behind(ends[0] + b), to.behind(ends[1] + b))));
                        }
                    }
                }
            }
        }
        all.sort_unstable_by_key(|(from, to)| [to.block(), to.offset(), from.block(), from.offset()]);
        all
    }

    #[test]
    fn what_is_moved_comes_where_it_belongs_once_on_one_device_and_on_several() {
        for devices in [&[0, 0, 0][..], &[0, 1, 0], &[2, 1, 0]] {
            let (from, to, size) = (places(3, 1000), places(3, 0), 2);
            let copies = |operation, lens: &[usize]| {
                copied(
                    &Plan { operation, size, from: from.clone(), to: to.clone(), lens: lens.to_vec() },
                    devices,
                )
            };
            let collected: Vec<_> = (0..3)
                .flat_map(|pe| {
                    let sources = [(0, 0), (0, 1), (0, 2), (0, 3), (2, 0), (2, 1)];
                    (0..6).map(move |i| (at(sources[i].0, 1000 + sources[i].1), at(pe, i)))
                })
                .collect();
            assert_eq!(copies(Operation::Collect, &[2, 0, 1]), collected);
            let spread: Vec<_> =
                [0, 2].into_iter().flat_map(|pe| (0..4).map(move |i| (at(1, 1000 + i), at(pe, i)))).collect();
            assert_eq!(copies(Operation::Broadcast { root: 1, to_root: false }, &[2; 3]), spread);
            let exchanged: Vec<_> = (0..3)
                .flat_map(|pe| {
                    let pairs = (0..3).flat_map(move |from| (0..2).map(move |i| (from, i)));
                    pairs.map(move |(from, i)| (at(from, 1000 + 2 * pe + i), at(pe, 2 * from + i)))
                })
                .collect();
            assert_eq!(copies(Operation::Alltoall, &[3; 3]), exchanged);
            assert_eq!(copies(Operation::Alltoalls { dst: 1, sst: 1, nelems: 1 }, &[3; 3]), exchanged);
            let strided: Vec<_> = (0..3)
                .flat_map(|pe| {
                    let pairs = (0..3).flat_map(move |from| (0..2).map(move |i| (from, i)));
                    pairs.flat_map(move |(from, i)| {
                        let (source, dest) = (1000 + (2 * pe + i) * 6, (2 * from + i) * 4);
                        (0..2).map(move |b| (at(from, source + b), at(pe, dest + b)))
                    })
                })
                .collect();
            assert_eq!(copies(Operation::Alltoalls { dst: 2, sst: 3, nelems: 2 }, &[18; 3]), strided);
        }
    }

    #[test]
    fn nothing_is_copied_to_where_it_is() {
        let places = places(3, 64);
        let plan = |operation| Plan {
            operation,
            size: 8,
            from: places.clone(),
            to: places.clone(),
            lens: vec![4; 3],
        };
        let copies = copied(&plan(Operation::Broadcast { root: 1, to_root: true }), &[0; 3]);
        assert!(copies.len() == 2 * 32 && copies.iter().all(|(from, to)| from.block() == 1 && to != from));
        // Each source is that PE's own block of its destination.
        let sources: Vec<_> = places.iter().enumerate().map(|(pe, place)| place.behind(pe * 32)).collect();
        let plan =
            Plan { operation: Operation::Fcollect, size: 8, from: sources, to: places, lens: vec![4; 3] };
        let copies = copied(&plan, &[0; 3]);
        assert!(copies.len() == 6 * 32 && copies.iter().all(|(from, to)| from.block() != to.block()));
    }

    #[test]
    fn each_device_combines_its_part_of_all_vectors() {
        let (from, to) = (places(3, 4096), places(3, 0));
        let kernel = Kernel::shared(ElementType::F32, ReduceOp::Sum);
        let operation = Operation::Scan { kernel, inclusive: false };
        let plan = Plan { operation, size: 4, from, to, lens: vec![100; 3] };
        let step = |number| plan.steps(&DeviceShare { members: vec![], number, count: 2 });
        let what = (Pattern::ExclusiveScan, ReduceOp::Sum, Number::F32);
        assert_eq!(step(0), [DeviceStep::Combine { what, from: places(3, 4096), to: places(3, 0), len: 64 }]);
        assert_eq!(
            step(1),
            [DeviceStep::Combine { what, from: places(3, 4096 + 256), to: places(3, 256), len: 36 }]
        );
        assert_eq!(plan.steps(&DeviceShare { members: vec![], number: 2, count: 3 }), []);
    }
}
