//! How a connection is made again, in every order of what may happen, up to a bound.
//!
//! Two real nets are joined by a network of this test's. A connection of theirs is a pair of
//! sockets at each end, and what is written at one end waits until the test delivers it at the
//! other. So the test decides when a connection arrives, when bytes of a proof or of a stream do,
//! and when each side notices that a connection has ended. A schedule is a list of such events; it
//! is run from the beginning, and then goes on until nothing is left to happen. After that all
//! operations must be over, and have happened once and in order, over the one connection that is
//! left.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    io::{ErrorKind, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

use oxshmem_base::settings::NetSecurity;
use oxshmem_memory::{
    copy,
    op::{Op, Spot},
    word::{Atomic, Width},
};

use super::{
    peer::{Attempt, Connection},
    socket::Socket,
    tests::unattached,
    *,
};
use crate::{
    outcome::{Slot, outcome},
    suite::End,
};

const TAG: u64 = 7;
/// Bytes of a put that is written from where it lies.
const LONG: usize = 5000;
/// Where the puts of a PE go.
const AT: usize = 4096;

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A PE starts its next operation.
    Start(usize),
    /// It begins to connect.
    Connect(usize),
    /// The connection of this number arrives at the other PE.
    Arrive(usize),
    /// Bytes of a connection arrive at a PE: all that are on their way, or half of them.
    Deliver { wire: usize, at: usize, all: bool },
    /// A PE notices that a connection has ended; what was on its way there is lost.
    End { wire: usize, at: usize },
    /// The PE that a connection has arrived at lets go of it before it is proven.
    Evict(usize),
}

/// A connection, from one PE to the other; by the number of the PE, what is at each end.
struct Wire {
    from: usize,
    arrived: bool,
    ends: [Option<UnixStream>; 2],
    /// By which the sockets of the nets are known.
    inodes: [u64; 2],
    /// On their way to that PE.
    coming: [Vec<u8>; 2],
    /// How many bytes have been.
    delivered: [usize; 2],
}

/// How far a schedule may go.
#[derive(Clone, Copy)]
struct Bounds {
    /// How many each PE starts.
    operations: [usize; 2],
    wires: usize,
    /// Connections that end though neither PE has closed them, and those that are let go of.
    faults: usize,
}

/// Both PEs and the network between them, in the course of a schedule.
struct Run<'a> {
    ends: &'a [End],
    nets: &'a [Arc<Tcp>],
    bounds: Bounds,
    wires: Vec<Wire>,
    faults: usize,
    started: [usize; 2],
    /// Outcomes of additions, and of all else, by the PE that started it.
    added: [Vec<Slot<u64>>; 2],
    over: [Vec<Slot<u64>>; 2],
    flushed: [Vec<Slot<()>>; 2],
    source: &'a [u8],
}

/// A socket for a net, and the test's end of it.
fn pair() -> (Socket, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    // As little as possible, so that a PE writes what it has in several turns.
    rustix::net::sockopt::set_socket_send_buffer_size(&near, 1).unwrap();
    (Socket::of(OwnedFd::from(near)), far)
}

fn inode(socket: impl AsFd) -> u64 {
    rustix::fs::fstat(socket).unwrap().st_ino
}

impl<'a> Run<'a> {
    /// At the beginning, where neither PE knows of the other.
    fn new((ends, nets): &'a (Vec<End>, Vec<Arc<Tcp>>), source: &'a [u8], bounds: Bounds) -> Self {
        for (pe, end) in ends.iter().enumerate() {
            let mut inner = nets[pe].inner();
            // Without an address, so that it cannot connect by itself.
            inner.peers = vec![None, None];
            inner.peers[1 - pe] = Some(Box::new(TcpPeer::new(Vec::new(), false)));
            inner.half_open.clear();
            inner.up.clear();
            inner.unsettled = vec![1 - pe];
            inner.waiting.clear();
            inner.mail = Inbox::default();
            inner.turns = 0;
            let used = AT + bounds.operations[1 - pe].div_ceil(4) * LONG;
            let words = end.memory.address(0, 0, used).unwrap();
            // SAFETY: in bounds, and nobody else uses it.
            unsafe { words.write_bytes(0, used) };
        }
        let run = Self {
            ends,
            nets,
            bounds,
            wires: Vec::new(),
            faults: 0,
            started: [0; 2],
            added: Default::default(),
            over: Default::default(),
            flushed: Default::default(),
            source,
        };
        run.wait(0);
        run.wait(1);
        run
    }

    /// A PE connects when an event says so, not when some time is over.
    fn wait(&self, pe: usize) {
        let mut inner = self.nets[pe].inner();
        if let Connection::Down(then) = &mut self.peer(&mut inner, pe).link {
            *then = Instant::now() + Duration::from_secs(3600);
        }
    }

    fn peer<'b>(&self, inner: &'b mut TcpState, pe: usize) -> &'b mut TcpPeer {
        inner.peers[1 - pe].as_deref_mut().unwrap()
    }

    /// Has a PE see to everything that has come.
    fn turn(&mut self, pe: usize) {
        let net = &self.nets[pe];
        let mut idle = 0;
        while idle < 2 {
            let mut events = Effects::new();
            let any = net.turn(&mut net.inner(), &mut events);
            self.wait(pe);
            idle = if any || !events.is_empty() { 0 } else { idle + 1 };
            net.note(events);
            net.complete_events();
        }
        self.collect(pe);
    }

    /// Puts on their way what a PE has written.
    fn collect(&mut self, pe: usize) {
        for wire in &mut self.wires {
            let mut bytes = [0; 16 << 10];
            while let Some(end) = &mut wire.ends[pe] {
                match end.read(&mut bytes) {
                    Ok(n @ 1..) => wire.coming[1 - pe].extend_from_slice(&bytes[..n]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    _ => wire.ends[pe] = None,
                }
            }
        }
    }

    fn start(&mut self, pe: usize) {
        let (net, k) = (&self.nets[pe], self.started[pe]);
        self.started[pe] += 1;
        let spot = |offset| Spot { pe: 1 - pe, segment: self.ends[1 - pe].memory.id(), offset };
        match k % 4 {
            0 => {
                let (over, done) = outcome();
                self.over[pe].push(over);
                let from = &self.source[k..];
                // SAFETY: the source is there until all nets have forgotten this run.
                unsafe { net.start(Op::put(spot(AT + k / 4 * LONG), from.as_ptr(), LONG), done) };
            }
            1 => assert!(matches!(net.send_short(1 - pe, TAG, &[k as u8; 24]), Some(Ok(())))),
            2 => {
                let (word, done) = outcome();
                self.added[pe].push(word);
                // SAFETY: it has no source.
                unsafe { net.start(Op::atomic(spot(0), Atomic::Add(1), Width::Eight), done) };
            }
            _ => {
                let (flushed, done) = outcome();
                self.flushed[pe].push(flushed);
                net.flush(Some(1 - pe), done);
            }
        }
        self.wait(pe);
        net.write_waiting();
        self.turn(pe);
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Start(pe) => self.start(pe),
            Event::Connect(pe) => {
                let (near, far) = pair();
                let mut inodes = [0; 2];
                inodes[pe] = inode(&near);
                {
                    let mut inner = self.nets[pe].inner();
                    let peer = self.peer(&mut inner, pe);
                    let attempt = Box::new(Attempt::new(&self.nets[pe].credentials));
                    (peer.link, peer.watched) = (Connection::Connecting(near, attempt), None);
                }
                let mut ends = [None, None];
                ends[pe] = Some(far);
                let (coming, delivered) = Default::default();
                self.wires.push(Wire { from: pe, arrived: false, ends, inodes, coming, delivered });
                self.turn(pe);
            }
            Event::Arrive(wire) => {
                let (near, far) = pair();
                let wire = &mut self.wires[wire];
                let to = 1 - wire.from;
                (wire.arrived, wire.ends[to], wire.inodes[to]) = (true, Some(far), inode(&near));
                let mut events = Effects::new();
                let net = &self.nets[to];
                net.take(&mut net.inner(), near, &mut events);
                net.note(events);
                self.turn(to);
            }
            Event::Deliver { wire, at, all } => {
                let wire = &mut self.wires[wire];
                let n = wire.coming[at].len().div_ceil(if all { 1 } else { 2 });
                let bytes: Vec<u8> = wire.coming[at].drain(..n).collect();
                wire.delivered[at] += n;
                if let Some(end) = &mut wire.ends[at]
                    && end.write_all(&bytes).is_err()
                {
                    wire.ends[at] = None;
                }
                self.turn(at);
            }
            Event::End { wire, at } => {
                self.faults += usize::from(!self.is_over(wire, at));
                let wire = &mut self.wires[wire];
                wire.ends[at] = None;
                wire.coming[at].clear();
                self.turn(at);
            }
            Event::Evict(wire) => {
                self.faults += 1;
                let to = 1 - self.wires[wire].from;
                let key = self.half_open(wire).expect("it was among the choices");
                self.nets[to].inner().half_open.remove(key);
                self.turn(to);
            }
        }
    }

    /// Whether one side of a connection has seen its end, so that the other will.
    fn is_over(&self, wire: usize, at: usize) -> bool {
        let wire = &self.wires[wire];
        wire.ends[1 - at].is_none() && wire.arrived
    }

    /// Under which number the PE that a connection has arrived at keeps it until it is proven.
    fn half_open(&self, wire: usize) -> Option<usize> {
        let wire = &self.wires[wire];
        let to = 1 - wire.from;
        let inner = self.nets[to].inner();
        let found = inner.half_open.iter().find(|(_, it)| inode(&it.socket) == wire.inodes[to]);
        found.map(|(key, _)| key)
    }

    /// Everything that may happen next.
    fn choices(&self) -> Vec<Event> {
        let mut choices = Vec::new();
        let may_fail = self.faults < self.bounds.faults;
        for (i, wire) in self.wires.iter().enumerate() {
            if !wire.arrived {
                choices.push(Event::Arrive(i));
            }
            for at in [wire.from, 1 - wire.from] {
                if wire.ends[at].is_none() {
                    continue;
                }
                if !wire.coming[at].is_empty() {
                    choices.push(Event::Deliver { wire: i, at, all: true });
                    if wire.coming[at].len() > LONG / 2 {
                        choices.push(Event::Deliver { wire: i, at, all: false });
                    }
                }
                if self.is_over(i, at) || may_fail {
                    choices.push(Event::End { wire: i, at });
                }
            }
            if may_fail && wire.arrived && self.half_open(i).is_some() {
                choices.push(Event::Evict(i));
            }
        }
        for pe in 0..2 {
            let is_down = matches!(self.peer(&mut self.nets[pe].inner(), pe).link, Connection::Down(_));
            if is_down && self.wires.len() < self.bounds.wires {
                choices.push(Event::Connect(pe));
            }
            if self.started[pe] < self.bounds.operations[pe] {
                choices.push(Event::Start(pe));
            }
        }
        choices
    }

    /// The connection that a PE has or makes, and which of both.
    fn link(&self, pe: usize) -> (&'static str, Option<usize>) {
        let mut inner = self.nets[pe].inner();
        let (what, socket) = match &self.peer(&mut inner, pe).link {
            Connection::Down(_) => return ("down", None),
            Connection::Connecting(socket, _) => ("connecting", socket),
            Connection::Up(socket) => ("up", socket),
            Connection::Gone(why) => panic!("PE {pe} has lost the other: {}", why.how),
        };
        let inode = inode(socket);
        (what, self.wires.iter().position(|wire| wire.inodes[pe] == inode))
    }

    /// What is the same for states from which the same may happen.
    fn state(&self) -> u64 {
        let mut state = DefaultHasher::new();
        (self.faults, self.started).hash(&mut state);
        for pe in 0..2 {
            let over = [&self.added[pe], &self.over[pe]]
                .map(|all| all.iter().filter(|it| it.get().is_some()).count());
            (self.link(pe), over, self.flushed[pe].iter().filter(|it| it.get().is_some()).count())
                .hash(&mut state);
            let mut inner = self.nets[pe].inner();
            let peer = self.peer(&mut inner, pe);
            (peer.connections, peer.out.unwritten(), peer.incoming.received(), peer.urgent).hash(&mut state);
        }
        for (i, wire) in self.wires.iter().enumerate() {
            let ends = wire.ends.each_ref().map(Option::is_some);
            let coming = wire.coming.each_ref().map(Vec::len);
            (wire.from, wire.arrived, ends, coming, wire.delivered, self.half_open(i).is_some())
                .hash(&mut state);
        }
        state.finish()
    }

    /// Whether nothing is under way.
    fn is_quiet(&self) -> bool {
        let is_settled = |(i, wire): (usize, &Wire)| {
            let is_used = self.link(0) == ("up", Some(i)) && self.link(1) == ("up", Some(i));
            let ends = wire.ends.iter().flatten().count();
            wire.arrived && wire.coming.iter().all(Vec::is_empty) && ends == if is_used { 2 } else { 0 }
        };
        let are_over = self.added.iter().chain(&self.over).flatten().all(|it| it.get().is_some());
        are_over
            && self.flushed.iter().flatten().all(|it| it.get().is_some())
            && self.started == self.bounds.operations
            && self.link(0).0 == "up"
            && self.link(0) == self.link(1)
            && self.wires.iter().enumerate().all(is_settled)
    }

    /// Goes on without faults until nothing is left to happen.
    fn finish(&mut self) {
        for _ in 0..50 {
            for pe in 0..2 {
                // There may be room again.
                self.turn(pe);
                while self.started[pe] < self.bounds.operations[pe] {
                    self.step(Event::Start(pe));
                }
                if self.link(pe).0 == "down" {
                    self.step(Event::Connect(pe));
                }
            }
            for i in 0..self.wires.len() {
                if !self.wires[i].arrived {
                    self.step(Event::Arrive(i));
                }
                for at in 0..2 {
                    if self.wires[i].ends[at].is_some() && !self.wires[i].coming[at].is_empty() {
                        self.step(Event::Deliver { wire: i, at, all: true });
                    }
                    if self.wires[i].ends[at].is_some() && self.is_over(i, at) {
                        self.step(Event::End { wire: i, at });
                    }
                    // What can arrive nowhere.
                    if self.wires[i].ends[at].is_none() {
                        self.wires[i].coming[at].clear();
                    }
                }
            }
            if self.is_quiet() {
                return self.check();
            }
        }
        let links = [0, 1].map(|pe| self.link(pe));
        panic!("the PEs do not come to an end: {links:?}");
    }

    /// Everything has happened once, in order.
    fn check(&self) {
        for pe in 0..2 {
            let other = 1 - pe;
            let (net, memory) = (&self.nets[pe], &self.ends[pe].memory);
            let before: Vec<u64> =
                self.added[other].iter().map(|it| *it.get().unwrap().as_ref().unwrap()).collect();
            assert_eq!(before, (0..before.len() as u64).collect::<Vec<_>>(), "each is added once");
            let word = memory.address(0, 0, 8).unwrap();
            // SAFETY: in bounds and aligned.
            assert_eq!(unsafe { copy::load(word.cast::<u64>()) }, before.len() as u64);
            for k in (0..self.bounds.operations[other]).step_by(4) {
                let mut bytes = vec![0; LONG];
                let from = memory.address(0, AT + k / 4 * LONG, LONG).unwrap();
                // SAFETY: in bounds.
                unsafe { copy::copy(bytes.as_mut_ptr(), from, LONG) };
                assert!(bytes == self.source[k..k + LONG], "put {k} is there");
            }
            assert!(self.over.iter().flatten().all(|it| matches!(it.get(), Some(Ok(_)))));
            assert!(self.flushed.iter().flatten().all(|it| matches!(it.get(), Some(Ok(())))));
            let mut inner = net.inner();
            for k in (1..self.bounds.operations[other]).step_by(4) {
                match inner.mail.take_came((other, TAG)) {
                    Some(Unreceived::Whole(bytes)) => assert_eq!(bytes, [k as u8; 24]),
                    _ => panic!("message {k} has not come"),
                }
            }
            assert!(inner.mail.take_came((other, TAG)).is_none(), "a message has come twice");
        }
    }
}

/// Runs a schedule; if it goes wrong, says which it was.
fn guarded<T>(path: &[Event], run: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|why| {
        println!("the schedule: {path:?}");
        std::panic::resume_unwind(why)
    })
}

/// Every schedule within these bounds, but for those that come to a state in which another was.
fn explore(bounds: Bounds) {
    let (pes, source) = (unattached(2, Duration::ZERO, true, NetSecurity::Auth), source());
    let mut seen = HashSet::new();
    let mut open = vec![Vec::new()];
    let (mut schedules, mut longest) = (0, 0);
    let begin = Instant::now();
    while let Some(mut path) = open.pop() {
        schedules += 1;
        let mut run = Run::new(&pes, &source, bounds);
        let replayed = path.clone();
        guarded(&replayed, || replayed.iter().for_each(|&event| run.step(event)));
        while seen.insert(guarded(&path, || run.state())) {
            let mut choices = run.choices().into_iter();
            let Some(next) = choices.next() else { break };
            open.extend(choices.map(|other| [&path[..], &[other]].concat()));
            path.push(next);
            guarded(&path, || run.step(next));
        }
        longest = longest.max(path.len());
        guarded(&path, || run.finish());
    }
    println!("{schedules} schedules of up to {longest} events, {} states, {:?}", seen.len(), begin.elapsed());
}

fn source() -> Vec<u8> {
    (0..LONG + 64).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// How much longer to look: as many times as `OXSHMEM_SOAK_RECONNECTING` says.
fn longer() -> usize {
    std::env::var("OXSHMEM_SOAK_RECONNECTING").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[test]
fn every_order_of_two_connections_and_a_fault_ends_with_one_connection() {
    explore(Bounds { operations: [1, 0], wires: 2, faults: 1 });
    explore(Bounds { operations: [0, 1], wires: 2, faults: 1 });
    if longer() > 1 {
        explore(Bounds { operations: [1, 1], wires: 2, faults: 1 });
        explore(Bounds { operations: [1, 0], wires: 2, faults: 2 });
        explore(Bounds { operations: [0, 1], wires: 3, faults: 1 });
    }
}

#[test]
fn random_schedules_of_many_faults_end_with_one_connection() {
    const SCHEDULES: usize = 500;
    let bounds = Bounds { operations: [12; 2], wires: 30, faults: 15 };
    let (pes, source) = (unattached(2, Duration::ZERO, true, NetSecurity::Auth), source());
    let mut random = super::tests::Random(11);
    let mut wires = 0;
    for _ in 0..SCHEDULES * longer() {
        let mut run = Run::new(&pes, &source, bounds);
        let mut path = Vec::new();
        for _ in 0..random.below(200) {
            let choices = run.choices();
            if choices.is_empty() {
                break;
            }
            let next = choices[random.below(choices.len())];
            path.push(next);
            guarded(&path, || run.step(next));
        }
        guarded(&path, || run.finish());
        wires += run.wires.len();
    }
    println!("{wires} connections");
}
