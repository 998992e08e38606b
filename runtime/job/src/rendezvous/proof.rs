//! The proof that both ends of a connection know the job's secret, before anything else is read.
//!
//! A connection begins with a random number from each side. Each side then authenticates both
//! numbers by HMAC-SHA-256 with the secret, and the side that connects authenticates which PE it
//! is, too.
//!
//! | from | what |
//! |---|---|
//! | a PE that connects | a fixed word, and its number |
//! | PE 0 | its number, authenticated |
//! | the PE that connects | its number in the job and their count, authenticated |

use std::io;

use hmac::{Hmac, KeyInit, Mac};
use oxshmem_base::random;
use sha2::Sha256;

/// Bytes of a random number and of what authenticates.
const BYTES: usize = 32;
/// What a connection of this form begins with.
const MAGIC: [u8; 8] = *b"oxshmemr";

/// Bytes of each of the three messages.
pub(super) const LENGTHS: [usize; 3] = [8 + BYTES, 2 * BYTES, 16 + BYTES];
/// The longest of them.
pub(super) const LONGEST: usize = 64;

/// What the PEs of a job know. Empty where they were given none.
#[derive(Clone, Default)]
pub(super) struct SecretKey(pub(super) Vec<u8>);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "secret" })
    }
}

/// Both random numbers of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nonces {
    connects: [u8; BYTES],
    accepts: [u8; BYTES],
}

/// Which PE a process is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pe: u64,
    pub(super) n_pes: u64,
}

impl SecretKey {
    fn mac(&self, label: &[u8; 8], numbers: &Nonces, rest: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("it takes keys of any length");
        [&label[..], &numbers.connects, &numbers.accepts, rest].iter().for_each(|part| mac.update(part));
        mac
    }

    /// `rest`, authenticated.
    fn sign(&self, label: &[u8; 8], numbers: &Nonces, rest: &[u8]) -> Vec<u8> {
        let mac = self.mac(label, numbers, rest).finalize().into_bytes();
        [rest, &mac[..]].concat()
    }

    /// What was authenticated, if it is so with this secret. Compares in constant time.
    fn verify<'a>(&self, label: &[u8; 8], numbers: &Nonces, message: &'a [u8]) -> Option<&'a [u8]> {
        let (rest, mac) = message.split_last_chunk::<BYTES>()?;
        self.mac(label, numbers, rest).verify_slice(mac).ok().map(|()| rest)
    }
}

impl Nonces {
    /// The first message.
    pub(super) fn begin(&mut self) -> io::Result<Vec<u8>> {
        self.connects = random::bytes()?;
        Ok([&MAGIC[..], &self.connects].concat())
    }

    /// The second, to the first. None if that is something else.
    pub(super) fn accept(&mut self, first: &[u8], secret: &SecretKey) -> io::Result<Option<Vec<u8>>> {
        let Some(connects) = first.strip_prefix(&MAGIC).and_then(|rest| rest.try_into().ok()) else {
            return Ok(None);
        };
        *self = Self { connects, accepts: random::bytes()? };
        let mut second = self.accepts.to_vec();
        second.extend(secret.sign(b"accepts:", self, &[]));
        Ok(Some(second))
    }

    /// The third, to the second. None if the other side does not know the secret.
    pub(super) fn prove(&mut self, second: &[u8], secret: &SecretKey, me: Identity) -> Option<Vec<u8>> {
        let (accepts, mac) = second.split_first_chunk::<BYTES>()?;
        self.accepts = *accepts;
        secret.verify(b"accepts:", self, mac)?;
        let words = [me.pe, me.n_pes].map(u64::to_le_bytes);
        Some(secret.sign(b"connect:", self, words.as_flattened()))
    }

    /// What the third says.
    pub(super) fn identity(&self, third: &[u8], secret: &SecretKey) -> Option<Identity> {
        let (words, _) = secret.verify(b"connect:", self, third)?.as_chunks();
        let &[pe, n_pes] = words else { return None };
        Some(Identity { pe: u64::from_le_bytes(pe), n_pes: u64::from_le_bytes(n_pes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> SecretKey {
        SecretKey(vec![byte; 16])
    }

    const ME: Identity = Identity { pe: 3, n_pes: 5 };

    /// The three messages between two sides with these secrets, each changed by `tamper`; what is
    /// learned.
    fn shake(secrets: [u8; 2], tamper: impl Fn(usize, &mut Vec<u8>)) -> Option<Identity> {
        let [ours, theirs] = secrets.map(secret);
        let [mut connects, mut accepts] = [Nonces::default(); 2];
        let pass = |i: usize, mut message: Vec<u8>| {
            assert_eq!(message.len(), LENGTHS[i]);
            tamper(i, &mut message);
            message
        };
        let first = pass(0, connects.begin().unwrap());
        let second = pass(1, accepts.accept(&first, &theirs).unwrap()?);
        let third = pass(2, connects.prove(&second, &ours, ME)?);
        accepts.identity(&third, &theirs)
    }

    #[test]
    fn sides_with_one_secret_know_each_other_and_others_do_not() {
        assert_eq!(shake([1, 1], |_, _| ()), Some(ME));
        assert_eq!(shake([1, 2], |_, _| ()), None);
    }

    #[test]
    fn a_message_of_which_any_bit_is_changed_is_refused() {
        for (message, length) in LENGTHS.into_iter().enumerate() {
            for bit in 0..8 * length {
                let tamper = |i: usize, bytes: &mut Vec<u8>| {
                    if i == message {
                        bytes[bit / 8] ^= 1 << (bit % 8);
                    }
                };
                assert_eq!(shake([1, 1], tamper), None, "bit {bit} of message {message}");
            }
        }
    }

    #[test]
    fn a_message_of_another_connection_is_refused() {
        let secret = secret(1);
        let [mut connects, mut accepts, mut others] = [Nonces::default(); 3];
        let first = connects.begin().unwrap();
        let second = accepts.accept(&first, &secret).unwrap().unwrap();
        let third = connects.prove(&second, &secret, ME).unwrap();
        // A stranger that has seen it all replays it.
        others.accept(&first, &secret).unwrap().unwrap();
        assert_eq!(others.identity(&third, &secret), None);
        assert_eq!(accepts.identity(&third, &secret), Some(ME));
    }
}
