//! The launcher's standard input, on its way to PEs.
//!
//! PE 0 inherits it, so that nothing is read but what PE 0 reads: what it leaves is there for the
//! next reader, as in `while read line; do oshrun …; done`. A terminal cannot be inherited, since
//! the PEs' process group is never in its foreground, and several PEs cannot share one input:
//! there, a thread reads it and writes it to a pipe a PE.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    process::Stdio,
    sync::mpsc,
    time::Duration,
};

use clap::ValueEnum;
use rustix::event::{PollFd, PollFlags, poll};

/// How often a job in the background looks whether it is in the foreground again, while there is
/// something to read.
const LOOK: Duration = Duration::from_millis(200);

/// Which PEs get the launcher's standard input. The others read its end at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum StdinTo {
    /// No PE: oshrun reads nothing
    None,
    /// PE 0, which reads it itself unless it is a terminal
    #[default]
    #[value(name = "0")]
    Zero,
    /// Every PE gets all of it. oshrun reads it, as fast as the slowest PE
    All,
}

/// Where it comes from.
pub(super) enum InputFrom {
    /// This process's own, which a PE may inherit.
    Own,
    /// This process's own, which is passed on in any case.
    OwnPassedOn,
    /// Another file, which is passed on.
    File(File),
}

/// What becomes of it.
pub(super) struct Input {
    to: StdinTo,
    /// The way to the thread that reads, if there is to be one.
    reader: Option<mpsc::Sender<Vec<OwnedFd>>>,
}

impl Input {
    /// Starts the thread that reads, if one is needed. It reads nothing yet.
    pub(super) fn start(to: StdinTo, from: InputFrom) -> io::Result<Self> {
        let passed_on = match (to, &from) {
            (StdinTo::None, _) => false,
            (StdinTo::Zero, InputFrom::Own) => io::stdin().is_terminal(),
            _ => true,
        };
        if !passed_on {
            return Ok(Self { to, reader: None });
        }
        let from = match from {
            InputFrom::File(file) => file,
            InputFrom::Own | InputFrom::OwnPassedOn => File::from(io::stdin().as_fd().try_clone_to_owned()?),
        };
        let (reader, pipes) = mpsc::channel();
        let run = move || {
            if let Ok(pipes) = pipes.recv() {
                pass_on(from, pipes);
            }
        };
        std::thread::Builder::new().name("stdin".to_owned()).spawn(run)?;
        Ok(Self { to, reader: Some(reader) })
    }

    /// What PE `pe` is started with.
    pub(super) fn of(&self, pe: usize) -> Stdio {
        match self.to {
            StdinTo::Zero if pe > 0 => Stdio::null(),
            StdinTo::None => Stdio::null(),
            _ if self.reader.is_some() => Stdio::piped(),
            _ => Stdio::inherit(),
        }
    }

    /// Begins to pass it on to the pipes of all PEs that have one.
    pub(super) fn feed(&self, pipes: Vec<OwnedFd>) {
        if let Some(reader) = &self.reader {
            // The thread waits for this.
            let _ = reader.send(pipes);
        }
    }
}

/// Passes input on until it ends, or no PE reads any more. Nothing waits for it.
fn pass_on(mut from: File, pipes: Vec<OwnedFd>) {
    let mut pipes: Vec<File> = pipes.into_iter().map(File::from).collect();
    let mut bytes = vec![0; 64 << 10];
    while !pipes.is_empty() {
        // A thread that reads a terminal from the background stops the process; one that waits for
        // it does not.
        if poll(&mut [PollFd::new(&from, PollFlags::IN)], None).is_err() {
            continue;
        }
        if is_in_background(&from) {
            std::thread::sleep(LOOK);
            continue;
        }
        match from.read(&mut bytes) {
            Ok(0) => return,
            Ok(n) => pipes.retain_mut(|pipe| pipe.write_all(&bytes[..n]).is_ok()),
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(_) => return,
        }
    }
}

/// Whether a file is the terminal that controls us, and another job has it.
fn is_in_background(file: &File) -> bool {
    // SAFETY: two calls that only ask. The first fails for what is not that terminal.
    let (foreground, own) = unsafe { (libc::tcgetpgrp(file.as_raw_fd()), libc::getpgrp()) };
    foreground > 0 && foreground != own
}
