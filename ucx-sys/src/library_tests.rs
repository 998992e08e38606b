//! What the texts say when a library is missing, old, or another one.

use std::path::Path;

use crate::library::{Cause, Library, Product, Version};

static ABSENT: Product = Product {
    name: "Teleport",
    soname: "libteleport-of-nobody.so.7",
    variable: "TELEPORT_LIBRARY_OF_NOBODY",
    landmark: "teleport_version",
    oldest: Version { major: 2, minor: 1, release: 0 },
    packages: "libteleport7 (Debian)",
};

/// A library that every process has, with limits that a test needs.
static C_LIBRARY: Product = Product { name: "C", soname: "libc.so.6", landmark: "malloc", ..ABSENT };

#[test]
fn a_missing_library_is_named_with_what_to_install() {
    let text = Library::load(&ABSENT).err().expect("nobody has it").to_string();
    let part = "Teleport cannot be loaded from libteleport-of-nobody.so.7: ";
    assert!(text.starts_with(part), "{text}");
    let part = "Teleport 2.1 or later is needed: install libteleport7 (Debian), or name another \
                libteleport-of-nobody.so.7 in TELEPORT_LIBRARY_OF_NOBODY";
    assert!(text.ends_with(part), "{text}");
}

#[test]
fn an_old_library_is_named_with_its_version() {
    let library = Library::open(&C_LIBRARY, Path::new("libc.so.6")).expect("every process has it");
    let error = library.check(Some(Version { major: 2, minor: 0, release: 9 })).expect_err("2.1 is needed");
    assert!(matches!(error.cause(), Cause::Version { found: Some(_), .. }));
    let text = error.to_string();
    assert!(
        text.contains("libc.so.6 is version 2.0.9, which is too old; C 2.1 or later is needed"),
        "{text}"
    );
    assert!(library.check(Some(Version { major: 2, minor: 1, release: 0 })).is_ok());
    let text = library.check(None).expect_err("it is unknown").to_string();
    assert!(text.contains("does not tell"), "{text}");
}

#[test]
fn a_missing_function_is_named_with_the_file() {
    let library = Library::open(&C_LIBRARY, Path::new("libc.so.6")).expect("every process has it");
    let text = library.find("no_such_function").expect_err("it has none").to_string();
    assert!(text.contains("libc.so.6 has no function no_such_function; C 2.1 or later"), "{text}");
    assert!(library.find("malloc").is_ok());
    assert!(library.keep().is_absolute());
}

#[test]
fn a_library_that_is_already_loaded_is_taken() {
    let library = Library::load(&C_LIBRARY).expect("every process has it");
    let file = library.keep();
    assert!(file.ends_with("libc.so.6"), "{}", file.display());
}
