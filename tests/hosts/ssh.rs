//! Jobs that `oshrun` starts by ssh, on two network namespaces of this machine with a daemon in
//! each.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::{Job, test_name, time_limit};
use crate::namespaces::{Namespaces, ip};

const ADDRESSES: [&str; 2] = ["10.213.9.1", "10.213.9.2"];
/// Where Debian has the daemon, which has to be started by its path.
const DAEMON: &str = "/usr/sbin/sshd";

/// Two machines that ssh reaches, which are called `na` and `nb`.
struct Machines {
    namespaces: Namespaces,
    daemons: Vec<Child>,
    folder: PathBuf,
}

impl Machines {
    /// None, and says why, where that cannot be had; none in a PE, which is not to make others.
    fn start() -> Option<Self> {
        if std::env::var_os("OXSHMEM_TEST_BODY").is_some() {
            return None;
        }
        let runs = |name: &str| {
            Command::new("which").arg(name).stdout(Stdio::null()).status().is_ok_and(|it| it.success())
        };
        if !Path::new(DAEMON).exists() || !runs("ssh") || !runs("ssh-keygen") {
            println!("skipped: there is no ssh or no {DAEMON} (Debian: openssh-client, openssh-server)");
            return None;
        }
        let namespaces = Namespaces::join("os", ADDRESSES, true)?;
        let folder = std::env::temp_dir().join(format!("ssh-{}", namespaces.names[0]));
        fs::create_dir_all(&folder).expect("a folder");
        // The daemon asks for it.
        let _ = fs::create_dir_all("/run/sshd");
        let mut machines = Self { namespaces, daemons: Vec::new(), folder };
        for key in ["host", "user"] {
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(machines.path(key));
            assert!(make.status().is_ok_and(|it| it.success()), "a key");
        }
        fs::copy(machines.path("user.pub"), machines.path("authorized")).expect("copied");
        fs::set_permissions(machines.path("authorized"), fs::Permissions::from_mode(0o600)).expect("ours");
        let mut settings = String::new();
        for (name, address) in ["na", "nb"].iter().zip(ADDRESSES) {
            settings += &format!("Host {name}\n HostName {address}\n");
        }
        settings += &format!(
            "Host *\n IdentityFile {}\n IdentitiesOnly yes\n UserKnownHostsFile {}\n StrictHostKeyChecking no\n LogLevel ERROR\n",
            machines.path("user"),
            machines.path("known")
        );
        fs::write(machines.path("settings"), settings).expect("written");
        for (name, address) in machines.namespaces.names.clone().iter().zip(ADDRESSES) {
            let options = [
                format!("ListenAddress={address}"),
                format!("AuthorizedKeysFile={}", machines.path("authorized")),
                "StrictModes=no".to_owned(),
                "PidFile=none".to_owned(),
                "PermitRootLogin=yes".to_owned(),
            ];
            let mut daemon = Command::new("ip");
            daemon.args([
                "netns",
                "exec",
                name,
                DAEMON,
                "-f",
                "/dev/null",
                "-D",
                "-h",
                &machines.path("host"),
            ]);
            daemon.args(options.iter().flat_map(|option| ["-o", option.as_str()]));
            let daemon = daemon.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
            machines.daemons.push(daemon.expect("it starts"));
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while !["na", "nb"].iter().all(|name| machines.reaches(name)) {
            assert!(Instant::now() < deadline, "a daemon does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(machines)
    }

    fn path(&self, file: &str) -> String {
        self.folder.join(file).to_str().expect("a readable path").to_owned()
    }

    /// Whether a command runs on a machine.
    fn reaches(&self, name: &str) -> bool {
        let mut ssh = Command::new("ip");
        ssh.args(["netns", "exec", &self.namespaces.names[0], "ssh", "-F", &self.path("settings")]);
        ssh.args(["-o", "BatchMode=yes", name, "true"]).stdin(Stdio::null()).stderr(Stdio::null());
        ssh.status().is_ok_and(|status| status.success())
    }

    /// Two PEs on each machine, started from the first.
    fn job(&self, test: &'static str) -> Job {
        let launch = format!("ssh -F {} -o BatchMode=yes", self.path("settings"));
        let within = ["ip", "netns", "exec", &self.namespaces.names[0]];
        Job::new(test, 4).within(&within).launcher_args(&["-H", "na:2,nb:2", "--launch-agent", &launch])
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// In a PE, something to give to [`Job`], which does not come to use it.
fn job(machines: Option<&Machines>, test: &'static str) -> Option<Job> {
    match machines {
        Some(machines) => Some(machines.job(test)),
        None => std::env::var_os("OXSHMEM_TEST_BODY").is_some().then(|| Job::new(test, 4)),
    }
}

#[test]
fn machines_that_ssh_reaches_run_a_job_together() {
    let _limit = time_limit(90);
    let machines = Machines::start();
    let Some(job) = job(machines.as_ref(), test_name!()) else { return };
    let ended = job.run(|world| async move {
        let words = world.alloc_zeroed::<u64>(1000).await?;
        let sums = world.alloc_zeroed::<u64>(1000).await?;
        (0..1000).for_each(|i| words.at(i).store((world.my_pe() + i) as u64));
        world.team().sum_reduce(&sums, &words).await?;
        assert!((0..1000).all(|i| sums.at(i).load() == (6 + 4 * i) as u64));
        println!("PE {} is well", world.my_pe());
        Ok(())
    });
    assert_eq!(ended.stdout.matches("is well").count(), 4, "{ended:?}");
}

#[test]
fn a_machine_whose_cable_is_cut_is_lost_and_leaves_nothing() {
    let _limit = time_limit(90);
    let machines = Machines::start();
    let Some(job) = job(machines.as_ref(), test_name!()) else { return };
    let running = job.start(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
        runtime.block_on(async {
            let world = oxshmem::init().await.expect("init");
            world.barrier_all().await.expect("all are there");
            std::future::pending::<()>().await;
        });
    });
    let Some(machines) = machines else { return };
    running.pes(4);
    std::thread::sleep(Duration::from_millis(500));
    let far = &machines.namespaces.names[1];
    assert!(ip(&format!("-n {far} link set {far} down")));
    let started = Instant::now();
    let ended = running.end();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let first = "oshrun: host nb is lost: there was no sign of life for 2 s; the job was ended";
    // The other machine may write too: its agent that oshrun is lost, and a shell at its start.
    assert!(ended.status == 1 && ended.stderr.lines().any(|line| line == first), "{ended:?}");
}
