//! A man in the middle of two PEs, which sees and changes what passes.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use oxshmem_base::settings::NetSecurity;
use oxshmem_memory::op::{Op, Spot};

use super::{
    peer::{Connection, TcpPeer},
    tests::{address_of, three, until},
};
use crate::{outcome::outcome, suite::End};

/// Which byte of which direction is changed, of the first connection: 0 is that of the side that
/// connects.
type Change = Option<(usize, usize)>;

/// What was seen of both directions, and whether anything was changed.
#[derive(Default)]
struct Seen {
    bytes: [Vec<u8>; 2],
    has_changed: bool,
}

/// Passes on what comes until `over`.
fn pass_on(listens: &TcpListener, to: SocketAddr, change: Change, seen: &Mutex<Seen>, over: &AtomicBool) {
    listens.set_nonblocking(true).unwrap();
    let mut pairs: Vec<[TcpStream; 2]> = Vec::new();
    while !over.load(Ordering::Acquire) {
        if let Ok((from, _)) = listens.accept() {
            let pair = [from, TcpStream::connect(to).unwrap()];
            for stream in &pair {
                stream.set_nodelay(true).unwrap();
                stream.set_nonblocking(true).unwrap();
            }
            pairs.push(pair);
        }
        let mut any = false;
        pairs.retain_mut(|pair| {
            (0..2).all(|side| {
                let mut bytes = [0; 8000];
                let n = match pair[side].read(&mut bytes) {
                    Ok(0) => return false,
                    Ok(n) => n,
                    Err(error) => return error.kind() == ErrorKind::WouldBlock,
                };
                any = true;
                let mut seen = seen.lock().unwrap();
                let begin = seen.bytes[side].len();
                seen.bytes[side].extend_from_slice(&bytes[..n]);
                if let Some((_, at)) =
                    change.filter(|&(of, at)| of == side && (begin..begin + n).contains(&at))
                {
                    bytes[at - begin] ^= 0x40;
                    seen.has_changed = true;
                }
                let mut rest = &bytes[..n];
                while !rest.is_empty() {
                    match pair[1 - side].write(rest) {
                        Ok(n) => rest = &rest[n..],
                        Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
                        Err(_) => return false,
                    }
                }
                true
            })
        });
        if !any {
            thread::sleep(Duration::from_micros(20));
        }
    }
}

/// What is put, which is known again.
const WORD: [u8; 8] = *b"a secret";
const LEN: usize = 40_000;

/// How it ended.
enum Ending {
    Right,
    /// A PE has lost the other, for this reason.
    Lost(String),
}

/// Two PEs put, get and send through it.
fn through_it(security: NetSecurity, change: Change) -> (Ending, Seen) {
    let (ends, nets) = three(Duration::ZERO, true, security);
    let [a, b, ..]: &[End] = &ends else { unreachable!("there are three") };
    let listens = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let middle = listens.local_addr().unwrap();
    {
        let mut inner = nets[0].inner();
        inner.peers[1] = Some(Box::new(TcpPeer::new(vec![middle], false)));
        inner.unsettled.push(1);
    }
    let (seen, over) = (Arc::new(Mutex::new(Seen::default())), Arc::new(AtomicBool::new(false)));
    let passes = {
        let (to, seen, over) = (address_of(&nets[1]), Arc::clone(&seen), Arc::clone(&over));
        thread::spawn(move || pass_on(&listens, to, change, &seen, &over))
    };
    let sent = WORD.repeat(LEN / 8);
    let (mut got, mut received) = (vec![0; LEN], vec![0; LEN]);
    let spot = Spot { pe: b.pe, segment: b.memory.id(), offset: 0 };
    let (put_over, put_done) = outcome();
    let (got_over, get_done) = outcome();
    let (left, send_done) = outcome();
    let (came, receive_done) = outcome::<usize>();
    // SAFETY: what they use is there until the nets are closed, which ends all of them.
    unsafe {
        a.net.start(Op::put(spot, sent.as_ptr(), LEN), put_done);
        a.net.start(Op::get(spot, got.as_mut_ptr(), LEN), get_done);
        a.net.receive(b.pe, 7, received.as_mut_ptr(), LEN, receive_done);
        b.net.send(a.pe, 7, sent.as_ptr(), LEN, send_done);
    }
    let lost = || {
        [(0, 1), (1, 0)].into_iter().find_map(|(me, other): (usize, usize)| {
            match &nets[me].inner().peers[other].as_ref()?.link {
                Connection::Gone(departure) => Some(departure.how.clone()),
                _ => None,
            }
        })
    };
    let is_over = || {
        put_over.get().is_some() && got_over.get().is_some() && left.get().is_some() && came.get().is_some()
    };
    until(&ends, "an end with a man in the middle", || is_over() || lost().is_some());
    let end = lost().map_or(Ending::Right, Ending::Lost);
    ends.iter().for_each(|end| end.net.abandon());
    over.store(true, Ordering::Release);
    passes.join().unwrap();
    if let Ending::Right = end {
        assert!(got_over.get().unwrap().is_ok() && came.get().unwrap().is_ok());
        assert!(got == sent && received == sent, "what arrives is what was sent");
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (end, seen)
}

/// Bytes of the proof in both directions.
const PROOF: [usize; 2] = [40 + 32 + 48 + 32, 64 + 16 + 48 + 32];

#[test]
fn a_man_in_the_middle_sees_nothing_of_what_is_encrypted() {
    for (security, shows) in [(NetSecurity::Auth, true), (NetSecurity::Encrypt, false)] {
        let (end, seen) = through_it(security, None);
        assert!(matches!(end, Ending::Right));
        for bytes in &seen.bytes {
            assert!(bytes.len() > LEN);
            assert_eq!(bytes.windows(4).any(|found| WORD.windows(4).any(|word| word == found)), shows);
        }
    }
}

#[test]
fn a_man_in_the_middle_that_changes_anything_is_noticed() {
    let mut noticed = 0;
    for (side, proof) in PROOF.into_iter().enumerate() {
        // Of the proof, every few bytes; of what follows lengths, what is encrypted, and what
        // authenticates.
        let behind = [0, 1, 2, 3, 17, 18, 40, 1000, 16_000, 20_000, 39_000];
        let places = (0..proof).step_by(11).chain(behind.map(|at| proof + at));
        for at in places {
            let (end, seen) = through_it(NetSecurity::Encrypt, Some((side, at)));
            assert!(seen.has_changed, "byte {at} of direction {side} is never sent");
            match end {
                // The next connection was proven.
                Ending::Right => assert!(at < proof, "byte {at} of direction {side} is not noticed"),
                Ending::Lost(how) => {
                    assert!(at >= proof && how.contains("was changed on its way"), "{at} of {side}: {how}");
                    noticed += 1;
                }
            }
        }
    }
    assert_eq!(noticed, 22);
}
