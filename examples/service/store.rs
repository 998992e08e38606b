//! Keys with values and counters in symmetric memory, which every PE reads and writes without
//! asking another.
//!
//! A key's hash says which PE it lives on, and where to look for it there. A *slot* has these
//! parts:
//!
//! | part | what it holds |
//! |---|---|
//! | state | 0 free, 1 being claimed, otherwise bits of the key's hash |
//! | key | the key, valid when the state is a hash, never changed then |
//! | version | 0 no value yet, odd while a PE writes the value, otherwise even |
//! | value | the value |
//! | counter | a number, changed by atomic adds only, so that no increment is ever lost |
//!
//! A free slot is claimed by a `compare_swap` of its state; the claimer writes the key, and then,
//! after `quiet`, the hash. Others that find the slot being claimed wait, as the key may be theirs:
//! so a key has one slot.
//!
//! A value is larger than what is read or written at once, so its version keeps it whole. A writer
//! makes the version odd by a `compare_swap`, which keeps other writers out, writes the value, and
//! then, after `quiet`, makes the version even again, 2 above what it was. A reader reads version,
//! value and version: if both versions are the same even number no PE wrote in between, and
//! otherwise it tries again. So it never returns a torn value, and never keeps a writer waiting.

use std::{
    error::Error,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use oxshmem::{Pod, Zeroable, prelude::*};

/// Bytes that a key or a value has at most.
pub(crate) const LONGEST: usize = 248;

const FREE: u64 = 0;
const CLAIMED: u64 = 1;

/// A key or a value.
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(C)]
struct Text {
    len: u64,
    bytes: [u8; LONGEST],
}

impl Text {
    fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Self { len: text.len() as u64, bytes })
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..(self.len as usize).min(LONGEST)]
    }
}

/// Why the store does not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The key or the value is longer than [`LONGEST`].
    TooLong,
    /// The PE of the key has no free slot.
    Full,
    Failed(oxshmem::Error),
}

impl From<oxshmem::Error> for Refusal {
    fn from(error: oxshmem::Error) -> Self {
        Self::Failed(error)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong => write!(f, "keys and values have at most {LONGEST} bytes"),
            Self::Full => f.write_str("no room for another key; run the service with more --slots"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl Error for Refusal {}

/// The store. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    world: World,
    states: SymSlice<u64>,
    keys: SymSlice<Text>,
    versions: SymSlice<u64>,
    values: SymSlice<Text>,
    counters: SymSlice<u64>,
}

/// Where a key is.
#[derive(Clone, Copy, Debug)]
struct Slot {
    pe: usize,
    index: usize,
}

impl Store {
    /// An empty store with `slots` slots on each PE. Collective.
    pub(crate) async fn new(world: &World, slots: usize) -> oxshmem::Result<Self> {
        Ok(Self {
            world: world.clone(),
            states: world.alloc_zeroed(slots).await?,
            keys: world.alloc(slots).await?,
            versions: world.alloc_zeroed(slots).await?,
            values: world.alloc(slots).await?,
            counters: world.alloc_zeroed(slots).await?,
        })
    }

    /// The value of `key`, if it has one.
    pub(crate) async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        let Some(Slot { pe, index }) = self.find(key, false).await? else { return Ok(None) };
        let ctx = self.world.context();
        let mut patience = Patience::default();
        loop {
            let version = ctx.fetch(self.versions.at(index), pe).await?;
            if version == 0 {
                return Ok(None);
            }
            if version.is_multiple_of(2) {
                let value = ctx.g(self.values.at(index), pe).await?;
                // The version must not be read before the value has been.
                ctx.quiet().await?;
                if ctx.fetch(self.versions.at(index), pe).await? == version {
                    return Ok(Some(value.as_bytes().to_vec()));
                }
            }
            patience.wait().await;
        }
    }

    /// Sets the value of `key`. Once this is ready every PE sees it.
    ///
    /// Must not be dropped half-way, as no PE could write the value any more.
    pub(crate) async fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let value = Text::new(value).ok_or(Refusal::TooLong)?;
        let Slot { pe, index } = self.find(key, true).await?.ok_or(Refusal::Full)?;
        // On a context of its own, `quiet` waits for this value only, and not for those of other
        // requests.
        let ctx = self.world.create_context(ContextOptions::new())?;
        let version = self.versions.at(index);
        let mut patience = Patience::default();
        let before = loop {
            let seen = ctx.fetch(version, pe).await?;
            if seen.is_multiple_of(2) && ctx.compare_swap(version, seen, seen + 1, pe).await? == seen {
                break seen;
            }
            patience.wait().await;
        };
        // A PE that sees a part of the new value must see the odd version too.
        ctx.fence().await?;
        ctx.p(self.values.at(index), value, pe).await?;
        ctx.quiet().await?;
        ctx.set(version, before + 2, pe).await?;
        ctx.quiet().await?;
        Ok(())
    }

    /// Adds `amount` to the counter of `key`, and returns the sum. Must not be dropped half-way.
    pub(crate) async fn add(&self, key: &[u8], amount: u64) -> Result<u64, Refusal> {
        let Slot { pe, index } = self.find(key, true).await?.ok_or(Refusal::Full)?;
        let before = self.world.context().fetch_add(self.counters.at(index), amount, pe).await?;
        Ok(before.wrapping_add(amount))
    }

    /// The counter of `key`, if that has been used for anything.
    pub(crate) async fn counter(&self, key: &[u8]) -> Result<Option<u64>, Refusal> {
        let Some(Slot { pe, index }) = self.find(key, false).await? else { return Ok(None) };
        Ok(Some(self.world.context().fetch(self.counters.at(index), pe).await?))
    }

    /// The slot of `key`. If there is none, one is claimed if `claim`, and if there is room.
    async fn find(&self, key: &[u8], claim: bool) -> Result<Option<Slot>, Refusal> {
        let text = Text::new(key).ok_or(Refusal::TooLong)?;
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        let (n, len) = (self.world.n_pes() as u64, self.states.len());
        let (pe, first) = ((hash % n) as usize, (hash / n) as usize % len);
        // No hash may look like a state that is none.
        let tag = hash | 2;

        let ctx = self.world.context();
        for index in (first..len).chain(0..first) {
            let (state, mut patience) = (self.states.at(index), Patience::default());
            loop {
                match ctx.fetch(state, pe).await? {
                    FREE if !claim => return Ok(None),
                    FREE => {
                        if ctx.compare_swap(state, FREE, CLAIMED, pe).await? == FREE {
                            let ctx = self.world.create_context(ContextOptions::new())?;
                            ctx.p(self.keys.at(index), text, pe).await?;
                            ctx.quiet().await?;
                            ctx.set(state, tag, pe).await?;
                            return Ok(Some(Slot { pe, index }));
                        }
                    }
                    CLAIMED => patience.wait().await,
                    seen if seen == tag && ctx.g(self.keys.at(index), pe).await?.as_bytes() == key => {
                        return Ok(Some(Slot { pe, index }));
                    }
                    _ => break,
                }
            }
        }
        Ok(None)
    }
}

/// How to wait for another PE to finish what takes it a microsecond, unless it does not run just
/// now. There is no word of this PE to wait for.
#[derive(Default)]
struct Patience {
    waits: u32,
}

impl Patience {
    async fn wait(&mut self) {
        self.waits += 1;
        if self.waits <= 16 {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
