//! What messages must do.

use super::*;

impl Suite<'_> {
    pub(super) fn messages_match_by_sender_and_tag(&self, a: &End, b: &End) {
        let long: Vec<u8> = (0..1 << 20).map(|i| (i * 7) as u8).collect();
        // Unexpected at first, and received in another order than they were sent.
        let early: Vec<_> =
            [(1, 1), (1, 2), (2, 3)].map(|(tag, byte)| self.send(a, b.pe, tag, vec![byte; 10])).into();
        for (tag, byte) in [(2, 3), (1, 1), (1, 2)] {
            assert_eq!(self.message("a message", &self.receive(b, a.pe, tag, 10)), [byte; 10]);
        }
        early.iter().for_each(|send| drop(self.succeed("a sent buffer", send)));
        // Expected, and answered in the order of the receives.
        let receives = [5, 6, 5].map(|tag| self.receive(b, a.pe, tag, 100));
        for (tag, byte) in [(6, 1), (5, 2), (5, 3)] {
            self.succeed("a sent buffer", &self.send(a, b.pe, tag, vec![byte; 9]));
        }
        let got = receives.each_ref().map(|receive| self.message("a message", receive));
        assert_eq!(got, [[2; 9], [1; 9], [3; 9]]);
        // Of no length, and long, in both orders; the largest tag.
        let tag = (1 << crate::TAG_BITS) - 1;
        for bytes in [Vec::new(), long] {
            let send = self.send(a, b.pe, tag, bytes.clone());
            assert!(self.message("a message", &self.receive(b, a.pe, tag, bytes.len() + 1)) == bytes);
            self.succeed("a sent buffer", &send);
            let receive = self.receive(b, a.pe, tag, bytes.len());
            let send = self.send(a, b.pe, tag, bytes.clone());
            assert!(self.message("a message", &receive) == bytes);
            self.succeed("a sent buffer", &send);
        }
        // Several of one tag at once, long and short, of which some are received when some of it
        // has come.
        let pattern: Vec<u8> = (0..4 << 20).map(|i: u32| (i * 13) as u8 ^ (i >> 8) as u8).collect();
        for looks in [0, 1, 2, 4, 8, 16, 32] {
            let lens = [3 << 20, 70_000, 10, 3 << 20, 0, 61_441];
            let bytes = |at: usize| pattern[at * 1000 + looks..][..lens[at]].to_vec();
            let expected = looks % lens.len();
            let mut receives: Vec<_> = (0..expected).map(|at| self.receive(b, a.pe, tag, lens[at])).collect();
            let sends = [0, 1, 2, 3, 4, 5].map(|at| self.send(a, b.pe, tag, bytes(at)));
            (0..looks).for_each(|_| (self.job.progress)());
            receives.extend((expected..lens.len()).map(|at| self.receive(b, a.pe, tag, lens[at])));
            for (at, receive) in receives.iter().enumerate() {
                assert!(
                    self.message("one of several messages", receive) == bytes(at),
                    "{at} after {looks} looks"
                );
            }
            sends.iter().for_each(|send| drop(self.succeed("a sent buffer", send)));
        }
        // A message that is too long is an error, whichever side comes first, and spoils nothing
        // that follows.
        for len in [9, 20_000, 100_000] {
            for expected in [false, true] {
                let early = expected.then(|| self.receive(b, a.pe, 7, 8));
                let send = self.send(a, b.pe, 7, vec![1; len]);
                let receive = early.unwrap_or_else(|| self.receive(b, a.pe, 7, 8));
                assert!(self.wait("a truncated message", &receive).0.is_err(), "{len} bytes into 8");
                // Whether the sender gets the error is the net's business.
                drop(self.wait("a sent buffer", &send));
                let send = self.send(a, b.pe, 7, vec![2; 8]);
                assert_eq!(self.message("a message", &self.receive(b, a.pe, 7, 8)), [2; 8]);
                self.succeed("a sent buffer", &send);
            }
        }
    }

    /// Every PE sends to every other with the same tag, from threads of their own.
    pub(super) fn messages_cross_each_other(&self) {
        const ROUNDS: u64 = 200;
        std::thread::scope(|scope| {
            for end in self.job.ends {
                scope.spawn(move || {
                    let others: Vec<_> = self.job.ends.iter().filter(|other| other.pe != end.pe).collect();
                    for round in 0..ROUNDS {
                        let len = if round % 20 == 0 { 20_000 } else { 8 + round as usize };
                        let bytes =
                            |from: &End, to: &End| vec![(from.pe * 16 + to.pe) as u8 ^ round as u8; len];
                        let sends: Vec<_> =
                            others.iter().map(|to| self.send(end, to.pe, 9, bytes(end, to))).collect();
                        for from in &others {
                            let receive = self.receive(end, from.pe, 9, len);
                            assert!(self.message("a message", &receive) == bytes(from, end), "round {round}");
                        }
                        sends.iter().for_each(|send| drop(self.succeed("a sent buffer", send)));
                    }
                });
            }
        });
    }
}
