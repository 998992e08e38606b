//! The tree that wide collectives go up and down: each PE has at most [`RADIX`] children, so that nobody
//! sends more than a few messages, and the depth is logarithmic.

/// Children of one PE.
pub(crate) const RADIX: usize = 4;

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

/// The tree for what is long where PEs share processors, which they take turns with: up to that many PEs are such a tree, and each
/// of them has all others of its processor below it, which it serves in its own turn. So every processor does its part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    tree: Tree,
    columns: usize,
}

impl Columns {
    pub(crate) fn new(me: usize, n: usize, root: usize, columns: usize) -> Self {
        Self { tree: Tree::new(me, n, root), columns: columns.clamp(1, n) }
    }

    /// The PEs below: those on other processors first, as they have others below them.
    pub(crate) fn children(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let Self { tree, columns } = *self;
        let (mut top, mut below) = match tree.me {
            me if me < columns => (me * RADIX + 1, me + columns),
            _ => (columns, tree.n),
        };
        let tops = (top + RADIX).min(columns);
        // Not by iterators with steps, which begin with a division.
        let places = std::iter::from_fn(move || {
            if top < tops {
                top += 1;
                return Some(top - 1);
            }
            below += columns;
            (below - columns < tree.n).then_some(below - columns)
        });
        places.map(move |place| tree.pe(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pe_but_the_root_is_below_one_other_and_in_its_column_or_at_the_top() {
        for n in 1..40 {
            for columns in [1, 2, 3, 7, 8, 39, 64] {
                for root in [0, n / 2, n - 1] {
                    let mut above = vec![None; n];
                    for pe in 0..n {
                        for child in Columns::new(pe, n, root, columns).children() {
                            assert_eq!(above[child].replace(pe), None);
                            let [upper, lower] = [pe, child].map(|pe| (pe + n - root) % n);
                            assert!(lower < columns || (upper < columns && (lower - upper) % columns == 0));
                        }
                    }
                    assert!((0..n).all(|pe| above[pe].is_none() == (pe == root)));
                }
            }
        }
    }

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
