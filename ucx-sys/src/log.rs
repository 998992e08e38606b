//! What UCX itself says: on standard error, as it is no output of the program. By itself UCX writes
//! it to standard output.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    mem::transmute,
};

use crate::library::Library;

/// UCX's `ucs_log_func_t`. A `va_list` as a parameter is a pointer, on x86-64 because it is an
/// array, on aarch64 because it is a structure of more than 16 bytes.
type Handler = extern "C" fn(
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    level: c_uint,
    component: *const c_void,
    message: *const c_char,
    arguments: *mut c_void,
) -> c_int;

/// `UCS_LOG_FUNC_RC_STOP`: no other handler is called.
const STOP: c_int = 0;

unsafe extern "C" {
    fn vsnprintf(to: *mut c_char, len: usize, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// Has UCX's messages go to standard error, unless the user has named a file for them.
pub(crate) fn to_stderr(library: &Library) {
    let Some(push) = library.address("ucs_log_push_handler") else { return };
    if std::env::var_os("UCX_LOG_FILE").is_some_and(|file| !file.is_empty()) {
        return;
    }
    // SAFETY: UCX declares it so, and its handlers as `Handler`, since 1.10. The library stays
    // loaded.
    unsafe { transmute::<*mut c_void, unsafe extern "C" fn(Handler)>(push)(handle) };
}

/// Writes a message as one line, at once.
extern "C" fn handle(
    file: *const c_char,
    line: c_uint,
    _function: *const c_char,
    level: c_uint,
    _component: *const c_void,
    message: *const c_char,
    arguments: *mut c_void,
) -> c_int {
    let mut text = [0_u8; 1024];
    // SAFETY: UCX's format and arguments, which nobody else uses, and this many bytes of room.
    unsafe { vsnprintf(text.as_mut_ptr().cast(), text.len(), message, arguments) };
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
    let file = if file.is_null() {
        "".into()
    } else {
        // SAFETY: UCX passes the name of a source file, which is a constant.
        unsafe { CStr::from_ptr(file) }.to_string_lossy()
    };
    let file = file.rsplit('/').next().unwrap_or_default();
    let level = ["FATAL", "ERROR", "WARN", "DIAG", "INFO", "DEBUG"].get(level as usize).unwrap_or(&"TRACE");
    let line = format!("oxshmem: UCX {level}: {} ({file}:{line})\n", text.trim_end());
    // SAFETY: bytes of this function's own. Not by `std::io::stderr`, as this thread may have that
    // locked.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    STOP
}
