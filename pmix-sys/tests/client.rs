//! The library that is installed: what it says, what it does without a launcher, and with one.

use std::{
    env,
    io::{Read, Seek},
    path::Path,
    process::{Command, Stdio},
    ptr::{null, null_mut},
    thread,
    time::{Duration, Instant},
};

use pmix_sys::*;

#[test]
fn the_installed_library_is_found_once_and_new_enough() {
    let pmix = match Pmix::load() {
        Ok(pmix) => pmix,
        Err(error) => return println!("skipped: {error}"),
    };
    println!("{pmix:?}");
    assert!(pmix.version() >= Version { major: 4, minor: 0, release: 0 });
    assert!(pmix.file().is_absolute(), "{}", pmix.file().display());
    assert!(std::ptr::eq(pmix, Pmix::load().expect("it is loaded")));
    assert!(pmix.status_text(PMIX_ERR_UNREACH).contains("UNREACH"));
    // SAFETY: it may always be called.
    assert_eq!(unsafe { pmix.PMIx_Initialized() }, 0);
}

#[test]
fn other_files_are_refused_by_name() {
    let error = Pmix::open(Path::new("/nowhere/libpmix.so.2")).expect_err("it is not there");
    assert!(matches!(error.cause(), Cause::Missing { .. }));
    let text = error.to_string();
    assert!(text.starts_with("PMIx cannot be loaded from /nowhere/libpmix.so.2: "), "{text}");
    assert!(text.contains("cannot open shared object file"), "{text}");
    assert!(text.ends_with("OXSHMEM_PMIX_LIBRARY has to name a libpmix.so.2, or to be unset"), "{text}");

    let text = Pmix::open(Path::new("libm.so.6")).expect_err("it is not PMIx").to_string();
    assert!(text.ends_with("libm.so.6 is not PMIx: it has no function PMIx_Get_version"), "{text}");
}

#[test]
fn without_a_launcher_init_fails_at_once() {
    if let Err(error) = Pmix::load() {
        return println!("skipped: {error}");
    }
    let mut command = Command::new(env::current_exe().expect("it runs"));
    command.args(["--exact", "print_what_init_says", "--ignored", "--nocapture"]);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if ["PMIX", "OMPI", "PRTE"].iter().any(|beginning| name.starts_with(beginning)) {
            command.env_remove(&*name);
        }
    }
    let (text, worked) = run(&mut command, Duration::from_secs(20));
    assert!(worked && text.contains("init: "), "{text}");
    println!("{text}");
}

/// Runs in a process of its own.
#[test]
#[ignore = "another test starts it"]
fn print_what_init_says() {
    let pmix = Pmix::load().expect("another test looked");
    let mut me = pmix_proc_t::default();
    let begin = Instant::now();
    // SAFETY: it stores who this is.
    let status = unsafe { pmix.PMIx_Init(&mut me, null_mut(), 0) };
    assert_ne!(status, PMIX_SUCCESS, "there is no launcher");
    println!("init: {} ({status}) after {:?}", pmix.status_text(status), begin.elapsed());
}

#[test]
fn without_init_calls_fail() {
    let Ok(pmix) = Pmix::load() else { return println!("skipped: PMIx is not installed") };
    let mut value = pmix_value_t::uint32(1);
    let job = pmix_proc_t::new(c"nobody", PMIX_RANK_WILDCARD);
    let mut found = null_mut();
    // SAFETY: everything lives longer than its call.
    unsafe {
        assert_eq!(pmix.PMIx_Put(PMIX_GLOBAL, c"key".as_ptr(), &mut value), PMIX_ERR_INIT);
        assert_eq!(pmix.PMIx_Fence(null(), 0, null(), 0), PMIX_ERR_INIT);
        assert_eq!(pmix.PMIx_Get(&job, PMIX_JOB_SIZE.as_ptr(), null(), 0, &mut found), PMIX_ERR_INIT);
        assert!(Value::from_raw(pmix, found).is_none());
    }
}

#[test]
fn four_processes_under_mpirun_exchange_what_they_put() {
    if let Err(error) = Pmix::load() {
        return println!("skipped: {error}");
    }
    if Command::new("mpirun").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return println!("skipped: there is no mpirun (Debian: openmpi-bin)");
    }
    // Cargo puts examples beside the folder of the tests.
    let this = env::current_exe().expect("it runs");
    let folder = this.ancestors().nth(2).expect("it is in target/PROFILE/deps");
    let example = folder.join("examples/pmix_hello");
    if !example.exists() {
        return println!("skipped: cargo was not asked to build the examples");
    }
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", "4"]).arg(example);
    let (text, worked) = run(&mut command, Duration::from_secs(60));
    assert!(worked, "{text}");
    for rank in 0..4 {
        let next = (rank + 1) % 4;
        let is_its_line = |line: &str| {
            line.starts_with(&format!("rank {rank} of 4 in "))
                && line.contains("4 on this host, \"0,1,2,3\"")
                && line.contains(&format!("found \"the card of {next}\""))
        };
        assert!(text.lines().any(is_its_line), "rank {rank}: {text}");
    }
    println!("{text}");
}

/// What a command prints, and whether it ends well. It is killed when its time is up.
fn run(command: &mut Command, limit: Duration) -> (String, bool) {
    // A file, because whatever the command starts may keep a pipe open for longer than it lives.
    let mut output = tempfile();
    let copy = || output.try_clone().expect("a descriptor can be copied");
    let (out, err) = (copy(), copy());
    let mut child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().expect("it starts");
    let deadline = Instant::now() + limit;
    let mut ended = true;
    let status = loop {
        match child.try_wait().expect("it is our child") {
            Some(status) => break status,
            // First politely, so that mpirun ends what it started.
            None if Instant::now() > deadline + Duration::from_secs(5) => {
                child.kill().expect("it is our child");
            }
            None if Instant::now() > deadline => {
                ended = false;
                // SAFETY: it takes no memory, and the child was not reaped yet, so the number is
                // its own.
                unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
                thread::sleep(Duration::from_millis(100));
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut text = String::new();
    output.rewind().expect("it is a file");
    output.read_to_string(&mut text).expect("it is text");
    if !ended {
        text += &format!("\nit took longer than {limit:?}");
    }
    (text, ended && status.success())
}

/// A file without a name.
fn tempfile() -> std::fs::File {
    use std::os::fd::FromRawFd;
    // SAFETY: the name is a string, and the descriptor is new and nobody else's.
    unsafe {
        #[allow(clippy::disallowed_methods, reason = "nobody shares it")]
        let descriptor = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
        assert!(descriptor >= 0, "{}", std::io::Error::last_os_error());
        std::fs::File::from_raw_fd(descriptor)
    }
}
