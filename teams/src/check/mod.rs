//! Whether all PEs of a team have called the same.
//!
//! Messages carry the signature of the call. A PE that finds another one than its own reports it on
//! all PEs: it writes a record of both calls, and poisons every number that a PE may wait for.

pub(crate) mod call_log;
mod wait;

use std::sync::atomic::Ordering;

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    SegmentId,
    op::Spot,
    word::{Atomic, Width},
};
use oxshmem_net::Batch;

pub(crate) use self::wait::NumberWait;
use crate::{
    group::{Flag, Group, POISON},
    memory::{
        scratch::{self, RECORD_AT, SLOTS, TEAM_BYTES},
        span::Span,
        words,
    },
    message::Wide,
    signature::Signature,
};

/// Two PEs and their calls: PE, signature; PE, signature.
type Record = [u64; 6];
const _: () = assert!(RECORD_AT + size_of::<Record>() == scratch::GENERAL);

impl Group {
    /// This PE comes to a synchronisation of all, which they count by a flag of the first: what it
    /// has written for that is there. Whether it is the last. No PE comes to the next such
    /// synchronisation before this one is over.
    #[inline(always)]
    pub(crate) fn arrive(&self, flag: Flag) -> Result<bool> {
        // The number says to which of them a PE comes, so that there is one counter for all.
        let before = self.fetch_add(flag, 1, 0);
        if before >= POISON {
            return Err(self.poisoned());
        }
        Ok((before + 1).is_multiple_of(self.n() as u64))
    }

    /// Compares what another PE of this host has called with what this one has.
    #[inline(always)]
    pub(crate) fn compare(&self, pe: usize, theirs: Signature, mine: Signature) -> Result<()> {
        if theirs.agrees(mine) { Ok(()) } else { Err(self.differ(self.number(pe), theirs, mine)) }
    }

    /// Compares what the PE has called whose message is in the slot at `place`.
    #[inline(always)]
    pub(crate) fn compare_slot(&self, place: usize, mine: Signature) -> Result<()> {
        let (theirs, pe) = self.received(place);
        self.compare(pe, theirs, mine)
    }

    /// Records on all PEs that this one and another of the team called different things: a PE that
    /// waits on the team ends with an error.
    #[cold]
    pub(crate) fn differ(&self, pe: usize, theirs: Signature, mine: Signature) -> Error {
        let ([a, b], [c, d]) = (mine.words(), theirs.words());
        let mut calls = [[self.my_pe() as u64, a, b], [pe as u64, c, d]];
        calls.sort_unstable();
        let record: Record = bytemuck::cast(calls);
        if let Some(wide) = self.wide() {
            poison_elsewhere(self, wide, self.record(), bytemuck::bytes_of(&record));
        }
        self.poison(&record);
        mismatch(&record)
    }

    /// The word is poisoned: the error that its poisoner has found. Passes it on to the PEs of this
    /// host: what this PE has sent meanwhile may have undone it, or it came from another host.
    #[cold]
    pub(crate) fn poisoned(&self) -> Error {
        let record = self.recorded();
        self.poison(&record);
        mismatch(&record)
    }

    /// An error if PEs have called different things, or the team is revoked. Nothing begins any
    /// more then: its messages would undo the poison.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_broken() { Err(self.broken_by()) } else { Ok(()) }
    }

    #[cold]
    fn broken_by(&self) -> Error {
        match self.revoked() {
            Some(loss) => Error::PeLost { pe: loss.pe, view: loss.view, how: loss.how.to_string() },
            None => mismatch(&self.recorded()),
        }
    }

    fn recorded(&self) -> Record {
        let mut record: Record = [0; 6];
        self.memory.read(self.record(), bytemuck::bytes_of_mut(&mut record));
        record
    }

    fn record(&self) -> Span {
        self.scratch(scratch::general(RECORD_AT..scratch::GENERAL).start, size_of::<Record>())
    }

    /// Poisons all numbers that a PE of this host may wait for.
    fn poison(&self, record: &Record) {
        // On all of them first: a PE may see the poison on another than itself.
        for pe in 0..self.n() {
            self.memory.write_to(self.record(), self.block(pe), bytemuck::bytes_of(record));
        }
        self.set_broken();
        for pe in 0..self.n() {
            let flags = (0..scratch::FLAGS).map(scratch::flag);
            let slots = [0, 1].into_iter().flat_map(|half| (0..SLOTS).map(move |i| scratch::slot(half, i)));
            for place in flags.chain(slots).chain(scratch::broadcast_slots()) {
                words::word(self.words_of(pe).0, place).fetch_or(POISON, Ordering::SeqCst);
                self.wake([(pe, place)].into_iter());
            }
        }
    }
}

/// Records on all PEs of other hosts that PEs have called different things: `record`, which belongs
/// there, has which. Each passes it on to those of its host when it looks.
#[cold]
fn poison_elsewhere(group: &Group, wide: &Wide, there: Span, record: &[u8]) {
    let Some(net) = group.pe().net() else { return };
    let local = &wide.here;
    let others = (0..wide.members.n()).filter(|&pe| local.pe_of(pe).is_none());
    for pe in others.map(|pe| wide.members.world_pe(pe)) {
        let spot = |offset| Spot { pe, segment: SegmentId::Scratch, offset };
        let mut batch = Batch::default();
        batch.put(spot(there.offset()), record);
        let broken = wide.place * TEAM_BYTES + Flag::Broken.place();
        batch.update(spot(broken), Atomic::Set(POISON), Width::Eight);
        // A PE that cannot be reached is past waiting.
        let _: Result<()> = net.apply(pe, batch);
    }
}

fn mismatch(record: &Record) -> Error {
    let [pe_a, a, b, pe_b, c, d] = *record;
    let [a, b] = [[a, b], [c, d]].map(Signature::from_words);
    let call_b = match b.later_than(a) {
        None => b.to_string(),
        Some(later) => {
            let when = if later > 0 { "later" } else { "earlier" };
            let s = if later.abs() == 1 { "" } else { "s" };
            format!("the same {} collective{s} of the team {when}", later.abs())
        }
    };
    Error::CollectiveMismatch { pe_a: pe_a as usize, call_a: a.to_string(), pe_b: pe_b as usize, call_b }
}
