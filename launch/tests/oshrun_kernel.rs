//! `oshrun` on kernels and in sandboxes that can less than this one.

mod common;
#[path = "../../tests/common/kernel.rs"]
mod kernel;

use std::time::Duration;

use common::{line, oshrun, split, start};
use kernel::{Lacks, linux_4_18, on_a_kernel_that};

#[test]
fn a_job_starts_and_ends_on_the_oldest_kernel_that_the_book_names() {
    for lacks in [linux_4_18(), vec![Lacks::Call(libc::SYS_pidfd_open, libc::EPERM)]] {
        on_a_kernel_that(&lacks, || {
            let ended = line("-np 3 pe suite");
            assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
            let ended = oshrun(["-np", "2", "false"]);
            assert_eq!(ended.status, 1);
        });
    }
}

#[test]
fn nothing_survives_a_killed_launcher_there_either() {
    let no_procfs = Lacks::Call(libc::SYS_getdents64, libc::ENOSYS);
    let close_range = Lacks::Call(libc::SYS_close_range, libc::EPERM);
    for lacks in [linux_4_18(), vec![close_range], vec![close_range, no_procfs]] {
        // What looks for processes must see them: the filter is on the thread that starts the job
        // alone.
        let mut running = on_a_kernel_that(&lacks, || start(split("-np 2 pe stay")));
        common::eventually("eight processes", || (running.left().len() == 8).then_some(()));
        running.signal(libc::SIGKILL);
        running.wait(Duration::from_secs(5));
        running.assert_nothing_left();
    }
}

#[test]
fn without_a_thread_for_output_nothing_is_started() {
    let lacks = [
        Lacks::Bits(libc::SYS_clone, 0, libc::CLONE_THREAD as u32, libc::EAGAIN),
        // The C library tries this one first, whose flags are in memory.
        Lacks::Call(libc::SYS_clone3, libc::ENOSYS),
    ];
    let oshrun = env!("CARGO_BIN_EXE_oshrun");
    let output = on_a_kernel_that(&lacks, || {
        let null = std::process::Stdio::null();
        // Without the threads with which the other tests read what a job prints.
        std::process::Command::new("/bin/sh")
            .args(["-c", &format!("{oshrun} -np 2 echo lost 2>&1; echo $?")])
            .stdin(null)
            .output()
            .expect("a shell")
    });
    let text = String::from_utf8_lossy(&output.stdout);
    let line =
        "oshrun: cannot start: there is no thread for input and output: Resource temporarily unavailable";
    assert!(text.starts_with(line) && text.ends_with("\n2\n") && !text.contains("lost"), "{text}");
}
