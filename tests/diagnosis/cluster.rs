//! PEs of one process that hang: the process says so itself. Each test runs its cluster in a
//! process of its own, whose output it reads.

use std::{sync::Arc, time::Duration};

use oxshmem::{Result, prelude::*};
use oxshmem_base::settings::Settings;
use oxshmem_job::Local;
use oxshmem_progress::activity::{Activity, Call};
use oxshmem_spaces::Pe;

use crate::common::{Job, cluster, on_one_host, settings, test_name, time_limit};

/// Settings that report a hang after this many seconds.
fn impatient(seconds: u64) -> Settings {
    let mut settings = settings();
    settings.hang_timeout = (seconds > 0).then_some(Duration::from_secs(seconds));
    settings
}

fn is_watched() -> bool {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let mut names =
        threads.map(|thread| std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default());
    names.any(|name| name.starts_with("oxshmem-watchdo"))
}

/// Some PEs wait for a word that PE 0 sets after a while.
fn all_but_one_wait(n: usize, settings: Settings, millis: u64) -> Result<()> {
    let pes = cluster(n, settings, move |world| async move {
        let word = world.alloc_zeroed::<i64>(1).await?;
        if world.my_pe() == 0 {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            for pe in 1..world.n_pes() {
                world.context().p(word.at(0), -5, pe).await?;
            }
        } else {
            word.at(0).wait_until(Cmp::Eq, -5).await?;
        }
        Ok(())
    });
    pes.map(drop)
}

#[test]
fn one_message_and_one_table_are_for_all_pes_of_the_process() {
    let _limit = time_limit(60);
    if !on_one_host("each host has a message and a table of its own") {
        return;
    }
    let ended = Job::alone(test_name!()).end(|| all_but_one_wait(5, impatient(1), 2500).unwrap());
    assert_eq!(ended.status, 0, "{ended:?}");
    let lines: Vec<_> = ended.stderr.lines().collect();
    let [report, title, head, computing, waiting] = lines[..] else { panic!("{}", ended.stderr) };
    assert!(
        report.starts_with("oxshmem: PEs 1-4 on host ") && report.contains(" s in wait_until(i64 at heap"),
        "{report}"
    );
    assert!(report.ends_with(" == -5, now 0)"), "{report}");
    assert_eq!(title, "oxshmem: the PEs of this host:");
    assert!(head.trim_start().starts_with("PE "), "{head}");
    assert!(computing.starts_with("  0 ") && computing.ends_with("computing"), "{computing}");
    assert!(waiting.starts_with("  1-4 ") && waiting.ends_with("== -5, now 0"), "{waiting}");
}

#[test]
fn a_thousand_pes_are_one_line() {
    let _limit = time_limit(60);
    if !on_one_host("each host has a message and a table of its own") {
        return;
    }
    let ended = Job::alone(test_name!()).end(|| all_but_one_wait(1000, impatient(2), 5000).unwrap());
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(ended.stderr.starts_with("oxshmem: PEs 1-"), "{}", ended.stderr);
    assert!(ended.stderr.contains("\n  1-999 "), "{}", ended.stderr);
    // PEs that came much later than the others have a line of their own.
    assert!(ended.stderr.lines().count() <= 10, "{}", ended.stderr);
}

#[test]
fn nothing_is_printed_and_nothing_watches_with_a_timeout_of_0() {
    let _limit = time_limit(60);
    let ended = Job::alone(test_name!()).end(|| {
        all_but_one_wait(3, impatient(0), 1500).unwrap();
        assert!(!is_watched());
    });
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}

#[test]
fn a_job_in_which_nobody_waits_has_no_watchdog_and_one_that_is_over_has_none_left() {
    let _limit = time_limit(60);
    let ended = Job::alone(test_name!()).end(|| {
        let never = cluster(1, impatient(60), |world| async move {
            let word = world.alloc_zeroed::<u64>(1).await?;
            world.context().inc(word.at(0), 0).await?;
            word.at(0).wait_until(Cmp::Eq, 1).await?;
            Ok(is_watched())
        });
        assert_eq!(never.unwrap(), [false]);
        let waits = cluster(2, impatient(60), |world| async move {
            let word = world.alloc_zeroed::<u64>(1).await?;
            if world.my_pe() == 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                world.context().inc(word.at(0), 1).await?;
            } else {
                word.at(0).wait_until(Cmp::Eq, 1).await?;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(is_watched())
        });
        assert_eq!(waits.unwrap(), [true, true]);
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        while is_watched() {
            assert!(std::time::Instant::now() < deadline, "the watchdog outlives its job");
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}

#[test]
fn waits_that_are_short_are_never_spoken_of_however_many_there_are() {
    let _limit = time_limit(60);
    let ended = Job::alone(test_name!()).end(|| {
        let turns = cluster(2, impatient(1), |world| async move {
            let word = world.alloc_zeroed::<u64>(1).await?;
            let (me, other) = (world.my_pe() as u64, 1 - world.my_pe());
            let until = std::time::Instant::now() + Duration::from_millis(2500);
            let mut turn = 0;
            // Each sleeps for a while at every turn, and the other waits for it.
            while std::time::Instant::now() < until || turn % 2 == 1 {
                if turn % 2 == me {
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    let over = u64::from(std::time::Instant::now() >= until) << 32;
                    world.context().p(word.at(0), (turn + 1) | over, other).await?;
                    turn += 1;
                    if over != 0 {
                        break;
                    }
                } else {
                    turn = word.at(0).wait_until(Cmp::Gt, turn).await?;
                    if turn >> 32 != 0 {
                        break;
                    }
                }
            }
            Ok(turn as u32)
        });
        assert!(turns.unwrap()[0] > 20);
    });
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}

#[test]
fn collectives_in_another_order_are_reported_as_that() {
    let _limit = time_limit(60);
    const TEAM: u64 = 3 << 16 | 17;
    let ended = Job::alone(test_name!()).end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let joins = Local::cluster(4).into_iter().map(|pe| Pe::join(Arc::new(pe), impatient(1)));
            let pes = futures::future::try_join_all(joins).await.unwrap();
            let sync = Activity::collective(Call::Sync, TEAM, 41);
            let broadcast = Activity::collective(Call::Broadcast, TEAM, 41).elements(16, 8).root(0);
            let calls = [sync, sync, sync, broadcast];
            let _entries: Vec<_> = pes.iter().zip(calls).map(|(pe, call)| pe.board().enter(&call)).collect();
            tokio::time::sleep(Duration::from_millis(1500)).await;
        });
    });
    assert_eq!(ended.status, 0, "{ended:?}");
    let mismatch = "oxshmem: PE 3 is in broadcast #41 on team 3.17 while PEs 0-2 are in sync #41: all PEs of a team must call \
                    the same collectives in the same order\n";
    assert_eq!(ended.stderr.matches(mismatch).count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("oxshmem: PEs 0-2 on host "), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("in broadcast #41 on team 3.17 (16 elements of 8 bytes from PE 0)\n"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_single_pe_has_a_message_but_no_table() {
    let _limit = time_limit(60);
    let ended = Job::alone(test_name!()).env("SHMEM_HANG_TIMEOUT=1").run(|world| async move {
        let words = world.alloc_zeroed::<u32>(2).await?;
        let wait = words.at(1).wait_until(Cmp::Le, u32::MAX - 1);
        words.at(1).store(u32::MAX);
        assert!(tokio::time::timeout(Duration::from_millis(1500), wait).await.is_err());
        Ok(())
    });
    let lines: Vec<_> = ended.stderr.lines().collect();
    let [report] = lines[..] else { panic!("{}", ended.stderr) };
    assert!(report.starts_with("oxshmem: PE 0 on host "), "{report}");
    assert!(report.ends_with(" <= 4294967294, now 4294967295)"), "{report}");
}

#[test]
fn nobody_is_stuck_in_a_team_that_was_dropped_and_that_others_keep() {
    let _limit = time_limit(60);
    let ended = Job::alone(test_name!()).end(|| {
        let pes = cluster(3, impatient(1), |world| async move {
            let team = world.team().split_strided(0, 1, 3).await?;
            if world.my_pe() > 0 {
                drop(team);
            } else {
                tokio::time::sleep(Duration::from_millis(2500)).await;
            }
            Ok(())
        });
        pes.map(drop).unwrap();
    });
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(!ended.stderr.contains("destroy"), "{}", ended.stderr);
}
