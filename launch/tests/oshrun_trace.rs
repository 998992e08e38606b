//! `oshrun --trace`: what it makes of a folder in which PEs have recorded nothing, or cannot.

mod common;

use std::{fs, path::PathBuf};

use common::oshrun;

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("oshrun-trace-{name}-{}", std::process::id())))
    }

    fn shown(&self) -> &str {
        self.0.to_str().expect("a readable path")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn pes_find_the_folder_wherever_they_are_and_a_job_without_records_ends_as_it_would() {
    let folder = Folder::new("made");
    fs::create_dir_all(&folder.0).unwrap();
    for stale in ["pe-0.trace", "pe-12.trace", "pe-x.trace", "notes"] {
        fs::write(folder.0.join(stale), b"old").unwrap();
    }
    let script = r#"test "${SHMEM_TRACE#/}" != "$SHMEM_TRACE" && ls "$SHMEM_TRACE" && exit 5"#;
    let ended = oshrun(["-np", "1", "--wdir", "/", "--trace", folder.shown(), "--", "/bin/sh", "-c", script]);
    assert_eq!(ended.status, 5, "{ended:?}");
    assert_eq!(ended.stdout, "notes\npe-x.trace\n");
    let expected = format!("oshrun: there is no recording of a PE in {}", folder.shown());
    assert!(ended.stderr.lines().any(|line| line == expected), "{ended:?}");
}

#[test]
fn a_folder_that_cannot_be_made_or_read_is_refused_in_a_line() {
    let folder = Folder::new("refused");
    fs::write(&folder.0, b"a file").unwrap();
    let inside = format!("{}/inside", folder.shown());
    let missing = format!("{}-missing", folder.shown());
    for (args, part) in [
        (&["-np", "1", "--trace", &inside, "true"][..], "--trace "),
        (&["--trace-report", &missing][..], "cannot read "),
        (&["--trace-report", &missing, "-np", "1", "true"][..], "cannot be used with"),
        (&["--trace-compare", &missing, &missing][..], "cannot read "),
        (&["--trace-compare", &missing][..], "2 values required"),
    ] {
        let ended = oshrun(args);
        assert_eq!((ended.status, ended.stderr.lines().count()), (2, 1), "{ended:?}");
        assert!(ended.stderr.contains(part), "{ended:?}");
    }
    fs::remove_file(&folder.0).unwrap();
}

#[test]
fn a_folder_of_damaged_files_says_what_is_wrong_with_one() {
    let folder = Folder::new("damaged");
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.0.join("pe-0.trace"), vec![0; 8192]).unwrap();
    let ended = oshrun(["--trace-report", folder.shown()]);
    assert_eq!(ended.status, 2);
    assert!(ended.stderr.contains("there is no recording of a PE in"), "{ended:?}");
    assert!(ended.stderr.contains("pe-0.trace is left out: it is no recording"), "{ended:?}");
}
