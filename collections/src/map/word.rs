//! Keys and values as words of a table, and the hash of a key.

use bytemuck::{bytes_of, cast_slice, cast_slice_mut, pod_read_unaligned};
use oxshmem_spaces::Element;

/// The eight bytes, as a number, that are the word 0: a signalling NaN that no arithmetic makes.
pub(super) const UNSTORABLE: u64 = 0xFFF4_5A3C_96E1_0B87;

/// Set in the word of whatever is shorter than a word.
const PRESENT: u64 = 1 << 63;

/// Whether such an element is in a word, or else in a node.
pub(super) const fn is_word<T>() -> bool {
    size_of::<T>() <= 8
}

/// An element of at most 8 bytes as a word that is not 0, unless it is [`UNSTORABLE`].
pub(super) fn to_word<T: Element>(element: &T) -> u64 {
    let mut bytes = [0; 8];
    bytes[..size_of::<T>()].copy_from_slice(bytes_of(element));
    let bits = u64::from_le_bytes(bytes);
    if size_of::<T>() == 8 { bits.wrapping_sub(UNSTORABLE) } else { bits | PRESENT }
}

/// The element that is this word.
pub(super) fn from_word<T: Element>(word: u64) -> T {
    let bits = if size_of::<T>() == 8 { word.wrapping_add(UNSTORABLE) } else { word };
    pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()])
}

/// An element of any size as words.
pub(super) fn to_words<T: Element>(element: &T) -> Vec<u64> {
    let mut words = vec![0; size_of::<T>().div_ceil(8)];
    cast_slice_mut(&mut words)[..size_of::<T>()].copy_from_slice(bytes_of(element));
    words
}

/// The element that is these words.
pub(super) fn from_words<T: Element>(words: &[u64]) -> T {
    pod_read_unaligned(&cast_slice(words)[..size_of::<T>()])
}

/// A hash that is the same on all PEs: each word in turn, by the mixing function of `SplitMix64`.
pub(super) fn hash<T: Element>(element: &T) -> u64 {
    bytes_of(element).chunks(8).fold(size_of::<T>() as u64, |hash, chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        mix(hash.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ u64::from_le_bytes(bytes))
    })
}

pub(super) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Scales 32 bits to a number below `n`.
pub(super) fn below(n: usize, bits: u64) -> usize {
    (((bits & 0xFFFF_FFFF) * n as u64) >> 32) as usize
}

/// The sum of two integers of 4 or 8 bytes, signed or not, wrapping.
pub(super) fn sum<T: Element>(a: T, b: T) -> T {
    match size_of::<T>() {
        4 => bytemuck::cast(bytemuck::cast::<T, u32>(a).wrapping_add(bytemuck::cast(b))),
        _ => bytemuck::cast(bytemuck::cast::<T, u64>(a).wrapping_add(bytemuck::cast(b))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn comes_back<T: Element + PartialEq + std::fmt::Debug>(element: T) {
        assert_eq!(from_words::<T>(&to_words(&element)), element);
        if is_word::<T>() {
            assert_eq!(from_word::<T>(to_word(&element)), element);
        }
    }

    proptest! {
        #[test]
        fn elements_come_back_from_their_words(bytes: [u8; 21], number: u64) {
            comes_back(bytes);
            comes_back(number);
            comes_back(number as u32);
            comes_back(<[u8; 7]>::try_from(&bytes[..7]).unwrap());
            comes_back(());
            prop_assert_ne!(to_word(&bytes[0]), 0);
            prop_assert_eq!(to_word(&number) == 0, number == UNSTORABLE);
        }
    }

    #[test]
    fn the_hash_spreads_numbers_in_a_row_evenly() {
        let mut counts = [0_usize; 64];
        (0..64_000_u64).for_each(|number| counts[below(64, hash(&number) >> 32)] += 1);
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn sums_wrap() {
        assert_eq!(sum(-3_i32, 5), 2);
        assert_eq!(sum(u64::MAX, 2), 1);
    }
}
