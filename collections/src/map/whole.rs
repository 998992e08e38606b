//! The map as a whole: what it has, and how it grows.

use std::sync::atomic::{Ordering, fence};

use oxshmem_base::Result;
use oxshmem_spaces::Element;

use super::{
    Map,
    pool::Pool,
    word::{from_word, from_words},
};
use crate::Home;

/// What a [`Map`] has, on all PEs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapStats {
    /// Keys with a value.
    pub entries: usize,
    /// Keys that were removed, and whose slots were not given back.
    pub removed: usize,
    /// Slots, with those that are free.
    pub slots: usize,
    /// How many slots are read to find the key that is farthest from its first.
    pub longest_probe: usize,
    /// Entries of the PE that has most.
    pub most_on_a_pe: usize,
}

impl MapStats {
    /// How many words PEs give each other.
    pub(super) const WORDS: usize = 3;
}

impl<K: Element + Eq, V: Element> Map<K, V> {
    /// The entries that this PE has: each as it is when the iterator comes to it. Those that are
    /// inserted meanwhile may be missing. It reads this PE's memory alone.
    ///
    /// ```
    /// # use oxshmem::{collections::Map, prelude::*};
    /// # LocalCluster::run(3, |world| async move {
    /// let squares = Map::<u32, u64>::new(&world, 100).await?;
    /// if world.my_pe() == 0 {
    ///     squares.insert_all((0..100).map(|n| (n, u64::from(n * n)))).await?;
    /// }
    /// world.barrier_all().await?;
    /// for (n, square) in squares.local() {
    ///     assert_eq!(square, u64::from(n * n));
    ///     assert_eq!(squares.pe_of(n), world.my_pe());
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn local(&self) -> impl Iterator<Item = (K, V)> {
        self.local_keys().filter_map(|(slot, key)| Some((key, self.local_value(slot)?)))
    }

    /// Calls `each` with each entry that this PE has, as [`local`](Self::local) finds them.
    pub fn for_each_local(&self, each: impl FnMut((K, V))) {
        self.local().for_each(each);
    }

    /// How many keys have a value. Collective over the team; what other PEs change meanwhile may
    /// count or not.
    ///
    /// # Errors
    /// The errors of `Team::fcollect`.
    pub async fn len(&self) -> Result<usize> {
        Ok(self.stats().await?.entries)
    }

    /// Whether no key has a value. Collective over the team.
    ///
    /// # Errors
    /// The errors of [`len`](Self::len).
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(self.len().await? == 0)
    }

    /// What the map has, the same on all PEs. Collective over the team; what other PEs change
    /// meanwhile may count or not.
    ///
    /// # Errors
    /// The errors of `Team::fcollect`.
    ///
    /// ```
    /// # use oxshmem::{collections::Map, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let map = Map::<u64, f32>::new(&world, 100).await?;
    /// map.insert(5, 0.5).await?; // by both PEs
    /// map.insert(6 + world.my_pe() as u64, 1.0).await?;
    /// world.barrier_all().await?;
    /// map.remove(5).await?;
    /// let stats = map.stats().await?;
    /// assert_eq!((stats.entries, stats.removed), (2, 1));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn stats(&self) -> Result<MapStats> {
        // Others may have changed what this PE has, up to the call.
        self.team.sync().await?;
        let mut mine = [0; MapStats::WORDS];
        for (slot, key) in self.local_keys() {
            mine[usize::from(self.local_value(slot).is_none())] += 1;
            if slot < self.slots {
                mine[2] = mine[2].max(1 + self.distance(&self.seek(&key), slot) as u64);
            }
        }
        let n = self.team.n_pes();
        let (all, own) = (self.given.slice(..MapStats::WORDS * n), self.given.slice(MapStats::WORDS * n..));
        own.write(&mine);
        self.team.fcollect(all, own).await?;
        let words = all.to_vec();
        // Before another call writes there.
        self.team.sync().await?;
        let mut stats = MapStats { slots: n * (self.slots + 1), ..MapStats::default() };
        for of_pe in words.chunks(MapStats::WORDS) {
            let &[entries, removed, longest_probe] = of_pe else { unreachable!("as long as that") };
            stats.entries += entries as usize;
            stats.removed += removed as usize;
            stats.longest_probe = stats.longest_probe.max(longest_probe as usize);
            stats.most_on_a_pe = stats.most_on_a_pe.max(entries as usize);
        }
        Ok(stats)
    }

    /// Doubles its capacity, in new memory of `home`, whose PEs must be those of the map's team.
    /// Keys that were removed no longer take slots. Collective; no PE has another call under way.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new); the map is what it was then. Those of operations of this
    /// PE whose futures were dropped; the map has grown then.
    ///
    /// ```
    /// # use oxshmem::{collections::Map, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let mut map = Map::<u64, u64>::new(&world, 10).await?;
    /// map.insert(world.my_pe() as u64, 5).await?;
    /// map.grow(&world).await?;
    /// assert_eq!((map.capacity(), map.len().await?), (20, 2));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn grow(&mut self, home: &impl Home) -> Result<()> {
        let other = Self::new(home, (2 * self.capacity).max(1)).await?;
        let dropped = self.still().await?;
        // The PE of a key is the same: nothing leaves this one.
        for (key, value) in self.local() {
            other.insert(key, value).await?;
        }
        self.team.sync().await?;
        *self = other;
        dropped
    }

    /// Removes all keys. Collective over the team; no PE has another call under way.
    ///
    /// # Errors
    /// The errors of `Team::sync`, and those of operations of this PE whose futures were dropped.
    pub async fn clear(&mut self) -> Result<()> {
        let dropped = self.still().await?;
        self.table.view().fill(0);
        self.keys.iter_mut().chain(&mut self.values).for_each(Pool::reset);
        self.team.sync().await?;
        dropped
    }

    /// Ready when nothing is under way any more, with what became of operations whose futures were
    /// dropped.
    async fn still(&self) -> Result<Result<()>> {
        let dropped = self.ctx.quiet().await;
        self.team.sync().await?;
        Ok(dropped)
    }

    /// The keys that have slots of this PE, with their slots.
    fn local_keys(&self) -> impl Iterator<Item = (usize, K)> {
        let words = self.table.view().to_vec();
        fence(Ordering::Acquire);
        (0..=self.slots).filter_map(move |slot| {
            let control = words[2 * slot];
            // The last is the slot of the key that is 0.
            let is_bound = control != 0 || (slot == self.slots && words[2 * slot + 1] != 0);
            is_bound.then(|| match &self.keys {
                Some(pool) => (slot, from_words(&pool.node(control as u32 - 1).to_vec())),
                None => (slot, from_word(control)),
            })
        })
    }

    /// The value in a slot of this PE.
    fn local_value(&self, slot: usize) -> Option<V> {
        let at = self.table.at(2 * slot + 1);
        let mut word = at.load();
        loop {
            let Some(pool) = &self.values else { return (word != 0).then(|| from_word(word)) };
            let node = pool.node((word as u32).checked_sub(1)?);
            fence(Ordering::Acquire);
            let words = node.to_vec();
            // As where others read it.
            fence(Ordering::Acquire);
            let again = at.load();
            if again == word {
                return Some(from_words(&words));
            }
            word = again;
        }
    }
}
