//! A bare TCP socket: what a message and its answer, and many bytes, cost at least between these
//! two PEs, with a thread a side that polls.

use std::{
    hint::spin_loop,
    io::{ErrorKind, Read, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use bytemuck::{cast_slice, cast_slice_mut};
use oxshmem::World;
use rustix::net::sockopt;

use crate::Outcome;

/// Bytes of a request, and of the answer to a [`PING`].
const REQUEST: usize = 64;
/// Bytes of a PE's published addresses, which spaces separate and fill up.
const ADDRESSES: usize = 1024;

/// Bytes of the kernel's buffers: less than it would take, as those stay in a cache, and so blocks
/// of 1 MiB go half as fast again.
const BUFFER: usize = 256 << 10;

/// What the target is asked to do: to answer, to read blocks, to write blocks, or to end.
const PING: u64 = 0;
const TAKE: u64 = 1;
const GIVE: u64 = 2;
const END: u64 = 3;

/// A connection of this PE's own to the other PE.
pub(crate) struct RawSocket {
    stream: TcpStream,
    /// What the other PE writes to and reads from.
    memory: Vec<u64>,
}

impl RawSocket {
    /// Connects both PEs. Collective.
    pub(crate) async fn connect(world: &World, bytes: usize) -> Outcome<Self> {
        let published = world.alloc_zeroed::<u8>(ADDRESSES).await?;
        let stream = if world.my_pe() == 1 {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            let port = listener.local_addr()?.port();
            let text: Vec<_> = addresses(world)?.iter().map(|ip| format!("{ip}:{port}")).collect();
            published.view().write(format!("{:<ADDRESSES$}", text.join(" ")).as_bytes());
            world.barrier_all().await?;
            listener.accept()?.0
        } else {
            world.barrier_all().await?;
            let text = String::from_utf8(world.context().get(&published, 1).await?)?;
            let mut found = text.split_whitespace().filter_map(|address| {
                let address: SocketAddr = address.parse().ok()?;
                TcpStream::connect_timeout(&address, Duration::from_secs(2)).ok()
            });
            found.next().ok_or_else(|| format!("no bare socket reaches {}", text.trim_end()))?
        };
        stream.set_nodelay(true)?;
        sockopt::set_socket_send_buffer_size(&stream, BUFFER)?;
        sockopt::set_socket_recv_buffer_size(&stream, BUFFER)?;
        stream.set_nonblocking(true)?;
        world.barrier_all().await?;
        Ok(Self { stream, memory: vec![0; bytes / 8] })
    }

    /// What the target does until it is let go.
    pub(crate) fn serve(&mut self) -> Outcome {
        let mut request = [0u64; REQUEST / 8];
        loop {
            self.read(cast_slice_mut(&mut request))?;
            let [kind, bytes, count, ..] = request;
            let mut memory = std::mem::take(&mut self.memory);
            let block = &mut cast_slice_mut(&mut memory)[..bytes as usize];
            match kind {
                PING => self.write(cast_slice(&request))?,
                TAKE => {
                    (0..count).try_for_each(|_| self.read(block))?;
                    self.write(&[1])?;
                }
                GIVE => (0..count).try_for_each(|_| self.write(block))?,
                _ => {}
            }
            self.memory = memory;
            if kind == END {
                return Ok(());
            }
        }
    }

    /// Lets the target go.
    pub(crate) fn release(&mut self) -> Outcome {
        self.ask(END, 0, 0)
    }

    /// Sends a request and reads the answer, this many times.
    pub(crate) fn ping(&mut self, count: usize) -> Outcome {
        let mut answer = [0; REQUEST];
        (0..count).try_for_each(|_| {
            self.ask(PING, 0, 0)?;
            self.read(&mut answer)
        })
    }

    /// Writes these blocks, and waits until the target has read them.
    pub(crate) fn put(&mut self, blocks: &[Vec<u64>]) -> Outcome {
        self.ask(TAKE, size_of_val(&*blocks[0]), blocks.len())?;
        blocks.iter().try_for_each(|block| self.write(cast_slice(block)))?;
        self.read(&mut [0])
    }

    /// Reads these blocks, which the target writes.
    pub(crate) fn get(&mut self, blocks: &mut [Vec<u64>]) -> Outcome {
        self.ask(GIVE, size_of_val(&*blocks[0]), blocks.len())?;
        blocks.iter_mut().try_for_each(|block| self.read(cast_slice_mut(block)))
    }

    /// Writes these blocks and reads the other PE's meanwhile, which calls this too.
    pub(crate) fn exchange(&mut self, blocks: &[Vec<u64>]) -> Outcome {
        let bytes = size_of_val(&*blocks[0]);
        let all = bytes * blocks.len();
        let (mut written, mut read) = (0, 0);
        while written < all || read < all {
            if written < all {
                let block: &[u8] = cast_slice(&blocks[written / bytes]);
                written += moved(self.stream.write(&block[written % bytes..]))?;
            }
            if read < all {
                let memory: &mut [u8] = cast_slice_mut(&mut self.memory);
                read += moved(self.stream.read(&mut memory[read % bytes..bytes]))?;
            }
        }
        Ok(())
    }

    fn ask(&mut self, kind: u64, bytes: usize, count: usize) -> Outcome {
        let mut request = [0u64; REQUEST / 8];
        request[..3].copy_from_slice(&[kind, bytes as u64, count as u64]);
        self.write(cast_slice(&request))
    }

    fn write(&mut self, mut from: &[u8]) -> Outcome {
        while !from.is_empty() {
            from = &from[moved(self.stream.write(from))?..];
        }
        Ok(())
    }

    fn read(&mut self, mut to: &mut [u8]) -> Outcome {
        while !to.is_empty() {
            let count = moved(self.stream.read(to))?;
            to = &mut to[count..];
        }
        Ok(())
    }
}

/// How many bytes a call has moved, which may be none yet.
fn moved(result: std::io::Result<usize>) -> Outcome<usize> {
    match result {
        Ok(0) => Err("the other PE has closed the bare socket".into()),
        Ok(count) => Ok(count),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            spin_loop();
            Ok(0)
        }
        Err(error) => Err(error.into()),
    }
}

/// This PE's addresses: those of the interfaces that were asked for, or all. The loopback one comes
/// first, by which simulated hosts reach each other over TCP.
fn addresses(world: &World) -> Outcome<Vec<IpAddr>> {
    let asked = world.pe().settings().net_interfaces.as_deref();
    let is_asked = |name: &str| asked.is_none_or(|asked| asked.split(',').any(|asked| asked.trim() == name));
    let all = if_addrs::get_if_addrs()?;
    let asked = all.iter().filter(|interface| is_asked(&interface.name) && interface.ip().is_ipv4());
    let mut found: Vec<_> = asked.map(if_addrs::Interface::ip).collect();
    found.sort_by_key(|ip| !ip.is_loopback());
    Ok(found)
}
