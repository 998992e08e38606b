//! A sentence for a load or store of device memory by a processor, which is a fault.
//!
//! A program that mistakes an address of device memory for one of its own ends with a segmentation
//! fault, and nothing says why. So where the GPU space is enabled, a handler for that signal writes
//! a line that names the PE whose memory it is, and then has the signal go on as if it had not been
//! there: to the handler that was there before, or to the end of the process. A handler that the
//! program installs later comes first, and this one only if that passes the signal on.
//!
//! Handlers belong to a process, and so does what is here: the library has no other global state.

use std::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use oxshmem_base::sync::{Mutex, lock};
use oxshmem_spaces::Pe;

/// Which faults there are: the driver lets some addresses end in the other one.
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// How many PEs' memory is known. That of more has no sentence.
const MOST: usize = 512;

/// The device memory of a PE, as this process names it.
struct Known {
    /// 0 while there is none.
    start: AtomicUsize,
    len: AtomicUsize,
    pe: AtomicUsize,
}

static KNOWN: [Known; MOST] =
    [const { Known { start: AtomicUsize::new(0), len: AtomicUsize::new(0), pe: AtomicUsize::new(0) } }; MOST];

/// What was there before, for each signal. What it points to is never freed: a handler may be about
/// to read it.
static BEFORE: [AtomicPtr<libc::sigaction>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

/// Held while anything of the above changes.
static INSTALLED: Mutex<Installed> = Mutex::new(Installed { worlds: 0, signals: [false; 2] });

struct Installed {
    /// How many have device memory.
    worlds: usize,
    /// For which the handler is installed.
    signals: [bool; 2],
}

/// Device memory that the handler knows, until this is dropped.
#[derive(Debug)]
pub(crate) struct Watched(Vec<usize>);

impl Watched {
    /// Has the handler know the device memory of `pe` and of all PEs of its host, if it has a
    /// device and the setting does not say otherwise.
    pub(crate) fn new(pe: &Pe) -> Option<Self> {
        let device = pe.device().filter(|_| pe.settings().gpu_fault_line)?;
        let mut installed = lock(&INSTALLED);
        let mut places = Vec::new();
        for (local_pe, &number) in
            pe.placement().local.iter().enumerate().filter(|(_, it)| pe.has_device(**it))
        {
            let start = device.shown(local_pe);
            // Relaxed: changed under the lock alone.
            let is_free = |known: &Known| known.start.load(Relaxed) == 0;
            let Some(at) = KNOWN.iter().position(is_free) else { break };
            KNOWN[at].len.store(device.segment().len(), Relaxed);
            KNOWN[at].pe.store(number, Relaxed);
            // Release: the handler that finds the start finds the rest.
            KNOWN[at].start.store(start, Release);
            places.push(at);
        }
        installed.worlds += 1;
        if installed.worlds == 1 {
            for (i, has) in installed.signals.iter_mut().enumerate() {
                *has = *has || install(i);
            }
        }
        Some(Self(places))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut installed = lock(&INSTALLED);
        for &at in &self.0 {
            // Relaxed: nothing else is written before it.
            KNOWN[at].start.store(0, Relaxed);
        }
        installed.worlds -= 1;
        if installed.worlds == 0 {
            for (i, has) in installed.signals.iter_mut().enumerate() {
                // Where the program has a handler of its own now, that may pass signals on to ours,
                // which stays.
                *has = *has && !uninstall(i);
            }
        }
    }
}

/// What is installed for a signal.
fn current(signal: c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::uninit();
    // SAFETY: it writes the action that there is, and changes nothing.
    let known = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } == 0;
    // SAFETY: it was written.
    known.then(|| unsafe { action.assume_init() })
}

fn ours() -> libc::sighandler_t {
    (on_fault as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)) as libc::sighandler_t
}

/// Installs the handler for signal number `i`, and keeps what was there.
fn install(i: usize) -> bool {
    let signal = SIGNALS[i];
    let Some(before) = current(signal) else { return false };
    let mut action = before;
    action.sa_sigaction = ours();
    // On the stack that the thread has for handlers, if it has one: the fault may be that its own
    // is full. The rest is as the handler before wants it, which runs within ours.
    action.sa_flags =
        before.sa_flags & (libc::SA_NODEFER | libc::SA_RESTART) | libc::SA_SIGINFO | libc::SA_ONSTACK;
    // Release: pairs with the load in the handler, which runs from the next call on.
    BEFORE[i].store(Box::into_raw(Box::new(before)), Release);
    // SAFETY: the handler calls only what may be called in one.
    unsafe { libc::sigaction(signal, &action, ptr::null_mut()) == 0 }
}

/// Puts back what was there before, if the handler is still ours.
fn uninstall(i: usize) -> bool {
    let signal = SIGNALS[i];
    // Acquire: pairs with the store in `install`.
    let before = BEFORE[i].load(Acquire);
    let is_ours = current(signal).is_some_and(|action| action.sa_sigaction == ours());
    // SAFETY: it was stored by `install`, and is never freed.
    is_ours && unsafe { libc::sigaction(signal, before, ptr::null_mut()) == 0 }
}

/// The handler. Everything in it may be done in one: it neither allocates nor locks.
extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler of this kind what it knows of the signal.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    // Of other codes the sender is a process, and there is no address.
    if code > 0
        && let Some((pe, offset)) = find(address)
    {
        say(address, pe, offset);
    }
    let Some(i) = SIGNALS.iter().position(|&it| it == signal) else { return };
    // Acquire: pairs with the store in `install`.
    let before = BEFORE[i].load(Acquire);
    // SAFETY: `install` stored it before it installed the handler, and it is never freed.
    pass_on(signal, info, context, unsafe { &*before });
}

/// Has the signal do what it would have done without the handler.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void, before: &libc::sigaction) {
    let handler = before.sa_sigaction;
    // SAFETY: as the handler's own argument.
    let was_sent = unsafe { (*info).si_code } <= 0;
    if handler == libc::SIG_IGN && was_sent {
        return;
    }
    let none = handler == libc::SIG_DFL || handler == libc::SIG_IGN;
    if none || before.sa_flags & libc::SA_RESETHAND != 0 {
        let default = libc::sigaction { sa_sigaction: libc::SIG_DFL, sa_flags: 0, ..*before };
        // What faulted is done again when the handler returns, and ends the process. The kernel
        // ignores no fault either.
        // SAFETY: the default action is always sound to set.
        unsafe { libc::sigaction(signal, &default, ptr::null_mut()) };
    }
    if none {
        if was_sent {
            // SAFETY: it may be called in a handler.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    if before.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: the flag says that it is a function of three arguments, which the program
        // installed for this signal.
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: as above, of one.
        let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
        handler(signal);
    }
}

/// The PE whose device memory is at an address, and how many bytes behind its start.
fn find(address: usize) -> Option<(usize, usize)> {
    KNOWN.iter().find_map(|known| {
        // Acquire: the rest was written before.
        let start = known.start.load(Acquire);
        let offset = address.wrapping_sub(start);
        // Relaxed: as above.
        (start != 0 && offset < known.len.load(Relaxed)).then(|| (known.pe.load(Relaxed), offset))
    })
}

/// Writes the line.
fn say(address: usize, pe: usize, offset: usize) {
    let mut line = Line { text: [0; 320], len: 0 };
    line.push("oxshmem: a processor loads from or stores to ");
    line.hex(address);
    line.push(", which is device memory: byte ");
    line.hex(offset);
    line.push(" of PE ");
    line.decimal(pe);
    line.push(
        "'s heap in the GPU space. Only kernels use such an address; a processor copies, as by \
               shmem_getmem and shmem_putmem or SymView::read and write\n",
    );
    // SAFETY: the bytes are there; it may be called in a handler. There is nowhere to say that it
    // failed.
    unsafe { libc::write(libc::STDERR_FILENO, line.text.as_ptr().cast(), line.len) };
}

/// Text of limited length, without allocation.
struct Line {
    text: [u8; 320],
    len: usize,
}

impl Line {
    fn push(&mut self, text: &str) {
        for &byte in text.as_bytes() {
            if let Some(place) = self.text.get_mut(self.len) {
                *place = byte;
                self.len += 1;
            }
        }
    }

    fn number(&mut self, mut value: usize, base: usize) {
        let mut digits = [0; 20];
        let mut from = digits.len();
        while from == digits.len() || value > 0 {
            from -= 1;
            digits[from] = b"0123456789abcdef"[value % base];
            value /= base;
        }
        self.push(std::str::from_utf8(&digits[from..]).unwrap_or_default());
    }

    fn hex(&mut self, value: usize) {
        self.push("0x");
        self.number(value, 16);
    }

    fn decimal(&mut self, value: usize) {
        self.number(value, 10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_allocation() {
        let mut line = Line { text: [0; 320], len: 0 };
        line.hex(0);
        line.push(" ");
        line.decimal(usize::MAX);
        line.push(" ");
        line.hex(usize::MAX);
        let text = std::str::from_utf8(&line.text[..line.len]).unwrap();
        assert_eq!(text, format!("0x0 {} {:#x}", usize::MAX, usize::MAX));
        line.push(&"long ".repeat(100));
        assert_eq!(line.len, line.text.len(), "what is too much is left out");
    }
}
