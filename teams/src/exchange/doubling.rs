//! Doubling: after each round PEs have twice as much.
//!
//! Where n is no power of two, the PEs beyond the largest one hand what they have to a partner, and get the result
//! from it. A scan needs no partners of equal rank, so all PEs go through all rounds.

use oxshmem_base::Result;

use super::{Buffers, Deal, Exchange, Step, combine_bytes};
use crate::{choice::rounds, group::Group};

impl Exchange {
    /// The largest power of two that is not above n.
    pub(super) fn core(group: &Group) -> usize {
        1 << group.n().ilog2()
    }

    pub(super) fn is_scan(&self) -> bool {
        matches!(self.deal, Deal::Scan { .. })
    }

    pub(super) fn begin_doubling(&mut self, group: &Group, buffers: &mut Buffers) -> Result<Step> {
        let [.., total, before] = buffers.get(self.bytes());
        group.memory.read(self.source, total);
        before.fill(0);
        let core = Self::core(group);
        if !self.is_scan() {
            if group.me() >= core {
                self.send(group, rounds(group.n()) as usize, total, group.me() - core);
                return Ok(Step::Result);
            }
            if group.me() + core < group.n() {
                return Ok(Step::Extra);
            }
        }
        self.begin_round(group, 0, buffers)
    }

    pub(super) fn begin_round(&mut self, group: &Group, round: u32, buffers: &mut Buffers) -> Result<Step> {
        let (me, n) = (group.me(), group.n());
        let [.., total, before] = buffers.get(self.bytes());
        let last = if self.is_scan() { rounds(n) } else { Self::core(group).ilog2() };
        if round < last {
            let partner = if self.is_scan() { (me + (1 << round)) % n } else { me ^ (1 << round) };
            self.send(group, round as usize, total, partner);
            return Ok(Step::Round(round));
        }
        let extra = me + Self::core(group);
        if !self.is_scan() && extra < n {
            self.send(group, rounds(n) as usize + 1, total, extra);
        }
        let exclusive = matches!(self.deal, Deal::Scan { inclusive: false, .. });
        group.memory.write(self.dest, if exclusive { before } else { total });
        Ok(Step::Done)
    }

    pub(super) fn next_in_doubling(&mut self, group: &Group, buffers: &mut Buffers) -> Result<Step> {
        let (me, n) = (group.me(), group.n());
        let [came, spare, total, before] = buffers.get(self.bytes());
        match self.step {
            Step::Round(round) => {
                let distance = 1usize << round;
                let partner = if self.is_scan() { (me + n - distance) % n } else { me ^ distance };
                self.check(group, me, round as usize)?;
                group.memory.read(self.payload(group, round as usize, self.bytes()), came);
                match self.deal {
                    // What came is from lower PEs, so it is the left operand of both.
                    Deal::Scan { kernel, .. } if me >= distance => {
                        spare.copy_from_slice(came);
                        combine_bytes(kernel, spare, total);
                        total.copy_from_slice(spare);
                        // In the first round nobody before has been heard of: what came is all there is.
                        if round > 0 {
                            combine_bytes(kernel, came, before);
                        }
                        before.copy_from_slice(came);
                    }
                    // The left operand is the lower PEs', so that all come to the same.
                    Deal::Reduce(kernel) if partner < me => {
                        combine_bytes(kernel, came, total);
                        total.copy_from_slice(came);
                    }
                    Deal::Reduce(kernel) => combine_bytes(kernel, total, came),
                    _ => {}
                }
                self.begin_round(group, round + 1, buffers)
            }
            Step::Extra => {
                let index = rounds(n) as usize;
                self.check(group, me, index)?;
                if let Deal::Reduce(kernel) = self.deal {
                    group.memory.read(self.payload(group, index, self.bytes()), came);
                    combine_bytes(kernel, total, came);
                }
                self.begin_round(group, 0, buffers)
            }
            _ => {
                let index = rounds(n) as usize + 1;
                self.check(group, me, index)?;
                let (here, result) = (group.here(), self.payload(group, index, self.bytes()));
                group.memory.copy(self.dest, here, result, here);
                Ok(Step::Done)
            }
        }
    }
}
