//! `oshrun` in a terminal, started by a shell with job control.

mod common;

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use common::{Folder, eventually};

/// A shell whose terminal is this end.
struct Terminal {
    shell: Child,
    end: File,
}

impl Terminal {
    fn open() -> Self {
        let (mut ours, mut theirs) = (-1, -1);
        // SAFETY: it stores two numbers; the rest may be null.
        let opened = unsafe {
            libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), std::ptr::null())
        };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: both were just opened, for us.
        let (end, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        let mut shell = Command::new("/bin/bash");
        shell.args(["--norc", "--noprofile", "-i"]).env("PS1", "$ ").env_remove("HISTFILE");
        for set in [Command::stdin, Command::stdout, Command::stderr] {
            set(&mut shell, Stdio::from(theirs.try_clone().expect("a descriptor")));
        }
        // SAFETY: system calls only: a session of its own, which the terminal controls.
        unsafe {
            shell.pre_exec(|| {
                let controls = libc::setsid() > 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0;
                if controls { Ok(()) } else { Err(std::io::Error::last_os_error()) }
            });
        }
        let shell = shell.spawn().expect("bash");
        let mut shown = end.try_clone().expect("a descriptor");
        // What is not read would stop the shell in time.
        thread::spawn(move || while matches!(shown.read(&mut [0; 4096]), Ok(1..)) {});
        Self { shell, end }
    }

    fn send(&mut self, text: &str) {
        self.end.write_all(text.as_bytes()).expect("the shell is there");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

fn state(pid: u32) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or(' ')
}

#[test]
fn a_job_stops_goes_on_in_the_background_and_reads_in_the_foreground() {
    let folder = Folder::new("terminal");
    let script = format!(
        "echo $$ >>{0}; read line && echo \"got $line\" >{1}; exec sleep 1000",
        folder.path("pids"),
        folder.path("read")
    );
    fs::write(folder.path("pe"), script).expect("written");
    let mut terminal = Terminal::open();
    let oshrun = env!("CARGO_BIN_EXE_oshrun");
    terminal.send(&format!("{oshrun} -np 2 sh {}\n", folder.path("pe")));
    let pids = folder.numbers("pids", 2);
    let all_are = |stopped: bool| pids.iter().all(|&pid| (state(pid) == 'T') == stopped).then_some(());
    let launcher = fs::read_to_string(format!("/proc/{}/stat", pids[0])).expect("it runs");
    let launcher: u32 =
        launcher.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok()).expect("a parent");
    terminal.send("\x1a");
    eventually("all stop", || all_are(true).filter(|()| state(launcher) == 'T'));
    terminal.send("bg\n");
    eventually("all go on", || all_are(false).filter(|()| state(launcher) != 'T'));
    // It waits for input all the while, which must not stop it.
    thread::sleep(Duration::from_millis(500));
    assert!(all_are(false).is_some() && state(launcher) != 'T');
    terminal.send("fg\n");
    thread::sleep(Duration::from_millis(300));
    terminal.send("hello\n");
    eventually("a line", || {
        fs::read_to_string(folder.path("read")).ok().filter(|line| line == "got hello\n")
    });
    terminal.send("\x03");
    eventually("its end", || [' ', 'Z'].contains(&state(launcher)).then_some(()));
    assert!(pids.iter().all(|&pid| [' ', 'Z'].contains(&state(pid))), "PEs are left");
}
