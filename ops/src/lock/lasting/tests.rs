//! Every interleaving of a few PEs at one lock, in which PEs die between any two steps, and what
//! they sent last comes late or never.

use std::{
    future::poll_fn,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use super::{super::explore::explore, *};

/// The home PE's name.
const HOME: u16 = 1;

/// What a PE does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Access {
    ReplaceHome {
        cond: u64,
        value: u64,
    },
    FetchOwn(OwnHalf),
    ClearBehind,
    ReplaceBehind {
        name: u16,
        cond: u32,
        value: u32,
    },
    Ring(u16),
    Wait {
        half: OwnHalf,
        seen: u64,
        view: u16,
    },
    WaitKnown(u16),
    /// It has the lock meanwhile.
    Hold,
}

impl Hash for OwnHalf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (*self as u8).hash(state);
    }
}

#[derive(Default, Hash)]
struct Job {
    home: u64,
    /// By name.
    rings: Vec<u32>,
    behind: Vec<u32>,
    /// The PEs that are lost, in that order, and how many of them each PE knows of.
    lost: Vec<u16>,
    known: Vec<usize>,
    /// What lost PEs sent before, and which of them.
    late: Vec<(u16, Access)>,
    /// The order in which PEs queued up, and in which they got the lock.
    came: Vec<u16>,
    got: Vec<u16>,
    holder: u16,
    /// A PE was lost while it had the lock, and none that came behind it knows.
    is_broken: bool,
}

impl Job {
    fn half(&self, name: u16, half: OwnHalf) -> u64 {
        let at = usize::from(name);
        match half {
            _ if name == HOME => self.home,
            OwnHalf::Rings => self.rings[at].into(),
            OwnHalf::Behind => self.behind[at].into(),
        }
    }

    fn knows(&self, name: u16, other: u16) -> bool {
        self.lost[..self.known[usize::from(name)]].contains(&other)
    }

    /// How many losses all others know of.
    fn settled(&self) -> usize {
        let names = 1..self.known.len() as u16;
        let alive = names.filter(|name| !self.lost.contains(name));
        alive.map(|name| self.known[usize::from(name)]).min().unwrap_or(0)
    }

    /// Whether the access of a PE can end now.
    fn is_ready(&self, name: u16, access: Access) -> bool {
        match access {
            Access::Wait { half, seen, view } => {
                self.half(name, half) != seen || self.known[usize::from(name)] > view.into()
            }
            Access::WaitKnown(view) => self.settled() >= view.into(),
            _ => true,
        }
    }

    /// The PE whose memory it changes, from elsewhere.
    fn target(name: u16, access: Access) -> Option<u16> {
        match access {
            Access::ReplaceHome { .. } if name != HOME => Some(HOME),
            Access::ReplaceBehind { name, .. } | Access::Ring(name) => Some(name),
            _ => None,
        }
    }

    /// Makes it.
    fn make(&mut self, name: u16, access: Access) -> u64 {
        match access {
            Access::ReplaceHome { cond, value } => {
                let found = self.home;
                if found == cond {
                    self.home = value;
                    let (before, after) = (Queue::of(found), Queue::of(value));
                    if after.last == name && before.last != name {
                        self.came.push(name);
                    }
                }
                found
            }
            Access::FetchOwn(half) => self.half(name, half),
            Access::ClearBehind => {
                self.behind[usize::from(name)] = 0;
                0
            }
            Access::ReplaceBehind { name, cond, value } => {
                assert_ne!(name, HOME, "it has no such half");
                let behind = &mut self.behind[usize::from(name)];
                let found = *behind;
                if found == cond {
                    *behind = value;
                }
                found.into()
            }
            Access::Ring(name) => {
                self.rings[usize::from(name)] += RING;
                0
            }
            Access::Wait { .. } | Access::WaitKnown(_) | Access::Hold => 0,
        }
    }
}

/// One PE's way to it. Each access is one step: announced by a pending poll, made when the PE is
/// polled next.
struct Pe<'a> {
    name: u16,
    job: &'a Mutex<Job>,
    next: Mutex<Option<Access>>,
    seen: Mutex<Vec<u64>>,
}

impl<'a> Pe<'a> {
    fn new(name: u16, job: &'a Mutex<Job>) -> Self {
        Self { name, job, next: Mutex::default(), seen: Mutex::default() }
    }

    async fn step(&self, access: Access) -> u64 {
        let mut announced = false;
        poll_fn(|_| {
            if announced {
                return Poll::Ready(());
            }
            announced = true;
            *self.next.lock().unwrap() = Some(access);
            Poll::Pending
        })
        .await;
        *self.next.lock().unwrap() = None;
        let value = self.job.lock().unwrap().make(self.name, access);
        self.note(value)
    }

    fn note(&self, value: u64) -> u64 {
        self.seen.lock().unwrap().push(value);
        value
    }

    /// Enters and leaves this many times; a round that is tried may come to nothing.
    async fn live(&self, rounds: &[bool]) {
        for &tries in rounds {
            let Some(got) = enter(self, tries).await.unwrap() else { continue };
            {
                let mut job = self.job.lock().unwrap();
                assert_eq!(job.holder, 0, "two PEs have the lock");
                assert!(got.abandoned || !job.is_broken, "a holder was lost, which none knows");
                assert!(!got.abandoned || !job.lost.is_empty(), "no PE was lost");
                job.holder = self.name;
                job.is_broken = false;
                job.got.push(self.name);
            }
            self.step(Access::Hold).await;
            self.job.lock().unwrap().holder = 0;
            leave(self, true).await.unwrap();
        }
    }
}

impl LastingWords for Pe<'_> {
    fn name(&self) -> u16 {
        self.name
    }

    fn home_name(&self) -> u16 {
        HOME
    }

    fn view(&self) -> u16 {
        let known = self.job.lock().unwrap().known[usize::from(self.name)];
        self.note(known as u64) as u16
    }

    fn was_lost(&self, name: u16, [from, to]: [u16; 2]) -> bool {
        let at = self.job.lock().unwrap().lost.iter().position(|&lost| lost == name);
        let views = usize::from(from)..usize::from(to);
        self.note(u64::from(at.is_some_and(|at| views.contains(&at)))) != 0
    }

    async fn replace_home(&self, cond: u64, value: u64) -> Result<u64> {
        Ok(self.step(Access::ReplaceHome { cond, value }).await)
    }

    async fn fetch_own(&self, half: OwnHalf) -> Result<u64> {
        Ok(self.step(Access::FetchOwn(half)).await)
    }

    async fn clear_behind(&self) -> Result<()> {
        self.step(Access::ClearBehind).await;
        Ok(())
    }

    async fn replace_behind(&self, name: u16, cond: u32, value: u32) -> Result<Option<u32>> {
        let found = self.step(Access::ReplaceBehind { name, cond, value }).await;
        let is_lost = self.job.lock().unwrap().knows(self.name, name);
        Ok((self.note(is_lost.into()) == 0).then_some(found as u32))
    }

    async fn ring(&self, name: u16) -> Result<()> {
        self.step(Access::Ring(name)).await;
        Ok(())
    }

    async fn wait(&self, half: OwnHalf, seen: u64, view: u16, _before: Option<u16>) -> Result<()> {
        self.step(Access::Wait { half, seen, view }).await;
        Ok(())
    }

    async fn wait_known(&self, view: u16) -> Result<()> {
        self.step(Access::WaitKnown(view)).await;
        Ok(())
    }
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    Step(u16),
    /// This PE learns of the next loss.
    Learn(u16),
    /// This PE dies.
    Die(u16),
    /// What a lost PE sent arrives.
    Arrive(usize),
}

/// Runs the PEs with what `choose` takes among the possible events, until it takes none. Returns
/// where that leads, as a hash, and how many events are possible there.
fn run(pes: &[&[bool]], deaths: usize, mut choose: impl FnMut(&[Event]) -> Option<usize>) -> (u64, usize) {
    let words = || vec![0; pes.len() + 1];
    let zeroed = Job { rings: words(), behind: words(), known: vec![0; pes.len() + 1], ..Job::default() };
    let job = Mutex::new(zeroed);
    let names = 1..=pes.len() as u16;
    let doers: Vec<_> = names.clone().map(|name| Pe::new(name, &job)).collect();
    let lives = doers.iter().zip(pes).map(|(pe, rounds)| pe.live(rounds));
    let mut lives: Vec<_> = lives.map(|life| Some(Box::pin(life))).collect();
    let mut poll = |name: u16| {
        let life = &mut lives[usize::from(name) - 1];
        let polled = life.as_mut().map(|it| it.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        if polled.is_some_and(|polled| polled.is_ready()) {
            *life = None;
        }
        life.is_some()
    };
    // The first poll of each only says what its first step is.
    let mut busy: Vec<_> = names.clone().filter(|&name| poll(name)).collect();
    let next = |name: u16| *doers[usize::from(name) - 1].next.lock().unwrap();
    let possible = |busy: &[u16]| {
        let job = job.lock().unwrap();
        let mut events: Vec<_> = busy
            .iter()
            .filter(|&&name| next(name).is_some_and(|access| job.is_ready(name, access)))
            .map(|&name| Event::Step(name))
            .collect();
        let alive = names.clone().filter(|name| !job.lost.contains(name));
        let unaware = alive.filter(|&name| job.known[usize::from(name)] < job.lost.len());
        events.extend(unaware.map(Event::Learn));
        events.extend((0..job.late.len()).map(Event::Arrive));
        let goes_on = !events.is_empty();
        if job.lost.len() < deaths {
            events.extend(busy.iter().filter(|&&name| name != HOME).map(|&name| Event::Die(name)));
        }
        (events, goes_on)
    };
    let mut chosen = Vec::new();
    let n_possible = loop {
        let (events, goes_on) = possible(&busy);
        assert!(goes_on || busy.is_empty(), "no PE can go on after {chosen:?}");
        if events.is_empty() {
            break 0;
        }
        let Some(choice) = choose(&events) else { break events.len() };
        chosen.push(events[choice]);
        match events[choice] {
            Event::Step(name) => {
                if !poll(name) {
                    busy.retain(|&other| other != name);
                }
            }
            Event::Learn(name) => {
                let mut job = job.lock().unwrap();
                job.known[usize::from(name)] += 1;
                let lost = job.lost[job.known[usize::from(name)] - 1];
                job.late.retain(|&(from, access)| from != lost || Job::target(from, access) != Some(name));
            }
            Event::Die(name) => {
                busy.retain(|&other| other != name);
                let mut job = job.lock().unwrap();
                job.lost.push(name);
                if let Some(sent) = next(name)
                    && Job::target(name, sent).is_some_and(|pe| !job.lost.contains(&pe))
                {
                    job.late.push((name, sent));
                }
                if job.holder == name {
                    (job.holder, job.is_broken) = (0, true);
                }
            }
            Event::Arrive(at) => {
                let mut job = job.lock().unwrap();
                let (from, access) = job.late.remove(at);
                job.make(from, access);
            }
        }
    };
    let job = job.lock().unwrap();
    if job.lost.is_empty() {
        assert!(job.came.starts_with(&job.got), "the lock went to PEs in another order than they came");
    }
    if busy.is_empty() {
        let owner = Queue::of(job.home).owner;
        assert!(owner == 0 || job.lost.contains(&owner), "the lock stays taken");
    }
    let mut hasher = DefaultHasher::new();
    job.hash(&mut hasher);
    for pe in &doers {
        (&*pe.seen.lock().unwrap(), *pe.next.lock().unwrap()).hash(&mut hasher);
    }
    (hasher.finish(), n_possible)
}

/// All states that PEs come to of which this many die.
fn all_states(pes: &[&[bool]], deaths: usize) -> usize {
    explore(|path| {
        let mut choices = path.iter().copied();
        run(pes, deaths, |_| choices.next())
    })
}

const SET: bool = false;
const TEST: bool = true;

#[test]
fn one_pe_at_a_time_in_the_order_of_their_coming_in_every_interleaving() {
    for pes in [
        &[&[SET, SET][..], &[SET, TEST]][..],
        &[&[], &[SET, SET], &[SET, TEST]],
        &[&[], &[SET], &[SET], &[TEST]],
    ] {
        assert!(all_states(pes, 0) > 1000, "PEs meet at many points");
    }
}

#[test]
fn lost_pes_keep_no_lock_and_no_pe_waiting_wherever_they_die() {
    for pes in [&[&[SET][..], &[SET, SET]][..], &[&[TEST, SET], &[SET]], &[&[], &[SET], &[SET]]] {
        assert!(all_states(pes, 1) > 1000, "PEs meet at many points");
    }
}

#[test]
fn lost_pes_keep_no_lock_and_no_pe_waiting_in_random_orders() {
    let walks = std::env::var("WALKS").ok().and_then(|text| text.parse().ok()).unwrap_or(4000);
    for (pes, deaths) in [
        (&[&[SET, TEST, SET][..], &[SET, SET], &[SET, SET]][..], 1),
        (&[&[SET, SET], &[SET, SET, TEST], &[SET, SET]], 2),
        (&[&[], &[SET, SET], &[SET, TEST], &[SET, SET]], 2),
        (&[&[SET], &[SET], &[SET], &[SET]], 1),
        (&[&[SET, SET], &[SET, SET], &[SET, SET], &[TEST, SET], &[SET, SET]], 3),
    ] {
        for seed in 1..=walks {
            let mut random: u64 = seed;
            let mut below = |bound: usize| {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (random >> 33) as usize % bound
            };
            // Most PEs live long enough to meet others.
            run(pes, deaths, |events| {
                loop {
                    let choice = below(events.len());
                    if !matches!(events[choice], Event::Die(_)) || below(16) == 0 {
                        break Some(choice);
                    }
                }
            });
        }
    }
}
