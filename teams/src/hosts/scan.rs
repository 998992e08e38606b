//! Scans: the leader of each host reads the vectors of its PEs, learns what comes before them, and
//! writes their sums.
//!
//! If the PEs of every host follow each other in the team, that is one vector, which leaders pass
//! on in log₂ k rounds: each adds what those before it have. Otherwise leaders give each other the
//! vectors of all their PEs, piece by piece. Sums are taken in the order of the PEs then; in the
//! other case a host's are taken first, and then those of hosts.

use std::ops::Range;

use oxshmem_base::Result;

use super::{collect::bruck, gathered, read, release, wire::Wire};
use crate::{
    algorithm::{called::Called, exchange::combine_bytes},
    group::Group,
    memory::span::Span,
    message::{Wide, buffer::Buffer},
    reduction::Kernel,
    tuning::rounds,
};

/// Bytes of all vectors that a leader has at a time.
const ROOM: usize = 1 << 20;
/// What pieces of vectors are cut at: a multiple of the sizes of all elements.
const ALIGN: usize = 64;

/// A sum that grows, or none yet.
struct RunningSum {
    kernel: &'static Kernel,
    total: Option<Buffer>,
}

impl RunningSum {
    fn add(&mut self, next: Buffer) {
        match &mut self.total {
            None => self.total = Some(next),
            Some(total) => combine_bytes(self.kernel, total, &next),
        }
    }
}

/// One call.
struct Scan<'a> {
    group: &'a Group,
    kernel: &'static Kernel,
    inclusive: bool,
    source: Span,
    dest: Span,
}

impl Scan<'_> {
    /// A part of the vector of a PE of this host.
    fn read(&self, pe: usize, part: Range<usize>) -> Buffer {
        let mut bytes = Buffer::zeros(part.len());
        self.group.memory.read_from(self.source.part(part), self.group.block(pe), &mut bytes);
        bytes
    }

    /// Adds `next`, which is that of a PE, and writes what it gets if it is number `pe` of this
    /// host.
    fn step(&self, running: &mut RunningSum, next: Buffer, pe: Option<usize>, part: &Range<usize>) {
        let zero = |total: &Option<Buffer>| total.clone().unwrap_or_else(|| Buffer::zeros(part.len()));
        let before = if self.inclusive || pe.is_none() { None } else { Some(zero(&running.total)) };
        running.add(next);
        if let Some(pe) = pe {
            let result = before.as_ref().or(running.total.as_ref());
            if let Some(result) = result {
                let to = self.group.block(pe);
                self.group.memory.write_to(self.dest.part(part.clone()), to, result);
            }
        }
    }
}

impl Wide {
    pub(crate) async fn scan(
        &self,
        group: &Group,
        call: &Called,
        kernel: &'static Kernel,
        inclusive: bool,
    ) -> Result<()> {
        let (wire, Called { signature, source, dest, .. }) = (self.wire(group), *call);
        gathered(group, signature).await?;
        if group.me() == 0 {
            let scan = Scan { group, kernel, inclusive, source, dest };
            let in_blocks = (0..self.n_hosts()).all(|node| self.is_block(node));
            let vectors = if in_blocks { 4 } else { self.members.n() };
            let piece = (ROOM / vectors / ALIGN * ALIGN).max(ALIGN);
            for start in (0..source.len()).step_by(piece) {
                let part = start..(start + piece).min(source.len());
                if in_blocks {
                    self.scan_blocks(&wire, &scan, part).await?;
                } else {
                    self.scan_all(&wire, &scan, part).await?;
                }
            }
        }
        release(group, signature).await
    }

    async fn scan_blocks(&self, wire: &Wire<'_>, scan: &Scan<'_>, part: Range<usize>) -> Result<()> {
        let (group, kernel) = (wire.group, scan.kernel);
        let mut here = read(wire, scan.source.part(part.clone()));
        for pe in 1..group.n() {
            combine_bytes(kernel, &mut here, &scan.read(pe, part.clone()));
        }
        let total = before(wire, kernel, here).await?;
        let mut running = RunningSum { kernel, total };
        for pe in 0..group.n() {
            scan.step(&mut running, scan.read(pe, part.clone()), Some(pe), &part);
        }
        Ok(())
    }

    async fn scan_all(&self, wire: &Wire<'_>, scan: &Scan<'_>, part: Range<usize>) -> Result<()> {
        let (group, len) = (wire.group, part.len());
        let mut mine = Buffer::zeros(group.n() * len);
        for (pe, bytes) in mine.chunks_exact_mut(len).enumerate() {
            group.memory.read_from(scan.source.part(part.clone()), group.block(pe), bytes);
        }
        let blocks =
            bruck(wire, mine, |node| self.nodes.of(node).n() * len, |node| self.leader(node)).await?;
        // Those of each host are in the order of the team, so that the next one is the first of
        // some host that are left.
        let mut left: Vec<_> = blocks.iter().map(|block| block.chunks_exact(len)).collect();
        let mut running = RunningSum { kernel: scan.kernel, total: None };
        let mut local = 0;
        for pe in 0..self.members.n() {
            let node = self.node_of(group, pe);
            let Some(next) = left[node].next() else { break };
            let is_here = node == self.node;
            scan.step(&mut running, wire.copy_of(next), is_here.then_some(local), &part);
            local += usize::from(is_here);
        }
        Ok(())
    }
}

/// What the hosts before this one have in all, in log₂ k rounds; nothing on the first.
async fn before(wire: &Wire<'_>, kernel: &Kernel, mine: Buffer) -> Result<Option<Buffer>> {
    let (me, k, len) = (wire.wide.node, wire.wide.n_hosts(), mine.len());
    let (mut partial, mut before) = (mine, None::<Buffer>);
    for round in 0..rounds(k) {
        let distance = 1 << round;
        let step = u64::from(round);
        let coming = match me.checked_sub(distance) {
            Some(from) => Some(wire.receive(wire.wide.leader(from), step, len)?),
            None => None,
        };
        if me + distance < k {
            wire.send(wire.wide.leader(me + distance), step, partial.clone())?.await?;
        }
        if let Some(coming) = coming {
            let mut came = coming.await?;
            let mut all = came.clone();
            if let Some(before) = &before {
                combine_bytes(kernel, &mut came, before);
            }
            before = Some(came);
            combine_bytes(kernel, &mut all, &partial);
            partial = all;
        }
    }
    Ok(before)
}
