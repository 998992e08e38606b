use super::*;

/// `copy`, of this many bytes of 20,000, to and from places that far from where a line begins.
fn moves_those_bytes_and_no_others(
    copy: unsafe fn(*mut u8, *const u8, usize),
    lens: impl Iterator<Item = usize>,
    shifts: &[usize],
) {
    let src: Vec<u8> = (0..20_000u32).map(|i| (i * 7 + 1) as u8).collect();
    for len in lens {
        for &shift in shifts {
            assert!(20 + shift + len <= src.len());
            let mut dst = vec![0u8; src.len()];
            // SAFETY: that many bytes are inside both vectors.
            unsafe { copy(dst.as_mut_ptr().add(20 + shift), src.as_ptr().add(shift), len) };
            let mut expected = vec![0u8; src.len()];
            expected[20 + shift..20 + shift + len].copy_from_slice(&src[shift..shift + len]);
            assert_eq!(dst, expected, "{len} bytes at {shift}");
        }
    }
}

#[test]
fn a_copy_of_any_length_and_alignment_moves_those_bytes_and_no_others() {
    let lens = (0..600).chain([1000, 2047, 2048, 2049, 2300, 4096, 16384, 16385]);
    moves_those_bytes_and_no_others(copy, lens, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn so_does_a_copy_of_few_bytes_on_any_processor() {
    // Shifts from such a place are alignments.
    #[repr(align(8))]
    struct Room([u8; 96]);
    let from = Room(std::array::from_fn(|i| i as u8 + 1));
    for len in 0..=64 {
        for (there, here) in (0..64).map(|shifts| (8 + shifts / 8, shifts % 8)) {
            let mut to = Room([0; 96]);
            // SAFETY: this many bytes are inside of both arrays.
            unsafe { copy_by_words(to.0.as_mut_ptr().add(there), from.0.as_ptr().add(here), len) };
            let mut expected = [0; 96];
            expected[there..there + len].copy_from_slice(&from.0[here..here + len]);
            assert_eq!(to.0, expected, "{len} bytes from {here} to {there}");
        }
    }
}

/// A thread alternates elements of 0 and of ones, and another looks at them.
fn nobody_sees_a_part<T: Copy + PartialEq + std::fmt::Debug + Sync, const N: usize>(
    copy: unsafe fn(*mut u8, *const u8, usize),
    [zero, ones]: [T; 2],
) {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
    let (room, done) = ([const { AtomicU64::new(0) }; 2], AtomicBool::new(false));
    let all = size_of::<T>() * N;
    assert!(all <= size_of_val(&room) && size_of::<T>() == align_of::<T>());
    // The last bytes of it, so that there are elements that are aligned to no more than they must
    // be.
    let place = || room.as_ptr().cast::<u8>().wrapping_add(size_of_val(&room) - all).cast_mut();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for turn in 0..100_000 {
                let source = [[zero, ones][turn % 2]; N];
                // SAFETY: this many bytes are inside of both; the other thread uses `load`, of
                // single words.
                unsafe { copy(place(), source.as_ptr().cast(), all) };
            }
            done.store(true, Relaxed);
        });
        while !done.load(Relaxed) {
            for i in 0..N {
                // SAFETY: an aligned element inside of the room, and any bytes are one.
                let seen = unsafe { load(place().cast::<T>().add(i)) };
                assert!(seen == zero || seen == ones, "{seen:?} is a part of an element");
            }
        }
    });
}

#[test]
fn nobody_sees_a_part_of_an_element_that_a_small_copy_writes() {
    let copies: [unsafe fn(*mut u8, *const u8, usize); 2] = [copy_by_words, copy];
    for copy in copies {
        nobody_sees_a_part::<_, 1>(copy, [0, u64::MAX]);
        nobody_sees_a_part::<_, 2>(copy, [0, u64::MAX]);
        nobody_sees_a_part::<_, 1>(copy, [0, u32::MAX]);
        nobody_sees_a_part::<_, 3>(copy, [0, u32::MAX]);
        nobody_sees_a_part::<_, 1>(copy, [0, u16::MAX]);
        nobody_sees_a_part::<_, 5>(copy, [0, u16::MAX]);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn so_does_a_copy_by_a_loop() {
    if !std::arch::is_x86_feature_detected!("avx") {
        return println!("skipped: this processor has no AVX");
    }
    unsafe fn copy_loop(dst: *mut u8, src: *const u8, len: usize) {
        // SAFETY: the caller's contract, and there is AVX.
        unsafe { super::copy_loop(dst, src, len) }
    }
    moves_those_bytes_and_no_others(copy_loop, (160..900).chain([4096, 16385]), &[0, 1, 7, 8, 31, 32, 63]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn so_does_a_copy_by_the_string_instruction() {
    unsafe fn copy_string(dst: *mut u8, src: *const u8, len: usize) {
        // SAFETY: the caller's contract.
        unsafe { super::copy_string(dst, src, len) }
    }
    moves_those_bytes_and_no_others(copy_string, (0..70).chain([4096, 16385]), &[0, 1, 31, 64]);
}

#[test]
fn so_does_a_copy_by_the_library() {
    unsafe fn copy_by_library(dst: *mut u8, src: *const u8, len: usize) {
        // SAFETY: the caller's contract.
        unsafe { super::copy_by_library(dst, src, len) }
    }
    moves_those_bytes_and_no_others(copy_by_library, (0..70).chain([4096, 16385]), &[0, 1, 31, 64]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn so_does_a_long_copy_as_each_processor_makes_it() {
    unsafe fn as_unknown(dst: *mut u8, src: *const u8, len: usize) {
        // SAFETY: the caller's contract.
        unsafe { copy_as(&Processor::UNKNOWN, dst, src, len) }
    }
    unsafe fn with_avx(dst: *mut u8, src: *const u8, len: usize) {
        // SAFETY: the caller's contract, and there is AVX.
        unsafe { copy_as(&Processor::WITH_AVX, dst, src, len) }
    }
    unsafe fn as_zen_5(dst: *mut u8, src: *const u8, len: usize) {
        // SAFETY: as above.
        unsafe { copy_as(&Processor::ZEN_5, dst, src, len) }
    }
    let copies: [unsafe fn(*mut u8, *const u8, usize); 3] = [as_unknown, with_avx, as_zen_5];
    let n = if std::arch::is_x86_feature_detected!("avx") { copies.len() } else { 1 };
    for copy in &copies[..n] {
        let lens = [257, 1000, 4096, 4097, 8191, 16_385].into_iter();
        moves_those_bytes_and_no_others(*copy, lens, &[0, 1, 8, 31, 63, 64]);
        // Longer than what loops copy, to where the string instruction is slow, and to where it is
        // not.
        let (from, mut to) = (vec![7u8; 300_001], vec![0u8; 310_000]);
        for ahead in [from.as_ptr().addr().wrapping_sub(to.as_ptr().addr()) % 4096 + 1, 0] {
            to.fill(0);
            // SAFETY: both have as many bytes.
            unsafe { copy(to.as_mut_ptr().add(ahead), from.as_ptr(), from.len()) };
            assert!(to[ahead..][..from.len()] == from && to[ahead + from.len()..].iter().all(|it| *it == 0));
        }
    }
}

#[test]
fn a_destination_little_ahead_of_its_source_within_pages_gets_those_bytes_and_no_others() {
    const PAGE: usize = 4096;
    let src: Vec<u8> = (0..PAGE * 100).map(|i| (i / 3) as u8).collect();
    let mut dst = vec![0u8; src.len() + 2 * PAGE];
    let page = |address: usize| address.wrapping_neg() % PAGE;
    for ahead in [1, 8, 63, 64] {
        for len in [2048, 4096, 300_000] {
            let (from, to) = (page(src.as_ptr().addr()), page(dst.as_ptr().addr()) + ahead);
            dst.fill(0);
            // SAFETY: fewer bytes than the pages from there on.
            unsafe { copy(dst.as_mut_ptr().add(to), src.as_ptr().add(from), len) };
            assert!(dst[to..to + len] == src[from..from + len], "{len} bytes");
            assert!(dst[..to].iter().chain(&dst[to + len..]).all(|&byte| byte == 0), "{len} bytes");
        }
    }
}

#[test]
fn a_fill_sets_its_bytes_and_no_others() {
    let mut bytes = [1u8; 100];
    // SAFETY: 10 + 50 bytes are inside.
    unsafe { fill(bytes.as_mut_ptr().add(10), 7, 50) };
    assert!((0..100).all(|i| bytes[i] == if (10..60).contains(&i) { 7 } else { 1 }));
}

#[test]
fn values_of_every_size_come_back_from_a_store() {
    fn check<T: Copy + PartialEq + std::fmt::Debug>(value: T, zero: T) {
        let mut cell = [zero; 3];
        // SAFETY: an element of an array of `T` is aligned and writable.
        unsafe {
            store(&raw mut cell[1], value);
            assert_eq!(load(&raw const cell[1]), value);
        }
        assert_eq!((cell[0], cell[2]), (zero, zero));
    }
    check(200u8, 0);
    check(-2i16, 0);
    check(1.5f32, 0.0);
    check(u64::MAX, 0);
    check([1u8, 2, 3, 4, 5, 6, 7, 8], [0; 8]);
    check([1u64, 2, 3, 4, 5], [0; 5]);
    check(u128::MAX - 5, 0);
}
