//! The signals that `oshrun` is sent.

use std::io;

use rustix::process::Signal;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

/// The signals that are for the PEs, as they come. Those that ask for what may be switched off, as
/// by `nohup`, are left alone if it is.
pub(super) fn signals() -> io::Result<mpsc::UnboundedReceiver<Signal>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let all = [Signal::INT, Signal::TERM, Signal::HUP, Signal::TSTP, Signal::USR1, Signal::USR2];
    let optional = |kind| matches!(kind, Signal::HUP | Signal::TSTP);
    for kind in all.into_iter().filter(|&kind| !optional(kind) || !is_ignored(kind)) {
        let mut incoming = signal(SignalKind::from_raw(kind.as_raw()))?;
        let sender = sender.clone();
        tokio::spawn(async move { while incoming.recv().await.is_some() && sender.send(kind).is_ok() {} });
    }
    Ok(receiver)
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: Signal) -> bool {
    // SAFETY: an all-zero `sigaction` is a valid one.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks for the current action without setting another.
    let asked = unsafe { libc::sigaction(signal.as_raw(), std::ptr::null(), &mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Returns when the user has had enough.
pub(super) async fn interrupted(signals: &mut mpsc::UnboundedReceiver<Signal>) {
    while let Some(signal) = signals.recv().await {
        match signal {
            Signal::INT | Signal::TERM | Signal::HUP => return,
            // No PE is left that would have to stop too.
            Signal::TSTP => stop(),
            _ => {}
        }
    }
}

/// Stops this process until it is to go on.
pub(super) fn stop() {
    // SAFETY: it touches no memory.
    unsafe { libc::raise(libc::SIGSTOP) };
}
