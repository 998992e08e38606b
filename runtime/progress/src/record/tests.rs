use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use super::{
    form::{HEAD, RECORD, ring_at},
    *,
};
use crate::phase::name_of_words;

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("record-{}-{number}", std::process::id())))
    }

    fn recorder(&self, local_pes: usize) -> Arc<Recorder> {
        let head = Head { pe: 1, n_pes: 3, local_pes, host: "node1" };
        Arc::new(Recorder::create(&self.0, &head).unwrap())
    }

    fn words(&self) -> Vec<u64> {
        let bytes = std::fs::read(self.0.join("pe-1.trace")).unwrap();
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn record(words: &[u64], index: u64) -> Option<Record> {
    let at = (ring_at(3) + (index % words[word::CAPACITY]) as usize * RECORD) / 8;
    Record::of_words(words[at..at + RECORD_WORDS].try_into().unwrap(), index)
}

fn total(words: &[u64], target: usize) -> [u64; 3] {
    words[HEAD / 8 + target * TOTAL_WORDS..][..3].try_into().unwrap()
}

#[test]
fn what_is_recorded_is_in_the_file_at_once_and_what_is_begun_is_completed_in_place() {
    let folder = Folder::new();
    let recorder = folder.recorder(2);
    let begin = recorder.now();
    recorder.operation(Call::Put, 2, 100, 0, begin);
    let pending = Pending::new(&recorder, {
        let word = Extent { segment: oxshmem_memory::SegmentId::Heap, offset: 64, len: 8 };
        recorder.wait_begun(Call::WaitUntil, Some(word))
    });
    recorder.element(0, 8);
    recorder.element(0, 16);
    let words = folder.words();
    assert_eq!((words[word::FORM], words[word::PE], words[word::N_PES]), (form::FORM, 1, 3));
    assert_eq!(words[word::NEXT], 2);
    let put = record(&words, 0).unwrap();
    assert_eq!((put.call, put.target, put.bytes, put.begin), (Call::Put, 2, 100, begin));
    assert!(put.begin <= put.completed && put.initiated == put.completed);
    let wait = record(&words, 1).unwrap();
    assert_eq!((wait.call, wait.target, wait.bytes, wait.completed), (Call::WaitUntil, NO_TARGET, 8, 0));
    assert_eq!((total(&words, 2)[..2].to_vec(), unpacked(total(&words, 0)[2])), (vec![1, 100], (2, 24)));
    assert_eq!(record(&words, 2), None);

    drop(pending);
    recorder.batch();
    recorder.batch();
    recorder.finalize();
    let words = folder.words();
    assert!(record(&words, 1).unwrap().completed >= wait.begin);
    let batch = record(&words, 2).unwrap();
    assert_eq!((batch.call, batch.number, batch.bytes), (Call::SessionBatch, 2, 24));
    assert_eq!((total(&words, 0), words[word::NEXT], words[word::FINALIZED]), ([2, 24, 0], 3, 1));
}

#[test]
fn old_records_are_overwritten_and_totals_stay_exact_with_several_threads() {
    let folder = Folder::new();
    let recorder = folder.recorder(100_000);
    let slot = recorder.wait_begun(Call::Quiet, None);
    let capacity = folder.words()[word::CAPACITY];
    thread::scope(|threads| {
        for target in 0..3 {
            let recorder = &recorder;
            threads.spawn(move || {
                for _ in 0..capacity {
                    recorder.operation(Call::P, target, 8, 0, recorder.now());
                    recorder.element(target, 8);
                }
            });
        }
    });
    recorder.complete(slot);
    recorder.batch();
    let words = folder.words();
    assert_eq!(words[word::NEXT], 3 * capacity + 2);
    for target in 0..3 {
        assert_eq!(total(&words, target), [2 * capacity, 16 * capacity, 0]);
    }
    for index in 2 * capacity + 2..3 * capacity + 1 {
        assert_eq!(record(&words, index).unwrap().call, Call::P);
    }
}

/// The names of phases in a head.
fn names(words: &[u64]) -> Vec<String> {
    let names = words[word::NAMES..HEAD / 8].as_chunks::<NAME_WORDS>().0;
    names.iter().map_while(|name| name_of_words(*name)).collect()
}

/// The phase that a record says, the one before, and whether it goes on.
fn phase(words: &[u64], index: u64) -> Option<(u64, u64, bool)> {
    let record = record(words, index)?;
    (record.call == Call::Phase).then_some((record.number, record.team, record.bytes == 1))
}

#[test]
fn phases_have_their_names_in_the_head_and_a_record_where_they_begin() {
    let folder = Folder::new();
    let recorder = folder.recorder(2);
    let begin = recorder.now();
    let long = "ä".repeat(40);
    for name in ["compute", "exchange", "compute", "", &long, &long[..54]] {
        recorder.phase(name);
    }
    let words = folder.words();
    assert_eq!(names(&words), ["compute", "exchange", &long[..54]]);
    let found: Vec<_> = (0..6).filter_map(|index| phase(&words, index)).collect();
    let expected = [(1, 0), (2, 1), (1, 2), (0, 1), (3, 0), (3, 3)];
    assert_eq!(found, expected.map(|(number, before)| (number, before, false)));
    let first = record(&words, 0).unwrap();
    assert!(first.begin >= begin && first.completed == first.begin && first.target == NO_TARGET);
    assert_eq!([0, 1, 2].map(|target| total(&words, target)), [[0; 3]; 3]);
}

#[test]
fn phases_for_whose_names_there_is_no_room_are_others() {
    let folder = Folder::new();
    let recorder = folder.recorder(2);
    for i in 0..NAMES + 10 {
        recorder.phase(&i.to_string());
    }
    recorder.phase("7");
    let words = folder.words();
    assert_eq!(names(&words), (0..NAMES).map(|i| i.to_string()).collect::<Vec<_>>());
    let others = NAMES as u64 + 1;
    assert_eq!(phase(&words, 47), Some((48, 47, false)));
    assert_eq!(phase(&words, 48), Some((others, 48, false)));
    assert_eq!(phase(&words, 57), Some((others, others, false)));
    assert_eq!(phase(&words, 58), Some((8, others, false)));
}

#[test]
fn a_phase_is_recorded_again_before_its_record_is_overwritten() {
    let folder = Folder::new();
    let recorder = folder.recorder(100_000);
    let capacity = folder.words()[word::CAPACITY];
    assert_eq!(capacity, CALIBRATION, "the smallest ring");
    let work = |records: u64| (0..records).for_each(|_| recorder.operation(Call::P, 0, 8, 0, recorder.now()));
    recorder.phase("compute");
    work(3 * capacity);
    let kept = |words: &[u64]| {
        let next = words[word::NEXT];
        (next - capacity..next).filter_map(|index| phase(words, index)).collect::<Vec<_>>()
    };
    assert_eq!(kept(&folder.words()), [(1, 1, true)]);
    recorder.phase("");
    work(2 * capacity);
    assert_eq!(kept(&folder.words()), []);
    recorder.phase("compute");
    assert_eq!(kept(&folder.words()), [(1, 0, false)]);
}
