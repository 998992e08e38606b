//! The page in a browser: Chromium without a window, which prints the page as its script has left
//! it. Pages and pictures of them stay in `target/report`, to be looked at.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::trace::model::PeTrace;

/// Loads the page, then sorts, extends and switches whatever there is, and says in `data-checked`
/// what came of it. Errors of the page end there too.
const CHECKS: &str = include_str!("tests.html");

#[test]
fn the_data_cannot_end_the_script_that_it_is_in() {
    let page = page(&synthetic::job(4, 2));
    assert_eq!(page.matches("</script>").count(), PAGE.matches("</script>").count());
    assert!(page.contains(r"stencil --steps 20 \u003c/script\u003e\u003c!--\u0026"));
    let data = embeddable(&json!({ "program": "</script>&" }));
    let read: Value = serde_json::from_str(&data).expect("it is JSON");
    assert_eq!(read["program"], "</script>&", "and nothing is lost");
}

#[test]
fn but_for_the_timeline_a_page_is_small_however_many_pes_there_are_and_however_long_they_ran() {
    let jobs = [(4, 20), (64, 20), (1000, 20), (1000, 40)];
    let sizes = jobs.map(|(n, steps)| page_within(&synthetic::job(n, steps), 0).len());
    assert!(sizes.iter().all(|size| *size < 600_000), "{sizes:?}");
}

#[test]
fn a_timeline_that_has_too_much_for_its_budget_leaves_the_page_within_it() {
    let (trace, budget) = (synthetic::job(64, 200), 300_000);
    let (with, without) = (page_within(&trace, budget).len(), page_within(&trace, 0).len());
    assert!(with <= without + budget / 3 * 4 + 1000, "{with} {without}");
    assert!(with > without + budget);
}

#[test]
fn a_page_needs_no_network() {
    for word in ["http:", "https:", "//fonts", "@import", "src=", "url(", "fetch("] {
        let page = PAGE.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(word) && !TIMELINE.contains(word), "{word}");
    }
}

#[test]
fn a_browser_shows_the_page_in_light_and_dark_and_sorts_its_tables() {
    let Some(browser) = browser() else {
        println!("skipped: there is no chromium, which `cargo verify --only tools` installs on Debian");
        return;
    };
    let folder = folder();
    let alone = Trace { program: "alone".into(), pes: vec![PeTrace::default()], ..Trace::default() };
    for (name, trace) in [("none", Trace::default()), ("alone", alone)] {
        checked(&browser, &folder, (name, &page(&trace)), "light", 1400);
    }
    // The last has more calls than are drawn one by one.
    for (n, steps, scheme) in [(4, 20, "light"), (64, 20, "light"), (1000, 45, "dark")] {
        let (name, trace) = (n.to_string(), synthetic::job(n, steps));
        let page = page(&trace);
        checked(&browser, &folder, (&name, &page), "light", 420);
        checked(&browser, &folder, (&name, &page), "dark", 1400);
        let path = folder.join(format!("{name}.html"));
        fs::write(&path, page).expect("the page is written");
        let picture = format!("--screenshot={}", path.with_extension("png").display());
        run(&browser, &[in_scheme(scheme), "--window-size=1200,4200", &picture], &path);
    }
    // Most calls of this one are left out.
    let page = page_within(&synthetic::job(64, 100), 100_000);
    checked(&browser, &folder, ("left-out", &page), "light", 1400);
    // The others are in runs.
    let page = page_within(&synthetic::job(2, 10_000), 600_000);
    checked(&browser, &folder, ("runs", &page), "dark", 420);
    println!("pages and pictures are in {}", folder.display());
}

/// Loads a page with the checks, which must have found no errors, and the scheme that was asked
/// for. Returns the time that drawing took.
fn checked(browser: &Path, folder: &Path, (name, page): (&str, &str), scheme: &str, width: u32) -> String {
    let path = folder.join(format!("{name}-checked.html"));
    let page = page.replacen("<head>", &format!("<head>{CHECKS}"), 1);
    fs::write(&path, page).expect("the page is written");
    let window = format!("--window-size={width},1200");
    let dom = run(browser, &[in_scheme(scheme), &window, "--dump-dom"], &path);
    assert!(dom.contains(&format!("data-checked=\"{scheme}, no errors\"")), "{name}: {}", found(&dom));
    let drawn = dom.split("data-drawn=\"").nth(1).and_then(|rest| rest.split('"').next());
    drawn.unwrap_or_default().to_owned()
}

#[test]
#[ignore = "a measurement: cargo test -p oxshmem-launch --lib report::tests -- --ignored --nocapture"]
fn five_million_records() {
    for (n, steps) in [(64, 16_000), (1000, 1000)] {
        let trace = synthetic::job(n, steps);
        let begin = Instant::now();
        let page = page(&trace);
        println!(
            "{n} PEs, {} records, {} bytes, made in {:?}",
            n as u64 * steps * 5,
            page.len(),
            begin.elapsed()
        );
        assert!(page.len() < 30_000_000);
        if let Some(browser) = browser() {
            let name = format!("large-{n}");
            println!("{}", checked(&browser, &folder(), (&name, &page), "light", 1400));
        }
    }
}

/// The option by which the browser prefers it.
fn in_scheme(scheme: &str) -> &'static str {
    match scheme {
        "dark" => "--blink-settings=preferredColorScheme=0",
        _ => "--blink-settings=preferredColorScheme=1",
    }
}

/// What the checks found, or the end of what there is.
fn found(dom: &str) -> &str {
    match dom.find("data-checked") {
        Some(place) => &dom[place..dom.floor_char_boundary(place + 2000)],
        None => &dom[dom.floor_char_boundary(dom.len().saturating_sub(2000))..],
    }
}

fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&folders)
        .flat_map(|folder| ["chromium-headless-shell", "chromium"].map(|it| folder.join(it)));
    places.into_iter().find(|place| place.is_file())
}

/// `target/report`, beside the folder of this test.
fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let target = test.ancestors().nth(3).expect("it is in target/debug/deps");
    let folder = target.join("report");
    fs::create_dir_all(&folder).expect("the folder is made");
    folder
}

/// Loads a page and returns what the browser prints, which must not say that the page had an error.
/// The browser leads a process group, which is killed if it takes too long.
fn run(browser: &Path, options: &[&str], page: &Path) -> String {
    let (log, profile) = (page.with_extension("log"), page.with_extension("profile"));
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--hide-scrollbars", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(options)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&log).expect("the log is made"))
        .process_group(0)
        .spawn()
        .expect("the browser starts");
    let mut stdout = child.stdout.take().expect("it is a pipe");
    let reader = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the browser is a child") {
            break Some(status);
        }
        if begin.elapsed() > Duration::from_secs(60) {
            break None;
        }
        thread::sleep(Duration::from_millis(10));
    };
    let group = rustix::process::Pid::from_child(&child);
    // What it has started may outlive it.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let status = status.or_else(|| child.wait().ok());
    let log = fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_dir_all(&profile);
    assert!(status.is_some_and(|status| status.success()), "{status:?} {log}");
    let complaints: Vec<_> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    reader.join().expect("the reader does not panic").expect("the browser prints UTF-8")
}
