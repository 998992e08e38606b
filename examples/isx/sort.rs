//! One sort after the other: the buckets in symmetric memory, the phases, and the check of the
//! result.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use oxshmem::prelude::*;

use crate::keys::{Grouped, home, tally};

/// The names of the phases.
pub(crate) const PHASES: [&str; 4] = ["group", "offsets", "exchange", "sort"];

/// What a PE needs to sort, and its sorted keys.
pub(crate) struct Sorter<'a> {
    world: &'a World,
    /// Where keys arrive, in any order.
    bucket: SymSlice<u32>,
    /// Keys that have arrived, from the beginning on.
    arrived: SymSlice<u64>,
    /// How many keys had arrived before this sort.
    before: u64,
    /// Keys that go to each PE, and how many the PEs before this one send there.
    counts: SymSlice<u64>,
    offsets: SymSlice<u64>,
    /// Keys that come from each PE.
    incoming: SymSlice<u64>,
    /// How many sorted keys there are, the lowest, and the highest.
    edges: SymSlice<u64>,
    /// For the comparison of what was sorted with what came out: numbers and sums, and exclusive
    /// ors.
    sums: SymSlice<u64>,
    xors: SymSlice<u64>,
    sorted: Vec<u32>,
}

impl<'a> Sorter<'a> {
    /// For `keys` keys on each PE. Collective.
    pub(crate) async fn new(world: &'a World, keys: usize) -> oxshmem::Result<Self> {
        let n = world.n_pes();
        // A bucket gets as many on average, with a deviation of the root of that.
        let room = keys + 10 * (keys as f64).sqrt() as usize + 64;
        Ok(Self {
            world,
            bucket: world.alloc(room).await?,
            arrived: world.alloc_zeroed(1).await?,
            before: 0,
            counts: world.alloc(n).await?,
            offsets: world.alloc(n).await?,
            incoming: world.alloc(n).await?,
            edges: world.alloc(3).await?,
            sums: world.alloc(4).await?,
            xors: world.alloc(2).await?,
            sorted: Vec::with_capacity(room),
        })
    }

    /// Sorts the keys of all PEs. Returns how long each phase took on this one. Collective.
    pub(crate) async fn sort(&mut self, keys: &[u32]) -> Result<[Duration; PHASES.len()], Box<dyn Error>> {
        let mut clock = Clock::start();

        let grouped = Grouped::new(keys, self.world.n_pes());
        let group = clock.lap();

        self.counts.view().write(&grouped.counts());
        let team = self.world.team();
        let offsets = team.sum_exscan(&self.offsets, &self.counts);
        let incoming = team.alltoall(&self.incoming, &self.counts);
        // No PE's ends before all PEs have come, so all buckets are free from here on.
        tokio::try_join!(offsets, incoming)?;
        let offsets = clock.lap();

        self.exchange(&grouped).await?;
        let exchange = clock.lap();

        let count = self.incoming.view().to_vec().iter().sum::<u64>() as usize;
        self.sorted.resize(count, 0);
        self.bucket.slice(..count).read(&mut self.sorted);
        self.sorted.sort_unstable();
        Ok([group, offsets, exchange, clock.lap()])
    }

    /// Sends every PE its keys, and waits until this PE's are here.
    async fn exchange(&mut self, grouped: &Grouped) -> Result<(), Box<dyn Error>> {
        let (me, n) = (self.world.my_pe(), self.world.n_pes());
        let ctx = self.world.context();
        let offsets = self.offsets.view().to_vec();
        // Each PE begins with another one, so that they do not all write to the same.
        for pe in (me..n).chain(0..me) {
            let (keys, start) = (grouped.of(pe), offsets[pe] as usize);
            let end = start + keys.len();
            if end > self.bucket.len() {
                return Err(format!("PE {pe} has room for {} keys, and gets more", self.bucket.len()).into());
            }
            let signal = Signal::Add(keys.len() as u64);
            // The slice is copied before the call returns. An error comes from `quiet`.
            drop(ctx.put_signal_nbi(self.bucket.slice(start..end), keys, self.arrived.at(0), signal, pe));
        }
        self.before += self.incoming.view().to_vec().iter().sum::<u64>();
        let arrived = self.arrived.at(0).wait_until(Cmp::Ge, self.before);
        tokio::try_join!(ctx.quiet(), arrived)?;
        Ok(())
    }

    /// An error if the keys are not in order, or are not those that were to be sorted: `made` on
    /// this PE. Collective.
    pub(crate) async fn verify(&self, made: &[u32]) -> Result<(), Box<dyn Error>> {
        let (me, n) = (self.world.my_pe(), self.world.n_pes());
        let (ctx, team) = (self.world.context(), self.world.team());
        let sorted = &self.sorted;
        if !sorted.is_sorted() {
            return Err("the keys of this PE are not sorted".into());
        }
        if let Some(key) = sorted.iter().find(|&&key| home(key, n) != me) {
            return Err(format!("key {key} belongs to PE {}", home(*key, n)).into());
        }

        // This PE's lowest key against the highest of the PE before it, or of the one before that
        // if it has none.
        let [lowest, highest] = [sorted.first(), sorted.last()].map(|key| key.copied().unwrap_or_default());
        self.edges.view().write(&[sorted.len() as u64, lowest.into(), highest.into()]);
        self.world.barrier_all().await?;
        for pe in (0..me).rev() {
            let [count, _, highest] = ctx.get_into([0; 3], &self.edges, pe).await?;
            if count > 0 {
                if !sorted.is_empty() && u64::from(lowest) < highest {
                    return Err(format!("key {lowest} is lower than {highest} on PE {pe}").into());
                }
                break;
            }
        }

        let (sums, xor) = tally(made);
        let (sorted_sums, sorted_xor) = tally(sorted);
        self.sums.view().write(&[sums, sorted_sums].concat());
        self.xors.view().write(&[xor, sorted_xor]);
        let sums = team.sum_reduce(&self.sums, &self.sums);
        let xors = team.xor_reduce(&self.xors, &self.xors);
        tokio::try_join!(sums, xors)?;
        let sums = self.sums.view().to_vec();
        if sums[..2] != sums[2..] || self.xors.at(0).load() != self.xors.at(1).load() {
            let (before, after) = (&sums[..2], &sums[2..]);
            return Err(
                format!("keys were changed: number and sum were {before:?}, and are {after:?}").into()
            );
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
