//! The table of settings as text: for people who set `SHMEM_INFO` or run `shmem-info`, and for the
//! book.

use std::{
    fmt,
    io::{self, Write},
};

use super::{Entry, Origin, Setting, Settings, TABLE};

/// Columns that a line of explanation takes at most.
const WIDTH: usize = 100;

impl Settings {
    /// Writes the table for people: each variable with the value in force and where that came from,
    /// and below it what it does. This is what `SHMEM_INFO` asks for.
    ///
    /// # Errors
    /// What writing to `out` returns.
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// let mut text = Vec::new();
    /// Settings::default().print_info(&mut text)?;
    /// assert!(text.starts_with(b"SHMEM_SYMMETRIC_SIZE"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn print_info(&self, out: &mut impl Write) -> io::Result<()> {
        let entries: Vec<Entry> = self.entries().collect();
        let width = |cell: fn(&Entry) -> usize| entries.iter().map(cell).max().unwrap_or(0);
        let name = width(|entry| entry.setting.name.len());
        // Partitions are longer than what others are aligned to.
        let value = width(|entry| if entry.value.len() > 16 { 0 } else { entry.value.len() });
        for entry in &entries {
            writeln!(out, "{:name$}  {:value$}  {}", entry.setting.name, entry.value, entry.origin)?;
            for line in wrap(&explain(entry.setting), WIDTH - 4) {
                writeln!(out, "    {line}")?;
            }
        }
        Ok(())
    }
}

/// The table for the book: a row a variable, without values in force.
///
/// ```
/// # use oxshmem_base::settings::*;
/// assert!(markdown().starts_with("| variable | default |"));
/// ```
pub fn markdown() -> String {
    let mut page = String::from(
        "| variable | default | unit | takes | effect | same on all PEs |\n|---|---|---|---|---|---|\n",
    );
    for setting in TABLE {
        let deprecated: String =
            setting.deprecated.iter().map(|name| format!("<br>`{name}` (deprecated)")).collect();
        page += &format!(
            "| `{}`{deprecated} | `{}` | {} | {} | {} | {} |\n",
            setting.name,
            setting.default,
            setting.unit,
            setting.values,
            setting.effect,
            if setting.same_on_all_pes { "yes" } else { "no" },
        );
    }
    page
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Environment => f.write_str("environment"),
            Self::Deprecated(name) => write!(f, "environment, as {name} (deprecated)"),
            Self::Program => f.write_str("program"),
        }
    }
}

/// What a variable does and takes, in one paragraph.
fn explain(setting: &Setting) -> String {
    let mut text = format!("{} Takes: {}", setting.effect, setting.values);
    if !setting.unit.is_empty() {
        text += &format!(" (in {})", setting.unit);
    }
    text += &format!(". Default: {}.", setting.default);
    if setting.same_on_all_pes {
        text += " Must be the same on all PEs.";
    }
    for name in setting.deprecated {
        text += &format!(" Deprecated name: {name}.");
    }
    text
}

/// Breaks `text` between words into lines of at most `width` bytes, or one longer word.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
