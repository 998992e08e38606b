//! Jobs of `oshrun` that hang, run out of time, or lose a PE: what they say about who was in what.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem::{Result, World, prelude::*};
use oxshmem_base::settings::Settings;
use oxshmem_job::Launched;
use oxshmem_progress::activity::{Activity, Call};
use oxshmem_spaces::Pe;

use crate::common::{Job, PeRuntime, cpu_time, is_played, kill, on_one_host, test_name, time_limit, turns};
use crate::stuck::{lines, main_of, rows};

/// PE 1 waits, in a phase, for a word that PE 0 sets after `millis`, and all leave in good order.
async fn one_waits(world: World, millis: u64) -> Result<()> {
    let words = world.alloc_zeroed::<u64>(16).await?;
    words.at(8).store(2);
    if world.my_pe() == 0 {
        std::thread::sleep(Duration::from_millis(millis));
        world.context().p(words.at(8), 3, 1).await?;
    }
    if world.my_pe() == 1 {
        world.phase("exchange");
        words.at(8).wait_until(Cmp::Ge, 3).await?;
    }
    Ok(())
}

#[test]
fn a_pe_stuck_in_a_wait_says_so_once_with_the_value_and_the_table_says_where_all_are() {
    let _limit = time_limit(60);
    for runtime in [PeRuntime::CurrentThread, PeRuntime::BlockOn] {
        let job = Job::new(test_name!(), 2).runtime(runtime).env("SHMEM_HANG_TIMEOUT=1");
        let ended = job.run(|world| one_waits(world, 2500));
        let report = lines(&ended.stderr, "oxshmem: ");
        let [report] = report[..] else { panic!("{}", ended.stderr) };
        assert!(
            report.starts_with("oxshmem: PE 1 on host ")
                && report.contains(" has waited 1.0 s in wait_until(u64"),
            "{report}"
        );
        assert!(report.ends_with(" >= 3, now 2)"), "{report}");
        assert_eq!(lines(&ended.stderr, "oshrun: ").len(), 1, "{}", ended.stderr);
        let rows = rows(&ended);
        assert_eq!((rows[0][0], rows[0][3]), ("0", "computing"), "{rows:?}");
        assert_eq!((rows[1][0], &rows[1][3..5]), ("1", &["exchange", "wait_until"][..]), "{rows:?}");
        assert!(rows[1][6].ends_with(" >= 3, now 2"), "{rows:?}");
        assert_eq!(rows.len(), 2, "{rows:?}");
    }
}

#[test]
fn a_wait_that_was_forgotten_is_not_taken_for_a_hang() {
    let _limit = time_limit(60);
    for runtime in [PeRuntime::CurrentThread, PeRuntime::BlockOn] {
        let job = Job::new(test_name!(), 2).runtime(runtime).env("SHMEM_HANG_TIMEOUT=1");
        let ended = job.run(|world| async move {
            let words = world.alloc_zeroed::<u64>(4).await?;
            for word in 0..3 {
                let mut wait = Box::pin({
                    let words = words.clone();
                    async move {
                        match word {
                            0 => words.wait_until_any(Cmp::Gt, 7).await.map(drop),
                            _ => words.at(word).wait_until(Cmp::Eq, 1).await.map(drop),
                        }
                    }
                });
                assert!(futures::poll!(wait.as_mut()).is_pending());
                std::mem::forget(wait);
            }
            // What is awaited is, beside them.
            if world.my_pe() == 0 {
                std::thread::sleep(Duration::from_millis(2600));
                return world.context().p(words.at(3), 1, 1).await;
            }
            words.at(3).wait_until(Cmp::Eq, 1).await.map(drop)
        });
        let report = lines(&ended.stderr, "oxshmem: ");
        let [report] = report[..] else { panic!("{}", ended.stderr) };
        assert!(report.contains("PE 1 on host ") && report.contains(" in wait_until(u64"), "{report}");
    }
}

#[test]
fn with_debug_output_a_hang_is_reported_after_a_second() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).env("SHMEM_DEBUG=").run(|world| one_waits(world, 1500));
    assert_eq!(lines(&ended.stderr, "oxshmem: PE 1 on host").len(), 1, "{}", ended.stderr);
}

#[test]
fn nothing_is_printed_with_a_timeout_of_0_or_before_it_is_over() {
    let _limit = time_limit(60);
    for setting in ["SHMEM_HANG_TIMEOUT=0", "SHMEM_HANG_TIMEOUT=3"] {
        let ended = Job::new(test_name!(), 2).env(setting).run(|world| one_waits(world, 1500));
        assert_eq!(ended.stderr, "", "{setting}");
    }
}

#[test]
fn a_wait_that_goes_on_is_reported_once_and_a_set_and_a_second_wait_by_themselves() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).env("SHMEM_HANG_TIMEOUT=1").run(|world| async move {
        let words = world.alloc_zeroed::<i32>(4).await?;
        if world.my_pe() == 0 {
            std::thread::sleep(Duration::from_millis(2600));
            for word in 0..4 {
                world.context().p(words.at(word), -1, 1).await?;
            }
            return Ok(());
        }
        words.slice(1..).wait_until_all(Cmp::Lt, 0).await?;
        words.at(0).wait_until(Cmp::Lt, 0).await.map(drop)
    });
    let report = lines(&ended.stderr, "oxshmem: ");
    let [report] = report[..] else { panic!("{}", ended.stderr) };
    assert!(
        report.contains("in wait_until_all(3 i32 at heap offset 0x") && report.ends_with(" < 0)"),
        "{report}"
    );
}

#[test]
fn collectives_in_another_order_are_reported_as_that_once_for_all_processes() {
    let _limit = time_limit(60);
    if !on_one_host("PEs of several hosts have a row a host, whatever they are in") {
        return;
    }
    let ended = Job::new(test_name!(), 4).env("SHMEM_HANG_TIMEOUT=1").end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let launched = Launched::from_env().unwrap().unwrap();
            let pe = Pe::join(Arc::new(launched), Settings::from_env().unwrap()).await.unwrap();
            let call = if pe.me() == 3 { Call::Broadcast } else { Call::Sync };
            let _entry = pe.board().enter(&Activity::collective(call, 3 << 16 | 17, 41));
            tokio::time::sleep(Duration::from_millis(2500)).await;
            pe.leave();
        });
    });
    assert_eq!(ended.status, 0, "{ended:?}");
    let [mismatch, title] = lines(&ended.stderr, "oshrun: ")[..] else { panic!("{}", ended.stderr) };
    let expected = "oshrun: PE 3 is in broadcast #41 on team 3.17 while PEs 0-2 are in sync #41: all PEs of a team must \
                    call the same collectives in the same order";
    assert_eq!((mismatch, title), (expected, "oshrun: the job may be stuck, its PEs are in:"));
    let rows = rows(&ended);
    assert_eq!((rows[0][0], rows[0][3], rows[0][5]), ("0-2", "sync #41", "on team 3.17"), "{rows:?}");
    assert_eq!((rows[1][0], rows[1][3], rows.len()), ("3", "broadcast #41", 2), "{rows:?}");
    assert_eq!(lines(&ended.stderr, "oxshmem: PE ").len(), 4, "{}", ended.stderr);
}

#[test]
fn a_job_that_runs_out_of_time_says_what_all_pes_were_in() {
    let _limit = time_limit(60);
    if !on_one_host("PEs of several hosts have a row a host, whatever they are in") {
        return;
    }
    let job = Job::new(test_name!(), 4).launcher_args(&["--timeout", "1.5"]);
    let ended = job.end(|| {
        main_of(|world| async move {
            let words = world.alloc_zeroed::<u64>(1).await?;
            if world.my_pe() == 3 {
                std::thread::sleep(Duration::from_secs(100));
            }
            words.at(0).wait_until(Cmp::Ne, 0).await.map(drop)
        });
    });
    assert_eq!(ended.status, 124, "{ended:?}");
    let report = "oshrun: the job was ended because it took longer than 1.5 s\n  PE";
    assert!(ended.stderr.contains(report), "{}", ended.stderr);
    let rows = rows(&ended);
    assert_eq!((rows[0][0], rows[0][3], rows.len()), ("0-2", "wait_until", 2), "{rows:?}");
    assert!(rows[0][5].starts_with("u64 at heap offset") && rows[0][5].ends_with("!= 0, now 0"), "{rows:?}");
    assert_eq!((rows[1][0], rows[1][3]), ("3", "computing"), "{rows:?}");
}

#[test]
fn the_message_about_a_killed_pe_says_what_every_other_was_in() {
    let _limit = time_limit(60);
    if !on_one_host("PEs of several hosts have a row a host, whatever they are in") {
        return;
    }
    let running = Job::new(test_name!(), 4).start(|| {
        main_of(|world| async move {
            let words = world.alloc_zeroed::<u64>(1).await?;
            match world.my_pe() {
                0 | 3 => words.at(0).wait_until(Cmp::Eq, 1).await.map(drop),
                _ => {
                    std::thread::sleep(Duration::from_secs(100));
                    Ok(())
                }
            }
        });
    });
    running.pes(4);
    std::thread::sleep(Duration::from_millis(500));
    let victim = running.pes(4).into_iter().find(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains("pe=1,")
    });
    let victim = victim.expect("PE 1");
    let started = Instant::now();
    kill(victim, libc::SIGKILL);
    let ended = running.end();
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    assert_eq!(ended.status, 137, "{ended:?}");
    let first = lines(&ended.stderr, "oshrun: ");
    assert!(first.len() == 1 && first[0].starts_with("oshrun: PE 1 (pid "), "{}", ended.stderr);
    let rows = rows(&ended);
    assert_eq!((rows[0][0], rows[0][3], rows.len()), ("0,3", "wait_until", 2), "{rows:?}");
    assert_eq!((rows[1][0], rows[1][3]), ("2", "computing"), "{rows:?}");
}

#[test]
fn the_message_about_a_global_exit_says_what_every_pe_was_in_unless_its_status_is_0() {
    let _limit = time_limit(60);
    for status in [0, 7] {
        let ended = Job::new(test_name!(), 2).env(&format!("STATUS={status}")).end(|| {
            main_of(|world| async move {
                let words = world.alloc_zeroed::<u64>(1).await?;
                if world.my_pe() == 1 {
                    std::thread::sleep(Duration::from_millis(500));
                    let status = std::env::var("STATUS").unwrap();
                    return world.global_exit(status.parse().unwrap()).await;
                }
                words.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
            });
        });
        assert_eq!(ended.status, status, "{ended:?}");
        if status == 0 {
            assert!(!ended.stderr.contains("oshrun"), "{}", ended.stderr);
        } else {
            let rows = rows(&ended);
            assert_eq!((rows[0][0], rows[0][3], rows.len()), ("0", "wait_until", 1), "{rows:?}");
        }
    }
}

#[test]
fn pes_that_have_left_or_ended_are_in_the_table_as_such() {
    let _limit = time_limit(60);
    let job = Job::new(test_name!(), 1).env("SHMEM_HANG_TIMEOUT=1").launcher_args(&["--timeout", "1"]);
    let ended = job.end(|| {
        main_of(|world| async move {
            world.finalize().await?;
            std::thread::sleep(Duration::from_secs(100));
            Ok(())
        });
    });
    assert_eq!(ended.status, 124, "{ended:?}");
    // No PE is in a call, so that there is nothing to report.
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn a_pe_that_waits_uses_no_processor_time_to_notice() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).env("SHMEM_HANG_TIMEOUT=1").run(|world| async move {
        let before = cpu_time();
        one_waits(world.clone(), 3500).await?;
        if world.my_pe() == 1 {
            println!("\n{} us, {} turns", (cpu_time() - before).as_micros(), turns("oxshmem-watchdo"));
        }
        Ok(())
    });
    let used = ended.stdout.lines().find_map(|line| line.strip_suffix(" turns")?.split_once(" us, "));
    let (time, turns) = used.unwrap_or_else(|| panic!("{ended:?}"));
    let (time, turns): (u64, u64) = (time.parse().unwrap(), turns.parse().unwrap());
    assert!(time < 60_000, "{time} us of processor time in 3.5 s");
    if is_played("how often a thread sleeps") {
        return;
    }
    // One at its start, one when the timeout is over, and then one each timeout; each may be
    // preceded by another.
    assert!((1..=10).contains(&turns), "the watchdog has slept {turns} times in 3.5 s");
}

/// Stops this process if it is that PE, as its environment says. Somebody else has it go on.
fn stop_if(pe: usize) {
    if std::env::var("OXSHMEM_JOB").is_ok_and(|job| job.contains(&format!("pe={pe},"))) {
        // Of this very thread, which gets no further: another one of the process might take it a
        // little later.
        // SAFETY: it stops the process, and nothing else.
        unsafe { libc::raise(libc::SIGSTOP) };
    }
}

#[test]
fn init_that_waits_for_a_pe_says_for_which_one_once_and_goes_on_when_it_comes() {
    let _limit = time_limit(60);
    // Before it takes part, and afterwards.
    for early in [true, false] {
        let job = Job::new(test_name!(), 4).env("SHMEM_HANG_TIMEOUT=1").env(&format!("EARLY={early}"));
        let running = job.start(|| {
            let early = std::env::var("EARLY").unwrap() == "true";
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                if early {
                    stop_if(2);
                }
                let launched = Launched::from_env().unwrap().unwrap();
                if !early {
                    stop_if(2);
                }
                let pe = Pe::join(Arc::new(launched), Settings::from_env().unwrap()).await.unwrap();
                pe.leave();
            });
        });
        let missing = running.pe(2);
        std::thread::sleep(Duration::from_millis(3500));
        kill(missing, libc::SIGCONT);
        let ended = running.end();
        assert_eq!(ended.status, 0, "{ended:?}");
        let [who, title] = lines(&ended.stderr, "oshrun: ")[..] else { panic!("{}", ended.stderr) };
        assert!(who.starts_with("oshrun: PEs 0,1,3 wait in init for PE 2 (pid "), "{who}");
        assert_eq!(title, "oshrun: the job may be stuck, its PEs are in:");
        assert_eq!(lines(&ended.stderr, "oxshmem: "), [""; 0], "{}", ended.stderr);
        if on_one_host("PEs of several hosts have a row a host, whatever they are in") {
            let rows = rows(&ended);
            let expected: &[_] = match early {
                true => &[("0,1,3", "init"), ("2", "not in init yet")],
                false => &[("0-3", "init")],
            };
            assert_eq!(rows.iter().map(|row| (row[0], row[3])).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn init_that_waits_says_nothing_with_a_timeout_of_0() {
    let _limit = time_limit(60);
    let running = Job::new(test_name!(), 2).env("SHMEM_HANG_TIMEOUT=0").start(|| {
        stop_if(1);
        main_of(|world| async move { world.finalize().await });
    });
    let missing = running.pe(1);
    std::thread::sleep(Duration::from_millis(1500));
    kill(missing, libc::SIGCONT);
    let ended = running.end();
    assert_eq!((ended.status, &*ended.stderr), (0, ""), "{ended:?}");
}
