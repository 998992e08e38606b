//! PEs that are stuck in real calls, as processes of `oshrun`: in collectives, in locks and in
//! `quiet`. What each says of itself, and what the table makes of it.

use std::time::{Duration, Instant};

use crate::common::{Ended, Job, kill, on_one_host, reaches_hosts, soon, stop, test_name, time_limit};
use crate::stuck::{lines, main_of, report_of, rows, without_team};
use oxshmem::{Error, Result, prelude::*};

/// For how long a PE does not come: beyond the second after which a hang is reported, and what the
/// launcher takes to gather.
const LATE: Duration = Duration::from_millis(2200);
const TITLE: &str = "oshrun: the job may be stuck, its PEs are in:";

/// A job in which a hang is reported after a second.
fn impatient(test: &'static str, n: usize) -> Job {
    Job::new(test, n).env("SHMEM_HANG_TIMEOUT=1")
}

/// Whether the rows of the table are these: PEs, call and arguments. Of the arguments that name a
/// team only the rest counts.
#[track_caller]
fn assert_rows(ended: &Ended, expected: &[[&str; 3]]) {
    if !on_one_host("PEs of several hosts have a row a host, whatever they are in") {
        return;
    }
    let rows = rows(ended);
    let shown = |row: &Vec<&str>| {
        let arguments = row.get(5).copied().unwrap_or_default();
        let is_split = arguments.starts_with("on team ");
        let arguments = if is_split { without_team(arguments) } else { arguments.to_owned() };
        [row[0].to_owned(), row[3].to_owned(), arguments]
    };
    let shown: Vec<_> = rows.iter().map(shown).collect();
    assert_eq!(shown, expected, "{}", ended.stderr);
}

/// PEs 0 to 2 are a team, and call `collective` after two syncs, but PE 1 comes late. PE 3 goes its
/// own ways.
async fn one_comes_late<F: Future<Output = Result<()>>>(
    world: World,
    collective: impl FnOnce(Team, SymSlice<u64>) -> F,
) -> Result<()> {
    let words = world.alloc_zeroed::<u64>(8).await?;
    let Some(team) = world.team().split_strided(0, 1, 3).await? else { return Ok(()) };
    team.sync().await?;
    team.sync().await?;
    if world.my_pe() == 1 {
        std::thread::sleep(LATE);
    }
    collective(team, words).await
}

#[test]
fn a_pe_in_a_sum_of_a_split_team_reports_it_once_and_the_table_shows_the_missing_pe() {
    let _limit = time_limit(60);
    let ended = impatient(test_name!(), 4).run(|world| {
        one_comes_late(world, |team, words| async move {
            team.sum_reduce(words.slice(..4), words.slice(4..)).await
        })
    });
    for pe in [0, 2] {
        assert_eq!(without_team(report_of(&ended, pe)), "sum_reduce #3 on team (4 elements of 8 bytes)");
    }
    assert!(
        report_of(&ended, 3).starts_with("finalize #")
            && report_of(&ended, 3).ends_with(" on the world team")
    );
    assert_eq!(lines(&ended.stderr, "oxshmem: ").len(), 3, "{}", ended.stderr);
    assert_eq!(lines(&ended.stderr, "oshrun: "), [TITLE], "{}", ended.stderr);
    assert_rows(
        &ended,
        &[
            ["0,2", "sum_reduce #3", "on team, 4 elements of 8 bytes"],
            ["1", "computing", ""],
            // Allocation and split come first.
            ["3", "finalize #3", "on the world team"],
        ],
    );
}

#[test]
fn a_pe_that_waits_for_the_root_of_a_broadcast_names_the_broadcast_and_the_root() {
    let _limit = time_limit(60);
    let ended = impatient(test_name!(), 3).run(|world| {
        one_comes_late(world, |team, words| async move {
            team.broadcast(words.slice(..4), words.slice(4..), 1).await
        })
    });
    for pe in [0, 2] {
        assert_eq!(
            without_team(report_of(&ended, pe)),
            "broadcast #3 on team (4 elements of 8 bytes from PE 1)"
        );
    }
    assert_eq!(lines(&ended.stderr, "oxshmem: ").len(), 2, "{}", ended.stderr);
    assert_eq!(lines(&ended.stderr, "oshrun: "), [TITLE], "{}", ended.stderr);
    let broadcast = ["0,2", "broadcast #3", "on team, 4 elements of 8 bytes from PE 1"];
    assert_rows(&ended, &[broadcast, ["1", "computing", ""]]);
}

#[test]
fn a_pe_that_waits_for_a_lock_names_the_one_before_it_and_the_table_leads_to_the_holder() {
    let _limit = time_limit(60);
    let ended = impatient(test_name!(), 3).run(|world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let came = world.alloc_zeroed::<u64>(1).await?;
        let (me, ctx) = (world.my_pe(), world.context());
        let lock = Lock::new(ctx, word.at(0))?;
        // One after the other. The call queues up, and has done so when what it began is complete.
        came.at(0).wait_until(Cmp::Ge, me as u64).await?;
        let mut locking = Box::pin(lock.lock());
        if me == 0 {
            let guard = locking.await?;
            ctx.inc(came.at(0), 1).await?;
            std::thread::sleep(LATE);
            return guard.unlock().await;
        }
        for _ in 0..20 {
            let _ = tokio::time::timeout(Duration::from_millis(5), &mut locking).await;
        }
        if me == 1 {
            ctx.p(came.at(0), 2, 2).await?;
        }
        locking.await?.unlock().await
    });
    for pe in [1, 2] {
        let (lock, ahead) = report_of(&ended, pe).rsplit_once(", ").unwrap();
        assert!(lock.starts_with("set_lock(lock at heap offset 0x"), "{lock}");
        assert_eq!(ahead, format!("behind PE {})", pe - 1));
    }
    assert_eq!(lines(&ended.stderr, "oxshmem: ").len(), 2, "{}", ended.stderr);
    if on_one_host("PEs of several hosts have a row a host, whatever they are in") {
        let rows = rows(&ended);
        assert_eq!((rows[0][0], rows[0][3], rows.len()), ("0", "computing", 3), "{rows:?}");
        assert_eq!((rows[1][0], rows[1][3], rows[2][3]), ("1", "set_lock", "set_lock"), "{rows:?}");
        assert!(rows[1][5].ends_with(", behind PE 0") && rows[2][5].ends_with(", behind PE 1"), "{rows:?}");
    }
}

#[test]
fn a_task_that_waits_for_the_lock_that_it_has_itself_is_found() {
    let _limit = time_limit(60);
    let ended = impatient(test_name!(), 2).run(|world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        if world.my_pe() == 1 {
            return Ok(());
        }
        let lock = Lock::new(world.context(), word.at(0))?;
        let guard = lock.lock().await?;
        let again = tokio::time::timeout(LATE, lock.lock()).await;
        assert!(again.is_err(), "it waits for itself");
        // Nothing is left of the wait when it is over.
        assert!(world.pe().board().seen().is_empty());
        guard.unlock().await?;
        lock.lock().await?.unlock().await
    });
    let what = report_of(&ended, 0);
    assert!(
        what.starts_with("set_lock(lock at heap offset 0x") && what.ends_with(", which this PE has)"),
        "{what}"
    );
    assert!(report_of(&ended, 1).starts_with("finalize #"), "{}", ended.stderr);
    let rows = rows(&ended);
    assert_eq!((rows[0][0], rows[0][3]), ("0", "set_lock"), "{rows:?}");
    assert!(rows[0][5].ends_with(", which this PE has"), "{rows:?}");
}

#[test]
fn a_pe_in_quiet_counts_its_operations_on_a_pe_that_is_stopped() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    let ended = impatient(test_name!(), 2).hosts("2").run(|world| async move {
        let (me, ctx) = (world.my_pe(), world.context());
        let pid = world.alloc_zeroed::<u32>(1).await?;
        let data = world.alloc_zeroed::<u64>(1 << 18).await?;
        if me == 1 {
            ctx.p(pid.at(0), std::process::id(), 0).await?;
            // Whether this process is stopped here or later: it goes on in the end.
            return Ok(());
        }
        let pid = pid.at(0).wait_until(Cmp::Ne, 0).await?;
        stop(pid);
        let goes_on = std::thread::spawn(move || {
            std::thread::sleep(LATE);
            kill(pid, libc::SIGCONT);
        });
        let put = ctx.put_nbi(&data, vec![7; 1 << 18], 1);
        let begin = Instant::now();
        ctx.quiet().await?;
        assert!(begin.elapsed() > LATE / 2, "the other one was stopped");
        goes_on.join().expect("it only sleeps");
        put.await?;
        Ok(())
    });
    // The flush, and the put where the net has not let go of its source.
    let counts = ["1 operation under way", "2 operations under way"];
    let shown = report_of(&ended, 0);
    assert!(counts.iter().any(|count| shown == format!("quiet({count})")), "{shown}");
    let rows = rows(&ended);
    assert_eq!((rows[0][0], rows[0][3]), ("0", "quiet"), "{rows:?}");
    assert!(counts.contains(&rows[0][5]), "{rows:?}");
}

/// All are in one team, and PE 2 calls a broadcast from PE 1 where the others call a sync. PEs 1
/// and 3 come as much later as the environment says.
async fn differ(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let words = world.alloc_zeroed::<u64>(8).await?;
    let team = world.team().split_strided(0, 1, n).await?.expect("all are in it");
    team.sync().await?;
    if me == 2 {
        return soon("the broadcast", team.broadcast(words.slice(..4), words.slice(4..), 1)).await;
    }
    if let (1 | 3, Ok(late)) = (me, std::env::var("LATE_MS")) {
        std::thread::sleep(Duration::from_millis(late.parse().expect("a number")));
    }
    soon("the sync", team.sync()).await
}

/// All get the error, and the world is as good as before.
async fn all_get_the_error(world: World) -> Result<()> {
    match differ(&world).await {
        Err(Error::CollectiveMismatch { .. }) => {}
        other => panic!("PE {}: {other:?}", world.my_pe()),
    }
    world.barrier_all().await
}

#[test]
fn pes_that_call_a_broadcast_and_a_sync_get_an_error_from_the_library_itself() {
    let _limit = time_limit(60);
    let ended = impatient(test_name!(), 3).run(all_get_the_error);
    assert_eq!(ended.stderr, "", "nobody is stuck");
}

#[test]
fn a_program_that_calls_a_broadcast_and_a_sync_ends_with_a_line_that_says_who_called_what() {
    let _limit = time_limit(60);
    let ended = impatient(test_name!(), 3).end(|| {
        main_of(|world| async move {
            differ(&world).await?;
            world.finalize().await
        });
    });
    assert_ne!(ended.status, 0, "{ended:?}");
    let errors = lines(&ended.stderr, "Error: ");
    assert!(!errors.is_empty(), "{}", ended.stderr);
    for line in errors {
        assert!(line.starts_with("Error: PEs differ in a collective call: "), "{line}");
        assert!(line.contains("calls sync"), "{line}");
        assert!(line.contains("PE 2 calls broadcast of 4 elements of u64 from PE 1"), "{line}");
    }
}

/// Of four in a ring two have come, of which neither has a neighbour yet that it could ask.
const MISMATCH: &str = "PE 0 is in sync #2 on team while PE 2 is in broadcast #2: all PEs of a team must call the same \
                        collectives in the same order";

#[test]
fn the_table_shows_a_mismatch_that_no_pe_can_find_out_yet() {
    let _limit = time_limit(60);
    if !on_one_host("on a host of their own, the two are neighbours") {
        return;
    }
    let late = format!("LATE_MS={}", LATE.as_millis());
    let ended = impatient(test_name!(), 4).env(&late).run(all_get_the_error);
    assert_eq!(without_team(report_of(&ended, 0)), "sync #2 on team");
    assert_eq!(without_team(report_of(&ended, 2)), "broadcast #2 on team (4 elements of 8 bytes from PE 1)");
    assert_eq!(lines(&ended.stderr, "oxshmem: ").len(), 2, "{}", ended.stderr);
    let [mismatch, title] = lines(&ended.stderr, "oshrun: ")[..] else { panic!("{}", ended.stderr) };
    assert_eq!((without_team(mismatch), title), (format!("oshrun: {MISMATCH}"), TITLE));
    assert_rows(&ended, &IN_DIFFERENT_CALLS);
}

const IN_DIFFERENT_CALLS: [[&str; 3]; 3] = [
    ["0", "sync #2", "on team"],
    ["1,3", "computing", ""],
    ["2", "broadcast #2", "on team, 4 elements of 8 bytes from PE 1"],
];

#[test]
fn a_job_that_runs_out_of_time_says_which_collectives_its_pes_were_in_and_that_they_differ() {
    let _limit = time_limit(60);
    if !on_one_host("on a host of their own, the two are neighbours") {
        return;
    }
    let job = Job::new(test_name!(), 4).env("LATE_MS=100000").launcher_args(&["--timeout", "1.5"]);
    let ended = job.end(|| main_of(all_get_the_error));
    assert_eq!(ended.status, 124, "{ended:?}");
    assert_eq!(lines(&ended.stderr, "oxshmem: "), [""; 0], "{}", ended.stderr);
    let mismatch = lines(&ended.stderr, "  PE 0 is in sync #2");
    let [mismatch] = mismatch[..] else { panic!("{}", ended.stderr) };
    assert_eq!(without_team(mismatch).trim_start(), MISMATCH);
    assert_rows(&ended, &IN_DIFFERENT_CALLS);
}

#[test]
fn teams_of_the_pes_of_two_hosts_are_not_compared_with_each_other() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    let ended = impatient(test_name!(), 4).hosts("2").run(|world| async move {
        let words = world.alloc_zeroed::<u64>(8).await?;
        let shared = world.team_shared();
        // PEs 0 and 1 of the first host add, and 2 and 3 of the second wait.
        if world.my_pe() % 2 == 1 {
            std::thread::sleep(LATE);
        }
        match world.my_pe() / 2 {
            0 => shared.sum_reduce(words.slice(..4), words.slice(4..)).await,
            _ => shared.sync().await,
        }
    });
    assert_eq!(report_of(&ended, 0), "sum_reduce #1 on the shared team (4 elements of 8 bytes)");
    assert_eq!(report_of(&ended, 2), "sync #1 on the shared team");
    assert_eq!(lines(&ended.stderr, "oshrun: "), [TITLE], "{}", ended.stderr);
    let rows = rows(&ended);
    let calls: Vec<_> = rows.iter().map(|row| (row[0], row[3])).collect();
    assert_eq!(calls, [("0", "sum_reduce #1"), ("1", "computing"), ("2", "sync #1"), ("3", "computing")]);
}
