//! `oshtop` and `shmem-info --jobs` show a job that runs, and SIGUSR1 has `oshrun` print its table.

mod common;

use std::process::Command;

use common::{Running, eventually, split, start};
use oxshmem_net::UcxFound;
use serde_json::Value;

/// A job that runs until it is ended.
fn busy(arguments: &str) -> Running {
    start(split(&format!("{arguments} pe busy")))
}

/// What a program prints, and whether it ended well.
fn output(program: &str, args: &[&str]) -> (bool, String) {
    let output = Command::new(program).args(args).output().expect("it runs");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(text).expect("text"))
}

fn oshtop(args: &[&str]) -> (bool, String) {
    output(env!("CARGO_BIN_EXE_oshtop"), args)
}

fn shmem_info(args: &[&str]) -> String {
    let (good, text) = output(env!("CARGO_BIN_EXE_shmem-info"), args);
    assert!(good, "{text}");
    text
}

/// The view of a job, once all of its PEs are there.
fn view(job: &str, n: usize) -> Value {
    eventually("a view of all PEs", || {
        let (good, text) = oshtop(&[job, "--once", "--json", "--interval", "0.2"]);
        let view: Value = serde_json::from_str(&text).ok().filter(|_| good)?;
        let all_count = |rows: &Vec<Value>| {
            rows.len() == n
                && rows[0]["out_operations_per_s"].as_f64().is_some_and(|rate| rate > 0.0)
                && rows[1..].iter().all(|row| row["in"] == "barrier #7" && row["waiting"] == 1.0)
        };
        view["table"].as_array().is_some_and(all_count).then_some(view)
    })
}

#[test]
fn oshtop_shows_once_what_each_pe_is_in_and_does_as_json_and_as_text() {
    let running = busy("-np 3");
    let job = running.child.id().to_string();
    let view = view(&job, 3);
    assert_eq!((&view["pes"], &view["job"]), (&3.into(), &running.child.id().into()));
    let [putting, target, last] = [0, 1, 2].map(|pe| &view["table"][pe]);
    assert_eq!((putting["in"].as_str(), putting["waiting"].as_f64()), (Some("computing"), Some(0.0)));
    let number = |row: &Value, of: &str| row[of].as_f64().expect("a number");
    let bytes = number(putting, "out_bytes_per_s") / number(putting, "out_operations_per_s");
    assert!((63.0..65.0).contains(&bytes), "{bytes}");
    assert!(number(target, "in_operations_per_s") > 0.0);
    assert_eq!((number(last, "waiting"), number(last, "in_operations_per_s")), (1.0, 0.0));
    assert_eq!(last["arguments"], "on the world team");
    assert!((number(&view, "imbalance") - 3.0).abs() < 1e-9, "one of three PEs does not wait");

    let (good, text) = oshtop(&[&job, "--once", "--interval", "0.2"]);
    assert!(good, "{text}");
    let [title, sums, head, rows @ ..] = &text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert!(title.starts_with(&format!("job {job} of oshrun: 3 PEs on ")), "{title}");
    assert!(title.ends_with("launch_pe busy") && sums.ends_with("imbalance 3.00"), "{text}");
    assert!(head.trim_start().starts_with("PE  host"), "{head}");
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows[2].contains("barrier #7") && rows[2].ends_with("on the world team"), "{text}");

    // Any process of the job will do.
    let pid = last["pid"].to_string();
    assert!(oshtop(&[&pid, "--once", "--interval", "0.1"]).1.contains(&format!("job {job} ")));
    running.signal(libc::SIGKILL);
}

#[test]
fn what_a_job_does_is_recorded_until_it_ends_and_drawn() {
    let folder = std::env::temp_dir().join(format!("oshtop-record-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("record");
    let path = file.to_str().expect("text");
    let running = busy("-np 3");
    let job = running.child.id().to_string();
    view(&job, 3);
    let mut recording = Command::new(env!("CARGO_BIN_EXE_oshtop"))
        .args([&job, "--record", path, "--interval", "0.1"])
        .spawn()
        .expect("it runs");
    let lines = || std::fs::read_to_string(path).unwrap_or_default().lines().count();
    eventually("some lines", || (lines() >= 3).then_some(()));
    running.signal(libc::SIGKILL);
    let ended = eventually("the end of the job is seen", || recording.try_wait().expect("it is a child"));
    assert!(ended.success(), "{ended}");

    let text = std::fs::read_to_string(path).expect("it was written");
    let line: Value = serde_json::from_str(text.lines().nth(1).expect("a line")).expect("JSON");
    assert_eq!((&line["pes"], line["table"].as_array().map(Vec::len)), (&3.into(), Some(3)));
    let (good, picture) = oshtop(&["--picture", path]);
    assert!(good && picture.starts_with("<svg ") && picture.contains("launch_pe busy"), "{picture}");
    // A line that was cut off is left out, and another file is refused.
    std::fs::write(path, &text[..text.len() - 20]).expect("it is written");
    assert!(oshtop(&["--picture", path]).0);
    std::fs::write(path, "{}\n").expect("it is written");
    let refused = oshtop(&["--picture", path]);
    assert_eq!(refused, (false, format!("oshtop: {path}: line 1 is not of oshtop --record\n")));
    std::fs::remove_dir_all(folder).expect("it is there");
}

#[test]
fn a_program_and_arguments_that_a_terminal_would_obey_are_shown_and_not_done() {
    let bad = "\u{1b}[2J\n\u{9b}31m";
    let mut command = split("-np 2 pe busy");
    command.push(bad.to_owned());
    let running = start(command);
    let id = running.child.id().to_string();
    let shown = r"launch_pe busy \u{1b}[2J\n\u{9b}31m";
    let clean = |text: &str| !text.replace('\n', "").contains(char::is_control);
    eventually("the view of the job", || {
        let (good, text) = oshtop(&[&id, "--once", "--interval", "0.1"]);
        let title = text.lines().next().filter(|_| good)?;
        assert!(title.ends_with(shown) && clean(&text), "{text:?}");
        Some(())
    });
    let text = shmem_info(&["--jobs"]);
    let line =
        text.lines().find(|line| line.starts_with(&format!("{id} "))).unwrap_or_else(|| panic!("{text}"));
    assert!(line.ends_with(shown) && clean(&text), "{text:?}");
    // Programs get it as it is.
    let all: Value = serde_json::from_str(&shmem_info(&["--jobs", "--json"])).expect("JSON");
    let job = all.as_array().expect("a list").iter().find(|job| job["job"] == running.child.id());
    assert_eq!(job.expect("the job")["program"], format!("launch_pe busy {bad}"));
    // And what they cannot do they say as well.
    for program in [env!("CARGO_BIN_EXE_oshtop"), env!("CARGO_BIN_EXE_shmem-info")] {
        let (good, text) = output(program, &[&format!("--{bad}")]);
        assert!(!good && clean(&text) && text.contains(r"\u{9b}31m"), "{text:?}");
    }
    running.signal(libc::SIGKILL);
}

#[test]
fn jobs_are_listed_with_their_hosts_and_are_not_once_they_are_over() {
    let hosts = match UcxFound::look() {
        UcxFound::Loaded { .. } => 2,
        UcxFound::Missing(why) => {
            println!("on one host, as others cannot be reached: {why}");
            1
        }
    };
    let running = busy(&format!("-np 4 --fake-hosts {hosts}"));
    let id = running.child.id();
    let find = || {
        let all: Value = serde_json::from_str(&shmem_info(&["--jobs", "--json"])).expect("JSON");
        all.as_array().expect("a list").iter().find(|job| job["job"] == id).cloned()
    };
    let job = eventually("the job", || find().filter(|job| job["pes"] == 4));
    assert_eq!(job["hosts"].as_array().map(Vec::len), Some(hosts), "{job}");
    assert_eq!(job["launcher"], "oshrun");
    assert!(job["program"].as_str().is_some_and(|program| program == "launch_pe busy"), "{job}");
    let text = shmem_info(&["--jobs"]);
    let line = text.lines().find(|line| line.starts_with(&format!("{id} ")));
    let line = line.unwrap_or_else(|| panic!("job {id} has no line: {text}"));
    assert!(line.contains("  oshrun  ") && line.ends_with("launch_pe busy"), "{text}");
    running.signal(libc::SIGTERM);
    let ended = running.end();
    assert_eq!(ended.status, 143);
    assert!(find().is_none());
}

#[test]
fn the_pes_of_each_machine_are_a_job_of_its_agent() {
    let [pe, busy] = &split("pe busy")[..] else { unreachable!("two words") };
    let running = start(["-H", "a:2,b:2", "--launch-agent", "env NAME={host}", pe, busy]);
    let jobs = eventually("a job for each of both", || {
        let all: Value = serde_json::from_str(&shmem_info(&["--jobs", "--json"])).expect("JSON");
        let processes = running.left();
        let is_ours = |job: &&Value| processes.iter().any(|pid| job["job"] == *pid);
        let ours: Vec<Value> = all.as_array().expect("a list").iter().filter(is_ours).cloned().collect();
        (ours.len() == 2 && ours.iter().all(|job| job["pes"] == 2)).then_some(ours)
    });
    let mut shown = Vec::new();
    for job in &jobs {
        assert!(job["job"] != running.child.id() && job["launcher"] == "oshrun", "{job}");
        let (good, text) = oshtop(&[&job["job"].to_string(), "--once", "--json", "--interval", "0.2"]);
        assert!(good, "{text}");
        let view: Value = serde_json::from_str(&text).expect("JSON");
        let rows = view["table"].as_array().expect("a list");
        shown.push([0, 1].map(|row| (rows[row]["pe"].as_u64(), rows[row]["in"].as_str().map(str::to_owned))));
        // Any of its PEs will do.
        let (good, text) = oshtop(&[&rows[1]["pid"].to_string(), "--once", "--interval", "0.1"]);
        assert!(good && text.starts_with(&format!("job {} of oshrun: 2 PEs on ", job["job"])), "{text}");
    }
    shown.sort();
    let row = |pe: u64, what: &str| (Some(pe), Some(what.to_owned()));
    let barrier = "barrier #7";
    assert_eq!(shown, [[row(0, "computing"), row(1, barrier)], [row(2, barrier), row(3, barrier)]]);
    running.signal(libc::SIGTERM);
    assert_eq!(running.end().status, 143);
}

#[test]
fn sigusr1_prints_the_table_of_all_pes_and_the_job_goes_on() {
    let running = busy("-np 3");
    view(&running.child.id().to_string(), 3);
    for _ in 0..2 {
        running.signal(libc::SIGUSR1);
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    running.signal(libc::SIGTERM);
    let ended = running.end();
    assert_eq!(ended.stderr.matches("oshrun: the PEs are in:\n").count(), 2, "{}", ended.stderr);
    let rows: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("  barrier #7  ")).collect();
    assert_eq!(rows.len(), 2, "{}", ended.stderr);
    assert!(rows[0].starts_with("  1,2  ") && rows[0].ends_with("on the world team"), "{}", rows[0]);
}

#[test]
fn a_job_that_is_not_there_is_one_line_and_status_2() {
    let output = Command::new(env!("CARGO_BIN_EXE_oshtop")).arg("1").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text, "oshtop: 1 is no job of this user on this host; see shmem-info --jobs\n");
    assert!(!oshtop(&["--interval", "0"]).0 && !oshtop(&["--json"]).0);
}
