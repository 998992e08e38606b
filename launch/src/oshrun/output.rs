//! What PEs print, on its way to the launcher's own output.
//!
//! Whole lines only are passed on, under one lock, so that a line is never broken by another PE's. A PE
//! that prints faster than the reader reads finds its pipe full and waits, as it would without a launcher.

use std::{io, os::fd::AsFd, sync::Arc};

use rustix::{buffer::spare_capacity, fs::fstat};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt, Stderr, Stdout},
    net::unix::pipe,
    sync::{Mutex, watch},
};

/// How much is read at a time.
const CHUNK: usize = 64 << 10;
/// The longest line that is kept together.
const LONGEST_LINE: usize = 16 << 20;

/// Which of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

/// The launcher's own output.
pub(super) struct Output {
    // One lock for both, because both may be the same file.
    streams: Mutex<(Sink<Stdout>, Sink<Stderr>)>,
}

impl Output {
    pub(super) fn new() -> Self {
        let streams = (Sink::new(tokio::io::stdout()), Sink::new(tokio::io::stderr()));
        Self { streams: Mutex::new(streams) }
    }

    /// Ends a last line without an end, so that a message on standard error starts a new one.
    pub(super) async fn end_line(&self) {
        self.tell(b"").await;
    }

    /// Writes lines of the launcher's own to standard error, on a line of their own.
    pub(super) async fn tell(&self, lines: &[u8]) {
        let mut streams = self.streams.lock().await;
        let unfinished = streams.1.unfinished.is_some()
            || streams.0.unfinished.is_some() && is_same_file(io::stdout(), io::stderr());
        if unfinished {
            streams.1.unfinished = None;
            streams.1.write(0, b"\n").await;
        }
        streams.1.write(0, lines).await;
    }

    async fn write(&self, stream: Stream, from: usize, lines: &[u8]) {
        let mut streams = self.streams.lock().await;
        match stream {
            Stream::Out => streams.0.write(from, lines).await,
            Stream::Err => streams.1.write(from, lines).await,
        }
    }
}

struct Sink<W> {
    inner: W,
    /// The PE whose last line, which is written, has no end yet.
    unfinished: Option<usize>,
    /// Nobody reads any more. What PEs print is still taken from them, so that they can end as they mean to.
    broken: bool,
}

impl<W: AsyncWrite + Unpin> Sink<W> {
    fn new(inner: W) -> Self {
        Self { inner, unfinished: None, broken: false }
    }

    async fn write(&mut self, from: usize, lines: &[u8]) {
        if self.broken || lines.is_empty() {
            return;
        }
        let result = async {
            if self.unfinished.is_some_and(|pe| pe != from) {
                self.inner.write_all(b"\n").await?;
            }
            self.inner.write_all(lines).await?;
            self.inner.flush().await
        };
        self.broken = result.await.is_err();
        self.unfinished = (!lines.ends_with(b"\n")).then_some(from);
    }
}

fn is_same_file(a: impl AsFd, b: impl AsFd) -> bool {
    matches!((fstat(a), fstat(b)), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

/// Passes on what PE `pe` prints until nobody can print any more, or `over` becomes true and there is nothing
/// left to read.
pub(super) async fn relay(
    pe: usize,
    stream: Stream,
    tag: bool,
    from: pipe::Receiver,
    output: Arc<Output>,
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
            // Asks the pipe itself, because tokio knows only what it was told before.
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
            write(&output, stream, pe, tag.as_deref(), &text[..end]).await;
            text.drain(..end);
        }
        if text.is_empty() {
            // Most PEs print nothing most of the time.
            text = Vec::new();
        }
    }
    write(&output, stream, pe, tag.as_deref(), &text).await;
}

async fn write(output: &Output, stream: Stream, pe: usize, tag: Option<&[u8]>, lines: &[u8]) {
    let Some(tag) = tag else {
        return output.write(stream, pe, lines).await;
    };
    let mut tagged = Vec::with_capacity(lines.len() * 2);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        tagged.extend(tag);
        tagged.extend(line);
    }
    output.write(stream, pe, &tagged).await;
}
