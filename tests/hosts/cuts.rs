//! Hosts that are network namespaces joined by a virtual cable, which is cut: for a while, and for
//! good.
//!
//! `oshrun` has no remote start, so PEs of one machine are placed on simulated hosts, and a script
//! that it starts for each moves into the namespace of the PE's host before it becomes the test
//! program. The job's socket and its shared memory go along; the net is given the namespace's end
//! of the cable, and has no other way to the other host.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use crate::common::{Job, Running, assert_nothing_left, reaches_hosts, shared_names, test_name, time_limit};
use crate::namespaces::{Namespaces, ip};
use oxshmem::{Result, prelude::*};

/// Two namespaces, the cable between them, and a script that starts a PE in its own.
pub(crate) struct Cable {
    pub(crate) namespaces: Namespaces,
    script: PathBuf,
    n: usize,
}

impl Cable {
    /// For a job of `n` PEs, half of which are at each end. None, and says why, where that cannot
    /// be had; none in a PE, which is not to lay another.
    pub(crate) fn lay(n: usize) -> Option<Self> {
        if std::env::var_os("OXSHMEM_TEST_BODY").is_some() || !reaches_hosts() {
            return None;
        }
        let namespaces = Namespaces::join("ox", ["10.213.7.1", "10.213.7.2"], false)?;
        let [a, b] = &namespaces.names;
        let script = std::env::temp_dir().join(format!("{a}-host.sh"));
        let program = std::env::current_exe().expect("this program's path");
        let text = format!(
            "#!/bin/sh\npe=${{OXSHMEM_JOB#*,pe=}}\n[ ${{pe%%,*}} -lt {} ] && host={a} || host={b}\n\
             export SHMEM_NET_INTERFACES=$host\n\
             exec ip netns exec $host '{}' \"$@\"\n",
            n / 2,
            program.display()
        );
        fs::write(&script, text).expect("the script is written");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("and executable");
        Some(Self { namespaces, script, n })
    }

    fn plug(&self, state: &str) {
        let end = &self.namespaces.names[0];
        assert!(ip(&format!("-n {end} link set {end} {state}")));
    }

    /// For good.
    fn tear(&self) {
        let end = &self.namespaces.names[0];
        assert!(ip(&format!("-n {end} link del {end}")));
    }

    fn job(&self, test: &'static str) -> Job {
        Job::new(test, self.n).hosts("2").through(&self.script)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.script);
    }
}

/// Starts a job whose PEs run `body`, at the ends of a cable; in a PE it does not return.
pub(crate) fn start<F>(
    cable: Option<&Cable>,
    test: &'static str,
    variables: &[&str],
    body: fn(World) -> F,
) -> Running
where
    F: Future<Output = Result<()>>,
{
    let job = cable.map_or_else(|| Job::new(test, 2), |cable| cable.job(test));
    let job = variables.iter().fold(job, |job, variable| job.env(variable));
    job.start(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(async {
            let world = oxshmem::init().await?;
            body(world.clone()).await?;
            world.finalize().await
        });
        if let Err(error) = outcome {
            println!("PE says: {error}");
            eprintln!("{error}");
            std::process::exit(1);
        }
    })
}

/// In a PE there is no cable to be had, but a job to run.
pub(crate) fn is_pe() -> bool {
    std::env::var_os("OXSHMEM_TEST_BODY").is_some()
}

/// Traffic both ways for some seconds, all of which has to arrive.
async fn traffic(world: World) -> Result<()> {
    const LEN: usize = 50_000;
    let (me, other, ctx) = (world.my_pe(), 1 - world.my_pe(), world.context());
    let data = world.alloc_zeroed::<u64>(LEN).await?;
    let words = world.alloc_zeroed::<u64>(2).await?;
    world.barrier_all().await?;
    println!("PE {me} begins");
    if let (0, Ok(file)) = (me, std::env::var("BEGUN")) {
        fs::write(file, "").expect("the file is written");
    }
    let (begin, mut round) = (Instant::now(), 0);
    let mut longest = Duration::ZERO;
    // Both make as many rounds: PE 0 says when it is enough.
    loop {
        round += 1;
        let start = Instant::now();
        let last = me == 0 && begin.elapsed() > Duration::from_secs(6);
        let mut block = vec![round << 8 | me as u64; LEN];
        block[0] = u64::from(last);
        ctx.inc(words.at(1), other).await?;
        ctx.put_signal(&data, block, words.at(0), Signal::Set(round), other).await?;
        words.at(0).wait_until(Cmp::Ge, round).await?;
        let seen = data.view().to_vec();
        assert!(seen[1..].iter().all(|&word| word == round << 8 | other as u64), "round {round}");
        world.barrier_all().await?;
        // The barrier is a part of it: the cut comes there as often as elsewhere.
        longest = longest.max(start.elapsed());
        if last || (me == 1 && seen[0] == 1) {
            break;
        }
    }
    ctx.quiet().await?;
    world.barrier_all().await?;
    assert_eq!(words.at(1).load(), round);
    println!("PE {me}: {round} rounds, the longest {longest:?}");
    Ok(())
}

#[test]
fn a_cut_of_three_seconds_delays_a_job_and_no_more() {
    let _limit = time_limit(120);
    let cable = Cable::lay(2);
    if cable.is_none() && !is_pe() {
        return;
    }
    let before = shared_names();
    let begun = cable.as_ref().map(|cable| cable.script.with_extension("begun"));
    let variable = begun.as_ref().map_or(String::new(), |file| format!("BEGUN={}", file.display()));
    let running = start(cable.as_ref(), test_name!(), &[&variable], traffic);
    let (cable, begun) = cable.zip(begun).expect("this is no PE");
    let started = Instant::now();
    while !begun.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "the PEs do not begin");
        thread::sleep(Duration::from_millis(10));
    }
    let _ = fs::remove_file(&begun);
    thread::sleep(Duration::from_secs(1));
    cable.plug("down");
    thread::sleep(Duration::from_secs(3));
    cable.plug("up");
    let ended = running.end();
    assert_eq!(ended.status, 0, "{ended:?}");
    let rounds = ended.stdout.lines().filter(|line| line.contains("the longest"));
    let rounds: Vec<&str> = rounds.collect();
    println!("{rounds:#?}");
    let stalled = |line: &&str| {
        line.rsplit(' ').next().is_some_and(|time| time.ends_with('s') && !time.ends_with("ms"))
    };
    assert!(rounds.len() == 2 && rounds.iter().any(stalled), "the cut was not noticed: {rounds:?}");
    assert_nothing_left(&before);
}

/// Both wait, for ever.
async fn waits(world: World) -> Result<()> {
    let words = world.alloc_zeroed::<u64>(1).await?;
    let before = world.context().fetch_inc(words.at(0), 1 - world.my_pe()).await?;
    assert_eq!(before, 0);
    world.barrier_all().await?;
    words.at(0).wait_until(Cmp::Gt, 1).await.map(drop)
}

/// Both talk, for ever.
async fn talks(world: World) -> Result<()> {
    let words = world.alloc_zeroed::<u64>(1).await?;
    world.barrier_all().await?;
    loop {
        let _ = world.context().fetch_inc(words.at(0), 1 - world.my_pe()).await?;
    }
}

/// Tears the cable of a job whose PEs run `body`: it ends, and says whom it has lost.
fn torn<F>(test: &'static str, body: fn(World) -> F)
where
    F: Future<Output = Result<()>>,
{
    let cable = Cable::lay(2);
    if cable.is_none() && !is_pe() {
        return;
    }
    if let Some(cable) = &cable {
        // What was sent and not acknowledged is sent again, for a quarter of an hour if nobody says
        // less.
        cable
            .namespaces
            .names
            .iter()
            .for_each(|name| assert!(ip(&format!("netns exec {name} sysctl -qw net.ipv4.tcp_retries2=5"))));
    }
    let before = shared_names();
    // Sooner than by default; what that takes is in the book.
    let soon =
        ["UCX_KEEPALIVE_INTERVAL=1s", "UCX_TCP_KEEPIDLE=1s", "UCX_TCP_KEEPINTVL=1s", "UCX_TCP_KEEPCNT=3"];
    let variables = if std::env::var_os("OXSHMEM_TEST_KEEPALIVE").is_some() { &[][..] } else { &soon[..] };
    let running = start(cable.as_ref(), test, variables, body);
    running.pes(2);
    thread::sleep(Duration::from_secs(1));
    cable.as_ref().expect("this is no PE").tear();
    let torn = Instant::now();
    let ended = running.end();
    println!("after {:?}: {}", torn.elapsed(), ended.stderr);
    assert_eq!(ended.status, 1, "{ended:?}");
    assert!(ended.stderr.contains("is lost: "), "{ended:?}");
    assert_eq!(ended.stderr.matches("oshrun: ").count(), 1, "{ended:?}");
    assert_nothing_left(&before);
}

#[test]
fn a_cable_that_is_gone_ends_a_job_that_talks() {
    let _limit = time_limit(120);
    torn(test_name!(), talks);
}

#[test]
fn a_cable_that_is_gone_ends_a_job_that_waits() {
    let _limit = time_limit(120);
    torn(test_name!(), waits);
}
