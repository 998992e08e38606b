//! A word as a key of the map: keys are plain data, so that all have the same size.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use oxshmem::{Pod, Zeroable};

/// Bytes of a key.
const SIZE: usize = 64;
/// The last byte of a word that is longer than that. No text has it.
const LONGER: u8 = 0xff;

/// A word: its text, filled up with zeros, which no word has. A longer word is its beginning with a
/// hash of 120 bits, so that two long words are two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(transparent)]
pub(crate) struct Word([u8; SIZE]);

impl Word {
    pub(crate) fn new(text: &str) -> Self {
        let mut bytes = [0; SIZE];
        match bytes.get_mut(..text.len()) {
            Some(start) => start.copy_from_slice(text.as_bytes()),
            None => {
                let (start, end) = bytes.split_at_mut(SIZE - size_of::<u128>());
                // No character is divided.
                let cut = (0..=start.len()).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
                start[..cut].copy_from_slice(&text.as_bytes()[..cut]);
                end.copy_from_slice(&hash(text).to_le_bytes());
                end[size_of::<u128>() - 1] = LONGER;
            }
        }
        Self(bytes)
    }
}

/// The text, or the beginning of a longer one.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_longer = self.0[SIZE - 1] == LONGER;
        let text = if is_longer { &self.0[..SIZE - size_of::<u128>()] } else { &self.0 };
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        f.write_str(&String::from_utf8_lossy(&text[..end]))?;
        if is_longer { f.write_str("…") } else { Ok(()) }
    }
}

/// A hash that is the same on all PEs.
fn hash(text: &str) -> u128 {
    let half = |number: u8| {
        let mut hasher = DefaultHasher::new();
        (number, text).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << u64::BITS | half(1)
}
