//! What a PE calls: the words by which PEs find out that they called different things.

use std::{any::TypeId, fmt};

use num_complex::Complex;
use oxshmem_progress::activity::{self, Activity};

use crate::{
    LongDouble,
    memory::scratch::BROADCAST_WORDS,
    operation::Operation,
    reduction::{ElementType, Kernel},
};

/// A collective call: two words that every PE of the team must come to alike.
///
/// Where it travels with a message that others may take for one of a later call, it also says which
/// of the team's collectives it is: a PE that has left out one, whose root waits for no PE, is
/// found out by the next one like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// From the lowest bit: the call, whether it is on device memory, whether it is a reduction,
    /// which of the team's it is, the type, and the root.
    what: u64,
    /// Elements.
    len: u64,
}

/// The collectives, by the numbers that travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Code {
    Broadcast = 1,
    Collect,
    Fcollect,
    Alltoall,
    Alltoalls,
    Reduce,
    SumInscan,
    SumExscan,
    Sync,
    Split,
    Memory,
    Bytes,
    Destroy,
    Finalize,
    /// What comes before and after a collective on device memory.
    Staged,
    /// Any that its PE refuses for its own arguments.
    Refused,
}

/// Bits for a number of elements where it travels. They suffice for all memory that there is.
const LEN_BITS: u32 = 40;

/// The bits that name the call.
const CALL: u64 = 0x1f;
/// Set where the call is on device memory.
const DEVICE_BIT: u32 = 5;
/// Set where a kernel's code is in the place of a type or size.
const KERNEL_BIT: u32 = 6;
/// Where the last bits of the collective's number are; 0 where it is not given.
const NUMBER_BIT: u32 = 7;
/// How many numbers these bits tell apart: more than two PEs can be apart by, as broadcasts let
/// none get far ahead.
const NUMBERS: u64 = 512;
const NUMBER: u64 = (NUMBERS - 1) << NUMBER_BIT;
const TYPE_BIT: u32 = 16;
const ROOT_BIT: u32 = 32;
/// From here on a stride does not travel as it is.
const LONG_STRIDE: usize = 1 << 15;
const _: () = assert!(
    NAMES.len() as u64 <= CALL
        && CALL >> DEVICE_BIT == 0
        && NUMBER >> TYPE_BIT == 0
        && 2 * BROADCAST_WORDS < NUMBERS as usize
);

/// Names by number.
const NAMES: [&str; 17] = [
    "another call",
    "broadcast",
    "collect",
    "fcollect",
    "alltoall",
    "alltoalls",
    "reduce",
    "sum_inscan",
    "sum_exscan",
    "sync",
    "a split",
    "an allocation",
    "broadcast_bytes",
    "destroy",
    "finalize",
    "a collective on device memory",
    "a collective with arguments that do not fit",
];

/// What elements are that are only moved: one of the types that the standard has, or else their
/// size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved(u16);

/// Set where it is a type, the number of which is in the other bits.
const TYPED: u16 = 1 << 15;

impl Moved {
    #[inline(always)]
    pub(crate) fn of<T: 'static>() -> Self {
        match element_type::<T>() {
            Some(element) => Self(TYPED | element as u16),
            None => Self(size_of::<T>().min(usize::from(TYPED - 1)) as u16),
        }
    }

    fn element(self) -> Option<ElementType> {
        (self.0 & TYPED != 0).then(|| ElementType::ALL.get(usize::from(self.0 & !TYPED)).copied()).flatten()
    }

    /// Bytes of an element.
    fn size(self) -> usize {
        self.element().map_or(usize::from(self.0), ElementType::size)
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element() {
            Some(element) => element.fmt(f),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// The type as a value, if the standard has it. The compiler knows the answer.
#[inline(always)]
fn element_type<T: 'static>() -> Option<ElementType> {
    macro_rules! find {
        ($($type:ty => $element:ident),*) => {
            $(if TypeId::of::<T>() == TypeId::of::<$type>() {
                return Some(ElementType::$element);
            })*
        };
    }
    find!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);
    find!(isize => I64, usize => U64, LongDouble => LongDouble, Complex<f32> => ComplexF32, Complex<f64> => ComplexF64);
    None
}

impl Signature {
    /// An operation on `len` elements, which are `moved` if they are not combined. In a `collect`
    /// the length may differ between PEs, and for how many elements there is `room`.
    #[inline(always)]
    pub(crate) fn of(operation: Operation, moved: Moved, len: usize, room: usize) -> Self {
        let combined = |kernel: &Kernel| 1 << KERNEL_BIT | u64::from(kernel.code()) << TYPE_BIT;
        let moved = u64::from(moved.0) << TYPE_BIT;
        let (code, elements, number) = match operation {
            Operation::Meet => (Code::Sync, 0, 0),
            Operation::Broadcast { root, .. } => (Code::Broadcast, moved, root),
            Operation::Reduce(kernel) => (Code::Reduce, combined(kernel), 0),
            Operation::Scan { kernel, inclusive: true } => (Code::SumInscan, combined(kernel), 0),
            Operation::Scan { kernel, inclusive: false } => (Code::SumExscan, combined(kernel), 0),
            Operation::Fcollect => (Code::Fcollect, moved, 0),
            Operation::Collect => (Code::Collect, moved, room.min(u32::MAX as usize)),
            Operation::Alltoall => (Code::Alltoall, moved, 0),
            Operation::Alltoalls { dst, sst, .. } => {
                let [dst, sst] = [dst, sst].map(|stride| match stride < LONG_STRIDE {
                    true => stride,
                    // Nearly always another for another one.
                    false => LONG_STRIDE | (stride.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 49),
                });
                (Code::Alltoalls, moved, dst | sst << 16)
            }
        };
        Self { what: code as u64 | elements | (number as u64) << ROOT_BIT, len: len as u64 }
    }

    /// For how many elements the PE that has called this `collect` has room: as many as one likes,
    /// if that is too many to travel.
    pub(crate) fn room(self) -> usize {
        match self.number() as usize {
            most if most == u32::MAX as usize => usize::MAX,
            room => room,
        }
    }

    /// This call on device memory, or not.
    #[inline(always)]
    pub(crate) fn on_device(self, is: bool) -> Self {
        Self { what: self.what | u64::from(is) << DEVICE_BIT, ..self }
    }

    /// Whether it is on device memory.
    pub(crate) fn is_on_device(self) -> bool {
        self.what >> DEVICE_BIT & 1 == 1
    }

    /// This call as the one with that number, counted from 1, of the team's.
    #[inline(always)]
    pub(crate) fn numbered(self, number: u64) -> Self {
        Self { what: self.what | (number % NUMBERS) << NUMBER_BIT, ..self }
    }

    /// This call without its number.
    pub(crate) fn unnumbered(self) -> Self {
        Self { what: self.what & !NUMBER, ..self }
    }

    /// By how many collectives of the team this call comes later than `other`, which is the same
    /// call but for that.
    pub(crate) fn later_than(self, other: Self) -> Option<i64> {
        let [this, that] = [self, other].map(|call| (call.what & NUMBER) >> NUMBER_BIT);
        if this == that || !self.unnumbered().agrees(other.unnumbered()) {
            return None;
        }
        let ahead = (NUMBERS + this - that) % NUMBERS;
        Some(if ahead > NUMBERS / 2 { ahead as i64 - NUMBERS as i64 } else { ahead as i64 })
    }

    /// A call of which no more is compared here than what kind it is.
    pub(crate) fn named(name: &str) -> Self {
        let call = match name {
            "sync" | "barrier_all" => Code::Sync as u64,
            "split_strided" | "split_2d" => Code::Split as u64,
            "free" | "reclaim" => Code::Memory as u64,
            "broadcast_bytes" => Code::Bytes as u64,
            "destroy" => Code::Destroy as u64,
            "finalize" => Code::Finalize as u64,
            "staged" => Code::Staged as u64,
            name if name.starts_with("alloc") || name.starts_with("realloc") => Code::Memory as u64,
            _ => 0,
        };
        Self { what: call, len: 0 }
    }

    /// A call of that name that this PE refuses for its own arguments, whatever they are.
    pub(crate) fn refused(name: &str) -> Self {
        let name = if name.ends_with("_reduce") { "reduce" } else { name };
        let call = NAMES.iter().position(|known| *known == name).unwrap_or_default();
        Self { what: Code::Refused as u64 | (call as u64) << ROOT_BIT, len: 0 }
    }

    /// Whether it is such a call.
    pub(crate) fn is_refused(self) -> bool {
        self.is(Code::Refused)
    }

    /// Whether it may end on a PE before others have begun it.
    pub(crate) fn is_broadcast(self) -> bool {
        self.is(Code::Broadcast) || self.is(Code::Bytes)
    }

    pub(crate) fn words(self) -> [u64; 2] {
        [self.what, self.len]
    }

    /// The words that a PE of the team sends: its number is in the highest bits, as a PE that waits
    /// for another call may take them for another PE's.
    #[inline(always)]
    pub(crate) fn words_of(self, pe: usize) -> [u64; 2] {
        [self.what, self.len | (pe as u64) << LEN_BITS]
    }

    /// What came, and from which PE of the team.
    #[inline(always)]
    pub(crate) fn received([what, len]: [u64; 2]) -> (Self, usize) {
        (Self { what, len: len & ((1 << LEN_BITS) - 1) }, (len >> LEN_BITS) as usize)
    }

    pub(crate) fn from_words([what, len]: [u64; 2]) -> Self {
        Self { what, len }
    }

    /// How many elements.
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    /// Whether PEs that called these called the same. The lengths of a `collect` may differ, and
    /// for how much there is room.
    #[inline(always)]
    pub(crate) fn agrees(self, other: Self) -> bool {
        self.what == other.what && (self.len == other.len || self.is(Code::Collect))
            || self.collects_as(other)
    }

    #[cold]
    fn collects_as(self, other: Self) -> bool {
        let differs = self.what ^ other.what;
        self.is(Code::Collect) && differs.is_multiple_of(1 << ROOT_BIT)
    }

    /// A number that is nearly always another for a call that does not [agree](Self::agrees), and
    /// never for one that does.
    pub(crate) fn digest(self) -> u64 {
        let (what, len) = match self.is(Code::Collect) {
            true => (self.what % (1 << ROOT_BIT), 0),
            false => (self.what, self.len),
        };
        let hash = ((what & !NUMBER) ^ len.rotate_left(24)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32
    }

    /// What is called.
    pub(crate) fn name(self) -> &'static str {
        match (self.kernel(), NAMES.get((self.what & CALL) as usize)) {
            (Some(kernel), Some(&"reduce")) => kernel.op().reduction(),
            (_, Some(name)) => name,
            (_, None) => NAMES[0],
        }
    }

    /// What is shown where a PE's activity is asked for.
    pub(crate) fn activity(self) -> Activity {
        let size = self.kernel().map_or(self.moved().size(), |kernel| kernel.size());
        let activity = Activity::new(activity::Call::collective(self.name())).elements(self.len(), size);
        if self.is(Code::Broadcast) { activity.root(self.number() as usize) } else { activity }
    }

    #[inline(always)]
    fn is(self, code: Code) -> bool {
        self.what & CALL == code as u64
    }

    /// What the elements are, where this is no reduction.
    fn moved(self) -> Moved {
        Moved((self.what >> TYPE_BIT) as u16)
    }

    /// The root, or what else must agree.
    fn number(self) -> u64 {
        self.what >> ROOT_BIT
    }

    fn kernel(self) -> Option<Kernel> {
        (self.what >> KERNEL_BIT & 1 == 1).then(|| Kernel::from_code((self.what >> TYPE_BIT) as u8)).flatten()
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, len) = (self.name(), self.len);
        let device = if self.is_on_device() { " in device memory" } else { "" };
        if let Some(kernel) = self.kernel() {
            return write!(f, "{name} of {len} elements of {}{device}", kernel.element().name());
        }
        if self.is(Code::Refused) {
            let refused = NAMES.get(self.number() as usize).copied().unwrap_or(NAMES[0]);
            return write!(f, "{refused} with arguments that do not fit");
        }
        if self.what >> TYPE_BIT == 0 {
            return f.write_str(name);
        }
        write!(f, "{name} of {len} elements of {}{device}", self.moved())?;
        let number = self.number();
        if self.is(Code::Broadcast) {
            write!(f, " from PE {number}")
        } else if self.is(Code::Collect) && self.room() < usize::MAX {
            write!(f, " into {number}")
        } else if self.is(Code::Alltoalls) {
            let stride = |number: usize| match number < LONG_STRIDE {
                true => number.to_string(),
                false => format!("one of {LONG_STRIDE} and more"),
            };
            write!(
                f,
                " with strides {} and {}",
                stride(number as usize & 0xffff),
                stride(number as usize >> 16)
            )
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduction::ReduceOp;

    fn reduce(op: ReduceOp) -> Signature {
        Signature::of(Operation::Reduce(Kernel::shared(ElementType::F64, op)), Moved(0), 8, 0)
    }

    fn broadcast_from(root: usize) -> Signature {
        Signature::of(Operation::Broadcast { root, to_root: true }, Moved::of::<[u8; 8]>(), 3, 0)
    }

    fn collect<const SIZE: usize>(len: usize, room: usize) -> Signature {
        Signature::of(Operation::Collect, Moved::of::<[u8; SIZE]>(), len, room)
    }

    #[test]
    fn what_differs_is_found_and_described() {
        let sum = reduce(ReduceOp::Sum);
        let max = reduce(ReduceOp::Max);
        let from_1 = broadcast_from(1);
        let from_2 = broadcast_from(2);
        let collected = collect::<4>(3, 9);
        let longer = Signature { len: 9, ..sum };
        let device = sum.on_device(true);
        for (i, a) in [sum, max, from_1, from_2, collected, longer, device].into_iter().enumerate() {
            assert_eq!(Signature::from_words(a.words()), a);
            for (j, b) in [sum, max, from_1, from_2, collected, longer, device].into_iter().enumerate() {
                assert_eq!(a.agrees(b), i == j, "{a} and {b}");
            }
        }
        for (len, room) in [(0, 9), (3, 8), (5, usize::MAX)] {
            let other = collect::<4>(len, room);
            assert!(
                collected.agrees(other) && other.agrees(collected) && other.digest() == collected.digest()
            );
            assert!(
                collected.numbered(7).agrees(other.numbered(7))
                    && !collected.numbered(7).agrees(other.numbered(8))
            );
        }
        assert!(!collected.agrees(collect::<8>(3, 9)));
        assert_eq!((collected.room(), collect::<4>(3, 1 << 40).room()), (9, usize::MAX));
        assert_eq!(collected.to_string(), "collect of 3 elements of 4 bytes into 9");
        assert_eq!(collect::<4>(3, usize::MAX).to_string(), "collect of 3 elements of 4 bytes");
        assert_eq!(sum.to_string(), "sum_reduce of 8 elements of f64");
        assert_eq!(device.to_string(), "sum_reduce of 8 elements of f64 in device memory");
        assert_eq!(from_2.to_string(), "broadcast of 3 elements of 8 bytes from PE 2");
        assert_eq!(Signature::from_words([u64::MAX, 0]).name(), "another call");
    }

    #[test]
    fn types_of_moved_elements_differ_as_far_as_they_have_a_name() {
        let of = |signature: Signature| signature.to_string();
        let call = Operation::Alltoall;
        assert_eq!(of(Signature::of(call, Moved::of::<f64>(), 2, 0)), "alltoall of 2 elements of f64");
        assert_eq!(
            of(Signature::of(call, Moved::of::<LongDouble>(), 2, 0)),
            "alltoall of 2 elements of LongDouble"
        );
        assert_eq!(
            of(Signature::of(call, Moved::of::<[f64; 3]>(), 2, 0)),
            "alltoall of 2 elements of 24 bytes"
        );
        assert_eq!(
            Signature::of(call, Moved::of::<usize>(), 2, 0),
            Signature::of(call, Moved::of::<u64>(), 2, 0)
        );
        assert_eq!(
            Signature::of(call, Moved::of::<[u8; 8]>(), 2, 0),
            Signature::of(call, Moved::of::<[u32; 2]>(), 2, 0)
        );
        for other in [
            Signature::of(call, Moved::of::<u64>(), 2, 0),
            Signature::of(call, Moved::of::<[u8; 8]>(), 2, 0),
            Signature::of(call, Moved::of::<f32>(), 2, 0),
        ] {
            assert!(!Signature::of(call, Moved::of::<f64>(), 2, 0).agrees(other));
        }
        let sizes = [
            Moved::of::<i8>().size(),
            Moved::of::<f64>().size(),
            Moved::of::<Complex<f64>>().size(),
            Moved::of::<[u8; 3]>().size(),
            Moved::of::<[u8; 40_000]>().size(),
        ];
        assert_eq!(sizes, [1, 8, 16, 3, 32_767]);
    }

    #[test]
    fn strides_that_differ_are_found() {
        let of = |strides: [usize; 2]| {
            let operation = Operation::Alltoalls { dst: strides[0], sst: strides[1], nelems: 7 };
            Signature::of(operation, Moved::of::<u8>(), 7, 0)
        };
        let strides = [1, 2, 32_767, 32_768, 65_537, 1 << 20, (1 << 20) + 1, usize::MAX];
        for (i, &dst) in strides.iter().enumerate() {
            for (j, &other) in strides.iter().enumerate() {
                assert_eq!(of([dst, 3]).agrees(of([other, 3])), i == j, "{dst} and {other}");
                assert_eq!(of([3, dst]).agrees(of([3, other])), i == j, "{dst} and {other}");
            }
        }
        assert_eq!(
            of([2, 40_000]).to_string(),
            "alltoalls of 7 elements of u8 with strides 2 and one of 32768 and more"
        );
    }

    #[test]
    fn what_is_refused_agrees_with_what_is_refused_too_and_with_nothing_else() {
        let refused = Signature::refused("fcollect");
        assert!(refused.agrees(Signature::refused("fcollect")));
        assert!(!refused.agrees(Signature::of(Operation::Fcollect, Moved::of::<()>(), 0, 0)));
        assert!(!refused.agrees(Signature::refused("collect")));
        assert_eq!(refused.to_string(), "fcollect with arguments that do not fit");
        assert_eq!(Signature::refused("max_reduce").to_string(), "reduce with arguments that do not fit");
        assert_eq!(
            Signature::refused("broadcast_bytes").to_string(),
            "broadcast_bytes with arguments that do not fit"
        );
    }

    #[test]
    fn calls_that_are_some_others_apart_are_found_and_by_how_many() {
        let sum = reduce(ReduceOp::Sum).on_device(true);
        let from_2 = broadcast_from(2);
        for call in [sum, from_2] {
            for number in 1..600 {
                let numbered = call.numbered(number);
                assert!(numbered.agrees(numbered) && numbered.unnumbered() == call);
                assert_eq!(Signature::received(numbered.words_of(5)), (numbered, 5));
                assert_eq!((numbered.to_string(), numbered.digest()), (call.to_string(), call.digest()));
                assert_eq!((numbered.is_broadcast(), numbered.name()), (call.is_broadcast(), call.name()));
                for other in number.saturating_sub(250).max(1)..number + 250 {
                    let (other, apart) = (call.numbered(other), number as i64 - other as i64);
                    assert_eq!(numbered.agrees(other), apart == 0);
                    assert_eq!(numbered.later_than(other), (apart != 0).then_some(apart));
                }
            }
        }
        assert_eq!(sum.numbered(1).later_than(from_2.numbered(2)), None);
    }
}
