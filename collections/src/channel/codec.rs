//! How messages are words of a ring.

use std::marker::PhantomData;

use oxshmem_base::{Error, Result};
use oxshmem_spaces::Element;
use serde::{Serialize, de::DeserializeOwned};

const WORD: usize = size_of::<u64>();

/// How the messages of a channel travel. The ends of a channel have the same one.
pub trait Codec<T>: Send + Sync + Unpin + 'static {
    /// Appends a message.
    ///
    /// # Errors
    /// It cannot be sent: nothing was appended.
    fn encode(message: &T, to: &mut Vec<u64>) -> Result<()>;

    /// The first message of these words, and how many of them it has; `None` if the rest of it is
    /// yet to come.
    fn decode(words: &[u64]) -> Option<(usize, Result<T>)>;
}

/// The bytes of plain data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl<T: Element> Codec<T> for Plain {
    fn encode(message: &T, to: &mut Vec<u64>) -> Result<()> {
        append(bytemuck::bytes_of(message), to);
        Ok(())
    }

    fn decode(words: &[u64]) -> Option<(usize, Result<T>)> {
        let takes = size_of::<T>().div_ceil(WORD);
        let bytes = bytemuck::cast_slice::<u64, u8>(words.get(..takes)?);
        Some((takes, Ok(bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()]))))
    }
}

/// Anything that `serde` knows, by [`postcard`], of any length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serde<T>(PhantomData<fn() -> T>);

impl<T: Serialize + DeserializeOwned + 'static> Codec<T> for Serde<T> {
    fn encode(message: &T, to: &mut Vec<u64>) -> Result<()> {
        let bytes = postcard::to_stdvec(message).map_err(|error| malformed("be encoded", &error))?;
        to.push(bytes.len() as u64);
        append(&bytes, to);
        Ok(())
    }

    fn decode(words: &[u64]) -> Option<(usize, Result<T>)> {
        let (&len, rest) = words.split_first()?;
        let len = len as usize;
        let bytes = bytemuck::cast_slice::<u64, u8>(rest.get(..len.div_ceil(WORD))?);
        let message = postcard::from_bytes(&bytes[..len]).map_err(|error| malformed("be decoded", &error));
        Some((1 + len.div_ceil(WORD), message))
    }
}

fn malformed(what: &str, error: &postcard::Error) -> Error {
    Error::Unsupported { what: format!("a message of a channel cannot {what}: {error}") }
}

/// Appends bytes as words, the last of which is filled up.
fn append(bytes: &[u8], to: &mut Vec<u64>) {
    let (words, rest) = bytes.as_chunks();
    to.extend(words.iter().map(|&word| u64::from_ne_bytes(word)));
    if !rest.is_empty() {
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        to.push(u64::from_ne_bytes(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_whole_and_not_before_all_of_them_is_there() {
        let mut words = Vec::new();
        Plain::encode(&[1_u8, 2, 3, 4, 5, 6, 7, 8, 9], &mut words).unwrap();
        assert_eq!(words.len(), 2);
        assert!(<Plain as Codec<[u8; 9]>>::decode(&words[..1]).is_none());
        let (takes, message) = <Plain as Codec<[u8; 9]>>::decode(&words).unwrap();
        assert_eq!((takes, message.unwrap()), (2, [1, 2, 3, 4, 5, 6, 7, 8, 9]));

        type Text = Serde<(u8, String)>;
        let mut words = Vec::new();
        let sent = (7, "a text of more than eight bytes".to_owned());
        Text::encode(&sent, &mut words).unwrap();
        let all = words.len();
        Text::encode(&(1, String::new()), &mut words).unwrap();
        for some in 0..all {
            assert!(Text::decode(&words[..some]).is_none());
        }
        let (takes, message) = Text::decode(&words).unwrap();
        assert_eq!((takes, message.unwrap()), (all, sent));
        // What is no message is an error, and is passed over.
        let (takes, message) = Text::decode(&[3, 0xff_ff_ff]).unwrap();
        assert!(takes == 2 && message.is_err());
    }
}
