//! Keys with values and counters, which are two [`Map`]s over all PEs.
//!
//! Keys and values of a map are plain data, so that texts are of one size here. The map keeps a
//! value whole and loses no increment, also where the future of a call is dropped.

use std::{error::Error, fmt, sync::Arc};

use oxshmem::{Pod, Zeroable, collections::Map, prelude::*};

/// Bytes that a key or a value has at most.
pub(crate) const LONGEST: usize = 248;

/// A key or a value. Behind its bytes all is 0, so that equal texts have equal bytes.
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(C)]
struct Text {
    len: u64,
    bytes: [u8; LONGEST],
}

impl Text {
    fn new(text: &[u8]) -> Result<Self, Refusal> {
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..text.len()).ok_or(Refusal::TooLong)?.copy_from_slice(text);
        Ok(Self { len: text.len() as u64, bytes })
    }

    fn into_bytes(self) -> Vec<u8> {
        self.bytes[..self.len as usize].to_vec()
    }
}

/// Why the store does not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The key or the value is longer than [`LONGEST`].
    TooLong,
    Failed(oxshmem::Error),
}

impl From<oxshmem::Error> for Refusal {
    fn from(error: oxshmem::Error) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "keys and values have at most {LONGEST} bytes"),
            Self::Failed(oxshmem::Error::CollectionFull { .. }) => {
                f.write_str("no room for another key; run the service with more --slots")
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl Error for Refusal {}

/// The store. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    values: Arc<Map<Text, Text>>,
    counters: Arc<Map<Text, u64>>,
}

impl Store {
    /// An empty store with room for as many values and as many counters. Collective.
    pub(crate) async fn new(world: &World, capacity: usize) -> oxshmem::Result<Self> {
        Ok(Self {
            values: Arc::new(Map::new(world, capacity).await?),
            counters: Arc::new(Map::new(world, capacity).await?),
        })
    }

    /// The value of `key`, if it has one.
    pub(crate) async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        Ok(self.values.get(Text::new(key)?).await?.map(Text::into_bytes))
    }

    /// Sets the value of `key`. Once this is ready every PE sees it.
    pub(crate) async fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.values.insert(Text::new(key)?, Text::new(value)?).await?;
        Ok(())
    }

    /// The counter of `key`, if it was ever incremented.
    pub(crate) async fn counter(&self, key: &[u8]) -> Result<Option<u64>, Refusal> {
        Ok(self.counters.get(Text::new(key)?).await?)
    }

    /// Increments the counter of `key`, and returns the sum.
    pub(crate) async fn increment(&self, key: &[u8]) -> Result<u64, Refusal> {
        let before = self.counters.add(Text::new(key)?, 1).await?;
        Ok(before.unwrap_or(0) + 1)
    }
}
