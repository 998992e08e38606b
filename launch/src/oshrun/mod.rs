//! `oshrun`: starts the PEs of a job, lets them meet, relays what they print, and ends them
//! together.
//!
//! One thread does it all in an event loop (`job`), but for two that do what cannot be waited for
//! there: they write the PEs' `output` and, where PEs cannot do so themselves, read their `input`.
//! What happens to the job when a PE ends, a signal comes or time runs out is decided by plain
//! logic without I/O (`lifecycle`), and so is what PEs exchange through the launcher (`exchanges`).
//! What PEs are in, when one is stuck or gone, is read off their memory (`boards`, `diagnosis`). A
//! second process, the `guardian`, leads the process group that all PEs belong to and kills it
//! should the launcher be killed.
//!
//! The PEs of this machine are in `here`. Those of other machines are reached by an `agent` on
//! each, which has them in its own `here`; `agents` is the way to it, in frames (`frame`). The loop
//! does not see the difference (`reach`). A host that is out of reach has a `lease`.

mod agent;
mod agents;
mod attend;
mod boards;
mod diagnosis;
mod events;
mod frame;
mod guardian;
mod here;
mod input;
mod job;
mod lease;
mod lifecycle;
mod options;
mod output;
mod pe;
mod pictures;
mod places;
mod plan;
mod reach;
mod recordings;
mod signals;
mod slots;
mod start;

use std::{ffi::OsString, io::Write, os::unix::net::UnixStream, process::ExitCode};

use oxshmem_base::printable::{printable, printable_lines};
use oxshmem_job::exchanges;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::trace;
use guardian::Guardian;
use options::{RunOptions, Stop};

/// The status of an `oshrun` that could not start what it was asked to.
const NOT_STARTED: u8 = 2;

/// What makes this program an agent.
const AGENT: &str = "--agent";

/// The whole program, from its arguments to its exit status.
pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// The whole program with other arguments than this process's, of which the first is the program's
/// name. For programs that start themselves as a job.
pub fn main_with(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    if args.get(1).is_some_and(|arg| arg == AGENT) && args.len() == 2 {
        return agent::main();
    }
    let options = match RunOptions::from_args(args.into_iter()) {
        Ok(options) => options,
        Err(Stop::Answer(text)) => {
            return match std::io::stdout().write_all(text.as_bytes()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => refuse(&format!("cannot write to standard output: {error}")),
            };
        }
        Err(Stop::Written(Ok(written))) => {
            say_where(&written);
            return ExitCode::SUCCESS;
        }
        Err(Stop::Written(Err(reason))) => return refuse(&reason),
        Err(Stop::Refusal(reason)) => return refuse(&reason),
    };
    if let Some(folder) = &options.plan.trace
        && let Err(error) = trace::prepare(folder)
    {
        return refuse(&format!("--trace {}: {error}", folder.display()));
    }
    // tokio makes such a pair for signals, and panics if it cannot.
    if let Err(error) = UnixStream::pair() {
        return refuse(&format!("cannot make a pair of connected sockets: {error}"));
    }
    pe::leave_outer_job();
    // The guardian is forked here, while there is one thread.
    let guardian = match Guardian::start() {
        Ok(guardian) => guardian,
        Err(error) => return refuse(&format!("cannot start the guardian process: {error}")),
    };
    // On this thread, because the kernel kills PEs when the thread that started them ends.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&format!("cannot start: {error}")),
    };
    let end = runtime.block_on(job::run(&options, &guardian));
    // Output that is still on its way to a reader that does not read is given up.
    runtime.shutdown_background();
    guardian.end();
    match end {
        Ok(end) => {
            if let Some(message) = end.message {
                // With the table of a hanging job it has several lines.
                say(&printable_lines(&message));
            }
            match options.plan.trace.as_deref().map(trace::write) {
                Some(Ok(written)) => say_where(&written),
                Some(Err(reason)) => say(&printable(&reason)),
                None => {}
            }
            ExitCode::from(end.status)
        }
        Err(reason) => refuse(&reason),
    }
}

/// Says where it is, and what is not in it.
fn say_where(trace::Written { unreadable, files }: &trace::Written) {
    unreadable.iter().for_each(|why| say(&printable(why)));
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    say(&printable(&format!("what the PEs did is in {}", files.join(" and "))));
}

/// The options as clap knows them, for the man page.
pub fn command() -> clap::Command {
    options::command()
}

fn refuse(reason: &str) -> ExitCode {
    say(&printable(reason));
    ExitCode::from(NOT_STARTED)
}

/// Writes a message in one piece, unless the reader of standard error has stopped reading it. If it
/// fails, there is no place left for a message.
fn say(message: &str) {
    let mut stderr = std::io::stderr();
    let mut writable = [PollFd::new(&stderr, PollFlags::OUT)];
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    if poll(&mut writable, Some(&second)) != Ok(0) {
        let _ = stderr.write_all(format!("oshrun: {message}\n").as_bytes());
    }
}
