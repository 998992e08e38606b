//! What travels on a connection: frames, each of a head of two words and a payload.
//!
//! Both sides are processes of one program on machines of one kind, so words are in the machine's
//! own order. Payloads are padded to whole words, so that words in them are aligned.

use oxshmem_base::Result;

use crate::batch::malformed;

/// Bytes of a word.
pub(super) const WORD: usize = size_of::<u64>();
/// Bytes of a head.
pub(super) const HEAD: usize = 2 * WORD;
/// Bytes of a frame's payload, where more is to be sent: few enough for a small frame not to wait
/// long behind one.
pub(super) const CHUNK: usize = 64 << 10;

/// The bit of a head that asks for an acknowledgement at once.
const URGENT: u64 = 0x80;

macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident,)*) => {
        /// What a frame does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Kind { $($(#[$meta])* $kind,)* }

        impl Kind {
            const ALL: &[Self] = &[$(Self::$kind),*];
        }
    };
}

kinds! {
    /// Operations that are performed in their order: the words of a [`Batch`](crate::Batch).
    Batch,
    /// Bytes for the place that the argument is, as in an operation's first word.
    Put,
    /// An operation that is answered, by this number: a get, or an atomic one that fetches.
    Ask,
    /// Answered when what came before was performed, by this number.
    Flush,
    /// The answer to the question of this number: a word.
    Value,
    /// The answer to the question of this number, or the next part of it.
    Data,
    /// A message with this tag.
    Message,
    /// A long message with this tag: its number and its length. Its parts follow, or are to be
    /// asked for.
    Open,
    /// The long message of that number is asked for.
    Go,
    /// The next part of the long message of that number.
    Part,
    /// A notification: five words, and bytes.
    Notification,
    /// Everything up to this place of the stream has come.
    Ack,
    /// This many bytes of messages were received.
    Taken,
    /// The PE leaves.
    Goodbye,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) kind: Kind,
    /// Whether it is to be acknowledged at once.
    pub(super) urgent: bool,
    /// Bytes of the payload, without what pads it.
    pub(super) len: usize,
    /// What it is about.
    pub(super) arg: u64,
}

impl FrameHead {
    pub(super) fn new(kind: Kind, len: usize, arg: u64) -> Self {
        Self { kind, urgent: false, len, arg }
    }

    pub(super) fn encode(self) -> [u8; HEAD] {
        let urgent = if self.urgent { URGENT } else { 0 };
        let first = (self.len as u64) << 8 | urgent | self.kind as u64;
        let mut bytes = [0; HEAD];
        bytes[..WORD].copy_from_slice(&first.to_ne_bytes());
        bytes[WORD..].copy_from_slice(&self.arg.to_ne_bytes());
        bytes
    }

    /// # Errors
    /// If there is no such frame.
    pub(super) fn decode(bytes: &[u8; HEAD]) -> Result<Self> {
        let [first, arg] = [0, WORD].map(|at| word(bytes, at));
        let kind = Kind::ALL.get((first & (URGENT - 1)) as usize).copied().ok_or_else(malformed)?;
        Ok(Self { kind, urgent: first & URGENT != 0, len: (first >> 8) as usize, arg })
    }

    /// Bytes that pad the payload.
    pub(super) fn padding(self) -> usize {
        padding(self.len)
    }
}

/// Bytes that pad `len` to whole words.
pub(super) fn padding(len: usize) -> usize {
    len.wrapping_neg() % WORD
}

/// The word that begins with byte `at`.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; WORD];
    word.copy_from_slice(&bytes[at..at + WORD]);
    u64::from_ne_bytes(word)
}

/// The words of a payload that has exactly `N`.
///
/// # Errors
/// If it has not.
pub(super) fn words<const N: usize>(payload: &[u8]) -> Result<[u64; N]> {
    if payload.len() != N * WORD {
        return Err(malformed());
    }
    Ok(std::array::from_fn(|i| word(payload, i * WORD)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_what_it_was_before_it_travelled() {
        for &kind in Kind::ALL {
            for (urgent, len, arg) in [(false, 0, 0), (true, 7, u64::MAX), (false, 1 << 40, 3)] {
                let head = FrameHead { kind, urgent, len, arg };
                assert_eq!(FrameHead::decode(&head.encode()).unwrap(), head);
                assert_eq!((len + head.padding()) % WORD, 0);
            }
        }
        let mut bytes = FrameHead::new(Kind::Goodbye, 0, 0).encode();
        bytes[0] += 1;
        assert!(FrameHead::decode(&bytes).is_err());
    }
}
