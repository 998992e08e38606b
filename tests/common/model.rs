//! Collectives against a plain sequential model.
//!
//! What a PE gives to a call is a function of the call's seed, the PE's number in the team and the
//! index, so every PE knows what it must come to without asking anybody. Small whole numbers keep
//! floating point exact in any order. Destinations begin as a pattern, and so do some bytes behind
//! them, which must stay.
#![allow(dead_code, reason = "each test file uses some of it")]

#[path = "model_values.rs"]
mod values;

use Kind::*;
use oxshmem::{Collective, Complex, Element, LongDouble, Result, bytemuck, prelude::*, settings::*};

use crate::common::{Random, is_pending, soon};
pub(crate) use values::Kind;
use values::Value;

/// Element types, as a value.
macro_rules! types {
    ($($variant:ident $name:ty;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Ty { $($variant,)* }

        impl Ty {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(crate) fn size(self) -> usize {
                match self { $(Self::$variant => size_of::<$name>(),)* }
            }

            pub(crate) fn takes(self, kind: Kind) -> bool {
                match self {
                    $(Self::$variant => {
                        let one = <$name>::factor(0);
                        <$name>::combine(kind, one, one).is_some()
                    })*
                }
            }
        }

        impl Call {
            /// What the PE gives, in bytes.
            fn source(&self, me: usize, n: usize) -> Vec<u8> {
                match self.ty { $(Ty::$variant => self.source_of::<$name>(me, n),)* }
            }

            /// What its destination comes to.
            fn result(&self, me: usize, n: usize) -> Vec<u8> {
                match self.ty { $(Ty::$variant => self.result_of::<$name>(me, n),)* }
            }

            /// Makes the call on memory that was prepared for it.
            pub(crate) fn start<'a>(&self, team: &'a Team, slot: Slot<'a>) -> Collective<'a> {
                match self.ty { $(Ty::$variant => self.start_of::<$name>(team, slot),)* }
            }
        }
    };
}

types! {
    I8 i8; I16 i16; I32 i32; I64 i64; Isize isize; U8 u8; U16 u16; U32 u32; U64 u64; Usize usize;
    F32 f32; F64 f64; LongDouble LongDouble; ComplexF32 Complex<f32>; ComplexF64 Complex<f64>;
}

/// One call, the same on all PEs of its team.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) ty: Ty,
    /// Elements that a PE gives, or gives to each PE; of a `collect` at most this many.
    pub(crate) len: usize,
    /// Taken modulo the team's size.
    pub(crate) root: usize,
    pub(crate) in_place: bool,
    pub(crate) strides: [usize; 2],
    pub(crate) seed: u64,
}

/// The memory of a call: some bytes for its destination and its source.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(crate) dest: SymView<'a, u8>,
    pub(crate) source: SymView<'a, u8>,
}

/// Values repeat after this many elements, a prime, so that misplaced blocks are seen.
const PERIOD: usize = 67;
/// What is in memory that nobody has written.
const PATTERN: u8 = 0xa5;
/// Bytes behind a destination and a source that must stay as they are.
const GUARD: usize = 64;

impl Call {
    pub(crate) fn new(kind: Kind, ty: Ty, len: usize) -> Self {
        Self { kind, ty, len, root: 0, in_place: false, strides: [1, 1], seed: len as u64 * 31 + kind as u64 }
    }

    pub(crate) fn random(random: &mut Random, max_bytes: usize) -> Self {
        let ty = Ty::ALL[random.below(Ty::ALL.len() as u64) as usize];
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|&kind| ty.takes(kind)).collect();
        let kind = kinds[random.below(kinds.len() as u64) as usize];
        // Small ones mostly, and those around the limits of slots.
        let bytes = match random.below(8) {
            0 => random.below(3) as usize,
            1 => 96 + random.below(24) as usize,
            2 => 4080 + random.below(32) as usize,
            3 => random.below(max_bytes as u64 + 1) as usize,
            _ => random.below(2000) as usize,
        };
        Self {
            kind,
            ty,
            len: bytes.min(max_bytes) / ty.size(),
            root: random.next() as usize % 64,
            in_place: random.below(2) == 0 && kind.may_be_in_place(),
            strides: [1 + random.below(3) as usize, 1 + random.below(3) as usize],
            seed: random.next(),
        }
    }

    pub(crate) fn in_place(self) -> Self {
        Self { in_place: self.kind.may_be_in_place(), ..self }
    }

    /// Elements of the source and of the destination.
    fn lens(&self, me: usize, n: usize) -> [usize; 2] {
        let len = self.len;
        let spread = |stride: usize| (n * len).checked_sub(1).map_or(0, |last| last * stride + 1);
        match self.kind {
            Sync => [0, 0],
            Fcollect => [len, n * len],
            Collect => [self.given(me), (0..n).map(|pe| self.given(pe)).sum()],
            Alltoall => [n * len, n * len],
            Alltoalls => [spread(self.strides[1]), spread(self.strides[0])],
            _ => [len, len],
        }
    }

    /// Bytes of memory that it needs for its destination or source at most.
    pub(crate) fn room(&self, n: usize) -> usize {
        let most = (0..n).flat_map(|pe| self.lens(pe, n)).max().unwrap_or(0);
        (most * self.ty.size() + GUARD).next_multiple_of(GUARD)
    }

    /// Elements that a PE gives to a `collect`: sometimes none.
    fn given(&self, pe: usize) -> usize {
        match self.hash(pe, 7) % 4 {
            0 => 0,
            1 => self.len,
            _ => self.hash(pe, 8) as usize % (self.len + 1),
        }
    }

    fn hash(&self, pe: usize, i: usize) -> u64 {
        let hash = self.seed ^ (pe as u64 * 128 + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 13
    }

    fn value<T: Value>(&self, pe: usize, i: usize) -> T {
        let hash = self.hash(pe, i % PERIOD);
        if self.kind == Prod { T::factor(hash) } else { T::summand(hash) }
    }

    fn source_of<T: Value>(&self, me: usize, n: usize) -> Vec<u8> {
        cycle(self.lens(me, n)[0], |i| self.value::<T>(me, i))
    }

    fn result_of<T: Value>(&self, me: usize, n: usize) -> Vec<u8> {
        let fold = |pes: std::ops::Range<usize>| {
            cycle(self.len, |i| {
                let values = pes.clone().map(|pe| self.value::<T>(pe, i));
                values
                    .reduce(|a, b| T::combine(self.kind, a, b).expect("it takes that"))
                    .unwrap_or(T::zeroed())
            })
        };
        match self.kind {
            Sync => Vec::new(),
            Broadcast => self.source_of::<T>(self.root % n, n),
            Collect | Fcollect => all(n, |pe| self.source_of::<T>(pe, n)),
            Alltoall => all(n, |pe| cycle(self.len, |i| self.value::<T>(pe, me * self.len + i))),
            Alltoalls => {
                let mut all = all(n, |pe| self.spread_of::<T>(pe, me));
                all.truncate(self.lens(me, n)[1] * size_of::<T>());
                all
            }
            Inscan => fold(0..me + 1),
            Exscan => fold(0..me),
            _ => fold(0..n),
        }
    }

    /// What `pe` gives to `me` in an `alltoalls`, with what stays as it is between the elements and
    /// behind the last.
    fn spread_of<T: Value>(&self, pe: usize, me: usize) -> Vec<u8> {
        let [step, from] = self.strides;
        let step = step * size_of::<T>();
        let mut period = vec![PATTERN; PERIOD * step];
        for (i, place) in period.chunks_mut(step).enumerate() {
            let value = self.value::<T>(pe, (me * self.len + i) * from);
            place[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        }
        let mut all = period.repeat(self.len.div_ceil(PERIOD));
        all.truncate(self.len * step);
        all
    }

    fn start_of<'a, T: Value>(&self, team: &'a Team, slot: Slot<'a>) -> Collective<'a> {
        let n = team.n_pes();
        let [given, taken] = self.lens(team.my_pe(), n);
        let dest = elements::<T>(slot.dest, taken);
        let source = if self.in_place { dest } else { elements::<T>(slot.source, given) };
        match self.kind {
            Sync => team.sync(),
            Broadcast => team.broadcast(dest, source, self.root % n),
            Collect => team.collect(dest, source),
            Fcollect => team.fcollect(dest, source),
            Alltoall => team.alltoall(dest, source),
            Alltoalls => team.alltoalls(dest, source, self.strides[0], self.strides[1], self.len),
            kind => T::reduce(kind, team, dest, source),
        }
    }

    /// Brings a slot into the state before the call.
    pub(crate) fn prepare(&self, team: &Team, slot: Slot<'_>) {
        let source = self.source(team.my_pe(), team.n_pes());
        let [given, taken] = self.lens(team.my_pe(), team.n_pes()).map(|len| len * self.ty.size());
        // Not by `fill`, which takes long in debug builds.
        let pattern = vec![PATTERN; taken.max(given) + GUARD];
        slot.dest.slice(..taken + GUARD).write(&pattern[..taken + GUARD]);
        slot.source.slice(..given + GUARD).write(&pattern[..given + GUARD]);
        let at = if self.in_place { slot.dest } else { slot.source };
        at.slice(..source.len()).write(&source);
    }

    /// Fails if the slot is not as it must be after the call.
    #[track_caller]
    pub(crate) fn check(&self, team: &Team, slot: Slot<'_>) {
        let (me, n) = (team.my_pe(), team.n_pes());
        let [given, taken] = self.lens(me, n).map(|len| len * self.ty.size());
        let mut expected = self.result(me, n);
        assert_eq!(expected.len(), taken, "the model of {self:?}");
        expected.extend([PATTERN; GUARD]);
        self.compare("the destination", me, n, &slot.dest.slice(..taken + GUARD).to_vec(), &expected);
        let mut source = if self.in_place { vec![PATTERN; given] } else { self.source(me, n) };
        source.extend([PATTERN; GUARD]);
        self.compare("the source", me, n, &slot.source.slice(..given + GUARD).to_vec(), &source);
    }

    #[track_caller]
    fn compare(&self, what: &str, me: usize, n: usize, is: &[u8], expected: &[u8]) {
        // At once first: byte by byte is slow in debug builds.
        if is != expected {
            let at = (0..is.len()).find(|&i| is[i] != expected[i]).unwrap_or_default();
            let end = (at + 16).min(is.len());
            panic!(
                "PE {me} of {n}, {self:?}: byte {at} of {what} and those behind it are {:x?}, not {:x?}",
                &is[at..end],
                &expected[at..end]
            );
        }
    }
}

/// What all PEs give, one behind the other.
fn all(n: usize, of: impl FnMut(usize) -> Vec<u8>) -> Vec<u8> {
    (0..n).map(of).collect::<Vec<_>>().concat()
}

/// `len` elements as bytes.
fn cycle<T: Element>(len: usize, value: impl Fn(usize) -> T) -> Vec<u8> {
    let first: Vec<T> = (0..len.min(PERIOD)).map(value).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&first);
    let mut all = bytes.repeat(len.div_ceil(PERIOD));
    all.truncate(len * size_of::<T>());
    all
}

fn elements<T: Element>(bytes: SymView<'_, u8>, len: usize) -> SymView<'_, T> {
    bytes.slice(..len * size_of::<T>()).cast::<T>().expect("slots are aligned")
}

/// What becomes of a call's future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Await,
    Later,
    Drop,
    PollAndDrop,
    Forget,
}

/// A call on one of the teams, as one PE makes it.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    pub(crate) team: usize,
    pub(crate) call: Call,
    pub(crate) way: Way,
}

impl Made {
    /// Some calls, but no more than `most`, on some of `teams` teams: the same on all PEs but for
    /// what becomes of their futures.
    pub(crate) fn some(
        calls: &mut Random,
        ways: &mut Random,
        [most, teams]: [u64; 2],
        most_bytes: usize,
        all_ways: &[Way],
    ) -> Vec<Self> {
        (0..1 + calls.below(most))
            .map(|_| Self {
                team: calls.below(teams) as usize,
                call: Call::random(calls, most_bytes),
                way: all_ways[ways.below(all_ways.len() as u64) as usize],
            })
            .collect()
    }
}

/// Memory for rounds of calls: two blocks, cut into slots as a round needs them.
pub(crate) struct Arena {
    dest: SymSlice<u8>,
    source: SymSlice<u8>,
}

impl Arena {
    pub(crate) async fn new(world: &World, bytes: usize) -> Result<Self> {
        let dest = world.alloc_aligned::<u8>(bytes, 64).await?;
        Ok(Self { dest, source: world.alloc_aligned::<u8>(bytes, 64).await? })
    }

    /// A slot for each call, for as many as there is room for.
    pub(crate) fn slots(&self, n: usize, calls: &[Made]) -> Vec<Slot<'_>> {
        let mut end = 0;
        let slots = calls.iter().map(|made| {
            let start = end;
            // Alike on all PEs, also where teams of the same place in the list differ in size.
            end += made.call.room(n);
            Slot { dest: self.dest.slice(start..end), source: self.source.slice(start..end) }
        });
        slots.collect()
    }

    /// [`round`](Self::round)s of as many calls as there is room for.
    pub(crate) async fn rounds(
        &self,
        world: &World,
        teams: &[Option<Team>],
        mut calls: &[Made],
    ) -> Result<()> {
        while !calls.is_empty() {
            let mut room = self.dest.len();
            let fits = |made: &&Made| {
                let left = room.checked_sub(made.call.room(world.n_pes()));
                room = left.unwrap_or(0);
                left.is_some()
            };
            let (round, rest) = calls.split_at(calls.iter().take_while(fits).count().max(1));
            self.round(world, teams, round).await?;
            calls = rest;
        }
        Ok(())
    }

    /// Makes calls, all in flight together as far as their ways allow, and checks what they come
    /// to. A PE that is not in a team has no call on it.
    pub(crate) async fn round(&self, world: &World, teams: &[Option<Team>], calls: &[Made]) -> Result<()> {
        let slots = self.slots(world.n_pes(), calls);
        let ours = || {
            calls
                .iter()
                .zip(&slots)
                .filter_map(|(made, slot)| Some((made, teams[made.team].as_ref()?, *slot)))
        };
        for (made, team, slot) in ours() {
            made.call.prepare(team, slot);
        }
        world.barrier_all().await?;
        let mut later = Vec::new();
        for (made, team, slot) in ours() {
            let what = format!("PE {} of {}: {:?}", team.my_pe(), team.n_pes(), made.call);
            let mut future = made.call.start(team, slot);
            match made.way {
                Way::Await => soon(&what, future).await?,
                Way::Later => later.push((what, future)),
                Way::Drop => drop(future),
                Way::PollAndDrop => drop(is_pending(&mut future).await),
                Way::Forget => std::mem::forget(future),
            }
        }
        // The last first: a future must not need to be awaited for others to go on.
        while let Some((what, future)) = later.pop() {
            soon(&what, future).await?;
        }
        for team in teams.iter().flatten() {
            soon("the sync after a round", team.sync()).await?;
        }
        for (made, team, slot) in ours() {
            made.call.check(team, slot);
        }
        Ok(())
    }
}

/// Teams of every shape: all, on this host, every other one, reversed, rows, columns, and one
/// nested in another.
pub(crate) async fn teams(world: &World) -> Result<Vec<Option<Team>>> {
    let (all, n) = (world.team(), world.n_pes());
    let evens = all.split_strided(0, 2, n.div_ceil(2)).await?;
    let reversed = all.split_strided(n - 1, -1, n).await?.expect("everybody is in it");
    let (row, column) = reversed.split_2d(n.isqrt().max(1)).await?;
    let nested = match &evens {
        Some(evens) => evens.split_strided(evens.n_pes() - 1, -1, evens.n_pes().div_ceil(2)).await?,
        None => None,
    };
    let shared = Some(world.team_shared().clone());
    Ok(vec![Some(all.clone()), evens, Some(reversed), Some(row), Some(column), nested, shared])
}

/// Ways to do collectives, in sets: every algorithm of every collective is in one of them.
pub(crate) const FORCED: [&str; 6] = ["auto", "slots", "tree", "direct", "ring", "halving"];

/// Settings that ask for one of [`FORCED`].
pub(crate) fn forced(name: &str, mut settings: Settings) -> Settings {
    let s = &mut settings;
    let tuning = match name {
        "slots" => {
            "flat_pes=16,reduced_in_slots=4096,collected_in_slots=4096,gathered_in_slots=4096,pushed=100000000"
        }
        "tree" => "flat_pes=0,reduced_in_tree=4096",
        "direct" => {
            "reduced_in_slots=0,reduced_in_tree=0,collected_in_slots=0,gathered_in_slots=0,pushed=0,block=4096"
        }
        _ => "",
    };
    s.tuning = tuning.to_owned();
    s.sync_algorithm = match name {
        "slots" | "ring" => SyncAlgorithm::Dissemination,
        "direct" => SyncAlgorithm::Counter,
        _ => SyncAlgorithm::Auto,
    };
    (s.broadcast_algorithm, s.reduce_algorithm, s.collect_algorithm, s.alltoall_algorithm) = match name {
        "tree" => (
            BroadcastAlgorithm::Binomial,
            ReduceAlgorithm::Doubling,
            CollectAlgorithm::Bruck,
            AlltoallAlgorithm::Leaders,
        ),
        "ring" => (
            BroadcastAlgorithm::Chain,
            ReduceAlgorithm::Ring,
            CollectAlgorithm::Ring,
            AlltoallAlgorithm::Pairwise,
        ),
        "halving" => (
            BroadcastAlgorithm::Scatter,
            ReduceAlgorithm::Halving,
            CollectAlgorithm::Auto,
            AlltoallAlgorithm::Auto,
        ),
        _ => Default::default(),
    };
    settings
}

/// The settings of [`forced`] as variables of the environment, for processes.
pub(crate) fn forced_variables(name: &str) -> Vec<String> {
    let settings = forced(name, Settings::default());
    vec![
        format!("SHMEM_SYNC_ALGORITHM={}", settings.sync_algorithm),
        format!("SHMEM_BROADCAST_ALGORITHM={}", settings.broadcast_algorithm),
        format!("SHMEM_REDUCE_ALGORITHM={}", settings.reduce_algorithm),
        format!("SHMEM_TUNING={}", if settings.tuning.is_empty() { "auto" } else { &settings.tuning }),
        format!("SHMEM_COLLECT_ALGORITHM={}", settings.collect_algorithm),
        format!("SHMEM_ALLTOALL_ALGORITHM={}", settings.alltoall_algorithm),
    ]
}
