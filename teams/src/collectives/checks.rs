//! What each collective demands of its operands, and what tells its call from others.

use oxshmem_base::{Error, Result};

use super::operands::Operands;
use crate::{
    reduction::Kernel,
    signature::{Call, Signature},
};

impl Operands<'_> {
    /// Those of a reduction.
    #[inline(always)]
    pub(crate) fn reduce(&self, kernel: &Kernel) -> Result<Signature> {
        self.equal().and_then(|()| self.disjoint_or_same())?;
        Ok(self.sign(Signature::of_kernel(Call::Reduce, kernel, self.elements)))
    }

    /// Those of a scan.
    #[inline(always)]
    pub(crate) fn scan(&self, call: Call, kernel: &Kernel) -> Result<Signature> {
        self.equal().and_then(|()| self.disjoint_or_same())?;
        Ok(self.sign(Signature::of_kernel(call, kernel, self.elements)))
    }

    /// Those of a broadcast from one of `n_pes` PEs.
    #[inline(always)]
    pub(crate) fn broadcast<T: 'static>(
        &self,
        root: usize,
        to_root: bool,
        n_pes: usize,
    ) -> Result<Signature> {
        self.equal()?;
        if root >= n_pes {
            return Err(Error::PeOutOfRange { call: "broadcast", pe: root, n_pes });
        }
        if to_root {
            self.disjoint_or_same()?;
        }
        Ok(self.sign(Signature::of::<T>(Call::Broadcast, self.elements, root)))
    }

    /// Those of an fcollect of `n_pes` PEs.
    #[inline(always)]
    pub(crate) fn fcollect<T: 'static>(&self, n_pes: usize) -> Result<Signature> {
        self.times(n_pes).and_then(|()| self.disjoint_but_own())?;
        Ok(self.sign(Signature::of::<T>(Call::Fcollect, self.elements, 0)))
    }

    /// Those of a collect.
    #[inline(always)]
    pub(crate) fn collect<T: 'static>(&self) -> Result<Signature> {
        self.ours()?;
        Ok(self.sign(Signature::of_collect::<T>(self.elements, self.dest_elements)))
    }

    /// Those of an alltoall of `n_pes` PEs.
    #[inline(always)]
    pub(crate) fn alltoall<T: 'static>(&self, n_pes: usize) -> Result<Signature> {
        self.equal().and_then(|()| self.divisible(n_pes)).and_then(|()| self.disjoint())?;
        Ok(self.sign(Signature::of::<T>(Call::Alltoall, self.elements / n_pes, 0)))
    }

    /// Those of an alltoalls of `nelems` elements for each of `n_pes` PEs, with strides of the
    /// destination and the source.
    #[inline(always)]
    pub(crate) fn alltoalls<T: 'static>(
        &self,
        strides: [usize; 2],
        nelems: usize,
        n_pes: usize,
    ) -> Result<Signature> {
        let count = n_pes.saturating_mul(nelems);
        self.strided(strides, count, size_of::<T>()).and_then(|()| self.disjoint())?;
        Ok(self.sign(Signature::of_alltoalls::<T>(nelems, strides)))
    }
}
