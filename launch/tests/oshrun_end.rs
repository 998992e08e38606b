//! How jobs end: with which status and message, and that nothing is left of them.

mod common;

use std::time::{Duration, Instant};

use common::{Folder, kill, line, oshrun, script, split, start, start_script};

/// The PE's number, in a shell script.
const PE: &str = "pe=${OXSHMEM_JOB#*pe=}; pe=${pe%%,*}; ";

#[test]
fn programs_that_never_init_end_well() {
    let ended = oshrun(["-np", "2", "--", "echo", "hi"]);
    assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (0, "hi\nhi\n", ""));
}

#[test]
fn the_first_failure_is_the_status_and_ends_the_job() {
    let started = Instant::now();
    let ended = script(3, &format!("{PE} [ $pe = 1 ] && exit 3; exec sleep 100"));
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(ended.status, 3);
    assert_one_message(&ended.stderr, "oshrun: PE 1 (pid ", "exited with status 3; the job was ended\n");
}

#[test]
fn pes_that_ignore_sigterm_are_killed_within_a_second() {
    let started = Instant::now();
    let ended = script(3, &format!("{PE} trap '' TERM; [ $pe = 2 ] && exit 4; while :; do sleep 0.05; done"));
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(ended.status, 4);
    assert_one_message(&ended.stderr, "oshrun: PE 2 (pid ", "exited with status 4; the job was ended\n");
}

#[test]
fn a_pe_killed_by_a_signal_is_128_and_the_signal() {
    let ended = script(2, &format!("{PE} [ $pe = 1 ] && kill -9 $$; exec sleep 100"));
    assert_eq!(ended.status, 137);
    assert_one_message(
        &ended.stderr,
        "oshrun: PE 1 (pid ",
        "was killed by signal 9 (SIGKILL); the job was ended\n",
    );
    assert!(ended.stderr.contains(", host "));
}

#[test]
fn messages_name_simulated_hosts() {
    let host = oxshmem_job::host_name();
    let ended = line("-np 4 --fake-hosts 3+1 pe one-exits 3 7");
    assert_eq!(ended.status, 7);
    assert!(ended.stderr.contains(&format!(", host {host}-1) exited with status 7")), "{}", ended.stderr);
    // A PE that has not come to `init` yet is in the table too, with its host.
    let ended = line("-np 4 --fake-hosts 2:cyclic --timeout 2 pe hang 3");
    assert_eq!(ended.status, 124);
    let rows: Vec<Vec<_>> = ended.stderr.lines().map(|line| line.split_whitespace().collect()).collect();
    let rows: Vec<_> = rows.iter().map(|row| (row[0], row[1], row[3..].join(" "))).collect();
    let (first, second) = (format!("{host}-0"), format!("{host}-1"));
    assert_eq!(
        rows[2..],
        [
            ("0,2", first.as_str(), "init".to_owned()),
            ("1", second.as_str(), "init".to_owned()),
            ("3", second.as_str(), "not in init yet".to_owned()),
        ],
        "{}",
        ended.stderr
    );
}

#[test]
fn a_pe_killed_from_outside_takes_the_job_with_it() {
    let folder = Folder::new("kill-pe");
    let running = start_script(3, &format!("echo $$ >>{}; exec sleep 100", folder.path("pids")));
    let pids = folder.numbers("pids", 3);
    let started = Instant::now();
    kill(pids[1], libc::SIGKILL);
    let ended = running.end();
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(ended.status, 137);
    assert!(ended.stderr.contains(&format!("(pid {}, host ", pids[1])), "{}", ended.stderr);
}

#[test]
fn leaving_without_finalize_is_a_failure() {
    let ended = line("-np 3 pe one-exits 1 0");
    assert_eq!(ended.status, 1);
    assert_one_message(
        &ended.stderr,
        "oshrun: PE 1 (pid ",
        "exited with status 0 without finalize; the job was ended\n",
    );
}

#[test]
fn a_pe_that_ends_before_init_fails_those_that_wait_for_it() {
    let ended = line("-np 3 pe one-never-inits");
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.starts_with("oshrun: PE 0 (pid "), "{}", ended.stderr);
    assert!(ended.stderr.contains("exited with status 0 without init"), "{}", ended.stderr);
}

#[test]
fn global_exit_is_the_status_and_says_why() {
    let ended = line("-np 3 pe one-aborts 1 5 enough");
    assert_eq!((ended.status, ended.stderr.as_str()), (5, "oshrun: PE 1 called global_exit(5): enough\n"));
    // Another PE may learn of it, and say so, before it is ended.
    assert!(
        ended.stdout.lines().any(|line| line == "flushed late"),
        "the PE that called it ends by itself: {}",
        ended.stdout
    );
}

#[test]
fn global_exit_0_is_a_good_end() {
    let ended = line("-np 3 pe one-aborts 2 0 done");
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}

#[test]
fn what_pes_leave_running_is_killed() {
    let started = Instant::now();
    let ended = script(2, "trap '' TERM HUP; sleep 1000 & echo started");
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "started\nstarted\n"));
}

#[test]
fn nothing_survives_a_killed_launcher() {
    let running = &mut start(split("-np 3 pe stay"));
    // Three PEs, their children and grandchildren, the launcher and the guardian.
    common::eventually("eleven processes", || (running.left().len() == 11).then_some(()));
    running.signal(libc::SIGKILL);
    running.wait(Duration::from_secs(5));
    running.assert_nothing_left();
}

#[test]
fn nothing_survives_a_launcher_killed_at_any_time() {
    for delay in 0..20 {
        let running = &mut start_script(8, "sleep 1000 & sleep 1000");
        std::thread::sleep(Duration::from_micros(delay * 500));
        running.signal(libc::SIGKILL);
        running.wait(Duration::from_secs(5));
        running.assert_nothing_left();
    }
}

#[test]
fn nothing_survives_a_launcher_and_its_guardian_killed_at_once() {
    // PEs that compute, below a wrapper script and beside another child of it; some in a process
    // group of their own.
    let folder = Folder::new("both-killed");
    let pe = common::program();
    for (name, wrapper) in [("plain", ""), ("apart", "setsid "), ("own-group", "timeout 100 ")] {
        let file = folder.path(name);
        let script = format!("sleep 1000 & {wrapper}{} compute {file}; echo never", pe.display());
        let running = &mut start_script(3, &script);
        let guardian = running.guardian();
        folder.numbers(name, 3);
        for killed in [running.child.id(), guardian] {
            kill(killed, libc::SIGSTOP);
        }
        for killed in [guardian, running.child.id()] {
            kill(killed, libc::SIGKILL);
        }
        running.wait(Duration::from_secs(5));
        running.assert_nothing_left();
    }
}

#[test]
fn a_pe_that_has_finalized_may_outlive_its_job_in_a_group_of_its_own() {
    let folder = Folder::new("finalized");
    let script =
        format!("setsid {} finalized {} >/dev/null 2>&1 &", common::program().display(), folder.path("pid"));
    let running =
        start_script(1, &format!("{script} while ! [ -s {} ]; do sleep 0.01; done", folder.path("pid")));
    let [pid] = folder.numbers("pid", 1)[..] else { unreachable!() };
    let mut running = running;
    assert!(running.wait(Duration::from_secs(5)).success());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(running.left(), [pid]);
    kill(pid, libc::SIGKILL);
}

#[test]
fn pes_stop_and_go_on_with_the_launcher() {
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or(' ')
    };
    let folder = Folder::new("stop");
    let running = start_script(2, &format!("echo $$ >>{}; exec sleep 100", folder.path("pids")));
    let mut pids = folder.numbers("pids", 2);
    pids.push(running.child.id());
    let guardian = running.guardian();
    for _ in 0..2 {
        running.signal(libc::SIGTSTP);
        common::eventually("all stop", || pids.iter().all(|&pid| state(pid) == 'T').then_some(()));
        assert_ne!(state(guardian), 'T', "it is needed should the launcher be killed now");
        running.signal(libc::SIGCONT);
        common::eventually("all go on", || pids.iter().all(|&pid| state(pid) != 'T').then_some(()));
    }
    running.signal(libc::SIGTSTP);
    common::eventually("all stop", || pids.iter().all(|&pid| state(pid) == 'T').then_some(()));
    let mut running = running;
    running.signal(libc::SIGKILL);
    running.wait(Duration::from_secs(5));
    running.assert_nothing_left();
}

#[test]
fn a_killed_guardian_ends_the_job() {
    let running = start(split("-np 2 pe stay"));
    common::eventually("eight processes", || (running.left().len() == 8).then_some(()));
    kill(running.guardian(), libc::SIGKILL);
    let ended = running.end();
    assert_eq!(ended.status, 137);
    assert_one_message(&ended.stderr, "oshrun: the guardian process (pid ", "the job was ended\n");
}

/// Whether this process, and what it starts, ignores a signal.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("our own");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("there on Linux");
    u64::from_str_radix(ignored.trim(), 16).expect("a mask") >> (signal - 1) & 1 == 1
}

#[test]
fn interrupts_reach_every_pe() {
    for (signal, name) in [(libc::SIGINT, "INT"), (libc::SIGTERM, "TERM"), (libc::SIGHUP, "HUP")] {
        if ignores(signal) {
            eprintln!("skipped: this test runs with SIG{name} ignored, as under nohup, and so would oshrun");
            continue;
        }
        let folder = Folder::new(&format!("forward-{name}"));
        let on_signal =
            format!("trap 'echo heard {name}; exit 0' {name}; echo $$ >>{};", folder.path("pids"));
        let running = start_script(3, &format!("{on_signal} while :; do sleep 0.02; done"));
        folder.numbers("pids", 3);
        running.signal(signal);
        let ended = running.end();
        // Some shells say that their `sleep` was terminated, but we have nothing to say.
        assert!(ended.status == 0 && !ended.stderr.contains("oshrun"), "{}", ended.stderr);
        assert_eq!(ended.stdout, format!("heard {name}\n").repeat(3));
    }
}

#[test]
fn usr2_reaches_every_pe_and_usr1_prints_the_table_and_both_leave_the_job_running() {
    let folder = Folder::new("usr");
    let on_signal = "trap 'echo one' USR1; trap 'echo two; exit 0' USR2;";
    let running = start_script(
        2,
        &format!("{on_signal} echo $$ >>{}; while :; do sleep 0.02; done", folder.path("pids")),
    );
    let pids = folder.numbers("pids", 2);
    running.signal(libc::SIGUSR1);
    std::thread::sleep(Duration::from_millis(200));
    running.signal(libc::SIGUSR2);
    let ended = running.end();
    assert_eq!(ended.status, 0);
    assert_eq!((ended.stdout.matches("one").count(), ended.stdout.matches("two").count()), (0, 2));
    let [title, head, row] = ended.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", ended.stderr) };
    assert_eq!(title, "oshrun: the PEs are in:");
    assert!(head.starts_with("  PE ") && row.starts_with("  0,1 "), "{}", ended.stderr);
    assert!(row.ends_with("not in init yet") && row.contains(&pids[0].to_string()), "{row}");
}

#[test]
fn an_interrupt_that_pes_do_not_handle_is_the_status() {
    let folder = Folder::new("interrupt");
    let running = start_script(3, &format!("echo $$ >>{}; exec sleep 100", folder.path("pids")));
    folder.numbers("pids", 3);
    running.signal(libc::SIGINT);
    let ended = running.end();
    assert_eq!(
        (ended.status, ended.stderr.as_str()),
        (130, "oshrun: the job was ended by signal 2 (SIGINT)\n")
    );
}

#[test]
fn a_second_interrupt_kills() {
    let folder = Folder::new("second");
    let script = format!("trap '' INT TERM; echo $$ >>{}; while :; do sleep 0.02; done", folder.path("pids"));
    let running = start_script(2, &script);
    folder.numbers("pids", 2);
    running.signal(libc::SIGINT);
    std::thread::sleep(Duration::from_millis(100));
    let started = Instant::now();
    running.signal(libc::SIGINT);
    let ended = running.end();
    let expected = "oshrun: the job was ended by signal 2 (SIGINT)\n";
    assert_eq!((ended.status, ended.stderr.as_str()), (137, expected));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn an_interrupt_that_is_ignored_kills_after_five_seconds() {
    let folder = Folder::new("ignored");
    let script = format!("trap '' INT TERM; echo $$ >>{}; while :; do sleep 0.02; done", folder.path("pids"));
    let running = start_script(1, &script);
    folder.numbers("pids", 1);
    let started = Instant::now();
    running.signal(libc::SIGTERM);
    let ended = running.end();
    let expected = "oshrun: PE 0 did not end within 5 s of signal 15 (SIGTERM), and was killed\n";
    assert_eq!((ended.status, ended.stderr.as_str()), (137, expected));
    assert!((4..7).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[test]
fn a_timeout_ends_the_job_with_status_124() {
    let started = Instant::now();
    let ended = oshrun(["-np", "2", "--timeout", "0.3", "sleep", "100"]);
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    let expected = "oshrun: the job was ended because it took longer than 0.3 s\n";
    assert_eq!((ended.status, ended.stderr.as_str()), (124, expected));
}

#[test]
fn a_timeout_names_the_pes_that_have_not_come_to_init() {
    let program = common::program();
    let script = format!("{PE} [ $pe = 1 ] && exec sleep 100; exec {} one-exits 9 0", program.display());
    let ended = oshrun(["-np", "3", "--fake-hosts", "1", "--timeout", "1.5", "/bin/sh", "-c", &script]);
    assert_eq!(ended.status, 124);
    let cells = |row: &'_ str| row.split("  ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows: Vec<_> = ended.stderr.lines().skip(2).map(cells).collect();
    let says = |row: usize, text: &str| rows[row].iter().any(|cell| cell == text);
    assert_eq!((rows.len(), &*rows[0][1], &*rows[1][1]), (2, "0,2", "1"), "{}", ended.stderr);
    assert!(says(0, "init") && says(1, "not in init yet"), "{}", ended.stderr);
}

#[test]
fn starting_a_job_costs_little() {
    let quickest = (0..10).map(|_| {
        let started = Instant::now();
        assert_eq!(oshrun(["-np", "2", "true"]).status, 0);
        started.elapsed()
    });
    let quickest = quickest.min().expect("ten of them");
    assert!(quickest < Duration::from_millis(50), "{quickest:?}");
}

fn assert_one_message(stderr: &str, start: &str, end: &str) {
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with(start) && stderr.ends_with(end), "{stderr}");
}
