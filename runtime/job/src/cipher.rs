//! What encrypts a connection whose ends have [proved](crate::proof) themselves: a stream of bytes
//! each way, in records.
//!
//! A record is a length of two bytes and a message of the [Noise protocol], which AES-256-GCM
//! encrypts and authenticates with the record's number. So what is changed, left out, repeated or
//! put in another order on its way is noticed. The keys are of this connection alone, and are gone
//! with it.
//!
//! [Noise protocol]: https://noiseprotocol.org

use std::{fmt, io};

use snow::TransportState;

/// Bytes that authenticate a message.
pub(crate) const TAG: usize = 16;
/// Bytes of a record's length.
const HEAD: usize = 2;
/// The most bytes of the stream that one record has.
pub const RECORD: usize = 16 << 10;
/// The longest record.
pub const LONGEST: usize = HEAD + RECORD + TAG;
/// After this many records the keys are replaced: AES-GCM should not encrypt more with one.
const REKEYED: u64 = if cfg!(test) { 100 } else { 1 << 20 };

/// The keys of a connection, for both directions.
pub struct Cipher(TransportState);

impl Cipher {
    pub(crate) fn new(state: TransportState) -> Self {
        Self(state)
    }

    /// Adds a record of these bytes, at most [`RECORD`], to `to`.
    pub fn seal(&mut self, bytes: &[u8], to: &mut Vec<u8>) {
        let (begin, len) = (to.len(), bytes.len() + TAG);
        to.extend_from_slice(&(len as u16).to_le_bytes());
        to.resize(begin + HEAD + len, 0);
        self.0.write_message(bytes, &mut to[begin + HEAD..]).expect("a record is short enough");
        if self.0.sending_nonce().is_multiple_of(REKEYED) {
            self.0.rekey_outgoing();
        }
    }

    /// Adds the bytes of the record that `from` begins with to `to`. How long the record is, or
    /// nothing if not all of it is there.
    ///
    /// # Errors
    /// If it is not what the other side has sent.
    pub fn open(&mut self, from: &[u8], to: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let changed =
            || io::Error::new(io::ErrorKind::InvalidData, "what it has sent was changed on its way");
        let Some((len, rest)) = from.split_first_chunk::<HEAD>() else { return Ok(None) };
        let len = usize::from(u16::from_le_bytes(*len));
        if !(TAG..=RECORD + TAG).contains(&len) {
            return Err(changed());
        }
        let Some(message) = rest.get(..len) else { return Ok(None) };
        let begin = to.len();
        // It is decrypted in place where there is room for what authenticates, too.
        to.resize(begin + len, 0);
        let n = self.0.read_message(message, &mut to[begin..]).map_err(|_| changed())?;
        to.truncate(begin + n);
        if self.0.receiving_nonce().is_multiple_of(REKEYED) {
            self.0.rekey_incoming();
        }
        Ok(Some(HEAD + len))
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::{Handshake, SecretKey};

    /// Both sides of a connection.
    fn sides() -> [Cipher; 2] {
        let secret = SecretKey(vec![1; 32]);
        let [mut connects, mut accepts] = [(); 2].map(|()| Handshake::<0, 0>::new(*b"magic...", true));
        let second = accepts.accept(&connects.begin().unwrap(), &secret).unwrap().unwrap();
        let third = connects.prove(&second, &secret, []).unwrap();
        accepts.proven(&third, &secret).unwrap();
        connects.answered(&accepts.answer(&secret, []).unwrap(), &secret).unwrap();
        [connects, accepts].map(|side| side.finish().unwrap().unwrap())
    }

    #[test]
    fn what_is_opened_is_what_was_sealed() {
        let [mut ours, mut theirs] = sides();
        for len in [0, 1, 100, RECORD] {
            let bytes = vec![len as u8; len];
            let (mut record, mut opened) = (Vec::new(), Vec::new());
            ours.seal(&bytes, &mut record);
            assert!(record.len() <= LONGEST);
            for some in [0, 1, record.len() - 1] {
                assert_eq!(theirs.open(&record[..some], &mut opened).unwrap(), None);
            }
            assert_eq!(theirs.open(&record, &mut opened).unwrap(), Some(record.len()));
            assert_eq!(opened, bytes);
        }
    }

    #[test]
    fn keys_are_replaced_on_both_sides() {
        let [mut ours, mut theirs] = sides();
        let (mut record, mut opened) = (Vec::new(), Vec::new());
        for i in 0..3 * REKEYED {
            record.clear();
            opened.clear();
            ours.seal(&i.to_le_bytes(), &mut record);
            theirs.open(&record, &mut opened).unwrap();
            assert_eq!(opened, i.to_le_bytes());
        }
    }

    #[test]
    fn a_record_that_is_changed_repeated_or_left_out_is_refused() {
        let refused = |which: &dyn Fn(&mut Vec<u8>)| {
            let [mut ours, mut theirs] = sides();
            let (mut records, mut opened) = (Vec::new(), Vec::new());
            ours.seal(b"one", &mut records);
            let first = records.len();
            ours.seal(b"two", &mut records);
            which(&mut records);
            let opened = theirs.open(&records, &mut opened);
            let (Ok(Some(_)), Some(rest)) = (&opened, records.get(first..)) else {
                return !matches!(opened, Ok(Some(_)));
            };
            !matches!(theirs.open(rest, &mut Vec::new()), Ok(Some(_)))
        };
        assert!(!refused(&|_| ()));
        let len = HEAD + 3 + TAG;
        for bit in 0..8 * len {
            assert!(refused(&|records| records[bit / 8] ^= 1 << (bit % 8)), "bit {bit}");
        }
        assert!(refused(&|records| drop(records.drain(..len))), "the first is left out");
        assert!(refused(&|records| records.copy_within(..len, len)), "it is repeated");
        assert!(refused(&|records| records.rotate_left(len)), "the second comes first");
    }

    #[test]
    fn the_stream_shows_nothing_of_what_it_carries() {
        let [mut ours, _] = sides();
        let mut records = Vec::new();
        ours.seal(&[7; 1000], &mut records);
        ours.seal(&[7; 1000], &mut records);
        assert!(!records.windows(4).any(|bytes| bytes == [7; 4]));
        let (first, second) = records.split_at(records.len() / 2);
        assert_ne!(first, second);
    }
}
