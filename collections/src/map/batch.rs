//! Many keys at once: many operations are under way at a time.

use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
};

use bytemuck::bytes_of;
use futures::{StreamExt, TryStreamExt, stream};
use oxshmem_base::Result;
use oxshmem_ops::StandardAmo;
use oxshmem_spaces::Element;

use super::{Map, word::sum};

/// How many operations are under way at a time.
const UNDER_WAY: usize = 64;

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
        state.write(bytes_of(&self.0));
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
        // The futures before the stream: a closure that makes them there would not be `Send`.
        let gets: Vec<_> = keys.into_iter().map(|key| self.get(key)).collect();
        stream::iter(gets).buffered(UNDER_WAY).try_collect().await
    }

    /// Sets the values of these keys. The last value counts of a key that is there twice. All are
    /// set when it is ready.
    ///
    /// # Errors
    /// The first of those of [`insert`](Self::insert); others may have been set then, or not.
    pub async fn insert_all(&self, pairs: impl IntoIterator<Item = (K, V)>) -> Result<()> {
        let pairs: HashMap<_, _> = pairs.into_iter().map(|(key, value)| (Bytes(key), value)).collect();
        let inserts: Vec<_> = pairs.into_iter().map(|(Bytes(key), value)| self.insert(key, value)).collect();
        stream::iter(inserts).buffer_unordered(UNDER_WAY).try_for_each(async |_| Ok(())).await
    }
}

impl<K: Element + Eq, V: StandardAmo> Map<K, V> {
    /// Adds to the values of these keys. What is for the same key is added up here, and then there
    /// at once. All are added when it is ready.
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
        let mut sums = HashMap::new();
        for (key, value) in pairs {
            sums.entry(Bytes(key))
                .and_modify(|sum_of_key| *sum_of_key = sum(*sum_of_key, value))
                .or_insert(value);
        }
        let adds: Vec<_> = sums.into_iter().map(|(Bytes(key), value)| self.add(key, value)).collect();
        stream::iter(adds).buffer_unordered(UNDER_WAY).try_for_each(async |_| Ok(())).await
    }
}
