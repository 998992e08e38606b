//! Lines on standard error.
//!
//! All PEs of a job, and often the launcher too, write to one terminal or pipe. A line that is
//! written in several pieces is torn there by the lines of others, and `eprintln!` writes each
//! piece by itself, because standard error has no buffer. It also panics if standard error is
//! closed, and the write raises SIGPIPE in a C program if standard error is a pipe that nothing
//! reads. Hence the lint `print_stderr` forbids it in the library, and this is in its place.

use std::fmt;

use crate::{printable::printable_lines, sigpipe::write_stderr};

/// Writes `text` and the end of a line to standard error, in one write. If that fails, there is
/// nowhere left to say so. What a terminal would obey is escaped ([`printable_lines`]).
///
/// ```
/// oxshmem_base::report(format_args!("oxshmem: PE {}: {}", 3, "what went wrong"));
/// ```
pub fn report(text: impl fmt::Display) {
    let line = printable_lines(&text.to_string()).into_owned() + "\n";
    let _ = write_stderr(line.as_bytes());
}
