//! What each collective demands of its operands, and what tells its call from others.

use oxshmem_base::{Error, Result};

use super::operands::Operands;
use crate::{
    reduction::Kernel,
    signature::{Call, Signature},
};

impl Operands<'_> {
    /// Those of a reduction.
    #[inline]
    pub(super) fn sign_reduce(&self, kernel: &Kernel) -> Result<Signature> {
        self.equal().and_then(|()| self.disjoint_or_same())?;
        Ok(self.sign(Signature::of_kernel(Call::Reduce, kernel, self.elements)))
    }

    /// Those of a scan.
    #[inline]
    pub(super) fn sign_scan(&self, call: Call, kernel: &Kernel) -> Result<Signature> {
        self.equal().and_then(|()| self.disjoint_or_same())?;
        Ok(self.sign(Signature::of_kernel(call, kernel, self.elements)))
    }

    /// Those of a broadcast from one of `n_pes` PEs.
    #[inline]
    pub(super) fn sign_broadcast(&self, root: usize, to_root: bool, n_pes: usize) -> Result<Signature> {
        self.equal()?;
        if root >= n_pes {
            return Err(Error::PeOutOfRange { call: "broadcast", pe: root, n_pes });
        }
        if to_root {
            self.disjoint_or_same()?;
        }
        Ok(self.sign(Signature::of(Call::Broadcast, self.moved, self.elements, root)))
    }

    /// Those of an fcollect of `n_pes` PEs.
    #[inline]
    pub(super) fn sign_fcollect(&self, n_pes: usize) -> Result<Signature> {
        self.times(n_pes).and_then(|()| self.disjoint_but_own())?;
        Ok(self.sign(Signature::of(Call::Fcollect, self.moved, self.elements, 0)))
    }

    /// Those of a collect.
    #[inline]
    pub(super) fn sign_collect(&self) -> Result<Signature> {
        self.ours()?;
        Ok(self.sign(Signature::of_collect(self.moved, self.elements, self.dest_elements)))
    }

    /// Those of an alltoall of `n_pes` PEs.
    #[inline]
    pub(super) fn sign_alltoall(&self, n_pes: usize) -> Result<Signature> {
        self.equal().and_then(|()| self.divisible(n_pes)).and_then(|()| self.disjoint())?;
        Ok(self.sign(Signature::of(Call::Alltoall, self.moved, self.elements / n_pes, 0)))
    }

    /// Those of an alltoalls of `nelems` elements for each of `n_pes` PEs, with strides of the
    /// destination and the source.
    #[inline]
    pub(super) fn sign_alltoalls(
        &self,
        strides: [usize; 2],
        nelems: usize,
        n_pes: usize,
    ) -> Result<Signature> {
        let count = n_pes.saturating_mul(nelems);
        self.strided(strides, count, self.size)?;
        self.disjoint_elements(strides, count)?;
        Ok(self.sign(Signature::of_alltoalls(self.moved, nelems, strides)))
    }
}
