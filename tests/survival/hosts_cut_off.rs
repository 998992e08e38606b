//! Hosts that are cut off from `oshrun`, from other hosts, or both, for a while and for good, while
//! their PEs write to others without end.
//!
//! Between `oshrun` and each agent are two processes that pass on what they read, one for each
//! direction. One that is stopped is a cut, which ends when it goes on: what it has not passed on
//! comes late. PEs reach each other over the loopback interface, which no such cut touches, or over
//! a cable between two network namespaces.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use oxshmem::{Error, Result, prelude::*};
use rustix::process::{Pid, Signal as Sent, kill_process};

use crate::{
    common::{Ended, Job, test_name, time_limit},
    go_on,
    namespaces::{Namespaces, ip},
};

/// In seconds. A host is lost half as much later again, which its guardian has for its part: enough
/// on a machine that does something else, too.
const LEASE: &str = "4";
const SILENT: &str = "there was no sign of life for 4 s";
/// For how long a survivor's memory is watched after a loss.
const WATCHED: Duration = Duration::from_secs(3);

const FOLDER: &str = "OXSHMEM_TEST_FOLDER";
const CUT: &str = "OXSHMEM_TEST_CUT";

/// What is behind the agents of both hosts.
struct Relays {
    folder: PathBuf,
    namespaces: Option<Namespaces>,
}

fn is_pe() -> bool {
    std::env::var_os("OXSHMEM_TEST_BODY").is_some()
}

impl Relays {
    fn new(namespaces: Option<Namespaces>) -> Self {
        if let Some(folder) = std::env::var_os(FOLDER).filter(|_| is_pe()) {
            return Self { folder: folder.into(), namespaces: None };
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(format!("oxshmem-cut-{process}-{number}"));
        fs::create_dir_all(&folder).expect("a folder");
        // In a namespace, with the end of the cable as the network.
        let enter = namespaces.as_ref().map_or(String::new(), |Namespaces { names: [a, b] }| {
            format!(
                "[ $OXSHMEM_TEST_HOST = a ] && net={a} || net={b}\nexport SHMEM_NET_INTERFACES=$net\nset -- ip netns exec $net \"$@\"\n"
            )
        });
        let relay = |way: &str| {
            format!("sh -c 'echo $$ >\"$0\"; exec cat' {}/{way}-$OXSHMEM_TEST_HOST", folder.display())
        };
        let script = format!(
            "#!/bin/sh\nexport OXSHMEM_TEST_HOST=$1\nshift\n{enter}{} | \"$@\" | {}\n",
            relay("to"),
            relay("from")
        );
        let path = folder.join("launch");
        fs::write(&path, script).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        Self { folder, namespaces }
    }

    /// Two PEs on each host.
    fn job(&self, test: &'static str, cut: &str) -> Job {
        self.job_with(test, cut, LEASE)
    }

    fn job_with(&self, test: &'static str, cut: &str, lease: &str) -> Job {
        let launch = self.folder.join("launch");
        let launch = launch.to_str().expect("a readable path");
        let args = ["-H", "a:2,b:2", "--lease", lease, "--launch-agent", launch];
        let job = Job::new(test, 4).launcher_args(&args);
        let job = job.env(&format!("{FOLDER}={}", self.folder.display())).env(&format!("{CUT}={cut}"));
        match &self.namespaces {
            None => job.env("SHMEM_NET_INTERFACES=lo"),
            // Which are these, for a PE that cuts the cable.
            Some(Namespaces { names: [a, b] }) => job.env(&format!("OXSHMEM_TEST_NETS={a} {b}")),
        }
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        if !is_pe() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn send(pid: u32, signal: Sent) {
    let pid = Pid::from_raw(pid as i32).expect("a process");
    // It fails when that has ended.
    let _ = kill_process(pid, signal);
}

/// The relays of host b that this cut stops.
fn relays(cut: &str) -> Vec<u32> {
    let folder = std::env::var(FOLDER).expect("it is set");
    let ways: &[&str] = if cut == "both" { &["to", "from"] } else { &[cut] };
    let pid = |way: &&str| {
        let text = fs::read_to_string(Path::new(&folder).join(format!("{way}-b"))).expect("it has started");
        text.trim().parse().expect("a number")
    };
    ways.iter().map(pid).collect()
}

/// All processes of host b: its PEs, and what attends them.
fn processes() -> [Vec<u32>; 2] {
    let variable = |name: &str| format!("{name}={}", std::env::var(name).unwrap_or_default());
    let mine = variable("OXSHMEM_TEST_MARK");
    let (mut pes, mut others) = (Vec::new(), Vec::new());
    for entry in fs::read_dir("/proc").expect("procfs").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let has = |wanted: &[u8]| environment.split(|&byte| byte == 0).any(|it| it.starts_with(wanted));
        if has(mine.as_bytes()) && has(b"OXSHMEM_TEST_HOST=b") {
            if has(b"OXSHMEM_JOB=") { pes.push(pid) } else { others.push(pid) }
        }
    }
    [pes, others]
}

/// The state of a process; none if there is none any more.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let state = stat.rsplit(") ").next()?.chars().next()?;
    (!"ZX".contains(state)).then_some(state)
}

/// The PEs of host b write to those of host a without end; PE 0 cuts host b off.
async fn writes_until_it_is_lost(world: World) -> Result<()> {
    let (me, ctx) = (world.my_pe(), world.context());
    let cut = std::env::var(CUT).expect("it is set");
    let words = world.alloc_zeroed::<u64>(4).await?;
    let pids = world.alloc_zeroed::<u64>(4).await?;
    for pe in 0..4 {
        ctx.put(pids.slice(me..me + 1), [u64::from(std::process::id())], pe).await?;
    }
    world.barrier_all().await?;
    if me >= 2 {
        for value in 1.. {
            for pe in 0..2 {
                let _ = ctx.put(words.slice(me..me + 1), [value], pe).await;
            }
            if value % 16 == 0 {
                tokio::task::yield_now().await;
            }
        }
    }
    for pe in [2, 3] {
        words.at(pe).wait_until(Cmp::Ge, 100).await?;
    }
    let stops = cut == "stop";
    let stopped = match (me, stops) {
        (0, true) => processes(),
        (0, false) => [relays(cut.trim_end_matches("+cable")), Vec::new()],
        _ => Default::default(),
    };
    let all = || stopped.iter().flatten().copied();
    all().for_each(|pid| send(pid, Sent::STOP));
    let cable = std::env::var("OXSHMEM_TEST_NETS").ok().filter(|_| me == 0 && cut.ends_with("+cable"));
    let cable = cable.as_deref().and_then(|nets| nets.split(' ').next());
    let plug = |state: &str| cable.is_none_or(|end| ip(&format!("-n {end} link set {end} {state}")));
    assert!(plug("down"));
    let mut losses = world.losses();
    let mut last = Vec::new();
    for (pe, view) in [(2, 1), (3, 2)] {
        let loss = losses.next().await;
        last.push(words.at(pe).load());
        // Stopped with all of its host, which PE 0 has go on when it knows of the losses, or ended.
        if me == 0 || !stops {
            assert_eq!(state(pids.at(pe).load() as u32), stops.then_some('T'), "PE {pe}");
        }
        assert_eq!((loss.pe, loss.view), (pe, view));
        assert!(loss.how.contains("was lost with its host b"), "{}", loss.how);
    }
    // What was stopped goes on, the PEs first, for a while without what is to end them.
    assert!(plug("up"));
    let begin = Instant::now();
    let mut waiting: Vec<_> = stopped.iter().collect();
    while begin.elapsed() < WATCHED {
        if begin.elapsed() > WATCHED / 3 * (2 - waiting.len() as u32)
            && let Some(pids) = (!waiting.is_empty()).then(|| waiting.remove(0))
        {
            pids.iter().for_each(|&pid| send(pid, Sent::CONT));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!([words.at(2).load(), words.at(3).load()], last[..], "nothing of a lost PE arrives");
    }
    while [2, 3].iter().any(|&pe| state(pids.at(pe).load() as u32).is_some()) {
        assert!(begin.elapsed() < Duration::from_secs(20), "the guardian ends them");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!([words.at(2).load(), words.at(3).load()], last[..]);
    let _ = ctx.quiet().await;
    let survivors = world.team().survivors().await?;
    assert_eq!((survivors.team.n_pes(), survivors.view), (2, 2));
    survivors.team.sync().await
}

/// Host b is lost, and the job goes on.
#[track_caller]
fn loses_host_b(relays: &Relays, test: &'static str, cut: &str) {
    let ended = go_on(relays.job(test, cut), writes_until_it_is_lost);
    assert_eq!(ended.status, 0, "{ended:?}");
    let line = format!("was lost with its host b: {SILENT}; the job goes on (view ");
    assert_eq!(ended.stderr.matches(&line).count(), 2, "{}", ended.stderr);
}

#[test]
fn a_host_of_which_oshrun_gets_nothing_is_lost_once_its_pes_have_ended() {
    let _limit = time_limit(90);
    loses_host_b(&Relays::new(None), test_name!(), "from");
}

#[test]
fn a_host_that_gets_nothing_of_oshrun_is_lost_once_its_pes_have_ended() {
    let _limit = time_limit(90);
    loses_host_b(&Relays::new(None), test_name!(), "to");
}

#[test]
fn a_host_that_is_cut_off_from_oshrun_alone_is_lost_once_its_pes_have_ended() {
    let _limit = time_limit(90);
    loses_host_b(&Relays::new(None), test_name!(), "both");
}

#[test]
fn a_host_that_stands_still_and_comes_back_writes_nothing() {
    let _limit = time_limit(90);
    loses_host_b(&Relays::new(None), test_name!(), "stop");
}

/// Two namespaces, unless there can be none, and in a PE.
fn cable() -> Option<Relays> {
    if is_pe() {
        return Some(Relays::new(None));
    }
    Namespaces::join("oc", ["10.213.11.1", "10.213.11.2"], false).map(|joined| Relays::new(Some(joined)))
}

#[test]
fn a_host_that_is_cut_off_from_all_is_lost_and_writes_nothing_when_it_comes_back() {
    let _limit = time_limit(90);
    if let Some(relays) = cable() {
        loses_host_b(&relays, test_name!(), "both+cable");
    }
}

/// Has the kernel do this in a network namespace.
fn nft(namespace: &str, rules: &str) -> bool {
    let mut nft = Command::new("ip");
    nft.args(["netns", "exec", namespace, "nft", rules]).stdin(Stdio::null()).stderr(Stdio::null());
    nft.status().is_ok_and(|status| status.success())
}

/// Cuts the PEs of one host off from those of the other, for as long as it says.
fn cut_the_cable(until: Option<Duration>) {
    let nets = std::env::var("OXSHMEM_TEST_NETS").expect("it is set");
    let nets: Vec<String> = nets.split(' ').map(str::to_owned).collect();
    for net in &nets {
        let rule = "flush chain inet test in; add rule inet test in meta l4proto tcp drop";
        assert!(nft(net, rule), "the kernel drops packets");
    }
    let Some(until) = until else { return };
    thread::spawn(move || {
        thread::sleep(until);
        nets.iter().for_each(|net| assert!(nft(net, "flush chain inet test in")));
    });
}

/// Two namespaces whose packets can be dropped, unless there can be none, and in a PE.
fn cable_with_a_switch() -> Option<Relays> {
    let relays = cable()?;
    if let Some(Namespaces { names }) = &relays.namespaces {
        let table = "add table inet test; add chain inet test in { type filter hook input priority 0; }";
        if !names.iter().all(|name| nft(name, table)) {
            println!("skipped: there is no nft, or this kernel has no such rule (Debian: nftables)");
            return None;
        }
    }
    Some(relays)
}

/// PEs of different hosts cannot reach each other for a while, and `oshrun` reaches all of them.
async fn waits_for_the_cable(world: World) -> Result<()> {
    world.barrier_all().await?;
    if world.my_pe() == 0 {
        // The report comes after 11 s.
        cut_the_cable(Some(Duration::from_secs(25)));
    }
    world.barrier_all().await?;
    world.barrier_all().await?;
    assert!((0..world.n_pes()).all(|pe| !world.is_lost(pe)));
    Ok(())
}

#[test]
fn pes_that_cannot_reach_each_other_say_so_and_wait() {
    let _limit = time_limit(90);
    let Some(relays) = cable_with_a_switch() else { return };
    let ended: Ended = go_on(relays.job(test_name!(), "none"), waits_for_the_cable);
    assert_eq!(ended.status, 0, "{ended:?}");
    let says = |me: usize| ended.stderr.contains(&format!("oxshmem: warning: PE {me} cannot reach PE "));
    assert!((0..4).any(says), "{}", ended.stderr);
    assert!(!ended.stderr.contains("the job goes on"), "{}", ended.stderr);
}

/// The cable is cut for good: `oshrun` decides which PEs go on.
async fn goes_on_with_one_host(world: World) -> Result<()> {
    world.barrier_all().await?;
    if world.my_pe() == 0 {
        cut_the_cable(None);
    }
    let mut team = world.team().clone();
    while team.n_pes() > 2 {
        while team.sync().await.is_ok() {}
        match team.survivors().await {
            Ok(survivors) => team = survivors.team,
            Err(Error::PeLost { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    team.sync().await?;
    assert_eq!([0, 1, 2, 3].map(|pe| world.is_lost(pe)), [false, false, true, true]);
    Ok(())
}

#[test]
fn of_pes_that_cannot_reach_each_other_for_long_one_host_goes_on() {
    let _limit = time_limit(150);
    let Some(relays) = cable_with_a_switch() else { return };
    let ended: Ended = go_on(relays.job_with(test_name!(), "none", "1"), goes_on_with_one_host);
    assert_eq!(ended.status, 0, "{ended:?}");
    for pe in [2, 3] {
        let lost = ended.stderr.lines().find(|line| line.starts_with(&format!("oshrun: PE {pe} (pid ")));
        let is_why =
            |line: &str| line.contains(") was out of reach of PE") && line.contains(" for more than 10 s");
        assert!(lost.is_some_and(is_why), "{}", ended.stderr);
    }
}
