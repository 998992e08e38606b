//! Jobs on several machines, which are all this one: the launch agent starts each `oshrun --agent`
//! here.

mod common;

use std::{
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use common::{Ended, Folder, Running, eventually, feed, kill, oshrun, program, start, start_with};

/// A launch agent that starts its program here, with the host in a variable.
const LOCAL: &str = "env OSHRUN_TEST_HOST={host}";

/// The PE's number, in a shell script.
const PE: &str = "pe=${OXSHMEM_JOB#*pe=}; pe=${pe%%,*}; ";

fn arguments<'a>(hosts: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["-H", hosts, "--launch-agent", LOCAL], rest].concat()
}

/// Runs `oshrun` on these hosts, with more arguments.
fn on(hosts: &str, rest: &[&str]) -> Ended {
    oshrun(arguments(hosts, rest))
}

/// Runs the test program on two PEs on each of two hosts.
fn pe(behaviour: &str) -> Ended {
    let program = program();
    let program = program.to_str().expect("a readable path");
    on("a:2,b:2", &[&[program], &*behaviour.split(' ').collect::<Vec<_>>()].concat())
}

/// Starts a shell script on two PEs on each of two hosts.
fn start_script(script: &str) -> Running {
    start(arguments("a:2,b:2", &["/bin/sh", "-c", script]))
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// The agent of a host.
fn agent(running: &Running, host: &str) -> u32 {
    let is_agent = |pid: &u32| {
        let read = |what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        let has =
            |what: &str, word: &str| read(what).split(|&byte| byte == 0).any(|it| it == word.as_bytes());
        has("cmdline", "--agent")
            && has("environ", &format!("OSHRUN_TEST_HOST={host}"))
            && read("comm") != b"osh-guardian\n"
    };
    eventually("an agent", || running.left().into_iter().find(is_agent))
}

#[test]
fn pes_of_all_hosts_start_and_print() {
    let script = "echo out; echo err >&2";
    let ended = on("a:2,b:2", &["--tag-output", "/bin/sh", "-c", script]);
    assert_eq!((ended.status, sorted(&ended.stdout)), (0, vec!["[0] out", "[1] out", "[2] out", "[3] out"]));
    assert_eq!(sorted(&ended.stderr), ["[0] err", "[1] err", "[2] err", "[3] err"]);
}

#[test]
fn pes_know_their_hosts_and_meet() {
    let ended = pe("where");
    assert_eq!(sorted(&ended.stdout), ["0 a [0, 1]", "1 a [0, 1]", "2 b [2, 3]", "3 b [2, 3]"], "{ended:?}");
    let program = program();
    let program = program.to_str().expect("a readable path");
    for hosts in ["a:1", "a:3", "a:2,b:2", "a,b:3", "a,b,c:2"] {
        let ended = on(hosts, &[program, "suite"]);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{hosts}");
    }
    for behaviour in ["meet 100000", "twice"] {
        let ended = pe(behaviour);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{behaviour}");
    }
}

#[test]
fn fewer_pes_than_slots_fill_hosts_in_order() {
    let folder = Folder::new("hostfile");
    std::fs::write(folder.path("hosts"), "# two\na slots=2\nme@b:2\n").expect("written");
    let program = program();
    let file = folder.path("hosts");
    let args =
        ["-np", "3", "--hostfile", &file, "--launch-agent", LOCAL, program.to_str().expect("readable")];
    let ended = oshrun([&args[..], &["where"]].concat());
    assert_eq!(sorted(&ended.stdout), ["0 a [0, 1]", "1 a [0, 1]", "2 b [2]"], "{ended:?}");
}

#[test]
fn bind_to_core_counts_the_cpus_of_each_host_from_its_first_pe() {
    let script = "grep Cpus_allowed_list /proc/self/status";
    let ended = on("a:2,b:2", &["--tag-output", "--bind-to", "core", "/bin/sh", "-c", script]);
    let cpus: Vec<_> =
        sorted(&ended.stdout).into_iter().filter_map(|line| line.rsplit('\t').next()).collect();
    assert!(cpus.len() == 4 && cpus.iter().all(|cpu| cpu.parse::<usize>().is_ok()), "{ended:?}");
    assert_eq!(cpus[..2], cpus[2..]);
    let several = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    assert_eq!(cpus[0] != cpus[1], several, "{cpus:?}");
}

#[test]
fn standard_input_is_that_of_pe_0() {
    let text = "a line\n".repeat(100_000);
    let mut running =
        start_with(arguments("a:2,b:2", &["--tag-output", "/bin/sh", "-c", "wc -c"]), Stdio::piped());
    feed(&mut running, &text);
    drop(running.child.stdin.take());
    let ended = running.end();
    assert_eq!(
        sorted(&ended.stdout),
        [format!("[0] {}", text.len()), "[1] 0".into(), "[2] 0".into(), "[3] 0".into()]
    );
    for (stdin, counts) in [("all", ["[0] 6", "[1] 6"]), ("none", ["[0] 0", "[1] 0"])] {
        let args = arguments("a,b", &["--tag-output", "--stdin", stdin, "/bin/sh", "-c", "wc -c"]);
        let mut running = start_with(args, Stdio::piped());
        feed(&mut running, "a line");
        drop(running.child.stdin.take());
        assert_eq!(sorted(&running.end().stdout), counts, "{stdin}");
    }
    // A PE that reads no more does not keep the job.
    let mut running = start_with(arguments("a,b", &["/bin/sh", "-c", "exec <&-; sleep 0.3"]), Stdio::piped());
    let mut input = running.child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || while input.write_all(&[b'x'; 4096]).is_ok() {});
    let ended = running.end();
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    writer.join().expect("its pipe is closed");
}

#[test]
fn lines_are_never_broken() {
    let program = program();
    let ended = on("a:4,b:4", &[program.to_str().expect("readable"), "lines", "200", "5000"]);
    assert_eq!((ended.status, ended.stdout.len()), (0, 8 * 200 * 5001));
    for line in ended.stdout.lines() {
        assert!(line.len() == 5000 && line.bytes().all(|byte| byte == line.as_bytes()[0]), "a broken line");
    }
}

#[test]
fn a_failing_pe_is_named_with_its_host_and_ends_all() {
    let started = Instant::now();
    let ended = start_script(&format!("{PE} [ $pe = 3 ] && exit 7; exec sleep 100")).end();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_one_message(
        &ended,
        7,
        "oshrun: PE 3 (pid ",
        ", host b) exited with status 7; the job was ended\n",
    );
    let ended =
        start_script(&format!("{PE} [ $pe = 0 ] && kill -9 $$; trap '' TERM; sleep 100; sleep 100")).end();
    assert_one_message(
        &ended,
        137,
        "oshrun: PE 0 (pid ",
        ", host a) was killed by signal 9 (SIGKILL); the job was ended\n",
    );
    let ended = pe("one-exits 2 0");
    assert_one_message(
        &ended,
        1,
        "oshrun: PE 2 (pid ",
        "exited with status 0 without finalize; the job was ended\n",
    );
    let ended = pe("one-never-inits");
    assert!(ended.stderr.contains("exited with status 0 without init"), "{ended:?}");
}

#[test]
fn global_exit_ends_all_with_its_status() {
    let ended = pe("one-aborts 3 5 enough");
    assert_eq!((ended.status, ended.stderr.as_str()), (5, "oshrun: PE 3 called global_exit(5): enough\n"));
    assert!(ended.stdout.lines().any(|line| line == "flushed late"), "{}", ended.stdout);
    let ended = pe("one-aborts 1 0 done");
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let ended = pe("outlive 3");
    assert_eq!(ended.stdout, "PE 0 ended the job with global_exit(3)\n".repeat(4));
    let ended = pe("outlive 0");
    assert_eq!(ended.stdout, "PE 0 is lost: exited with status 0 without finalize\n".repeat(3));
}

#[test]
fn signals_reach_all_pes() {
    let folder = Folder::new("machines-signals");
    let script =
        |action: &str| format!("{action} echo $$ >>{}; while :; do sleep 0.02; done", folder.path("pids"));
    for (signal, name) in [(libc::SIGINT, "INT"), (libc::SIGTERM, "TERM"), (libc::SIGUSR2, "USR2")] {
        let running = start_script(&script(&format!("trap 'echo got {name}; exit 0' {name};")));
        folder.numbers("pids", 4);
        if signal == libc::SIGUSR2 {
            running.signal(libc::SIGUSR1);
            std::thread::sleep(Duration::from_millis(300));
        }
        running.signal(signal);
        let ended = running.end();
        assert_eq!((ended.status, ended.stdout), (0, format!("got {name}\n").repeat(4)), "{}", ended.stderr);
        if signal == libc::SIGUSR2 {
            let rows: Vec<_> = ended.stderr.lines().filter(|line| line.contains("not in init yet")).collect();
            assert!(rows[0].starts_with("  0,1  a ") && rows[1].starts_with("  2,3  b "), "{}", ended.stderr);
        }
        std::fs::remove_file(folder.path("pids")).expect("there");
    }
    let running = start_script(&script(""));
    folder.numbers("pids", 4);
    running.signal(libc::SIGTERM);
    let ended = running.end();
    assert_eq!((ended.status, &*ended.stderr), (143, "oshrun: the job was ended by signal 15 (SIGTERM)\n"));
}

#[test]
fn a_timeout_has_all_hosts_in_its_table() {
    let program = program();
    let program = program.to_str().expect("readable");
    let ended = on("a:2,b:2", &["--timeout", "2", program, "hang", "3"]);
    assert_eq!(ended.status, 124);
    let rows: Vec<Vec<_>> = ended.stderr.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(
        ended.stderr.starts_with("oshrun: the job was ended because it took longer than 2 s\n"),
        "{ended:?}"
    );
    let rows: Vec<_> = rows[2..].iter().map(|row| (row[0], row[1], row[3..].join(" "))).collect();
    let expected = [("0,1", "a", "init"), ("2", "b", "init"), ("3", "b", "not in init yet")];
    assert_eq!(rows, expected.map(|(pes, host, what)| (pes, host, what.to_owned())));
    // What a PE shows in the memory of its host is in the table too.
    let ended = on("a:2,b:2", &["--timeout", "3", program, "busy"]);
    assert_eq!(ended.stderr.matches("barrier #7").count(), 2, "{}", ended.stderr);
}

#[test]
fn a_pe_that_does_not_come_to_init_is_named_with_its_host() {
    let script = format!("{PE} [ $pe = 3 ] && exec sleep 100; exec {} busy", program().display());
    let options = ["-x", "SHMEM_HANG_TIMEOUT=1", "--timeout", "3", "/bin/sh", "-c", &script];
    let ended = on("a:2,b:2", &options);
    let first = ended.stderr.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("oshrun: PEs 0-2 wait in init for PE 3 (pid ") && first.ends_with(" on host b)"),
        "{ended:?}"
    );
}

#[test]
fn pes_start_in_the_folder_and_with_the_variables_that_are_asked_for() {
    let folder = Folder::new("machines-wdir");
    std::fs::copy("/bin/pwd", folder.path("where")).expect("copied");
    let ended = on("a,b", &["--wdir", &folder.path(""), "./where"]);
    let path = folder.path("");
    let line = path.trim_end_matches('/');
    assert_eq!((ended.status, ended.stdout), (0, format!("{line}\n{line}\n")), "{}", ended.stderr);
    let ended = on("a,b", &["--wdir", "/no/such", "true"]);
    assert_one_message(&ended, 2, "oshrun: host ", "--wdir names another\n");
    // Without being asked, it is the one that oshrun is in.
    let here = std::env::current_dir().expect("there is one");
    assert_eq!(on("a", &["pwd"]).stdout, format!("{}\n", here.display()));
    let ended = on("a,b", &["-x", "A=1=2", "-x", "B=", "/bin/sh", "-c", "echo \"$A|$B|\""]);
    assert_eq!(ended.stdout, "1=2||\n".repeat(2));
    // A launch agent that passes nothing on, as ssh: -x and settings reach PEs in spite of that.
    let mut job = Command::new(env!("CARGO_BIN_EXE_oshrun"));
    job.args(["-H", "a", "--launch-agent", "env -i PATH=/bin:/usr/bin A={host}", "-x", "B", "-x", "UNSET"]);
    job.args(["/bin/sh", "-c", "echo $A,$B,$C,$SHMEM_DEBUG"]).stdin(Stdio::null());
    let output = job.envs([("B", "2"), ("C", "3"), ("SHMEM_DEBUG", "x")]).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a,2,,x\n");
}

#[test]
fn what_pes_have_recorded_is_collected() {
    let folder = Folder::new("machines-trace");
    let script =
        format!("{PE} test $pe = 1 || head -c 700000 /dev/urandom | tee $SHMEM_TRACE/pe-$pe.trace | cksum");
    let ended = on("a:2,b:2", &["--trace", &folder.path(""), "/bin/sh", "-c", &script]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let mut sums = Vec::new();
    for pe in [0, 2, 3] {
        let file = folder.path(&format!("pe-{pe}.trace"));
        // It was written anew, by oshrun.
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("there").permissions());
        assert_eq!(mode & 0o777, 0o600);
        let input = std::fs::File::open(&file).expect("there");
        let sum = Command::new("cksum").stdin(input).output().expect("it runs").stdout;
        sums.push(String::from_utf8(sum).expect("text").trim().to_owned());
    }
    sums.sort();
    assert_eq!(sorted(&ended.stdout), sums);
    assert!(ended.stderr.contains("pe-0.trace is left out: it is no recording"), "{}", ended.stderr);
}

#[test]
fn what_cannot_start_is_one_line_with_the_host() {
    let refused = |launch: &str, program: &str, about: &str| {
        let ended = oshrun(["-H", "a,b", "--launch-agent", launch, program]);
        assert!(ended.status == 2 && ended.stdout.is_empty(), "{ended:?}");
        assert!(ended.stderr.starts_with("oshrun: ") && ended.stderr.lines().count() == 1, "{ended:?}");
        assert!(ended.stderr.contains(about), "{about}: {ended:?}");
    };
    refused(LOCAL, "no-such-program", ": cannot start \"no-such-program\": there is no such program in PATH");
    refused("false {host}", "true", ": its launch agent exited with status 1");
    refused("yes -- {host}", "true", ": what was started there is no oshrun");
    let other = "sh -c 'echo oxshmem-agent 0.0.1; sleep 9' {host}";
    refused(other, "true", "its oshrun is of version 0.0.1, and this one of ");
    let garbage =
        format!("sh -c 'echo oxshmem-agent {}; echo xxxxxxxx; sleep 9' {{host}}", env!("CARGO_PKG_VERSION"));
    refused(&garbage, "true", "its agent sent what no oshrun of this version sends");
}

#[test]
fn without_a_launch_agent_it_is_ssh() {
    let folder = Folder::new("machines-ssh");
    // What it does is what a login does: the shell gets all words in one.
    let script = format!("#!/bin/sh\necho \"$@\" >>{}\nshift 5\nexec sh -c \"$*\"\n", folder.path("lines"));
    std::fs::write(folder.path("ssh"), script).expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path("ssh"), executable).expect("ours");
    let path = format!("{}:{}", folder.path(""), std::env::var("PATH").unwrap_or_default());
    let mut job = Command::new(env!("CARGO_BIN_EXE_oshrun"));
    job.args(["-H", "me@a,b:2", "-np", "2", "echo", "x"]).env("PATH", path).stdin(Stdio::null());
    let output = job.output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "x\nx\n", "{output:?}");
    let lines = std::fs::read_to_string(folder.path("lines")).expect("there");
    let line = |host: &str| format!("-x -T -o BatchMode=yes {host} {} --agent", env!("CARGO_BIN_EXE_oshrun"));
    assert_eq!(sorted(&lines), [line("b"), line("me@a")]);
}

#[test]
fn a_login_that_prints_something_is_no_hindrance() {
    let launch = "sh -c 'echo Welcome to $1; shift; exec \"$@\"' sh";
    let ended = oshrun(["-H", "a,b", "--launch-agent", launch, "echo", "x"]);
    assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (0, "x\nx\n", ""));
}

#[test]
fn a_killed_agent_ends_all_within_3_s() {
    for host in ["a", "b"] {
        let running = start(arguments("a:2,b:2", &[program().to_str().expect("readable"), "stay"]));
        // Four PEs, their children and grandchildren, three of oshrun and their guardians.
        eventually("eighteen processes", || (running.left().len() == 18).then_some(()));
        let started = Instant::now();
        kill(agent(&running, host), libc::SIGKILL);
        let ended = running.end();
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        let first = format!(
            "oshrun: host {host} is lost: its launch agent was killed by signal 9 (SIGKILL); the job was ended"
        );
        assert_eq!((ended.status, ended.stderr.lines().next()), (1, Some(first.as_str())), "{ended:?}");
    }
}

#[test]
fn a_stopped_agent_is_a_lost_host_and_leaves_nothing() {
    let running = start(arguments("a:2,b:2", &[program().to_str().expect("readable"), "stay"]));
    eventually("eighteen processes", || (running.left().len() == 18).then_some(()));
    let started = Instant::now();
    kill(agent(&running, "b"), libc::SIGSTOP);
    let ended = running.end();
    let taken = started.elapsed();
    assert!(taken > Duration::from_millis(1500) && taken < Duration::from_secs(5), "{taken:?}");
    let first = "oshrun: host b is lost: there was no sign of life for 2 s; the job was ended";
    assert_eq!((ended.status, ended.stderr.lines().next()), (1, Some(first)), "{ended:?}");
}

#[test]
fn an_agent_that_stands_still_is_ended_by_its_guardian() {
    // Where the connection ends, and nothing else reaches the machine.
    let folder = Folder::new("machines-still");
    let launch = format!(
        "sh -c 'exec 3<&0; setsid env OSHRUN_TEST_HOST=$1 $2 $3 <&3 3<&- & echo $! >>{}; exec 3<&-; wait' sh",
        folder.path("agents")
    );
    let args = ["-H", "a:2", "--launch-agent", &launch, program().to_str().expect("readable"), "stay"]
        .map(str::to_owned);
    let mut running = start(args);
    eventually("PEs and their children", || (running.left().len() >= 10).then_some(()));
    kill(agent(&running, "a"), libc::SIGSTOP);
    running.signal(libc::SIGKILL);
    running.wait(Duration::from_secs(5));
    eventually("an end of all", || running.left().is_empty().then_some(()));
}

#[test]
fn nothing_survives_a_killed_oshrun() {
    let running = &mut start(arguments("a:2,b:2", &[program().to_str().expect("readable"), "stay"]));
    eventually("eighteen processes", || (running.left().len() == 18).then_some(()));
    running.signal(libc::SIGKILL);
    running.wait(Duration::from_secs(5));
    running.assert_nothing_left();
    for delay in 0..10 {
        let running = &mut start_script("sleep 1000 & sleep 1000");
        std::thread::sleep(Duration::from_millis(delay * 8));
        running.signal(libc::SIGKILL);
        running.wait(Duration::from_secs(5));
        running.assert_nothing_left();
    }
}

#[test]
fn a_stopped_oshrun_ends_what_it_has_on_other_machines() {
    let running = &mut start_script("exec sleep 1000");
    agent(running, "a");
    agent(running, "b");
    std::thread::sleep(Duration::from_millis(500));
    running.signal(libc::SIGSTOP);
    // Those that wait to be waited for do not count.
    eventually("an end of all but oshrun and its guardian", || (running.left().len() == 2).then_some(()));
    running.signal(libc::SIGKILL);
    running.wait(Duration::from_secs(5));
    running.assert_nothing_left();
}

#[test]
fn all_stop_with_oshrun_for_as_long_as_it_does() {
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or(' ')
    };
    let folder = Folder::new("machines-stop");
    let running = start_script(&format!("echo $$ >>{}; exec sleep 100", folder.path("pids")));
    let mut pids = folder.numbers("pids", 4);
    pids.push(running.child.id());
    running.signal(libc::SIGTSTP);
    eventually("all stop", || pids.iter().all(|&pid| state(pid) == 'T').then_some(()));
    // Longer than a host may be silent.
    std::thread::sleep(Duration::from_millis(3500));
    running.signal(libc::SIGCONT);
    eventually("all go on", || pids.iter().all(|&pid| state(pid) == 'S').then_some(()));
    std::thread::sleep(Duration::from_millis(500));
    running.signal(libc::SIGTERM);
    let ended = running.end();
    assert_eq!((ended.status, &*ended.stderr), (143, "oshrun: the job was ended by signal 15 (SIGTERM)\n"));
}

#[test]
fn a_killed_guardian_of_an_agent_ends_the_job() {
    let running = start_script("exec sleep 1000");
    let agent = agent(&running, "b");
    let is_its_guardian = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains(&format!("(osh-guardian) S {agent} "))
    };
    let guardian = eventually("its guardian", || running.left().into_iter().find(is_its_guardian));
    std::thread::sleep(Duration::from_millis(200));
    kill(guardian, libc::SIGKILL);
    let ended = running.end();
    let start = format!("oshrun: host b is lost: its guardian process (pid {guardian}) was killed by");
    assert!(ended.status == 1 && ended.stderr.starts_with(&start), "{ended:?}");
}

#[test]
fn a_reader_that_goes_away_ends_the_job() {
    let job = format!(
        "{} -H a:2,b:2 --launch-agent '{LOCAL}' -- yes | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_oshrun")
    );
    let output = Command::new("/bin/bash").args(["-c", &job]).stdin(Stdio::null()).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "141\n", "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn an_agent_without_a_job_is_one_line_or_nothing() {
    let with_input = |input: &[u8]| {
        let mut agent = start_with(["--agent"], Stdio::piped());
        agent.child.stdin.as_mut().expect("piped").write_all(input).expect("read");
        drop(agent.child.stdin.take());
        agent.end()
    };
    let preamble = format!("oxshmem-agent {}\n", env!("CARGO_PKG_VERSION"));
    let ended = with_input(b"");
    assert_eq!((ended.status, &*ended.stdout, &*ended.stderr), (0, &*preamble, ""));
    for garbage in [&b"\x01\0\0\0\xff"[..], b"hi there, agent", b"\x02\0\0\0\x01\x01"] {
        let ended = with_input(garbage);
        assert_eq!((ended.status, ended.stderr.lines().count()), (2, 1), "{ended:?}");
        assert!(ended.stderr.contains("--agent is for another oshrun"), "{ended:?}");
    }
}

fn assert_one_message(ended: &Ended, status: i32, start: &str, end: &str) {
    assert_eq!((ended.status, ended.stderr.lines().count()), (status, 1), "{ended:?}");
    assert!(ended.stderr.starts_with(start) && ended.stderr.ends_with(end), "{ended:?}");
}
