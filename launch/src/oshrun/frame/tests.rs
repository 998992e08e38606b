use oxshmem_progress::phase::name_words;

use super::*;

fn plan() -> Plan {
    Plan {
        pes: 2..4,
        n_pes: 4,
        distribution: Distribution::each([2, 2]),
        simulated: false,
        machine: "b".to_owned(),
        variables: vec![("A".into(), "x y".into()), ("B".into(), OsString::from_vec(vec![0xff]))],
        has_replacements: true,
        tag_output: true,
        bind_to: BindTo::Core,
        stdin: StdinTo::All,
        trace: Some("/tmp/trace".into()),
        folder: Some("/tmp".into()),
        lease: Duration::from_millis(2500),
        name: "./hello".into(),
        arguments: vec!["-n".into(), "".into()],
    }
}

fn letter(body: &[u8]) -> Letter {
    Letter { kind: wire::Kind::Exchange, value: -1, body: body.to_vec() }
}

/// What PE 3 shows, which waits in one call, in a phase.
fn look() -> BoardLook {
    let (head, entry) = ([3, 4711, 1, 0, 1], [1, 0, 0, 1, 2, 3, 4, 5_000, 1, 6]);
    let words = [&head[..], &name_words("exchange"), &entry].concat();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    BoardLook::read(&mut &bytes[..]).unwrap()
}

fn to_agent() -> Vec<ToAgent> {
    vec![
        ToAgent::Start(Box::new(plan())),
        ToAgent::Deliver { to: vec![(2, u64::MAX), (3, 7)], letter: letter(&[5; 300]), last: true },
        ToAgent::SignalGroup(15),
        ToAgent::SignalPes { signal: 12, spare: None },
        ToAgent::SignalPes { signal: 12, spare: Some(3) },
        ToAgent::Look(9),
        ToAgent::WhichEnd,
        ToAgent::Written(3, Stream::Err),
        ToAgent::Input(b"line\n".to_vec()),
        ToAgent::InputEnd,
        ToAgent::Pause,
        ToAgent::Resume,
        ToAgent::Acknowledge(5),
        ToAgent::Finish,
        ToAgent::RecordingTaken,
    ]
}

fn from_agent() -> Vec<FromAgent> {
    vec![
        FromAgent::Refused("cannot".to_owned()),
        FromAgent::Started(vec![11, 12]),
        FromAgent::Pe { pe: 2, ticket: 8, letter: letter(b"") },
        FromAgent::Broken { pe: 2, why: "why".to_owned() },
        FromAgent::Exited(3, Exit::Status(7)),
        FromAgent::Exited(2, Exit::Signal(9)),
        FromAgent::Looked { number: 4, looks: vec![look()], awaited: vec![2] },
        FromAgent::Ending(vec![3, 2]),
        FromAgent::Output { pe: 3, stream: Stream::Out, text: b"a\nb\n".to_vec() },
        FromAgent::InputTaken,
        FromAgent::InputClosed,
        FromAgent::Failed("lost".to_owned()),
        FromAgent::Beat(6),
        FromAgent::Done,
        FromAgent::Recording { pe: 2, at: 1 << 20, bytes: vec![7; 100] },
    ]
}

/// All frames of one end, one behind the other.
fn stream(frames: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    frames.flatten().collect()
}

#[test]
fn every_frame_arrives_in_whatever_pieces_it_comes() {
    let bytes = stream(to_agent().iter().map(ToAgent::encode));
    for size in [1, 2, 7, 100, bytes.len()] {
        let (mut incoming, mut arrived) = (Incoming::default(), Vec::new());
        for piece in bytes.chunks(size) {
            incoming.add(piece);
            while let Some(frame) = incoming.next().unwrap() {
                arrived.push(ToAgent::decode(frame).unwrap());
            }
        }
        assert_eq!(arrived, to_agent(), "in pieces of {size}");
    }
    for frame in from_agent() {
        let bytes = frame.encode();
        let decoded = FromAgent::decode(&bytes[4..]).unwrap();
        assert_eq!(format!("{decoded:?}"), format!("{frame:?}"));
    }
}

#[test]
fn a_frame_that_is_cut_short_or_too_long_is_none() {
    let all: Vec<Vec<u8>> = to_agent().iter().map(ToAgent::encode).collect();
    for bytes in all {
        for length in 4..bytes.len() {
            assert!(ToAgent::decode(&bytes[4..length]).is_none(), "{length} of {bytes:?}");
        }
        assert!(ToAgent::decode(&[&bytes[4..], &[0]].concat()).is_none());
    }
    for bytes in from_agent().iter().map(FromAgent::encode) {
        for length in 4..bytes.len() {
            assert!(FromAgent::decode(&bytes[4..length]).is_none(), "{length} of {bytes:?}");
        }
    }
    let mut incoming = Incoming::default();
    incoming.add(&u32::MAX.to_le_bytes());
    assert!(incoming.next().is_err(), "nothing is that long");
}

#[test]
fn frames_are_taken_or_refused_whatever_is_sent() {
    let (there, back) = (to_agent(), from_agent());
    let real: Vec<_> = there.iter().map(ToAgent::encode).chain(back.iter().map(FromAgent::encode)).collect();
    oxshmem_base::fuzz::mutated(&real, |bytes| {
        let mut incoming = Incoming::default();
        incoming.add(bytes);
        while let Ok(Some(frame)) = incoming.next() {
            let frame = frame.to_vec();
            if let Some(ToAgent::Deliver { to, letter, .. }) = ToAgent::decode(&frame) {
                assert!(to.len() * 16 + letter.body.len() <= bytes.len());
            }
            if let Some(FromAgent::Looked { looks, awaited, .. }) = FromAgent::decode(&frame) {
                assert!(looks.len() * 104 + awaited.len() * 8 <= bytes.len());
            }
        }
    });
}

#[test]
fn the_preamble_is_found_behind_what_a_login_prints() {
    let mut incoming = Incoming::default();
    incoming.add(b"Welcome!\noxshmem-");
    assert_eq!(incoming.preamble().unwrap(), None);
    incoming.add(b"agent 1.2.3\n");
    incoming.add(&FromAgent::Beat(1).encode());
    assert_eq!(incoming.preamble().unwrap().as_deref(), Some("1.2.3"));
    let frame = incoming.next().unwrap().map(<[u8]>::to_vec);
    assert!(matches!(FromAgent::decode(&frame.unwrap()), Some(FromAgent::Beat(1))));
    let mut endless = Incoming::default();
    endless.add(&[b'x'; BEFORE + 1]);
    assert!(endless.preamble().is_err());
}
