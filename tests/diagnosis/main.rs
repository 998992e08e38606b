//! What is seen of a job from outside: of one that hangs, of one that runs, and of one that is
//! over.

mod calls;
mod cluster;
#[path = "../common/mod.rs"]
mod common;
mod live;
#[path = "../common/log.rs"]
mod log;
mod names;
mod processes;
#[path = "../common/stuck.rs"]
mod stuck;
mod trace_events;
mod trace_record;
mod wait_states;
