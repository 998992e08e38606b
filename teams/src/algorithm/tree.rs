//! The tree that wide collectives go up and down: each PE has at most [`RADIX`] children, so that
//! no PE sends more than a few messages, and the depth is logarithmic.

use crate::tuning::RADIX;

/// A PE's place in the tree over all `n` PEs with `root` on top.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    me: usize,
    n: usize,
    root: usize,
}

impl Tree {
    #[inline(always)]
    pub(crate) fn new(me: usize, n: usize, root: usize) -> Self {
        debug_assert!(me < n && root < n);
        // Without divisions, which cost more than a small message's other instructions.
        Self { me: if me >= root { me - root } else { me + n - root }, n, root }
    }

    /// The PE above, and which of its children this one is.
    pub(crate) fn parent(&self) -> Option<(usize, usize)> {
        let above = self.me.checked_sub(1)?;
        Some((self.pe(above / RADIX), above % RADIX))
    }

    /// The PEs below, in the order of their places.
    #[inline(always)]
    pub(crate) fn children(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let this = *self;
        let first = self.me * RADIX + 1;
        (first.min(self.n)..(first + RADIX).min(self.n)).map(move |place| this.pe(place))
    }

    #[inline(always)]
    fn pe(&self, place: usize) -> usize {
        let pe = place + self.root;
        if pe >= self.n { pe - self.n } else { pe }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pe_but_the_root_is_its_parents_child_in_the_place_it_believes() {
        for n in 1..60 {
            for root in [0, n / 2, n - 1] {
                for pe in 0..n {
                    match Tree::new(pe, n, root).parent() {
                        None => assert_eq!(pe, root),
                        Some((parent, place)) => {
                            assert_eq!(Tree::new(parent, n, root).children().nth(place), Some(pe));
                        }
                    }
                }
                let edges: usize = (0..n).map(|pe| Tree::new(pe, n, root).children().count()).sum();
                assert_eq!(edges, n - 1);
            }
        }
    }
}
