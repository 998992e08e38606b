//! What the source shows by itself: what compiles, what does not, and what its texts say.

mod collections;
mod compile_fail;
mod readme;
mod replicated;
mod send_sync;
mod service_picture;
mod unsafe_rules;
