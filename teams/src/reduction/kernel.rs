//! A reduction's arithmetic without its types: what the collectives work with.

use std::{fmt, mem::MaybeUninit, sync::OnceLock};

use oxshmem_memory::copy;

#[cfg(target_arch = "x86_64")]
use super::fused;
use super::{
    ElementType, ReduceOp, Reducible,
    kernels::{self, Level},
    types::{Combine, Fused},
};

/// One operation on vectors of one type, as functions on bytes, in the form that suits this
/// processor.
///
/// ```
/// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
///
/// let kernel = Kernel::of(ElementType::F64, ReduceOp::Sum).unwrap();
/// assert_eq!(kernel.to_string(), "sum of f64");
/// assert_eq!(kernel.size(), 8);
///
/// let mut totals = [1.0, 2.0];
/// kernel.combine_slices(&mut totals, &[0.5, 0.5]);
/// assert_eq!(totals, [1.5, 2.5]);
/// ```
#[derive(Clone, Copy)]
pub struct Kernel {
    pub(super) element: ElementType,
    pub(super) op: ReduceOp,
    pub(super) into: Combine,
    pub(super) fused: Option<Fused>,
}

/// Bytes that go through private memory at once, few enough for the first-level cache.
const BLOCK: usize = 4096;
/// From this many bytes on a fused kernel is quicker than private memory, however well that is
/// cached.
const FUSED: usize = 32;

impl Kernel {
    /// The kernel for an operation on a type, if the type [has](ElementType::takes) it.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// assert!(Kernel::of(ElementType::I32, ReduceOp::And).is_some());
    /// assert!(Kernel::of(ElementType::F32, ReduceOp::And).is_none());
    /// ```
    #[inline]
    pub fn of(element: ElementType, op: ReduceOp) -> Option<Self> {
        Self::at(Level::detect(), element, op)
    }

    /// This kernel at a level that this processor has.
    pub(super) fn at(level: Level, element: ElementType, op: ReduceOp) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        let fused = fused::at(level, element, op);
        #[cfg(not(target_arch = "x86_64"))]
        let fused = None;
        Some(Self { element, op, into: kernels::combine(level, element, op)?, fused })
    }

    /// The kernel for an operation that the type has, made once: to look up what the processor can
    /// do at every call would cost as much as a small reduction.
    pub(crate) fn shared(element: ElementType, op: ReduceOp) -> &'static Self {
        static MADE: [OnceLock<Kernel>; ElementType::ALL.len() * ReduceOp::ALL.len()] =
            [const { OnceLock::new() }; ElementType::ALL.len() * ReduceOp::ALL.len()];
        let made = || Self::of(element, op).expect("its trait says that the type has the operation");
        MADE[element as usize * ReduceOp::ALL.len() + op as usize].get_or_init(made)
    }

    /// The kernel with this [`code`](Self::code), which may come from another PE.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// let theirs = Kernel::from_code(Kernel::of(ElementType::I16, ReduceOp::Prod).unwrap().code());
    /// assert_eq!(theirs.map(|kernel| kernel.to_string()).as_deref(), Some("prod of i16"));
    /// assert!(Kernel::from_code(255).is_none());
    /// ```
    pub fn from_code(code: u8) -> Option<Self> {
        let ops = ReduceOp::ALL.len();
        let element = *ElementType::ALL.get(usize::from(code) / ops)?;
        Self::of(element, ReduceOp::ALL[usize::from(code) % ops])
    }

    /// A number below 128 that is equal on two PEs exactly if type and operation are.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// let code = |element, op| Kernel::of(element, op).unwrap().code();
    /// let sum = code(ElementType::U64, ReduceOp::Sum);
    /// assert_eq!(sum, code(ElementType::U64, ReduceOp::Sum));
    /// assert_ne!(sum, code(ElementType::I64, ReduceOp::Sum));
    /// assert_ne!(sum, code(ElementType::U64, ReduceOp::Max));
    /// ```
    #[inline]
    pub const fn code(&self) -> u8 {
        self.element as u8 * ReduceOp::ALL.len() as u8 + self.op as u8
    }

    /// The type of the elements.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// assert_eq!(Kernel::of(ElementType::F32, ReduceOp::Max).unwrap().element(), ElementType::F32);
    /// ```
    #[inline]
    pub const fn element(&self) -> ElementType {
        self.element
    }

    /// The operation.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// assert_eq!(Kernel::of(ElementType::F32, ReduceOp::Max).unwrap().op(), ReduceOp::Max);
    /// ```
    #[inline]
    pub const fn op(&self) -> ReduceOp {
        self.op
    }

    /// Bytes of an element.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// assert_eq!(Kernel::of(ElementType::F32, ReduceOp::Max).unwrap().size(), 4);
    /// ```
    #[inline]
    pub const fn size(&self) -> usize {
        self.element.size()
    }

    /// `acc[i] = acc[i] op x[i]` for `n` elements.
    ///
    /// # Safety
    /// `acc` must be writable and `x` readable for `n` elements, initialized, and aligned as the
    /// element is. They must not overlap, except that they may be equal. No other thread may access
    /// them meanwhile: this is for private memory.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// let (mut acc, x) = ([1u16, 2], [10u16, 20]);
    /// let sum = Kernel::of(ElementType::U16, ReduceOp::Sum).unwrap();
    /// // SAFETY: two aligned arrays of two elements.
    /// unsafe { sum.combine(acc.as_mut_ptr().cast(), x.as_ptr().cast(), 2) };
    /// assert_eq!(acc, [11, 22]);
    /// ```
    #[inline]
    pub unsafe fn combine(&self, acc: *mut u8, x: *const u8, n: usize) {
        // SAFETY: the caller's contract is the function's.
        unsafe { (self.into)(acc, acc, x, n) }
    }

    /// `out[i] = a[i] op b[i]` for `n` elements.
    ///
    /// # Safety
    /// As for [`combine`](Self::combine), of all three; any of them may be equal.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// let (mut out, a, b) = ([0u16; 2], [1u16, 2], [10u16, 20]);
    /// let sum = Kernel::of(ElementType::U16, ReduceOp::Sum).unwrap();
    /// // SAFETY: three aligned arrays of two elements.
    /// unsafe {
    ///     let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
    ///     sum.combine_into(out.as_mut_ptr().cast(), a, b, 2)
    /// };
    /// assert_eq!(out, [11, 22]);
    /// ```
    #[inline]
    pub unsafe fn combine_into(&self, out: *mut u8, a: *const u8, b: *const u8, n: usize) {
        // SAFETY: the caller's contract is the function's.
        unsafe { (self.into)(out, a, b, n) }
    }

    /// [`combine_into`](Self::combine_into) for memory that other PEs may access meanwhile, where
    /// there is one that is faster than a copy to private memory first. A race gives stale or torn
    /// elements.
    ///
    /// # Safety
    /// Of the function: `out` must be writable, `a` and `b` readable for `n` elements and aligned
    /// as the element is. They must not overlap, except that any of them may be equal.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// if let Some(fused) = Kernel::of(ElementType::F64, ReduceOp::Sum).unwrap().fused() {
    ///     let (mut out, a, b) = ([0.0; 2], [1.0, 2.0], [0.5, 0.5]);
    ///     // SAFETY: three aligned arrays of two elements.
    ///     unsafe { fused(out.as_mut_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast(), 2) };
    ///     assert_eq!(out, [1.5, 2.5]);
    /// }
    /// ```
    #[inline]
    pub const fn fused(&self) -> Option<Combine> {
        match self.fused {
            Some(fused) => Some(fused.two),
            None => None,
        }
    }

    /// [`fused`](Self::fused) if it is worth it for `bytes` that were just written.
    #[inline]
    pub(crate) const fn fused_from(&self, bytes: usize) -> Option<Combine> {
        match self.fused {
            Some(fused) if bytes >= FUSED => Some(fused.two),
            _ => None,
        }
    }

    /// `out[i] = sources[0][i] op sources[1][i] op …`, from left to right, for `n` elements in
    /// memory that other PEs may access meanwhile. A race gives stale or torn elements.
    ///
    /// # Safety
    /// `out` must be writable and every source readable for `n` elements, and aligned as the
    /// element is. `out` may be any of them; where it overlaps one otherwise, its elements are
    /// unspecified.
    ///
    /// # Panics
    /// If there are no sources.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// let (mut out, a, b, c) = ([0; 2], [1, 2], [10, 20], [100, 200]);
    /// let sources = [a.as_ptr().cast(), b.as_ptr().cast(), c.as_ptr().cast()];
    /// let sum = Kernel::of(ElementType::I32, ReduceOp::Sum).unwrap();
    /// // SAFETY: aligned arrays of two elements.
    /// unsafe { sum.fold(out.as_mut_ptr().cast(), &sources, 2) };
    /// assert_eq!(out, [111, 222]);
    /// ```
    pub unsafe fn fold(&self, out: *mut u8, sources: &[*const u8], n: usize) {
        // SAFETY: the caller vouches for all sources; `blockwise` and `copy` ask for no more.
        unsafe {
            match (sources, self.fused) {
                ([], _) => panic!("a reduction of nothing"),
                ([source], _) => copy::copy(out, *source, n * self.size()),
                ([a, b], Some(fused)) => (fused.two)(out, *a, *b, n),
                (_, Some(fused)) => (fused.many)(out, sources.as_ptr(), sources.len(), n),
                (_, None) => self.blockwise(out, sources, n),
            }
        }
    }

    /// [`fold`](Self::fold) through private memory, a block at a time.
    ///
    /// # Safety
    /// As for `fold`.
    unsafe fn blockwise(&self, out: *mut u8, sources: &[*const u8], n: usize) {
        #[repr(align(64))]
        struct Block(MaybeUninit<[u8; BLOCK]>);
        let (mut acc, mut x) = (Block(MaybeUninit::uninit()), Block(MaybeUninit::uninit()));
        let (acc, x) = (acc.0.as_mut_ptr().cast::<u8>(), x.0.as_mut_ptr().cast::<u8>());
        let end = n * self.size();
        for at in (0..end).step_by(BLOCK) {
            let len = BLOCK.min(end - at);
            // SAFETY: `len` bytes from `at` on are below `end`, and fit into a block.
            unsafe {
                copy::copy(acc, sources[0].add(at), len);
                for source in &sources[1..] {
                    copy::copy(x, source.add(at), len);
                    self.combine(acc, x, len / self.size());
                }
                copy::copy(out.add(at), acc, len);
            }
        }
    }

    /// [`combine`](Self::combine) of slices.
    ///
    /// # Panics
    /// If the elements are not the kernel's, or the lengths differ.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// let mut acc = [3, -2];
    /// Kernel::of(ElementType::I32, ReduceOp::Max).unwrap().combine_slices(&mut acc, &[1, 5]);
    /// assert_eq!(acc, [3, 5]);
    /// ```
    pub fn combine_slices<T: Reducible>(&self, acc: &mut [T], x: &[T]) {
        assert_eq!(T::TYPE, self.element, "{self}");
        assert_eq!(acc.len(), x.len(), "lengths differ");
        // SAFETY: both slices have that many elements of the kernel's type; they are borrowed until
        // the end.
        unsafe { self.combine(acc.as_mut_ptr().cast(), x.as_ptr().cast(), x.len()) }
    }

    /// Writes `n` zeros of the element's type: what an exclusive scan has before its first element.
    ///
    /// Zero is all zero bytes in every type, so that filling with zero bytes does the same.
    ///
    /// # Safety
    /// `out` must be writable for `n` elements, and no other thread may access it meanwhile.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, Kernel, ReduceOp};
    ///
    /// let mut out = [1.0; 3];
    /// let sum = Kernel::of(ElementType::F64, ReduceOp::Sum).unwrap();
    /// // SAFETY: two of three elements.
    /// unsafe { sum.zero(out.as_mut_ptr().cast(), 2) };
    /// assert_eq!(out, [0.0, 0.0, 1.0]);
    /// ```
    pub unsafe fn zero(&self, out: *mut u8, n: usize) {
        // SAFETY: the caller vouches for `n` elements.
        unsafe { out.write_bytes(0, n * self.size()) }
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.code() == other.code()
    }
}

impl Eq for Kernel {}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.op, self.element)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({self})")
    }
}
