//! What puts, gets, atomic operations, batches and flushes must do.

use super::*;

impl Suite<'_> {
    pub(super) fn bytes_arrive_and_come_back(&self, a: &End, b: &End) {
        const BASE: usize = 4096;
        for len in [0, 1, 3, 8, 17, 64, 1000, 4096, 8192, 8193, 60_000, 61_441, 1 << 20, 5 << 19] {
            for offset in [0, 1, 7, 64] {
                for eager in [false, true] {
                    if len > 1 << 20 && (eager || offset != 1) {
                        continue;
                    }
                    let sent: Vec<u8> =
                        (0..len).map(|i| (i * 31 + offset + usize::from(eager)) as u8).collect();
                    let to = b.spot(BASE + offset);
                    b.fill(BASE + offset - 1, len + 2, 0xee);
                    if eager {
                        let mut reused = sent.clone();
                        succeeds("an eager put", put(&*a.net, to, &reused));
                        reused.fill(0xdd);
                    } else {
                        let put = self.put(a, to, sent.clone());
                        let (_, mut reused) = self.succeed("a put's buffer", &put);
                        reused.fill(0xdd);
                    }
                    self.flush(a, b.pe);
                    let what = format!("{len} bytes at {offset}, eager: {eager}");
                    assert!(b.load(BASE + offset, len) == sent, "{what}");
                    assert_eq!(b.load(BASE + offset - 1, 1), [0xee], "before {what}");
                    assert_eq!(b.load(BASE + offset + len, 1), [0xee], "behind {what}");
                    let (_, back) = self.succeed("a get", &self.get(a, to, len));
                    assert!(back == sent, "{what}, back");
                }
            }
        }
    }

    pub(super) fn a_read_sees_what_its_pe_has_written_before(&self, a: &End, b: &End) {
        const BASE: usize = 8192;
        for round in 0..20_u8 {
            let longest = if round % 5 == 0 { 5 << 19 } else { 1 << 20 };
            for len in [8, 5000, 40_000, 70_000, longest] {
                let to = b.spot(BASE + 8 * usize::from(round % 2));
                b.fill(BASE, len + 8, 0xee);
                let put = if round % 3 == 0 {
                    let mut batch = Batch::with_capacity(len + 64);
                    // SAFETY: the vector is readable.
                    unsafe { batch.add(&Op::put(to, vec![round; len].as_ptr(), len)) };
                    succeeds("a batch", a.net.apply(b.pe, batch));
                    None
                } else {
                    Some(self.put(a, to, vec![round; len]))
                };
                let got = self.get(a, to, len);
                let last = Spot { offset: to.offset + len - 8, ..to };
                let word = self.fetch(a, last, Width::Eight, Atomic::Swap(u64::MAX));
                let (_, got) = self.succeed("a get behind a put", &got);
                let what = format!("{len} bytes in round {round}");
                // The swap may come before the get.
                assert!(got[..len - 8].iter().all(|&byte| byte == round), "{what}");
                assert_eq!(word, u64::from_ne_bytes([round; 8]), "{what}");
                if let Some(put) = put {
                    self.succeed("a put's buffer", &put);
                }
                self.flush(a, b.pe);
            }
        }
    }

    pub(super) fn a_signal_comes_after_the_bytes_before_it(&self, a: &End, b: &End) {
        const BASE: usize = 8192;
        let at = b.spot(256);
        b.cpu(at.offset, Atomic::Set(0_u64));
        let mut sum = 0;
        for round in 1..=30_u64 {
            let longest = if round % 10 == 0 { 5 << 19 } else { 1 << 20 };
            for len in [0, 100, 40_000, 70_000, longest] {
                let bytes = vec![round as u8; len];
                let from = bytes.as_ptr();
                let (awaited, done) = self.awaited(bytes);
                let update = if round % 2 == 0 { Signal::Set(sum + round) } else { Signal::Add(round) };
                let put = Op::put(b.spot(BASE), from, len).then(at, update);
                // SAFETY: `done` keeps the bytes until it runs.
                unsafe { start(&a.net, put, done) };
                sum += round;
                self.until("a signal", || b.cpu::<u64>(at.offset, Atomic::Fetch) == sum);
                assert!(
                    b.load(BASE, len).iter().all(|&byte| byte == round as u8),
                    "{len} bytes, round {round}"
                );
                self.succeed("a put's buffer", &awaited);
                self.flush(a, b.pe);
            }
        }
    }

    pub(super) fn updates_change_what_is_there(&self, a: &End, b: &End) {
        let at = b.spot(256);
        for width in [Width::Four, Width::Eight] {
            let ones = if width == Width::Four { u64::from(u32::MAX) } else { u64::MAX };
            b.cpu(256, Atomic::Set(0x7777_7777_0000_0000_u64));
            let steps = [
                (Atomic::Set(ones), ones),
                (Atomic::Add(4), 3),
                (Atomic::Or(0b1000), 0b1011),
                (Atomic::And(0b1110), 0b1010),
                (Atomic::Xor(0b1111), 0b0101),
            ];
            for (operation, after) in steps {
                succeeds("an update", update(&*a.net, at, operation, width));
                self.flush(a, b.pe);
                assert_eq!(self.fetch(a, at, width, Atomic::Fetch), after, "{operation:?} of {width:?}");
            }
            if width == Width::Four {
                let neighbour = b.cpu::<u64>(256, Atomic::Fetch) >> 32;
                assert_eq!(neighbour, 0x7777_7777, "the neighbour is left alone");
            }
        }
    }

    pub(super) fn batches_are_applied_in_order(&self, a: &End, b: &End) {
        b.fill(0, 4096, 0);
        let mut batch = Batch::default();
        for value in 1..=50_u64 {
            batch.put(b.spot(64), &value.to_ne_bytes());
            batch.update(b.spot(72), Atomic::Xor(value), Width::Eight);
            batch.update(b.spot(84), Atomic::Add(u64::from(u32::MAX)), Width::Four);
            let signal = if value % 2 == 0 { Atomic::Set(value) } else { Atomic::Add(1) };
            batch.update(b.spot(88), signal, Width::Eight);
        }
        batch.put(b.spot(1001), &[7; 2001]);
        succeeds("a batch", a.net.apply(b.pe, batch.take()));
        self.flush(a, b.pe);
        let word = |offset| b.cpu::<u64>(offset, Atomic::Fetch);
        assert_eq!((word(64), word(72)), (50, (1..=50).fold(0, |x, y| x ^ y)));
        assert_eq!((word(80), word(88)), (u64::from(u32::MAX - 49) << 32, 50));
        assert_eq!(b.load(1000, 2003), [&[0][..], &[7; 2001], &[0]].concat());
        succeeds("an empty batch", a.net.apply(b.pe, batch));
        self.flush(a, b.pe);
    }

    pub(super) fn a_flush_makes_visible_what_was_started(&self, a: &End, b: &End) {
        for round in 1..=50_u64 {
            let mut puts = Vec::new();
            for slot in 0..20 {
                let spot = b.spot(4096 + slot * 8);
                let value = round * 1000 + slot as u64;
                match slot % 3 {
                    0 => succeeds("a put", put(&*a.net, spot, &value.to_ne_bytes())),
                    1 => succeeds("an update", update(&*a.net, spot, Atomic::Set(value), Width::Eight)),
                    _ => puts.push(self.put(a, spot, value.to_ne_bytes().to_vec())),
                }
            }
            self.flush(a, b.pe);
            for slot in 0..20 {
                let value = b.cpu::<u64>(4096 + slot * 8, Atomic::Fetch);
                assert_eq!(value, round * 1000 + slot as u64, "slot {slot} in round {round}");
            }
            puts.iter().for_each(|put| drop(self.succeed("a put's buffer", put)));
        }
    }

    pub(super) fn a_flush_of_all_reaches_every_pe(&self) {
        let [a, others @ ..] = self.job.ends else { return };
        for round in 1..=50_u64 {
            for end in others {
                succeeds("a put", put(&*a.net, end.spot(512), &round.to_ne_bytes()));
            }
            let (awaited, done) = self.awaited(());
            a.net.flush(None, done);
            self.succeed("the end of a flush of all", &awaited);
            for end in others {
                assert_eq!(end.cpu::<u64>(512, Atomic::Fetch), round);
            }
        }
    }

    pub(super) fn many_operations_go_on_together(&self, a: &End, b: &End) {
        const BYTES: usize = 5000;
        let bytes = |i: usize| vec![i as u8 + 1; BYTES];
        let spot = |i: usize| b.spot(4096 + i * BYTES);
        let puts: Vec<_> = (0..100).map(|i| self.put(a, spot(i), bytes(i))).collect();
        self.flush(a, b.pe);
        let gets: Vec<_> = (0..100).map(|i| self.get(a, spot(i), BYTES)).collect();
        for (i, get) in gets.iter().enumerate().rev() {
            assert!(self.succeed("a get", get).1 == bytes(i), "get {i}");
        }
        puts.iter().for_each(|put| drop(self.succeed("a put's buffer", put)));
    }

    pub(super) fn what_is_flushed_comes_before_what_follows(&self, a: &End, b: &End) {
        const ROUNDS: u64 = 2000;
        let (data, signal, answer) = (8192, 264, 272);
        b.cpu(signal, Atomic::Set(0_u64));
        a.cpu(answer, Atomic::Set(0_u64));
        std::thread::scope(|scope| {
            // The reader is no PE: it only looks at the memory of one.
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    self.until("a signal", || b.cpu::<u64>(signal, Atomic::Fetch) >= round);
                    let got = b.load(data, 1024);
                    assert!(got.iter().all(|&byte| byte == round as u8), "stale data in round {round}");
                    a.cpu(answer, Atomic::Set(round));
                }
            });
            for round in 1..=ROUNDS {
                let sent = [round as u8; 512];
                succeeds("a put", put(&*a.net, b.spot(data), &sent));
                let put = self.put(a, b.spot(data + 512), sent.to_vec());
                self.flush(a, b.pe);
                let change = if round % 2 == 0 { Atomic::Set(round) } else { Atomic::Add(1) };
                succeeds("a signal", update(&*a.net, b.spot(signal), change, Width::Eight));
                self.until("an answer", || a.cpu::<u64>(answer, Atomic::Fetch) >= round);
                self.succeed("a put's buffer", &put);
            }
        });
    }

    pub(super) fn concurrent_adds_are_not_lost(&self) {
        const EACH: u64 = 1000;
        let [target, others @ ..] = self.job.ends else { return };
        target.cpu(320, Atomic::Set(0_u64));
        let threads = std::thread::scope(|scope| {
            let mut threads = 0;
            for end in others {
                threads += 2;
                scope.spawn(move || {
                    for _ in 0..EACH {
                        self.fetch(end, target.spot(320), Width::Eight, Atomic::Add(1));
                    }
                });
                scope.spawn(move || {
                    for _ in 0..EACH {
                        let added = update(&*end.net, target.spot(320), Atomic::Add(1), Width::Eight);
                        succeeds("an add", added);
                    }
                    self.flush(end, target.pe);
                });
            }
            if self.job.cpu_atomics {
                threads += 1;
                scope.spawn(|| {
                    for _ in 0..EACH {
                        target.cpu(320, Atomic::Add(1_u64));
                    }
                });
            }
            threads
        });
        assert_eq!(target.cpu::<u64>(320, Atomic::Fetch), threads * EACH);
    }

    pub(super) fn blocks_arrive_packed(&self, a: &End, b: &End) {
        const BASE: usize = 4096;
        let shapes = [(8, 16, 1000), (1, 1, 1), (1, 2, 777), (3, 7, 100), (1000, 1003, 40), (8, 4000, 600)];
        let few = [(8, 0, 1), (5, 3000, 0), (0, 8, 3)];
        let pattern: Vec<u8> = (0..5 << 19).map(|i: usize| (i * 31 + (i >> 11)) as u8).collect();
        for (round, (block, stride, count)) in shapes.into_iter().chain(few).enumerate() {
            let blocks = Blocks { len: block, count, there: stride, here: block };
            let span = blocks.span().unwrap_or(0);
            let there = pattern[round..].to_vec();
            // What is long is behind what comes later, unless a net sees to it.
            let put = self.put(a, b.spot(BASE), there.clone());
            let mut bytes = vec![0; block * count];
            let address = bytes.as_mut_ptr();
            let (awaited, done) = self.awaited(bytes);
            // SAFETY: `done` keeps the buffer until it runs.
            unsafe { start(&a.net, Op::get(b.spot(BASE), address, 0).of_blocks(blocks), done) };
            let (_, got) = self.succeed("packed blocks", &awaited);
            let expected: Vec<u8> =
                (0..count).flat_map(|i| there[i * stride..][..block].iter().copied()).collect();
            assert!(got == expected, "{blocks:?} over {span} bytes");
            self.succeed("a put's buffer", &put);
            self.flush(a, b.pe);
        }
    }
}
