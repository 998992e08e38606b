//! The proof that both ends of a connection are of the same job, before anything else is read.
//!
//! The PEs of a job have a secret, which goes from one to the others through the launcher alone. A
//! connection begins with a random number from each side. Each side then authenticates both
//! numbers, and what it says of itself, by HMAC-SHA-256 with that secret.
//!
//! | from | what |
//! |---|---|
//! | the side that connects | a fixed word, and its number |
//! | the other | its number, authenticated |
//! | the side that connects | its PE, the other's, and what it has of the stream, authenticated |
//! | the other | whether it takes the connection, and how much it has, authenticated |

use hmac::{Hmac, KeyInit, Mac};
use oxshmem_base::{Error, Result, random};
use sha2::Sha256;

use super::frame::word;

/// Bytes of the secret, of a number and of what authenticates.
pub(super) const BYTES: usize = 32;
/// What a connection of this form begins with.
const MAGIC: [u8; 8] = *b"oxshmem3";

/// Bytes of each of the four messages.
pub(super) const LENGTHS: [usize; 4] = [8 + BYTES, 2 * BYTES, 32 + BYTES, 16 + BYTES];
/// The longest of them.
pub(super) const LONGEST: usize = 64;

/// What the PEs of a job know.
pub(super) struct Secret([u8; BYTES]);

/// Both numbers of a connection.
#[derive(Clone, Copy, Default)]
pub(super) struct Numbers {
    connects: [u8; BYTES],
    accepts: [u8; BYTES],
}

/// What the side that connects says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) from: u64,
    pub(super) to: u64,
    /// How many connections there were between the two before.
    pub(super) before: u64,
    pub(super) received: u64,
}

/// What the other says to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) accepted: bool,
    pub(super) received: u64,
}

impl Secret {
    /// What one PE makes up for all.
    pub(super) fn make() -> Result<Vec<u8>> {
        Ok(random_bytes()?.to_vec())
    }

    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    fn mac(&self, label: &[u8; 8], numbers: &Numbers, rest: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("it takes keys of any length");
        [&label[..], &numbers.connects, &numbers.accepts, rest].iter().for_each(|part| mac.update(part));
        mac
    }

    /// `rest`, authenticated.
    fn sign(&self, label: &[u8; 8], numbers: &Numbers, rest: &[u8]) -> Vec<u8> {
        let mac = self.mac(label, numbers, rest).finalize().into_bytes();
        [rest, &mac[..]].concat()
    }

    /// What was authenticated, if it is so with this secret. Compares in constant time.
    fn verify<'a>(&self, label: &[u8; 8], numbers: &Numbers, message: &'a [u8]) -> Option<&'a [u8]> {
        let (rest, mac) = message.split_last_chunk::<BYTES>()?;
        self.mac(label, numbers, rest).verify_slice(mac).ok().map(|()| rest)
    }
}

fn random_bytes() -> Result<[u8; BYTES]> {
    random::bytes().map_err(|error| Error::system("random numbers for a connection", error))
}

impl Numbers {
    /// The first message.
    pub(super) fn begin(&mut self) -> Result<Vec<u8>> {
        self.connects = random_bytes()?;
        Ok([&MAGIC[..], &self.connects].concat())
    }

    /// The second, to the first.
    pub(super) fn accept(&mut self, first: &[u8], secret: &Secret) -> Result<Option<Vec<u8>>> {
        let Some(connects) = first.strip_prefix(&MAGIC).and_then(|rest| rest.try_into().ok()) else {
            return Ok(None);
        };
        *self = Self { connects, accepts: random_bytes()? };
        // The number is authenticated as one of both.
        let mut second = self.accepts.to_vec();
        second.extend(secret.sign(b"accepts:", self, &[]));
        Ok(Some(second))
    }

    /// The third, to the second.
    pub(super) fn prove(&mut self, second: &[u8], secret: &Secret, claim: Claim) -> Option<Vec<u8>> {
        let (accepts, mac) = second.split_first_chunk::<BYTES>()?;
        self.accepts = *accepts;
        secret.verify(b"accepts:", self, mac)?;
        let words = [claim.from, claim.to, claim.before, claim.received].map(u64::to_ne_bytes);
        Some(secret.sign(b"connect:", self, words.as_flattened()))
    }

    /// What the third says.
    pub(super) fn claim(&self, third: &[u8], secret: &Secret) -> Option<Claim> {
        let rest = secret.verify(b"connect:", self, third)?;
        let [from, to, before, received] = [0, 8, 16, 24].map(|at| word(rest, at));
        Some(Claim { from, to, before, received })
    }

    /// The fourth.
    pub(super) fn answer(&self, secret: &Secret, verdict: Verdict) -> Vec<u8> {
        let words = [u64::from(verdict.accepted), verdict.received].map(u64::to_ne_bytes);
        secret.sign(b"verdict:", self, words.as_flattened())
    }

    /// What the fourth says.
    pub(super) fn verdict(&self, fourth: &[u8], secret: &Secret) -> Option<Verdict> {
        let rest = secret.verify(b"verdict:", self, fourth)?;
        Some(Verdict { accepted: word(rest, 0) != 0, received: word(rest, 8) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret([byte; BYTES])
    }

    const CLAIM: Claim = Claim { from: 3, to: 5, before: 2, received: 70 };
    const VERDICT: Verdict = Verdict { accepted: true, received: 9 };

    /// The four messages between two sides with these secrets, each changed by `tamper`; what they
    /// have learned.
    fn shake(secrets: [u8; 2], tamper: impl Fn(usize, &mut Vec<u8>)) -> (Option<Claim>, Option<Verdict>) {
        let [ours, theirs] = secrets.map(secret);
        let [mut connects, mut accepts] = [Numbers::default(); 2];
        let pass = |i: usize, mut message: Vec<u8>| {
            assert_eq!(message.len(), LENGTHS[i]);
            tamper(i, &mut message);
            message
        };
        let first = pass(0, connects.begin().unwrap());
        let Some(second) = accepts.accept(&first, &theirs).unwrap() else { return (None, None) };
        let second = pass(1, second);
        let Some(third) = connects.prove(&second, &ours, CLAIM) else { return (None, None) };
        let Some(claim) = accepts.claim(&pass(2, third), &theirs) else { return (None, None) };
        let fourth = pass(3, accepts.answer(&theirs, VERDICT));
        (Some(claim), connects.verdict(&fourth, &ours))
    }

    #[test]
    fn sides_with_one_secret_learn_what_the_other_says() {
        assert_eq!(shake([1, 1], |_, _| ()), (Some(CLAIM), Some(VERDICT)));
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
        let [mut connects, mut accepts, mut others] = [Numbers::default(); 3];
        let first = connects.begin().unwrap();
        let second = accepts.accept(&first, &secret).unwrap().unwrap();
        let third = connects.prove(&second, &secret, CLAIM).unwrap();
        // A stranger that has seen it all replays it.
        others.accept(&first, &secret).unwrap().unwrap();
        assert_eq!(others.claim(&third, &secret), None);
        assert_eq!(accepts.claim(&third, &secret), Some(CLAIM));
    }
}
