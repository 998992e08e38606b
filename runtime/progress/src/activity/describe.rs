//! Activities in words.

use std::fmt;

use oxshmem_memory::SegmentId;

use super::{
    Activity, Call, GLOBALS, SEGMENT_BIT, SHARED, SPACE, TEAM_PLACE_BITS, TEAM_SPLIT_BITS, WORLD,
    call::Family,
};

impl Activity {
    /// The call, as in `sync #41`.
    pub fn name(&self) -> String {
        match self.number {
            0 => self.call.name().to_owned(),
            number => format!("{} #{number}", self.call.name()),
        }
    }

    /// Where it is, as in `on team 3.17`; nothing unless it is a collective.
    pub fn place(&self) -> String {
        if !self.call.is_collective() {
            return String::new();
        }
        match self.team {
            WORLD => "on the world team".to_owned(),
            SHARED => "on the shared team".to_owned(),
            SPACE => "on the team of the GPU space".to_owned(),
            team => {
                let (split, place) = (team >> TEAM_PLACE_BITS, team % (1 << TEAM_PLACE_BITS));
                let (first, split) = (split >> TEAM_SPLIT_BITS, split % (1 << TEAM_SPLIT_BITS));
                match first {
                    0 => format!("on team {split}.{place}"),
                    first => format!("on team {split}.{place} of PE {first}"),
                }
            }
        }
    }

    /// What it was given, as in `u64 at heap offset 0x40 >= 3, now 2`, where `now` has the word's
    /// present bits.
    pub fn arguments(&self, now: Option<u64>) -> String {
        match self.call.family() {
            Family::Wait => self.awaited(now),
            Family::Order => match self.args[0] {
                0 => String::new(),
                1 => "1 operation under way".to_owned(),
                n => format!("{n} operations under way"),
            },
            Family::Lock => {
                let lock = format!("lock at {}", self.whereabouts());
                match self.args[1] {
                    0 => lock,
                    1 => format!("{lock}, which this PE has"),
                    pe => format!("{lock}, behind PE {}", pe - 2),
                }
            }
            Family::Collective => self.collective_arguments(),
            Family::Operation | Family::Other => String::new(),
        }
    }

    /// Segment, offset and size of the one word that it waits for, if it waits for one with a
    /// value.
    pub(super) fn word(&self) -> Option<(u64, u64, usize)> {
        let [offset, _, shape, count] = self.args;
        let one = self.call.family() == Family::Wait && count == 1 && shape >> 5 & 1 == 1;
        one.then_some((shape >> SEGMENT_BIT, offset, word_size(shape)))
    }

    /// Where the words are that a wait is about, or the lock.
    fn whereabouts(&self) -> String {
        let [offset, _, shape, _] = self.args;
        let segment = match shape >> SEGMENT_BIT {
            bit if bit == u64::from(SegmentId::Heap.bit()) => "heap ",
            bit if bit == u64::from(SegmentId::Gpu.bit()) => "device ",
            GLOBALS => "globals ",
            _ => "",
        };
        format!("{segment}offset {offset:#x}")
    }

    fn awaited(&self, now: Option<u64>) -> String {
        let [_, value, shape, count] = self.args;
        let bit = |at: u32| shape >> at & 1 == 1;
        let (size, signed) = (word_size(shape), bit(4));
        let kind = format!("{}{}", if signed { 'i' } else { 'u' }, 8 * size);
        let comparison = match [bit(0), bit(1), bit(2)] {
            [false, true, false] => "==",
            [true, false, true] => "!=",
            [true, false, false] => "<",
            [true, true, false] => "<=",
            [false, false, true] => ">",
            _ => ">=",
        };
        let show = |bits: u64| {
            let unused = 64 - 8 * size as u32;
            let high = bits << unused;
            if signed { (high as i64 >> unused).to_string() } else { (high >> unused).to_string() }
        };
        let value = if bit(5) { show(value) } else { "values of their own".to_owned() };
        let words = match count {
            1 => kind,
            count => format!("{count} {kind}"),
        };
        let now = now.map(|bits| format!(", now {}", show(bits))).unwrap_or_default();
        format!("{words} at {} {comparison} {value}{now}", self.whereabouts())
    }

    fn collective_arguments(&self) -> String {
        let [a, b, c, _] = self.args;
        if self.call == Call::TeamSplit && c > 0 {
            return format!("start {a}, stride {}, size {c}", b as i64);
        }
        let elements = match (a, b) {
            (0, 0) => String::new(),
            (n, 1) => format!("{n} bytes"),
            (1, size) => format!("1 element of {size} bytes"),
            (n, size) => format!("{n} elements of {size} bytes"),
        };
        match (elements.is_empty(), c) {
            (_, 0) => elements,
            (true, root) => format!("from PE {}", root - 1),
            (false, root) => format!("{elements} from PE {}", root - 1),
        }
    }

    /// All of it in one sentence's part.
    pub fn sentence(&self, now: Option<u64>) -> String {
        let mut text = self.name();
        let (place, arguments) = (self.place(), self.arguments(now));
        if !place.is_empty() {
            text += &format!(" {place}");
        }
        match (place.is_empty(), arguments.is_empty()) {
            (_, true) => {}
            (true, false) => text += &format!("({arguments})"),
            (false, false) => text += &format!(" ({arguments})"),
        }
        text
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(None))
    }
}

/// The bytes of the words that are waited for, from what [`Activity::wait`] has made of them.
fn word_size(shape: u64) -> usize {
    match (shape >> 3 & 1, shape >> 6 & 1) {
        (1, _) => 8,
        (_, 1) => 2,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::{Ahead, Awaited};
    use oxshmem_memory::Extent;

    const GE: [bool; 3] = [false, true, true];

    fn wait(call: Call, count: usize, signed: bool, size: usize, value: Option<u64>) -> Activity {
        let words = Extent { segment: SegmentId::Heap, offset: 0x40, len: 8 * count };
        Activity::wait(call, Awaited { words, count, size, signed, accepts: GE, value })
    }

    #[test]
    fn a_wait_says_word_comparison_and_both_values() {
        let u64s = wait(Call::WaitUntil, 1, false, 8, Some(3));
        assert_eq!(u64s.sentence(Some(2)), "wait_until(u64 at heap offset 0x40 >= 3, now 2)");
        assert_eq!(u64s.word(), Some((SegmentId::Heap as u64, 0x40, 8)));
        let i32s = wait(Call::WaitUntil, 1, true, 4, Some(-3i32 as u32 as u64));
        assert_eq!(i32s.sentence(Some(0xffff_fff0)), "wait_until(i32 at heap offset 0x40 >= -3, now -16)");
        let i16s = wait(Call::WaitUntil, 1, true, 2, Some(-3i16 as u16 as u64));
        assert_eq!(i16s.sentence(Some(0xffff)), "wait_until(i16 at heap offset 0x40 >= -3, now -1)");
        assert_eq!(i16s.word(), Some((SegmentId::Heap as u64, 0x40, 2)));
        let many = wait(Call::WaitUntilAllVector, 5, true, 8, None);
        assert_eq!(
            many.to_string(),
            "wait_until_all_vector(5 i64 at heap offset 0x40 >= values of their own)"
        );
        assert_eq!(many.word(), None);
    }

    #[test]
    fn collectives_say_their_number_team_and_arguments() {
        let sync = Activity::collective(Call::Sync, 0, 41);
        assert_eq!(sync.to_string(), "sync #41 on the world team");
        let reduce = Activity::collective(Call::SumReduce, 1, 2).elements(1, 4);
        assert_eq!(reduce.to_string(), "sum_reduce #2 on the shared team (1 element of 4 bytes)");
        let broadcast = Activity::collective(Call::Broadcast, 2, 2).elements(7, 1).root(4);
        assert_eq!(broadcast.to_string(), "broadcast #2 on the team of the GPU space (7 bytes from PE 4)");
        let split = Activity::collective(Call::TeamSplit, 0, 1).split(1, -1, 4);
        assert_eq!(split.to_string(), "team_split #1 on the world team (start 1, stride -1, size 4)");
    }

    #[test]
    fn a_team_that_was_made_has_the_number_of_its_split_its_place_and_its_first_pe() {
        for (first, split, place, shown) in [
            (0, 1, 2, "1.2"),
            (0, 1, 1023, "1.1023"),
            (0, 17, 3, "17.3"),
            (4, 17, 3, "17.3 of PE 4"),
            (1023, (1 << 28) - 1, 5, "268435455.5 of PE 1023"),
            (0, 0, 5, "0.5"),
        ] {
            let team = (first << 28 | split) << 16 | place;
            let sync = Activity::collective(Call::Sync, team, 1);
            assert_eq!(sync.to_string(), format!("sync #1 on team {shown}"));
        }
    }

    #[test]
    fn locks_and_quiets_say_what_they_wait_for() {
        let word = Extent { segment: SegmentId::Heap, offset: 0x40, len: 8 };
        for (ahead, shown) in [
            (Ahead::Unknown, "clear_lock(lock at heap offset 0x40)"),
            (Ahead::ThisPe, "clear_lock(lock at heap offset 0x40, which this PE has)"),
            (Ahead::Pe(0), "clear_lock(lock at heap offset 0x40, behind PE 0)"),
        ] {
            assert_eq!(Activity::lock(Call::ClearLock, word, ahead).to_string(), shown);
        }
        assert_eq!(Activity::outstanding(Call::Quiet, 3).to_string(), "quiet(3 operations under way)");
        assert_eq!(Activity::new(Call::Fence).to_string(), "fence");
    }
}
