//! Jobs that run on this host, seen from outside: which there are, and what their PEs do.
//!
//! Nothing is asked of a job. The memory in which its PEs say what they are in has a name where the
//! system lists what a process has open, and any process of the same user can open it there. It is
//! read, never mapped, and one word of each PE is written: the one by which a looker has it count.
//!
//! | module | |
//! |---|---|
//! | [`find`](mod@find) | the jobs of this user |
//! | [`process`] | what the system says of a process |
//! | [`sample`] | what the PEs of a job do, for so long |

pub mod find;
pub mod process;
pub mod sample;
