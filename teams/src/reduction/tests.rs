//! Kernels against plain loops, at every width of vector that this processor has, and against C.

use std::fmt::Debug;

use super::{kernels::Level, *};

/// Bytes before and after a vector that must stay as they are.
const MARGIN: usize = 128;
const BYTE: u8 = 0xa5;

fn levels() -> Vec<Level> {
    #[cfg(target_arch = "x86_64")]
    let more = [std::arch::is_x86_feature_detected!("avx2").then_some(Level::Avx2)];
    #[cfg(not(target_arch = "x86_64"))]
    let more: [Option<Level>; 0] = [];
    std::iter::once(Level::Baseline).chain(more.into_iter().flatten()).collect()
}

fn kernels() -> impl Iterator<Item = Kernel> {
    ElementType::ALL.into_iter().flat_map(|element| {
        ReduceOp::ALL.into_iter().flat_map(move |op| {
            levels().into_iter().filter_map(move |level| {
                let kernel = Kernel::at(level, element, op);
                assert_eq!(kernel.is_some(), element.takes(op), "{op} of {element}");
                kernel
            })
        })
    })
}

/// Vectors that end where a vector register does, and where none does.
fn lengths() -> impl Iterator<Item = usize> {
    (0..70).chain([127, 128, 129, 255, 256, 257, 319, 511, 515, 4099])
}

/// A vector in the middle of memory of its own.
struct Vector {
    memory: Vec<u128>,
    start: usize,
    len: usize,
}

impl Vector {
    /// `n` elements, `shift` elements behind a boundary of 16 bytes.
    fn new(element: ElementType, n: usize, shift: usize, seed: u64) -> Self {
        let (start, len) = (MARGIN + shift * element.size(), n * element.size());
        let memory = vec![u128::from_ne_bytes([BYTE; 16]); (start + len + MARGIN).div_ceil(16)];
        let mut vector = Self { memory, start, len };
        fill(element, vector.as_mut_slice(), seed);
        vector
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.memory)[self.start..self.start + self.len]
    }

    fn as_ptr(&self) -> *const u8 {
        self.bytes().as_ptr()
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.memory)[self.start..self.start + self.len]
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.as_mut_slice().as_mut_ptr()
    }

    #[track_caller]
    fn assert_margins(&self) {
        let all = bytemuck::cast_slice::<u128, u8>(&self.memory);
        assert!(all[..self.start].iter().all(|&byte| byte == BYTE), "written before the vector");
        assert!(all[self.start + self.len..].iter().all(|&byte| byte == BYTE), "written behind the vector");
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) ^ (*state << 20)
}

const SPECIAL: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN_POSITIVE,
    f32::MAX as f64,
    1e-40,
    0.1,
];

/// Any bits for integers; for the others numbers of all kinds, the special ones often.
fn fill(element: ElementType, bytes: &mut [u8], seed: u64) {
    let mut state = seed * 2 + 1;
    let mut real = || match random(&mut state) {
        x if x % 4 == 0 => SPECIAL[(x >> 8) as usize % SPECIAL.len()],
        x => (x as i32) as f64 * 1.5f64.powi((x >> 40) as i32 % 100 - 50),
    };
    match element {
        ElementType::F32 | ElementType::ComplexF32 => {
            bytes.chunks_mut(4).for_each(|x| x.copy_from_slice(&(real() as f32).to_ne_bytes()))
        }
        ElementType::F64 | ElementType::ComplexF64 => {
            bytes.chunks_mut(8).for_each(|x| x.copy_from_slice(&real().to_ne_bytes()))
        }
        ElementType::LongDouble => bytes.chunks_mut(16).for_each(|x| {
            let tiny = LongDouble::from(1.0) + LongDouble::from(2f64.powi(-60));
            x.copy_from_slice(&(LongDouble::from(real()) * tiny).to_ne_bytes())
        }),
        _ => bytes.iter_mut().for_each(|byte| *byte = random(&mut state) as u8),
    }
}

/// The operation in the plainest way.
fn model(element: ElementType, op: ReduceOp, a: &[u8], b: &[u8]) -> Vec<u8> {
    fn each<T: Reducible>(a: &[u8], b: &[u8], apply: impl Fn(T, T) -> T) -> Vec<u8> {
        let size = size_of::<T>();
        (a.chunks(size).zip(b.chunks(size)))
            .flat_map(|(a, b)| {
                let value = apply(bytemuck::pod_read_unaligned(a), bytemuck::pod_read_unaligned(b));
                bytemuck::bytes_of(&value).to_vec()
            })
            .collect()
    }
    macro_rules! int {
        ($ty:ty) => {
            each::<$ty>(a, b, |a, b| {
                let (x, y) = (a as i128, b as i128);
                (match op {
                    ReduceOp::And => x & y,
                    ReduceOp::Or => x | y,
                    ReduceOp::Xor => x ^ y,
                    ReduceOp::Min => x.min(y),
                    ReduceOp::Max => x.max(y),
                    ReduceOp::Sum => x + y,
                    ReduceOp::Prod => x.wrapping_mul(y),
                }) as $ty
            })
        };
    }
    macro_rules! real {
        ($ty:ty) => {
            each::<$ty>(a, b, |a, b| match op {
                ReduceOp::Min => {
                    if a < b {
                        a
                    } else {
                        b
                    }
                }
                ReduceOp::Max => {
                    if a > b {
                        a
                    } else {
                        b
                    }
                }
                ReduceOp::Sum => a + b,
                _ => a * b,
            })
        };
    }
    macro_rules! complex {
        ($ty:ty) => {
            each::<$ty>(a, b, |a, b| match op {
                ReduceOp::Sum => a + b,
                _ => a * b,
            })
        };
    }
    match element {
        ElementType::I8 => int!(i8),
        ElementType::I16 => int!(i16),
        ElementType::I32 => int!(i32),
        ElementType::I64 => int!(i64),
        ElementType::U8 => int!(u8),
        ElementType::U16 => int!(u16),
        ElementType::U32 => int!(u32),
        ElementType::U64 => int!(u64),
        ElementType::F32 => real!(f32),
        ElementType::F64 => real!(f64),
        ElementType::LongDouble => real!(LongDouble),
        ElementType::ComplexF32 => complex!(Complex<f32>),
        ElementType::ComplexF64 => complex!(Complex<f64>),
    }
}

/// Equal in every bit, except that a NaN that was computed may be any, and so may a product that is
/// NaN by the textbook: that one is compared with C's below.
#[track_caller]
fn assert_same(kernel: Kernel, is: &[u8], should: &[u8], what: &dyn Debug) {
    let nan = |bytes: &[u8]| match kernel.element {
        ElementType::F32 | ElementType::ComplexF32 => {
            bytes.chunks(4).any(|x| bytemuck::pod_read_unaligned::<f32>(x).is_nan())
        }
        ElementType::F64 | ElementType::ComplexF64 => {
            bytes.chunks(8).any(|x| bytemuck::pod_read_unaligned::<f64>(x).is_nan())
        }
        ElementType::LongDouble => bytemuck::pod_read_unaligned::<LongDouble>(bytes).to_f64().is_nan(),
        _ => false,
    };
    let complex = matches!(kernel.element, ElementType::ComplexF32 | ElementType::ComplexF64);
    let computed = matches!(kernel.op, ReduceOp::Sum | ReduceOp::Prod);
    for (i, (is, should)) in is.chunks(kernel.size()).zip(should.chunks(kernel.size())).enumerate() {
        let either = computed && nan(should) && (nan(is) || complex && kernel.op == ReduceOp::Prod);
        assert!(is == should || either, "{kernel}, {what:?}, element {i}: {is:x?}, not {should:x?}");
    }
}

#[test]
fn every_kernel_does_what_a_plain_loop_does_at_any_length_and_place() {
    for kernel in kernels() {
        let Kernel { element, op, .. } = kernel;
        for (seed, n) in lengths().enumerate() {
            for shift in [0, 1, 3] {
                let what = (n, shift);
                let a = Vector::new(element, n, shift, seed as u64 * 3);
                let b = Vector::new(element, n, (shift + 2) % 5, seed as u64 * 3 + 1);
                let should = model(element, op, a.bytes(), b.bytes());

                let mut out = Vector::new(element, n, 2 - shift % 2, 7);
                // SAFETY: three aligned vectors of `n` elements.
                unsafe { kernel.combine_into(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), n) };
                assert_same(kernel, out.bytes(), &should, &what);
                out.assert_margins();

                let mut acc = Vector::new(element, n, shift, seed as u64 * 3);
                // SAFETY: two aligned vectors of `n` elements.
                unsafe { kernel.combine(acc.as_mut_ptr(), b.as_ptr(), n) };
                assert_same(kernel, acc.bytes(), &should, &what);
                acc.assert_margins();

                if let Some(fused) = kernel.fused() {
                    let mut out = Vector::new(element, n, 1 + shift, 9);
                    // SAFETY: three aligned vectors of `n` elements.
                    unsafe { fused(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), n) };
                    assert_same(kernel, out.bytes(), &should, &what);
                    out.assert_margins();

                    let mut acc = Vector::new(element, n, shift, seed as u64 * 3);
                    let ptr = acc.as_mut_ptr();
                    // SAFETY: two aligned vectors of `n` elements; the output is the first operand.
                    unsafe { fused(ptr, ptr, b.as_ptr(), n) };
                    assert_same(kernel, acc.bytes(), &should, &what);
                    acc.assert_margins();
                }
            }
        }
    }
}

#[test]
fn the_second_operand_may_be_the_output_too() {
    for kernel in kernels() {
        for n in [1, 7, 100, 1000] {
            let a = Vector::new(kernel.element, n, 1, 1);
            let mut out = Vector::new(kernel.element, n, 1, 2);
            let should = model(kernel.element, kernel.op, a.bytes(), out.bytes());
            let ptr = out.as_mut_ptr();
            // SAFETY: two aligned vectors of `n` elements.
            unsafe { kernel.combine_into(ptr, a.as_ptr(), ptr, n) };
            assert_same(kernel, out.bytes(), &should, &n);
        }
    }
}

#[test]
fn a_fold_goes_from_left_to_right_and_its_output_may_be_any_source() {
    for kernel in kernels() {
        let element = kernel.element;
        for (seed, n) in lengths().enumerate().step_by(3) {
            for count in [1, 2, 3, 5] {
                let mut sources: Vec<_> =
                    (0..count).map(|i| Vector::new(element, n, i % 3, (seed * 7 + i) as u64)).collect();
                let mut should = Vector::new(element, n, 0, 0);
                should.as_mut_slice().copy_from_slice(sources[0].bytes());
                for source in &sources[1..] {
                    let acc = should.as_mut_ptr();
                    // SAFETY: two aligned vectors of `n` elements.
                    unsafe { kernel.combine(acc, source.as_ptr(), n) };
                }
                let pointers: Vec<_> = sources.iter_mut().map(|source| source.as_mut_ptr()).collect();
                let constant: Vec<_> = pointers.iter().map(|source| source.cast_const()).collect();
                let mut out = Vector::new(element, n, 1, 0);
                // SAFETY: aligned vectors of `n` elements.
                unsafe { kernel.fold(out.as_mut_ptr(), &constant, n) };
                assert_same(kernel, out.bytes(), should.bytes(), &(n, count));
                out.assert_margins();

                let place = seed % count;
                // SAFETY: as above; the output is one of the sources.
                unsafe { kernel.fold(pointers[place], &constant, n) };
                assert_same(kernel, sources[place].bytes(), should.bytes(), &(n, count, place));
                sources[place].assert_margins();
            }
        }
    }
}

#[test]
fn integers_wrap() {
    let mut bytes = [127i8, -128, 100];
    Kernel::of(<i8>::TYPE, ReduceOp::Sum).unwrap().combine_slices(&mut bytes, &[1, -1, 100]);
    assert_eq!(bytes, [-128, 127, -56]);
    let mut words = [u64::MAX, 1 << 63];
    Kernel::of(<u64>::TYPE, ReduceOp::Prod).unwrap().combine_slices(&mut words, &[2, 2]);
    assert_eq!(words, [u64::MAX - 1, 0]);
}

/// At every level, in a vector register and in the rest.
#[test]
fn of_nan_and_of_two_zeros_the_second_operand_is_the_minimum_and_the_maximum() {
    fn check<T: Ordered + Debug>(convert: impl Fn(f64) -> T, bits: impl Fn(&T) -> u128) {
        for op in [ReduceOp::Min, ReduceOp::Max] {
            for level in levels() {
                let kernel = Kernel::at(level, T::TYPE, op).unwrap();
                for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN), (0.0, -0.0), (-0.0, 0.0)] {
                    let (mut acc, x) = (vec![convert(a); 71], vec![convert(b); 71]);
                    kernel.combine_slices(&mut acc, &x);
                    assert!(acc.iter().all(|acc| bits(acc) == bits(&x[0])), "{kernel} {level:?}: {a}, {b}");
                }
            }
        }
    }
    check::<f32>(|x| x as f32, |x| u128::from(x.to_bits()));
    check::<f64>(|x| x, |x| u128::from(x.to_bits()));
    check::<LongDouble>(LongDouble::from, |x| u128::from_ne_bytes(x.to_ne_bytes()));
}

#[test]
fn codes_are_distinct_and_lead_back_to_their_kernels() {
    let mut seen = [false; 128];
    for element in ElementType::ALL {
        for op in ReduceOp::ALL {
            let Some(kernel) = Kernel::of(element, op) else { continue };
            assert!(!std::mem::replace(&mut seen[usize::from(kernel.code())], true));
            assert_eq!(Kernel::from_code(kernel.code()), Some(kernel));
        }
    }
    assert_eq!(
        seen.iter().filter(|&&seen| seen).count(),
        (0..=u8::MAX).filter_map(Kernel::from_code).count()
    );
}

#[test]
fn zero_is_zero_in_every_type() {
    fn check<T: Arithmetic + Default + PartialEq + Debug>() {
        let bytes = vec![0u8; size_of::<T>()];
        assert_eq!(bytemuck::pod_read_unaligned::<T>(&bytes), T::default());
        let mut acc = [T::default()];
        Kernel::of(T::TYPE, ReduceOp::Sum).unwrap().combine_slices(&mut acc, &[T::zeroed()]);
        assert_eq!(acc[0], T::default());
    }
    check::<i8>();
    check::<u64>();
    check::<f32>();
    check::<f64>();
    check::<Complex<f64>>();
    check::<LongDouble>();
    assert_eq!(LongDouble::from(0.0), LongDouble::default());
}

/// The operations in C, on pairs of elements from the standard input.
const PROGRAM: &str = r#"
#include <complex.h>
#include <stdio.h>
#include <string.h>
#define EACH(T, RESULT) \
    do { \
        T a, b, c; \
        while (fread(&a, sizeof a, 1, stdin) == 1 && fread(&b, sizeof b, 1, stdin) == 1) { \
            memset(&c, 0, sizeof c); \
            c = RESULT; \
            fwrite(&c, sizeof c, 1, stdout); \
        } \
    } while (0)
int main(int argc, char **argv) {
    switch (argv[1][0]) {
    case '+': EACH(long double, a + b); break;
    case '*': EACH(long double, a * b); break;
    case '<': EACH(long double, a < b ? a : b); break;
    case '>': EACH(long double, a > b ? a : b); break;
    case 'f': EACH(float _Complex, a * b); break;
    case 'd': EACH(double _Complex, a * b); break;
    case 'F': EACH(float _Complex, a + b); break;
    case 'D': EACH(double _Complex, a + b); break;
    }
    return 0;
}
"#;

#[test]
fn long_doubles_and_complex_numbers_are_as_in_c() {
    let dir = std::env::temp_dir().join(format!("oxshmem-reduction-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let program = dir.join("pairs");
    std::fs::write(dir.join("pairs.c"), PROGRAM).unwrap();
    let compiled = std::process::Command::new("cc")
        .args(["-O1", "-ffp-contract=off", "-o"])
        .args([&program, &dir.join("pairs.c")])
        .status();
    match compiled {
        Ok(status) if status.success() => {}
        other => return println!("skipped: no C compiler here ({other:?})"),
    }
    use {ElementType::*, ReduceOp::*};

    for (name, element, op) in [
        ("+", LongDouble, Sum),
        ("*", LongDouble, Prod),
        ("<", LongDouble, Min),
        (">", LongDouble, Max),
        ("f", ComplexF32, Prod),
        ("d", ComplexF64, Prod),
        ("F", ComplexF32, Sum),
        ("D", ComplexF64, Sum),
    ] {
        let (n, size) = (3000, element.size());
        let (a, b) = (Vector::new(element, n, 0, 11), Vector::new(element, n, 0, 12));
        let pairs = a.bytes().chunks(size).zip(b.bytes().chunks(size)).flat_map(|(a, b)| [a, b].concat());
        std::fs::write(dir.join("in"), pairs.collect::<Vec<u8>>()).unwrap();
        let input = std::fs::File::open(dir.join("in")).unwrap();
        let ran = std::process::Command::new(&program).arg(name).stdin(input).output().unwrap();
        assert_eq!(ran.stdout.len(), n * size);
        for level in levels() {
            let kernel = Kernel::at(level, element, op).unwrap();
            let mut out = Vector::new(element, n, 0, 0);
            // SAFETY: three aligned vectors of `n` elements.
            unsafe { kernel.combine_into(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), n) };
            for (i, (is, should)) in out.bytes().chunks(size).zip(ran.stdout.chunks(size)).enumerate() {
                assert!(as_c(element, op, is, should), "{kernel} {level:?} {i}: {is:x?}, C has {should:x?}");
            }
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Equal in every bit that C defines; a NaN may be any.
fn as_c(element: ElementType, op: ReduceOp, is: &[u8], should: &[u8]) -> bool {
    let both_nan = |is: f64, should: f64| is.is_nan() && should.is_nan();
    match element {
        ElementType::LongDouble => {
            let value = |bytes| bytemuck::pod_read_unaligned::<LongDouble>(bytes).to_f64();
            let valid = if cfg!(target_arch = "x86_64") { 10 } else { 16 };
            is[..valid] == should[..valid] && is[valid..].iter().all(|&byte| byte == 0)
                || matches!(op, ReduceOp::Sum | ReduceOp::Prod) && both_nan(value(is), value(should))
        }
        ElementType::ComplexF32 => is.chunks(4).zip(should.chunks(4)).all(|(is, should)| {
            let value = |bytes| f64::from(bytemuck::pod_read_unaligned::<f32>(bytes));
            is == should || both_nan(value(is), value(should))
        }),
        _ => is.chunks(8).zip(should.chunks(8)).all(|(is, should)| {
            is == should || both_nan(bytemuck::pod_read_unaligned(is), bytemuck::pod_read_unaligned(should))
        }),
    }
}

#[test]
fn a_long_double_has_more_bits_than_a_double() {
    let one = LongDouble::from(1.0);
    let tiny = LongDouble::from(2f64.powi(-63));
    let sum = one + tiny;
    assert_eq!(sum.partial_cmp(&one), Some(std::cmp::Ordering::Greater));
    assert_eq!(sum + LongDouble::from(-1.0), tiny);
    assert_eq!(sum.to_f64(), 1.0);
    #[cfg(target_arch = "x86_64")]
    {
        assert_eq!(u128::from_ne_bytes(sum.to_ne_bytes()), 0x3fff_8000_0000_0000_0001);
        assert_eq!(format!("{sum:?} {sum}"), "LongDouble(1.0, 0x3fff8000000000000001) 1");
    }
    let nan = LongDouble::from(f64::NAN);
    assert!(nan != nan && nan.partial_cmp(&one).is_none());
    assert_eq!(LongDouble::from(-0.0), LongDouble::from(0.0));
    for value in SPECIAL.into_iter().filter(|value| !value.is_nan()) {
        assert_eq!(LongDouble::from(value).to_f64().to_bits(), value.to_bits());
    }
}
