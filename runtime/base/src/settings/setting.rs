//! What a row of the table of settings has.

use super::Settings;

/// One environment variable: what it is called, takes and does.
#[derive(Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Names that are read where it is absent, though they are deprecated.
    pub deprecated: &'static [&'static str],
    /// Its value where it is not set, in the words that it takes.
    pub default: &'static str,
    /// What it takes.
    pub values: &'static str,
    /// The unit of a number, or nothing.
    pub unit: &'static str,
    /// What it does, in a sentence or two.
    pub effect: &'static str,
    /// Whether every PE of a job must have the same value.
    pub same_on_all_pes: bool,
    pub(super) read: Read,
    /// The value in force, as the variable would be set to get it.
    pub(super) show: fn(&Settings) -> String,
}

/// How a variable changes the settings.
#[derive(Debug)]
pub(super) enum Read {
    /// By being there, whatever it holds.
    Presence(fn(&mut Settings)),
    /// By being there and by what it holds, which can be anything.
    Anything(fn(&mut Settings, String)),
    /// By what it holds. The error says what was expected.
    Text(fn(&mut Settings, &str) -> Result<(), String>),
    /// As one of many that end in a number. They are read together.
    Numbered,
}
