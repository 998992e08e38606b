//! Teams: how they are made, what is done with them, and how they end.

#[path = "../common/mod.rs"]
mod common;
mod contexts;
mod life;
mod split;
mod tasks;
