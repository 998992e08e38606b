//! What only this crate can implement, and so the traits that ask for it: unsafe code relies on
//! what they say.

/// A type that the traits of this crate know.
pub trait Sealed {}
