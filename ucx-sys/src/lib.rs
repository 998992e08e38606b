//! UCX, the communication library: the part of its C interface (UCP) that a SHMEM runtime needs,
//! found at run time.
//!
//! [`Ucx::load`] finds `libucp.so.0` when it is called; nothing of UCX is needed to build, and a
//! program runs without it until then. The types, constants and functions are those of the C
//! headers, made by `cargo xtask bindings` and committed; what the headers define as inline
//! functions is in Rust beside them. UCX keeps one interface for all versions 1.x, and structures
//! say in a mask which of their fields count, so one set of bindings serves 1.12 and everything
//! later. It is for 64-bit Linux.
//!
//! These are raw bindings: every function is unsafe, and asks for what UCX's documentation asks
//! for. The `ucx` transport of `oxshmem-net` is the only user; it is what makes this safe.

#[macro_use]
mod library;
#[allow(missing_docs, non_camel_case_types, non_snake_case, clippy::too_many_arguments)]
mod bindings;
mod inline;
#[cfg(test)]
mod library_tests;
mod log;

use std::{
    ffi::{CStr, c_uint},
    ops::Deref,
    path::{Path, PathBuf},
    sync::OnceLock,
};

pub use bindings::*;
pub use inline::*;
pub use library::{Cause, LoadError, Version};
use library::{Library, Product};

/// The environment variable that names a file to be loaded instead of `libucp.so.0`.
pub const LIBRARY_VARIABLE: &str = "OXSHMEM_UCX_LIBRARY";

static PRODUCT: Product = Product {
    name: "UCX",
    soname: "libucp.so.0",
    variable: LIBRARY_VARIABLE,
    landmark: "ucp_get_version",
    oldest: Version { major: 1, minor: 12, release: 0 },
    packages: "libucx0 (Debian) or libucx-cu12 (PyPI)",
};

/// UCX in this process. Its functions are the fields and methods of [`Functions`].
pub struct Ucx {
    functions: Functions,
    version: Version,
    file: PathBuf,
}

impl Ucx {
    /// Finds UCX, once in a process: a `libucp.so.0` that is already loaded, else the file in
    /// [`LIBRARY_VARIABLE`], else what the dynamic linker finds. After a failure, a later call
    /// tries again.
    pub fn load() -> Result<&'static Self, LoadError> {
        static LOADED: OnceLock<Ucx> = OnceLock::new();
        if let Some(ucx) = LOADED.get() {
            return Ok(ucx);
        }
        let ucx = Self::complete(Library::load(&PRODUCT)?)?;
        Ok(LOADED.get_or_init(|| ucx))
    }

    /// Takes UCX from this file, which stays loaded. Programs use [`Ucx::load`]; two files in one
    /// process may not get along.
    pub fn open(file: &Path) -> Result<Self, LoadError> {
        Self::complete(Library::open(&PRODUCT, file)?)
    }

    fn complete(library: Library) -> Result<Self, LoadError> {
        let get_version = library.find("ucp_get_version")?;
        // SAFETY: a library with a function of this name is UCX, and all versions declare it so.
        let get_version: unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint) =
            unsafe { std::mem::transmute(get_version) };
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // SAFETY: it stores three numbers, and needs nothing to be initialized.
        unsafe { get_version(&mut major, &mut minor, &mut release) };
        let version = library.check(Some(Version { major, minor, release }))?;
        // SAFETY: the bindings are those of UCX 1.13, and 1.12 and everything later has the same
        // functions.
        let functions = unsafe { Functions::find(&library) }?;
        log::to_stderr(&library);
        Ok(Self { functions, version, file: library.keep() })
    }

    /// The version of the library, which may be lower or higher than that of the bindings.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The file that it was loaded from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What a status means, in UCX's words.
    pub fn status_text(&self, status: ucs_status_t) -> String {
        // SAFETY: any number may be passed.
        let text = unsafe { self.ucs_status_string(status) };
        // SAFETY: it is a constant of the library, or for unknown numbers a buffer that the library
        // keeps.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Creates a context: the inline function of the headers. UCX would complain if it was older
    /// than the bindings, although both know the fields that `params` says are set; so it is given
    /// its own version then.
    ///
    /// # Safety
    /// `params` and `config` must be valid, and what `params` says is set must be set; `context` is
    /// written to.
    pub unsafe fn ucp_init(
        &self,
        params: *const ucp_params_t,
        config: *const ucp_config_t,
        context: *mut ucp_context_h,
    ) -> ucs_status_t {
        let minor = UCP_API_MINOR.min(self.version.minor);
        // SAFETY: the caller promises what it needs.
        unsafe { self.ucp_init_version(UCP_API_MAJOR, minor, params, config, context) }
    }
}

impl Deref for Ucx {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.functions
    }
}

impl std::fmt::Debug for Ucx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ucx")
            .field("version", &format_args!("{}", self.version))
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}
