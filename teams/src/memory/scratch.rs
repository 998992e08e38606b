//! The scratch memory of teams: where in the control memory each team's lies, and what is in it.
//!
//! A PE has room for [`TEAMS`] teams at a time. A team's PEs agree on a place that is free on all
//! of them, so that it is symmetric among them; other teams may have the same place on other PEs.

use std::ops::Range;

use oxshmem_memory::copy;

/// How many teams a PE can be in at a time.
pub(crate) const TEAMS: usize = 512;
/// Bytes of one team's scratch memory on each of its PEs.
pub(crate) const TEAM_BYTES: usize = 120 << 10;

/// Bytes that a flag or a slot is aligned to: two cache lines, as processors fetch them in pairs.
pub(crate) const LINE: usize = 128;

/// Flags: words that only grow.
pub(crate) const FLAGS: usize = 96;
const FLAGS_AT: usize = 0;
/// What this PE is in, for its neighbours.
pub(crate) const CALL_LOG: Range<usize> = FLAGS_AT + FLAGS * LINE..FLAGS_AT + (FLAGS + 25) * LINE;
/// The most slots of an exchange. They come in two sets that take turns.
pub(crate) const SLOTS: usize = 16;
const SLOTS_AT: usize = CALL_LOG.end;
/// Slots of broadcasts from a root to all: it may be this many messages ahead without a sync.
pub(crate) const BROADCAST: usize = 32;
const BROADCAST_AT: usize = SLOTS_AT + 2 * SLOTS * LINE;
/// Slots for messages of one word, of which several share a line: it travels to a reader once for
/// all of them. More, as a sync takes longer than many of them, most of all where PEs share
/// processors.
pub(crate) const BROADCAST_WORDS: usize = 128;
const BROADCAST_WORDS_AT: usize = BROADCAST_AT + BROADCAST * LINE;
const WORD_SLOT: usize = 32;
/// Bytes of payload that fit into such a slot.
const WORD_PAYLOAD: usize = WORD_SLOT - PAYLOAD_AT;
/// Payloads of broadcasts that do not fit into its slots: of this many messages.
pub(crate) const BROADCAST_BULKS: usize = 8;
pub(crate) const BROADCAST_BULK: usize = 4 << 10;
const BROADCAST_BULK_AT: usize = BROADCAST_WORDS_AT + BROADCAST_WORDS * WORD_SLOT;
/// Payloads of exchanges that do not fit into their slots; one half for each set.
pub(crate) const BULK: usize = 16 << 10;
const BULK_AT: usize = BROADCAST_BULK_AT + BROADCAST_BULKS * BROADCAST_BULK;
/// What is left: for collectives that order their accesses themselves.
const GENERAL_AT: usize = BULK_AT + 2 * BULK;
pub(crate) const GENERAL: usize = TEAM_BYTES - GENERAL_AT;

/// Where in that it says which PEs called what, at the end.
pub(crate) const RECORD_AT: usize = GENERAL - 6 * size_of::<u64>();

/// What must be zero when a team begins: everything with a number that is waited for.
pub(crate) const NUMBERS: Range<usize> = FLAGS_AT..BROADCAST_BULK_AT;

/// Where in a slot the payload begins: behind its number and the two words of its collective's
/// signature.
pub(crate) const PAYLOAD_AT: usize = 24;
/// Bytes of payload that fit into a slot.
pub(crate) const INLINE: usize = LINE - PAYLOAD_AT;
/// Bytes of payload that fit into its first cache line.
pub(crate) const FIRST_LINE: usize = copy::LINE - PAYLOAD_AT;

/// The place of a flag.
#[inline(always)]
pub(crate) fn flag(index: usize) -> usize {
    debug_assert!(index < FLAGS);
    FLAGS_AT + index * LINE
}

/// The place of a slot of the exchange with that number.
#[inline(always)]
pub(crate) fn slot(number: u64, index: usize) -> usize {
    debug_assert!(index < SLOTS);
    SLOTS_AT + ((number as usize & 1) * SLOTS + index) * LINE
}

/// The place of the payload of slot `index` of `of`, if it does not fit into the slot.
#[inline(always)]
pub(crate) fn bulk(number: u64, index: usize, of: usize) -> usize {
    debug_assert!(index < of);
    BULK_AT + (number as usize & 1) * BULK + index * bulk_bytes(of)
}

/// Bytes of payload that each of `of` slots may have.
#[inline(always)]
pub(crate) fn bulk_bytes(of: usize) -> usize {
    (BULK / of.max(1) / LINE * LINE).min(BROADCAST_BULK)
}

/// The place of a broadcast's slot with that number for a message of `bytes`.
#[inline(always)]
pub(crate) fn broadcast(number: u64, bytes: usize) -> usize {
    let number = number as usize;
    if bytes <= WORD_PAYLOAD {
        BROADCAST_WORDS_AT + number % BROADCAST_WORDS * WORD_SLOT
    } else {
        BROADCAST_AT + number % BROADCAST * LINE
    }
}

/// Whether several messages of `bytes` share a line.
#[inline(always)]
pub(crate) fn shares_line(bytes: usize) -> bool {
    bytes <= WORD_PAYLOAD
}

/// How many messages of `bytes` broadcasts have room for.
#[inline(always)]
pub(crate) fn broadcast_room(bytes: usize) -> usize {
    match bytes {
        0..=WORD_PAYLOAD => BROADCAST_WORDS,
        _ if bytes <= INLINE => BROADCAST,
        _ => BROADCAST_BULKS,
    }
}

/// The places of all slots of broadcasts.
pub(crate) fn broadcast_slots() -> impl Iterator<Item = usize> {
    let words = (0..BROADCAST_WORDS as u64).map(|number| broadcast(number, WORD_PAYLOAD));
    words.chain((0..BROADCAST as u64).map(|number| broadcast(number, INLINE)))
}

/// The place of its payload, if it does not fit into the slot.
#[inline(always)]
pub(crate) fn broadcast_bulk(number: u64) -> usize {
    BROADCAST_BULK_AT + number as usize % BROADCAST_BULKS * BROADCAST_BULK
}

/// The place of the general scratch memory.
pub(crate) fn general(range: Range<usize>) -> Range<usize> {
    assert!(range.start <= range.end && range.end <= GENERAL);
    GENERAL_AT + range.start..GENERAL_AT + range.end
}

const _: () = assert!(TEAMS * TEAM_BYTES <= oxshmem_spaces::Pe::SCRATCH_BYTES);
const _: () =
    assert!(NUMBERS.end.is_multiple_of(LINE) && BULK_AT.is_multiple_of(LINE) && GENERAL >= 17 << 10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps() {
        let mut places: Vec<Range<usize>> = (0..FLAGS).map(|i| flag(i)..flag(i) + LINE).collect();
        places.push(CALL_LOG);
        for number in [6, 7] {
            places.extend((0..SLOTS).map(|i| slot(number, i)..slot(number, i) + LINE));
            places.push(bulk(number, 0, 1)..bulk(number, 0, 1) + BULK);
        }
        places.extend((0..BROADCAST as u64).map(|i| broadcast(i, INLINE)..broadcast(i, INLINE) + LINE));
        places.extend((0..BROADCAST_WORDS as u64).map(|i| broadcast(i, 8)..broadcast(i, 8) + WORD_SLOT));
        places.extend(
            (0..BROADCAST_BULKS as u64).map(|i| broadcast_bulk(i)..broadcast_bulk(i) + BROADCAST_BULK),
        );
        places.push(general(0..GENERAL));
        places.sort_by_key(|place| place.start);
        assert!(places.windows(2).all(|pair| pair[0].end <= pair[1].start));
        assert!(places.last().is_some_and(|last| last.end == TEAM_BYTES));
        for of in 1..=SLOTS {
            assert!(bulk(0, of - 1, of) + bulk_bytes(of) <= BULK_AT + BULK, "{of} payloads fit");
            assert!(bulk_bytes(of) >= INLINE);
        }
    }
}
