//! What the library has for the program, found by a handle or an address: blocks, contexts, teams,
//! and the teams of active sets. The routines are in the modules of their chapters; here is what
//! ends with the world.

pub(crate) mod blocks;
pub(crate) mod contexts;
pub(crate) mod errors;
pub(crate) mod making;
pub(crate) mod sets;
pub(crate) mod teams;
