//! Reading boards, of whichever process, while their PEs write them.

use std::{
    collections::HashMap,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{Ordering, fence},
    },
    time::Duration,
};

use bytemuck::Zeroable;
use oxshmem_base::{
    printable::printable,
    sync::{Mutex, lock},
};
use oxshmem_memory::{HostMap, SegmentId, Shape};

use super::{
    Activity, Call, Counts, ENTERED, FORM, GLOBALS, Place, SEGMENT_BIT, STATES, call::Family,
    counters::until, now,
};
use crate::{
    control::{BLOCK, BoardSlot, Control, Shown},
    phase::{NAME_WORDS, name_of_words},
};

/// Whether a PE takes part in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has joined, and not left.
    Joined = 1,
    /// It has called `finalize`.
    Finalized = 2,
}

/// An entry of a board.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// What is waited for.
    pub activity: Activity,
    /// For how long.
    pub age: Duration,
    /// Slot and state, which no other entry of this board will ever have.
    pub id: (usize, u64),
}

impl Seen {
    /// Where it is on its board.
    pub fn place(&self) -> Place {
        Place(self.id.0 as u8)
    }
}

/// The board of a PE, as it was seen.
#[derive(Clone, Debug)]
pub struct PeBoard {
    /// Whose it is.
    pub pe: usize,
    /// Its process.
    pub pid: u32,
    /// Whether that PE takes part.
    pub standing: Standing,
    /// The phase of the program that it is in, in characters that may be printed; empty if it is in
    /// none.
    pub phase: String,
    /// What it waits for, the oldest first. Nothing once it has left.
    pub seen: Vec<Seen>,
    /// How many more operations wait, which found no slot.
    pub more: u64,
    /// What the PE has done, as far as that was counted.
    pub counts: Counts,
}

/// The boards of the PEs of one host, as any process reads them that has the descriptors of their
/// memory.
///
/// Reading is by `pread`, so that `oshrun` needs no mapping, and no trust in what PEs write.
#[derive(Debug)]
pub struct Boards {
    control: Memory,
    /// Where it is known: without it no values of words are.
    heap: Option<Memory>,
    /// Whose each local PE is, as far as that has been looked up: with a thousand PEs on the host a
    /// look at every one for each of them takes seconds.
    owners: Mutex<HashMap<usize, usize>>,
}

impl Boards {
    /// From what a host's leader offers to the other PEs; `None` if that is something else.
    pub fn from_offer(descriptors: &[OwnedFd]) -> Option<Self> {
        let [control, control_shape, heap, heap_shape, more @ ..] = descriptors else { return None };
        Some(Self {
            control: Memory::open(control, control_shape, &[])?,
            heap: Some(Memory::open(heap, heap_shape, more)?),
            owners: Mutex::default(),
        })
    }

    /// The boards of the PEs of a host, whose memory this process has mapped.
    pub fn of(control: &Control, heap: &Arc<HostMap>) -> Self {
        Self { heap: Some(Memory::mapped(heap)), ..Self::here(control) }
    }

    /// [`of`](Self::of), without what words have for values.
    pub(super) fn here(control: &Control) -> Self {
        Self { control: Memory::mapped(control.map()), heap: None, owners: Mutex::default() }
    }

    /// Those in the file `control`, which another process has open under the name
    /// [`Control::NAME`]; `None` if it cannot be such memory.
    pub fn in_file(control: OwnedFd) -> Option<Self> {
        let len = usize::try_from(rustix::fs::fstat(&control).ok()?.st_size).ok()?;
        let shape = Shape { local_pes: len / BLOCK, stride: BLOCK, parts: Vec::new() };
        let is_whole = len > 0 && len.is_multiple_of(BLOCK);
        let control = Memory { shape, descriptors: Descriptors::Open(control, Vec::new()) };
        is_whole.then(|| Self { control, heap: None, owners: Mutex::default() })
    }

    /// For how many PEs there is room.
    pub fn local_pes(&self) -> usize {
        self.control.shape.local_pes
    }

    /// Has the PEs that have joined count what they do for so long from now on. It writes half a
    /// word to the control block of each.
    pub fn watch_for(&self, time: Duration) {
        let until = until(time);
        for local_pe in 0..self.local_pes() {
            // A PE that counts for itself, or for another looker, goes on for as long as it would.
            if self.joined(local_pe).is_some_and(|shown| shown.observed >> 32 < until.into()) {
                let at = (local_pe * BLOCK + Control::WATCHED_UNTIL) as u64;
                // Where it cannot be written, nothing is counted.
                let _ = rustix::io::pwrite(self.control.descriptors().0, &until.to_ne_bytes(), at);
            }
        }
    }

    /// All of them that there are.
    pub fn read(&self) -> Vec<PeBoard> {
        (0..self.control.shape.local_pes).filter_map(|local_pe| self.read_one(local_pe)).collect()
    }

    /// The present bits of the one word that PE `pe` waits for, where it waits for one.
    pub fn value(&self, pe: usize, activity: &Activity) -> Option<u64> {
        let (segment, offset, size) = activity.word()?;
        let local_pe = self.local_pe_of(pe)?;
        let offset = match segment {
            HEAP => offset,
            GLOBALS => self.shown(local_pe)?.globals_at.checked_add(offset)?,
            _ => return None,
        };
        let mut bytes = [0; 8];
        self.heap.as_ref()?.read(local_pe, usize::try_from(offset).ok()?, &mut bytes[..size])?;
        let [a, b, c, d, ..] = bytes;
        Some(match size {
            8 => u64::from_ne_bytes(bytes),
            4 => u32::from_ne_bytes([a, b, c, d]).into(),
            _ => u16::from_ne_bytes([a, b]).into(),
        })
    }

    /// Where PE `pe` is, once it has joined.
    fn local_pe_of(&self, pe: usize) -> Option<usize> {
        let mut owners = lock(&self.owners);
        if !owners.contains_key(&pe) {
            // Those that have joined stay where they are.
            let local_pes = 0..self.control.shape.local_pes;
            *owners = local_pes.filter_map(|local_pe| Some((self.owner(local_pe)?, local_pe))).collect();
        }
        owners.get(&pe).copied()
    }

    /// The PE of the job that a local PE is, once that has joined.
    fn owner(&self, local_pe: usize) -> Option<usize> {
        Some(self.joined(local_pe)?.pe as u32 as usize)
    }

    /// What a local PE shows, once it has joined.
    fn joined(&self, local_pe: usize) -> Option<Shown<u64>> {
        self.shown(local_pe).filter(|shown| shown.form == FORM)
    }

    fn shown(&self, local_pe: usize) -> Option<Shown<u64>> {
        let mut shown = Shown::zeroed();
        self.control.read(local_pe, Control::SHOWN, bytemuck::bytes_of_mut(&mut shown))?;
        Some(shown)
    }

    /// The board of a local PE. What changes meanwhile is left out.
    pub(crate) fn read_one(&self, local_pe: usize) -> Option<PeBoard> {
        let before = self.shown(local_pe)?;
        // With the writer's release: what we copy next belongs to the states just copied, or to
        // later ones. And the states copied last are no older than the words.
        fence(Ordering::Acquire);
        let shown = self.joined(local_pe)?;
        fence(Ordering::Acquire);
        let after = self.shown(local_pe)?;
        let mut board = PeBoard {
            pe: shown.pe as u32 as usize,
            pid: (shown.pe >> 32) as u32,
            standing: Standing::Finalized,
            phase: String::new(),
            seen: Vec::new(),
            more: 0,
            counts: Counts(shown.counts),
        };
        if shown.standing == Standing::Joined as u64 {
            (board.standing, board.more) = (Standing::Joined, shown.more);
            let changes = before.phase_changes;
            if changes.is_multiple_of(2) && after.phase_changes == changes {
                board.phase = printable_name(shown.phase);
            }
            let (now, states) = (now(), before.slots.iter().zip(&after.slots));
            board.seen.extend(shown.slots.iter().zip(states).enumerate().filter_map(
                |(at, (&BoardSlot { call, since, team, number, args, .. }, (before, after)))| {
                    let whole = before.state % STATES == ENTERED && after.state == before.state;
                    let call = Call::from_code(call).filter(|_| whole)?;
                    let activity = Activity { call, team, number, args }.apart_from(shown.globals_at);
                    let age = Duration::from_nanos(now.saturating_sub(since));
                    Some(Seen { activity, age, id: (at, before.state) })
                },
            ));
            board.seen.sort_by_key(|seen| std::cmp::Reverse(seen.age));
        }
        Some(board)
    }
}

/// The name of a phase, from words of another process. Empty if there is none.
pub(super) fn printable_name(words: [u64; NAME_WORDS]) -> String {
    name_of_words(words).map_or(String::new(), |name| printable(&name).into_owned())
}

/// The segment of the heap, behind which the globals are.
const HEAP: u64 = SegmentId::Heap as u64;

impl Activity {
    /// This activity as people read it: what is in the globals is at a place there, and not in the
    /// heap.
    fn apart_from(mut self, globals_at: u64) -> Self {
        let [offset, _, shape, _] = &mut self.args;
        let has_place = matches!(self.call.family(), Family::Wait | Family::Lock);
        if has_place && *shape >> SEGMENT_BIT == HEAP && *offset >= globals_at {
            *offset -= globals_at;
            *shape ^= (HEAP | GLOBALS) << SEGMENT_BIT;
        }
        self
    }
}

/// Shared memory of a host's PEs, a block for each.
#[derive(Debug)]
struct Memory {
    shape: Shape,
    descriptors: Descriptors,
}

/// What memory is read by: that of all blocks, and that of the parts that have their own.
#[derive(Debug)]
enum Descriptors {
    /// The map's, of memory that is mapped here.
    Mapped(Arc<HostMap>),
    /// Its own.
    Open(OwnedFd, Vec<OwnedFd>),
}

impl Memory {
    fn mapped(map: &Arc<HostMap>) -> Self {
        Self { shape: map.shape(), descriptors: Descriptors::Mapped(Arc::clone(map)) }
    }

    fn open(memory: &OwnedFd, shape: &OwnedFd, more: &[OwnedFd]) -> Option<Self> {
        let shape = Shape::read(shape.as_fd()).ok()?;
        let own = more.get(..shape.own_memories())?;
        let own = own.iter().map(|it| it.try_clone().ok()).collect::<Option<_>>()?;
        Some(Self { descriptors: Descriptors::Open(memory.try_clone().ok()?, own), shape })
    }

    fn descriptors(&self) -> (BorrowedFd<'_>, &[OwnedFd]) {
        match &self.descriptors {
            // SAFETY: all that is written by them is the half of a word that is a looker's.
            Descriptors::Mapped(map) => unsafe { (map.descriptor(), map.own_descriptors()) },
            Descriptors::Open(all, own) => (all.as_fd(), own),
        }
    }

    fn read(&self, local_pe: usize, offset: usize, bytes: &mut [u8]) -> Option<()> {
        let Shape { local_pes, stride, ref parts } = self.shape;
        let len = bytes.len();
        let end = offset.checked_add(len)?;
        if local_pe >= local_pes || end > stride {
            return None;
        }
        let (all, own) = self.descriptors();
        let own = parts.iter().filter(|part| part.own).zip(own);
        let within = own.into_iter().find(|(part, _)| (part.start..part.start + part.len).contains(&offset));
        let (fd, at) = match within {
            Some((part, fd)) => {
                (fd.as_fd(), local_pe.checked_mul(part.len)?.checked_add(offset - part.start)?)
            }
            None => (all, local_pe.checked_mul(stride)?.checked_add(offset)?),
        };
        (rustix::io::pread(fd, bytes, at as u64) == Ok(len)).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::fabric::Fabric;
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use super::{super::*, *};
    use crate::phase::NAME_BYTES;

    fn control(n: usize) -> Arc<Control> {
        // SAFETY: the map is new, and used for nothing else.
        unsafe { Arc::new(Control::new(Arc::new(Control::new_map(n).unwrap()))) }
    }

    #[test]
    fn entries_come_and_go_and_those_without_a_slot_are_counted() {
        let control = control(2);
        let boards = Boards::here(&control);
        let board = Board::new(Arc::clone(&control), 1, 1, None, None);
        assert!(boards.read_one(0).is_none(), "PE 0 has not joined");
        let entries: Vec<_> =
            (1..=SLOTS as u64 + 2).map(|n| board.enter(&Activity::collective(Call::Sync, 0, n))).collect();
        let read = boards.read_one(1).unwrap();
        assert_eq!((read.pe, read.seen.len(), read.more), (1, SLOTS, 2));
        drop(entries);
        let read = boards.read_one(1).unwrap();
        assert_eq!((read.seen.len(), read.more, read.standing), (0, 0, Standing::Joined));
        let place = board.put(&Activity::new(Call::Quiet));
        board.leave();
        assert!(board.seen().is_empty(), "who has left waits for nothing");
        board.take(place);
        board.take(Place::NONE);
    }

    #[test]
    fn a_phase_is_seen_until_the_next_one_and_ends_with_the_pes_part_in_the_job() {
        let control = control(1);
        let boards = Boards::here(&control);
        let phase = || boards.read_one(0).unwrap().phase;
        let board = Board::new(Arc::clone(&control), 0, 0, None, None);
        assert_eq!(phase(), "");
        let long = "ä".repeat(40);
        for (name, seen) in
            [("compute", "compute"), (&long, &long[..54]), ("", ""), ("a\x1b[2J", r"a\u{1b}[2J")]
        {
            board.phase(name);
            assert_eq!(phase(), seen);
        }
        board.leave();
        assert_eq!(phase(), "");
        board.phase("too late");
        assert_eq!(phase(), "", "it has left");
        let again = Board::new(Arc::clone(&control), 0, 0, None, None);
        assert_eq!(phase(), "", "init was called again");
        again.phase("compute");
        assert_eq!(phase(), "compute");
        // What another process has written there is no name.
        control.page(0).shown.phase.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        assert_eq!(phase(), "\u{fffd}".repeat(NAME_BYTES));
        control.page(0).shown.phase_changes.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(phase(), "", "it changes");
    }

    #[test]
    fn a_phase_that_changes_while_it_is_read_is_never_seen_in_parts() {
        let control = control(1);
        let board = Board::new(Arc::clone(&control), 0, 0, None, None);
        let over = AtomicBool::new(false);
        let name = |letter: &str| letter.repeat(NAME_BYTES);
        let names = ["a", "b", "c"].map(name);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        names.iter().for_each(|name| board.phase(name));
                    }
                });
            }
            let boards = Boards::here(&control);
            for _ in 0..20_000 {
                let phase = boards.read_one(0).unwrap().phase;
                assert!(phase.is_empty() || names.contains(&phase), "{phase}");
            }
            over.store(true, Ordering::Relaxed);
        });
        assert!(names.contains(&Boards::here(&control).read_one(0).unwrap().phase));
    }

    #[test]
    fn an_entry_that_changes_while_it_is_read_is_never_seen_in_parts() {
        let control = control(1);
        let board = Board::new(Arc::clone(&control), 0, 0, None, None);
        let over = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..2u64)
            .map(|writer| {
                let (board, over) = (board.clone(), Arc::clone(&over));
                std::thread::spawn(move || {
                    let mut n = writer;
                    while !over.load(Ordering::Relaxed) {
                        n += 2;
                        let mut activity = Activity::collective(Call::Sync, n, n);
                        activity.args = [n; 4];
                        drop(board.enter(&activity));
                    }
                })
            })
            .collect();
        let mut whole = 0;
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        for _ in 0..200_000 {
            for Seen { activity, .. } in board.seen() {
                assert_eq!((activity.team, activity.args), (activity.number, [activity.number; 4]));
                whole += 1;
            }
            if std::time::Instant::now() > deadline {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert!(whole > 0, "some entries are seen");
        assert!(board.seen().is_empty());
    }

    #[test]
    fn another_process_reads_the_same_by_descriptor_and_refuses_what_is_no_board() {
        use oxshmem_job::Shared;
        let fabric = Fabric::new(2, 1 << 16, true).unwrap();
        let board = Board::new(Arc::clone(&fabric.control), 1, 1, None, None);
        // SAFETY: boards are only read by them.
        let offer = unsafe { fabric.to_descriptors() }.unwrap();
        let boards = Boards::from_offer(&offer).unwrap();
        let words = oxshmem_memory::Extent { segment: oxshmem_memory::SegmentId::Heap, offset: 64, len: 4 };
        let accepts = [false, false, true];
        let awaited = Awaited { words, count: 1, size: 4, signed: true, accepts, value: Some(3) };
        let _entry = board.enter(&Activity::wait(Call::WaitUntil, awaited));
        // SAFETY: the word is inside PE 1's block of the heap.
        unsafe { oxshmem_memory::copy::store(fabric.heap.base().add((1 << 16) + 64).cast(), -7i32) };
        let [pe] = &boards.read()[..] else { panic!("one PE has joined") };
        let value = boards.value(1, &pe.seen[0].activity);
        assert_eq!(pe.seen[0].activity.sentence(value), "wait_until(i32 at heap offset 0x40 > 3, now -7)");
        assert!(Boards::from_offer(&offer[..3]).is_none());
        // Where a part has memory of its own, the word is there.
        let own = oxshmem_base::memfd::zeroed("own", 2 << 12).unwrap();
        rustix::io::pwrite(&own, &5i32.to_ne_bytes(), (1 << 12) + 64).unwrap();
        let mut shape = fabric.heap.shape();
        let spread = oxshmem_memory::Spread::System;
        shape.parts.push(oxshmem_memory::Part { start: 0, len: 1 << 12, own: true, spread, nodes: vec![] });
        let mut offer = offer;
        (offer[3], _) = (shape.write().unwrap(), offer.insert(4, own));
        let boards = Boards::from_offer(&offer).unwrap();
        assert_eq!(boards.value(1, &pe.seen[0].activity).map(|bits| bits as u32), Some(5));
        assert!(Boards::from_offer(&offer[..4]).is_none(), "its memory is missing");
        let mut outside = pe.seen[0].activity;
        outside.args[0] = u64::MAX - 2;
        assert_eq!(boards.value(1, &outside), None);
        assert_eq!(boards.value(2, &pe.seen[0].activity), None);
    }

    #[test]
    fn a_looker_that_has_the_control_memory_alone_reads_boards_and_has_pes_count() {
        let fabric = Fabric::new(2, 1 << 16, true).unwrap();
        let board = Board::new(Arc::clone(&fabric.control), 1, 5, None, None);
        // SAFETY: boards are only read by it, and the word of lookers written.
        let memory = unsafe { fabric.control.map().descriptor() }.try_clone_to_owned().unwrap();
        let boards = Boards::in_file(memory).unwrap();
        assert!(!board.is_watched(), "nothing looks yet");
        boards.watch_for(Duration::from_secs(60));
        assert!(board.is_watched());
        board.operation(Kind::Put, 8, Some(0));
        drop(board.enter(&Activity::new(Call::Quiet)));
        let [pe] = &boards.read()[..] else { panic!("one PE has joined") };
        assert_eq!((pe.pe, pe.counts.operations(), pe.counts.of(Count::Waits)), (5, 1, 1));
        assert_eq!((boards.local_pes(), boards.read().len()), (2, 1));
        let other = oxshmem_base::memfd::zeroed("other", 1 << 12).unwrap();
        assert!(Boards::in_file(other).is_none());
    }

    #[test]
    fn what_is_in_the_globals_of_the_executable_is_shown_there() {
        use oxshmem_job::Shared;
        use oxshmem_memory::{Extent, SegmentId};
        const GLOBALS_AT: usize = 4096;
        let fabric = Fabric::new(2, 1 << 16, true).unwrap();
        let board = Board::new(Arc::clone(&fabric.control), 1, 1, Some(GLOBALS_AT), None);
        // SAFETY: boards are only read by them.
        let offer = unsafe { fabric.to_descriptors() }.unwrap();
        let boards = Boards::from_offer(&offer).unwrap();
        let seen = |activity: Activity| {
            let _entry = board.enter(&activity);
            let seen = board.seen()[0].activity;
            seen.sentence(boards.value(1, &seen))
        };
        let wait = |segment, offset| {
            let (words, accepts) = (Extent { segment, offset, len: 4 }, [false, false, true]);
            let awaited = Awaited { words, count: 1, size: 4, signed: true, accepts, value: Some(3) };
            seen(Activity::wait(Call::WaitUntil, awaited))
        };
        // SAFETY: the word is inside PE 1's block of the heap.
        unsafe {
            oxshmem_memory::copy::store(fabric.heap.base().add((1 << 16) + GLOBALS_AT + 64).cast(), -7i32)
        };
        let (heap, device) = (SegmentId::Heap, SegmentId::Gpu);
        assert_eq!(wait(heap, GLOBALS_AT + 64), "wait_until(i32 at globals offset 0x40 > 3, now -7)");
        assert_eq!(wait(heap, GLOBALS_AT - 64), "wait_until(i32 at heap offset 0xfc0 > 3, now 0)");
        assert_eq!(wait(device, GLOBALS_AT + 64), "wait_until(i32 at device offset 0x1040 > 3)");
        let lock = Activity::lock(
            Call::SetLock,
            Extent { segment: heap, offset: GLOBALS_AT, len: 8 },
            Ahead::ThisPe,
        );
        assert_eq!(seen(lock), "set_lock(lock at globals offset 0x0, which this PE has)");
        // A PE without globals has all of it in the heap.
        let none = Board::new(Arc::clone(&fabric.control), 0, 0, None, None);
        let _entry = none.enter(&lock);
        assert_eq!(
            none.seen()[0].activity.to_string(),
            "set_lock(lock at heap offset 0x1000, which this PE has)"
        );
    }
}
