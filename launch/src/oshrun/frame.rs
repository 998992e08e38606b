//! What travels between `oshrun` and its agents: frames, as logic without I/O.
//!
//! An agent first writes [`PREAMBLE`] and its version, which are found behind whatever the login to
//! a machine prints. A frame is its length in four bytes, a byte that says what it is, and its
//! parts: numbers of eight bytes, and strings behind their lengths. Nothing that comes is trusted:
//! a frame that is none of these ends the job with the host in the message.

use std::{ffi::OsString, io, ops::Range, os::unix::ffi::OsStringExt, time::Duration};

use oxshmem_base::Distribution;
use oxshmem_job::wire;
use oxshmem_progress::activity::BoardLook;

use super::{
    input::StdinTo,
    output::Stream,
    pe::Exit,
    plan::{BindTo, Plan},
};

/// What an agent writes first.
pub(super) const PREAMBLE: &[u8] = b"oxshmem-agent ";
/// What both ends must be.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The longest frame: all that the PEs of the largest job exchange at a time.
const LONGEST: usize = 1 << 30;
/// The most bytes that may come before the preamble.
const BEFORE: usize = 64 << 10;

/// Whether an agent passes on what a PE sends of this kind.
pub(super) fn is_passed_on(kind: wire::Kind) -> bool {
    use wire::Kind::*;
    match kind {
        Join | Exchange | Finalized | Abandoned | Abort | Stuck | Survives | Regroup | Knows | Suspects
        | Reaches => true,
        // They are among the PEs of its host.
        Offer | Fetch => false,
        Regrouped | Exchanged | Offered | GlobalExit | Lost | Loss | Rejoined | Settled => false,
    }
}

/// A message to PEs or from one, without descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) kind: wire::Kind,
    pub(super) value: i32,
    pub(super) body: Vec<u8>,
}

/// What `oshrun` sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToAgent {
    /// The first: what to start.
    Start(Box<Plan>),
    /// A message for some of its PEs, each with its ticket. Nothing is sent to them after the
    /// `last`.
    Deliver { to: Vec<(usize, u64)>, letter: Letter, last: bool },
    /// A signal for the process group of the PEs.
    SignalGroup(i32),
    /// A signal for each PE but one.
    SignalPes { signal: i32, spare: Option<usize> },
    /// Asks for what the PEs are in, under a number.
    Look(u64),
    /// Asks for the PEs that are ending.
    WhichEnd,
    /// What a PE has printed is written.
    Written(usize, Stream),
    /// A piece of standard input.
    Input(Vec<u8>),
    /// Standard input has ended.
    InputEnd,
    /// `oshrun` stops for a while, and with it the PEs.
    Pause,
    /// It goes on.
    Resume,
    /// A beat of this number has come: it renews the lease of the host.
    Acknowledge(u64),
    /// All PEs of the job have ended.
    Finish,
    /// A piece of a recording is written.
    RecordingTaken,
    /// Kills one PE.
    KillPe(usize),
    /// Starts a replacement of one PE.
    Replace(usize),
}

/// What an agent sends.
#[derive(Clone, Debug)]
pub(super) enum FromAgent {
    /// It has started nothing, for this reason.
    Refused(String),
    /// It has started its PEs as these processes.
    Started(Vec<u32>),
    /// It has started a replacement of a PE, as this process.
    Replaced(usize, u32),
    /// A message of a PE, with its ticket.
    Pe { pe: usize, ticket: u64, letter: Letter },
    /// A PE cannot be talked to.
    Broken { pe: usize, why: String },
    /// The process of a PE has ended.
    Exited(usize, Exit),
    /// What its PEs are in, and those of them that others wait for before there is memory.
    Looked { number: u64, looks: Vec<BoardLook>, awaited: Vec<usize> },
    /// The PEs there that are ending.
    Ending(Vec<usize>),
    /// What a PE has printed. The next piece comes when this one is written.
    Output { pe: usize, stream: Stream, text: Vec<u8> },
    /// It can take another piece of standard input.
    InputTaken,
    /// No PE reads standard input any more.
    InputClosed,
    /// It cannot go on, for this reason.
    Failed(String),
    /// A sign of life, and its number.
    Beat(u64),
    /// All output is written, and all processes have ended.
    Done,
    /// A piece of what a PE has recorded, and where it belongs in the file, of which the first is
    /// the beginning. The next piece comes when this one is written.
    Recording { pe: usize, at: u64, bytes: Vec<u8> },
}

impl ToAgent {
    /// The bytes of the frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut frame = Encoder::new();
        match self {
            Self::Start(plan) => frame.byte(1).plan(plan),
            Self::Deliver { to, letter, last } => {
                frame.byte(2).number(to.len() as u64);
                for &(pe, ticket) in to {
                    frame.number(pe as u64).number(ticket);
                }
                frame.letter(letter).byte((*last).into())
            }
            Self::SignalGroup(signal) => frame.byte(3).signed(*signal),
            Self::SignalPes { signal, spare } => {
                frame.byte(4).signed(*signal).number(spare.map_or(u64::MAX, |pe| pe as u64))
            }
            Self::Look(number) => frame.byte(5).number(*number),
            Self::WhichEnd => frame.byte(6),
            Self::Written(pe, stream) => frame.byte(7).number(*pe as u64).stream(*stream),
            Self::Input(bytes) => frame.byte(8).bytes(bytes),
            Self::InputEnd => frame.byte(9),
            Self::Pause => frame.byte(10),
            Self::Resume => frame.byte(11),
            Self::Acknowledge(beat) => frame.byte(12).number(*beat),
            Self::Finish => frame.byte(13),
            Self::RecordingTaken => frame.byte(14),
            Self::KillPe(pe) => frame.byte(15).number(*pe as u64),
            Self::Replace(pe) => frame.byte(16).number(*pe as u64),
        };
        frame.finish()
    }

    /// Takes a frame apart; `None` if it is something else.
    pub(super) fn decode(frame: &[u8]) -> Option<Self> {
        let mut frame = Decoder(frame);
        let decoded = match frame.byte()? {
            1 => Self::Start(Box::new(frame.plan()?)),
            2 => {
                let to = frame.list(16, |frame| Some((frame.count()?, frame.number()?)))?;
                Self::Deliver { to, letter: frame.letter()?, last: frame.flag()? }
            }
            3 => Self::SignalGroup(frame.signed()?),
            4 => {
                let signal = frame.signed()?;
                let spare = Some(frame.number()?).filter(|&pe| pe != u64::MAX);
                Self::SignalPes { signal, spare: spare.map(usize::try_from).transpose().ok()? }
            }
            5 => Self::Look(frame.number()?),
            6 => Self::WhichEnd,
            7 => Self::Written(frame.count()?, frame.stream()?),
            8 => Self::Input(frame.bytes()?.to_vec()),
            9 => Self::InputEnd,
            10 => Self::Pause,
            11 => Self::Resume,
            12 => Self::Acknowledge(frame.number()?),
            13 => Self::Finish,
            14 => Self::RecordingTaken,
            15 => Self::KillPe(frame.count()?),
            16 => Self::Replace(frame.count()?),
            _ => return None,
        };
        frame.0.is_empty().then_some(decoded)
    }
}

impl FromAgent {
    /// The bytes of the frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut frame = Encoder::new();
        match self {
            Self::Refused(why) => frame.byte(1).bytes(why.as_bytes()),
            Self::Started(pids) => frame.byte(2).numbers(pids.iter().map(|&pid| u64::from(pid))),
            Self::Pe { pe, ticket, letter } => {
                frame.byte(3).number(*pe as u64).number(*ticket).letter(letter)
            }
            Self::Broken { pe, why } => frame.byte(4).number(*pe as u64).bytes(why.as_bytes()),
            Self::Exited(pe, exit) => {
                let (is_signal, value) = match exit {
                    Exit::Status(status) => (0, *status),
                    Exit::Signal(signal) => (1, *signal),
                    Exit::WithHost => (2, 0),
                };
                frame.byte(5).number(*pe as u64).byte(is_signal).signed(value)
            }
            Self::Looked { number, looks, awaited } => {
                frame.byte(6).number(*number).numbers(awaited.iter().map(|&pe| pe as u64));
                frame.number(looks.len() as u64);
                looks.iter().for_each(|look| look.write(&mut frame.0));
                &mut frame
            }
            Self::Ending(pes) => frame.byte(7).numbers(pes.iter().map(|&pe| pe as u64)),
            Self::Output { pe, stream, text } => frame.byte(8).number(*pe as u64).stream(*stream).bytes(text),
            Self::InputTaken => frame.byte(9),
            Self::InputClosed => frame.byte(10),
            Self::Failed(why) => frame.byte(11).bytes(why.as_bytes()),
            Self::Beat(number) => frame.byte(12).number(*number),
            Self::Done => frame.byte(13),
            Self::Recording { pe, at, bytes } => frame.byte(14).number(*pe as u64).number(*at).bytes(bytes),
            Self::Replaced(pe, pid) => frame.byte(15).number(*pe as u64).number(u64::from(*pid)),
        };
        frame.finish()
    }

    /// Takes a frame apart; `None` if it is something else.
    pub(super) fn decode(frame: &[u8]) -> Option<Self> {
        let mut frame = Decoder(frame);
        let decoded = match frame.byte()? {
            1 => Self::Refused(frame.text()?),
            2 => Self::Started(frame.list(8, |frame| u32::try_from(frame.number()?).ok())?),
            3 => {
                let (pe, ticket) = (frame.count()?, frame.number()?);
                Self::Pe { pe, ticket, letter: frame.letter()? }
            }
            4 => Self::Broken { pe: frame.count()?, why: frame.text()? },
            5 => {
                let (pe, what, value) = (frame.count()?, frame.byte()?, frame.signed()?);
                let exit = match what {
                    0 => Exit::Status(value),
                    1 => Exit::Signal(value),
                    _ => return None,
                };
                Self::Exited(pe, exit)
            }
            6 => {
                let (number, awaited) = (frame.number()?, frame.list(8, Decoder::count)?);
                let looks = frame.list(size_of::<u64>(), |frame| BoardLook::read(&mut frame.0))?;
                Self::Looked { number, looks, awaited }
            }
            7 => Self::Ending(frame.list(8, Decoder::count)?),
            8 => {
                let (pe, stream) = (frame.count()?, frame.stream()?);
                Self::Output { pe, stream, text: frame.bytes()?.to_vec() }
            }
            9 => Self::InputTaken,
            10 => Self::InputClosed,
            11 => Self::Failed(frame.text()?),
            12 => Self::Beat(frame.number()?),
            13 => Self::Done,
            14 => {
                let (pe, at) = (frame.count()?, frame.number()?);
                Self::Recording { pe, at, bytes: frame.bytes()?.to_vec() }
            }
            15 => Self::Replaced(frame.count()?, u32::try_from(frame.number()?).ok()?),
            _ => return None,
        };
        frame.0.is_empty().then_some(decoded)
    }
}

/// Puts frames together from bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    /// How many of them were taken out.
    taken: usize,
}

impl Incoming {
    /// Adds bytes that have come.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend(bytes);
    }

    /// The next frame, without its length, if all of it is there.
    ///
    /// # Errors
    /// It is longer than any frame.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some((length, rest)) = self.bytes[self.taken..].split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if rest.len() < length {
            return Ok(None);
        }
        let start = self.taken + size_of::<u32>();
        self.taken = start + length;
        Ok(Some(&self.bytes[start..self.taken]))
    }

    /// The version that an agent names in its preamble, once that is there. What comes before it is
    /// no frame.
    ///
    /// # Errors
    /// There is more before it than any login prints.
    pub(super) fn preamble(&mut self) -> io::Result<Option<String>> {
        let found = self.bytes.windows(PREAMBLE.len()).position(|window| window == PREAMBLE);
        let Some(start) = found else {
            return match self.bytes.len() > BEFORE {
                true => Err(io::ErrorKind::InvalidData.into()),
                false => Ok(None),
            };
        };
        let rest = &self.bytes[start + PREAMBLE.len()..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
        let version = String::from_utf8_lossy(&rest[..end]).into_owned();
        self.taken = start + PREAMBLE.len() + end + 1;
        Ok(Some(version))
    }
}

/// A frame that is being made.
struct Encoder(Vec<u8>);

impl Encoder {
    fn new() -> Self {
        Self(vec![0; size_of::<u32>()])
    }

    fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn signed(&mut self, number: i32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u64>) -> &mut Self {
        self.number(numbers.len() as u64);
        numbers.for_each(|number| _ = self.number(number));
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn os(&mut self, text: impl Into<OsString>) -> &mut Self {
        self.bytes(&text.into().into_vec())
    }

    fn stream(&mut self, stream: Stream) -> &mut Self {
        self.byte(u8::from(stream == Stream::Err))
    }

    fn letter(&mut self, letter: &Letter) -> &mut Self {
        self.byte(letter.kind as u8).signed(letter.value).bytes(&letter.body)
    }

    fn plan(&mut self, plan: &Plan) -> &mut Self {
        let Plan { pes, n_pes, distribution, simulated, machine, variables, .. } = plan;
        self.number(pes.start as u64).number(pes.end as u64).number(*n_pes as u64);
        self.bytes(distribution.to_string().as_bytes()).byte((*simulated).into()).bytes(machine.as_bytes());
        self.number(variables.len() as u64);
        for (name, value) in variables {
            self.os(name).os(value);
        }
        let Plan {
            has_replacements, tag_output, bind_to, stdin, trace, folder, lease, name, arguments, ..
        } = plan;
        self.byte((*has_replacements).into());
        self.byte((*tag_output).into()).byte(u8::from(*bind_to == BindTo::Core));
        self.byte(match stdin {
            StdinTo::None => 0,
            StdinTo::Zero => 1,
            StdinTo::All => 2,
        });
        for folder in [trace, folder] {
            self.byte(folder.is_some().into()).os(folder.clone().unwrap_or_default());
        }
        self.number(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
        self.os(name).number(arguments.len() as u64);
        arguments.iter().for_each(|argument| _ = self.os(argument));
        self
    }

    /// The frame, with its length.
    fn finish(self) -> Vec<u8> {
        let mut bytes = self.0;
        // Longer ones are refused by their reader.
        let length = u32::try_from(bytes.len() - size_of::<u32>()).unwrap_or(u32::MAX);
        bytes[..size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
        bytes
    }
}

/// What is left of a frame.
struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn byte(&mut self) -> Option<u8> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_le_bytes)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn signed(&mut self) -> Option<i32> {
        self.chunk().map(i32::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn os(&mut self) -> Option<OsString> {
        self.bytes().map(|bytes| OsString::from_vec(bytes.to_vec()))
    }

    fn stream(&mut self) -> Option<Stream> {
        self.flag().map(|is_err| if is_err { Stream::Err } else { Stream::Out })
    }

    /// A list, each entry of which takes at least `each` bytes.
    fn list<T>(&mut self, each: usize, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        if count > self.0.len() / each {
            return None;
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn letter(&mut self) -> Option<Letter> {
        let kind = wire::Kind::from_byte(self.byte()?)?;
        Some(Letter { kind, value: self.signed()?, body: self.bytes()?.to_vec() })
    }

    fn plan(&mut self) -> Option<Plan> {
        let pes = Range { start: self.count()?, end: self.count()? };
        let n_pes = self.count()?;
        let distribution: Distribution = self.text()?.parse().ok()?;
        let (simulated, machine) = (self.flag()?, self.text()?);
        let variables = self.list(16, |frame| Some((frame.os()?, frame.os()?)))?;
        let has_replacements = self.flag()?;
        let tag_output = self.flag()?;
        let bind_to = if self.flag()? { BindTo::Core } else { BindTo::None };
        let stdin = match self.byte()? {
            0 => StdinTo::None,
            1 => StdinTo::Zero,
            2 => StdinTo::All,
            _ => return None,
        };
        let mut folder = || {
            let (is_set, folder) = (self.flag()?, self.os()?);
            Some(is_set.then(|| folder.into()))
        };
        let (trace, folder) = (folder()?, folder()?);
        let lease = Duration::from_millis(self.number()?);
        let name = self.os()?;
        let arguments = self.list(8, Self::os)?;
        let is_whole = pes.start < pes.end && pes.end <= n_pes && distribution.hosts(n_pes).is_ok();
        let plan = Plan {
            pes,
            n_pes,
            distribution,
            simulated,
            machine,
            variables,
            has_replacements,
            tag_output,
            bind_to,
            stdin,
            trace,
            folder,
            lease,
            name,
            arguments,
        };
        is_whole.then_some(plan)
    }
}

#[cfg(test)]
mod tests;
