//! Two network namespaces joined by a virtual cable, as two hosts on one machine.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::run::Failure;

/// The network of both ends.
const NETWORK: &str = "10.213.8";

/// The namespaces, for as long as this lives.
pub(super) struct Cable {
    names: [String; 2],
    script: PathBuf,
    agent: PathBuf,
}

impl Cable {
    /// Lays it, if this is root's machine. `folder` gets the script.
    pub(super) fn lay(folder: &Path) -> Result<Option<Self>, Failure> {
        let number = std::process::id() % 100_000;
        let names = ["a", "b"].map(|end| format!("oxp{number}{end}"));
        let cable = Self { script: folder.join("host.sh"), agent: folder.join("agent.sh"), names };
        let [a, b] = &cable.names;
        let mut steps = vec![
            format!("netns add {a}"),
            format!("netns add {b}"),
            // The ends are named as their namespaces.
            format!("link add {a} netns {a} type veth peer name {b} netns {b}"),
        ];
        for (end, name) in cable.names.iter().enumerate() {
            // What a process sends to its own host's address goes by this one.
            steps.push(format!("-n {name} link set lo up"));
            steps.push(format!("-n {name} addr add {NETWORK}.{}/24 dev {name}", end + 1));
            steps.push(format!("-n {name} link set {name} up"));
        }
        if let Some(failed) = steps.iter().find(|step| !ip(step)) {
            println!("not measured in network namespaces: `ip {failed}` fails here");
            return Ok(None);
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while !cable.names.iter().all(|name| is_up(name)) {
            if Instant::now() > deadline {
                return Err(Failure::new("the cable between the namespaces is not up".to_owned()));
            }
            thread::sleep(Duration::from_millis(10));
        }
        let text = format!(
            "#!/bin/sh\ncase \"$OXSHMEM_JOB\" in *,pe=0,*) host={a};; *) host={b};; esac\n\
             export SHMEM_NET_INTERFACES=$host\n\
             exec ip netns exec $host \"$@\"\n"
        );
        executable(&cable.script, text)?;
        let text = format!(
            "#!/bin/sh\nhost=$1; shift\ncase $host in *.1) name={a}; core=0;; *) name={b}; core=1;; esac\n\
             exec taskset -c $core ip netns exec $name unshare --uts sh -c \"hostname $name; $*\"\n"
        );
        executable(&cable.agent, text)?;
        Ok(Some(cable))
    }

    /// What starts a command, as `ssh` would, at one of the addresses, bound to a core, on a host
    /// of another name.
    pub(super) fn agent(&self) -> &Path {
        &self.agent
    }

    /// The addresses of both ends, and their network.
    pub(super) fn addresses(&self) -> ([String; 2], String) {
        ([1, 2].map(|end| format!("{NETWORK}.{end}")), format!("{NETWORK}.0/24"))
    }

    /// What `oshrun` starts, with the program behind it, so that each PE is in the namespace of its
    /// host.
    pub(super) fn script(&self) -> &Path {
        &self.script
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
    }
}

fn executable(file: &Path, text: String) -> Result<(), Failure> {
    let written =
        fs::write(file, text).and_then(|()| fs::set_permissions(file, fs::Permissions::from_mode(0o755)));
    written.map_err(|e| Failure::new(format!("{}: {e}", file.display())))
}

fn is_up(name: &str) -> bool {
    let shown = Command::new("ip").args(["-n", name, "link", "show", name]).output();
    shown.is_ok_and(|shown| String::from_utf8_lossy(&shown.stdout).contains("state UP"))
}

fn ip(line: &str) -> bool {
    let quiet = Command::new("ip").args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
