//! Text from outside, as people may see it.
//!
//! The name of a program, an argument, a host's name: each may have characters that a terminal
//! obeys, and one that is printed as it is may move the cursor, set the window's title, or look
//! like a line that something else has written. What prints such text passes it through here. What
//! programs read, as JSON, has its own way of escaping.

use std::borrow::Cow;

/// `text` in one line: characters that control a terminal, or turn the direction of what follows,
/// are shown as Rust would write them.
///
/// ```
/// # use oxshmem_base::printable::printable;
/// assert_eq!(printable("a\u{1b}[2J\nb é"), r"a\u{1b}[2J\nb é");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, controls)
}

/// Escapes control characters as [`printable`] does, except that lines stay lines. For a message
/// whose parts from outside are printable already.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && controls(c))
}

fn escaped(text: &str, controls: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&controls) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match controls(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn controls(c: char) -> bool {
    let ends_lines = matches!(c, '\u{2028}' | '\u{2029}');
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || ends_lines || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_and_not_done() {
        for (text, shown) in [
            ("plain, ünïcödé and 日本語", "plain, ünïcödé and 日本語"),
            ("\x1b]0;title\x07", r"\u{1b}]0;title\u{7}"),
            ("\u{9b}31m", r"\u{9b}31m"),
            ("a\r\nb\tc\x7f\0", r"a\r\nb\tc\u{7f}\u{0}"),
            ("gnp.\u{202e}exe", r"gnp.\u{202e}exe"),
            ("a\u{2028}b", r"a\u{2028}b"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert!(matches!(printable("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn the_lines_of_a_message_stay() {
        assert_eq!(printable_lines("a\nb\x1b[1m\r\n"), "a\nb\\u{1b}[1m\\r\n");
    }
}
