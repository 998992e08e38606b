//! The lifecycle of a job, as logic without I/O: what happened comes in, what to do about it comes
//! out.
//!
//! The first thing that goes wrong is the *verdict*: it decides the exit status and is the one
//! message. What goes wrong afterwards is a consequence, and not reported.

use std::{io, ops::Range, time::Duration};

use oxshmem_base::printable::printable;
use oxshmem_job::wire::{Kind, Message};
use oxshmem_progress::activity::list;
use rustix::process::Signal;

use super::{
    output::Stream,
    pe::{Exit, signal_name},
    places::Places,
};

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
}

/// How the job ended, as far as one can tell from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) status: u8,
    pub(super) message: Option<String>,
    /// What the message is about.
    pub(super) about: About,
}

impl Verdict {
    /// That of a job that was ended by a signal before it had begun.
    pub(super) fn of_signal(signal: Signal) -> Self {
        let signal = signal.as_raw();
        let message = Some(format!("the job was ended by {}", signal_name(signal)));
        Self { status: Exit::Signal(signal).code(), message, about: About::Nothing }
    }
}

/// What a message is about, which decides of which PEs it says what they were in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// This PE: the message says what every other was in.
    Pe(usize),
    /// The job: the message says what all PEs were in.
    All,
    /// Something else.
    Nothing,
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
pub(super) struct Lifecycle {
    places: Places,
    pes: Vec<Member>,
    alive: usize,
    phase: Phase,
    verdict: Option<Verdict>,
    /// What is to be sent to the PEs that still run.
    notice: Option<Message>,
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
    pub(super) fn new(places: Places, pids: impl Iterator<Item = u32>) -> Self {
        let member = |pid| Member { pid, alive: true, exit: None, inside: false, inits: 0 };
        let pes: Vec<_> = pids.map(member).collect();
        let alive = pes.len();
        Self { places, pes, alive, phase: Phase::Running, verdict: None, notice: None }
    }

    /// Whether a PE's process is still there.
    pub(super) fn goes_on(&self) -> bool {
        self.alive > 0
    }

    /// The verdict: without one, all is well.
    pub(super) fn verdict(self) -> Verdict {
        self.verdict.unwrap_or(Verdict { status: 0, message: None, about: About::Nothing })
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
    pub(super) fn take_notice(&mut self) -> Option<Message> {
        self.notice.take()
    }

    /// PE `pe` takes part from now on. Every PE must, as often as any other.
    pub(super) fn joined(&mut self, pe: usize) -> Option<Step> {
        let inits = self.pes[pe].inits + 1;
        (self.pes[pe].inside, self.pes[pe].inits) = (true, inits);
        let missed = self.pes.iter().position(|other| !other.alive && other.inits < inits)?;
        self.lost(missed, 1, "exited with status 0 without init, which other PEs are in")
    }

    /// PE `pe` has left in good order.
    pub(super) fn finalized(&mut self, pe: usize) {
        self.pes[pe].inside = false;
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
            Phase::Running if exit != Exit::Status(0) => self.lost(pe, exit.code(), &exit.to_string()),
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
        for member in self.pes[pes].iter_mut().filter(|member| member.alive) {
            (member.alive, member.exit) = (false, Some(Exit::WithHost));
            self.alive -= 1;
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
        self.lost(pe, 1, &format!("cannot be served: {}", one_line(why)))
    }

    fn lost(&mut self, pe: usize, status: u8, how: &str) -> Option<Step> {
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
        self.notice = notice;
        Some(Step::Terminate { spare })
    }
}

fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use oxshmem_base::Hosts;

    use super::*;

    const TERMINATE: Option<Step> = Some(Step::Terminate { spare: None });

    fn lifecycle(n: u32) -> Lifecycle {
        lifecycle_on(Hosts::one(n as usize))
    }

    fn lifecycle_on(hosts: Hosts) -> Lifecycle {
        let pids = 100..100 + hosts.n_pes() as u32;
        Lifecycle::new(Places::new(hosts, "node1"), pids)
    }

    fn message(lifecycle: Lifecycle) -> (u8, String) {
        let verdict = lifecycle.verdict();
        (verdict.status, verdict.message.unwrap_or_default())
    }

    #[test]
    fn all_well_is_status_0_without_a_message() {
        let mut lifecycle = lifecycle(2);
        for pe in 0..2 {
            assert_eq!(lifecycle.joined(pe), None);
        }
        for pe in 0..2 {
            lifecycle.finalized(pe);
            assert_eq!(lifecycle.exited(pe, Exit::Status(0)), None);
        }
        assert!(!lifecycle.goes_on());
        assert_eq!(lifecycle.verdict(), Verdict { status: 0, message: None, about: About::Nothing });
    }

    #[test]
    fn what_is_known_of_a_pe_follows_its_life() {
        let mut lifecycle = lifecycle(1);
        let outside = |what: &str| Known::Outside(what.to_owned());
        assert_eq!(lifecycle.known(0), outside("not in init yet"));
        lifecycle.joined(0);
        assert_eq!(lifecycle.known(0), Known::Inside);
        lifecycle.finalized(0);
        assert_eq!(lifecycle.known(0), outside("finalized"));
        lifecycle.exited(0, Exit::Status(0));
        assert_eq!(lifecycle.known(0), outside("exited with status 0"));
    }

    #[test]
    fn the_first_failure_is_the_verdict() {
        let mut lifecycle = lifecycle(3);
        assert_eq!(lifecycle.exited(2, Exit::Signal(9)), TERMINATE);
        assert_eq!(lifecycle.exited(0, Exit::Signal(15)), None);
        assert_eq!(lifecycle.aborted(1, 5, "late"), None);
        let expected = "PE 2 (pid 102, host node1) was killed by signal 9 (SIGKILL); the job was ended";
        assert_eq!(message(lifecycle), (137, expected.to_owned()));
    }

    #[test]
    fn a_pe_that_is_lost_is_named_with_its_own_host() {
        let mut lifecycle = lifecycle_on(Hosts::blocks([1, 2]));
        assert_eq!(lifecycle.exited(2, Exit::Status(3)), TERMINATE);
        assert_eq!(
            message(lifecycle).1,
            "PE 2 (pid 102, host node1-1) exited with status 3; the job was ended"
        );
    }

    #[test]
    fn a_lost_host_ends_the_job_and_its_pes_count_as_ended() {
        let mut lifecycle = lifecycle_on(Hosts::blocks([1, 2]));
        assert_eq!(lifecycle.host_lost("b", 1..3, "it was\nswitched off"), TERMINATE);
        let notice = lifecycle.take_notice().unwrap();
        assert_eq!((notice.kind, notice.ticket), (Kind::Lost, 1));
        assert_eq!(lifecycle.known(2), Known::Outside("was lost with its host".to_owned()));
        assert!(lifecycle.goes_on() && lifecycle.is_alive(0) && !lifecycle.is_alive(1));
        assert_eq!(lifecycle.exited(0, Exit::Signal(15)), None);
        assert!(!lifecycle.goes_on());
        let text = "host b is lost: it was switched off; the job was ended";
        assert_eq!(message(lifecycle), (1, text.to_owned()));
    }

    #[test]
    fn leaving_without_finalize_is_a_failure() {
        let mut lifecycle = lifecycle(2);
        lifecycle.joined(0);
        assert_eq!(lifecycle.exited(0, Exit::Status(0)), TERMINATE);
        let (status, text) = message(lifecycle);
        assert!(status == 1 && text.contains("exited with status 0 without finalize"), "{text}");
    }

    #[test]
    fn a_pe_that_never_comes_is_noticed_whichever_is_first() {
        let mut early = lifecycle(2);
        assert_eq!(early.exited(1, Exit::Status(0)), None);
        assert_eq!(early.joined(0), TERMINATE);
        let mut late = lifecycle(2);
        assert_eq!(late.joined(0), None);
        assert_eq!(late.exited(1, Exit::Status(0)), TERMINATE);
        assert!(message(late).1.starts_with("PE 1 (pid 101, host node1) exited with status 0 without init"));
    }

    #[test]
    fn global_exit_spares_its_caller() {
        let mut lifecycle = lifecycle(2);
        assert_eq!(lifecycle.aborted(1, 5, "no\nmore"), Some(Step::Terminate { spare: Some(1) }));
        assert_eq!(message(lifecycle), (5, "PE 1 called global_exit(5): no more".to_owned()));
    }

    #[test]
    fn a_second_interrupt_kills() {
        let mut lifecycle = lifecycle(1);
        assert_eq!(lifecycle.signalled(Signal::USR1), Some(Step::Show));
        assert_eq!(lifecycle.signalled(Signal::USR2), Some(Step::Forward(Signal::USR2)));
        assert_eq!(lifecycle.signalled(Signal::INT), Some(Step::Forward(Signal::INT)));
        assert_eq!(lifecycle.signalled(Signal::TERM), Some(Step::Kill));
        assert_eq!(lifecycle.unguarded(99, Exit::Signal(9)), None, "it is in the group that is killed");
        assert_eq!(lifecycle.exited(0, Exit::Signal(9)), None);
        assert_eq!(message(lifecycle), (137, "the job was ended by signal 2 (SIGINT)".to_owned()));
    }

    #[test]
    fn a_signal_that_is_not_heeded_is_named_and_the_guardian_is_not() {
        let mut lifecycle = lifecycle(3);
        assert_eq!(lifecycle.signalled(Signal::TERM), Some(Step::Forward(Signal::TERM)));
        assert_eq!(lifecycle.exited(1, Exit::Status(0)), None);
        assert_eq!(lifecycle.overdue(), Step::Kill);
        assert_eq!(lifecycle.unguarded(99, Exit::Signal(9)), None);
        for pe in [0, 2] {
            assert_eq!(lifecycle.exited(pe, Exit::Signal(9)), None);
        }
        let expected = "PEs 0,2 did not end within 5 s of signal 15 (SIGTERM), and were killed";
        assert_eq!(message(lifecycle), (137, expected.to_owned()));
    }

    #[test]
    fn lost_output_is_a_bad_end_of_a_job_that_ends_well() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        let mut running = lifecycle(1);
        assert_eq!(running.unwritten(Stream::Out, &full()), TERMINATE);
        assert!(message(running).1.starts_with("cannot write to standard output: No space left"));
        let mut ended = lifecycle(1);
        ended.aborted(0, 0, "");
        assert_eq!(ended.unwritten(Stream::Err, &full()), None);
        assert_eq!(message(ended).0, 1);
        let mut failed = lifecycle(1);
        failed.exited(0, Exit::Status(3));
        failed.unwritten(Stream::Out, &full());
        assert_eq!(message(failed).0, 3, "the first failure counts");
        let mut closed = lifecycle(1);
        assert_eq!(closed.unwritten(Stream::Out, &io::ErrorKind::BrokenPipe.into()), TERMINATE);
        assert_eq!(message(closed), (141, String::new()));
    }

    #[test]
    fn pes_that_heed_a_signal_end_well() {
        let mut lifecycle = lifecycle(2);
        lifecycle.signalled(Signal::INT);
        lifecycle.exited(0, Exit::Status(0));
        assert_eq!(lifecycle.aborted(1, 130, ""), Some(Step::Terminate { spare: Some(1) }));
        assert_eq!(message(lifecycle), (130, "PE 1 called global_exit(130)".to_owned()));
    }
}
