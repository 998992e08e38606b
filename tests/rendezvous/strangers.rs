//! Processes that are not of the job, or not as it wants them.

use std::{
    fs::{self, Permissions},
    io::Write,
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    thread,
    time::Duration,
};

use oxshmem_base::owned;

use crate::common::{Job, test_name, time_limit};
use crate::{Apart, assert_all_well, main_of, talk};

/// How a process ends that the job refuses: with a line.
#[track_caller]
fn assert_refused(job: Job, why: &str) {
    let ended = job.start(|| main_of(talk)).end();
    assert_eq!(ended.status, 1, "{why}");
    assert!(ended.stderr.contains(why) && ended.stderr.lines().count() == 1, "{why}: {}", ended.stderr);
}

#[test]
fn whatever_else_comes_the_job_starts() {
    let _limit = time_limit(90);
    let apart = Apart::new(test_name!(), 3);
    let start = |pe| apart.job(pe).start(|| main_of(talk));
    let (zero, one) = (start(0), start(1));
    while TcpStream::connect(&apart.address).is_err() {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(500));
    assert_refused(apart.job(1), "two processes have the number 1");
    assert_refused(
        apart.job(2).env("SHMEM_RENDEZVOUS_SIZE=4"),
        "it that the job has 4 PEs, and PE 0 that it has 3",
    );
    let other = apart.secret.with_extension("other");
    owned::file(&other).and_then(|mut file| file.write_all(b"another secret of 16 bytes")).expect("a file");
    let wrong = apart.job(2).env(&format!("SHMEM_RENDEZVOUS_SECRET={}", other.display()));
    assert_refused(wrong, "PE 2 has another secret");
    fs::remove_file(&other).expect("it is there");
    assert_all_well(vec![zero, one, start(2)]);
}

#[test]
fn a_flood_of_strangers_does_not_hold_the_job_up() {
    let _limit = time_limit(90);
    let apart = Apart::new(test_name!(), 2);
    let start = |pe| apart.job(pe).start(|| main_of(talk));
    let zero = start(0);
    while TcpStream::connect(&apart.address).is_err() {
        thread::sleep(Duration::from_millis(5));
    }
    let mut strangers: Vec<_> = (0..1000).filter_map(|_| TcpStream::connect(&apart.address).ok()).collect();
    for round in 0..10 {
        for stranger in &mut strangers {
            // Some are closed already.
            let _ = stranger.write(if round % 2 == 0 { b"o" } else { b"\xff" });
        }
        thread::sleep(Duration::from_millis(100));
    }
    assert_all_well(vec![zero, start(1)]);
}

#[test]
fn a_secret_that_others_can_read_or_that_is_missing_is_refused_in_a_line() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 1);
    if std::env::var_os("OXSHMEM_TEST_BODY").is_some() {
        return assert_refused(apart.job(0), "");
    }
    fs::set_permissions(&apart.secret, Permissions::from_mode(0o640)).expect("its owner may");
    assert_refused(apart.job(0), "its mode is 640; chmod 600");
    fs::set_permissions(&apart.secret, Permissions::from_mode(0o600)).expect("its owner may");
    fs::write(&apart.secret, "short").expect("its owner may");
    assert_refused(apart.job(0), "has 5 bytes, and needs 16");
    let open = apart.job(0).env("SHMEM_RENDEZVOUS_SECRET=none").env("SHMEM_RENDEZVOUS=192.0.2.7:7777");
    assert_refused(open, "without a secret");
}
