//! The man pages are pages that man can show.

mod support;

use std::{collections::BTreeSet, fs, process::Command};

use oxshmem_capi_table::{groups, man_pages};
use support::{folder, installed, run};

#[test]
fn every_group_has_a_page_with_all_sections() {
    let pages = man_pages();
    assert_eq!(pages.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len(), groups().count());
    for (name, text) in &pages {
        for section in
            ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "COMPLETION", "STANDARDS", "SEE ALSO"]
        {
            assert!(text.contains(&format!("\n.SH {section}\n")), "{name}: no {section}");
        }
        assert!(text.lines().all(|line| !line.trim().is_empty()), "{name}: an empty line");
    }
}

#[test]
fn nothing_is_wrong_with_the_pages() {
    let folder = folder("man");
    for (name, text) in man_pages() {
        fs::write(folder.join(name), text).unwrap();
    }
    let pages = || man_pages().into_iter().map(|(name, _)| name);
    let mut checked = false;
    // Both say on standard error, or by their status, what they do not like.
    for (program, arguments) in [("mandoc", "-T lint -W warning"), ("groff", "-ww -man -z -Tutf8")] {
        if !installed(program) {
            println!("skipped: {program} is not installed");
            continue;
        }
        let mut command = Command::new("sh");
        let script = format!(
            "found=$({program} {arguments} \"$@\" 2>&1) && [ -z \"$found\" ] || {{ echo \"$found\" >&2; exit 1; }}"
        );
        command.args(["-c", &script, program]).args(pages()).current_dir(&folder);
        run(&mut command).unwrap_or_else(|fault| panic!("{fault}"));
        checked = true;
    }
    if !checked {
        println!("skipped: neither mandoc nor groff is installed");
    }
}
