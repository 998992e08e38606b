//! Jobs that a launcher with PMIx starts on two hosts, which are network namespaces joined by a
//! virtual cable. Both have this machine's name, and each a server of PMIx. Under Slurm each has a
//! daemon of its own.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use oxshmem::prelude::*;
use oxshmem_job::{Bootstrap, Pmix, suite};

use crate::busy;
use crate::common::{Job, Launcher, kill, reaches_hosts, test_name, time_limit};
use crate::namespaces::Namespaces;
use crate::slurm::Slurm;

const ADDRESSES: [&str; 2] = ["10.213.8.1", "10.213.8.2"];

/// Two namespaces, and a program that starts something in the second.
struct Hosts {
    namespaces: Namespaces,
    agent: PathBuf,
}

impl Hosts {
    fn join() -> Option<Self> {
        let namespaces = Namespaces::join("op", ADDRESSES, true)?;
        let [a, b] = &namespaces.names;
        let agent = std::env::temp_dir().join(format!("{a}-agent.sh"));
        // As ssh: the host, and what its shell is to run. Launchers only ask for hosts that are not
        // their own.
        let text = format!("#!/bin/sh\nshift\nexec ip netns exec {b} sh -c \"$*\"\n");
        fs::write(&agent, text).expect("the script is written");
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("and executable");
        Some(Self { namespaces, agent })
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
            .within(&["ip", "netns", "exec", &self.namespaces.names[0]])
            .env(&format!("OMPI_MCA_plm_rsh_agent={agent}"))
            .env(&format!("PRTE_MCA_plm_ssh_agent={agent}"))
            .launcher_args(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.agent);
    }
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
    let Some(hosts) = Hosts::join() else { return };
    for launcher in launchers {
        test(launcher, hosts.job(name, launcher));
    }
    if let Some(slurm) = Slurm::start(&hosts.namespaces.names, ADDRESSES) {
        test(Launcher::Srun, slurm.job(name));
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
    if !reaches_hosts() {
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

/// A PE that waits until the job ends, or ends it with the status that `exit` gives its number.
fn wait_for_what_never_comes(exit: impl Fn(usize) -> Option<i32>) -> oxshmem::Result<()> {
    suite::runtime().block_on(async {
        let world = oxshmem::init().await?;
        let word = world.alloc_zeroed::<u64>(1).await?;
        if let Some(status) = exit(world.my_pe()) {
            world.global_exit(status).await?;
        }
        word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
    })
}

#[test]
fn a_killed_pe_ends_those_in_the_other_network_namespace_too() {
    let _limit = time_limit(120);
    if !reaches_hosts() {
        return;
    }
    on_two_hosts(test_name!(), |launcher, job| {
        let running = job.start(|| {
            if let Err(error) = wait_for_what_never_comes(|_| None) {
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

#[test]
fn a_killed_launcher_takes_pes_of_both_hosts_with_it_within_three_seconds() {
    let _limit = time_limit(120);
    if !reaches_hosts() {
        return;
    }
    on_two_hosts(test_name!(), |launcher, job| {
        let running = job.start(|| {
            if let Err(error) =
                suite::runtime().block_on(async { busy::for_ever(oxshmem::init().await?).await })
            {
                eprintln!("{error}");
                std::process::exit(1);
            }
        });
        let pes = running.pes(4);
        busy::await_all(&pes);
        running.kill_launcher();
        println!("{launcher:?}:");
        busy::assert_gone_soon(&pes);
        running.end();
    });
}

#[test]
fn global_exit_ends_the_job_on_both_hosts_with_its_status() {
    let _limit = time_limit(120);
    if !reaches_hosts() {
        return;
    }
    on_two_hosts(test_name!(), |launcher, job| {
        let ended = job.end(|| {
            let outcome = wait_for_what_never_comes(|pe| (pe == 3).then_some(7));
            // The error that the others get is no failure of their own.
            outcome.expect_err("nobody sets the word");
        });
        assert_eq!(ended.status, 7, "{launcher:?}: {ended:?}");
    });
}
