//! The path of kernels: what they ask the host for, where their device does not reach, done by the
//! ways to memory that all operations go.
//!
//! Requests are begun in the order of their tickets, and are over in any. One that is a fence is
//! begun when all before it are over. What fails is reported to the context that the first handle
//! was made from, whose quiet returns it, and to the kernel by its own quiet; of several failures
//! since the last handle, the first is reported.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak, atomic::Ordering},
};

use oxshmem_base::{
    Error, Result,
    settings::SpaceKind,
    sync::{Mutex, lock},
};
use oxshmem_memory::{
    SegmentId,
    op::{Op, Spot},
    word::{Atomic, Width},
};
use oxshmem_progress::{
    completion::Completion,
    kernels::{ROOM, SLOTS},
    opset::OpSet,
};
use oxshmem_spaces::{
    Pe,
    device::{
        End,
        kernel::{DeviceHandle, Requests, Words},
    },
};

use super::start::{here_of, ring, start};
use crate::context::Context;

/// What is asked for, as the device functions number it.
const PUT: u64 = 1;
const GET: u64 = 2;
const ATOMIC: u64 = 3;
const FENCE: u64 = 4;
/// A kernel waits for the answer, and frees the slot.
const WAITS: u64 = 1 << 24;
/// The data is in the slot's room.
const IN_ROOM: u64 = 1 << 25;

/// A request, as a kernel has written it.
#[derive(Clone, Copy)]
struct Request {
    ticket: u64,
    what: u64,
    pe: usize,
    /// The remote address of a put or of an atomic operation, and the local one of a get.
    dest: u64,
    /// The other one.
    source: u64,
    len: usize,
    value: u64,
    cond: u64,
}

impl Request {
    fn slot(&self) -> usize {
        self.ticket as usize % SLOTS
    }

    /// What is asked for.
    fn kind(&self) -> u64 {
        self.what & 0xff
    }

    /// The device function, for people.
    fn call(&self) -> &'static str {
        match self.kind() {
            PUT => "a put",
            GET => "a get",
            ATOMIC => "an atomic operation or a signal",
            _ => "a request",
        }
    }
}

/// Serves the requests of a PE's kernels.
pub(crate) struct Server {
    pe: Weak<Pe>,
    begun: Mutex<u64>,
    ends: Arc<Ends>,
}

/// What the ends of requests need.
struct Ends {
    me: usize,
    words: Words,
    ops: Arc<OpSet>,
    over: Mutex<Over>,
}

/// Which requests are over.
#[derive(Default)]
struct Over {
    /// All before this one.
    before: u64,
    /// Those behind.
    behind: VecDeque<bool>,
}

impl Server {
    /// The next request, if it has been written.
    fn next(&self, ticket: u64) -> Option<Request> {
        let words = &self.ends.words.own().requests[ticket as usize % SLOTS].0;
        // Acquire: the rest was stored before the number.
        if words[0].load(Ordering::Acquire) != ticket + 1 {
            return None;
        }
        // Relaxed: see above.
        let word = |i: usize| words[i].load(Ordering::Relaxed);
        Some(Request {
            ticket,
            what: word(1) & 0xffff_ffff,
            pe: (word(1) >> 32) as usize,
            dest: word(2),
            source: word(3),
            len: usize::try_from(word(4)).unwrap_or(usize::MAX),
            value: word(5),
            cond: word(6),
        })
    }

    /// Begins a request.
    fn begin(&self, pe: &Arc<Pe>, request: Request) {
        let ends = Arc::clone(&self.ends);
        let begun = match request.kind() {
            PUT | GET => self.transfer(pe, request),
            ATOMIC => self.atomic(pe, request),
            FENCE => {
                ends.end(&request, Ok(0));
                Ok(())
            }
            _ => Err(Error::Unsupported { what: "no device function asks for that".to_owned() }),
        };
        if let Err(error) = begun {
            ends.end(&request, Err(error));
        }
    }

    fn transfer(&self, pe: &Arc<Pe>, request: Request) -> Result<()> {
        let (is_put, len) = (request.kind() == PUT, request.len);
        let (there, here) = match is_put {
            true => (request.dest, request.source),
            false => (request.source, request.dest),
        };
        let there = symmetric(pe, request.call(), there, len, request.pe)?;
        let own = match request.what & IN_ROOM != 0 {
            true if len > ROOM => {
                return Err(Error::Unsupported { what: format!("a part of {len} bytes") });
            }
            true => None,
            false => Some(symmetric(pe, request.call(), here, len, pe.me())?),
        };
        let here = match own {
            None => End::from(self.ends.words.own().rooms[request.slot()].get().cast::<u8>()),
            Some(own) => here_of(pe, own),
        };
        let op = if is_put { Op::put(there, here, len) } else { Op::get(there, here, len) };
        let home = Arc::clone(pe);
        let end = self.end_of(request, move || {
            if let (false, Some(own)) = (is_put, own) {
                ring(&home, own, len);
            }
        });
        // SAFETY: both sides are in bounds, and the slot's room is the request's until its end.
        unsafe { start(pe, op, end) };
        Ok(())
    }

    fn atomic(&self, pe: &Arc<Pe>, request: Request) -> Result<()> {
        let width = match request.what >> 16 & 0xff {
            4 => Width::Four,
            _ => Width::Eight,
        };
        let bytes = width as usize;
        if !request.dest.is_multiple_of(bytes as u64) {
            return Err(Error::Unsupported {
                what: format!("{:#x} is not aligned to a word of {bytes} bytes", request.dest),
            });
        }
        let operation = Atomic::decode([request.what >> 8 & 0xff, request.value, request.cond])
            .ok_or_else(|| Error::Unsupported { what: "no device function asks for that".to_owned() })?;
        let there = symmetric(pe, request.call(), request.dest, bytes, request.pe)?;
        // SAFETY: the word is in bounds and aligned.
        unsafe { start(pe, Op::atomic(there, operation, width), self.end_of(request, || ())) };
        Ok(())
    }

    /// Ends a request, and does `then` before if it went well.
    fn end_of(&self, request: Request, then: impl FnOnce() + Send + 'static) -> Completion<u64> {
        let ends = Arc::clone(&self.ends);
        Box::new(move |outcome| ends.end(&request, outcome.inspect(|_| then())))
    }
}

/// Where an address of this PE's symmetric memory is on another.
fn symmetric(pe: &Pe, call: &'static str, address: u64, len: usize, to: usize) -> Result<Spot> {
    if to >= pe.n_pes() {
        return Err(Error::PeOutOfRange { call, pe: to, n_pes: pe.n_pes() });
    }
    let inside = |start: *mut u8, bytes: usize| {
        let offset = usize::try_from(address).ok()?.checked_sub(start.addr())?;
        (offset <= bytes && len <= bytes - offset).then_some(offset)
    };
    let me = pe.local_pe();
    let on_device = pe.device().and_then(|device| {
        let shown = device.segment();
        inside(shown.address_unchecked(me, 0), shown.len())
    });
    if let Some(offset) = on_device {
        if !pe.has_device(to) {
            return Err(Error::OutsideSpace { call, space: SpaceKind::Gpu, pe: to });
        }
        return Ok(Spot { pe: to, segment: SegmentId::Gpu, offset });
    }
    match inside(pe.symmetric().address_unchecked(me, 0), pe.host_heap().len()) {
        Some(offset) => Ok(Spot { pe: to, segment: SegmentId::Heap, offset }),
        None => Err(Error::Unsupported {
            what: format!(
                "{len} bytes at {address:#x} are not in symmetric memory; give it an address of shmem_space_malloc or \
                 shmem_malloc of this PE"
            ),
        }),
    }
}

impl Ends {
    /// A request is over.
    fn end(&self, request: &Request, outcome: Result<u64>) {
        let (words, slot) = (self.words.own(), request.slot());
        let answer = &words.answers[slot];
        // Relaxed: stored before the number, with Release.
        answer.failed.store(outcome.is_err().into(), Ordering::Relaxed);
        let failed = &words.served.failed;
        match outcome {
            Ok(value) => answer.value.store(value, Ordering::Relaxed),
            Err(error) => {
                // Relaxed: `before` follows, with Release.
                if failed.fetch_add(1, Ordering::Relaxed) == 0 {
                    self.report(request, &error);
                }
            }
        }
        // Release: the kernel that sees the number sees what is above, and the data.
        answer.over.store(request.ticket + 1, Ordering::Release);
        if request.what & WAITS == 0 {
            // Release: the room is filled again after this.
            answer.free.store(request.ticket / SLOTS as u64 + 1, Ordering::Release);
        }
        let mut over = lock(&self.over);
        let at = (request.ticket - over.before) as usize;
        if over.behind.len() <= at {
            over.behind.resize(at + 1, false);
        }
        over.behind[at] = true;
        while over.behind.front() == Some(&true) {
            over.behind.pop_front();
            over.before += 1;
        }
        // Release: a kernel's quiet that sees it sees all of that. Under the lock, so that it only
        // grows.
        words.served.before.store(over.before, Ordering::Release);
    }

    fn report(&self, request: &Request, error: &Error) {
        let what = match error {
            Error::Unsupported { what } => what.clone(),
            error => error.to_string(),
        };
        let error = Error::Kernel { call: request.call(), pe: self.me, what };
        self.ops.report_later(Some(request.pe), error);
    }
}

impl Requests for Server {
    fn serve(&self) -> bool {
        // Another thread may be at it, or this one, from a waker.
        let (Some(mut begun), Some(pe)) = (self.begun.try_lock(), self.pe.upgrade()) else {
            return false;
        };
        let mut any = false;
        while let Some(request) = self.next(*begun) {
            if request.kind() == FENCE && lock(&self.ends.over).before < *begun {
                break;
            }
            *begun += 1;
            any = true;
            self.begin(&pe, request);
        }
        any
    }

    fn gave_up(&self, call: u64, address: u64) {
        let (call, what) = match call {
            1 => ("wait_until", format!("the word at {address:#x} did not become what was waited for")),
            2 => ("quiet", "what was asked of the host is not over".to_owned()),
            _ => (
                "a request",
                "the host did not answer; the kernels of this PE can ask for nothing more".to_owned(),
            ),
        };
        let what = format!(
            "{what} within SHMEM_GPU_KERNEL_TIMEOUT. A kernel that waits for one of another process on the same device \
             waits in vain, since the two do not run at the same time without MPS; if the wait may take longer, raise it"
        );
        let error = Error::Kernel { call, pe: self.ends.me, what };
        self.ends.ops.report_later(None, error);
    }
}

impl Context {
    /// What kernels of this PE's device take to call the device functions: see
    /// [`DeviceHandle`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the PE has no device, the driver's, and
    /// [`Error::Finalized`].
    #[doc(hidden)]
    pub fn device_handle(&self) -> Result<DeviceHandle> {
        const CALL: &str = "device_handle";
        let pe = self.pe();
        pe.check(CALL)?;
        let (Some(device), Some(kernels)) = (pe.device(), pe.kernels()) else {
            return Err(Error::OutsideSpace { call: CALL, space: SpaceKind::Gpu, pe: pe.me() });
        };
        let timeout = pe.settings().gpu_kernel_timeout;
        let near = |other| pe.local_pe_of(other);
        let has_device = |other| pe.has_device(other);
        let handle = kernels.handle(device, (pe.me(), pe.n_pes()), has_device, near, timeout)?;
        kernels.serve_by(|| {
            Arc::new(Server {
                pe: Arc::downgrade(pe),
                begun: Mutex::new(0),
                ends: Arc::new(Ends {
                    me: pe.me(),
                    words: kernels.words().clone(),
                    ops: Arc::clone(self.ops()),
                    over: Mutex::default(),
                }),
            })
        });
        Ok(handle)
    }
}
