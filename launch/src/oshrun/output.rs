//! What PEs print, on its way to the launcher's own output.
//!
//! Whole lines only are passed on, by one thread, so that a line is never broken by another PE's. A
//! PE that prints faster than the reader reads finds its pipe full and waits, as it would without a
//! launcher. The thread is there before any PE is: a system that has none for us says so before
//! there is something to lose.

use std::{
    fmt, io,
    os::fd::{AsFd, BorrowedFd},
    sync::mpsc as blocking,
};

use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, poll},
    fs::fstat,
    io::Errno,
};
use tokio::{
    net::unix::pipe,
    sync::{mpsc, oneshot, watch},
};

/// How much is read at a time.
const CHUNK: usize = 64 << 10;
/// The longest line that is kept together.
const LONGEST_LINE: usize = 16 << 20;

/// Which of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stream {
    Out,
    Err,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Out => "standard output",
            Self::Err => "standard error",
        })
    }
}

/// Why what PEs print on a stream is lost from now on. Each stream has one.
pub(super) type Loss = (Stream, io::Error);

/// The way to the thread that writes. Clones lead to the same.
#[derive(Clone)]
pub(super) struct Output(blocking::Sender<Piece>);

/// Something to be written.
pub(super) struct Piece {
    pub(super) stream: Stream,
    /// The PE that printed it; none if it is the launcher's own.
    pub(super) from: Option<usize>,
    pub(super) text: Vec<u8>,
    pub(super) written: oneshot::Sender<()>,
}

impl Output {
    /// Starts the thread. It sends what cannot be written to the other value.
    pub(super) fn start() -> io::Result<(Self, mpsc::UnboundedReceiver<Loss>)> {
        let (output, pieces) = blocking::channel();
        let (lost, losses) = mpsc::unbounded_channel();
        let run = move || Writer::default().run(&pieces, &lost);
        std::thread::Builder::new().name("output".to_owned()).spawn(run)?;
        Ok((Self(output), losses))
    }

    /// Has `write` take care of all that is to be written, on a thread of its own.
    pub(super) fn to(mut write: impl FnMut(Piece) + Send + 'static) -> io::Result<Self> {
        let (output, pieces) = blocking::channel();
        let run = move || pieces.into_iter().for_each(&mut write);
        std::thread::Builder::new().name("output".to_owned()).spawn(run)?;
        Ok(Self(output))
    }

    /// Writes lines of the launcher's own to standard error, on a line of their own: none at all
    /// ends a last line without an end.
    pub(super) async fn tell(&self, lines: &[u8]) {
        self.give(Stream::Err, None, lines.to_vec()).await;
    }

    /// Returns once it is written, or cannot be.
    pub(super) async fn give(&self, stream: Stream, from: Option<usize>, text: Vec<u8>) {
        let (written, done) = oneshot::channel();
        // The thread lives for as long as there is an `Output`.
        let _ = self.0.send(Piece { stream, from, text, written });
        let _ = done.await;
    }
}

/// What the thread knows.
#[derive(Default)]
struct Writer {
    out: Sink,
    err: Sink,
}

/// What has become of one of the two.
#[derive(Default)]
struct Sink {
    /// The PE whose last line, which is written, has no end yet.
    unfinished: Option<usize>,
    /// A write has failed. What PEs print is still taken from them, so that they can end as they
    /// mean to.
    broken: bool,
}

impl Writer {
    fn run(mut self, pieces: &blocking::Receiver<Piece>, lost: &mpsc::UnboundedSender<Loss>) {
        for Piece { stream, from, text, written } in pieces {
            match from {
                None => self.tell(&text),
                Some(_) if text.is_empty() => {}
                Some(pe) => {
                    if let Err(error) = self.pass_on(stream, pe, &text) {
                        // It fails when the job is over, and does not matter then.
                        let _ = lost.send((stream, error));
                    }
                }
            }
            let _ = written.send(());
        }
    }

    fn pass_on(&mut self, stream: Stream, pe: usize, text: &[u8]) -> io::Result<()> {
        let sink = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        if sink.broken {
            return Ok(());
        }
        let starts_anew = sink.unfinished.is_some_and(|unfinished| unfinished != pe);
        let written = if starts_anew { write(stream, b"\n") } else { Ok(()) };
        let written = written.and_then(|()| write(stream, text));
        sink.broken = written.is_err();
        sink.unfinished = (!text.ends_with(b"\n")).then_some(pe);
        written
    }

    /// The launcher's own messages are no output of the job: that they cannot be written ends
    /// nothing.
    fn tell(&mut self, lines: &[u8]) {
        let unfinished = self.err.unfinished.is_some()
            || self.out.unfinished.is_some() && is_same_file(io::stdout(), io::stderr());
        if unfinished {
            self.err.unfinished = None;
            let _ = write(Stream::Err, b"\n");
        }
        let _ = write(Stream::Err, lines);
    }
}

/// Writes all of it, also where the file is in the mode in which a write does not wait.
fn write(stream: Stream, text: &[u8]) -> io::Result<()> {
    match stream {
        Stream::Out => write_all(io::stdout().as_fd(), text),
        Stream::Err => write_all(io::stderr().as_fd(), text),
    }
}

fn write_all(to: BorrowedFd<'_>, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        match rustix::io::write(to, text) {
            Ok(written) => text = &text[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                rustix::io::retry_on_intr(|| {
                    poll(&mut [PollFd::from_borrowed_fd(to, PollFlags::OUT)], None)
                })?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn is_same_file(a: impl AsFd, b: impl AsFd) -> bool {
    matches!((fstat(a), fstat(b)), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

/// Passes on what PE `pe` prints until no process can print any more, or `over` becomes true and
/// there is nothing left to read.
pub(super) async fn relay(
    pe: usize,
    stream: Stream,
    tag: bool,
    from: pipe::Receiver,
    output: Output,
    mut over: watch::Receiver<bool>,
) {
    let tag = tag.then(|| format!("[{pe}] ").into_bytes());
    let mut text = Vec::new();
    let mut last = false;
    loop {
        if !last {
            tokio::select! {
                ready = from.readable() => if ready.is_err() { break },
                _ = over.wait_for(|&over| over) => last = true,
            }
        }
        let before = text.len();
        text.reserve(CHUNK);
        let read = if last {
            // Asks the pipe itself, because tokio knows only what it has seen before.
            rustix::io::read(&from, spare_capacity(&mut text)).map_err(io::Error::from)
        } else {
            from.try_read_buf(&mut text)
        };
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !last => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        let end = match text[before..].iter().rposition(|&byte| byte == b'\n') {
            Some(newline) => before + newline + 1,
            None if text.len() >= LONGEST_LINE => text.len(),
            None => 0,
        };
        if end > 0 {
            // What is left is short, or nothing: most PEs print nothing most of the time.
            let rest = text.split_off(end);
            let lines = std::mem::replace(&mut text, rest);
            output.give(stream, Some(pe), tagged(tag.as_deref(), lines)).await;
        }
    }
    if !text.is_empty() {
        output.give(stream, Some(pe), tagged(tag.as_deref(), text)).await;
    }
}

fn tagged(tag: Option<&[u8]>, lines: Vec<u8>) -> Vec<u8> {
    let Some(tag) = tag else { return lines };
    let mut tagged = Vec::with_capacity(lines.len() * 2);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        tagged.extend(tag);
        tagged.extend(line);
    }
    tagged
}
