//! Random keys, the bucket that each belongs into, and what a set of keys has in common with its
//! permutations.

use std::ops::Range;

/// A sequence of random numbers (SplitMix64), another one on every PE.
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64, pe: usize) -> Self {
        Self(mix(mix(seed).wrapping_add(pe as u64)))
    }

    /// The next `count` keys, uniform over all values.
    pub(crate) fn keys(&mut self, count: usize) -> Vec<u32> {
        let mut next = || {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            (mix(self.0) >> 32) as u32
        };
        (0..count).map(|_| next()).collect()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The PE, of `n`, in whose bucket `key` belongs. Larger keys have higher PEs.
pub(crate) fn home(key: u32, n: usize) -> usize {
    ((u64::from(key) * n as u64) >> 32) as usize
}

/// Keys in the order of the PEs that they go to.
pub(crate) struct Grouped {
    keys: Vec<u32>,
    /// Where the keys for each PE begin; at last, where all end.
    starts: Vec<usize>,
}

impl Grouped {
    /// Groups `keys` for `n` PEs: one pass counts, the other one moves.
    pub(crate) fn new(keys: &[u32], n: usize) -> Self {
        let mut starts = vec![0; n + 1];
        for &key in keys {
            starts[home(key, n) + 1] += 1;
        }
        for pe in 0..n {
            starts[pe + 1] += starts[pe];
        }
        let (mut next, mut grouped) = (starts.clone(), vec![0; keys.len()]);
        for &key in keys {
            let place = &mut next[home(key, n)];
            grouped[*place] = key;
            *place += 1;
        }
        Self { keys: grouped, starts }
    }

    /// The keys for `pe`.
    pub(crate) fn of(&self, pe: usize) -> &[u32] {
        let range: Range<usize> = self.starts[pe]..self.starts[pe + 1];
        &self.keys[range]
    }
}

/// What a set of keys has in common with its permutations: their number, sum, and exclusive or.
pub(crate) type Tally = [u64; 3];

pub(crate) fn tally(keys: &[u32]) -> Tally {
    keys.iter().fold([0; 3], |tally, &key| together(tally, [1, key.into(), key.into()]))
}

/// The tally of two sets together.
pub(crate) fn together(a: Tally, b: Tally) -> Tally {
    [a[0] + b[0], a[1] + b[1], a[2] ^ b[2]]
}
