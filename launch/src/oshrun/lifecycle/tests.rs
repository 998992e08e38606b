//! What a job becomes, event by event.

use oxshmem_base::Hosts;

use super::*;

const TERMINATE: Option<Step> = Some(Step::Terminate { spare: None });
const CONTINUE: Survival = Survival { on_loss: OnLoss::Continue, respawns: 0 };

fn lifecycle(n: u32) -> Lifecycle {
    lifecycle_on(Hosts::one(n as usize))
}

fn lifecycle_on(hosts: Hosts) -> Lifecycle {
    let pids = 100..100 + hosts.n_pes() as u32;
    Lifecycle::new(Places::new(hosts, "node1"), pids, Survival::default())
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
    assert_eq!(message(lifecycle).1, "PE 2 (pid 102, host node1-1) exited with status 3; the job was ended");
}

#[test]
fn a_lost_host_ends_the_job_and_its_pes_count_as_ended() {
    let mut lifecycle = lifecycle_on(Hosts::blocks([1, 2]));
    assert_eq!(lifecycle.host_lost("b", 1..3, "it was\nswitched off"), TERMINATE);
    let [notice] = &lifecycle.take_notices()[..] else { panic!("one is sent") };
    assert_eq!((notice.kind, notice.ticket), (Kind::Lost, 1));
    assert_eq!(lifecycle.known(2), Known::Outside("was lost with its host".to_owned()));
    assert!(lifecycle.goes_on() && lifecycle.is_alive(0) && !lifecycle.is_alive(1));
    assert_eq!(lifecycle.exited(0, Exit::Signal(15)), None);
    assert!(!lifecycle.goes_on());
    let text = "host b is lost: it was switched off; the job was ended";
    assert_eq!(message(lifecycle), (1, text.to_owned()));
}

#[test]
fn a_job_that_goes_on_counts_what_it_loses() {
    let pids = 100..104;
    let places = Places::new(Hosts::blocks([1, 1, 2]), "node1");
    let mut lifecycle = Lifecycle::new(places, pids, CONTINUE);
    for pe in 0..4 {
        assert_eq!(lifecycle.joined(pe), None);
        lifecycle.survives(pe);
    }
    assert_eq!(lifecycle.exited(1, Exit::Signal(9)), Some(Step::GoOn));
    assert_eq!(lifecycle.host_lost("b", 2..4, "silence"), Some(Step::GoOn));
    let notices = lifecycle.take_notices();
    let notices: Vec<_> = notices.iter().map(|it| (it.kind, it.ticket, it.value)).collect();
    assert_eq!(notices, [(Kind::Loss, 1, 1), (Kind::Loss, 2, 2), (Kind::Loss, 3, 3)]);
    let losses = lifecycle.take_losses();
    let text = "PE 1 (pid 101, host node1-1) was killed by signal 9 (SIGKILL); the job goes on (view 1)";
    assert_eq!((losses, &*lifecycle.take_remarks()[0]), (vec![1, 2, 3], text));
    assert!(lifecycle.take_losses().is_empty() && lifecycle.goes_on());
    lifecycle.finalized(0);
    assert_eq!(lifecycle.exited(0, Exit::Status(0)), None);
    assert_eq!(message(lifecycle), (0, String::new()));
}

#[test]
fn a_loss_is_settled_when_all_others_know_of_it() {
    let mut lifecycle = Lifecycle::new(Places::new(Hosts::one(4), "a"), 1..5, CONTINUE);
    for pe in 0..4 {
        lifecycle.joined(pe);
        lifecycle.survives(pe);
    }
    assert_eq!(lifecycle.exited(1, Exit::Signal(9)), Some(Step::GoOn));
    lifecycle.take_notices();
    assert_eq!((lifecycle.knows(0, 1), lifecycle.knows(2, 1)), (None, None));
    // The last that does not know of it is lost itself.
    assert_eq!(lifecycle.exited(3, Exit::Signal(9)), Some(Step::GoOn));
    let notices = lifecycle.take_notices();
    let notices: Vec<_> = notices.iter().map(|it| (it.kind, it.value)).collect();
    assert_eq!(notices, [(Kind::Loss, 2), (Kind::Settled, 1)]);
    assert_eq!((lifecycle.knows(0, 2), lifecycle.finalized(2)), (None, Some(Step::GoOn)));
    let notices = lifecycle.take_notices();
    assert_eq!((notices[0].kind, notices[0].value), (Kind::Settled, 2));
}

#[test]
fn a_pe_that_ends_badly_after_finalize_is_no_loss_and_decides_the_status() {
    let mut lifecycle = Lifecycle::new(Places::new(Hosts::one(2), "a"), 1..3, CONTINUE);
    for pe in 0..2 {
        lifecycle.joined(pe);
        lifecycle.survives(pe);
    }
    lifecycle.finalized(1);
    assert_eq!(lifecycle.exited(1, Exit::Status(3)), None);
    assert!(lifecycle.take_losses().is_empty());
    lifecycle.finalized(0);
    assert_eq!(lifecycle.exited(0, Exit::Status(0)), None);
    assert_eq!(
        message(lifecycle),
        (3, "PE 1 (pid 2, host a) exited with status 3 after finalize".to_owned())
    );
}

#[test]
fn a_pe_that_is_lost_before_init_is_over_everywhere_ends_the_job() {
    let mut lifecycle = Lifecycle::new(Places::new(Hosts::one(2), "a"), 1..3, CONTINUE);
    lifecycle.survives(0);
    assert_eq!(lifecycle.exited(0, Exit::Signal(9)), TERMINATE);
}

#[test]
fn a_job_that_has_lost_all_ends_as_its_last_pe() {
    let mut lifecycle = Lifecycle::new(Places::new(Hosts::one(2), "a"), 1..3, CONTINUE);
    for pe in 0..2 {
        lifecycle.joined(pe);
        lifecycle.survives(pe);
    }
    assert_eq!(lifecycle.failed(1, "why"), Some(Step::KillPe(1)));
    assert_eq!(lifecycle.exited(1, Exit::Signal(9)), Some(Step::GoOn));
    assert_eq!(lifecycle.exited(0, Exit::Status(3)), Some(Step::GoOn));
    assert_eq!(message(lifecycle).0, 3);
}

#[test]
fn a_replacement_is_no_loss_until_the_others_have_let_it_in() {
    let survival = Survival { respawns: 3, ..CONTINUE };
    let mut lifecycle = Lifecycle::new(Places::new(Hosts::one(2), "a"), 1..3, survival);
    for pe in 0..2 {
        lifecycle.joined(pe);
        assert_eq!(lifecycle.survives(pe), None);
    }
    assert_eq!(lifecycle.exited(1, Exit::Signal(9)), Some(Step::GoOn));
    for (pid, respawns) in [(7, 1), (8, 0)] {
        assert_eq!(lifecycle.take_to_replace(), [1]);
        assert!(lifecycle.wants_replacement());
        lifecycle.replaced(1, pid);
        assert_eq!(lifecycle.joined(1), Some(Step::Inform(1)));
        let known: Vec<_> = lifecycle.history().iter().map(|it| (it.kind, it.ticket)).collect();
        // It has missed that all knew of the loss.
        assert_eq!(known, [(Kind::Loss, 1), (Kind::Settled, 0)]);
        assert!(lifecycle.take_gone().is_empty());
        if respawns > 0 {
            // It ends before init is over.
            assert_eq!(lifecycle.exited(1, Exit::Status(3)), Some(Step::GoOn));
            assert_eq!(lifecycle.take_gone(), [1]);
        }
    }
    assert_eq!(lifecycle.survives(1), Some(Step::Rejoin(1)));
    assert_eq!((lifecycle.take_losses(), lifecycle.take_remarks().len()), (vec![1], 2));
    lifecycle.let_in(1);
    // The next one is a loss again, and has the last of the replacements.
    assert_eq!(lifecycle.exited(1, Exit::Status(0)), Some(Step::GoOn));
    assert_eq!((lifecycle.take_losses(), lifecycle.take_to_replace()), (vec![1], vec![1]));
    lifecycle.finalized(0);
    assert_eq!(lifecycle.exited(0, Exit::Status(0)), None);
    assert!(!lifecycle.wants_replacement(), "no PE is left that it could join");
    assert_eq!(message(lifecycle), (0, String::new()));
}

#[test]
fn a_replacement_that_is_lost_with_its_host_is_waited_for_no_more() {
    let survival = Survival { respawns: 1, ..CONTINUE };
    let mut lifecycle = Lifecycle::new(Places::new(Hosts::blocks([1, 2]), "a"), 1..4, survival);
    for pe in 0..3 {
        lifecycle.joined(pe);
        lifecycle.survives(pe);
    }
    lifecycle.exited(1, Exit::Signal(9));
    lifecycle.replaced(1, 7);
    lifecycle.joined(1);
    assert_eq!(lifecycle.survives(1), Some(Step::Rejoin(1)));
    assert_eq!(lifecycle.host_lost("b", 1..3, "silence"), Some(Step::GoOn));
    assert_eq!((lifecycle.take_gone(), lifecycle.take_losses()), (vec![1], vec![1, 2]));
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
