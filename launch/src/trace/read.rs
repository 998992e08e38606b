//! The file of one PE's recording, as [`form`](oxshmem_progress::record::form) has it.
//!
//! Another process has written it, and may have been killed while it did, so nothing in it is
//! believed that would make this one panic or ask for more memory than the file has bytes.

use oxshmem_progress::{
    phase::{NAME_WORDS, name_of_words},
    record::form::{
        FORM, HEAD, NAMES, Pair, RECORD, RECORD_WORDS, Record, TOTAL_WORDS, ring_at, unpacked, word,
    },
};

use super::model::Traffic;

/// What one PE has recorded. Times are in its own ticks.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    pub(super) pe: usize,
    pub(super) n_pes: usize,
    pub(super) pid: u32,
    pub(super) host: String,
    pub(super) program: String,
    pub(super) first: Pair,
    pub(super) last: Pair,
    pub(super) finalized: bool,
    pub(super) lost: u64,
    pub(super) traffic: Vec<Traffic>,
    /// The names of phases, of which records have the place.
    pub(super) phases: Vec<String>,
    /// In the order in which they were begun to be written.
    pub(super) records: Vec<Record>,
}

/// More PEs than any job has.
const MOST_PES: u64 = 1 << 24;

impl Recording {
    /// What is in a file that has these bytes.
    ///
    /// # Errors
    /// What is wrong with it, in a few words.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (words, _) = bytes.as_chunks::<8>();
        let at = |at: usize| words.get(at).map_or(0, |word| u64::from_ne_bytes(*word));
        if bytes.len() < HEAD {
            return Err(format!("it has {} bytes, and its head alone would have {HEAD}", bytes.len()));
        }
        match at(word::FORM) {
            FORM => {}
            form if form >> 8 == FORM >> 8 => {
                return Err("another version of the library has written it".to_owned());
            }
            _ => return Err("it is no recording".to_owned()),
        }
        let (pe, n_pes, capacity, next) = (at(word::PE), at(word::N_PES), at(word::CAPACITY), at(word::NEXT));
        if n_pes == 0 || n_pes > MOST_PES || pe >= n_pes {
            return Err(format!("it says that it is of PE {pe} of {n_pes}"));
        }
        let (pe, n_pes) = (pe as usize, n_pes as usize);
        let ring = ring_at(n_pes);
        let room = bytes.len().saturating_sub(ring) / RECORD;
        if at(word::RING) != ring as u64 || !capacity.is_power_of_two() || capacity > room as u64 {
            return Err(format!(
                "its {} bytes do not hold {capacity} records of one of {n_pes} PEs",
                bytes.len()
            ));
        }
        let pair = |from: usize| Pair { ticks: at(from), monotonic: at(from + 1), of_day: at(from + 2) };
        let text = |from: usize, room: usize| {
            let text = &bytes[from * 8..from * 8 + room];
            let end = text.iter().position(|&byte| byte == 0).unwrap_or(room);
            String::from_utf8_lossy(&text[..end]).into_owned()
        };
        let traffic = (0..n_pes).filter_map(|pe| {
            let total = HEAD / 8 + pe * TOTAL_WORDS;
            let (operations, bytes) = unpacked(at(total + 2));
            let operations = operations.saturating_add(at(total));
            let bytes = bytes.saturating_add(at(total + 1));
            (operations > 0).then_some(Traffic { pe, operations, bytes })
        });
        let name =
            |place: usize| name_of_words(std::array::from_fn(|i| at(word::NAMES + place * NAME_WORDS + i)));
        let lost = next.saturating_sub(capacity);
        let records = (lost..next).filter_map(|index| {
            let place = ring / 8 + (index % capacity) as usize * RECORD_WORDS;
            let mut record = [0; RECORD_WORDS];
            (0..RECORD_WORDS).for_each(|i| record[i] = at(place + i));
            Record::of_words(record, index)
        });
        Ok(Self {
            pe,
            n_pes,
            pid: at(word::PID) as u32,
            host: text(word::HOST, word::HOST_BYTES),
            program: text(word::PROGRAM, word::PROGRAM_BYTES),
            first: pair(word::FIRST),
            last: pair(word::LAST),
            finalized: at(word::FINALIZED) == 1,
            lost,
            traffic: traffic.collect(),
            phases: (0..NAMES).map_while(name).collect(),
            records: records.collect(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use oxshmem_progress::{
        activity::{Activity, Call},
        record::{Head, Recorder},
    };

    use super::*;

    /// What a real PE of three would have written on `host`: `work` records it.
    pub(in crate::trace) fn written(pe: usize, host: &str, work: impl FnOnce(&Recorder)) -> Vec<u8> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("trace-read-{}-{number}", std::process::id()));
        let head = Head { pe, n_pes: 3, local_pes: 10_000, host };
        work(&Recorder::create(&dir, &head).unwrap());
        let bytes = std::fs::read(dir.join(format!("pe-{pe}.trace"))).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        bytes
    }

    fn sample() -> Vec<u8> {
        written(1, "node1", |recorder| {
            let begin = recorder.now();
            recorder.operation(Call::PutSignal, 2, 100, 1 << 63 | 64, begin);
            recorder.element(0, 8);
            recorder.phase("compute");
            let wait = recorder.wait_begun(Call::Quiet, None);
            recorder.complete(wait);
            recorder.phase("exchange");
            recorder.collective_begun(&Activity::collective(Call::Barrier, 0, 3), recorder.now());
        })
    }

    #[test]
    fn what_was_written_is_read() {
        let read = Recording::parse(&sample()).unwrap();
        assert_eq!((read.pe, read.n_pes, read.host.as_str(), read.finalized), (1, 3, "node1", false));
        assert!(!read.program.is_empty() && read.first.ticks > 0);
        let calls: Vec<_> = read.records.iter().map(|record| record.call).collect();
        assert_eq!(calls, [Call::PutSignal, Call::Phase, Call::Quiet, Call::Phase, Call::Barrier]);
        assert_eq!(read.phases, ["compute", "exchange"]);
        let traffic = |pe, operations, bytes| Traffic { pe, operations, bytes };
        assert_eq!(read.traffic, [traffic(0, 1, 8), traffic(2, 1, 100)]);
    }

    #[test]
    fn a_file_that_is_none_or_cut_is_refused_with_what_is_wrong() {
        let good = sample();
        let refused = |bytes: &[u8]| Recording::parse(bytes).unwrap_err();
        assert!(refused(&good[..100]).contains("100 bytes"));
        assert!(refused(&[0; 8192]).contains("no recording"));
        assert!(refused(&good[..good.len() - 1]).contains("do not hold"));
        let mut newer = good.clone();
        newer[0] ^= 0x70;
        assert!(refused(&newer).contains("another version"));
    }

    #[test]
    fn recordings_are_read_or_refused_whatever_is_sent() {
        oxshmem_base::fuzz::mutated(&[sample()], |bytes| {
            if let Ok(read) = Recording::parse(bytes) {
                assert!(read.records.len() * RECORD <= bytes.len() && read.pe < read.n_pes);
                let trace = crate::trace::merge::merged(vec![read]);
                let phases = trace.pes.iter().flat_map(|pe| &pe.phases);
                assert!(phases.filter_map(|(_, name)| *name).all(|name| name < trace.phases.len()));
                crate::trace::chrome::write(&trace, &mut std::io::sink()).unwrap();
            }
        });
    }
}
