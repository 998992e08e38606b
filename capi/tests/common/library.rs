//! What is in the libraries, as `nm` tells it, and what `libshmem.a` is linked with.
#![allow(dead_code)]

use std::{collections::BTreeMap, ffi::OsString, path::Path, process::Command};

use crate::common::{Ended, programs};

/// What `libshmem.a` needs: `rustc --print native-static-libs`.
const SYSTEM: [&str; 7] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// What links with `libshmem.a`. In a program that is static as a whole, the compiler brings its
/// own unwinder.
pub(crate) fn archive(whole: bool) -> Vec<OsString> {
    let system = SYSTEM.iter().filter(|name| !whole || **name != "-lgcc_s").map(OsString::from);
    std::iter::once(programs().join("libshmem.a").into_os_string()).chain(system).collect()
}

/// A symbol, as `nm` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    /// `T` if it is defined and strong, `W` if it is defined and weak, `U` if it is not defined.
    pub(crate) kind: char,
    pub(crate) address: u64,
}

/// The symbols of a file.
pub(crate) fn symbols(options: &[&str], file: &Path) -> BTreeMap<String, Symbol> {
    let ended = Ended::of(Command::new("nm").args(["--portability", "--radix=x"]).args(options).arg(file));
    assert_eq!(ended.status, Some(0), "nm {}: {}", file.display(), ended.stderr);
    let mut found = BTreeMap::new();
    for line in ended.stdout.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(kind)) = (words.next(), words.next()) else { continue };
        let [kind] = kind.as_bytes() else { continue };
        let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0);
        found.insert(name.to_owned(), Symbol { kind: char::from(*kind), address });
    }
    found
}
