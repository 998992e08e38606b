//! Changed streams of a PE, as they come from its socket.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    sync::{Arc, OnceLock},
};

use oxshmem_base::fuzz::mutated;
use oxshmem_memory::{HostMap, Segment, SegmentId, op::Blocks};

use super::{
    Effects,
    frame::{FrameHead, Kind},
    incoming::{BUFFER, Incoming},
    mail::{Inbox, PostedReceive},
    outgoing::Outgoing,
    serve::{Memory, Serving},
    socket::Socket,
    talk::Talk,
    *,
};
use crate::fuzz::{batches, heads};

const LEN: usize = 4096;

/// What a PE sends: each kind of frame, by itself and one behind the other.
fn real() -> Vec<Vec<u8>> {
    let frame = |kind, arg: u64, words: &[u64]| {
        let payload: &[u8] = bytemuck::cast_slice(words);
        [&FrameHead::new(kind, payload.len(), arg).encode()[..], payload].concat()
    };
    let place = heads()[0][0];
    let mut all = vec![
        frame(Kind::Put, (place & !0xff) | 1, &[9; 80]),
        frame(Kind::Flush, 1, &[]),
        frame(Kind::Value, 0, &[7]),
        frame(Kind::Value, 2, &[7]),
        frame(Kind::Data, 1, &[5; 64]),
        frame(Kind::Message, 3, &[1, 2, 3]),
        frame(Kind::Open, 4, &[0, 800, 1]),
        [frame(Kind::Open, 5, &[1, 800, 1]), frame(Kind::Part, 1, &[6; 100])].concat(),
        [frame(Kind::Open, 6, &[2, 160, 0]), frame(Kind::Part, 2, &[6; 20])].concat(),
        frame(Kind::Go, 0, &[]),
        frame(Kind::Notification, 0, &[1, 2, 3, 4, 5, 6]),
        frame(Kind::Ack, 16, &[]),
        frame(Kind::Taken, 100, &[]),
        frame(Kind::Goodbye, 0, &[]),
    ];
    all.extend(batches().iter().map(|batch| frame(Kind::Batch, 0, batch)));
    all.extend(heads().iter().enumerate().map(|(i, head)| frame(Kind::Ask, i as u64, head)));
    all.push(all.concat());
    all
}

#[test]
fn frames_are_served_or_refused_whatever_is_sent() {
    // The block before and the one behind are others', which nothing is to touch.
    let map = Arc::new(HostMap::new(3, 1 << 16).unwrap());
    let heap = Segment::new(SegmentId::Heap, Arc::clone(&map), 0, LEN);
    let scratch = Segment::new(SegmentId::Scratch, map, LEN, LEN);
    let memory = Memory { block: 1, segments: [heap.clone(), scratch] };
    let listener = OnceLock::new();
    mutated(&real(), |bytes| {
        let mut buffer = vec![0; BUFFER / size_of::<u64>()];
        let (mut talk, mut out, mut mail, mut events) =
            (Talk::default(), Outgoing::default(), Inbox::default(), Effects::new());
        let (mut stored, mut urgent, mut incoming) = (false, false, Incoming::default());
        // What is awaited here.
        let (mut to, mut message) = (vec![0_u8; 1024], vec![0_u8; 200]);
        let at = |offset| Spot { pe: 0, segment: SegmentId::Heap, offset };
        let blocks = Blocks { len: 100, count: 5, there: 100, here: 200 };
        let never = || Box::new(|_| ());
        // SAFETY: what they write to outlives them.
        unsafe {
            let word =
                Op::atomic(at(8), oxshmem_memory::word::Atomic::Add(1), oxshmem_memory::word::Width::Eight);
            talk.start(word, never(), &mut out, &mut events);
            let get = Op::get(at(0), to.as_mut_ptr(), 0).of_blocks(blocks);
            talk.start(get, never(), &mut out, &mut events);
        }
        drop(talk.flush(Box::new(|_| ()), &mut out));
        let done = Box::new(|_| ());
        mail.expect((0, 5), PostedReceive { to: message.as_mut_ptr().into(), room: message.len(), done });
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        drop(theirs);
        let mut socket = Socket::of(ours.into());
        loop {
            let mut serving = Serving {
                pe: 0,
                memory: &memory,
                listener: &listener,
                talk: &mut talk,
                out: &mut out,
                mail: &mut mail,
                events: &mut events,
                stored: &mut stored,
                urgent: &mut urgent,
            };
            match incoming.read(&mut socket, &mut buffer, &mut serving) {
                Ok(Ok(incoming::ReadEnd::Open(true))) => {}
                _ => break,
            }
        }
        incoming.reset();
        talk.pump(&mut out, &mut events);
        for block in [0, 2] {
            let at = heap.address(block, 0, LEN).unwrap();
            // SAFETY: it is mapped, and nothing writes there.
            assert!((0..LEN).all(|i| unsafe { at.add(i).read() } == 0));
        }
    });
}
