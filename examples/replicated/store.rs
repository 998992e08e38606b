//! Numbers under keys, each on two PEs, which go on when a PE is lost.
//!
//! Every PE has room for all keys. A key's *primary* is the PE that its number names, or the next
//! one that is there; its *backup* is the next one after that. Only these two copies count. A copy
//! is a value and a version: 0 at first, odd while a write is under way, otherwise even.
//!
//! A write makes the version of the primary odd by a `compare_swap`, which keeps other writers out,
//! then writes the backup, its version odd meanwhile, and then the primary. So a reader of the
//! primary sees a value only once both copies have it.
//!
//! When a PE is lost, or a replacement is let in, every PE ends the operations under way on it, and
//! begins no more until the store is whole: [`Store::repair`] takes the copy with the highest
//! version of all that are left. A copy that no longer counts has a lower one. If both copies are
//! odd, the write was never acknowledged, and either value is right.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use oxshmem::{Error, Result, Team, Unclaimed, prelude::*};
use tokio::sync::{RwLock, RwLockWriteGuard};

/// How long an operation waits that needs another PE, or a repair, to go on.
const PAUSE: Duration = Duration::from_millis(1);

/// The memory of the store, at the same place on all PEs.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    versions: SymSlice<u64>,
    values: SymSlice<u64>,
    /// What PEs say to each other: see `member.rs`.
    pub(crate) words: SymSlice<u64>,
}

/// Words of [`Memory::words`].
const WORDS: usize = 8;

impl Memory {
    /// Collective.
    pub(crate) async fn new(world: &World, keys: usize) -> Result<Self> {
        Ok(Self {
            versions: world.alloc_zeroed(keys).await?,
            values: world.alloc_zeroed(keys).await?,
            words: world.alloc_zeroed(WORDS).await?,
        })
    }

    /// On a replacement, the memory that the others have. None if it does not have it yet.
    pub(crate) fn claim(world: &World) -> Option<Self> {
        let mut unclaimed = world.unclaimed().into_iter().map(Unclaimed::claim::<u64>);
        Some(Self { versions: unclaimed.next()?, values: unclaimed.next()?, words: unclaimed.next()? })
    }
}

/// The PEs that are there, until that changes.
#[derive(Debug)]
pub(crate) struct Epoch {
    pub(crate) world: World,
    /// Their numbers in the world, in order.
    pub(crate) members: Vec<usize>,
}

impl Epoch {
    /// The members of `team`, which is one of `world`.
    pub(crate) fn new(world: &World, team: &Team) -> Self {
        let members = (0..team.n_pes()).filter_map(|pe| team.world_pe(pe)).collect();
        Self { world: world.clone(), members }
    }

    /// The primary of `key`, and its backup unless one PE is left.
    fn holders(&self, key: usize) -> (usize, Option<usize>) {
        let home = key % self.world.n_pes();
        let first = self.members.iter().position(|&pe| pe >= home).unwrap_or(0);
        let next = (first + 1) % self.members.len();
        (self.members[first], (next != first).then(|| self.members[next]))
    }
}

/// Why an operation has not been done.
enum Stop {
    /// The store is to be repaired first.
    Repair,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error {
            Error::PeLost { .. } => Self::Repair,
            error => Self::Failed(error),
        }
    }
}

/// What has become of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Both copies have it.
    Acknowledged,
    /// A PE was lost meanwhile, and others have written since: it was overwritten, or never done.
    Unknown,
}

/// The store, as one PE sees it.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) memory: Memory,
    /// Operations read it; what changes it waits for their end.
    epoch: RwLock<Epoch>,
    /// Whether operations that wait for other PEs are to give way.
    halts: AtomicBool,
}

impl Store {
    pub(crate) fn new(memory: Memory, epoch: Epoch) -> Self {
        Self { memory, epoch: RwLock::new(epoch), halts: AtomicBool::new(false) }
    }

    /// Ends the operations of this PE. None begins until [`resume`](Self::resume).
    pub(crate) async fn halt(&self) -> RwLockWriteGuard<'_, Epoch> {
        // A hint alone: the lock is what orders.
        self.halts.store(true, Ordering::Relaxed);
        self.epoch.write().await
    }

    pub(crate) fn resume(&self, epoch: RwLockWriteGuard<'_, Epoch>) {
        self.halts.store(false, Ordering::Relaxed);
        drop(epoch);
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> usize {
        self.memory.values.len()
    }

    /// The value of `key`.
    pub(crate) async fn read(&self, key: usize) -> Result<u64> {
        Ok(self.read_cell(key).await?.1)
    }

    /// The version and the value of `key`.
    async fn read_cell(&self, key: usize) -> Result<(u64, u64)> {
        loop {
            let epoch = self.epoch.read().await;
            match self.try_read(&epoch, key).await {
                Ok(cell) => return Ok(cell),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Repair) => drop(epoch),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn try_read(&self, epoch: &Epoch, key: usize) -> Result<(u64, u64), Stop> {
        let (ctx, (primary, _)) = (epoch.world.context(), epoch.holders(key));
        let (version, value) = (self.memory.versions.at(key), self.memory.values.at(key));
        loop {
            let before = ctx.fetch(version, primary).await?;
            if before.is_multiple_of(2) {
                let value = ctx.fetch(value, primary).await?;
                if ctx.fetch(version, primary).await? == before {
                    return Ok((before, value));
                }
            }
            self.wait().await?;
        }
    }

    /// Sets the value of `key`, which no other write has the same of. Must not be dropped half-way,
    /// as no PE could write the key any more.
    pub(crate) async fn write(&self, key: usize, value: u64) -> Result<Written> {
        loop {
            let (epoch, mut begun) = (self.epoch.read().await, None);
            match self.try_write(&epoch, key, value, &mut begun).await {
                Ok(()) => return Ok(Written::Acknowledged),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Repair) => drop(epoch),
            }
            tokio::time::sleep(PAUSE).await;
            // After the repair both copies have this value or the one before, in the same version.
            if let Some(before) = begun {
                match self.read_cell(key).await? {
                    (_, seen) if seen == value => return Ok(Written::Acknowledged),
                    (version, _) if version > before + 2 => return Ok(Written::Unknown),
                    _ => {}
                }
            }
        }
    }

    /// `begun` becomes the version before, once others may see something of the write.
    async fn try_write(
        &self,
        epoch: &Epoch,
        key: usize,
        value: u64,
        begun: &mut Option<u64>,
    ) -> Result<(), Stop> {
        let (primary, backup) = epoch.holders(key);
        // On a context of its own, `quiet` waits for this write only.
        let ctx = epoch.world.create_context(ContextOptions::new())?;
        let version = self.memory.versions.at(key);
        let before = loop {
            let seen = ctx.fetch(version, primary).await?;
            if seen.is_multiple_of(2) && ctx.compare_swap(version, seen, seen + 1, primary).await? == seen {
                break seen;
            }
            self.wait().await?;
        };
        *begun = Some(before);
        if let Some(backup) = backup {
            ctx.set(version, before + 1, backup).await?;
            ctx.quiet().await?;
            ctx.set(self.memory.values.at(key), value, backup).await?;
            ctx.quiet().await?;
            ctx.set(version, before + 2, backup).await?;
            ctx.quiet().await?;
        }
        ctx.set(self.memory.values.at(key), value, primary).await?;
        ctx.quiet().await?;
        ctx.set(version, before + 2, primary).await?;
        ctx.quiet().await?;
        Ok(())
    }

    /// Waits a little for another writer, unless the store is to be repaired: that writer may be
    /// lost.
    async fn wait(&self) -> Result<(), Stop> {
        tokio::time::sleep(PAUSE).await;
        if self.halts.load(Ordering::Relaxed) { Err(Stop::Repair) } else { Ok(()) }
    }

    /// Makes two copies again of the keys whose primary this PE is in the new `epoch`. All its
    /// members do so, each of them [halted](Self::halt). Returns how many copies were written.
    pub(crate) async fn repair(&self, epoch: &Epoch) -> Result<usize> {
        let (me, ctx) = (epoch.world.my_pe(), epoch.world.context());
        let Memory { versions, values, .. } = &self.memory;
        let mut copies = Vec::new();
        for &pe in &epoch.members {
            copies.push((pe, ctx.get(versions, pe).await?, ctx.get(values, pe).await?));
        }
        let mut updates = Vec::new();
        for key in 0..self.keys() {
            let (primary, backup) = epoch.holders(key);
            if primary != me {
                continue;
            }
            let cells = copies.iter().map(|(_, versions, values)| (versions[key], values[key]));
            let (version, value) = cells.max_by_key(|&(version, _)| version).unwrap_or_default();
            let cell = (version.next_multiple_of(2), value);
            for (pe, versions, values) in &copies {
                let counts = *pe == primary || Some(*pe) == backup;
                if counts && (versions[key], values[key]) != cell {
                    updates.push((key, *pe, cell));
                }
            }
        }
        // A value without its version is a copy that does not count.
        for &(key, pe, (_, value)) in &updates {
            ctx.set(values.at(key), value, pe).await?;
        }
        ctx.quiet().await?;
        for &(key, pe, (version, _)) in &updates {
            ctx.set(versions.at(key), version, pe).await?;
        }
        ctx.quiet().await?;
        Ok(updates.len())
    }
}
