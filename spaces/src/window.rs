//! Windows of numbers, by which PEs find out what all of them agree to.
//!
//! Each PE has a set of numbers, such as those of the blocks that it has no handle to any more. A
//! [`Window`] shows 512 successive numbers of it. Windows of several PEs can begin at different
//! numbers: merged, they show what is in all of the sets, as far as all of the windows reach. So a
//! few words are enough to find common numbers, wherever they are.

use bytemuck::{Pod, Zeroable};

/// How many successive numbers a window shows.
pub const WINDOW_BITS: usize = 512;

const WORDS: usize = WINDOW_BITS / 64;

/// A part of a set of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Window {
    /// The first number that it shows.
    from: u64,
    /// Behind the last number that it shows.
    to: u64,
    /// A bit for each number from `from` on. None is set for those from `to` on.
    bits: [u64; WORDS],
}

impl Window {
    /// Shows nothing, as there are no such numbers.
    pub const NONE: Self = Self { from: u64::MAX, to: u64::MAX, bits: [0; WORDS] };

    /// A window that begins at 0 and shows these bits.
    pub fn of_bits(bits: [u64; WORDS]) -> Self {
        Self { from: 0, to: WINDOW_BITS as u64, bits }
    }

    /// Shows the first of some ascending numbers, and those of the others that are less than 512
    /// behind it.
    ///
    /// ```
    /// # use oxshmem_spaces::window::Window;
    /// let window = Window::of([7, 500, 519]);
    /// assert!(window.numbers().eq([7, 500])); // 519 is too far behind 7
    /// ```
    pub fn of(ascending: impl IntoIterator<Item = u64>) -> Self {
        let mut numbers = ascending.into_iter().peekable();
        let Some(&from) = numbers.peek() else { return Self::NONE };
        let mut window = Self { from, to: from.saturating_add(WINDOW_BITS as u64), bits: [0; WORDS] };
        for number in numbers.take_while(|&number| number < window.to) {
            let bit = (number - from) as usize;
            window.bits[bit / 64] |= 1 << (bit % 64);
        }
        window
    }

    /// Makes this window show what `other` shows too. The order in which windows are merged makes
    /// no difference.
    ///
    /// ```
    /// # use oxshmem_spaces::window::Window;
    /// let mut window = Window::of([7, 30, 500]);
    /// window.merge(&Window::of([20, 30, 31, 500, 525]));
    /// assert!(window.numbers().eq([30, 500]));
    /// assert_eq!(window.seen(), Some(519)); // of what is behind, the first did not show anything
    /// ```
    pub fn merge(&mut self, other: &Self) {
        let from = self.from.max(other.from);
        let theirs = other.bits_from(from);
        self.bits = self.bits_from(from);
        self.bits.iter_mut().zip(theirs).for_each(|(bits, theirs)| *bits &= theirs);
        self.from = from;
        self.to = self.to.min(other.to);
    }

    /// The numbers that it shows, in ascending order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.bits.iter().enumerate().flat_map(move |(i, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
                left &= left - 1;
                Some(self.from + 64 * i as u64 + bit)
            })
        })
    }

    /// How many numbers it shows.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The first number that might be in all sets and was not looked at, where every set was shown
    /// from its first number on. `None` if there is no such number.
    pub fn seen(&self) -> Option<u64> {
        let seen = self.from.max(self.to);
        (seen != u64::MAX).then_some(seen)
    }

    /// What it shows, as bits for the numbers from `from` on, which is not before its own.
    fn bits_from(&self, from: u64) -> [u64; WORDS] {
        let behind = usize::try_from(from - self.from).unwrap_or(usize::MAX);
        match behind {
            0 => return self.bits,
            WINDOW_BITS.. => return [0; WORDS],
            _ => {}
        }
        let (words, bits) = (behind / 64, behind % 64);
        std::array::from_fn(|i| {
            let word = |i: usize| self.bits.get(i).copied().unwrap_or(0);
            let at = words + i;
            let high = if bits == 0 { 0 } else { word(at + 1) << (64 - bits) };
            word(at) >> bits | high
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// What all sets have, found by windows alone.
    fn common(sets: &[BTreeSet<u64>]) -> (Vec<u64>, usize) {
        let (mut found, mut from, mut rounds) = (Vec::new(), 0, 0);
        loop {
            rounds += 1;
            let windows = sets.iter().map(|set| Window::of(set.range(from..).copied()));
            let merged = windows.reduce(|mut a, b| {
                a.merge(&b);
                a
            });
            let merged = merged.unwrap_or(Window::NONE);
            found.extend(merged.numbers());
            let Some(next) = merged.seen() else { return (found, rounds) };
            assert!(next > from, "each window comes further");
            from = next;
        }
    }

    #[test]
    fn windows_that_are_far_apart_meet_behind_the_gap() {
        let everything: BTreeSet<u64> = (0..100_000).collect();
        let few = BTreeSet::from([99_990, 99_995]);
        assert_eq!(common(&[everything, few]), (vec![99_990, 99_995], 3));
    }

    #[test]
    fn one_empty_set_ends_the_search() {
        assert_eq!(common(&[(0..100_000).collect(), BTreeSet::new()]), (Vec::new(), 1));
    }

    proptest! {
        #[test]
        fn windows_find_what_all_sets_have(
            sets in proptest::collection::vec(proptest::collection::btree_set(0u64..3000, 0..2000), 1..5),
            far in any::<bool>(),
        ) {
            let offset = if far { u64::MAX - 4000 } else { 0 };
            let sets: Vec<BTreeSet<u64>> =
                sets.into_iter().map(|set| set.into_iter().map(|it| it + offset).collect()).collect();
            let all = sets.iter().skip(1).fold(sets[0].clone(), |a, b| &a & b);
            prop_assert!(common(&sets).0.into_iter().eq(all));
        }

        #[test]
        fn the_order_of_merging_makes_no_difference(
            sets in proptest::collection::vec(proptest::collection::btree_set(0u64..1500, 1..300), 3),
        ) {
            let [a, b, c] = [0, 1, 2].map(|i| Window::of(sets[i].iter().copied()));
            let mut left = a;
            left.merge(&b);
            left.merge(&c);
            let mut right = c;
            right.merge(&b);
            right.merge(&a);
            prop_assert_eq!(left, right);
        }
    }
}
