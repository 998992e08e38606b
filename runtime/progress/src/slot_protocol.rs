//! The protocol of the slots of teams, on its own, for loom: every order of every access that the
//! memory model allows.
//!
//! Here, because this is the room that is built for loom. It is what `exchange` and `stream` in
//! `oxshmem-teams` do: payloads are stored relaxed, numbers with release, and a PE reads a payload
//! after it has seen the number with acquire.

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// One PE's slots for messages of another: a number and a payload each.
struct Slots(Vec<[AtomicU64; 2]>);

impl Slots {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect())
    }

    fn send(&self, number: u64, payload: u64) {
        let [word, value] = &self.0[number as usize % self.0.len()];
        value.store(payload, Ordering::Relaxed);
        word.store(number, Ordering::Release);
    }

    fn receive(&self, number: u64) -> u64 {
        let [word, value] = &self.0[number as usize % self.0.len()];
        while word.load(Ordering::Acquire) < number {
            thread::yield_now();
        }
        value.load(Ordering::Relaxed)
    }
}

fn payload(number: u64, pe: u64) -> u64 {
    number * 10 + pe
}

/// Exchanges through two sets of slots, one after the other, without anything else between them.
#[test]
fn loom_two_sets_of_slots_suffice_for_exchanges() {
    loom::model(|| {
        let pes = Arc::new([Slots::new(2), Slots::new(2)]);
        let run = |me: u64, pes: Arc<[Slots; 2]>| {
            let other = 1 - me;
            for number in 1..=3 {
                pes[other as usize].send(number, payload(number, me));
                assert_eq!(pes[me as usize].receive(number), payload(number, other));
            }
        };
        let theirs = Arc::clone(&pes);
        let peer = thread::spawn(move || run(1, theirs));
        run(0, pes);
        peer.join().unwrap();
    });
}

/// With one set a PE that is ahead overwrites what the other has not read: the model finds that.
#[test]
#[should_panic(expected = "left")]
fn loom_one_set_would_not() {
    loom::model(|| {
        let pes = Arc::new([Slots::new(1), Slots::new(1)]);
        let run = |me: u64, pes: Arc<[Slots; 2]>| {
            let other = 1 - me;
            for number in 1..=2 {
                pes[other as usize].send(number, payload(number, me));
                assert_eq!(pes[me as usize].receive(number), payload(number, other), "left");
            }
        };
        let theirs = Arc::clone(&pes);
        let peer = thread::spawn(move || run(1, theirs));
        run(0, pes);
        peer.join().unwrap();
    });
}

/// A stream with a window of two, and a sync before the third message may be sent.
#[test]
fn loom_a_root_may_be_ahead_by_the_window() {
    loom::model(|| {
        let (stream, there, back) =
            (Arc::new(Slots::new(2)), Arc::new(Slots::new(2)), Arc::new(Slots::new(2)));
        let child = {
            let (stream, there, back) = (Arc::clone(&stream), Arc::clone(&there), Arc::clone(&back));
            thread::spawn(move || {
                for number in 1..=2 {
                    assert_eq!(stream.receive(number), payload(number, 0));
                }
                back.send(1, 0);
                there.receive(1);
                assert_eq!(stream.receive(3), payload(3, 0));
            })
        };
        stream.send(1, payload(1, 0));
        stream.send(2, payload(2, 0));
        there.send(1, 0);
        back.receive(1);
        stream.send(3, payload(3, 0));
        child.join().unwrap();
    });
}
