//! Two hosts on this machine: network namespaces joined by a virtual cable.

use std::{
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// Two namespaces, and the cable between them, whose ends have their names.
pub(crate) struct Namespaces {
    pub(crate) names: [String; 2],
}

impl Namespaces {
    /// With these addresses, each in a network of 256, and loopback interfaces too if `loopback`
    /// says so. None, which it says, where that cannot be had.
    pub(crate) fn join(prefix: &str, addresses: [&str; 2], loopback: bool) -> Option<Self> {
        // SAFETY: it asks for a number.
        if unsafe { libc::geteuid() } != 0 {
            println!("skipped: only root can make network namespaces");
            return None;
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id() % 100_000, NUMBER.fetch_add(1, Relaxed));
        // Interfaces have short names.
        let name = |end: &str| format!("{prefix}{process}n{number}{end}");
        let joined = Self { names: [name("a"), name("b")] };
        let [a, b] = &joined.names;
        let mut steps = vec![format!("netns add {a}"), format!("netns add {b}")];
        steps.push(format!("link add {a} netns {a} type veth peer name {b} netns {b}"));
        for (name, address) in joined.names.iter().zip(addresses) {
            steps.push(format!("-n {name} addr add {address}/24 dev {name}"));
            steps.push(format!("-n {name} link set {name} up"));
            if loopback {
                steps.push(format!("-n {name} link set lo up"));
            }
        }
        if let Some(failed) = steps.iter().find(|step| !ip(step)) {
            println!("skipped: `ip {failed}` fails here");
            return None;
        }
        // UCX takes an interface that is up when it looks, and the kernel takes up to a second to
        // say so.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !joined.names.iter().all(|name| is_up(name)) {
            assert!(Instant::now() < deadline, "the cable is not up");
            thread::sleep(Duration::from_millis(10));
        }
        Some(joined)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
    }
}

/// Whether the end of the cable in the namespace of this name is up.
fn is_up(name: &str) -> bool {
    let shown = Command::new("ip").args(["-n", name, "link", "show", name]).output();
    shown.is_ok_and(|shown| String::from_utf8_lossy(&shown.stdout).contains("state UP"))
}

/// Whether `ip` does this.
pub(crate) fn ip(line: &str) -> bool {
    let quiet = Command::new("ip").args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
