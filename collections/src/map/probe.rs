//! Where the entry of a key is, and how its value changes.

use std::sync::atomic::{Ordering, fence};

use oxshmem_base::{Error, Result};
use oxshmem_spaces::{Element, SymRef};

use super::{
    Map,
    pool::changed,
    word::{UNSTORABLE, below, from_word, from_words, hash, is_word, mix, to_word, to_words},
};

/// How many slots are read at a time: a cache line.
pub(super) const WINDOW: usize = 4;

/// A key, and where it may be.
pub(super) struct Sought {
    pub(super) pe: usize,
    /// The first slot that it may have.
    first: usize,
    /// The first word of its slot, but for the number of its node.
    control: u64,
    /// A key in a node.
    words: Vec<u64>,
}

/// What was found.
struct Seen {
    /// The slot of the key, if it has one.
    slot: Option<usize>,
    /// The second word of that slot, or 0.
    word: u64,
    /// How many slots other keys have before that one, or before the first free one.
    passed: usize,
}

impl<K: Element + Eq, V: Element> Map<K, V> {
    pub(super) fn seek(&self, key: &K) -> Sought {
        let hash = hash(key);
        let (control, words) = match is_word::<K>() {
            true => (to_word(key), Vec::new()),
            // Other bits than those of the PE and the slot.
            false => (mix(hash) & !0xFFFF_FFFF, to_words(key)),
        };
        let first = below(self.slots, hash);
        Sought { pe: below(self.team.n_pes(), hash >> 32), first, control, words }
    }

    /// How many slots lie between the first that a key may have and this one.
    pub(super) fn distance(&self, sought: &Sought, slot: usize) -> usize {
        (slot + self.slots - sought.first) % self.slots
    }

    fn control(&self, slot: usize) -> SymRef<'_, u64> {
        self.table.at(2 * slot)
    }

    fn value(&self, slot: usize) -> SymRef<'_, u64> {
        self.table.at(2 * slot + 1)
    }

    /// Replaces the value of a key by what `of` makes of it, unless that is `None`, and returns the
    /// value before. It calls `of` again if another operation comes first.
    pub(super) async fn change(
        &self,
        key: K,
        mut of: impl FnMut(Option<V>) -> Option<Option<V>> + Send,
    ) -> Result<Option<V>> {
        let sought = self.seek(&key);
        let mut seen = self.find(&sought, 0).await?;
        let mut spare = None;
        loop {
            let before = match seen.slot {
                Some(slot) => match self.read(&sought, slot, seen.word).await? {
                    Ok(value) => value,
                    Err(word) => {
                        seen.word = word;
                        continue;
                    }
                },
                None => None,
            };
            let Some(after) = of(before) else { return Ok(before) };
            if before.is_none() && after.is_none() {
                return Ok(None);
            }
            let has_word = is_word::<V>() && after.is_some();
            let in_word = after.as_ref().filter(|_| has_word).map_or(0, to_word);
            if has_word && in_word == 0 {
                let what = format!("Map: no value with the bits {UNSTORABLE:#x} can be stored");
                return Err(Error::Unsupported { what });
            }
            let slot = match seen.slot {
                Some(slot) => slot,
                None => {
                    let (slot, word) = self.bind(&sought, seen.passed).await?;
                    seen = Seen { slot: Some(slot), word, passed: 0 };
                    // Another operation may have set it by now.
                    if word != 0 {
                        continue;
                    }
                    slot
                }
            };
            let (at, before_word) = (self.value(slot), seen.word);
            seen.word = match &self.values {
                None => self.ctx.compare_swap(at, before_word, in_word, sought.pe).await?,
                Some(pool) => {
                    let spare = match &mut spare {
                        Some(spare) => spare,
                        none => none.insert(pool.spare(&self.ctx, sought.pe).await?),
                    };
                    let number = match &after {
                        Some(after) => spare.write(&self.ctx, to_words(after)).await? + 1,
                        None => {
                            spare.put_back();
                            0
                        }
                    };
                    let words = [before_word, changed(before_word, number)];
                    // The node of the value before, if there was one.
                    let old = (before_word as u32).saturating_sub(1)..before_word as u32;
                    spare.compare_swap(&self.ctx, at, words, old).await?
                }
            };
            if seen.word == before_word {
                return Ok(before);
            }
        }
    }

    /// The value that this word of a slot is, or the word that has come in its place meanwhile.
    async fn read(&self, sought: &Sought, slot: usize, word: u64) -> Result<Result<Option<V>, u64>> {
        let Some(pool) = &self.values else {
            return Ok(Ok((word != 0).then(|| from_word(word))));
        };
        let Some(node) = (word as u32).checked_sub(1) else { return Ok(Ok(None)) };
        let words = self.ctx.get(pool.node(node), sought.pe).await?;
        // The node is read before its word is read again.
        fence(Ordering::Acquire);
        let again = self.ctx.fetch(self.value(slot), sought.pe).await?;
        Ok(if again == word { Ok(Some(from_words(&words))) } else { Err(again) })
    }

    /// Looks for a key, behind the first `passed` slots that others have.
    async fn find(&self, sought: &Sought, mut passed: usize) -> Result<Seen> {
        if sought.control == 0 && is_word::<K>() {
            let slot = self.slots;
            let word = self.ctx.fetch(self.value(slot), sought.pe).await?;
            return Ok(Seen { slot: Some(slot), word, passed });
        }
        while passed < self.slots {
            let slot = (sought.first + passed) % self.slots;
            let start = slot.min(self.slots - WINDOW);
            let window = self.table.slice(2 * start..2 * (start + WINDOW));
            let words = self.ctx.get_into([0; 2 * WINDOW], window, sought.pe).await?;
            // A node is read after the word that names it.
            fence(Ordering::Acquire);
            for (slot, words) in (start..).zip(words.chunks(2)).skip(slot - start) {
                if words[0] == 0 {
                    return Ok(Seen { slot: None, word: 0, passed });
                }
                if self.is_of(words[0], sought).await? {
                    return Ok(Seen { slot: Some(slot), word: words[1], passed });
                }
                passed += 1;
            }
        }
        Ok(Seen { slot: None, word: 0, passed: self.slots })
    }

    /// Whether a slot with this first word is a key's.
    async fn is_of(&self, control: u64, sought: &Sought) -> Result<bool> {
        let Some(pool) = &self.keys else { return Ok(control == sought.control) };
        if (control ^ sought.control) >> 32 != 0 {
            return Ok(false);
        }
        let words = self.ctx.get(pool.node(control as u32 - 1), sought.pe).await?;
        Ok(words == sought.words)
    }

    /// The slot of a key, which is given one if it has none, and the second word of it.
    async fn bind(&self, sought: &Sought, passed: usize) -> Result<(usize, u64)> {
        let mut spare = None;
        let mut seen = Seen { slot: None, word: 0, passed };
        loop {
            if let Some(slot) = seen.slot {
                return Ok((slot, seen.word));
            }
            if seen.passed >= self.slots {
                return Err(Error::CollectionFull { what: "Map", capacity: self.capacity });
            }
            let slot = (sought.first + seen.passed) % self.slots;
            let at = self.control(slot);
            let found = match &self.keys {
                None => self.ctx.compare_swap(at, 0, sought.control, sought.pe).await?,
                Some(pool) => {
                    let spare = match &mut spare {
                        Some(spare) => spare,
                        none => none.insert(pool.spare(&self.ctx, sought.pe).await?),
                    };
                    let node = spare.write(&self.ctx, sought.words.clone()).await?;
                    let words = [0, sought.control | u64::from(node + 1)];
                    spare.compare_swap(&self.ctx, at, words, 0..0).await?
                }
            };
            match found {
                0 => return Ok((slot, 0)),
                _ => seen = self.find(sought, seen.passed).await?,
            }
        }
    }
}
