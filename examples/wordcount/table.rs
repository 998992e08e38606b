//! A hash table of words in symmetric memory, which any PE extends and adds to without asking
//! another.
//!
//! A word's hash says which PE its *home* is, and which slot of that PE's part is the first to look
//! at; the word is in that slot or in one of those that follow. A slot is an *entry* and a *count*.
//! The entry is 0 while the slot is free, and otherwise says where the word's *text* is: the PE
//! that came with the word first keeps it in a symmetric area of its own.
//!
//! Why the count of every word is right:
//! - Texts are written before their entry, and never changed. An entry is set by one `compare_swap`
//!   from 0, after `quiet` has made the text visible to all PEs, and never changed either. So a
//!   PE that sees an entry sees the whole word, no PE ever waits for another, and one that stops
//!   half-way leaves nothing that is in the way.
//! - The text decides which word a slot is for, always. Bits of the hash in the entry only save
//!   most of the reading where words share a slot, so that words with equal hashes are two words.
//! - A word has one slot: every PE tries the same slots in the same order, and takes the first that
//!   is free. Of two PEs that try to take it for the same word, one succeeds, and the other finds
//!   the word there. As entries stay, no slot before it can become free later.
//! - The count is changed by atomic adds only.

use std::{
    cell::Cell,
    collections::HashMap,
    error::Error,
    hash::{DefaultHasher, Hash, Hasher},
};

use futures::stream::{self, StreamExt, TryStreamExt};
use oxshmem::{Session, SessionOptions, prelude::*};

/// Words that a PE looks up at the same time, so that it need not wait for one before it goes on to
/// the next.
const AT_A_TIME: usize = 32;
/// Bytes of text for each slot. Each PE has them for all slots, as one PE may be the first with
/// every word.
const TEXT_PER_SLOT: usize = 24;
/// Bytes of text at the least.
const TEXT_MIN: usize = 1 << 16;
/// Bits of an entry that say where the text starts.
const PLACE_BITS: u32 = 48;

/// A table of words. Every PE has an equal part of the slots.
#[derive(Debug)]
pub(crate) struct WordTable {
    world: World,
    entries: SymSlice<u64>,
    counts: SymSlice<u64>,
    texts: SymSlice<u8>,
    /// Bytes of this PE's texts that are in use.
    used: Cell<usize>,
    operations: Cell<u64>,
    remote: Cell<u64>,
}

impl WordTable {
    /// An empty table of at least `slots` slots. Collective.
    pub(crate) async fn new(world: &World, slots: usize) -> oxshmem::Result<Self> {
        let slots_of_pe = slots.div_ceil(world.n_pes()).max(1);
        Ok(Self {
            world: world.clone(),
            entries: world.alloc_zeroed(slots_of_pe).await?,
            counts: world.alloc_zeroed(slots_of_pe).await?,
            texts: world.alloc(slots.saturating_mul(TEXT_PER_SLOT).max(TEXT_MIN)).await?,
            used: Cell::new(0),
            operations: Cell::new(0),
            remote: Cell::new(0),
        })
    }

    /// Adds what a PE has counted by itself. Many words are looked up at the same time, and the
    /// adds are a session's: those to PEs of another host travel together. All of it is there when
    /// this is ready.
    pub(crate) async fn add_all(&self, counted: HashMap<String, u64>) -> Result<(), Box<dyn Error>> {
        let options = SessionOptions::new().batch().total_ops(counted.len());
        let session = self.world.context().session(options);
        let words = stream::iter(counted).map(Ok);
        let add = async |(word, count): (String, u64)| self.add(&session, &word, count).await;
        words.try_for_each_concurrent(AT_A_TIME, add).await?;
        session.finish().await?;
        Ok(())
    }

    /// Adds `count` occurrences of `word`.
    async fn add(&self, session: &Session<'_>, word: &str, count: u64) -> Result<(), Box<dyn Error>> {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        let hash = hasher.finish();
        let (n, len) = (self.world.n_pes() as u64, self.entries.len());
        let (home, first) = ((hash % n) as usize, (hash / n) as usize % len);
        for slot in (first..len).chain(0..first) {
            if self.is_for(slot, home, hash, word).await? {
                self.note(home);
                session.add(self.counts.at(slot), count, home).await?;
                return Ok(());
            }
        }
        Err(format!("the table is full: PE {home} has {len} slots, all taken; {}", self.advice()).into())
    }

    /// All words with their counts. For one PE, when the others have counted.
    pub(crate) async fn collect(&self) -> Result<HashMap<String, u64>, Box<dyn Error>> {
        let ctx = self.world.context();
        let mut words = HashMap::new();
        for pe in 0..self.world.n_pes() {
            let (entries, counts) = tokio::try_join!(ctx.get(&self.entries, pe), ctx.get(&self.counts, pe))?;
            for (entry, count) in entries.into_iter().zip(counts).filter(|&(entry, _)| entry != 0) {
                let word = String::from_utf8(self.text(Entry(entry)).await?)?;
                if let Some(before) = words.insert(word, count) {
                    return Err(format!("a word has two slots, with counts {before} and {count}").into());
                }
            }
        }
        Ok(words)
    }

    /// How many operations this PE has issued, and how many of them to other PEs.
    pub(crate) fn operations(&self) -> (u64, u64) {
        (self.operations.get(), self.remote.get())
    }

    /// Whether the slot is for `word`. If it is free it is taken.
    async fn is_for(&self, slot: usize, home: usize, hash: u64, word: &str) -> Result<bool, Box<dyn Error>> {
        let ctx = self.world.context();
        self.note(home);
        let mut entry = Entry(ctx.fetch(self.entries.at(slot), home).await?);
        if entry.is_free() {
            let before = self.used.get();
            let mine = self.write(hash, word)?;
            let after = self.used.get();
            // The text must be there for all PEs before any of them can come to know of it.
            ctx.quiet().await?;
            self.note(home);
            entry = Entry(ctx.compare_swap(self.entries.at(slot), 0, mine.0, home).await?);
            if entry.is_free() {
                return Ok(true);
            }
            // Another PE was faster. Unless there are newer texts behind it, the text's place is
            // free again.
            if self.used.get() == after {
                self.used.set(before);
            }
        }
        Ok(entry.may_be(hash) && self.same_text(entry, word).await?)
    }

    /// Writes `word` to this PE's texts: its length and its bytes.
    fn write(&self, hash: u64, word: &str) -> Result<Entry, Box<dyn Error>> {
        let start = self.used.get();
        let text = record(word);
        let end = start + text.len();
        if end > self.texts.len() {
            let len = self.texts.len();
            return Err(format!("no room for another word in {len} bytes of text; {}", self.advice()).into());
        }
        self.used.set(end);
        self.texts.slice(start..end).write(&text);
        Ok(Entry::new(hash, self.world.my_pe() * self.texts.len() + start))
    }

    /// Whether the text at `entry` is `word`: its length and its bytes, read as far as `word` is
    /// long.
    async fn same_text(&self, entry: Entry, word: &str) -> oxshmem::Result<bool> {
        let (pe, start) = self.place(entry);
        let end = start + LENGTH + word.len();
        if end > self.texts.len() {
            return Ok(false);
        }
        self.note(pe);
        Ok(self.world.context().get(self.texts.slice(start..end), pe).await? == record(word))
    }

    /// The text at `entry`.
    async fn text(&self, entry: Entry) -> oxshmem::Result<Vec<u8>> {
        let (pe, start) = self.place(entry);
        let ctx = self.world.context();
        let length = ctx.get_into([0; LENGTH], self.texts.slice(start..start + LENGTH), pe).await?;
        let start = start + LENGTH;
        ctx.get(self.texts.slice(start..start + u32::from_le_bytes(length) as usize), pe).await
    }

    fn place(&self, entry: Entry) -> (usize, usize) {
        (entry.place() / self.texts.len(), entry.place() % self.texts.len())
    }

    fn note(&self, pe: usize) {
        self.operations.set(self.operations.get() + 1);
        self.remote.set(self.remote.get() + u64::from(pe != self.world.my_pe()));
    }

    fn advice(&self) -> String {
        let slots = self.entries.len() * self.world.n_pes();
        format!("run with --slots {} or more", slots.saturating_mul(4))
    }
}

/// Bytes that a text's length has.
const LENGTH: usize = size_of::<u32>();

/// A word as it is in the texts. As it starts with the length, none is the beginning of another.
fn record(word: &str) -> Vec<u8> {
    [&(word.len() as u32).to_le_bytes(), word.as_bytes()].concat()
}

/// Where a word's text is, in the low bits and counted from 1, below some bits of its hash.
#[derive(Clone, Copy, Debug)]
struct Entry(u64);

impl Entry {
    fn new(hash: u64, place: usize) -> Self {
        Self(hash >> PLACE_BITS << PLACE_BITS | (place as u64 + 1))
    }

    fn is_free(self) -> bool {
        self.0 == 0
    }

    fn may_be(self, hash: u64) -> bool {
        (self.0 ^ hash) >> PLACE_BITS == 0
    }

    fn place(self) -> usize {
        ((self.0 & ((1 << PLACE_BITS) - 1)) - 1) as usize
    }
}
