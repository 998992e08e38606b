//! Many keys at once: many operations are under way at a time.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hash, Hasher},
    sync::atomic::{AtomicUsize, Ordering},
};

use bytemuck::bytes_of;
use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use oxshmem_base::{Error, Result};
use oxshmem_ops::StandardAmo;
use oxshmem_spaces::Element;

use super::{
    Map,
    word::{hash, sum},
};

/// How many operations are under way at a time.
const UNDER_WAY: usize = 64;

/// How many keys are taken at a time. Among them, those that are the same are found.
const BATCH: usize = 1024;

/// A key by its bytes.
struct Bytes<K>(K);

impl<K: Element> PartialEq for Bytes<K> {
    fn eq(&self, other: &Self) -> bool {
        bytes_of(&self.0) == bytes_of(&other.0)
    }
}

impl<K: Element> Eq for Bytes<K> {}

impl<K: Element> Hash for Bytes<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(hash(&self.0));
    }
}

/// The one word that a key writes, which is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        unreachable!("{} bytes, where a key writes a word", bytes.len())
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl<K: Element + Eq, V: Element> Map<K, V> {
    /// The values of these keys, in their order. Each is read at a moment of its own.
    ///
    /// # Errors
    /// The first of those of [`get`](Self::get).
    ///
    /// ```
    /// # use oxshmem::{collections::Map, prelude::*};
    /// # LocalCluster::run(3, |world| async move {
    /// let squares = Map::<u32, u64>::new(&world, 300).await?;
    /// let mine = world.my_pe() as u32 * 100;
    /// squares.insert_all((mine..mine + 100).map(|n| (n, u64::from(n * n)))).await?;
    /// world.barrier_all().await?;
    /// assert_eq!(squares.get_all([12, 250, 300]).await?, [Some(144), Some(62500), None]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn get_all(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<V>>> {
        let gets: Vec<_> = keys.into_iter().map(|key| (key, ())).collect();
        let mut values = Vec::with_capacity(gets.len());
        for batch in gets.chunks(BATCH) {
            values.extend(self.each(batch, |_, ()| None).await?);
        }
        Ok(values)
    }

    /// Sets the values of these keys. The last value counts of a key that is there twice. All are
    /// set when it is ready.
    ///
    /// # Errors
    /// The first of those of [`insert`](Self::insert); others may have been set then, or not.
    pub async fn insert_all(&self, pairs: impl IntoIterator<Item = (K, V)>) -> Result<()> {
        self.all(pairs.into_iter().collect(), |_, value| value, |_, value| Some(Some(value))).await
    }

    /// Changes the values of keys by `of`, with what is for each. Pairs of the same key become one
    /// by `both`, if they are in the same batch.
    async fn all(
        &self,
        pairs: Vec<(K, V)>,
        both: fn(V, V) -> V,
        of: fn(Option<V>, V) -> Option<Option<V>>,
    ) -> Result<()> {
        for batch in pairs.chunks(BATCH) {
            let mut by_key =
                HashMap::with_capacity_and_hasher(batch.len(), BuildHasherDefault::<Hashed>::default());
            for &(key, value) in batch {
                let for_key = by_key.entry(Bytes(key));
                for_key.and_modify(|first| *first = both(*first, value)).or_insert(value);
            }
            let batch: Vec<_> = by_key.into_iter().map(|(Bytes(key), value)| (key, value)).collect();
            self.each(&batch, of).await?;
        }
        Ok(())
    }

    /// [`change`](Self::change) of these keys by `of`, with what is for each: the values before.
    async fn each<I: Copy + Send + Sync>(
        &self,
        items: &[(K, I)],
        of: fn(Option<V>, I) -> Option<Option<V>>,
    ) -> Result<Vec<Option<V>>> {
        let (next, mut before) = (AtomicUsize::new(0), vec![None; items.len()]);
        // One takes item by item. Where nothing has to be waited for, the first takes all.
        let work = || async {
            let mut found = Vec::new();
            loop {
                // Relaxed: a number and nothing else.
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(key, item)) = items.get(i) else { return Ok::<_, Error>(found) };
                found.push((i, self.change(key, move |value| of(value, item)).await?));
            }
        };
        let mut working = FuturesUnordered::new();
        loop {
            let is_more = working.len() < UNDER_WAY && next.load(Ordering::Relaxed) < items.len();
            let found = if is_more {
                working.push(work());
                working.next().now_or_never()
            } else {
                Some(working.next().await)
            };
            match found {
                Some(Some(found)) => found?.into_iter().for_each(|(i, value)| before[i] = value),
                Some(None) => return Ok(before),
                None => {}
            }
        }
    }
}

impl<K: Element + Eq, V: StandardAmo> Map<K, V> {
    /// Adds to the values of these keys. What is for the same key is added up here first, of each
    /// 1,024 pairs. All are added when it is ready.
    ///
    /// # Errors
    /// The first of those of [`add`](Self::add); others may have been added then, or not.
    ///
    /// ```
    /// # use oxshmem::{collections::Map, prelude::*};
    /// # LocalCluster::run(4, |world| async move {
    /// let letters = Map::<u8, u64>::new(&world, 256).await?;
    /// letters.add_all("abracadabra".bytes().map(|letter| (letter, 1))).await?; // by each PE
    /// world.barrier_all().await?;
    /// assert_eq!(letters.get(b'a').await?, Some(4 * 5));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn add_all(&self, pairs: impl IntoIterator<Item = (K, V)>) -> Result<()> {
        self.all(pairs.into_iter().collect(), sum, |found, value| {
            Some(Some(found.map_or(value, |found| sum(found, value))))
        })
        .await
    }
}
