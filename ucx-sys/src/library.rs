//! How a C library is found while the program runs, and what the error is when it is not. `ucx-sys`
//! has this file, and `pmix-sys` a symbolic link to it: each is a package of its own.
//!
//! A library of that name that is already in the process is always the one that is taken: an MPI
//! program may have brought it, and two copies of UCX, or two clients of PMIx, would get in each
//! other's way. Otherwise it is the file that an environment variable names, or else what the
//! dynamic linker finds. It stays loaded until the process ends.

use std::{
    ffi::{CStr, OsStr, c_void},
    fmt,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

/// What is known of a library before it is loaded.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) name: &'static str,
    /// The name that every version of it has for the dynamic linker.
    pub(crate) soname: &'static str,
    /// The environment variable that names a file to be loaded instead.
    pub(crate) variable: &'static str,
    /// A function that every version has, by which a file is recognized.
    pub(crate) landmark: &'static str,
    pub(crate) oldest: Version,
    /// Which packages contain it.
    pub(crate) packages: &'static str,
}

/// Major, minor and release number of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Versions that differ here may have different interfaces.
    pub major: u32,
    /// A higher one has everything that a lower one has.
    pub minor: u32,
    /// Repairs only.
    pub release: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.release)
    }
}

/// Why a library cannot be used. Its text says what was tried, and what to install.
#[derive(Clone, Debug)]
pub struct LoadError {
    product: &'static Product,
    cause: Cause,
}

/// What exactly was wrong when a library was loaded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The dynamic linker loads nothing of that name.
    Missing {
        /// The file or name that was tried.
        tried: PathBuf,
        /// The dynamic linker's message.
        reason: String,
    },
    /// It was loaded, but has no function of this name: it is another library, or an old version.
    Symbol {
        /// The file that was loaded.
        file: PathBuf,
        /// The function.
        symbol: &'static str,
    },
    /// It was loaded, but is too old.
    Version {
        /// The file that was loaded.
        file: PathBuf,
        /// What it is, if it says so in a way that is understood.
        found: Option<Version>,
    },
}

impl LoadError {
    /// What was wrong.
    pub fn cause(&self) -> &Cause {
        &self.cause
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Product { name, soname, variable, oldest, packages, landmark } = self.product;
        match &self.cause {
            Cause::Missing { tried, reason } => {
                write!(f, "{name} cannot be loaded from {}: {reason}", tried.display())?;
                if tried != Path::new(soname) {
                    return write!(f, "; {variable} has to name a {soname}, or to be unset");
                }
            }
            Cause::Symbol { file, symbol } if symbol == landmark => {
                return write!(f, "{} is not {name}: it has no function {symbol}", file.display());
            }
            Cause::Symbol { file, symbol } => {
                write!(f, "{name} in {} has no function {symbol}", file.display())?;
            }
            Cause::Version { file, found } => {
                write!(f, "{name} in {} is ", file.display())?;
                match found {
                    Some(found) => write!(f, "version {found}, which is too old")?,
                    None => write!(f, "of a version that it does not tell")?,
                }
            }
        }
        write!(
            f,
            "; {name} {}.{} or later is needed: install {packages}, or name another {soname} in {variable}",
            oldest.major, oldest.minor
        )
    }
}

impl std::error::Error for LoadError {}

/// A library that is loaded, and never unloaded.
pub(crate) struct Library {
    product: &'static Product,
    handle: Handle,
    file: PathBuf,
}

impl Library {
    /// The library that is already in this process, the one that the environment names, or what the
    /// dynamic linker finds.
    pub(crate) fn load(product: &'static Product) -> Result<Self, LoadError> {
        let soname = Path::new(product.soname);
        if let Some(present) = Self::present(product) {
            return Ok(present);
        }
        let chosen = std::env::var_os(product.variable).filter(|file| !file.is_empty());
        Self::open(product, chosen.as_deref().map_or(soname, Path::new))
    }

    /// The library in `file`.
    pub(crate) fn open(product: &'static Product, file: &Path) -> Result<Self, LoadError> {
        // Not global: the modules of both libraries name what they need, and their symbols are
        // nobody else's.
        // SAFETY: what the library does when it is loaded, and with what is in its way, is what a
        // program linked with it would ask for too.
        match unsafe { Handle::open(Some(file), RTLD_NOW | RTLD_LOCAL) } {
            Ok(handle) => Ok(Self::kept(product, handle, file)),
            Err(error) => {
                // The dynamic linker's own words are the source of libloading's.
                let reason = std::error::Error::source(&error)
                    .map_or_else(|| error.to_string(), |source| source.to_string());
                Err(LoadError { product, cause: Cause::Missing { tried: file.to_owned(), reason } })
            }
        }
    }

    fn present(product: &'static Product) -> Option<Self> {
        // SAFETY: with RTLD_NOLOAD nothing is loaded, and so nothing runs.
        let handle = unsafe { Handle::open(Some(product.soname), RTLD_NOW | libc::RTLD_NOLOAD) }.ok()?;
        Some(Self::kept(product, handle, Path::new(product.soname)))
    }

    fn kept(product: &'static Product, handle: Handle, name: &Path) -> Self {
        let mut library = Self { product, handle, file: name.to_owned() };
        if let Some(file) = library.address(product.landmark).and_then(file_of) {
            library.file = file;
        }
        library
    }

    /// Where a function is, in this library or in one that it is linked with.
    pub(crate) fn find(&self, symbol: &'static str) -> Result<*mut c_void, LoadError> {
        self.address(symbol).ok_or_else(|| self.unusable(Cause::Symbol { file: self.file.clone(), symbol }))
    }

    /// Where a function is that not every version has.
    pub(crate) fn address(&self, symbol: &str) -> Option<*mut c_void> {
        // SAFETY: any symbol has an address, and nothing is done with it here.
        let found = unsafe { self.handle.get::<*mut c_void>(symbol.as_bytes()) }.ok()?;
        Some(found.into_raw()).filter(|address| !address.is_null())
    }

    /// Checks what the library says about its version.
    pub(crate) fn check(&self, found: Option<Version>) -> Result<Version, LoadError> {
        let new_enough = found.filter(|version| *version >= self.product.oldest);
        new_enough.ok_or_else(|| self.unusable(Cause::Version { file: self.file.clone(), found }))
    }

    fn unusable(&self, cause: Cause) -> LoadError {
        LoadError { product: self.product, cause }
    }

    /// Keeps it loaded until the process ends, so that its functions may be called that long. It
    /// has threads and handlers of its own that may run until then.
    pub(crate) fn keep(self) -> PathBuf {
        std::mem::forget(self.handle);
        self.file
    }
}

fn file_of(address: *mut c_void) -> Option<PathBuf> {
    // SAFETY: all of its fields may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for, and `info` outlives the call.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: it is the name of a loaded library, and this one stays loaded while it is read.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())).to_owned())
}

/// Declares `Functions`, a table of C functions that are found at run time: a field each, and a
/// method of the same name that calls it. Optional ones are fields only, and may be `None`.
macro_rules! functions {
    (
        required { $(pub fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)* }
        optional { $(pub fn $maybe:ident($($marg:ident: $mtype:ty),* $(,)?) $(-> $mresult:ty)?;)* }
    ) => {
        /// The functions of the library: a field each, and a method of the same name that calls it.
        /// What they do is in the documentation of the C interface.
        pub struct Functions {
            $(
                #[doc = concat!("`", stringify!($name), "` of the C interface.")]
                pub $name: unsafe extern "C" fn($($arg: $type),*) $(-> $result)?,
            )*
            $(
                #[doc = concat!("`", stringify!($maybe), "` of the C interface, where this version has it.")]
                pub $maybe: Option<unsafe extern "C" fn($($marg: $mtype),*) $(-> $mresult)?>,
            )*
        }

        impl Functions {
            /// Finds all of them.
            ///
            /// # Safety
            /// What the library has under these names must be functions with these arguments and
            /// results.
            pub(crate) unsafe fn find(
                library: &crate::library::Library,
            ) -> Result<Self, crate::library::LoadError> {
                // SAFETY: the caller promises that the address is that of such a function.
                unsafe {
                    Ok(Self {
                        $($name: std::mem::transmute::<
                            *mut std::ffi::c_void,
                            unsafe extern "C" fn($($type),*) $(-> $result)?,
                        >(library.find(stringify!($name))?),)*
                        $($maybe: library.address(stringify!($maybe)).map(|address| {
                            std::mem::transmute::<
                                *mut std::ffi::c_void,
                                unsafe extern "C" fn($($mtype),*) $(-> $mresult)?,
                            >(address)
                        }),)*
                    })
                }
            }

            $(
                #[doc = concat!("Calls `", stringify!($name), "`.")]
                ///
                /// # Safety
                /// What the documentation of the C interface asks for.
                #[inline(always)]
                pub unsafe fn $name(&self, $($arg: $type),*) $(-> $result)? {
                    // SAFETY: the caller promises what the C interface asks for.
                    unsafe { (self.$name)($($arg),*) }
                }
            )*
        }
    };
}

/// Makes all bytes of a C structure zero by default, which bindgen found to be a value of each
/// field.
macro_rules! zeroed {
    ($name:ident) => {
        impl Default for $name {
            fn default() -> Self {
                // SAFETY: it consists of numbers, arrays of them, pointers and optional functions,
                // and zero is a value of each.
                unsafe { std::mem::zeroed() }
            }
        }
    };
}
