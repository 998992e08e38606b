//! What `oshrun` cannot do, it says in one line before it starts anything.

mod common;

use common::{Ended, Folder, line, oshrun};

fn assert_refused(ended: &Ended, about: &str) {
    assert_eq!(ended.status, 2, "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(ended.stderr.starts_with("oshrun: ") && ended.stderr.ends_with('\n'), "{ended:?}");
    assert!(ended.stderr.contains(about), "{about}: {ended:?}");
    assert_eq!(ended.stdout, "");
}

#[test]
fn bad_options_are_one_line_and_status_2() {
    for (args, about) in [
        ("--bad -np 2 true", "--bad"),
        ("-np", "value is required"),
        ("-np 2", "PROGRAM"),
        ("true", "--np <N>"),
        ("-np two true", "two"),
        ("-np -1 true", "-1"),
        ("-np 0 true", "at least one"),
        ("-np 2 -np 3 true", "multiple"),
        ("-np 2 --timeout 0 true", "more than 0"),
        ("-np 2 --timeout soon true", "number of seconds"),
        ("-np 2 --timeout nan true", "number of seconds"),
        ("-np 2 --bind-to socket true", "core"),
        ("-np 2 -x =3 true", "no name"),
        ("-np 2 --fake-hosts 3 true", "--fake-hosts 3: 3 are more hosts than PEs"),
        ("-np 2 --fake-hosts 0 true", "at least one host"),
        ("-np 2 --fake-hosts -1 true", "-1"),
        ("-np 2 --fake-hosts two true", "no number of hosts like 2"),
        ("-np 5 --fake-hosts 3+1 true", "--fake-hosts 3+1: the hosts take 4 PEs together, and there are 5"),
        ("-np 4 --fake-hosts 3,0,1 true", "at least one PE on every host"),
        ("-np 4 --fake-hosts 2:block true", "cyclic"),
        ("-np 100000 true", "above the limit of"),
    ] {
        assert_refused(&line(args), about);
    }
}

#[test]
fn a_program_that_cannot_be_started_is_one_line_and_status_2() {
    let folder = Folder::new("usage");
    std::fs::write(folder.path("data"), "no program").expect("written");
    assert_refused(&oshrun(["-np", "2", "no-such-program"]), "no such program in PATH");
    assert_refused(&oshrun(["-np", "2", "/no/such/program"]), "no such file");
    assert_refused(&oshrun(["-np", "2", &folder.path("data")]), "not executable");
    assert_refused(&oshrun(["-np", "2", &folder.path("")]), "not a file");
    assert_refused(&oshrun(["-np", "2", ""]), "");
    std::fs::write(folder.path("text"), "#!/no/such/interpreter\n").expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path("text"), executable).expect("ours");
    assert_refused(&oshrun(["-np", "2", &folder.path("text")]), "as PE 0: No such file");
}

#[test]
fn the_limit_of_descriptors_is_named() {
    let script = format!("ulimit -n 100; exec {} -np 10 true", env!("CARGO_BIN_EXE_oshrun"));
    assert_refused(&Ended { ..shell(&script) }, "above the limit of 9");
    let script = format!("ulimit -n 100; exec {} -np 9 true", env!("CARGO_BIN_EXE_oshrun"));
    assert_eq!(shell(&script).status, 0);
}

fn shell(script: &str) -> Ended {
    let output = std::process::Command::new("/bin/sh").args(["-c", script]).output().expect("a shell");
    Ended {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn help_and_version_are_answers() {
    let help = line("--help");
    assert_eq!((help.status, help.stderr.as_str()), (0, ""));
    for option in ["-np", "-x", "--tag-output", "--timeout", "--bind-to", "--fake-hosts"] {
        assert!(help.stdout.contains(option), "{option}");
    }
    assert!(line("--version").stdout.starts_with("oshrun "));
}

#[test]
fn x_sets_variables() {
    let script = "echo \"$A|$B|$OSHRUN_TEST\" | cut -d. -f1-2";
    let ended = oshrun([
        "-np",
        "1",
        "-x",
        "A=1=2",
        "-x",
        "B=",
        "-x",
        "OSHRUN_TEST",
        "-x",
        "UNSET",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(ended.stdout.starts_with(&format!("1=2||{}-", std::process::id())), "{}", ended.stdout);
}

#[test]
fn bind_to_core_gives_each_pe_one_cpu() {
    let script = "grep Cpus_allowed_list /proc/self/status";
    let ended = oshrun(["-np", "3", "--tag-output", "--bind-to", "core", "sh", "-c", script]);
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    let cpus: Vec<_> = lines.iter().map(|line| line.rsplit('\t').next().expect("a list")).collect();
    assert_eq!(cpus.len(), 3);
    assert!(cpus.iter().all(|cpu| cpu.parse::<usize>().is_ok()), "{cpus:?}");
    match std::thread::available_parallelism().map_or(1, usize::from) {
        1 => assert!(cpus[0] == cpus[1] && cpus[1] == cpus[2]),
        2 => assert!(cpus[0] != cpus[1] && cpus[0] == cpus[2], "{cpus:?}"),
        _ => assert!(cpus[0] != cpus[1] && cpus[1] != cpus[2], "{cpus:?}"),
    }
}

#[test]
fn the_program_sees_its_name_and_arguments() {
    let ended = oshrun(["-np", "1", "--", "sh", "-c", "echo \"$0 $1 $2\"", "-np", "--", "--timeout"]);
    assert_eq!(ended.stdout, "-np -- --timeout\n");
}
