//! One line that says how far cargo has come: which share of the packages is built, since when, and
//! which are being built. Where nobody watches, a line for each tenth.

use std::{
    io::{IsTerminal, stderr},
    time::Instant,
};

/// Of one build.
pub(crate) struct Progress {
    begin: Instant,
    is_terminal: bool,
    /// Tenths that were printed.
    tenths: usize,
}

impl Progress {
    pub(crate) fn begin() -> Self {
        Self { begin: Instant::now(), is_terminal: stderr().is_terminal(), tenths: 0 }
    }

    /// Shows what a line of cargo's says of it, or a state of its bar. Returns the line if it is
    /// neither a bar nor about what goes well.
    pub(crate) fn line(&mut self, line: &str) -> Option<String> {
        let line = line.trim_start_matches("\u{1b}[K").trim_end();
        match Bar::read(line) {
            Some(bar) => self.show(&bar),
            None if is_news(line) || line.is_empty() => {}
            None => return Some(line.to_owned()),
        }
        None
    }

    fn show(&mut self, bar: &Bar<'_>) {
        let Bar { built, all, now } = *bar;
        let percent = built * 100 / all;
        let seconds = self.begin.elapsed().as_secs();
        let text = format!("building {built} of {all} packages ({percent} %, {seconds} s): {now}");
        if self.is_terminal {
            eprint!("\r{text:.100}\u{1b}[K");
        } else if percent / 10 > self.tenths {
            self.tenths = percent / 10;
            eprintln!("{text:.100}");
        }
    }

    pub(crate) fn end(self) {
        if self.is_terminal {
            eprint!("\r\u{1b}[K");
        }
        eprintln!("built in {} s", self.begin.elapsed().as_secs());
    }
}

/// What cargo's bar says: `Building [==>   ] 12/83: libc, clap`.
#[derive(Debug, PartialEq, Eq)]
struct Bar<'a> {
    built: usize,
    all: usize,
    now: &'a str,
}

impl<'a> Bar<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (_, rest) = line.trim_start().strip_prefix("Building [")?.split_once("] ")?;
        let (count, now) = rest.split_once(": ").unwrap_or((rest, ""));
        let (built, all) = count.trim_end_matches(':').split_once('/')?;
        let (built, all) = (built.parse().ok()?, all.parse().ok()?);
        (all > 0).then_some(Self { built, all, now })
    }
}

/// Whether it is one of cargo's words for what goes well.
fn is_news(line: &str) -> bool {
    let words =
        ["Compiling", "Checking", "Downloading", "Downloaded", "Updating", "Locking", "Adding", "Finished"];
    line.split_whitespace().next().is_some_and(|first| words.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_read_and_other_lines_are_not() {
        let bar = |line| Bar::read(line).map(|Bar { built, all, now }| (built, all, now));
        assert_eq!(
            bar("    Building [=====>      ] 12/83: libc, clap_builder(build)"),
            Some((12, 83, "libc, clap_builder(build)"))
        );
        assert_eq!(bar("    Building [            ] 0/83"), Some((0, 83, "")));
        assert_eq!(bar("   Compiling libc v0.2.1"), None);
        assert_eq!(bar("    Building [=====>      ] x/y: a"), None);
        assert_eq!(bar("error: could not compile `a` (lib) [12/83: b] 1/2"), None);
    }

    #[test]
    fn what_goes_well_is_not_repeated_and_errors_are() {
        let mut progress = Progress::begin();
        assert_eq!(progress.line("   Compiling libc v0.2"), None);
        assert_eq!(progress.line("    Building [=> ] 1/2: libc"), None);
        assert_eq!(progress.line("error: no linker\n"), Some("error: no linker".to_owned()));
    }
}
