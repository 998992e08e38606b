//! How the texts of variables are read, and values shown, that several settings have in common.

use std::path::PathBuf;

pub(super) fn folder(text: &str) -> Result<PathBuf, String> {
    if text.trim_ascii().is_empty() {
        Err("expected the name of a folder, or off".to_owned())
    } else {
        Ok(text.into())
    }
}

/// A file's name.
pub(super) fn file(text: &str) -> Result<PathBuf, String> {
    if text.trim_ascii().is_empty() { Err("expected the name of a file".to_owned()) } else { Ok(text.into()) }
}

/// An address with a port, or the word for those of the environment.
pub(super) fn rendezvous(text: &str) -> Result<String, String> {
    let text = text.trim_ascii();
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_good = match text.rsplit_once(':') {
        _ if text.eq_ignore_ascii_case("env") => true,
        // An address of IPv6 is in brackets.
        Some((host, port)) => {
            is_port(port)
                && !host.is_empty()
                && !host.contains(char::is_whitespace)
                && (!host.contains(':') || host.starts_with('[') && host.ends_with(']'))
        }
        None => false,
    };
    let expected = "expected HOST:PORT, such as node1:7777 or [::1]:7777, env, or env:PORT";
    if is_good { Ok(text.to_owned()) } else { Err(expected.to_owned()) }
}

/// A number of PEs, or of one.
pub(super) fn number(text: &str) -> Result<usize, String> {
    integer(u32::MAX.into(), text).map(|number| number as usize)
}

pub(super) fn on_off(value: bool) -> String {
    if value { "on" } else { "off" }.to_owned()
}

/// `on` or `off`, of either case.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.trim_ascii() {
        text if text.eq_ignore_ascii_case("on") => Ok(true),
        text if text.eq_ignore_ascii_case("off") => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}

/// A value of any kind, which is not the same as none.
pub(super) fn as_set(value: Option<&String>) -> String {
    value.map_or("unset".to_owned(), |value| format!("{value:?}"))
}

/// `None` for `word`, of either case, and what `read` makes of anything else.
pub(super) fn word_or<T>(
    word: &str,
    text: &str,
    read: fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if text.trim_ascii().eq_ignore_ascii_case(word) {
        return Ok(None);
    }
    read(text).map(Some).map_err(|why| format!("{why}, or {word}"))
}

/// Names of network interfaces.
pub(super) fn interfaces(text: &str) -> Result<String, String> {
    let names: Vec<_> = text.split(',').map(str::trim_ascii).collect();
    let is_name = |name: &&str| !name.is_empty() && !name.contains(char::is_whitespace);
    match names.iter().all(is_name) {
        true => Ok(names.join(",")),
        false => Err("expected names of network interfaces, separated by commas".to_owned()),
    }
}

/// An integer from 0 to `largest`.
pub(super) fn integer(largest: u64, text: &str) -> Result<u64, String> {
    let value = text.trim_ascii().parse().ok().filter(|&value| value <= largest);
    value.ok_or_else(|| format!("expected an integer from 0 to {largest}"))
}

pub(super) fn positive(largest: u64, text: &str) -> Result<u64, String> {
    let value = integer(largest, text).ok().filter(|&value| value > 0);
    value.ok_or_else(|| format!("expected an integer from 1 to {largest}"))
}
