//! A Slurm of the test's own: a controller, and a daemon on each of two hosts.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::{Job, Launcher, child_ended, child_started, kill};

/// The names that Slurm has for the hosts.
const NODES: [&str; 2] = ["oxa", "oxb"];

/// The daemons, and the folder with all of their files.
pub(crate) struct Slurm<'a> {
    /// The hosts' network namespaces, and their addresses.
    namespaces: &'a [String; 2],
    addresses: [&'a str; 2],
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl<'a> Slurm<'a> {
    /// None, which it says, where there is no Slurm, or its daemons do not run.
    pub(crate) fn start(namespaces: &'a [String; 2], addresses: [&'a str; 2]) -> Option<Self> {
        // Without settings some of them fail even if they are asked for no more than their version.
        let is_there = |program: &&str| Command::new(program).arg("-V").output().is_ok();
        if let Some(missing) = ["slurmctld", "slurmd", "srun"].iter().find(|program| !is_there(program)) {
            println!("skipped: no {missing} (Debian: slurmctld, slurmd, slurm-client)");
            return None;
        }
        // SAFETY: a constant, terminated string; the library's initialisers ask nothing of their
        // callers.
        if unsafe { libc::dlopen(c"libpmix.so".as_ptr(), libc::RTLD_LAZY) }.is_null() {
            println!("skipped: Slurm's plugin loads libpmix.so, which is not there (Debian: libpmix-dev)");
            return None;
        }
        if fs::read_dir("/sys/fs/cgroup").map_or(0, Iterator::count) == 0 {
            println!("skipped: Slurm's daemons need control groups, and /sys/fs/cgroup is empty");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("slurm-{}", namespaces[0]));
        let mut slurm = Self { namespaces, addresses, folder, daemons: Vec::new() };
        // The daemons have PMIx's files in theirs too, which are named alike.
        for name in ["state", "cgroup"].iter().chain(&NODES) {
            fs::create_dir_all(slurm.folder.join(name)).expect("a folder");
        }
        fs::write(slurm.conf(), slurm.settings()).expect("the settings are written");
        slurm.spawn(0, "slurmctld", &["-D"]);
        for (host, node) in NODES.iter().enumerate() {
            slurm.spawn(host, "slurmd", &["-D", "-N", node]);
        }
        slurm.await_nodes().then_some(slurm)
    }

    fn conf(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    fn settings(&self) -> String {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("procfs");
        let (name, folder, [a, b]) = (name.trim(), self.folder.display(), self.addresses);
        let [node_a, node_b] = NODES;
        // Any user that may enter the namespaces may start jobs.
        format!(
            "ClusterName=oxshmem
SlurmctldHost={name}({a})
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/%n
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
TmpFS={folder}/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
KillWait=1
NodeName={node_a} NodeHostname={name} NodeAddr={a} CPUs=2
NodeName={node_b} NodeHostname={name} NodeAddr={b} CPUs=2
PartitionName=all Nodes=ALL Default=YES
"
        )
    }

    /// A command in the namespace of a host, as `ip netns exec` starts it, which mounts a `/sys`
    /// with the devices of that host. The daemons look for control groups there, which are carried
    /// over.
    fn command(&self, host: usize, program: &str) -> Command {
        let carried = self.folder.join("cgroup");
        let enter = format!(
            "mount --rbind /sys/fs/cgroup {0} && exec ip netns exec {1} \
             sh -c 'mount --rbind {0} /sys/fs/cgroup && exec \"$@\"' - \"$@\"",
            carried.display(),
            self.namespaces[host]
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &enter, "-", program]).env("SLURM_CONF", self.conf());
        command
    }

    fn spawn(&mut self, host: usize, program: &str, args: &[&str]) {
        let mut command = self.command(host, program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = command.spawn().expect("a daemon starts");
        child_started(daemon.id());
        self.daemons.push(daemon);
    }

    /// False, which it says, if a daemon ends instead of waiting for work.
    fn await_nodes(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let shown =
                self.command(0, "sinfo").args(["-h", "-N", "-o", "%T"]).output().expect("sinfo starts");
            let states = String::from_utf8_lossy(&shown.stdout).into_owned();
            if states.split_whitespace().filter(|state| *state == "idle").count() == NODES.len() {
                return true;
            }
            if self.daemons.iter_mut().any(|daemon| !matches!(daemon.try_wait(), Ok(None))) {
                println!("skipped: a daemon of Slurm does not run here\n{}", self.logs());
                return false;
            }
            assert!(Instant::now() < deadline, "the nodes are {states:?}\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What the daemons have written.
    fn logs(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        ["slurmctld.log", "oxa.log", "oxb.log"].map(read).concat()
    }

    /// The processes that look after the tasks of one job on one host. They outlive `srun` for a
    /// moment, and their daemon if that is ended meanwhile.
    fn steps(&self) -> Vec<u32> {
        let conf = format!("SLURM_CONF={}", self.conf().display());
        let processes = fs::read_dir("/proc").expect("procfs").filter_map(|entry| {
            let entry = entry.ok()?;
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let ours = environment.split(|&byte| byte == 0).any(|variable| variable == conf.as_bytes());
            (name.trim() == "slurmstepd" && ours).then(|| entry.file_name().to_str()?.parse().ok())?
        });
        processes.collect()
    }

    /// A job of two PEs on each host.
    pub(crate) fn job(&self, test: &'static str) -> Job {
        Job::new(test, 4)
            .under(Launcher::Srun)
            .within(&["ip", "netns", "exec", &self.namespaces[0]])
            .env(&format!("SLURM_CONF={}", self.conf().display()))
            .launcher_args(&["-N2"])
    }
}

impl Drop for Slurm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.logs());
        }
        let deadline = Instant::now() + Duration::from_secs(5);
        while !self.steps().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        for daemon in &mut self.daemons {
            kill(daemon.id(), libc::SIGTERM);
        }
        for daemon in &mut self.daemons {
            let deadline = Instant::now() + Duration::from_secs(5);
            while matches!(daemon.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
            child_ended(daemon.id());
        }
        for step in self.steps() {
            kill(step, libc::SIGKILL);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
