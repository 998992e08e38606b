//! [`Map`]: a hash map over the PEs of a team, by one-sided operations.
//!
//! The high bits of a key's hash give its PE, the low bits the first slot that it may have there;
//! it has the first that was free from there on. A slot is two words. The first is 0 while it is
//! free. A compare-and-swap makes it a key's, for as long as the table stands: so whatever comes
//! to a free slot knows that the key is nowhere. The second word is the value, or 0 if there is
//! none.
//!
//! A key of at most 8 bytes is the first word itself. (One of 8 bytes would be 0: that key has a
//! slot of its own behind the others.) A longer key is in a node, whose number the word has beside
//! bits of the hash; it is written before. So it is with values, whose word has a count of changes
//! beside the node's number: a reader that finds the same word before and after it has read a node
//! has read it whole.
//!
//! In this way no operation takes more than one atomic to be done, and no slot is ever held. An
//! operation that is dropped has happened or not, a PE that is lost leaves nothing half changed,
//! and no operation waits for another PE.
//!
//! | module | |
//! |---|---|
//! | `batch` | many keys at once |
//! | `pool` | nodes |
//! | `probe` | the slot of a key, and the change of its value |
//! | `whole` | the map as a whole: length, statistics, growth |
//! | `word` | keys and values as words; the hash |

mod batch;
mod pool;
mod probe;
mod whole;
mod word;

use std::{fmt, future::Future, marker::PhantomData};

use bytemuck::bytes_of;
use oxshmem_base::Result;
use oxshmem_ops::{Context, ContextOptions, StandardAmo, order::Quiet};
use oxshmem_spaces::{Element, SymSlice};
use oxshmem_teams::Team;

pub use self::whole::MapStats;
use self::{
    pool::Pool,
    probe::WINDOW,
    word::{UNSTORABLE, is_word, sum},
};
use crate::Home;

/// A hash map whose entries are distributed over all PEs of a team, by their keys.
///
/// Every PE reads and changes every entry, wherever that is; the PE that has it need not call
/// anything. For each key, operations are linearizable: each takes effect at one moment between its
/// call and the end of its future, for all PEs. A future does nothing before its first poll. If it
/// is dropped later, its operation happens or not, up to the next [`quiet`](Self::quiet), and the
/// map goes on.
///
/// Keys are equal if their bytes are. A key of up to 8 bytes takes no memory beside its slot of 16
/// bytes, nor does a value; longer ones are in nodes. Between hosts, reading takes one round trip,
/// and one more for a key and two for a value in a node. An operation that changes a value in a
/// node waits while 16 others of its PE do so on the same PE.
///
/// A key that is removed keeps its slot until [`grow`](Self::grow) or [`clear`](Self::clear).
///
/// # Errors
/// All operations have the errors of [`Context::get`], such as
/// [`PeLost`](oxshmem_base::Error::PeLost) where the PE with the entry is lost. Those that store a
/// value have
/// [`CollectionFull`](oxshmem_base::Error::CollectionFull), and of values of 8 bytes they refuse
/// [`UNSTORABLE`](Self::UNSTORABLE) with [`Unsupported`](oxshmem_base::Error::Unsupported).
///
/// ```
/// use oxshmem::{collections::Map, prelude::*};
///
/// LocalCluster::run(4, |world| async move {
///     let ages = Map::<[u8; 8], u32>::new(&world, 1000).await?;
///     if world.my_pe() == 1 {
///         assert_eq!(ages.insert(*b"Ada     ", 36).await?, None);
///         assert_eq!(ages.insert(*b"Ada     ", 37).await?, Some(36));
///     }
///     ages.add(*b"visitors", 1).await?; // by each PE
///     world.barrier_all().await?;
///     assert_eq!(ages.get(*b"Ada     ").await?, Some(37));
///     assert_eq!(ages.get(*b"visitors").await?, Some(4));
///     assert_eq!(ages.len().await?, 2);
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct Map<K: Element + Eq, V: Element> {
    /// [`WINDOW`] slots at least, and the slot of the key whose word is 0.
    table: SymSlice<u64>,
    keys: Option<Pool>,
    values: Option<Pool>,
    /// What PEs give each other.
    given: SymSlice<u64>,
    capacity: usize,
    slots: usize,
    team: Team,
    ctx: Context,
    entries: PhantomData<fn(K) -> V>,
}

impl<K: Element + Eq, V: Element> Map<K, V> {
    /// Of values of 8 bytes, those with these bits cannot be stored: as a number, as a signed
    /// number -3 278 483 444 659 321, and as a floating point number a signalling NaN that no
    /// arithmetic makes.
    pub const UNSTORABLE: u64 = UNSTORABLE;

    /// An empty map with room for `capacity` entries in all. Collective over the PEs of a world or
    /// a space.
    ///
    /// Keys do not spread evenly. So each PE has some more slots than its part: about a third, and
    /// six times the square root of it.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed` and of `Team::create_context`.
    ///
    /// # Panics
    /// If a PE would have 2^32 slots or more.
    pub async fn new(home: &impl Home, capacity: usize) -> Result<Self> {
        let team = home.home_team();
        let part = capacity.div_ceil(team.n_pes());
        let spread = if team.n_pes() > 1 { 6 * part.isqrt() } else { 0 };
        let slots = (part + spread).div_ceil(3) * 4 + WINDOW;
        assert!(u32::try_from(slots).is_ok(), "a map of {slots} slots on each PE");
        let table = home.allocate(2 * (slots + 1)).await?;
        let keys = if is_word::<K>() { None } else { Some(Pool::new(home, size_of::<K>(), slots).await?) };
        let values = if is_word::<V>() { None } else { Some(Pool::new(home, size_of::<V>(), slots).await?) };
        let given = home.allocate(MapStats::WORDS * (team.n_pes() + 1)).await?;
        let ctx = team.create_context(ContextOptions::new())?;
        Ok(Self { table, keys, values, given, capacity, slots, team, ctx, entries: PhantomData })
    }

    /// For how many entries it was made.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The team whose PEs have it.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// The PE that has the entry of a key, if there is one.
    pub fn pe_of(&self, key: K) -> usize {
        self.seek(&key).pe
    }

    /// Ready when every operation of this PE whose future was dropped has happened, or will not
    /// happen any more.
    ///
    /// # Errors
    /// The oldest error of such an operation; see [`Context::quiet`].
    pub fn quiet(&self) -> Quiet {
        self.ctx.quiet()
    }

    /// The value of a key.
    pub fn get(&self, key: K) -> impl Future<Output = Result<Option<V>>> + Send {
        self.change(key, |_| None)
    }

    /// Sets the value of a key, and returns the one before.
    pub fn insert(&self, key: K, value: V) -> impl Future<Output = Result<Option<V>>> + Send {
        self.change(key, move |_| Some(Some(value)))
    }

    /// The value of a key, which is set to this one if there is none.
    ///
    /// ```
    /// # use oxshmem::{collections::Map, prelude::*};
    /// # LocalCluster::run(4, |world| async move {
    /// let leader = Map::<(), usize>::new(&world, 1).await?;
    /// let chosen = leader.get_or_insert((), world.my_pe()).await?; // the same on all PEs
    /// assert_eq!(leader.get(()).await?, Some(chosen));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn get_or_insert(&self, key: K, value: V) -> Result<V> {
        let found = self.change(key, |found| found.is_none().then_some(Some(value))).await?;
        Ok(found.unwrap_or(value))
    }

    /// Removes a key, and returns its value.
    pub fn remove(&self, key: K) -> impl Future<Output = Result<Option<V>>> + Send {
        self.change(key, |found| found.is_some().then_some(None))
    }

    /// Sets or removes the value of a key if it is `expected`, where `None` is no value. Otherwise
    /// it returns the value that was found, as the inner error. The bytes of values are compared.
    ///
    /// ```
    /// # use oxshmem::{collections::Map, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let map = Map::<u32, [f64; 3]>::new(&world, 10).await?;
    /// if world.my_pe() == 0 {
    ///     assert_eq!(map.compare_update(7, None, Some([0.5; 3])).await?, Ok(()));
    ///     assert_eq!(map.compare_update(7, Some([0.0; 3]), None).await?, Err(Some([0.5; 3])));
    ///     assert_eq!(map.compare_update(7, Some([0.5; 3]), None).await?, Ok(()));
    ///     assert_eq!(map.get(7).await?, None);
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn compare_update(
        &self,
        key: K,
        expected: Option<V>,
        new: Option<V>,
    ) -> Result<Result<(), Option<V>>> {
        let is_expected = |found: &Option<V>| match (found, &expected) {
            (Some(found), Some(expected)) => bytes_of(found) == bytes_of(expected),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        let found = self.change(key, |found| is_expected(&found).then_some(new)).await?;
        Ok(if is_expected(&found) { Ok(()) } else { Err(found) })
    }

    /// Replaces the value of a key by what `of` makes of it, where `None` is no value, and returns
    /// the one before. It calls `of` again if another operation comes first.
    ///
    /// ```
    /// # use oxshmem::{collections::Map, prelude::*};
    /// # LocalCluster::run(4, |world| async move {
    /// let best = Map::<u64, [f64; 2]>::new(&world, 10).await?;
    /// let mine = [world.my_pe() as f64, 0.5];
    /// best.update(3, |found| found.filter(|best| best[0] > mine[0]).or(Some(mine))).await?;
    /// world.barrier_all().await?;
    /// assert_eq!(best.get(3).await?, Some([3.0, 0.5]));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn update(
        &self,
        key: K,
        mut of: impl FnMut(Option<V>) -> Option<V> + Send,
    ) -> impl Future<Output = Result<Option<V>>> + Send {
        self.change(key, move |found| Some(of(found)))
    }
}

impl<K: Element + Eq, V: StandardAmo> Map<K, V> {
    /// Adds to the value of a key, wrapping, and returns the one before. No value counts as 0, and
    /// is a value from then on.
    pub fn add(&self, key: K, value: V) -> impl Future<Output = Result<Option<V>>> + Send {
        self.change(key, move |found| Some(Some(found.map_or(value, |found| sum(found, value)))))
    }
}

impl<K: Element + Eq, V: Element> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, slots, .. } = self;
        write!(f, "Map of {capacity} entries, with {slots} slots on each PE")
    }
}
