//! Between the PEs of one process, each of which has sockets of its own.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem_base::settings::{NetSecurity, Settings};
use oxshmem_memory::{
    op::{Op, Spot},
    word::{Atomic, Width},
};

use super::*;
use crate::{
    joined::{attach, joined},
    outcome::{outcome, put, update},
    suite::{self, End, Job},
};

/// Three PEs on hosts of their own, whose waits may look around for so long, and whose engines are
/// those of PEs in one process or in one each.
pub(super) fn three(
    spin: Duration,
    in_process: bool,
    net_security: NetSecurity,
) -> (Vec<End>, Vec<Arc<Tcp>>) {
    let (ends, nets) = unattached(3, spin, in_process, net_security);
    attach(&ends, &nets);
    (ends, nets)
}

/// `n` of them, which their engines do not drive.
pub(super) fn unattached(
    n: usize,
    spin: Duration,
    in_process: bool,
    net_security: NetSecurity,
) -> (Vec<End>, Vec<Arc<Tcp>>) {
    let mut settings = Settings::default();
    (settings.net_interfaces, settings.net_security) = (Some("lo".to_owned()), net_security);
    joined(n, spin, in_process, async |bootstrap, engine, segments| {
        connect(bootstrap, engine, segments, &settings).await.unwrap()
    })
}

#[test]
fn tcp_passes_the_suite_of_all_nets() {
    for (spin, security) in [(0, NetSecurity::Auth), (2, NetSecurity::Auth), (2, NetSecurity::Encrypt)] {
        let (ends, _) = three(Duration::from_micros(spin), true, security);
        // As threads do that wait.
        let progress = || {
            ends.iter().for_each(|end| {
                end.net.hand_over();
                end.net.poll();
            });
        };
        suite::check(&Job { ends: &ends, progress: &progress, cpu_atomics: true });
    }
}

#[test]
fn tcp_is_driven_by_the_engine_alone() {
    suite::check_by_the_engine(crate::ways(), || {
        Some(three(Duration::from_micros(2), false, NetSecurity::Auth).0)
    });
}

/// Random numbers, the same in each run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Makes progress until that is so.
pub(super) fn until(ends: &[End], what: &str, mut ready: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !ready() {
        ends.iter().for_each(|end| {
            end.net.hand_over();
            end.net.poll();
        });
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} does not come");
    }
}

#[test]
fn a_connection_that_breaks_anywhere_is_made_again_and_everything_happens_once() {
    breaks_anywhere(1000, NetSecurity::Auth);
    breaks_anywhere(100, NetSecurity::Encrypt);
}

fn breaks_anywhere(most: usize, security: NetSecurity) {
    const AT: usize = 4096;
    let (ends, nets) = three(Duration::ZERO, true, security);
    let [a, b, ..] = &*ends else { unreachable!("there are three") };
    let spot = |offset| Spot { pe: b.pe, segment: b.memory.id(), offset };
    let mut random = Random(7);
    let (mut cuts, mut round) = (0, 0_u64);
    while cuts < most {
        round += 1;
        // Either side's stream, at any byte of what follows.
        let side = round as usize % 2;
        let broken = {
            let mut state = nets[side].inner();
            let peer = state.peers[1 - side].as_deref_mut();
            peer.map(|peer| peer.out.breaks_after.replace(1 + random.below(30_000)))
        };
        cuts += usize::from(matches!(broken, Some(None)));
        let len = [100, 5000, 70_000, 200_000][random.below(4)];
        let sent = vec![round as u8; len];
        let mut got = vec![0_u8; len];
        let (put_over, put_done) = outcome();
        let (got_over, get_done) = outcome();
        let (word, add_done) = outcome::<u64>();
        let (left, send_done) = outcome();
        let (came, receive_done) = outcome::<usize>();
        let (flushed, flush_done) = outcome();
        let message = vec![(round + 1) as u8; len / 2];
        let mut received = vec![0_u8; len / 2];
        // SAFETY: all of them are waited for before what they use goes.
        unsafe {
            b.net.receive(a.pe, round % 3, received.as_mut_ptr(), received.len(), receive_done);
            a.net.start(Op::put(spot(AT), sent.as_ptr(), len), put_done);
            a.net.start(Op::get(spot(AT), got.as_mut_ptr(), len), get_done);
            a.net.send(b.pe, round % 3, message.as_ptr(), message.len(), send_done);
            a.net.start(Op::atomic(spot(0), Atomic::Add(1), Width::Eight), add_done);
        }
        update(&*a.net, spot(8), Atomic::Add(3), Width::Eight).unwrap();
        put(&*a.net, spot(16), &round.to_ne_bytes()).unwrap();
        a.net.flush(Some(b.pe), flush_done);
        until(&ends, "a round with a connection that breaks", || {
            let [put, get, word] = [&put_over, &got_over, &word].map(|slot| slot.get().is_some());
            put && get && word && left.get().is_some() && came.get().is_some() && flushed.get().is_some()
        });
        assert_eq!(word.get().unwrap().as_ref().unwrap(), &(round - 1), "each is added once");
        assert_eq!(came.get().unwrap().as_ref().unwrap(), &(len / 2));
        for outcome in [flushed.get(), left.get()] {
            assert!(outcome.unwrap().is_ok());
        }
        assert!(got == sent, "what was put comes back in round {round}");
        assert!(received == message, "messages keep their order in round {round}");
        let words = [0, 8, 16].map(|at| {
            let at = b.memory.address(0, at, 8).unwrap();
            // SAFETY: in bounds and aligned.
            unsafe { oxshmem_memory::copy::load(at.cast::<u64>()) }
        });
        assert_eq!(words, [round, 3 * round, round]);
    }
    println!("{round} rounds, {cuts} broken connections");
    ends.iter().for_each(|end| end.net.abandon());
}

/// Where a PE listens.
pub(super) fn address_of(net: &Tcp) -> SocketAddr {
    let mut address = net.inner().listens.local_addr().unwrap();
    address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    address
}

#[test]
fn strangers_get_nothing_and_stop_nothing() {
    const STRANGERS: usize = 10_000;
    let (ends, nets) = three(Duration::ZERO, true, NetSecurity::Auth);
    let [a, b, ..] = &*ends else { unreachable!("there are three") };
    let to = address_of(&nets[1]);
    let at = Spot { pe: b.pe, segment: b.memory.id(), offset: 0 };
    let add = |n: u64| {
        let (word, done) = outcome::<u64>();
        // SAFETY: the word is in bounds and aligned.
        unsafe { a.net.start(Op::atomic(at, Atomic::Add(1), Width::Eight), done) };
        until(&ends, "an addition beside strangers", || word.get().is_some());
        assert_eq!(word.get().unwrap().as_ref().unwrap(), &n);
    };
    add(0);
    let over = std::sync::atomic::AtomicBool::new(false);
    let mut added = 1;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut slow = Vec::new();
            for i in 0..STRANGERS {
                let Ok(mut stream) = TcpStream::connect(to) else { continue };
                stream.set_nonblocking(true).unwrap();
                // Garbage, the beginning of a proof and then garbage, and a byte now and then.
                let _ = match i % 3 {
                    0 => stream.write(&[i as u8; 400]),
                    1 => stream.write(&[&b"oxshmem3"[..], &[i as u8; 300]].concat()),
                    _ => stream.write(b"o"),
                };
                if i % 3 == 2 {
                    slow.push(stream);
                    if slow.len() > 200 {
                        slow.remove(0);
                    }
                }
                for stream in &mut slow {
                    let _ = stream.write(b"x");
                }
            }
            over.store(true, Ordering::Release);
        });
        while !over.load(Ordering::Acquire) {
            add(added);
            added += 1;
            assert!(nets[1].inner().half_open.len() <= 64);
        }
    });
    // And the third connects all the same.
    let third = &ends[2];
    let (word, done) = outcome::<u64>();
    // SAFETY: as above.
    unsafe { third.net.start(Op::atomic(at, Atomic::Add(1), Width::Eight), done) };
    until(&ends, "an addition of a PE that connects late", || word.get().is_some());
    assert_eq!(word.get().unwrap().as_ref().unwrap(), &added);
    let refused = nets[1].inner().strangers;
    println!("{added} additions beside {refused} connections of strangers");
    assert!(refused > STRANGERS as u64 / 2);
    // One that begins well gets no more than the answer to its number.
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    stream.write_all(&[&b"oxshmem3"[..], &[1; 32]].concat()).unwrap();
    let mut came = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(3) {
        ends[1].net.poll();
        let mut bytes = [0; 100];
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Ok(n) => came.extend_from_slice(&bytes[..n]),
            Err(_) => {}
        }
    }
    assert_eq!(came.len(), 64);
    assert!(begin.elapsed() < Duration::from_secs(3), "it is closed after a while");
    ends.iter().for_each(|end| end.net.close());
}
