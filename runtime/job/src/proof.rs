//! The proof that both ends of a connection know a secret, before anything else is read.
//!
//! A connection begins with a random number from each side. Each side then authenticates both
//! numbers by HMAC-SHA-256 with the secret, and what it says of itself, in words, too.
//!
//! | from | what |
//! |---|---|
//! | the side that connects | a fixed word, and its number |
//! | the other | its number, authenticated |
//! | the side that connects | words, authenticated |
//! | the other | words, authenticated |
//!
//! If the connection is to be encrypted, the words travel as both messages of the [Noise
//! protocol](https://noiseprotocol.org)'s pattern `NNpsk0`, whose pre-shared key is made of the
//! secret and both numbers. From them both sides have the keys of a [`Cipher`].

use std::{fmt, io};

use hmac::{Hmac, KeyInit, Mac};
use oxshmem_base::random;
use sha2::Sha256;
use snow::{Builder, HandshakeState};

use crate::cipher::{Cipher, TAG};

/// Bytes of a random number and of what authenticates.
pub const BYTES: usize = 32;
/// The longest message.
pub const LONGEST: usize = 128;

/// Bytes of a public key of X25519.
const PUBLIC_KEY: usize = 32;
/// What is agreed on before an encrypted connection.
const NOISE: &str = "Noise_NNpsk0_25519_AESGCM_SHA256";

/// What both ends know. Empty where they were given none.
#[derive(Clone, Default)]
pub struct SecretKey(pub Vec<u8>);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "secret" })
    }
}

/// One side of a beginning. The side that connects says `THERE` words of itself, and the other
/// answers with `BACK` words.
#[derive(Debug)]
pub struct Handshake<const THERE: usize, const BACK: usize> {
    magic: [u8; 8],
    encrypts: bool,
    connects: [u8; BYTES],
    accepts: [u8; BYTES],
    noise: Option<Box<HandshakeState>>,
}

impl<const THERE: usize, const BACK: usize> Handshake<THERE, BACK> {
    /// The beginning of a connection that starts with the bytes `magic`, and is to be encrypted or
    /// not. Both sides must say so alike.
    pub fn new(magic: [u8; 8], encrypts: bool) -> Self {
        Self { magic, encrypts, connects: [0; BYTES], accepts: [0; BYTES], noise: None }
    }

    /// Bytes of each of the four messages.
    pub fn lengths(&self) -> [usize; 4] {
        let encrypted = if self.encrypts { PUBLIC_KEY + TAG } else { 0 };
        let [there, back] = [THERE, BACK].map(|words| words * size_of::<u64>() + encrypted + BYTES);
        [size_of_val(&self.magic) + BYTES, 2 * BYTES, there, back]
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
        second.extend(self.sign(secret, b"accepts:", &[]));
        Ok(Some(second))
    }

    /// The third, to the second. None if the other side does not know the secret.
    pub fn prove(&mut self, second: &[u8], secret: &SecretKey, words: [u64; THERE]) -> Option<Vec<u8>> {
        let (accepts, mac) = second.split_first_chunk::<BYTES>()?;
        self.accepts = *accepts;
        self.verify(secret, b"accepts:", mac)?;
        self.noise = self.noise(secret, |it| it.build_initiator());
        self.say(secret, b"connect:", words)
    }

    /// What the third says, if the side that connects knows the secret.
    pub fn proven(&mut self, third: &[u8], secret: &SecretKey) -> Option<[u64; THERE]> {
        self.noise = self.noise(secret, |it| it.build_responder());
        self.hear(secret, b"connect:", third)
    }

    /// The fourth. None if there was no third.
    pub fn answer(&mut self, secret: &SecretKey, words: [u64; BACK]) -> Option<Vec<u8>> {
        self.say(secret, b"verdict:", words)
    }

    /// What the fourth says, if it is the other side's.
    pub fn answered(&mut self, fourth: &[u8], secret: &SecretKey) -> Option<[u64; BACK]> {
        self.hear(secret, b"verdict:", fourth)
    }

    /// What encrypts everything behind the fourth message, if that is to be.
    ///
    /// # Errors
    /// If there was no fourth message.
    pub fn finish(self) -> io::Result<Option<Cipher>> {
        if !self.encrypts {
            return Ok(None);
        }
        let state = self.noise.and_then(|noise| noise.into_transport_mode().ok());
        state.map(|state| Some(Cipher::new(state))).ok_or_else(|| io::Error::other("no keys were agreed on"))
    }

    fn say<const N: usize>(
        &mut self,
        secret: &SecretKey,
        label: &[u8; 8],
        words: [u64; N],
    ) -> Option<Vec<u8>> {
        let words = words.map(u64::to_le_bytes);
        if !self.encrypts {
            return Some(self.sign(secret, label, words.as_flattened()));
        }
        let mut message = [0; LONGEST];
        let len = self.noise.as_mut()?.write_message(words.as_flattened(), &mut message).ok()?;
        Some(self.sign(secret, label, &message[..len]))
    }

    fn hear<const N: usize>(
        &mut self,
        secret: &SecretKey,
        label: &[u8; 8],
        message: &[u8],
    ) -> Option<[u64; N]> {
        let mut clear = [0; LONGEST];
        let mut words = self.verify(secret, label, message)?;
        if self.encrypts {
            let len = self.noise.as_mut()?.read_message(words, &mut clear).ok()?;
            words = &clear[..len];
        }
        let words: &[[u8; 8]; N] = words.as_chunks().0.try_into().ok()?;
        Some(words.map(u64::from_le_bytes))
    }

    /// What encrypts both messages with words, if they are to be.
    fn noise(
        &self,
        secret: &SecretKey,
        side: impl FnOnce(Builder<'_>) -> Result<HandshakeState, snow::Error>,
    ) -> Option<Box<HandshakeState>> {
        if !self.encrypts {
            return None;
        }
        let key = self.mac(secret, b"encrypt:", &[]).finalize().into_bytes().into();
        let pattern = NOISE.parse().expect("the pattern is one");
        let builder = Builder::new(pattern).psk(0, &key).expect("the pattern has a key at that place");
        side(builder).ok().map(Box::new)
    }

    fn mac(&self, secret: &SecretKey, label: &[u8; 8], rest: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("it takes keys of any length");
        [&label[..], &self.connects, &self.accepts, rest].iter().for_each(|part| mac.update(part));
        mac
    }

    /// `rest`, authenticated.
    fn sign(&self, secret: &SecretKey, label: &[u8; 8], rest: &[u8]) -> Vec<u8> {
        let mac = self.mac(secret, label, rest).finalize().into_bytes();
        [rest, &mac[..]].concat()
    }

    /// What was authenticated, if it is so with this secret. Compares in constant time.
    fn verify<'a>(&self, secret: &SecretKey, label: &[u8; 8], message: &'a [u8]) -> Option<&'a [u8]> {
        let (rest, mac) = message.split_last_chunk::<BYTES>()?;
        self.mac(secret, label, rest).verify_slice(mac).ok().map(|()| rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Side = Handshake<3, 2>;

    fn secret(byte: u8) -> SecretKey {
        SecretKey(vec![byte; 16])
    }

    fn side(encrypts: bool) -> Side {
        Side::new(*b"magic...", encrypts)
    }

    /// What both sides have learned, and what encrypts what follows.
    type Learned = (Option<[u64; 3]>, Option<[u64; 2]>, [Option<Cipher>; 2]);

    /// The four messages between two sides with these secrets, each changed by `tamper`.
    fn shake(encrypts: bool, secrets: [u8; 2], tamper: impl Fn(usize, &mut Vec<u8>)) -> Learned {
        let [ours, theirs] = secrets.map(secret);
        let [mut connects, mut accepts] = [encrypts; 2].map(side);
        let lengths = connects.lengths();
        let pass = |i: usize, mut message: Vec<u8>| {
            assert_eq!(message.len(), lengths[i]);
            assert!(message.len() <= LONGEST);
            tamper(i, &mut message);
            message
        };
        let first = pass(0, connects.begin().unwrap());
        let Some(second) = accepts.accept(&first, &theirs).unwrap() else {
            return (None, None, [None, None]);
        };
        let second = pass(1, second);
        let Some(third) = connects.prove(&second, &ours, [3, 5, 70]) else {
            return (None, None, [None, None]);
        };
        let Some(claim) = accepts.proven(&pass(2, third), &theirs) else { return (None, None, [None, None]) };
        let fourth = pass(3, accepts.answer(&theirs, [1, 9]).unwrap());
        let answer = connects.answered(&fourth, &ours);
        (Some(claim), answer, [connects, accepts].map(|side| side.finish().ok().flatten()))
    }

    #[test]
    fn sides_with_one_secret_learn_what_the_other_says() {
        for encrypts in [false, true] {
            let (claim, answer, ciphers) = shake(encrypts, [1, 1], |_, _| ());
            assert_eq!((claim, answer), (Some([3, 5, 70]), Some([1, 9])));
            assert!(ciphers.iter().all(|cipher| cipher.is_some() == encrypts));
            assert!(matches!(shake(encrypts, [1, 2], |_, _| ()), (None, None, [None, None])));
        }
    }

    #[test]
    fn a_message_of_which_any_bit_is_changed_is_refused() {
        for encrypts in [false, true] {
            for (message, len) in side(encrypts).lengths().into_iter().enumerate() {
                for bit in 0..8 * len {
                    let tamper = |i: usize, bytes: &mut Vec<u8>| {
                        if i == message {
                            bytes[bit / 8] ^= 1 << (bit % 8);
                        }
                    };
                    let (claim, verdict, _) = shake(encrypts, [1, 1], tamper);
                    assert_eq!(verdict, None, "bit {bit} of message {message}");
                    assert_eq!(claim.is_some(), message == 3);
                }
            }
        }
    }

    #[test]
    fn a_message_of_another_connection_is_refused() {
        for encrypts in [false, true] {
            let secret = secret(1);
            let [mut connects, mut accepts, mut others] = [encrypts; 3].map(side);
            let first = connects.begin().unwrap();
            let second = accepts.accept(&first, &secret).unwrap().unwrap();
            let third = connects.prove(&second, &secret, [3, 5, 70]).unwrap();
            // A stranger that has seen it all replays it.
            others.accept(&first, &secret).unwrap().unwrap();
            assert_eq!(others.proven(&third, &secret), None);
            assert_eq!(accepts.proven(&third, &secret), Some([3, 5, 70]));
        }
    }

    #[test]
    fn an_encrypted_beginning_shows_none_of_the_words() {
        shake(true, [1, 1], |_, message| {
            assert!(!message.windows(8).any(|bytes| bytes == 70_u64.to_le_bytes()));
        });
    }
}
