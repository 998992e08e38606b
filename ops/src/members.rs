//! Which PEs a team has: the arithmetic between its PE numbers and those of the world (`OpenSHMEM
//! 1.6 §9.4`).

use std::sync::Arc;

/// The PEs of a team, in its order.
///
/// Every split of the world makes teams whose PEs lie evenly spaced in it, so the number in the
/// world is one multiplication and one addition away. Only PEs that a launcher has placed unevenly
/// need a table.
///
/// ```
/// use oxshmem_ops::Members;
///
/// let world = Members::world(12);
/// let column = world.strided(1, 4, 3); // PEs 1, 5 and 9
/// assert_eq!((column.n(), column.world_pe(2), column.pe_of(5)), (3, 9, Some(1)));
/// let reversed = column.strided(2, -1, 3); // PEs 9, 5 and 1
/// assert_eq!((reversed.world_pe(0), reversed.pe_of(5), reversed.pe_of(2)), (9, Some(1), None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    n: usize,
    start: usize,
    /// Wrapping, so that a negative one is added like any other.
    stride: usize,
    table: Option<Arc<[u32]>>,
}

impl Members {
    /// All `n` PEs of a job.
    ///
    /// ```
    /// use oxshmem_ops::Members;
    ///
    /// assert!(Members::world(3).iter().eq([0, 1, 2]));
    /// ```
    pub fn world(n: usize) -> Self {
        Self { n, start: 0, stride: 1, table: None }
    }

    /// The PEs with these numbers in the world, in this order.
    ///
    /// ```
    /// use oxshmem_ops::Members;
    ///
    /// let uneven = Members::listed(&[0, 1, 5]);
    /// assert_eq!((uneven.world_pe(2), uneven.pe_of(5)), (5, Some(2)));
    /// assert_eq!(Members::listed(&[3, 5, 7]), Members::world(9).strided(3, 2, 3));
    /// ```
    pub fn listed(pes: &[usize]) -> Self {
        let start = pes.first().copied().unwrap_or(0);
        let stride = pes.get(1).map_or(1, |&second| second.wrapping_sub(start));
        let even = pes.iter().enumerate().all(|(i, &pe)| pe == start.wrapping_add(i.wrapping_mul(stride)));
        let table = (!even).then(|| pes.iter().map(|&pe| pe as u32).collect());
        Self { n: pes.len(), start, stride, table }
    }

    /// The PEs `start`, `start + stride`, … of these: `size` of them, all of which must exist.
    ///
    /// ```
    /// use oxshmem_ops::Members;
    ///
    /// assert!(Members::world(9).strided(8, -3, 3).iter().eq([8, 5, 2]));
    /// ```
    pub fn strided(&self, start: usize, stride: isize, size: usize) -> Self {
        let at = |i: usize| start.wrapping_add(i.wrapping_mul(stride as usize));
        if self.table.is_some() {
            return Self::listed(&(0..size).map(|i| self.world_pe(at(i))).collect::<Vec<_>>());
        }
        // The stride of a team of one says nothing; it is the same in every such team.
        let stride = if size < 2 { 1 } else { self.stride.wrapping_mul(stride as usize) };
        Self { n: size, start: self.world_pe(start), stride, table: None }
    }

    /// How many PEs.
    ///
    /// ```
    /// use oxshmem_ops::Members;
    ///
    /// assert_eq!(Members::world(9).strided(0, 2, 4).n(), 4);
    /// ```
    #[inline(always)]
    pub fn n(&self) -> usize {
        self.n
    }

    /// The number in the world of PE `pe`, which must be below [`n`](Self::n).
    ///
    /// ```
    /// use oxshmem_ops::Members;
    ///
    /// assert_eq!(Members::world(9).strided(1, 2, 4).world_pe(3), 7);
    /// ```
    #[inline(always)]
    pub fn world_pe(&self, pe: usize) -> usize {
        match &self.table {
            None => self.start.wrapping_add(pe.wrapping_mul(self.stride)),
            Some(table) => table.get(pe).map_or(usize::MAX, |&pe| pe as usize),
        }
    }

    /// The first number in the world and the distance of the next ones, wrapping, if they are
    /// evenly spaced.
    pub(crate) fn even(&self) -> Option<(usize, usize)> {
        self.table.is_none().then_some((self.start, self.stride))
    }

    /// The number here of the PE that is `world_pe` in the world, if it is one of these.
    ///
    /// ```
    /// use oxshmem_ops::Members;
    ///
    /// let odds = Members::world(9).strided(1, 2, 4);
    /// assert_eq!((odds.pe_of(7), odds.pe_of(6), odds.pe_of(9)), (Some(3), None, None));
    /// ```
    pub fn pe_of(&self, world_pe: usize) -> Option<usize> {
        if let Some(table) = &self.table {
            return table.iter().position(|&pe| pe as usize == world_pe);
        }
        let distance = world_pe.wrapping_sub(self.start) as isize;
        let stride = self.stride as isize;
        let pe = distance.checked_div(stride).filter(|_| distance % stride == 0)?;
        usize::try_from(pe).ok().filter(|&pe| pe < self.n)
    }

    /// The numbers in the world, in order.
    ///
    /// ```
    /// use oxshmem_ops::Members;
    ///
    /// assert!(Members::listed(&[4, 0, 2]).iter().eq([4, 0, 2]));
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        (0..self.n).map(|pe| self.world_pe(pe))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_there_and_back_agree_with_a_list_through_nested_splits() {
        let world = Members::world(60);
        for (start, stride, size) in [(0, 1, 60), (7, 3, 17), (59, -4, 14), (5, 0, 1), (10, 1, 1)] {
            let team = world.strided(start, stride, size);
            let list: Vec<usize> =
                (0..size).map(|i| (start as isize + stride * i as isize) as usize).collect();
            assert!(team.iter().eq(list.iter().copied()));
            assert_eq!(team, Members::listed(&list), "a list that is even needs no table");
            for pe in 0..60 {
                assert_eq!(team.pe_of(pe), list.iter().position(|&member| member == pe), "{team:?} {pe}");
            }
            if size > 4 {
                let nested = team.strided(4, -2, 3);
                assert!(nested.iter().eq([list[4], list[2], list[0]]));
            }
        }
        let uneven = Members::listed(&[3, 4, 9, 2]);
        assert!(uneven.strided(3, -1, 3).iter().eq([2, 9, 4]));
        assert_eq!((uneven.pe_of(9), uneven.pe_of(5)), (Some(2), None));
    }
}
