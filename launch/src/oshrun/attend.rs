//! What the launcher has with the process of one PE of this machine, until that has ended.

use std::{io, os::fd::OwnedFd, time::Duration};

use oxshmem_job::wire::{Inbox, Message, Outbox};
use rustix::{
    io::Errno,
    net::{Shutdown, shutdown},
    process::{Pid, Signal, kill_process},
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    process::Child,
    sync::mpsc,
    time::sleep,
};

use super::{
    events::{JobEvent, PeEvent},
    pe::Exit,
};

/// What is to be done about a PE.
pub(super) enum Order {
    Send(Message),
    /// Nothing is sent after it, which PEs that wait for something else see too.
    SendLast(Message),
    Signal(Signal),
}

/// Where the news of one PE goes.
pub(super) struct EventSender {
    pub(super) pe: usize,
    pub(super) events: mpsc::UnboundedSender<JobEvent>,
}

impl EventSender {
    fn send(&self, event: PeEvent) {
        // It fails when the loop has ended, and does not matter then.
        let _ = self.events.send(JobEvent::Pe(self.pe, event));
    }
}

/// Talks to one PE until its process has ended.
pub(super) async fn attend(
    mut child: Child,
    socket: AsyncFd<OwnedFd>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    report: EventSender,
) {
    let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
    // Whether the PE may send more, whether there is something to send to it, and whether that has
    // to wait a little.
    let (mut open, mut sending, mut full) = (true, false, false);
    // Whether nothing will be sent after what is queued.
    let mut last = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            ready = socket.ready(Interest::READABLE), if open => match ready {
                Ok(mut ready) => {
                    open = take_all(&mut inbox, &socket, &report);
                    ready.clear_ready();
                }
                Err(error) => {
                    open = false;
                    report.send(PeEvent::Broken(error));
                }
            },
            Some(order) = orders.recv() => match order {
                Order::Send(message) | Order::SendLast(message) if last => drop(message),
                Order::Send(message) => {
                    outbox.push(message);
                    sending = true;
                }
                Order::SendLast(message) => {
                    outbox.push(message);
                    (sending, last) = (true, true);
                }
                // The number is the PE's for as long as `child` has not been waited for.
                Order::Signal(signal) => if let Some(pid) = child.id() {
                    let _ = Pid::from_raw(pid as i32).map(|pid| kill_process(pid, signal));
                }
            },
            Ok(mut ready) = socket.ready(Interest::WRITABLE), if sending && !full => {
                match outbox.flush(socket.get_ref()) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                    // The kernel has too many descriptors under way for this user.
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::TOOMANYREFS) => full = true,
                    // Done, or there is no reader any more.
                    _ => {
                        sending = false;
                        if last {
                            let _ = shutdown(socket.get_ref(), Shutdown::Write);
                        }
                    }
                }
            }
            () = sleep(Duration::from_millis(1)), if full => full = false,
        }
    };
    // What the PE sent before it ended counts before its end.
    if open {
        take_all(&mut inbox, &socket, &report);
    }
    report.send(PeEvent::Exited(status.map_or(Exit::Status(1), Exit::from)));
}

/// Takes all messages that are there; false when there will be no more.
fn take_all(inbox: &mut Inbox, socket: &AsyncFd<OwnedFd>, report: &EventSender) -> bool {
    loop {
        match inbox.receive(socket.get_ref()) {
            Ok(Some(message)) => report.send(PeEvent::Message(message)),
            Ok(None) => return false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            Err(error) => {
                report.send(PeEvent::Broken(error));
                return false;
            }
        }
    }
}
