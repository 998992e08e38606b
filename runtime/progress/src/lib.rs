//! The progress engine: it completes operations, watches words, and wakes the tasks that wait.
//!
//! | module | what it offers |
//! |---|---|
//! | [`executor`] | the engine of a PE: sources are polled, watched words looked at, tasks woken |
//! | [`helper`], [`helper_waker`] | the thread of a process that drives it while no other does |
//! | [`source`] | what the engine polls, and where it reads words that it cannot load |
//! | [`wait`] | how long a thread that waits looks around before it sleeps |
//! | [`completion`] | what runs when an operation is over |
//! | [`failure`] | why nothing that is waited for will come any more |
//! | [`opset`], [`flight`] | operations that do not finish at once, and the future of one |
//! | [`copies`] | a thread that performs large copies |
//! | [`control`], [`fabric`] | what the PEs of a host share beside symmetric memory |
//! | [`kernels`] | the words by which kernels of devices ask for something |
//! | [`run_flag`] | a queue that threads run for each other |
//! | [`shares`] | work that several PEs share out among themselves |
//! | [`bell`], [`event`], [`doorbell`] | how a store wakes a PE if, and only if, it sleeps |
//! | [`suite`] | all ways in which the engine is driven, for the suites of what it polls |
//! | [`phase`] | the names of phases of the program, as words |
//! | [`record`] | what each PE has done, for people, in a file |
//! | [`activity`] | what each PE is in and has done, for people, where others can read it |
//! | [`watchdog`] | says when a PE seems to be stuck |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

pub mod activity;
pub mod bell;
pub mod completion;
pub mod control;
pub mod copies;
pub mod doorbell;
pub mod event;
pub mod executor;
pub mod fabric;
pub mod failure;
pub mod flight;
pub mod helper;
pub mod helper_waker;
pub mod kernels;
pub mod notes;
pub mod opset;
pub mod phase;
pub mod record;
pub mod run_flag;
pub mod shares;
pub mod source;
pub mod suite;
pub mod wait;
pub mod watchdog;
