//! Two hosts on this machine: network namespaces joined by a virtual cable.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::{Job, Launcher};

pub(crate) const ADDRESSES: [&str; 2] = ["10.213.8.1", "10.213.8.2"];

/// Two namespaces, the cable between them, and a program that starts something in the second.
pub(crate) struct Hosts {
    pub(crate) names: [String; 2],
    agent: PathBuf,
}

impl Hosts {
    /// None, which it says, where that cannot be had.
    pub(crate) fn join(test: &str) -> Option<Self> {
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
    pub(crate) fn job(&self, test: &'static str, launcher: Launcher) -> Job {
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
