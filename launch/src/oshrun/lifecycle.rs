//! The lifecycle of a job, as logic without I/O: what happened comes in, what to do about it comes
//! out.
//!
//! The first thing that goes wrong is the *verdict*: it decides the exit status and is the one
//! message. What goes wrong afterwards is a consequence, and not reported.

use std::{io, ops::Range, time::Duration};

use oxshmem_base::{printable::printable, settings::OnLoss};
use oxshmem_job::wire::{Kind, Message};
use oxshmem_progress::activity::list;
use rustix::process::Signal;

use super::{
    output::Stream,
    pe::{Exit, signal_name},
    places::Places,
};

mod verdict;

pub(super) use verdict::{About, Verdict};

/// How long PEs have between SIGTERM and SIGKILL once the job has failed.
pub(super) const TO_END: Duration = Duration::from_millis(300);
/// How long PEs have to end after a signal that was forwarded to them.
pub(super) const TO_HEED: Duration = Duration::from_secs(5);

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send a signal to all PEs and what they started.
    Forward(Signal),
    /// Print what all PEs are in.
    Show,
    /// End the job: SIGTERM, to all but the PE that is already ending by itself.
    Terminate { spare: Option<usize> },
    /// SIGKILL to all.
    Kill,
    /// SIGKILL to this PE, which is lost once it has ended.
    KillPe(usize),
    /// PEs are [lost](Lifecycle::take_losses), and the job goes on.
    GoOn,
    /// A replacement begins: it is to know what the others know.
    Inform(usize),
    /// A replacement is there, which the others may let in.
    Rejoin(usize),
}

/// What becomes of the job when a PE is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Survival {
    pub(super) on_loss: OnLoss,
    /// How many replacements are started.
    pub(super) respawns: usize,
}

/// What the launcher itself knows of a PE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its board says more, if it has one yet.
    Inside,
    /// It takes no part in the job, but is in this state.
    Outside(String),
}

/// The job so far.
#[derive(Clone)]
pub(super) struct Lifecycle {
    places: Places,
    pes: Vec<Member>,
    alive: usize,
    /// Those that have dropped their worlds without finalize, in that order.
    leaving: Vec<usize>,
    phase: Phase,
    verdict: Option<Verdict>,
    on_loss: OnLoss,
    /// Whether init was over on all PEs.
    was_whole: bool,
    /// How many replacements may be started yet, and of which PEs they are to be.
    respawns: usize,
    to_replace: Vec<usize>,
    /// How many PEs were lost in a job that goes on, and those that nothing was done about yet.
    view: u64,
    losses: Vec<usize>,
    /// What is to be printed.
    remarks: Vec<String>,
    /// What the PEs that still run know of.
    history: Vec<Message>,
    /// Replacements that have ended before the others had let them in.
    gone: Vec<usize>,
    /// How many losses all others know of.
    settled: u64,
    /// The status of the last of them.
    status_of_lost: u8,
    /// What is to be sent to the PEs that still run.
    notices: Vec<Message>,
}

#[derive(Clone, Debug)]
struct Member {
    pid: u32,
    alive: bool,
    /// How it ended.
    exit: Option<Exit>,
    /// Between init and finalize.
    inside: bool,
    inits: u32,
    /// Whether its init is over, and it goes on without others.
    survives: bool,
    /// Whether it was lost, and has no replacement that the others have let in.
    is_lost: bool,
    /// How many losses it knows of.
    knows: u64,
    /// Why it is killed, if it is, so that it is lost.
    condemned: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// A signal was forwarded, and the PEs have a while to heed it.
    Interrupted(Signal),
    /// The job is being ended.
    Ending,
}

impl Lifecycle {
    /// A job whose PEs run as the processes `pids`.
    pub(super) fn new(places: Places, pids: impl Iterator<Item = u32>, survival: Survival) -> Self {
        let Survival { on_loss, respawns } = survival;
        let member = |pid| Member {
            pid,
            alive: true,
            exit: None,
            inside: false,
            inits: 0,
            survives: false,
            is_lost: false,
            knows: 0,
            condemned: None,
        };
        let pes: Vec<_> = pids.map(member).collect();
        let alive = pes.len();
        Self {
            places,
            pes,
            alive,
            leaving: Vec::new(),
            phase: Phase::Running,
            verdict: None,
            on_loss,
            was_whole: false,
            respawns,
            to_replace: Vec::new(),
            view: 0,
            losses: Vec::new(),
            remarks: Vec::new(),
            history: Vec::new(),
            gone: Vec::new(),
            settled: 0,
            status_of_lost: 0,
            notices: Vec::new(),
        }
    }

    /// Whether a PE's process is still there.
    pub(super) fn goes_on(&self) -> bool {
        self.alive > 0
    }

    /// The verdict: without one, all is well, unless all PEs were lost.
    pub(super) fn verdict(self) -> Verdict {
        let all_lost = self.pes.iter().all(|member| member.is_lost);
        let status = if all_lost { self.status_of_lost } else { 0 };
        self.verdict.unwrap_or(Verdict { status, message: None, about: About::Nothing })
    }

    /// The verdict so far.
    pub(super) fn verdict_so_far(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// What the launcher knows of PE `pe` without its help.
    pub(super) fn known(&self, pe: usize) -> Known {
        let Member { exit, inside, inits, .. } = self.pes[pe];
        match exit {
            Some(exit) => Known::Outside(exit.to_string()),
            None if inside => Known::Inside,
            None if inits > 0 => Known::Outside("finalized".to_owned()),
            None => Known::Outside("not in init yet".to_owned()),
        }
    }

    /// Whether PE `pe`'s process has not been seen to end.
    pub(super) fn is_alive(&self, pe: usize) -> bool {
        self.pes[pe].alive
    }

    /// The processes of all PEs.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.pes.iter().map(|member| member.pid).collect()
    }

    /// What is to be sent to the PEs that still run, once.
    pub(super) fn take_notices(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.notices)
    }

    /// The PEs that were lost, once.
    pub(super) fn take_losses(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.losses)
    }

    /// What is to be printed, once.
    pub(super) fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// The replacements that have ended before the others had let them in, once.
    pub(super) fn take_gone(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.gone)
    }

    /// What a replacement is to know: losses, other replacements, and how many losses all know of.
    pub(super) fn history(&self) -> Vec<Message> {
        let was_lost = |pe: &usize| self.history.iter().any(|loss| loss.ticket == *pe as u64);
        let is_back = |pe: &usize| !self.pes[*pe].is_lost || self.pes[*pe].survives;
        let back = (0..self.pes.len()).filter(|pe| was_lost(pe) && is_back(pe));
        let back = back.map(|pe| Message::new(Kind::Rejoined).ticket(pe as u64));
        let settled = Message::new(Kind::Settled).value(self.settled as i32);
        self.history.iter().cloned().chain(back).chain([settled]).collect()
    }

    /// The PEs that take part in the job, whether or not the others have let them in.
    pub(super) fn inside(&self) -> Vec<usize> {
        (0..self.pes.len()).filter(|&pe| self.pes[pe].alive && self.pes[pe].inside).collect()
    }

    /// PE `pe` takes part from now on. Every PE must, as often as any other.
    pub(super) fn joined(&mut self, pe: usize) -> Option<Step> {
        let inits = self.pes[pe].inits + 1;
        (self.pes[pe].inside, self.pes[pe].inits) = (true, inits);
        if self.pes[pe].is_lost {
            return Some(Step::Inform(pe));
        }
        if let Some(lost) = self.pes.iter().position(|other| other.is_lost) {
            return self.lost(
                pe,
                1,
                &format!(
                    "called init again in a job that has lost PE {lost}, and has to begin with all of its PEs"
                ),
            );
        }
        // Its init is not over, if it has called it again.
        (self.pes[pe].survives, self.was_whole) = (false, false);
        let missed = self.pes.iter().position(|other| !other.alive && other.inits < inits)?;
        self.lost(missed, 1, "exited with status 0 without init, which other PEs are in")
    }

    /// Init is over on PE `pe`, which goes on without PEs that are lost from now on.
    pub(super) fn survives(&mut self, pe: usize) -> Option<Step> {
        self.pes[pe].survives = true;
        self.was_whole |= self.pes.iter().all(|member| member.survives);
        self.pes[pe].is_lost.then_some(Step::Rejoin(pe))
    }

    /// Whether init was over on all PEs.
    pub(super) fn was_whole(&self) -> bool {
        self.was_whole
    }

    /// The PEs that get replacements, once.
    pub(super) fn take_to_replace(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.to_replace)
    }

    /// Whether a replacement of PE `pe` is to be started still.
    pub(super) fn wants_replacement(&self) -> bool {
        self.phase == Phase::Running && self.alive > 0
    }

    /// A replacement of PE `pe` runs as this process.
    pub(super) fn replaced(&mut self, pe: usize, pid: u32) {
        let member = &mut self.pes[pe];
        let inits = member.inits.saturating_sub(1);
        *member = Member {
            pid,
            alive: true,
            exit: None,
            inside: false,
            inits,
            survives: false,
            is_lost: true,
            knows: 0,
            condemned: None,
        };
        self.leaving.retain(|&other| other != pe);
        self.alive += 1;
    }

    /// The others have let in the replacement of PE `pe`.
    pub(super) fn let_in(&mut self, pe: usize) {
        self.pes[pe].is_lost = false;
    }

    /// PE `pe` takes no part any more, without having left in good order.
    pub(super) fn abandoned(&mut self, pe: usize) {
        self.leaving.push(pe);
    }

    /// The first of the PEs that are likely to end, because they have dropped their worlds.
    pub(super) fn first_to_leave(&self) -> Option<usize> {
        self.leaving.iter().copied().find(|&pe| self.pes[pe].alive && self.pes[pe].inside)
    }

    /// PE `pe` has dropped its world a while ago: if the job goes on, it is to be lost.
    pub(super) fn stays(&mut self, pe: usize) -> Option<Step> {
        let stays = self.pes[pe].inside;
        stays.then(|| self.condemn(pe, "has dropped its world without finalize".to_owned()))?
    }

    /// PE `pe` has left in good order.
    pub(super) fn finalized(&mut self, pe: usize) -> Option<Step> {
        self.pes[pe].inside = false;
        self.settle()
    }

    /// PE `pe` knows of this number of losses.
    pub(super) fn knows(&mut self, pe: usize, view: u64) -> Option<Step> {
        self.pes[pe].knows = view;
        self.settle()
    }

    /// Has all PEs informed if all know of more losses than before.
    fn settle(&mut self) -> Option<Step> {
        let inside = self.pes.iter().filter(|member| member.alive && member.inside);
        let view = inside.map(|member| member.knows).min().unwrap_or(0);
        (view > self.settled).then(|| {
            self.settled = view;
            self.notices.push(Message::new(Kind::Settled).value(view as i32));
            Step::GoOn
        })
    }

    /// PE `pe` called `global_exit`.
    pub(super) fn aborted(&mut self, pe: usize, status: i32, why: &str) -> Option<Step> {
        let status_byte = status as u8;
        let why = if why.is_empty() { String::new() } else { format!(": {}", one_line(why)) };
        // With status 0 this is a way to end well, which needs no message.
        let message = (status != 0).then(|| format!("PE {pe} called global_exit({status}){why}"));
        let notice = Message::new(Kind::GlobalExit).ticket(pe as u64).value(status);
        self.end(Verdict { status: status_byte, message, about: About::Pe(pe) }, Some(notice), Some(pe))
    }

    /// PE `pe`'s process has ended.
    pub(super) fn exited(&mut self, pe: usize, exit: Exit) -> Option<Step> {
        (self.pes[pe].alive, self.pes[pe].exit) = (false, Some(exit));
        self.alive -= 1;
        match self.phase {
            Phase::Ending => None,
            // A replacement that the others have not let in.
            Phase::Running if self.pes[pe].is_lost => {
                self.pes[pe].survives = false;
                self.gone.push(pe);
                if exit != Exit::Status(0) {
                    self.status_of_lost = exit.code();
                    let (pid, host) = (self.pes[pe].pid, self.places.host_name(pe));
                    let how = "before the others had let it in";
                    self.remarks
                        .push(format!("the replacement of PE {pe} (pid {pid}, host {host}) {exit} {how}"));
                    self.replace_again(pe);
                }
                Some(Step::GoOn)
            }
            Phase::Interrupted(signal) => {
                let status = match exit {
                    Exit::Status(0) if self.pes[pe].inside => Exit::Signal(signal.as_raw()).code(),
                    exit => exit.code(),
                };
                if status != 0 && self.verdict.is_none() {
                    let message = Some(format!("the job was ended by {}", signal_name(signal.as_raw())));
                    self.verdict = Some(Verdict { status, message, about: About::Nothing });
                }
                None
            }
            Phase::Running if exit != Exit::Status(0) && self.has_left(pe) && self.goes_on_without() => {
                let (pid, host) = (self.pes[pe].pid, self.places.host_name(pe));
                let message = Some(format!("PE {pe} (pid {pid}, host {host}) {exit} after finalize"));
                self.verdict.get_or_insert(Verdict { status: exit.code(), message, about: About::Nothing });
                None
            }
            Phase::Running if exit != Exit::Status(0) => {
                let how = self.pes[pe].condemned.take().unwrap_or_else(|| exit.to_string());
                self.lost(pe, exit.code(), &how)
            }
            Phase::Running if self.pes[pe].inside => {
                self.lost(pe, 1, "exited with status 0 without finalize")
            }
            Phase::Running
                if self.pes.iter().any(|other| other.inside && other.inits > self.pes[pe].inits) =>
            {
                self.lost(pe, 1, "exited with status 0 without init, which other PEs are in")
            }
            Phase::Running => None,
        }
    }

    /// The launcher was sent a signal that is to reach the PEs.
    pub(super) fn signalled(&mut self, signal: Signal) -> Option<Step> {
        match signal {
            Signal::USR1 => return Some(Step::Show),
            Signal::USR2 => return Some(Step::Forward(signal)),
            _ => {}
        }
        match self.phase {
            Phase::Running => {
                self.phase = Phase::Interrupted(signal);
                Some(Step::Forward(signal))
            }
            Phase::Interrupted(first) => {
                let message = format!("the job was ended by {}", signal_name(first.as_raw()));
                Some(self.kill(message))
            }
            Phase::Ending => Some(Step::Kill),
        }
    }

    /// The PEs have not ended in the time that they had.
    pub(super) fn overdue(&mut self) -> Step {
        let Phase::Interrupted(signal) = self.phase else { return Step::Kill };
        let alive: Vec<usize> = (0..self.pes.len()).filter(|&pe| self.is_alive(pe)).collect();
        let (pes, were) = match alive[..] {
            [pe] => (format!("PE {pe}"), "was"),
            _ => (format!("PEs {}", list(&alive)), "were"),
        };
        let (signal, limit) = (signal_name(signal.as_raw()), TO_HEED.as_secs());
        self.kill(format!("{pes} did not end within {limit} s of {signal}, and {were} killed"))
    }

    /// Kills the PEs that do not heed a signal, for the reason that `message` gives. The guardian
    /// goes with them, which is no news.
    fn kill(&mut self, message: String) -> Step {
        self.phase = Phase::Ending;
        let status = Exit::Signal(Signal::KILL.as_raw()).code();
        self.verdict.get_or_insert(Verdict { status, message: Some(message), about: About::Nothing });
        Step::Kill
    }

    /// The time that the job was given has run out.
    pub(super) fn timed_out(&mut self, limit: Duration) -> Option<Step> {
        let message = format!("the job was ended because it took longer than {} s", limit.as_secs_f64());
        self.end(Verdict { status: 124, message: Some(message), about: About::All }, None, None)
    }

    /// What PEs print cannot be written any more. Where its reader has closed the pipe, the job
    /// ends as a command before that reader does: without a message, with the status of SIGPIPE.
    pub(super) fn unwritten(&mut self, stream: Stream, error: &io::Error) -> Option<Step> {
        let (status, message) = match error.kind() {
            io::ErrorKind::BrokenPipe => (Exit::Signal(libc::SIGPIPE).code(), None),
            _ => (1, Some(format!("cannot write to {stream}: {error}; the job was ended"))),
        };
        // A job whose output is lost has not ended well, whatever it says itself.
        self.verdict = self.verdict.take().filter(|verdict| verdict.status != 0);
        let verdict = Verdict { status, message, about: About::Nothing };
        self.verdict.get_or_insert_with(|| verdict.clone());
        self.end(verdict, None, None)
    }

    /// The guardian has ended.
    pub(super) fn unguarded(&mut self, pid: i32, exit: Exit) -> Option<Step> {
        let message = format!("the guardian process (pid {pid}) {exit}; the job was ended");
        let verdict = Verdict { status: exit.code().max(1), message: Some(message), about: About::Nothing };
        self.end(verdict, None, None)
    }

    /// The host `name`, which PEs `pes` are on, is lost: `how` says in which way. Its PEs count as
    /// ended.
    pub(super) fn host_lost(&mut self, name: &str, pes: Range<usize>, how: &str) -> Option<Step> {
        let first = pes.start;
        let newly: Vec<usize> = pes.clone().filter(|&pe| self.pes[pe].alive).collect();
        for member in self.pes[pes].iter_mut().filter(|member| member.alive) {
            (member.alive, member.exit) = (false, Some(Exit::WithHost));
            self.alive -= 1;
        }
        if self.goes_on_without() {
            let how = format!("was lost with its host {name}: {}", one_line(how));
            let (gone, newly): (Vec<_>, Vec<_>) = newly.into_iter().partition(|&pe| self.pes[pe].is_lost);
            // Replacements that the others have not let in.
            gone.iter().for_each(|&pe| self.pes[pe].survives = false);
            self.gone.extend(gone);
            for pe in newly {
                self.lose(pe, Exit::WithHost.code(), &how);
            }
            return Some(Step::GoOn);
        }
        let message = format!("host {name} is lost: {}; the job was ended", one_line(how));
        let notice = Message::new(Kind::Lost).ticket(first as u64);
        let notice = notice.with_body(format!("its host {name} is lost").into()).ok();
        let verdict = Verdict { status: Exit::WithHost.code(), message: Some(message), about: About::All };
        if let Phase::Interrupted(_) = self.phase {
            self.verdict.get_or_insert(verdict);
            return None;
        }
        self.end(verdict, notice, None)
    }

    /// The launcher cannot go on serving PE `pe`.
    pub(super) fn failed(&mut self, pe: usize, why: &str) -> Option<Step> {
        let why = format!("cannot be served: {}", one_line(why));
        if self.goes_on_without() {
            return self.condemn(pe, why);
        }
        self.lost(pe, 1, &why)
    }

    /// PE `pe` is to end, for this reason, so that the job goes on without it.
    pub(super) fn condemn(&mut self, pe: usize, why: String) -> Option<Step> {
        let runs = self.goes_on_without() && self.pes[pe].alive;
        runs.then(|| {
            self.pes[pe].condemned = Some(why);
            Step::KillPe(pe)
        })
    }

    /// What PEs exchange cannot be handed out any more.
    pub(super) fn unserved(&mut self, error: &io::Error) -> Option<Step> {
        let message = Some(format!("cannot serve the PEs: {error}; the job was ended"));
        self.end(Verdict { status: 1, message, about: About::Nothing }, None, None)
    }

    /// Whether the job goes on without a PE that ends now: once init is over on all PEs.
    pub(super) fn goes_on_without(&self) -> bool {
        self.on_loss == OnLoss::Continue && self.phase == Phase::Running && self.was_whole
    }

    /// Whether PE `pe` has left in good order.
    fn has_left(&self, pe: usize) -> bool {
        self.pes[pe].inits > 0 && !self.pes[pe].inside
    }

    /// PE `pe` has ended, and the job goes on.
    fn lose(&mut self, pe: usize, status: u8, how: &str) {
        (self.pes[pe].inside, self.status_of_lost) = (false, status);
        self.pes[pe].is_lost = true;
        self.replace_again(pe);
        self.view += 1;
        let (pid, host, view) = (self.pes[pe].pid, self.places.host_name(pe), self.view);
        self.losses.push(pe);
        self.remarks.push(format!("PE {pe} (pid {pid}, host {host}) {how}; the job goes on (view {view})"));
        let notice = Message::new(Kind::Loss).ticket(pe as u64).value(view as i32).with_body(how.into());
        if let Ok(notice) = notice {
            self.history.push(notice.clone());
            self.notices.push(notice);
        }
        // Of earlier ones, which this PE alone did not know of yet.
        self.settle();
    }

    /// PE `pe` gets a replacement, if there are to be any more, and its host is there.
    fn replace_again(&mut self, pe: usize) {
        if self.respawns > 0 && self.pes[pe].exit != Some(Exit::WithHost) {
            self.respawns -= 1;
            self.to_replace.push(pe);
        }
    }

    fn lost(&mut self, pe: usize, status: u8, how: &str) -> Option<Step> {
        if self.goes_on_without() {
            self.lose(pe, status, how);
            return Some(Step::GoOn);
        }
        let (pid, host) = (self.pes[pe].pid, self.places.host_name(pe));
        let message = format!("PE {pe} (pid {pid}, host {host}) {how}; the job was ended");
        let notice = Message::new(Kind::Lost).ticket(pe as u64).with_body(how.into()).ok();
        self.end(Verdict { status, message: Some(message), about: About::Pe(pe) }, notice, None)
    }

    fn end(&mut self, verdict: Verdict, notice: Option<Message>, spare: Option<usize>) -> Option<Step> {
        if self.phase == Phase::Ending {
            return None;
        }
        self.phase = Phase::Ending;
        // After a forwarded signal there may be a verdict already, and the first one counts.
        self.verdict.get_or_insert(verdict);
        self.notices.extend(notice);
        Some(Step::Terminate { spare })
    }
}

fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests;
