//! What the [proof](oxshmem_job::proof) of a connection says, which both sides give before anything
//! else is read: the PEs of a job have a secret, which goes from one to the others through the
//! launcher alone.

use oxshmem_job::proof::Handshake;
pub(super) use oxshmem_job::proof::{BYTES, LONGEST, SecretKey};

/// One side of it.
pub(super) type Proof = Handshake<4, 2>;

/// What a PE proves itself by.
#[derive(Debug)]
pub(super) struct Credentials {
    pub(super) secret: SecretKey,
    /// Whether what follows is encrypted.
    pub(super) encrypts: bool,
}

impl Credentials {
    /// The beginning of a connection.
    pub(super) fn begin(&self) -> Proof {
        Proof::new(*b"oxshmem3", self.encrypts)
    }
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

impl Claim {
    pub(super) fn words(self) -> [u64; 4] {
        [self.from, self.to, self.before, self.received]
    }

    pub(super) fn of([from, to, before, received]: [u64; 4]) -> Self {
        Self { from, to, before, received }
    }
}

/// What the other says to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) accepted: bool,
    pub(super) received: u64,
}

impl Verdict {
    pub(super) fn words(self) -> [u64; 2] {
        [u64::from(self.accepted), self.received]
    }

    pub(super) fn of([accepted, received]: [u64; 2]) -> Self {
        Self { accepted: accepted != 0, received }
    }
}
