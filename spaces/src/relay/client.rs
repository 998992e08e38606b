//! The client: what this PE asks of another, a queue of requests, those under way, and what waits
//! for them. It sends nothing itself.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::op::{Address, Op, Verb};
use oxshmem_net::{Batch, batch::first_entry};
use oxshmem_progress::completion::{AllParts, Completion, complete};

/// Bytes of the parts in which long transfers travel, and up to which small operations are gathered
/// in one request.
pub(super) const PART: usize = 64 << 10;
/// Transfers of more bytes go through [pieces](super::pieces), where they can.
pub(super) const LONG: usize = 4 * PART;
/// Bytes that may be under way to one PE, here or there; a longer request goes alone.
pub(super) const WINDOW: usize = 16 * PART;
/// Requests that may be under way to one PE.
pub(super) const MOST: usize = 128;
/// What a request takes besides its bytes.
const HEAD: usize = 64;

/// Something to be done by another PE.
pub(super) enum Request {
    /// Operations in their order, which come `after` everything before them if that is set.
    Batch { batch: Batch, after: bool },
    /// An operation, or a part of one. A get of more than [`PART`] bytes goes through a piece, and
    /// so does a put that is `pulled`: the server gets it from there in this PE's memory.
    Op { op: Op, pulled: Option<usize>, done: Done },
}

/// What completes when a request is over.
pub(super) enum Done {
    Part(Arc<AllParts>),
    Value(Completion<u64>),
}

/// A request on its way out.
pub(super) enum Leaving {
    Batch {
        batch: Batch,
        after: bool,
    },
    /// `free` completes when it is sent.
    Op {
        op: Op,
        pulled: Option<usize>,
        free: Option<Done>,
    },
}

/// What a request under way is to bring.
pub(super) enum Awaited {
    /// Nothing but that it is over.
    Nothing,
    /// The bytes of a get, or that it is over.
    Op { op: Op, done: Done },
}

/// This PE as the client of another.
#[derive(Default)]
pub(super) struct Client {
    /// How many numbers were given to requests.
    given: u64,
    queue: VecDeque<(u64, Request)>,
    /// Bytes of the batches in the queue.
    copied: usize,
    /// By their numbers: what they take, and what they are to bring, until that is there.
    under_way: BTreeMap<u64, (usize, Option<Awaited>)>,
    taken: usize,
    /// Requests below this may change host memory.
    mixed: u64,
    /// By the number below which all requests must be over.
    waiting: BTreeMap<u64, Vec<Completion>>,
    /// What went wrong, until a flush reports it.
    spoilt: Option<Error>,
    failed: Option<Error>,
    /// Whether a thread is sending.
    busy: bool,
}

/// What comes to nothing when a PE is lost.
#[derive(Default)]
pub(super) struct Ended {
    requests: Vec<Request>,
    awaited: Vec<Awaited>,
    waiting: Vec<Completion>,
}

impl Client {
    pub(super) fn failed(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// How many numbers were given.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Up to which number requests must be over for host memory to be read, unless they are.
    pub(super) fn mixed(&self) -> Option<u64> {
        (self.first_open() < self.mixed).then_some(self.mixed)
    }

    /// The requests so far may change host memory.
    pub(super) fn mix(&mut self) {
        self.mixed = self.given;
    }

    /// Bytes of batches that have not left.
    pub(super) fn copied(&self) -> usize {
        self.copied
    }

    /// Whether a flush has something to wait for, or to report.
    pub(super) fn is_waited_for(&self) -> bool {
        self.first_open() < self.given || self.spoilt.is_some() || self.failed.is_some()
    }

    /// Adds a request.
    pub(super) fn add(&mut self, request: Request) {
        if let Request::Batch { batch, after } = request {
            self.copied += batch.bytes();
            if let Some((_, Request::Batch { batch: before, .. })) = self.queue.back_mut()
                && !after
                && before.bytes() + batch.bytes() <= PART
            {
                return before.append(batch);
            }
            return self.enqueue(Request::Batch { batch, after });
        }
        self.enqueue(request);
    }

    fn enqueue(&mut self, request: Request) {
        self.queue.push_back((self.given, request));
        self.given += 1;
    }

    /// The next request that may leave, with its number. [`left`](Self::left) must follow; until
    /// then there is no other.
    pub(super) fn leave(&mut self) -> Option<(u64, Leaving)> {
        let takes = self.queue.front().map(|(_, request)| request.takes())?;
        let room = self.taken + takes <= WINDOW && self.under_way.len() < MOST;
        if self.busy || !(room || self.under_way.is_empty()) {
            return None;
        }
        let (number, request) = self.queue.pop_front()?;
        let (leaving, awaited) = match request {
            Request::Batch { batch, after } => {
                self.copied -= batch.bytes();
                (Leaving::Batch { batch, after }, Awaited::Nothing)
            }
            Request::Op { op, pulled, done } => match (op.verb, pulled) {
                (Verb::Put(_), None) => (Leaving::Op { op, pulled, free: Some(done) }, Awaited::Nothing),
                _ => (Leaving::Op { op, pulled, free: None }, Awaited::Op { op, done }),
            },
        };
        self.under_way.insert(number, (takes, Some(awaited)));
        self.taken += takes;
        self.busy = true;
        Some((number, leaving))
    }

    /// What [`leave`](Self::leave) has given was sent.
    pub(super) fn left(&mut self) {
        self.busy = false;
    }

    /// What a request was to bring, whose answer is there. [`over`](Self::over) must follow.
    pub(super) fn answered(&mut self, number: u64) -> Option<Awaited> {
        self.under_way.get_mut(&number).and_then(|(_, awaited)| awaited.take())
    }

    /// A request is over. Returns the flushes that complete, and their outcomes.
    pub(super) fn over(&mut self, number: u64, spoilt: Option<Error>) -> Vec<(Completion, Result<()>)> {
        if let Some((takes, _)) = self.under_way.remove(&number) {
            self.taken -= takes;
        }
        if self.spoilt.is_none() {
            self.spoilt = spoilt;
        }
        let open = self.first_open();
        let later = self.waiting.split_off(&(open + 1));
        let over = std::mem::replace(&mut self.waiting, later).into_values().flatten();
        over.map(|done| (done, self.take_spoilt())).collect()
    }

    /// Keeps `done` until the requests below a number are over, or gives it back with its outcome.
    pub(super) fn wait(&mut self, upto: u64, done: Completion) -> Option<(Completion, Result<()>)> {
        if let Some(error) = &self.failed {
            return Some((done, Err(error.clone())));
        }
        if upto <= self.first_open() {
            return Some((done, self.take_spoilt()));
        }
        self.waiting.entry(upto).or_default().push(done);
        None
    }

    /// The PE is lost: nothing is under way any more.
    pub(super) fn fail(&mut self, error: Error) -> Ended {
        self.failed.get_or_insert(error);
        self.copied = 0;
        self.taken = 0;
        let under_way = std::mem::take(&mut self.under_way);
        Ended {
            requests: self.queue.drain(..).map(|(_, request)| request).collect(),
            awaited: under_way.into_values().filter_map(|(_, awaited)| awaited).collect(),
            waiting: std::mem::take(&mut self.waiting).into_values().flatten().collect(),
        }
    }

    fn take_spoilt(&mut self) -> Result<()> {
        self.spoilt.take().map_or(Ok(()), Err)
    }

    /// The number of the first request that is not over, or of the next to come.
    fn first_open(&self) -> u64 {
        let under_way = self.under_way.first_key_value().map(|(&number, _)| number);
        under_way.or(self.queue.front().map(|(number, _)| *number)).unwrap_or(self.given)
    }
}

impl Request {
    /// Cuts a batch into some that are short. Where operations on the host are among them, those
    /// after the first come after everything before.
    pub(super) fn cut(batch: Batch, on_host: bool) -> Result<Vec<Request>> {
        if batch.bytes() <= 2 * PART {
            return Ok(vec![Request::Batch { batch, after: false }]);
        }
        let (mut parts, mut part, mut words) = (Vec::new(), Batch::default(), batch.words());
        while !words.is_empty() {
            let (op, len) = first_entry(words)?;
            let data = Address::from(words[2..].as_ptr().cast::<u8>());
            let op = op.map(|at| at.on(0), |()| data);
            let pieces = if let Verb::Put(_) = op.verb { op.pieces(PART) } else { op.pieces(usize::MAX) };
            for piece in pieces {
                if part.bytes() >= PART {
                    parts.push(std::mem::take(&mut part));
                }
                // SAFETY: `first_entry` has seen that the entry has as many bytes.
                unsafe { part.add(&piece) };
            }
            words = &words[len..];
        }
        parts.push(part);
        let request = |(i, batch)| Request::Batch { batch, after: on_host && i > 0 };
        Ok(parts.into_iter().enumerate().map(request).collect())
    }

    /// Completes what waits for it, if anything does.
    pub(super) fn fail(self, error: Error) {
        if let Self::Op { done, .. } = self {
            done.complete(Err(error));
        }
    }

    /// Bytes that it takes of the window.
    fn takes(&self) -> usize {
        HEAD + match self {
            Self::Batch { batch, .. } => batch.bytes(),
            Self::Op { op: Op { verb, blocks, .. }, pulled, .. } => match verb {
                Verb::Put(_) if pulled.is_none() => blocks.len,
                Verb::Get(_) if blocks.len <= PART => blocks.len,
                _ => 0,
            },
        }
    }
}

impl Done {
    pub(super) fn complete(self, outcome: Result<u64>) {
        match self {
            Self::Part(all) => all.note(outcome.map(drop)),
            Self::Value(done) => complete(done, outcome),
        }
    }
}

impl Awaited {
    /// Completes what waits for it; gives the error back if nothing does.
    pub(super) fn fail(self, error: Error) -> Option<Error> {
        match self {
            Self::Nothing => return Some(error),
            Self::Op { done, .. } => done.complete(Err(error)),
        }
        None
    }
}

impl Ended {
    /// Completes all of it with the reason.
    pub(super) fn tell(self, why: &dyn Fn() -> Error) {
        for request in self.requests {
            request.fail(why());
        }
        for awaited in self.awaited {
            // A flush reports it of those that nothing waits for.
            let _ = awaited.fail(why());
        }
        self.waiting.into_iter().for_each(|done| complete(done, Err(why())));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;
    use oxshmem_memory::{
        SegmentId,
        op::Spot,
        word::{Atomic, Width},
    };
    use oxshmem_progress::completion::any_value;

    fn batch(bytes: usize) -> Request {
        let mut batch = Batch::default();
        batch.put(Spot { pe: 1, segment: SegmentId::Gpu, offset: 0 }, &vec![0; bytes]);
        Request::Batch { batch, after: false }
    }

    fn put(len: usize, free: &Arc<AllParts>) -> Request {
        let to = Spot { pe: 1, segment: SegmentId::Gpu, offset: 0 };
        let op = Op::put(to, std::ptr::null::<u8>(), len);
        Request::Op { op, pulled: None, done: Done::Part(Arc::clone(free)) }
    }

    fn outcomes() -> (impl Fn(&'static str) -> Completion, impl Fn() -> Vec<(&'static str, bool)>) {
        let (sender, outcomes) = mpsc::channel();
        let sender = Mutex::new(sender);
        let done = move |name| -> Completion {
            let sender = sender.lock().unwrap().clone();
            Box::new(move |outcome| sender.send((name, outcome.is_ok())).unwrap())
        };
        (done, move || outcomes.try_iter().collect())
    }

    fn leave(client: &mut Client) -> Option<u64> {
        let (number, leaving) = client.leave()?;
        assert!(client.leave().is_none(), "one at a time");
        drop(leaving);
        client.left();
        Some(number)
    }

    #[test]
    fn a_window_is_under_way_and_the_rest_leaves_when_answers_come() {
        let (done, outcomes) = outcomes();
        let mut client = Client::default();
        let free = AllParts::new(done("free"));
        (0..20).for_each(|_| client.add(put(PART, &free)));
        drop(free);
        let gone: Vec<u64> = std::iter::from_fn(|| leave(&mut client)).collect();
        assert_eq!(gone, (0..15).collect::<Vec<_>>(), "their heads count too");
        assert!(client.wait(client.given(), done("all")).is_none());
        assert!(client.wait(3, done("three")).is_none());
        for number in [1, 2] {
            assert!(client.answered(number).is_some() && client.answered(number).is_none());
            assert!(client.over(number, None).is_empty());
        }
        assert!(client.answered(0).is_some());
        client.over(0, None).into_iter().for_each(|(done, outcome)| done(outcome));
        assert_eq!(outcomes(), [("three", true)]);
        let gone: Vec<u64> = std::iter::from_fn(|| leave(&mut client)).collect();
        assert_eq!(gone, [15, 16, 17]);
        for number in (3..18).rev() {
            assert!(client.answered(number).is_some());
            assert!(client.over(number, None).is_empty());
        }
        while let Some(number) = leave(&mut client) {
            assert!(client.answered(number).is_some());
            client.over(number, None).into_iter().for_each(|(done, outcome)| done(outcome));
        }
        assert_eq!(outcomes(), [("free", true), ("all", true)]);
        assert!(!client.is_waited_for());
    }

    #[test]
    fn small_batches_that_wait_become_one_and_long_ones_go_alone() {
        let mut client = Client::default();
        client.add(batch(2 * WINDOW));
        assert_eq!(leave(&mut client), Some(0));
        (0..100).for_each(|_| client.add(batch(8)));
        assert_eq!((client.given(), client.copied()), (2, 2400));
        assert_eq!(leave(&mut client), None, "the window is full");
        client.answered(0);
        client.over(0, None);
        assert_eq!((leave(&mut client), client.copied()), (Some(1), 0));
    }

    #[test]
    fn a_read_of_host_memory_waits_for_batches_that_change_it() {
        let mut client = Client::default();
        client.add(batch(8));
        assert_eq!(client.mixed(), None);
        client.mix();
        assert_eq!(client.mixed(), Some(1));
        let number = leave(&mut client).unwrap();
        client.answered(number);
        client.over(number, None);
        assert_eq!(client.mixed(), None);
    }

    #[test]
    fn what_went_wrong_is_reported_once_and_of_a_lost_pe_to_all() {
        let (done, outcomes) = outcomes();
        let lost = || Error::PeLost { pe: 1, view: 0, how: "it is a test".into() };
        let mut client = Client::default();
        client.add(batch(8));
        let number = leave(&mut client).unwrap();
        let spoilt = client.answered(number).unwrap().fail(Error::Device { what: "no".into() });
        assert!(client.over(number, spoilt).is_empty() && client.is_waited_for());
        assert!(matches!(client.wait(1, done("")), Some((_, Err(Error::Device { .. })))));
        assert!(!client.is_waited_for());

        let (free, got) = (AllParts::new(done("free")), AllParts::new(done("got")));
        let at = Spot { pe: 1, segment: SegmentId::Gpu, offset: 0 };
        let get = Op::get(at, std::ptr::null_mut::<u8>(), 8);
        client.add(Request::Op { op: get, pulled: None, done: Done::Part(got) });
        leave(&mut client);
        client.add(put(8, &free));
        drop(free);
        let fetch = Op::atomic(at, Atomic::Fetch, Width::Eight);
        client.add(Request::Op { op: fetch, pulled: None, done: Done::Value(any_value(done("fetch"))) });
        assert!(client.wait(client.given(), done("flush")).is_none());
        client.fail(lost()).tell(&lost);
        assert_eq!(outcomes(), [("free", false), ("fetch", false), ("got", false), ("flush", false)]);
        assert!(matches!(client.wait(0, done("")), Some((_, Err(Error::PeLost { pe: 1, .. })))));
        assert!(client.failed().is_some() && client.answered(1).is_none());
    }
}
