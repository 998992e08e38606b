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
        ("-np 2 --stdin 1 true", "none, 0, all"),
        ("-np 2 -wdir /no/such true", "--wdir /no/such: there is no such folder"),
        // Several machines.
        ("--hostfile /no/such -np 2 true", "--hostfile /no/such: No such file"),
        ("-np 2 -machinefile=/dev/null true", "--hostfile /dev/null: it names no host"),
        ("-H a,b -np 3 true", "-np 3: the hosts take 2 PEs (a:1,b:1)"),
        ("-np 2 --host a, true", "-H: \"\" names no host"),
        ("-H a:0 true", "at least one slot"),
        ("-H=-oProxyCommand=x true", "\"-oProxyCommand=x\" is no host's name"),
        ("-H a;b true", "-H: \"a;b\" is no host's name"),
        ("-H a,b --fake-hosts 2 true", "cannot be used with"),
        ("-np 2 --launch-agent ssh true", "-H or --hostfile names"),
        ("-H a --launch-agent= true", "--launch-agent: there is no command"),
        ("-np 2 --lease 3 true", "--lease is for other hosts, which -H or --hostfile names"),
        ("-H a --lease 0.5 true", "it must be at least 1"),
        ("--agent -np 2 true", "--agent"),
        // What other launchers know.
        ("-np 2 -rankfile ranks true", "-H HOST:N,... names the hosts"),
        ("-machine a -np 2 true", "--hostfile a file"),
        ("-ppn 4 -np 2 true", "leave the option out"),
        ("-np 2 --oversubscribe true", "leave the option out"),
        ("-np 2 --mca btl self true", "-x VAR=VALUE"),
        ("-genv A b -np 2 true", "-x VAR=VALUE"),
        ("-np 1 true : true", "all PEs run one program"),
    ] {
        assert_refused(&line(args), about);
    }
}

#[test]
fn what_a_terminal_would_obey_is_shown_and_not_done() {
    let bad = "\u{1b}]0;title\u{7}\noshrun: PE 0 has ended well\u{202e}";
    let shown = r"\u{1b}]0;title\u{7}\noshrun: PE 0 has ended well\u{202e}";
    let inside = format!("/no/such/{bad}");
    let (option, fake) = (format!("--{bad}"), format!("--fake-hosts={bad}"));
    let (wdir, trace) = (format!("--wdir={inside}"), format!("--trace=/dev/null/{bad}"));
    for args in [
        &["-np", "2", bad][..],
        &["-np", "2", &inside],
        &["-np", bad, "true"],
        &["-np", "2", &option, "true"],
        &["-np", "2", &fake, "true"],
        &["-np", "2", &wdir, "true"],
        &["-np", "2", &trace, "true"],
        &["--trace-report", &inside],
        &["-np", "1", "true", ":", "-np", "1", bad],
    ] {
        let ended = oshrun(args);
        let controls = ended.stderr.trim_end_matches('\n').contains(char::is_control);
        assert!(ended.status == 2 && !controls && !ended.stderr.contains('\u{202e}'), "{args:?}: {ended:?}");
    }
    assert_refused(&oshrun(["-np", "2", &inside]), shown);
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
    assert_refused(&oshrun(["-np", "2", "-wdir", &folder.path(""), "./data"]), "not executable");
    std::fs::write(folder.path("text"), "#!/no/such/interpreter\n").expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path("text"), executable).expect("ours");
    assert_refused(&oshrun(["-np", "2", &folder.path("text")]), "as PE 0: No such file");
}

#[test]
fn a_program_of_this_folder_is_named_with_its_dot() {
    let folder = Folder::new("dot");
    std::fs::copy("/bin/true", folder.path("a.out")).expect("copied");
    let ended = shell(&format!("cd {}; {} -np 2 a.out", folder.path(""), env!("CARGO_BIN_EXE_oshrun")));
    assert_refused(&ended, "no such program in PATH; did you mean ./a.out?");
    assert_refused(&oshrun(["-np", "2", "--wdir", &folder.path(""), "a.out"]), "did you mean ./a.out?");
}

#[test]
fn pes_start_in_the_folder_that_is_asked_for() {
    let folder = Folder::new("wdir");
    std::fs::copy("/bin/pwd", folder.path("where")).expect("copied");
    let (path, name) = (folder.path(""), "./where");
    for option in ["--wdir", "-wdir", "-wd", "--wd"] {
        let ended = oshrun(["-np", "2", option, &path, name]);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
        let line = path.trim_end_matches('/');
        assert_eq!(ended.stdout, format!("{line}\n{line}\n"));
    }
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
    for option in ["-np", "-x", "--tag-output", "--timeout", "--bind-to", "--fake-hosts", "--stdin", "--wdir"]
    {
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
