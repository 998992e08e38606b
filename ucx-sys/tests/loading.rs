//! Which file is taken, and what the error is when it is not UCX.

use std::{env, path::Path, process::Command};

use ucx_sys::{Cause, LIBRARY_VARIABLE, UCS_ERR_UNREACHABLE, UCS_OK, Ucx, Version};

#[test]
fn the_installed_library_is_found_once_and_new_enough() {
    let ucx = match Ucx::load() {
        Ok(ucx) => ucx,
        Err(error) => return println!("skipped: {error}"),
    };
    println!("{ucx:?}");
    assert!(ucx.version() >= Version { major: 1, minor: 12, release: 0 });
    assert!(ucx.file().is_absolute(), "{}", ucx.file().display());
    assert!(std::ptr::eq(ucx, Ucx::load().expect("it is loaded")));
    assert_eq!(ucx.status_text(UCS_OK), "Success");
    assert_eq!(ucx.status_text(UCS_ERR_UNREACHABLE), "Destination is unreachable");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Ucx::open(Path::new("/nowhere/libucp.so.0")).expect_err("it is not there");
    assert!(matches!(error.cause(), Cause::Missing { .. }));
    let text = error.to_string();
    assert!(text.starts_with("UCX cannot be loaded from /nowhere/libucp.so.0: "), "{text}");
    assert!(text.contains("cannot open shared object file"), "{text}");
    assert!(text.ends_with("OXSHMEM_UCX_LIBRARY has to name a libucp.so.0, or to be unset"), "{text}");
}

#[test]
fn another_library_is_not_taken_for_it() {
    let error = Ucx::open(Path::new("libm.so.6")).expect_err("it is not UCX");
    assert!(matches!(error.cause(), Cause::Symbol { symbol: "ucp_get_version", .. }));
    let text = error.to_string();
    assert!(text.ends_with("libm.so.6 is not UCX: it has no function ucp_get_version"), "{text}");
}

#[test]
fn the_environment_names_another_file() {
    let output = Command::new(env::current_exe().expect("it runs"))
        .args(["--exact", "print_what_loading_says", "--ignored", "--nocapture"])
        .env(LIBRARY_VARIABLE, "/nowhere/of/mine.so")
        .output()
        .expect("it runs again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("UCX cannot be loaded from /nowhere/of/mine.so: "), "{text}");
}

/// Runs in a process of its own.
#[test]
#[ignore = "another test starts it"]
fn print_what_loading_says() {
    match Ucx::load() {
        Ok(ucx) => println!("{ucx:?}"),
        Err(error) => println!("{error}"),
    }
}
