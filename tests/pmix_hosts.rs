//! Jobs that a launcher with PMIx starts on two hosts, which are network namespaces joined by a virtual cable. Both have
//! this machine's name, and each a server of PMIx.

mod common;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use common::{Job, Launcher, has_ucx, kill, test_name, time_limit};
use oxshmem::prelude::*;
use oxshmem_runtime::bootstrap::{Bootstrap, Pmix, suite};

const ADDRESSES: [&str; 2] = ["10.213.8.1", "10.213.8.2"];

/// Two namespaces, the cable between them, and a program that starts something in the second.
struct Hosts {
    names: [String; 2],
    agent: PathBuf,
}

impl Hosts {
    /// None, which it says, where that cannot be had.
    fn join(test: &str) -> Option<Self> {
        // SAFETY: it asks for a number.
        if unsafe { libc::geteuid() } != 0 {
            println!("skipped: only root can make network namespaces");
            return None;
        }
        // Interfaces have short names.
        let name = |end: &str| format!("op{}{}{end}", &test[..1], std::process::id() % 100_000);
        let names = [name("a"), name("b")];
        let agent = std::env::temp_dir().join(format!("oxshmem-{}.sh", names[0]));
        let hosts = Self { names, agent };
        let [a, b] = &hosts.names;
        let mut steps = vec![format!("netns add {a}"), format!("netns add {b}")];
        steps.push(format!("link add {a} netns {a} type veth peer name {b} netns {b}"));
        for (name, address) in hosts.names.iter().zip(ADDRESSES) {
            steps.push(format!("-n {name} addr add {address}/24 dev {name}"));
            steps.push(format!("-n {name} link set {name} up"));
            steps.push(format!("-n {name} link set lo up"));
        }
        if let Some(failed) = steps.iter().find(|step| !ip(step)) {
            println!("skipped: `ip {failed}` fails here");
            return None;
        }
        // The kernel takes up to a second to notice that the cable is in at both ends, and UCX does not use it before.
        for name in &hosts.names {
            let show = || Command::new("ip").args(["-n", name, "link", "show", "dev", name]).output();
            let is_up =
                || show().is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("state UP"));
            let deadline = Instant::now() + Duration::from_secs(10);
            while !is_up() {
                assert!(Instant::now() < deadline, "the cable at {name} does not come up");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        // As ssh: the host, and what its shell is to run. Launchers only ask for hosts that are not their own.
        let text = format!("#!/bin/sh\nshift\nexec ip netns exec {b} sh -c \"$*\"\n");
        fs::write(&hosts.agent, text).expect("the script is written");
        fs::set_permissions(&hosts.agent, fs::Permissions::from_mode(0o755)).expect("and executable");
        Some(hosts)
    }

    /// A job of two PEs on each.
    fn job(&self, test: &'static str, launcher: Launcher) -> Job {
        let agent = self.agent.display();
        let [a, b] = ADDRESSES;
        let mut args = vec!["--host".to_owned(), format!("{a}:2,{b}:2")];
        if launcher == Launcher::Prterun {
            args.extend(["--prefix".to_owned(), prefix_of("prterun")]);
        }
        Job::new(test, 4)
            .under(launcher)
            .within(&["ip", "netns", "exec", &self.names[0]])
            .env(&format!("OMPI_MCA_plm_rsh_agent={agent}"))
            .env(&format!("PRTE_MCA_plm_ssh_agent={agent}"))
            .launcher_args(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
        let _ = fs::remove_file(&self.agent);
    }
}

fn ip(line: &str) -> bool {
    let quiet = Command::new("ip").args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// The folder that `bin` is in, in which a program is.
fn prefix_of(program: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).find(|folder| folder.join(program).exists()).unwrap_or_default();
    found.parent().map(|prefix| prefix.display().to_string()).unwrap_or_default()
}

/// Makes a job for each launcher, and looks at its end; a PE runs `test` with any job.
fn on_two_hosts(name: &'static str, test: impl Fn(Launcher, Job)) {
    if std::env::var_os("OXSHMEM_TEST_BODY").is_some() {
        return test(Launcher::Mpirun, Job::new(name, 4));
    }
    let launchers = Launcher::with_pmix();
    if launchers.is_empty() {
        return;
    }
    let Some(hosts) = Hosts::join(name) else { return };
    for launcher in launchers {
        test(launcher, hosts.job(name, launcher));
    }
}

#[test]
fn the_bootstrap_passes_the_suite_across_network_namespaces() {
    let _limit = time_limit(120);
    on_two_hosts(test_name!(), |launcher, job| {
        let ended = job.end(|| {
            suite::runtime().block_on(async {
                let pe = Pmix::from_env().await.unwrap().expect("the launcher offers PMIx");
                let placement = pe.placement();
                assert_eq!((placement.hosts.n_hosts(), placement.local.len()), (2, 2));
                suite::check(&pe).await;
                pe.finalized();
            });
        });
        assert_eq!(ended.status, 0, "{launcher:?}: {ended:?}");
    });
}

#[test]
fn pes_reach_each_other_across_network_namespaces() {
    let _limit = time_limit(120);
    if !has_ucx() {
        return;
    }
    on_two_hosts(test_name!(), |launcher, job| {
        let ended = job.run(|world| async move {
            let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
            assert_eq!((n, world.pe().placement().hosts.n_hosts()), (4, 2));
            assert!(world.pe().net().is_some());
            let inbox = world.alloc_zeroed::<u64>(n).await?;
            let sum = world.alloc_zeroed::<u64>(1).await?;
            for pe in 0..n {
                ctx.put(inbox.at(me), 100 + me as u64, pe).await?;
                ctx.add(sum.at(0), 1 << (8 * me), pe).await?;
            }
            world.barrier_all().await?;
            assert!((0..n).all(|pe| inbox.at(pe).load() == 100 + pe as u64));
            assert_eq!(sum.at(0).load(), 0x0101_0101);
            println!("PE {me} has all");
            Ok(())
        });
        assert_eq!(ended.stdout.matches("has all").count(), 4, "{launcher:?}: {ended:?}");
    });
}

#[test]
fn a_killed_pe_ends_those_in_the_other_network_namespace_too() {
    let _limit = time_limit(120);
    if !has_ucx() {
        return;
    }
    on_two_hosts(test_name!(), |launcher, job| {
        let running = job.start(|| {
            let outcome = suite::runtime().block_on(async {
                let world = oxshmem::init().await?;
                let word = world.alloc_zeroed::<u64>(1).await?;
                word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
            });
            if let Err(error) = outcome {
                eprintln!("{error}");
                std::process::exit(1);
            }
        });
        let pes = running.pes(4);
        std::thread::sleep(Duration::from_secs(1));
        let begin = Instant::now();
        kill(pes[0], libc::SIGKILL);
        let ended = running.end();
        println!("{launcher:?}: over after {:?}", begin.elapsed());
        assert_ne!(ended.status, 0, "{launcher:?}: {ended:?}");
        assert!(begin.elapsed() < Duration::from_secs(10));
    });
}
