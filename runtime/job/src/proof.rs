//! The proof that both ends of a connection know a secret, before anything else is read.
//!
//! A connection begins with a random number from each side. Each side then authenticates both
//! numbers by HMAC-SHA-256 with the secret, and the side that connects authenticates what it says
//! of itself, in words, too. The other may answer in the same way.
//!
//! | from | what |
//! |---|---|
//! | the side that connects | a fixed word, and its number |
//! | the other | its number, authenticated |
//! | the side that connects | words, authenticated |
//! | the other, if both are to agree on something | words, authenticated |

use std::{fmt, io};

use hmac::{Hmac, KeyInit, Mac};
use oxshmem_base::random;
use sha2::Sha256;

/// Bytes of a random number and of what authenticates.
pub const BYTES: usize = 32;
/// The longest message.
pub const LONGEST: usize = 64;

/// Bytes of the first message.
pub const BEGIN: usize = 8 + BYTES;
/// Bytes of the second message.
pub const ACCEPT: usize = 2 * BYTES;

/// Bytes of a message of this many words, authenticated.
pub const fn words(n: usize) -> usize {
    n * size_of::<u64>() + BYTES
}

/// What both ends know. Empty where they were given none.
#[derive(Clone, Default)]
pub struct SecretKey(pub Vec<u8>);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "secret" })
    }
}

impl SecretKey {
    fn mac(&self, label: &[u8; 8], nonces: &Nonces, rest: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("it takes keys of any length");
        [&label[..], &nonces.connects, &nonces.accepts, rest].iter().for_each(|part| mac.update(part));
        mac
    }

    /// `rest`, authenticated.
    fn sign(&self, label: &[u8; 8], nonces: &Nonces, rest: &[u8]) -> Vec<u8> {
        let mac = self.mac(label, nonces, rest).finalize().into_bytes();
        [rest, &mac[..]].concat()
    }

    fn sign_words<const N: usize>(&self, label: &[u8; 8], nonces: &Nonces, words: [u64; N]) -> Vec<u8> {
        self.sign(label, nonces, words.map(u64::to_le_bytes).as_flattened())
    }

    /// What was authenticated, if it is so with this secret. Compares in constant time.
    fn verify<'a>(&self, label: &[u8; 8], nonces: &Nonces, message: &'a [u8]) -> Option<&'a [u8]> {
        let (rest, mac) = message.split_last_chunk::<BYTES>()?;
        self.mac(label, nonces, rest).verify_slice(mac).ok().map(|()| rest)
    }

    fn verify_words<const N: usize>(
        &self,
        label: &[u8; 8],
        nonces: &Nonces,
        message: &[u8],
    ) -> Option<[u64; N]> {
        let (words, _) = self.verify(label, nonces, message)?.as_chunks();
        let words: &[[u8; 8]; N] = words.try_into().ok()?;
        Some(words.map(u64::from_le_bytes))
    }
}

/// Both random numbers of a connection, and the word that it begins with.
#[derive(Clone, Copy, Debug)]
pub struct Nonces {
    magic: [u8; 8],
    connects: [u8; BYTES],
    accepts: [u8; BYTES],
}

impl Nonces {
    /// Two numbers of a connection that begins with `magic`, of which neither is made yet.
    pub fn new(magic: [u8; 8]) -> Self {
        Self { magic, connects: [0; BYTES], accepts: [0; BYTES] }
    }

    /// The first message.
    ///
    /// # Errors
    /// The system's, if it has no random numbers.
    pub fn begin(&mut self) -> io::Result<Vec<u8>> {
        self.connects = random::bytes()?;
        Ok([&self.magic[..], &self.connects].concat())
    }

    /// The second, to the first. None if that is something else.
    ///
    /// # Errors
    /// As above.
    pub fn accept(&mut self, first: &[u8], secret: &SecretKey) -> io::Result<Option<Vec<u8>>> {
        let Some(connects) = first.strip_prefix(&self.magic).and_then(|rest| rest.try_into().ok()) else {
            return Ok(None);
        };
        (self.connects, self.accepts) = (connects, random::bytes()?);
        // The number is authenticated as one of both.
        let mut second = self.accepts.to_vec();
        second.extend(secret.sign(b"accepts:", self, &[]));
        Ok(Some(second))
    }

    /// The third, to the second. None if the other side does not know the secret.
    pub fn prove<const N: usize>(
        &mut self,
        second: &[u8],
        secret: &SecretKey,
        words: [u64; N],
    ) -> Option<Vec<u8>> {
        let (accepts, mac) = second.split_first_chunk::<BYTES>()?;
        self.accepts = *accepts;
        secret.verify(b"accepts:", self, mac)?;
        Some(secret.sign_words(b"connect:", self, words))
    }

    /// What the third says, if the side that connects knows the secret.
    pub fn proven<const N: usize>(&self, third: &[u8], secret: &SecretKey) -> Option<[u64; N]> {
        secret.verify_words(b"connect:", self, third)
    }

    /// The fourth.
    pub fn answer<const N: usize>(&self, secret: &SecretKey, words: [u64; N]) -> Vec<u8> {
        secret.sign_words(b"verdict:", self, words)
    }

    /// What the fourth says, if it is the other side's.
    pub fn answered<const N: usize>(&self, fourth: &[u8], secret: &SecretKey) -> Option<[u64; N]> {
        secret.verify_words(b"verdict:", self, fourth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [usize; 4] = [BEGIN, ACCEPT, words(3), words(2)];

    fn secret(byte: u8) -> SecretKey {
        SecretKey(vec![byte; 16])
    }

    fn nonces() -> Nonces {
        Nonces::new(*b"magic...")
    }

    /// The four messages between two sides with these secrets, each changed by `tamper`; what they
    /// have learned.
    fn shake(secrets: [u8; 2], tamper: impl Fn(usize, &mut Vec<u8>)) -> (Option<[u64; 3]>, Option<[u64; 2]>) {
        let [ours, theirs] = secrets.map(secret);
        let [mut connects, mut accepts] = [nonces(); 2];
        let pass = |i: usize, mut message: Vec<u8>| {
            assert_eq!(message.len(), LENGTHS[i]);
            tamper(i, &mut message);
            message
        };
        let first = pass(0, connects.begin().unwrap());
        let Some(second) = accepts.accept(&first, &theirs).unwrap() else { return (None, None) };
        let second = pass(1, second);
        let Some(third) = connects.prove(&second, &ours, [3, 5, 70]) else { return (None, None) };
        let Some(claim) = accepts.proven(&pass(2, third), &theirs) else { return (None, None) };
        let fourth = pass(3, accepts.answer(&theirs, [1, 9]));
        (Some(claim), connects.answered(&fourth, &ours))
    }

    #[test]
    fn sides_with_one_secret_learn_what_the_other_says() {
        assert_eq!(shake([1, 1], |_, _| ()), (Some([3, 5, 70]), Some([1, 9])));
        assert_eq!(shake([1, 2], |_, _| ()), (None, None));
    }

    #[test]
    fn a_message_of_which_any_bit_is_changed_is_refused() {
        for (message, len) in LENGTHS.into_iter().enumerate() {
            for bit in 0..8 * len {
                let tamper = |i: usize, bytes: &mut Vec<u8>| {
                    if i == message {
                        bytes[bit / 8] ^= 1 << (bit % 8);
                    }
                };
                let (claim, verdict) = shake([1, 1], tamper);
                assert_eq!(verdict, None, "bit {bit} of message {message}");
                assert_eq!(claim.is_some(), message == 3);
            }
        }
    }

    #[test]
    fn a_message_of_another_connection_is_refused() {
        let secret = secret(1);
        let [mut connects, mut accepts, mut others] = [nonces(); 3];
        let first = connects.begin().unwrap();
        let second = accepts.accept(&first, &secret).unwrap().unwrap();
        let third = connects.prove(&second, &secret, [3, 5, 70]).unwrap();
        // A stranger that has seen it all replays it.
        others.accept(&first, &secret).unwrap().unwrap();
        assert_eq!(others.proven::<3>(&third, &secret), None);
        assert_eq!(accepts.proven(&third, &secret), Some([3, 5, 70]));
    }
}
