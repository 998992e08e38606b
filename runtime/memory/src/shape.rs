//! The shape of a map. It goes to other processes in a small file beside the map's memory.

use std::os::fd::{BorrowedFd, OwnedFd};

use oxshmem_base::{Error, Result, memfd};

use super::Spread;

/// The most bytes of a shape, more than any needs.
const LONGEST: usize = 64 << 10;

/// How a map is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of blocks, one for each local PE.
    pub local_pes: usize,
    /// Bytes from the start of a block to that of the next.
    pub stride: usize,
    /// Ranges of every block that have other memory than the rest.
    pub parts: Vec<Part>,
}

/// A range of every block of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its offset in a block.
    pub start: usize,
    /// Bytes in each block.
    pub len: usize,
    /// Whether it has memory of its own, in which block `i` begins at `i * len`.
    pub own: bool,
    /// How its pages are spread over NUMA nodes.
    pub spread: Spread,
    /// The nodes.
    pub nodes: Vec<usize>,
}

impl Shape {
    /// Writes it to a new file.
    pub fn write(&self) -> Result<OwnedFd> {
        let mut text = format!("{} {}\n", self.local_pes, self.stride);
        for Part { start, len, own, spread, nodes } in &self.parts {
            text += &format!("{start} {len} {own} {}\n", spread.encode(nodes));
        }
        memfd::holding("oxshmem-shape", text.as_bytes()).map_err(|e| Error::system("memfd_create", e))
    }

    /// Reads it from such a file.
    pub fn read(file: BorrowedFd<'_>) -> Result<Self> {
        let mut bytes = vec![0; LONGEST];
        let n = rustix::io::pread(file, &mut bytes, 0).map_err(|e| Error::system("pread", e))?;
        let text = str::from_utf8(&bytes[..n]).ok();
        text.and_then(Self::parse).ok_or_else(|| Error::bootstrap("share", "a map arrived without its shape"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (local_pes, stride) = lines.next()?.split_once(' ')?;
        let (local_pes, stride): (usize, usize) = (local_pes.parse().ok()?, stride.parse().ok()?);
        let parts = lines.map(|line| {
            let mut words = line.split(' ');
            let (start, len) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let own = words.next()?.parse().ok()?;
            let (spread, nodes) = Spread::decode(words.next()?)?;
            let part = Part { start, len, own, spread, nodes };
            part.start.checked_add(part.len).is_some_and(|end| end <= stride).then_some(part)
        });
        Some(Self { local_pes, stride, parts: parts.collect::<Option<_>>()? })
    }

    /// How many parts have memory of their own, and so a descriptor.
    pub fn own_memories(&self) -> usize {
        self.parts.iter().filter(|part| part.own).count()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let part = |start, own, spread, nodes| Part { start, len: 4096, own, spread, nodes };
        let shape = Shape {
            local_pes: 3,
            stride: 1 << 30,
            parts: vec![part(0, true, Spread::Bound, vec![1, 2]), part(4096, false, Spread::System, vec![])],
        };
        assert_eq!(Shape::read(shape.write().unwrap().as_fd()).unwrap(), shape);
        assert_eq!(shape.own_memories(), 1);
        for garbage in
            ["", "1", "1 2 3", "1 10\n0 11 true S", "1 10\n0 1 maybe S", "1 10\n0 1 true", "1 10\n0 1 true Q"]
        {
            assert_eq!(Shape::parse(garbage), None, "{garbage:?}");
        }
    }
}
