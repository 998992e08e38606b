//! In which order a PE goes through memory that may not fit into its caches.
//!
//! A cache forgets first what was touched longest ago. Who goes through more than it holds again and again, each time from the beginning, finds
//! nothing of it there: what comes next is always what has just gone. Who goes back the way it came finds what it touched last. So the
//! collectives of a team go up and down in turn, by pieces: a piece itself is copied upwards, as processors fetch ahead best.
//! It also meets programs halfway that fill a source, or read a destination, from the beginning to the end.

use std::ops::Range;

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sweep {
    Up,
    Down,
}

impl Sweep {
    /// That of the collective with this number: another than the next one's.
    #[inline(always)]
    pub(crate) fn of(number: u64) -> Self {
        if number.is_multiple_of(2) { Self::Up } else { Self::Down }
    }

    /// The numbers below `n` in this direction.
    #[inline(always)]
    pub(crate) fn over(self, n: usize) -> impl ExactSizeIterator<Item = usize> {
        (0..n).map(move |i| match self {
            Self::Up => i,
            Self::Down => n - 1 - i,
        })
    }

    /// All that an iterator has.
    pub(crate) fn through<I: DoubleEndedIterator>(self, mut all: I) -> impl Iterator<Item = I::Item> {
        std::iter::from_fn(move || match self {
            Self::Up => all.next(),
            Self::Down => all.next_back(),
        })
    }

    /// The pieces of a range, of at most `most` bytes.
    pub(crate) fn pieces(
        self,
        range: Range<usize>,
        most: usize,
    ) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.over(range.len().div_ceil(most)).map(move |i| {
            let start = range.start + i * most;
            start..(start + most).min(range.end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_have_the_same_pieces() {
        for (range, most) in
            [(0..0, 8), (5..6, 8), (3..19, 8), (64..1024, 100), (0..4096, 4096), (0..4097, 4096)]
        {
            let up: Vec<_> = Sweep::Up.pieces(range.clone(), most).collect();
            let mut down: Vec<_> = Sweep::Down.pieces(range.clone(), most).collect();
            down.reverse();
            assert_eq!(up, down);
            assert!(up.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(up.iter().all(|piece| (1..=most).contains(&piece.len())));
            assert_eq!(up.iter().map(|piece| piece.len()).sum::<usize>(), range.len());
            if let [first, .., last] = &up[..] {
                assert_eq!((first.start, last.end), (range.start, range.end));
            }
        }
    }

    #[test]
    fn collectives_go_up_and_down_in_turn() {
        assert!((0..9).all(|number| Sweep::of(number) != Sweep::of(number + 1)));
        assert!(Sweep::Up.over(3).eq([0, 1, 2]) && Sweep::Down.over(3).eq([2, 1, 0]));
    }
}
