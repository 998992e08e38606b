//! One sort after the other: the buckets, the phases, and the check of the result.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use futures::future::try_join_all;
use oxshmem::{collections::Array, prelude::*};

use crate::keys::{Grouped, Tally, home, tally, together};

/// The names of the phases.
pub(crate) const PHASES: [&str; 4] = ["group", "offsets", "exchange", "sort"];

/// What the PEs need to sort, and the sorted keys of this one.
pub(crate) struct Sorter {
    world: World,
    /// Where keys arrive, in any order: a block for each PE.
    buckets: Array<u32>,
    /// How many keys each bucket has.
    filled: Array<u64>,
    /// Of the keys that each PE made, and of those that it has sorted.
    tallies: [Array<Tally>; 2],
    me: usize,
    n: usize,
    room: usize,
    sorted: Vec<u32>,
}

impl Sorter {
    /// For `keys` keys on each PE. Collective.
    pub(crate) async fn new(world: &World, keys: usize) -> oxshmem::Result<Self> {
        let (me, n) = (world.my_pe(), world.n_pes());
        // A bucket gets as many on average, with a deviation of the root of that.
        let room = keys + 10 * keys.isqrt() + 64;
        Ok(Self {
            world: world.clone(),
            buckets: Array::new(world, n * room).await?,
            filled: Array::new(world, n).await?,
            tallies: [Array::new(world, n).await?, Array::new(world, n).await?],
            me,
            n,
            room,
            sorted: Vec::with_capacity(room),
        })
    }

    /// Sorts the keys of all PEs. Returns how long each phase took on this one. Collective.
    pub(crate) async fn sort(&mut self, keys: &[u32]) -> Result<[Duration; PHASES.len()], Box<dyn Error>> {
        let mut clock = Clock::start();
        let [group, offsets, exchange, sort] = PHASES;

        self.world.phase(group);
        let grouped = Grouped::new(keys, self.n);
        let group = clock.lap();

        self.world.phase(offsets);
        // All buckets are free from here on.
        self.filled.fill(0).await?;
        let counts = (0..self.n).map(|pe| grouped.of(pe).len() as u64);
        let starts = try_join_all(counts.enumerate().map(|(pe, count)| self.filled.fetch_add(pe, count)));
        let starts = starts.await?;
        let offsets = clock.lap();

        self.world.phase(exchange);
        // Each PE begins with another one, so that they do not all write to the same.
        for pe in (self.me..self.n).chain(0..self.me) {
            let (keys, start) = (grouped.of(pe), starts[pe] as usize);
            if start + keys.len() > self.room {
                return Err(format!("PE {pe} has room for {} keys, and gets more", self.room).into());
            }
            self.buckets.put_range(pe * self.room + start, keys);
        }
        self.buckets.sync().await?;
        let exchange = clock.lap();

        self.world.phase(sort);
        self.sorted.resize(self.filled.get(self.me).await? as usize, 0);
        self.buckets.local().slice(..self.sorted.len()).read(&mut self.sorted);
        self.sorted.sort_unstable();
        Ok([group, offsets, exchange, clock.lap()])
    }

    /// An error if the keys are not in order, or are not those that were to be sorted: `made` on
    /// this PE. Buckets follow each other, as all keys of a bucket are in its range. Collective.
    pub(crate) async fn verify(&self, made: &[u32]) -> Result<(), Box<dyn Error>> {
        let Self { sorted, me, n, .. } = self;
        if !sorted.is_sorted() {
            return Err("the keys of this PE are not sorted".into());
        }
        if let Some(key) = sorted.iter().find(|&&key| home(key, *n) != *me) {
            return Err(format!("key {key} belongs to PE {}", home(*key, *n)).into());
        }
        let mut totals = [[0; 3]; 2];
        for ((tallies, keys), total) in self.tallies.iter().zip([made, sorted]).zip(&mut totals) {
            tallies.fill_with(|_| tally(keys)).await?;
            *total = tallies.reduce(*total, together).await?;
        }
        let [before, after] = totals;
        if before != after {
            return Err(format!("number, sum and exclusive or were {before:?}, and are {after:?}").into());
        }
        Ok(())
    }
}

/// Measures one phase after the other.
struct Clock(Instant);

impl Clock {
    fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it is since the last lap.
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut self.0, now))
    }
}
