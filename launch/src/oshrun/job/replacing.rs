//! A job that goes on without PEs that it has lost, and replacements of these.

use std::{io, time::Duration};

use oxshmem_job::wire::{self, Kind, Message};
use tokio::time::Instant;

use super::{
    super::{exchanges::Mail, lifecycle::Step, pe::Exit},
    Job,
};

/// How long it takes at least from one replacement to the next.
const PAUSE: Duration = Duration::from_secs(1);

impl Job<'_> {
    /// PEs are lost, and the job goes on: others wait for them no more.
    pub(super) fn go_on(&mut self) {
        for remark in self.lifecycle.take_remarks() {
            self.tell(format!("oshrun: {remark}\n"));
        }
        for pe in self.lifecycle.take_losses() {
            self.suspicions.forget(pe);
            let mail = self.exchanges.lost(pe);
            self.serve(mail);
        }
        for pe in self.lifecycle.take_gone() {
            let mail = self.exchanges.gone(pe);
            self.serve(mail);
        }
        self.to_replace.extend(self.lifecycle.take_to_replace());
    }

    /// Starts the next replacement.
    pub(super) fn replace(&mut self) -> Option<Step> {
        let pe = self.to_replace.pop_front().filter(|_| self.lifecycle.wants_replacement())?;
        self.replace_at = Instant::now() + PAUSE;
        self.exchanges.replace(pe);
        match self.reach.replace(pe) {
            Ok(Some(pid)) => self.lifecycle.replaced(pe, pid),
            // Its agent says so later.
            Ok(None) => {}
            Err(error) => {
                self.tell(format!("oshrun: cannot start a replacement of PE {pe}: {error}\n"));
                self.lifecycle.replaced(pe, 0);
                return self.lifecycle.exited(pe, Exit::Status(1));
            }
        }
        None
    }

    /// A replacement of PE `pe` is there. The others are to know how to reach it.
    pub(super) fn rejoin(&mut self, pe: usize) {
        let given = self.exchanges.rejoined(pe);
        let message = Message::new(Kind::Rejoined).ticket(pe as u64).value(given.len() as i32);
        let mail = message.with_body(wire::pack(&given)).map(|message| {
            let others = self.lifecycle.inside().into_iter().filter(|&other| other != pe);
            others.map(|other| (other, message.clone())).collect()
        });
        self.serve(mail);
    }

    /// Sends what PEs are to have.
    pub(super) fn serve(&mut self, mail: io::Result<Mail>) {
        if let Err(error) = mail.and_then(|mail| self.reach.deliver(mail))
            && let Some(step) = self.lifecycle.unserved(&error)
        {
            self.take(step);
        }
    }
}
