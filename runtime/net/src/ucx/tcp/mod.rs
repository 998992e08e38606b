//! What is done otherwise where everything goes over TCP.
//!
//! UCX makes messages of long puts, gets and messages there, of 8 KiB each, which it copies on both
//! sides, and of which it has each put acknowledged; it goes through a rendezvous for what is
//! longer. Here [transfers] are active messages that leave from the caller's memory, long ones [in
//! pieces](pieces), and long [messages] too, of which a PE keeps only so much that has not been
//! [received](credit).

mod credit;
pub(super) mod messages;
pub(super) mod pieces;
pub(super) mod transfers;
